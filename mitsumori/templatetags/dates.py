"""Days and moments as the reader writes them; papers and files keep ISO 8601."""

from __future__ import annotations

from datetime import date, datetime

from django import template
from django.template.defaultfilters import date as formatted
from django.utils.translation import gettext as _

register = template.Library()


@register.filter(expects_localtime=True)
def day(value: date | None) -> str:
    # Translators: a date in the letters of Django's date filter, as 2026-11-30
    return str(formatted(value, _("Y-m-d")))


@register.filter(expects_localtime=True)
def moment(value: datetime | None) -> str:
    """A day and a time with its zone."""
    # Translators: a date and time in the letters of Django's date filter, as 2026-11-30 14:05 UTC
    return str(formatted(value, _("Y-m-d H:i e")))
