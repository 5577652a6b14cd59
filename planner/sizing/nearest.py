"""What would help: the least change that gives a candidate meeting everything, found by trying."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

import numpy as np

from planner.sizing.bill import MINOR_UNITS
from planner.sizing.offers import Integers
from planner.sizing.ranking import MEETS_TARGETS, MISSES_TARGETS, TIGHT
from planner.sizing.results import SmallestChange
from planner.sizing.setting import Change, Refusal, Setting
from planner.sizing.weighing import Weighed, weigh
from planner.sizing.workload import CommonWorkload

SMALL = 1.25
"""A target or budget moved by no more than a quarter is a smaller change than another format or fewer filters."""


def smallest_change(setting: Setting[Any], weighed: Weighed) -> SmallestChange | None:
    """The least change that fills class 1, found by trying; None where none of those tried does.

    In this order: a target, deadline or budget moved by at most a quarter; what the kind says nothing runs without,
    as a context no longer than the model allows; a filter lifted; less headroom; the kind's other changes, as narrower
    weights; then a target, deadline or budget moved as far as it takes.
    """
    numeric = sorted(_numeric(setting, weighed), key=lambda found: found[0])
    if numeric and numeric[0][0] <= SMALL:
        return numeric[0][1]
    changes = setting.changes()
    return (
        _first(setting, [change for change in changes if change.is_needed])
        or _filter(setting, weighed)
        or _headroom(setting, weighed)
        or _first(setting, [change for change in changes if not change.is_needed])
        or (numeric[0][1] if numeric else None)
    )


def _rounded_up(value: float) -> float:
    """To two significant digits, upwards.

    >>> _rounded_up(0.0512), _rounded_up(1234.0)
    (0.052, 1300.0)
    """
    step = 10.0 ** (floor(log10(value)) - 1)
    return round(ceil(value / step - 1e-9) * step, 12)


def _numeric(setting: Setting[Any], weighed: Weighed) -> list[tuple[float, SmallestChange]]:
    """Each target, deadline or budget that alone is missed somewhere: how far it must move, and for how many."""
    workload, market = setting.workload, weighed.market
    rows = np.flatnonzero((weighed.reason < 0) & (weighed.class_ == MISSES_TARGETS))
    only: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        outcome = weighed.placements[market.machine_index[row]]
        if isinstance(outcome, Refusal):
            continue
        if len(outcome.misses) == 1 and not _over_budget(weighed, workload, int(row)):
            miss = outcome.misses[0]
            if miss.got is not None:
                only.setdefault(miss.target, []).append((miss.asked, miss.got))
        elif not outcome.misses and workload.budget_per_month:
            total = weighed.total_minor[row] / MINOR_UNITS[weighed.currency]
            only.setdefault("budget_per_month", []).append((workload.budget_per_month, total))
    found = []
    for target, values in only.items():
        asked, best = min(values, key=lambda pair: pair[1])
        value = _rounded_up(best)
        reached = sum(got <= value for _asked, got in values)
        found.append((value / asked, SmallestChange(change=target, value=value, candidates=reached)))
    return found


def _over_budget(weighed: Weighed, workload: CommonWorkload, row: int) -> bool:
    budget = workload.budget_per_month
    return budget is not None and weighed.total_minor[row] > budget * MINOR_UNITS[weighed.currency]


def _filter(setting: Setting[Any], weighed: Weighed) -> SmallestChange | None:
    """The filter whose lifting alone shows most offers that meet everything.

    Offers that break another rule besides are not counted: they would stay hidden. A limit is moved only as far
    as its first offer needs, and the terms of sale by one tier.
    """
    best: SmallestChange | None = None
    alone = (weighed.rules_broken == 1) & (weighed.class_ == MEETS_TARGETS)
    for change, hidden in weighed.hidden_by.items():
        rows = np.flatnonzero(alone & hidden)
        if not len(rows):
            continue
        value, count = _lifted(setting, weighed, change, rows)
        if best is None or count > best.candidates:
            best = SmallestChange(change=change, value=value, candidates=count)
    return best


def _lifted(setting: Setting[Any], weighed: Weighed, change: str, rows: Integers) -> tuple[float | str, int]:
    """What a filter would have to say, and how many of its hidden rows that shows."""
    market = weighed.market
    if change == "tiers":
        counts = np.bincount(market.tier_index[rows])
        return market.tiers[int(counts.argmax())], int(counts.max())
    if change == "gpu_count_maximum":
        counted = np.array([machine.device_count for machine in market.machines])[market.machine_index[rows]]
        return int(counted.min()), int(np.count_nonzero(counted == counted.min()))
    if change == "price_age_days_maximum":
        newest = int(market.observed_ordinal[rows].max())
        reached = int(np.count_nonzero(market.observed_ordinal[rows] == newest))
        return setting.at.date().toordinal() - newest, reached
    if change == "price_per_month_maximum":
        totals = weighed.total_minor[rows] / MINOR_UNITS[weighed.currency]
        limit = _rounded_up(float(totals.min()))
        return limit, int(np.count_nonzero(totals <= limit))
    return "", len(rows)


def _headroom(setting: Setting[Any], weighed: Weighed) -> SmallestChange | None:
    """The headroom that the roomiest tight machine leaves."""
    shares = []
    for outcome in weighed.placements:
        if not isinstance(outcome, Refusal) and outcome.verdict == "tight":
            split = outcome.planned
            shares.append(floor((split.usable_bytes - split.needed_bytes) / split.usable_bytes * 100) / 100)
    if not shares or weighed.count(TIGHT) == 0:
        return None
    least = max(shares)
    return _tried(setting, Change("headroom_fraction", least, {"headroom_fraction": least}))


def _first(setting: Setting[Any], changes: Sequence[Change]) -> SmallestChange | None:
    """The first of the kind's own changes that gives a candidate meeting everything."""
    for change in changes:
        found = _tried(setting, change)
        if found is not None:
            return found
    return None


def _tried(setting: Setting[Any], change: Change) -> SmallestChange | None:
    changed = setting.changed(change.update)
    count = weigh(changed, changed.place()).count(MEETS_TARGETS)
    return SmallestChange(change=change.name, value=change.value, candidates=count) if count else None
