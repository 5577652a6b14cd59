"""How old a figure is whose source writes its date as text: a day, a month, or no date at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

_DATED = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?(?!\d)")


@dataclass(frozen=True)
class Age:
    """``days`` where the day is known, ``months`` where the month is; neither where the source is undated."""

    days: int | None = None
    months: int | None = None


def day_of(observed: str) -> date | None:
    """The day that a text begins with; a month or a year alone is not one.

    >>> day_of("2026-06-18 prices"), day_of("2026-10 (moto)")
    (datetime.date(2026, 6, 18), None)
    """
    found = _DATED.match(observed)
    if found is None or found[3] is None:
        return None
    try:
        return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None


def age_of(observed: str, on: date) -> Age:
    """How old a figure is on a day, as exactly as its source dates it.

    >>> [age_of(text, date(2026, 11, 30)) for text in ("2026-10-07", "2024-10 or before", "2026")]
    [Age(days=54, months=None), Age(days=None, months=25), Age(days=None, months=None)]
    """
    if (day := day_of(observed)) is not None:
        return Age(days=max(0, (on - day).days))
    found = _DATED.match(observed)
    if found is None or not 1 <= int(found[2]) <= 12:
        return Age()
    return Age(months=max(0, (on.year - int(found[1])) * 12 + on.month - int(found[2])))
