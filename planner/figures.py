"""Figures as text: one way to write a number, an amount, a duration, on every screen and paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from catalog.source_words import said
from planner import wording
from planner.columns import Column
from planner.sizing.quantities import GIB, Estimate
from planner.sizing.results import Candidate

SMALLEST_GIB = 0.01
SIGNS = {"USD": "$", "JPY": "¥", "EUR": "€"}
LEAST = "≥ "
"""Before an amount in which a line is unknown."""
HOURS_SHOWN = 0.01
"""Shorter than this is told in seconds."""
DECIMALS = {"USD": 2, "JPY": 0, "EUR": 2}


def significant(value: float, digits: int = 3) -> str:
    """A number to so many significant digits, grouped, without an exponent.

    >>> significant(0.021349), significant(1234567.0)
    ('0.0213', '1,230,000')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    exponent = math.floor(math.log10(abs(value)))
    rounded = round(value, digits - 1 - exponent)
    if rounded and math.floor(math.log10(abs(rounded))) > exponent:
        exponent += 1
    return f"{rounded:,.{max(0, digits - 1 - exponent)}f}"


def money(amount: Decimal, currency: str, *, decimals: int | None = None) -> str:
    """An amount with its sign: "$4,912.33", "¥735,120"."""
    text = money_plain(abs(amount), currency, decimals=decimals)
    sign = SIGNS.get(currency)
    minus = "−" if amount < 0 else ""
    return f"{minus}{sign}{text}" if sign else f"{minus}{text} {currency}"


def money_known(amount: Decimal, currency: str, *, complete: bool, decimals: int | None = None) -> str:
    """An amount that sums lines of a bill: "≥ $4,912.33" where one of them is unknown.

    >>> money_known(Decimal("4912.33"), "USD", complete=False)
    '≥ $4,912.33'
    """
    return ("" if complete else LEAST) + money(amount, currency, decimals=decimals)


def money_plain(amount: Decimal, currency: str, *, decimals: int | None = None) -> str:
    """To the currency's smallest unit; below it to two digits, so that nothing reads 0 that is not.

    >>> money_plain(Decimal("4912.334"), "USD"), money_plain(Decimal("0.00033"), "USD"), money_plain(Decimal(0), "USD")
    ('4,912.33', '0.00033', '0.00')
    """
    places = DECIMALS.get(currency, 2) if decimals is None else decimals
    if 0 < abs(amount) < Decimal(1).scaleb(-places):
        return f"{amount.quantize(Decimal(1).scaleb(amount.adjusted() - 1), ROUND_HALF_UP):f}"
    return f"{amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):,f}"


def gib(size_bytes: float) -> str:
    """Bytes in GiB, one decimal; two below 10 so that small buffers do not vanish, and never 0 for what is not."""
    value = size_bytes / GIB
    if 0 < value < SMALLEST_GIB:
        return f"< {SMALLEST_GIB}"
    return f"{value:,.1f}" if abs(value) >= 10 or value == 0 else f"{value:,.2f}"


def seconds(value: float) -> tuple[str, str]:
    """A duration and its unit: milliseconds below one second."""
    return (significant(value * 1000), "ms") if value < 1 else (significant(value), "s")


def hours(value: float) -> tuple[str, str]:
    """Hours, and seconds below a hundredth of one.

    >>> hours(6.89), hours(0.0017)
    (('6.89', 'h'), ('6.12', 's'))
    """
    return (significant(value), "h") if value >= HOURS_SHOWN or value <= 0 else seconds(value * 3600)


class There(NamedTuple):
    """The page of another offer, with one thing of the question changed where ``change`` names it."""

    offer_id: int
    change: str | None = None
    value: float | str | None = None


@dataclass(frozen=True)
class Figure:
    """One predicted figure: large, its unit, its range."""

    text: str
    unit: str = ""
    range: str = ""
    opens: str = ""
    """Name of the derivation that it opens."""
    is_given: bool = False
    """A fact of the offer or the user's own number: there is nothing to derive."""
    there: There | None = None
    """It is a figure of another offer: its derivation stands on that offer's page."""


def given(text: str, unit: str = "") -> Figure:
    """What was read or entered, not worked out."""
    return Figure(text, unit, is_given=True)


def duration(estimate: Estimate | None, opens: str = "") -> Figure | None:
    if estimate is None:
        return None
    text, unit = seconds(estimate.value)
    scale = 1000 if unit == "ms" else 1
    return Figure(
        text,
        unit,
        f"{significant(estimate.low * scale, 2)}–{significant(estimate.high * scale, 2)} {unit}",
        opens,
    )


def ranged(estimate: Estimate | None, unit: str, opens: str = "") -> Figure | None:
    """An estimate in its own unit with its range."""
    if estimate is None:
        return None
    if unit == "h" and 0 < estimate.value < HOURS_SHOWN:
        each = {name: getattr(estimate, name) * 3600 for name in ("value", "low", "high")}
        return duration(Estimate(**each), opens)
    ends = f"{significant(estimate.low, 2)}–{significant(estimate.high, 2)}"
    return Figure(significant(estimate.value), unit, f"{ends} {unit}" if unit == "h" else ends, opens)


@dataclass(frozen=True)
class Cell:
    column: Column
    text: str | None
    """None: unknown, and said so."""
    range: str = ""
    prefix: str = ""

    @property
    def is_number(self) -> bool:
        return self.column.kind in ("number", "money", "date")


def cell(column: Column, candidate: Candidate) -> Cell:
    """One figure of the table as text; the same text on every paper."""
    value = column.value(candidate)
    if value is None:
        return Cell(column, None)
    if column.kind == "money":
        currency = candidate.monthly.currency
        prefix = "" if candidate.monthly.complete or not column.is_of_total else LEAST
        return Cell(
            column, money_plain(Decimal(str(value)), currency, decimals=column.decimals), prefix=prefix
        )
    if column.kind == "flag":
        return Cell(column, _("yes") if value else _("no"))
    if column.kind == "code":
        return Cell(column, said(str(value)) if column.key == "source" else wording.word(column.key, value))
    if column.kind == "date":
        return Cell(column, value.isoformat() if isinstance(value, date) else str(value))
    if column.kind == "number":
        return Cell(column, _number(column, value), _range(column, candidate))
    return Cell(column, str(value))


def _number(column: Column, value: Any) -> str:
    if column.digits is not None:
        return significant(float(value), column.digits)
    if column.decimals is not None:
        return f"{value:,.{column.decimals}f}"
    text = f"{Decimal(str(value)):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _range(column: Column, candidate: Candidate) -> str:
    estimate = column.estimate(candidate) if column.estimate else None
    if estimate is None:
        return ""
    return f"{significant(estimate.low, 2)}–{significant(estimate.high, 2)}"


def exact(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1e6:
        return f"{value:,.0f}"
    return f"{value:,.6g}"


def unit_price(amount: Decimal) -> str:
    """A unit price: as it was read, to six places."""
    text = f"{amount.quantize(Decimal('0.000001')):,f}" if -amount.as_tuple().exponent > 6 else f"{amount:,f}"  # type: ignore[operator]
    return text.rstrip("0").rstrip(".") if "." in text else text
