"""From the text of one cell of a price file to its value; a ValueError says what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal

from django.utils.translation import gettext as _

from catalog.recording import rounded

TERM_MONTHS_MAXIMUM = 120
NUMBER = re.compile(r"\d{1,9}(\.\d{1,6})?", re.ASCII)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take for the beginning of a formula."""


def text(longest: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.startswith(FORMULA):
            raise ValueError(_("%(text)s begins like a formula") % {"text": repr(text[:20])})
        if len(text) > longest:
            raise ValueError(_("longer than %(longest)s characters") % {"longest": longest})
        if not text.isprintable():
            raise ValueError(_("holds characters that cannot be printed"))
        return text

    return read


def price(text: str) -> Decimal:
    amount = number(text)
    if amount == 0:
        raise ValueError(_("zero is not a price; leave the row out where it is unknown"))
    return amount


def number(text: str) -> Decimal:
    if not NUMBER.fullmatch(text):
        raise ValueError(
            _("%(text)s is not a number like 12.5, without sign, unit or separators")
            % {"text": repr(text[:20])}
        )
    return rounded(Decimal(text))


def whole(text: str) -> int:
    if not re.fullmatch(r"\d{1,4}", text, re.ASCII) or int(text) == 0:
        raise ValueError(_("%(text)s is not a whole number from 1") % {"text": repr(text[:20])})
    return int(text)


def months(text: str) -> int:
    found = whole(text)
    if found > TERM_MONTHS_MAXIMUM:
        raise ValueError(
            _("%(text)s is more than %(most)s months") % {"text": text, "most": TERM_MONTHS_MAXIMUM}
        )
    return found


def currency(text: str) -> str:
    if not re.fullmatch(r"[A-Z]{3}", text, re.ASCII):
        raise ValueError(_("%(text)s is not a currency like USD") % {"text": repr(text[:20])})
    return text


def day(text: str, latest: date | None) -> date:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        raise ValueError(_("%(text)s is not a day like 2026-11-30") % {"text": repr(text[:20])})
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError(_("%(text)s is not in the calendar") % {"text": repr(text)}) from None
    if latest is not None and day > latest:
        raise ValueError(_("%(text)s is in the future") % {"text": text})
    return day


def one_of(values: list[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in values:
            raise ValueError(
                _("%(text)s is none of %(values)s") % {"text": repr(text[:20]), "values": ", ".join(values)}
            )
        return text

    return read
