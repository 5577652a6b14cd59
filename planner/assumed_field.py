"""The field that carries assumptions set by hand along in the link."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from mitsumori.digits import plain_digits
from planner import assumption_words
from planner.fields import SheetField, names_of
from planner.figures import exact
from planner.sizing.settable import SERVING, Settable
from planner.sizing.training.settable import TRAINING
from planner.typed_numbers import NUMBER, NUMBER_LENGTH_MAXIMUM


class AssumedField(SheetField):
    """Assumptions that are set by hand: ``name:number`` with commas, carried along in the link."""

    def __init__(self, **options: Any) -> None:
        self.settable: Mapping[str, Settable] = {**SERVING, **TRAINING}
        super().__init__(widget=forms.HiddenInput(), template="planner/_hidden.html", **options)

    def clean(self, value: Any) -> dict[str, float]:
        found: dict[str, float] = {}
        for part in names_of([value or ""]):
            name, _colon, number = part.partition(":")
            text = plain_digits(number).strip()
            if not NUMBER.fullmatch(text) or len(part) > NUMBER_LENGTH_MAXIMUM * 2:
                raise ValidationError(
                    _(
                        "“%(text)s” is not read as a number: write digits, with a point before decimals (1.5)."
                    ),
                    code="not_a_number",
                    params={"text": number[:60]},
                )
            found[name.strip()] = float(text)
        return found

    def in_words(self, value: Any) -> str | None:
        """What was set, by its name in words; empty where nothing was."""
        known = self.settable
        return pgettext("between the items of a list", ", ").join(
            f"{assumption_words.assumption(name)} = {exact(number)} {assumption_words.unit(known[name].unit)}".strip()
            if name in known
            else f"{assumption_words.assumption(name)} = {exact(number)}"
            for name, number in value.items()
        )

    def told(self, error: Mapping[str, Any], settable: Mapping[str, Settable]) -> str:
        """What is wrong with one of them, by its name in words; empty for what is wrong with the list.

        What no number may be (infinite, negative) is told with the range of its assumption too: there is one range.
        """
        context = error.get("ctx") or {}
        if error["type"] == "assumption_range":
            name, value = context["name"], context["value"]
        elif error["type"] == "assumption_unknown":
            name, value = context["name"], None
        elif len(error["loc"]) == len(self.path) + 1:
            name, value = str(error["loc"][-1])[:60], error["input"]
        else:
            return ""
        known = settable.get(name)
        if known is None:
            return _("No assumption is called “%(name)s”.") % {"name": name}
        return _("“%(name)s”: from %(minimum)s to %(maximum)s is accepted, not %(value)s.") % {
            "name": assumption_words.assumption(name),
            "minimum": exact(known.minimum),
            "maximum": f"{exact(known.maximum)} {assumption_words.unit(known.unit)}".strip(),
            "value": exact(value) if math.isfinite(value) else "∞",
        }
