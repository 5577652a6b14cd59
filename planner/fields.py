"""Form fields that read what people type: numbers with a unit, lists of names, plain choices.

They never guess: full-width and other decimal digits are digits, a decimal comma is refused rather than
read as a thousand, and what was typed is shown again as it stood.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from planner.typed_numbers import NUMBER, NUMBER_LENGTH_MAXIMUM, number_text

Text = str | Promise
Path = tuple[str, ...]

LIST_COUNT_MAXIMUM = 100
NEAREST_MAXIMUM = 4
UNKNOWN_NAME = "unknown_name"
"""Code of the refusal of a name in a list; the others of the list still mean what they mean."""


class SheetBoundField(BoundField):
    """A field as the sheet draws it: help and error have fixed ids that the control always names."""

    @property
    def hint_id(self) -> str:
        # Ids with "err" in them are those of messages; "interruptible" would look like one to who goes by that.
        return f"hint-{self.html_name}".replace("err", "er")

    @property
    def error_id(self) -> str:
        return f"err-{self.html_name}"

    @property
    def nearest(self) -> list[tuple[str, str]]:
        """Names near to one that was refused, each with the query in which it stands instead."""
        if self.name not in self.form.errors:
            return []
        found = []
        for error in self.form.errors.as_data()[self.name]:
            params = error.params or {}
            for name in params.get("nearest", ()):
                query = self.form.query_string(  # type: ignore[attr-defined]
                    **{self.html_name: self._with(params.get("text", ""), name)}, page=None
                )
                found.append((name, query))
        return found

    def _with(self, refused: str, name: str) -> str:
        if not isinstance(self.field, NamesField):
            return name
        typed = names_of(self.form.data.getlist(self.html_name))  # type: ignore[attr-defined]
        return ",".join(dict.fromkeys(name if each == refused else each for each in typed))

    def build_widget_attrs(self, attrs: dict[str, Any], widget: forms.Widget | None = None) -> dict[str, Any]:
        made = super().build_widget_attrs(attrs, widget)
        described = [self.hint_id] if self.help_text else []
        made["aria-describedby"] = " ".join([*described, self.error_id])
        made.pop("required", None)
        return made


class SheetField(forms.Field):
    """What all fields of the workbench know: where their value goes, its default, its unit."""

    bound_field_class = SheetBoundField

    def __init__(
        self,
        *,
        path: Path = (),
        default: str = "",
        unit: Text = "",
        one: Text = "",
        template: str = "planner/_field.html",
        **options: Any,
    ) -> None:
        self.path = path
        self.default = default
        self.unit = unit
        self.one = one
        """The unit of a single one, where that is another word."""
        self.template = template
        """What draws it in the form."""
        super().__init__(required=False, **options)

    def with_unit(self, number: str) -> str:
        """A number as it is shown, with its unit behind it."""
        return f"{number} {(self.one if number == '1' else '') or self.unit or ''}".strip()

    def shown_limit(self, limit: Any) -> str:
        """A limit of the workload document in the unit of this field."""
        return str(limit)

    def in_words(self, value: Any) -> str | None:
        """A value of the workload document as people read it, where its type does not say how."""
        return None


def place_name(word: str) -> str:
    """A place as it is written: a city by its capital, a country by its two letters, a region's code as it is.

    >>> place_name("tokyo"), place_name("new york"), place_name("jp"), place_name("us-east-1")
    ('Tokyo', 'New York', 'JP', 'us-east-1')
    """
    if len(word) == 2 and word.isalpha():
        return word.upper()
    return word if re.search(r"[\d\-_]", word) else word.title()


class NumberField(SheetField):
    """A number in the field's own unit. ``scale`` of them make one unit of the document (100 % = 1, 10⁻⁶ million = 1).

    ``above`` and ``most`` limit fields that no document knows; the limits of all others are the document's.
    """

    def __init__(
        self,
        *,
        integer: bool = False,
        scale: int | Decimal = 1,
        blank: Any = None,
        above: float | None = None,
        most: float | None = None,
        **options: Any,
    ) -> None:
        self.above = above
        self.most = most
        self.integer = integer
        self.scale = scale
        self.blank = blank
        mode = "numeric" if integer else "decimal"
        options.setdefault("widget", forms.TextInput(attrs={"inputmode": mode, "autocomplete": "off"}))
        super().__init__(**options)
        if self.default:
            self.widget.attrs.setdefault("placeholder", self.default)

    def clean(self, value: Any) -> Any:
        text = number_text(str(value or ""))
        if not text:
            return self.blank
        if len(text) > NUMBER_LENGTH_MAXIMUM:
            raise ValidationError(
                _("This number is too long: at most 40 characters are read."), code="too_long"
            )
        if not NUMBER.fullmatch(text):
            raise ValidationError(
                _("“%(text)s” is not read as a number: write digits, with a point before decimals (1.5)."),
                code="not_a_number",
                params={"text": text},
            )
        try:
            number = Decimal(text)
            read = float(number / self.scale)
        except (InvalidOperation, OverflowError):
            raise ValidationError(_("This number is out of every range."), code="range") from None
        if read in (float("inf"), float("-inf")):
            raise ValidationError(_("This number is out of every range."), code="range")
        self._within(text, number)
        if not self.integer:
            return read
        if number != number.to_integral_value() or abs(number) > 10**18:
            raise ValidationError(
                _("“%(text)s” is not a whole number."), code="not_whole", params={"text": text}
            )
        return int(number)

    def _within(self, text: str, number: Decimal) -> None:
        if self.above is not None and number <= Decimal(str(self.above)):
            raise ValidationError(
                _("%(value)s is too small: more than %(limit)s %(unit)s is accepted."),
                code="range",
                params={"value": text, "limit": self.shown_limit(self.above), "unit": self.unit},
            )
        if self.most is not None and number > Decimal(str(self.most)):
            raise ValidationError(
                _("%(value)s is too large: at most %(limit)s %(unit)s is accepted."),
                code="range",
                params={"value": text, "limit": self.shown_limit(self.most), "unit": self.unit},
            )

    def says_default(self, text: str) -> bool:
        """Whether another spelling of the default was typed (``1000.0``)."""
        if not self.default or not NUMBER.fullmatch(text) or len(text) > NUMBER_LENGTH_MAXIMUM:
            return False
        return Decimal(text) == Decimal(self.default)

    def shown_limit(self, limit: Any) -> str:
        return _spelled(Decimal(str(limit)) * self.scale)


def _spelled(limit: Any) -> str:
    text = f"{Decimal(str(limit)):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


class WordField(SheetField):
    """One short text."""

    def __init__(self, *, max_length: int = 200, pattern: str = "", **options: Any) -> None:
        self.max_length = max_length
        self.pattern = re.compile(pattern) if pattern else None
        options.setdefault("widget", forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}))
        super().__init__(**options)

    def clean(self, value: Any) -> str:
        text = str(value or "").strip()
        if len(text) > self.max_length:
            raise ValidationError(
                _("This has %(length)d characters; at most %(maximum)d are accepted."),
                code="too_long",
                params={"length": len(text), "maximum": self.max_length},
            )
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
            raise ValidationError(_("This holds control characters."), code="control")
        if text and self.pattern and not self.pattern.fullmatch(text):
            raise ValidationError(
                _("“%(text)s” has characters that this field does not take."),
                code="pattern",
                params={"text": text},
            )
        return text


class HiddenField(WordField):
    """A text that is carried along and not shown."""

    def __init__(self, **options: Any) -> None:
        super().__init__(widget=forms.HiddenInput(), template="planner/_hidden.html", **options)


class ChoiceField(SheetField):
    """One of a few values, in a list or, where there are very few, as radio buttons."""

    def __init__(
        self, *, choices: Sequence[tuple[str, Text]], is_radio: bool = False, **options: Any
    ) -> None:
        self.choices = list(choices)
        if is_radio:
            options.setdefault("template", "planner/_radio.html")
        options.setdefault("widget", forms.RadioSelect() if is_radio else forms.Select())
        super().__init__(**options)
        self.widget.choices = self.choices

    def clean(self, value: Any) -> str:
        text = str(value or self.default)
        if text not in dict(self.choices):
            raise ValidationError(
                _("“%(text)s” is none of the choices."), code="invalid_choice", params={"text": text[:80]}
            )
        return text


class KindField(SheetField):
    """The kind of workload, in families. Its choice decides which other fields there are."""

    def __init__(self, *, families: Sequence[tuple[str, Sequence[tuple[str, Text]]]], **options: Any) -> None:
        self.choices = [(family, list(members)) for family, members in families]
        self.known = {value: label for _family, members in families for value, label in members}
        super().__init__(widget=forms.Select(), template="planner/_kind.html", **options)
        self.widget.choices = self.choices if len(self.choices) > 1 else self.choices[0][1]

    def clean(self, value: Any) -> str:
        text = str(value or self.default)
        if text not in self.known:
            raise ValidationError(
                _("“%(text)s” is none of the choices."), code="invalid_choice", params={"text": text[:80]}
            )
        return text


def names_of(parts: Iterable[Any]) -> list[str]:
    """Names between commas, each once, in the order they were typed."""
    names = [name.strip() for part in parts for name in str(part).replace("、", ",").split(",")]
    return list(dict.fromkeys(name for name in names if name))


class TickBoxes(forms.CheckboxSelectMultiple):
    """Tick boxes that also stand for one text with commas, which is how links carry several names."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        known = {str(value).casefold(): str(value) for value, _label in self.choices}
        given = super().value_from_datadict(data, files, name) or []
        return [known.get(each.casefold(), each) for each in names_of(given)]


