"""What would help: changes that give a candidate meeting everything, each found by sizing and ranking again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

import numpy as np

from planner.sizing import ranking
from planner.sizing.bill import MINOR_UNITS
from planner.sizing.offers import Integers
from planner.sizing.ranking import MEETS_TARGETS, MISSES_TARGETS, TIGHT
from planner.sizing.setting import Change, Placed, Refusal, Setting
from planner.sizing.weighing import Placements, Weighed, standing, weigh
from planner.sizing.workload import CommonWorkload

SMALL = 1.25
"""A target or budget moved by no more than a quarter is a smaller change than another format or fewer filters."""
CROWDED = 2.0
SENSIBLE = 1.25
"""A latency is asked for as it is, without a machine more; where the load makes it more than twice what one request
alone gets, at a quarter above that: nearer to it a machine serves hardly anybody."""
REMEDIES_SHOWN = 3


@dataclass(frozen=True)
class Tried:
    """A change, and the first candidate with it."""

    change: Change
    setting: Setting[Any]
    weighed: Weighed
    row: int
    candidates: int
    """How many meet everything; 0 where the first fits only without the headroom."""

    @property
    def placement(self) -> Placed:
        found = self.weighed.placements[self.weighed.market.machine_index[self.row]]
        if isinstance(found, Refusal):
            raise TypeError("a rejected offer is no remedy")
        placed: Placed = found
        return placed


def remedies(setting: Setting[Any], weighed: Weighed) -> tuple[Tried, ...]:
    """Up to three changes of different families, each tried alone; the gentlest first.

    In this order: a target, deadline or budget moved by at most a quarter; what the kind says nothing runs without,
    as a context no longer than the model allows; the kind's other changes, as narrower weights or a loss in chunks; a
    target, deadline or budget moved as far as it takes; less headroom; a filter lifted, which is to rent something
    else or elsewhere; then a second one of the kind's own, and other filters. Of each family the first that gives a
    candidate meeting everything counts; where nothing runs at all as asked, one that fits without the headroom does.
    """
    found: list[Tried] = []
    for family in _families(setting, weighed):
        for change in family:
            if any(change.name == other.change.name for other in found):
                continue
            tried = _tried(setting, weighed, change)
            if tried is not None:
                found.append(tried)
                break
        if len(found) == REMEDIES_SHOWN:
            break
    return tuple(found)


def _families(setting: Setting[Any], weighed: Weighed) -> Iterator[Sequence[Change]]:
    numeric = sorted(_numeric(setting, weighed), key=lambda pair: pair[0])
    near = [change for factor, change in numeric if factor <= SMALL]
    far = [change for factor, change in numeric if factor > SMALL]
    own = setting.changes()
    yield near
    yield [change for change in own if change.is_needed]
    yield [change for change in own if not change.is_needed]
    yield far
    yield _headroom(setting, weighed)
    filters = _filters(setting, weighed)
    yield filters
    yield [change for change in own if not change.is_needed]
    yield filters
    yield filters


def _rounded_up(value: float) -> float:
    """To two significant digits, upwards.

    >>> _rounded_up(0.0512), _rounded_up(1234.0)
    (0.052, 1300.0)
    """
    step = 10.0 ** (floor(log10(value)) - 1)
    return round(ceil(value / step - 1e-9) * step, 12)


def _numeric(setting: Setting[Any], weighed: Weighed) -> list[tuple[float, Change]]:
    """Each target, deadline or budget that alone is missed somewhere: how far it must move."""
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
                got = miss.got
                if miss.best is not None and got > CROWDED * miss.best:
                    got = SENSIBLE * miss.best
                only.setdefault(miss.target, []).append((miss.asked, got))
        elif not outcome.misses and workload.budget_per_month and _over_budget(weighed, workload, int(row)):
            total = weighed.total_minor[row] / MINOR_UNITS[weighed.currency]
            only.setdefault("budget_per_month", []).append((workload.budget_per_month, total))
    found = []
    for target, values in only.items():
        asked, best = min(values, key=lambda pair: pair[1])
        value = _rounded_up(best)
        update = _moved(workload, target, value)
        if update:
            found.append((value / asked, Change(target, value, update)))
    return found


def _moved(workload: CommonWorkload, target: str, value: float) -> dict[str, Any]:
    """The field of the workload that holds this target, at another value."""
    targets = getattr(workload, "targets", None)
    if targets is not None and hasattr(targets, target):
        return {"targets": targets.model_copy(update={target: value})}
    return {target: value} if hasattr(workload, target) else {}


def _over_budget(weighed: Weighed, workload: CommonWorkload, row: int) -> bool:
    budget = workload.budget_per_month
    return budget is not None and weighed.total_minor[row] > budget * MINOR_UNITS[weighed.currency]


def _filters(setting: Setting[Any], weighed: Weighed) -> list[Change]:
    """Each filter whose lifting alone shows offers that meet everything, the one that shows most of them first.

    Offers that break another rule besides are not counted: they would stay hidden. A limit is moved only as far
    as its first offer needs, and the terms of sale by one tier.
    """
    found: list[tuple[int, Change]] = []
    alone = (weighed.rules_broken == 1) & (weighed.class_ == MEETS_TARGETS)
    for name, hidden in weighed.hidden_by.items():
        rows = np.flatnonzero(alone & hidden)
        if len(rows):
            value, count = _lifted(setting, weighed, name, rows)
            found.append((count, Change(name, value, _without(setting.workload, name, value))))
    return [change for _count, change in sorted(found, key=lambda each: -each[0])]


def _without(workload: CommonWorkload, name: str, value: float | str) -> dict[str, Any]:
    """The workload's fields with a filter lifted, or moved to a value."""
    if name == "interruptible":
        return {"interruptible": True}
    filters = workload.filters
    now: Any = getattr(filters, name)
    lifted: Any = value
    if name == "tiers":
        lifted = (*now, value)
    elif isinstance(now, tuple):
        lifted = ()
    elif isinstance(now, bool):
        lifted = not now
    return {"filters": filters.model_copy(update={name: lifted})}


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


