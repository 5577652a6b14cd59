"""Figures of ``bill`` in integers, for the ranking of a whole market: equal to the shown bills to the smallest unit."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from planner.sizing.bill import (
    HOUR_STEPS,
    MINOR_UNITS,
    Needs,
    Run,
    billed_hours,
    repeated_hours,
    side_lines,
)
from planner.sizing.offers import MICRO, Integers, Rates, Terms

OVERFLOW = 4e18
"""Products above this leave 64 bits."""
SATURATED = 10**17
"""Amounts in smallest units end here, far above any bill, so that sums and tenths of them stay in 64 bits."""


def hour_steps(run: Run, terms: Terms, rework: Decimal = Decimal(0)) -> tuple[int, int]:
    """Billed and repeated hours of one machine in hundredths of an hour, as integers for the ranking."""
    hours = billed_hours(run, terms.unit_s, terms.minimum_s, terms.cap_hours)
    repeated = repeated_hours(hours, rework, terms)
    return int(hours * HOUR_STEPS), int(repeated * HOUR_STEPS)


def side_minor(needs: Needs, terms: Terms, rates: Rates, currency: str) -> tuple[int, bool]:
    """Storage and egress in smallest units of the currency, and whether all of it is known."""
    lines = side_lines(needs, terms, rates, currency)
    known = sum((line.amount for line in lines if line.amount is not None), Decimal(0))
    return int(known * MINOR_UNITS[currency]), all(line.amount is not None for line in lines)


def machine_minor(price_micro: Integers, machines: Integers, steps: Integers, currency: str) -> Integers:
    """One machine line of many offers, in smallest units of the currency: price × machines × hours, half up, as
    ``rounded`` does.

    Integers throughout; the few products beyond 64 bits are done one by one and saturate.
    """
    divisor = MICRO * HOUR_STEPS // MINOR_UNITS[currency]
    estimate = price_micro.astype(np.float64) * machines * steps
    large = estimate > OVERFLOW
    amount: NDArray[np.int64] = (np.where(large, 0, price_micro) * machines * steps + divisor // 2) // divisor
    for row in np.flatnonzero(large):
        exact = (int(price_micro[row]) * int(machines[row]) * int(steps[row]) + divisor // 2) // divisor
        amount[row] = min(exact, SATURATED)
    return np.maximum(amount, ((price_micro > 0) & (machines > 0) & (steps > 0)).astype(np.int64))
