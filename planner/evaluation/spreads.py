"""80 % ranges from what predictions missed: by regime, wider where something was assumed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.evaluation.throughput_cases import Case
from planner.sizing.constants import Spread

Array = NDArray[np.float64]

INSIDE = 0.85
"""A little more than 80 %: what is left out here is publisher and family together, which differ more from one
another than rows do."""
ROWS_MINIMUM = 12
"""Fewer residuals than this do not make a range of their own."""
HALF_MINIMUM = 20
"""A regime is told apart by whether something was assumed where both halves have this many."""
ASSUMED = "_assumed"


def key(case: Case) -> str:
    """The range that holds for a case."""
    return case.regime + (ASSUMED if case.assumed else "")


def spreads(cases: Sequence[Case], errors: Array) -> dict[str, Spread]:
    """Ranges by regime from ln(predicted ÷ measured) of rows that the constants had not seen.

    A regime with too few rows on either side of what is assumed takes all of its rows for both; one with too
    few at all takes every row.
    """
    regimes = sorted({case.regime for case in cases})
    found: dict[str, Spread] = {}
    for regime in regimes:
        whole = np.array([case.regime == regime for case in cases])
        assumed = np.array([case.assumed for case in cases])
        if whole.sum() < ROWS_MINIMUM:
            whole = np.ones(len(cases), dtype=bool)
        halves = (whole & ~assumed, whole & assumed)
        told_apart = min(half.sum() for half in halves) >= HALF_MINIMUM
        for suffix, half in zip(("", ASSUMED), halves, strict=True):
            found[regime + suffix] = _spread(errors[half if told_apart else whole])
    return found


def _spread(errors: Array) -> Spread:
    """Of measured ÷ predicted: the middle 80 %, its ends moved out as far as so few residuals ask for."""
    count = len(errors)
    tail = max(0.0, (1.0 - INSIDE * (count + 1) / count) / 2.0)
    low, high = np.quantile(-errors, [tail, 1.0 - tail])
    return Spread(
        low=round(float(np.exp(min(low, 0.0))), 3), high=round(float(np.exp(max(high, 0.0))), 3), count=count
    )