def _headroom(setting: Setting[Any], weighed: Weighed) -> list[Change]:
    """The headroom that the roomiest tight machine leaves."""
    shares = []
    for outcome in weighed.placements:
        if not isinstance(outcome, Refusal) and outcome.verdict == "tight":
            split = outcome.planned
            shares.append(floor((split.usable_bytes - split.needed_bytes) / split.usable_bytes * 100) / 100)
    if not shares or weighed.count(TIGHT) == 0:
        return []
    least = max(shares)
    return [Change("headroom_fraction", least, {"headroom_fraction": least})]


def _tried(setting: Setting[Any], weighed: Weighed, change: Change) -> Tried | None:
    """The question sized and ranked with this change; None where it does not help."""
    changed = setting.changed(change.update)
    placements = weighed.placements
    if changed.placing_key() != setting.placing_key():
        placements = _placed_again(changed, weighed)
    found = weigh(changed, placements)
    if not len(found.rows):
        return None
    (first,) = ranking.rank(standing(changed, found), 0, 1)
    row, count = int(found.rows[first]), found.count(MEETS_TARGETS)
    if not count and (len(weighed.rows) or int(found.class_[row]) != TIGHT):
        return None
    return Tried(change, changed, found, row, count)


def _placed_again(changed: Setting[Any], weighed: Weighed) -> Placements:
    """Placements of the changed question, worked out where a filter does not hide all offers of the machine."""
    market = weighed.market
    hidden = np.zeros(len(market), dtype=bool)
    for rows in weighed.hidden_by.values():
        hidden |= rows
    numbers = np.unique(market.machine_index[~hidden]).tolist()
    placements = list(weighed.placements)
    for number, outcome in zip(numbers, changed.place_some(numbers), strict=True):
        placements[number] = outcome
    return placements
