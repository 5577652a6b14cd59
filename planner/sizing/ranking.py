"""The order of candidates: classes, objective, and bands of nearly equal totals; NumPy over whole columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.sizing.bill import INCOMPLETE_TENTHS
from planner.sizing.offers import Flags, Integers

MEETS_TARGETS, MISSES_TARGETS, TIGHT = 1, 2, 3
BAND_PERCENT = 2
"""Totals within 2 % of the lowest of a band count as equal."""
SIGNIFICANT_DIGITS = 3
"""Speeds equal to three digits count as equal: further digits are below any prediction's certainty."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Standing:
    """What ranking looks at, one entry per candidate."""

    class_: Integers
    objective: Floats
    """Lower is better; all 0 where cost alone decides; infinite where unknown."""
    total_minor: Integers
    complete: Flags
    gpus_per_replica: Integers
    tie_rank: Integers
    """Order by bandwidth, memory, RAM, vCPU and price date, made once per market."""

    def effective_tenths(self) -> Integers:
        """Total to rank by, in tenths: an incomplete one counts 1.10 × its known part."""
        return self.total_minor * np.where(self.complete, 10, INCOMPLETE_TENTHS)


def significant(values: Floats) -> Floats:
    """Values to three significant digits, NaN as infinity.

    >>> significant(np.array([0.012345, 1234.5, 0.0])).tolist()
    [0.0123, 1230.0, 0.0]
    """
    clean = np.where(np.isnan(values), np.inf, values)
    finite = np.isfinite(clean) & (clean != 0)
    result = clean.astype(np.float64).copy()
    exponent = np.floor(np.log10(np.abs(clean[finite]))) - (SIGNIFICANT_DIGITS - 1)
    scale = 10.0 ** np.abs(exponent)
    result[finite] = np.where(
        exponent < 0, np.round(clean[finite] * scale) / scale, np.round(clean[finite] / scale) * scale
    )
    return result


def rank(standing: Standing, offset: int = 0, limit: int | None = None) -> Integers:
    """Indices of the candidates in order, from ``offset``, at most ``limit``.

    Class first, then the objective. Then by total: a band starts at its lowest total and takes all within
    2 % of that; inside a band fewer GPUs per replica, then more bandwidth, memory, RAM, vCPU, newer price.
    Only the bands that reach into the page are sorted inside.
    """
    effective = standing.effective_tenths()
    end = len(effective) if limit is None else min(len(effective), offset + limit)
    if end <= offset:
        return np.zeros(0, dtype=np.int64)
    reach = _reach(standing, effective, end)
    keys = (standing.tie_rank, effective, standing.objective, standing.class_)
    order = reach[np.lexsort(tuple(key[reach] for key in keys))]
    for start, stop in _bands(standing, effective, order, end):
        if stop > offset and stop - start > 1:
            band = order[start:stop]
            inside = np.lexsort((standing.tie_rank[band], standing.gpus_per_replica[band]))
            order[start:stop] = band[inside]
    return order[offset:end]


def _reach(standing: Standing, effective: Integers, end: int) -> Integers:
    """Candidates that can stand among the first ``end``: sorting a large catalog for one page would be waste.

    Where cost alone decides, these are the lower classes and, of the class where the page ends, totals up to
    the end of the last band: 2 % above the one that is ``end``-th.
    """
    if end >= len(effective) or standing.objective.any():
        return np.arange(len(effective), dtype=np.int64)
    class_, left = int(standing.class_.min()), end
    while (count := int(np.count_nonzero(standing.class_ == class_))) < left:
        left -= count
        class_ += 1
    own = standing.class_ == class_
    last = int(np.partition(effective[own], left - 1)[left - 1])
    return np.flatnonzero(
        (standing.class_ < class_) | (own & (effective <= last + last * BAND_PERCENT // 100))
    )


def _bands(standing: Standing, effective: Integers, order: Integers, end: int) -> Iterator[tuple[int, int]]:
    """Start and stop of each band up to ``end``, over the order before any band is sorted inside."""
    sorted_effective = effective[order]
    class_, objective = standing.class_[order], standing.objective[order]
    changes = np.flatnonzero((np.diff(class_) != 0) | (objective[1:] != objective[:-1])) + 1
    for group_start, group_stop in zip(
        np.concatenate(([0], changes)), np.concatenate((changes, [len(order)])), strict=True
    ):
        start = int(group_start)
        while start < group_stop:
            if start >= end:
                return
            lowest = int(sorted_effective[start])
            ceiling = lowest + lowest * BAND_PERCENT // 100
            stop = start + int(np.searchsorted(sorted_effective[start:group_stop], ceiling, side="right"))
            yield start, stop
            start = stop
