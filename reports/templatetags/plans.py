"""Codes of plans in words, and totals as text."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from django import template
from django.template import Context

from reports import words
from reports.origin import Origin, origin_of
from reports.totals import CommonTotal

register = template.Library()


@register.simple_tag(takes_context=True)
def plan_into(context: Context, into: str | None) -> Origin | None:
    """The plan that a sheet was opened from, if its reader may write it."""
    return origin_of(context["request"].user, str(into)) if into else None


@register.filter
def done(code: str) -> str:
    """A line of a plan's log."""
    return words.done(code)


@register.filter
def origin(code: str) -> str:
    return words.origin(code)


@register.filter
def origin_detail(code: str, detail: str) -> str:
    return words.origin_detail(code, detail)


@register.filter
def common_total(total: CommonTotal) -> str:
    return words.common_total(total)


@register.filter
def converted(shown: tuple[str, date, dict[str, Decimal]]) -> str:
    return words.converted(shown)
