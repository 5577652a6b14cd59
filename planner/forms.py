"""The workbench form: the only place that knows the query string, what each field means and where it goes.

Its fields are those of the kind of workload; limits are those of the kind's document: values go through its
validation, and what it refuses is shown at the field in the field's own unit.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Self
from urllib.parse import quote, urlencode

from django import forms
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext_lazy as _
from pydantic import ValidationError

from planner import architectures, kinds, stored_format
from planner.assumed_field import AssumedField
from planner.fields import (
    UNKNOWN_NAME,
    HiddenField,
    KindField,
    NamesField,
    NumberField,
    SheetField,
    TickField,
    names_of,
)
from planner.form_layout import BoundGroup, bound
from planner.kinds.frame import Kind
from planner.models import PastedConfig
from planner.options import WEIGHTS, Choices, variants
from planner.query_text import (
    LEFT_KIND,
    LENGTHS,
    average_below,
    drop_defaults_of,
    key_of,
    longest_above,
    merge_assumed,
    method_key,
    parked,
)
from planner.sizing.workload import CommonWorkload, ModelReference, without_nulls
from planner.stored_format import AS_STORED
from planner.typed_numbers import number_text

VIEW_FIELDS: dict[str, SheetField] = {
    "sort": HiddenField(max_length=40),
    "page": HiddenField(max_length=6),
    "columns": NamesField(typed=True),
    "tray": HiddenField(max_length=120, pattern=r"-?[0-9]+(,-?[0-9]+)*"),
    "each": HiddenField(max_length=1, pattern="1?"),
    "explore": HiddenField(max_length=20, pattern=r"[a-z_]*"),
    "into": HiddenField(max_length=15, pattern=r"([a-z0-9]{12}(\.[1-9][0-9]?)?)?"),
}
"""How the table is looked at, and the plan (with the place in it) that the sheet was opened from; no part of the
workload."""


def _chooser() -> KindField:
    families: dict[str, list[tuple[str, Any]]] = {}
    for kind in kinds.KINDS:
        families.setdefault(str(kind.family), []).append((kind.key, kind.title))
    return KindField(label=_("Kind of work"), default=kinds.DEFAULT.key, families=list(families.items()))


class WorkbenchForm(forms.Form):
    """State of the workbench. Made by ``from_query``; ``workload()`` after ``is_valid()``."""

    use_required_attribute = False

    @classmethod
    def from_query(
        cls,
        query: QueryDict | None = None,
        *,
        at: datetime | None = None,
        choices: Choices | None = None,
    ) -> Self:
        """A bound form from a query string or a post; what is absent has its default, what is unknown is ignored.

        A digest in ``query`` stands for a pasted configuration; with ``at``, only if it is still kept then. What
        was typed for another kind of workload is parked, so that choosing that kind again finds it.
        """
        given = query.copy() if query is not None else QueryDict(mutable=True)
        name = given.get("kind", "")
        kind = kinds.BY_NAME.get(name, kinds.DEFAULT)
        if name in kinds.BY_NAME and name != kind.key:
            given.setdefault(method_key(kind), name)
        if name in kinds.BY_NAME:
            given["kind"] = kind.key
        merge_assumed(given)
        data: MultiValueDict[str, str] = MultiValueDict()
        fields = {"kind": _chooser(), **kind.fields, **VIEW_FIELDS}
        left = kinds.BY_NAME.get(given.get(LEFT_KIND, ""), kind)
        if left is not kind:
            drop_defaults_of(left, given)
        for name, field in fields.items():
            key = key_of(name)
            if key in given:
                values = given.getlist(key)
                if isinstance(field, NumberField):
                    values = [number_text(str(value)) for value in values]
                data.setlist(key, [str(value) for value in values])
            else:
                data.setlist(key, [field.default] if field.default else [])
        if "users" in fields and "users" not in given and given.get("users_peak", "").strip():
            data["users"] = average_below(str(data["users_peak"]), str(data["users"]))
        for typical, longest in LENGTHS:
            if longest in fields and longest not in given and given.get(typical, "").strip():
                data[longest] = longest_above(str(data[typical]), str(data[longest]))
        return cls(data, kind=kind, parked=parked(given, fields), at=at, choices=choices)

    def __init__(
        self,
        *args: Any,
        kind: Kind = kinds.DEFAULT,
        parked: Mapping[str, str] | None = None,
        at: datetime | None = None,
        choices: Choices | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("auto_id", "f-%s")
        super().__init__(*args, **kwargs)
        self.kind = kind
        self.parked = dict(parked or {})
        """What was typed in fields that only other kinds have, by its key."""
        self.fields = copy.deepcopy({"kind": _chooser(), **kind.fields, **VIEW_FIELDS})
        self.at = at
        self.pasted: dict[str, Any] | None = None
        self.stored: str | None = None
        """What the chosen model's checkpoint is stored in, once the form was checked and the model is known."""
        self.read_as: tuple[str, str] | None = None
        """The model's name as it was typed, and the one it was read as."""
        self._workload: CommonWorkload | None = None
        if choices is not None:
            self._offer(choices)

    def _offer(self, choices: Choices) -> None:
        providers = self.fields["providers"]
        providers.known = {slug: slug for slug, _name in choices.providers}  # type: ignore[attr-defined]
        providers.widget.choices = list(choices.providers)
        for name in ("include", "exclude"):
            self.fields[name].known = {item: item for item in choices.accelerators}  # type: ignore[attr-defined]
            self.fields[name].members = variants  # type: ignore[attr-defined]
        self.fields["regions"].known = dict(choices.regions)  # type: ignore[attr-defined]

    def add_prefix(self, field_name: str) -> str:
        return key_of(super().add_prefix(field_name))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("config"):
            self.pasted = (
                PastedConfig.find(cleaned["config"], self.at) if self.at else _kept(cleaned["config"])
            )
        if "config" in self.errors or (cleaned.get("config") and self.pasted is None):
            # Said where it can be mended; and taken out, else a name typed instead would never count.
            self.errors.pop("config", None)
            if isinstance(self.data, MultiValueDict):
                self.data["config"] = ""
            self.add_error(
                "model",
                _(
                    "The pasted config.json of this link is not kept any more. Paste it again or name a "
                    "model."
                ),
            )
        self._take_near(cleaned)
        for small, large in self.kind.ordered:
            self._check_order(cleaned, small, large)
        if "kind" not in cleaned:
            return cleaned
        left_out = self._left_out()
        for name in left_out:
            cleaned[name] = self.fields[name].understood  # type: ignore[attr-defined]
        self._find_stored(cleaned)
        try:
            workload = self.kind.workload.model_validate(without_nulls(self._document(cleaned)))
        except ValidationError as refused:
            self._place(refused)
        else:
            self._workload = None if self.errors.keys() - left_out else workload
        return cleaned

    def _take_near(self, cleaned: dict[str, Any]) -> None:
        """A name that is near to one model alone is that model; the link names it in full."""
        name = cleaned.get("model") or ""
        if not name or cleaned.get("config") or architectures.find(name) is not None:
            return
        entry = architectures.only_near(name)
        if entry is not None:
            self.read_as = (name, entry.id)
            cleaned["model"] = entry.id
            if isinstance(self.data, MultiValueDict):
                self.data["model"] = entry.id

    def _left_out(self) -> set[str]:
        """Lists of names of which only some are not known: the question is clear without those."""
        return {
            name
            for name, errors in self.errors.as_data().items()
            if all(error.code == UNKNOWN_NAME for error in errors)
        }

    @property
    def is_answerable(self) -> bool:
        """Whether there is a question, be it without names in lists that are not known."""
        self.is_valid()
        return self._workload is not None

    def _find_stored(self, cleaned: dict[str, Any]) -> None:
        if "model" in self.errors or "weights" not in self.fields:
            return
        document = self._document(cleaned)
        try:
            model = ModelReference.model_validate(document.get("model", {}))
        except ValidationError:
            return  # Said at its field when the whole document is read.
        self.stored = stored_format.of(model)
        weights = self.fields["weights"]
        known = [(AS_STORED, stored_format.label(self.stored)), *WEIGHTS]
        weights.widget.choices = known

    def _check_order(self, cleaned: dict[str, Any], small: str, large: str) -> None:
        low = cleaned.get(small)
        high = cleaned.get(large)
        if low is None and not self.fields[small].default:  # type: ignore[attr-defined]
            return  # Nothing was said, and nothing stands for it.
        low = float(self.fields[small].default) if low is None else low  # type: ignore[attr-defined]
        high = float(self.fields[large].default) if high is None else high  # type: ignore[attr-defined]
        if small in self.errors or large in self.errors or low <= high:
            return
        self.add_error(
            large,
            _("“%(large)s” (%(high)s) is below “%(small)s” (%(low)s): it must be at least as much.")
            % {
                "large": self.fields[large].label,
                "small": self.fields[small].label,
                "high": f"{high:g}",
                "low": f"{low:g}",
            },
        )

    def _document(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """The workload document of what was typed; defaults are left to the document."""
        document: dict[str, Any] = {"kind": cleaned["kind"]}
        for name, field in self.fields.items():
            path = field.path  # type: ignore[attr-defined]
            value = cleaned.get(name)
            if not path or value is None or value in ("", (), {}):
                continue
            if name == "weights" and value == AS_STORED:
                if self.stored in (None, stored_format.SIXTEEN_BITS):
                    continue
                value = self.stored
            if name == "interruptible":
                if value == "auto":
                    continue
                value = value == "yes"
            if isinstance(field, TickField) and not value:
                continue
            place = document
            for step in path[:-1]:
                place = place.setdefault(step, {})
            place[path[-1]] = value
        if cleaned.get("config") and self.pasted is not None:
            document["model"] = {"config": self.pasted}
        try:
            self.kind.complete(document, cleaned)
        except forms.ValidationError as refused:
            for name, errors in refused.error_dict.items():
                if name not in self.errors:
                    self.add_error(name, errors)
        return document

    def _place(self, refused: ValidationError) -> None:
        """Each refusal of the document at the field it is about."""
        by_path = {field.path: name for name, field in self.fields.items() if field.path}  # type: ignore[attr-defined]
        for error in refused.errors(include_url=False):
            steps = tuple(str(step) for step in error["loc"])
            name = next(
                (by_path[steps[:length]] for length in range(len(steps), 0, -1) if steps[:length] in by_path),
                None,
            )
            if (name in self.errors) if name is not None else self.errors:
                continue
            self.add_error(name, self._message(error, name))

    def _message(self, error: Any, name: str | None) -> Any:
        context = error.get("ctx") or {}
        field = self.fields[name] if name else None
        value = self.data.get(self.add_prefix(name), "") if name else ""
        if isinstance(field, AssumedField) and (told := field.told(error, self.kind.settable)):
            return told
        if isinstance(field, SheetField):
            for key, sentence in LIMIT_SENTENCES.items():
                if key in context:
                    limit = field.shown_limit(context[key])
                    sentence = AT_LEAST_ONE if key == "ge" and str(limit) == "1" else sentence
                    return sentence % {"value": value[:60], "limit": limit, "unit": field.unit}
        return _("This value is not accepted: %(reason)s") % {"reason": error["msg"]}

    @property
    def families(self) -> dict[str, tuple[str, ...]]:
        """Names in the filters that were read as several accelerators, with what they were read as."""
        return {
            word: names
            for name in ("include", "exclude")
            for word, names in self.fields[name].read_as.items()  # type: ignore[attr-defined]
        }

    @property
    def chooser(self) -> Any:
        """The field that chooses the kind; ``kind`` itself is what was chosen."""
        return self["kind"]

    @property
    def kind_key(self) -> str:
        """Key of the kind that the form is drawn for; in templates ``kind`` is the field."""
        return self.kind.key

    @property
    def about(self) -> Any:
        """What the chosen kind sizes, in a sentence."""
        return self.kind.about

    @property
    def kind_has_variants(self) -> bool:
        return bool(self.kind.variants)

    @property
    def kind_is_served(self) -> bool:
        return self.kind.is_served

    def groups(self) -> list[BoundGroup]:
        """The form as it is drawn."""
        return bound(self, self.kind.groups)

    def messages(self) -> Iterator[Any]:
        """Fields whose messages are drawn: all but those that are only carried along."""
        return (field for field in self if not field.is_hidden and field.name != "columns")

    @property
    def is_settled(self) -> bool:
        """Whether everything that only the model's own files tell was known when the form was read."""
        return "weights" not in self.fields or self.stored is not None

    def workload(self) -> CommonWorkload:
        """What was asked for. Only where the form ``is_answerable``."""
        if self._workload is None:
            raise ValueError("the form is not valid")
        return self._workload

    def query_string(self, *, without: tuple[str, ...] = (), **changes: str | None) -> str:
        """The canonical query: fields in the form's order, defaults left out, changes made (None = default)."""
        pairs: list[tuple[str, str]] = []
        for name, key, default, typed in self.state:
            if key in without or name in without:
                continue
            changed = changes.get(key)
            text = typed if key not in changes else default if changed is None else changed
            if text != default:
                pairs.append((key, text))
        pairs += [(key, text) for key, text in self.parked.items() if key not in without]
        return urlencode(pairs, quote_via=quote, safe=",/")

    @cached_property
    def state(self) -> list[tuple[str, str, str, str]]:
        """Of each field: name, key, default and canonical text. A page makes dozens of links from it."""
        return [
            (name, key_of(name), str(getattr(field, "default", "")), self._canonical(name, field))
            for name, field in self.fields.items()
        ]

    def _canonical(self, name: str, field: forms.Field) -> str:
        key, default = key_of(name), str(getattr(field, "default", ""))
        if isinstance(field, NamesField):
            names = names_of(self._typed(key))
            return ",".join(names) or default
        if isinstance(field, TickField):
            return "1" if field.clean(self.data.get(key)) else ""
        text = str(self.data.get(key, "") or "").strip()
        if not text and getattr(field, "blank", None) is None:
            return default
        if isinstance(field, NumberField) and field.says_default(text):
            return default
        return text

    def _typed(self, key: str) -> list[str]:
        """Every value that was typed under this key."""
        return self.data.getlist(key) if isinstance(self.data, MultiValueDict) else []

    def is_changed(self, *names: str) -> bool:
        """Whether any of these fields differs from its default: a folded group with news stands open."""
        changed = {name for name, _key_, default, text in self.state if text != default}
        return any(name in changed or name in self.errors for name in names)


def _kept(digest: str) -> dict[str, Any] | None:
    kept = PastedConfig.objects.filter(digest=digest).first()
    return json.loads(kept.text) if kept else None


AT_LEAST_ONE = _("%(value)s is too small: at least 1 is accepted.")
"""Without the unit, which stands at the field in its plural."""
LIMIT_SENTENCES = {
    "ge": _("%(value)s is too small: at least %(limit)s %(unit)s is accepted."),
    "gt": _("%(value)s is too small: more than %(limit)s %(unit)s is accepted."),
    "le": _("%(value)s is too large: at most %(limit)s %(unit)s is accepted."),
    "lt": _("%(value)s is too large: less than %(limit)s %(unit)s is accepted."),
    "max_length": _("This is longer than the %(limit)s characters that are accepted."),
}
