"""Figures of a candidate as every file writes them: the text of the screen, without its separators."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from planner.columns import Column, Value
from planner.figures import cell, significant
from planner.sizing.results import Candidate

RANGE_DIGITS = 2
_NAMES = {"memory": "gpu_memory_gib"}
"""Names in files that say more than the column's key: of several kinds of memory this is the card's own."""
_UNIT_WORDS = {
    "%": "percent",
    "1/s": "per_s",
    "1/h": "per_h",
    "B": "bytes",
    "GB/s": "gb_per_s",
    "tokens/s": "tokens_per_s",
}


def header(column: Column) -> str:
    """The stable name of a column in files: its key with the unit last."""
    if column.key in _NAMES:
        return _NAMES[column.key]
    if not column.unit:
        return column.key
    unit = _UNIT_WORDS.get(column.unit) or re.sub(r"\W+", "_", column.unit).lower()
    return column.key if column.key.endswith(f"_{unit}") else f"{column.key}_{unit}"


def figure(column: Column, candidate: Candidate, *, coded: bool = False) -> Value:
    """The column's figure with exactly the digits the screen shows; None where it is unknown.

    Codes come back in words, or ``coded`` as they are stored; numbers and money as Decimal, dates and flags as
    they are.
    """
    value = column.value(candidate)
    if value is None or column.kind in ("date", "flag") or (coded and column.kind == "code"):
        return value
    text = cell(column, candidate).text
    return number(text) if column.kind in ("number", "money") else text


def ends(column: Column, candidate: Candidate) -> tuple[Value, Value]:
    """Both ends of the column's range as the screen shows them; None where it has none."""
    estimate = column.estimate(candidate) if column.estimate else None
    if estimate is None:
        return None, None
    return number(significant(estimate.low, RANGE_DIGITS)), number(significant(estimate.high, RANGE_DIGITS))


def number(text: str | None) -> Decimal | None:
    """A shown number without its separators: "1,230.50" is 1230.50."""
    try:
        return Decimal((text or "").replace(",", "").replace("\u2212", "-"))
    except InvalidOperation:
        return None


def plain(value: Decimal) -> str:
    """A number without exponent and separators."""
    return f"{value:f}"