class NamesField(SheetField):
    """Several names: tick boxes, or one text with commas. ``known`` maps what may be named to its canonical form."""

    def __init__(
        self, *, choices: Sequence[tuple[str, Text]] = (), typed: bool = False, **options: Any
    ) -> None:
        self.typed = typed
        self.members: Callable[[str], Sequence[str]] | None = None
        """Several known names that one word stands for, as a family for its variants."""
        self.read_as: dict[str, tuple[str, ...]] = {}
        """What words that stand for others were read as, when the field was last checked."""
        self.understood: tuple[str, ...] = ()
        """The names that are known, where others beside them are not."""
        self.known: dict[str, str] | None = {value: value for value, _label in choices} if choices else None
        if typed:
            widget: forms.Widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
        else:
            widget = TickBoxes(choices=list(choices))
            options.setdefault("template", "planner/_radio.html")
        super().__init__(widget=widget, **options)

    def clean(self, value: Any) -> tuple[str, ...]:
        names = names_of(value if isinstance(value, list | tuple) else [value or ""])
        if len(names) > LIST_COUNT_MAXIMUM or any(len(name) > 120 for name in names):
            raise ValidationError(_("At most 100 names of 120 characters are read."), code="too_long")
        self.read_as, self.understood = {}, ()
        if self.known is None:
            return tuple(names)
        folded = {key.casefold(): canonical for key, canonical in self.known.items()}
        meant: list[str] = []
        unknown = []
        for name in names:
            if name.casefold() in folded:
                meant.append(folded[name.casefold()])
                continue
            members = [each for each in self.members(name) if each in self.known] if self.members else []
            if members:
                self.read_as[name] = tuple(members)
                meant += members
            else:
                unknown.append(name)
        self.understood = tuple(dict.fromkeys(meant))
        if unknown:
            raise ValidationError(
                [
                    ValidationError(
                        _("“%(text)s” is not in the catalog."),
                        code=UNKNOWN_NAME,
                        params={"text": name, "nearest": self._nearest(name, folded)},
                    )
                    for name in unknown
                ]
            )
        return self.understood

    def _nearest(self, name: str, folded: dict[str, str]) -> list[str]:
        """Known names that begin with this one, else those spelled almost like it."""
        key = name.casefold()
        if self.members is not None:
            heads = {
                known.partition("-")[0]: canonical.partition("-")[0] for known, canonical in folded.items()
            }
            folded = heads | folded
        begin = [known for known in folded if known.startswith(key)] if len(key) > 1 else []
        near = begin or difflib.get_close_matches(key, folded, n=NEAREST_MAXIMUM, cutoff=0.7)
        return [folded[known] for known in near[:NEAREST_MAXIMUM]]


class TickField(SheetField):
    """A box that is ticked or not; unticked is the default, so that it may be absent from a link."""

    def __init__(self, **options: Any) -> None:
        super().__init__(widget=forms.CheckboxInput(), template="planner/_tick.html", **options)

    def clean(self, value: Any) -> bool:
        return value is True or str(value).lower() in {"1", "on", "true", "yes"}


class PlacesField(NamesField):
    """Names of places."""

    def in_words(self, value: Any) -> str | None:
        return ", ".join(place_name(str(word)) for word in value)
