"""How a figure that opens its derivation is marked: where fitted constants carry it, the line beneath is dotted."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from planner import fitted

register = template.Library()


@register.filter
def why_class(figure: str) -> str:
    return "why-figure fitted" if fitted.is_fitted(figure) else "why-figure"


@register.filter
def why_title(figure: str) -> str:
    if fitted.is_fitted(figure):
        return _("How this figure comes about: it rests on constants fitted on published measurements")
    return _("How this figure comes about")
