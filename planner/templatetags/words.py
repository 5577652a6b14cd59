"""Filters that turn names of data into words."""

from __future__ import annotations

from collections.abc import Iterable

from django import template

from planner import assumption_words

register = template.Library()


@register.filter
def assumption_word(name: str) -> str:
    return assumption_words.assumption(name)


@register.filter
def either(remedies: Iterable[str]) -> str:
    return assumption_words.either(remedies)


@register.filter
def unit_word(unit: str) -> str:
    return assumption_words.unit(unit)
