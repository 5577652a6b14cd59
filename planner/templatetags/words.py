"""Filters that turn names of data into words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import template
from django.urls import reverse

from planner import assumption_words, remedy_links
from planner.figures import There, exact
from planner.forms import WorkbenchForm

register = template.Library()


@register.filter
def assumption_word(name: str) -> str:
    return assumption_words.assumption(name)


@dataclass(frozen=True)
class ByHand:
    """An assumption that a link sets, and the link without it."""

    name: str
    value: str
    unit: str
    without: str


@register.filter
def set_by_hand(form: WorkbenchForm) -> list[ByHand]:
    assumed: dict[str, float] = form.cleaned_data.get("assume") or {}
    known = form.kind.settable
    return [
        ByHand(
            name=assumption_words.assumption(name),
            value=exact(value),
            unit=assumption_words.unit(known[name].unit) if name in known else "",
            without=form.query_string(
                assume=",".join(f"{other}:{number:g}" for other, number in assumed.items() if other != name)
                or None
            ),
        )
        for name, value in assumed.items()
    ]


@register.simple_tag
def page_there(there: There, form: WorkbenchForm) -> str:
    """The page of another offer, for the question with what is changed there."""
    texts = {key: text for _name, key, _default, text in form.state}
    changes: dict[str, Any] = remedy_links.asked_so(form.kind, there, texts) if there.change else {}
    query = form.query_string(page=None, sort=None, tray=None, explore=None, columns=None, **changes)
    return f"{reverse('planner:candidate', args=[there.offer_id])}?{query}"


@register.filter
def without_assumed(form: WorkbenchForm) -> str:
    return form.query_string(assume=None, without=("page",))


@register.filter
def either(remedies: Iterable[str]) -> str:
    return assumption_words.either(remedies)


@register.filter
def unit_word(unit: str) -> str:
    return assumption_words.unit(unit)
