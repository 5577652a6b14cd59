"""What was asked, in a line: the fields an answer leans on most, each with its value and unit."""

from __future__ import annotations

from django.utils.translation import gettext as _

from planner import architectures
from planner.assumed_field import AssumedField
from planner.fields import ChoiceField, NumberField
from planner.forms import WorkbenchForm
from planner.kinds import by_rate, by_token
from planner.typed_numbers import number_text

SCHEDULE = ("hours", "days")


def asked(form: WorkbenchForm) -> list[tuple[str, str]]:
    """Label and text of each field that carries the answer; what is empty is left out."""
    told = []
    texts = {name: text for name, _kept, _default, text in form.state}
    unused = {other for name, other in form.kind.instead_of.items() if texts.get(name)}
    document = form.workload().model_dump(mode="json")
    unused |= set(form.kind.without.get(document["kind"], ()))
    instead = by_rate.told(document)
    for name in form.kind.carrying:
        if name in unused:
            continue
        if name in instead:
            told += [fact] if (fact := instead[name]) else []
            continue
        field, text = form.fields[name], texts.get(name, "")
        if name in SCHEDULE and text == getattr(field, "default", ""):
            continue  # Always on, as nearly everything is.
        if name == "model" and form.pasted is not None:
            text = architectures.pasted_name(form.pasted)
        elif isinstance(field, AssumedField):
            text = field.in_words(form.cleaned_data.get(name) or {}) or ""
        elif isinstance(field, ChoiceField):
            text = str(dict(field.widget.choices).get(text, text))
        elif isinstance(field, NumberField) and text:
            text = field.with_unit(_grouped(text))
        if text:
            told.append((str(field.label), text))
    return told


def not_used(form: WorkbenchForm) -> list[str]:
    """Of each field that another one stands for: that it does not count. Of a volume: what it counts for."""
    volume = by_token.does_not_agree(form.workload().model_dump(mode="json"))
    return ([volume] if volume else []) + [
        _("“%(used)s” is given, so “%(unused)s” does not count.")
        % {"used": form.fields[name].label, "unused": form.fields[other].label}
        for name, other in form.kind.instead_of.items()
        if form[name].value()
    ]


def _grouped(text: str) -> str:
    """A typed number with its thousands set apart; what is no plain number stays as it was typed."""
    plain = number_text(text)
    whole, point, rest = plain.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.isascii() and whole.isdigit() else text
