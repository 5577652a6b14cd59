"""The offers that are no candidates: each with its reason, its shortfall and what would help."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.sizing.bill import MINOR_UNITS
from planner.sizing.offers import Integers
from planner.sizing.quantities import GIB
from planner.sizing.ranking import Floats
from planner.sizing.results import Rejection
from planner.sizing.setting import Refusal, Setting
from planner.sizing.weighing import REASONS, Weighed, host_bytes

UINT16_VALUES = 2**16
"""Below this many values NumPy sorts small integers by radix, in linear time."""


def count_rejected(weighed: Weighed) -> dict[str, int]:
    """How many offers each reason rejects."""
    counts = np.bincount(weighed.reason[weighed.reason >= 0], minlength=len(REASONS))
    return {name: int(count) for name, count in zip(REASONS, counts, strict=True) if count}


def write_rejected(setting: Setting[Any], weighed: Weighed, limit: int | None) -> tuple[Rejection, ...]:
    """Rejected offers by reason in the order of the filters, each machine once before its other offers, the
    nearest miss first."""
    rows = _rejected_rows(weighed)
    if limit is not None and len(rows) > limit:
        rows = _fair_share(weighed, rows, limit)
    return tuple(write_rejection(setting, weighed, int(row)) for row in rows)


def _rejected_rows(weighed: Weighed) -> Integers:
    """Rows by reason; of each reason every machine once, the nearest miss first, then its other offers.

    Pairs of reason and machine are few, so they are ranked once and rows are put in order by small integers.
    """
    market = weighed.market
    rows = np.flatnonzero(weighed.reason >= 0)
    if not len(rows):
        return rows
    count = len(market.machines)
    pair = weighed.reason[rows].astype(np.int64) * count + market.machine_index[rows]
    pairs = len(REASONS) * count
    nearness = np.empty(pairs, dtype=np.uint16 if pairs < UINT16_VALUES else np.int64)
    shortfall = np.tile(_shortfalls(weighed), len(REASONS))
    nearness[np.lexsort((shortfall, np.arange(pairs) // count))] = np.arange(pairs)
    head = np.full(pairs, -1, dtype=np.int64)
    head[pair[::-1]] = np.arange(len(rows))[::-1]
    again = np.ones(len(rows), dtype=np.uint8)
    again[head[head >= 0]] = 0
    order = np.argsort(nearness[pair], kind="stable")
    group = weighed.reason[rows][order].astype(np.uint8) * 2 + again[order]
    return rows[order[np.argsort(group, kind="stable")]]


def _shortfalls(weighed: Weighed) -> Floats:
    """Of each machine: missing memory as a share of what is usable; 0 where memory is not the reason."""
    found = np.zeros(len(weighed.placements))
    for number, outcome in enumerate(weighed.placements):
        if isinstance(outcome, Refusal) and outcome.split is not None:
            split = outcome.split
            found[number] = max(0, split.needed_bytes - split.usable_bytes) / max(1, split.usable_bytes)
    return found


def _fair_share(weighed: Weighed, rows: Integers, limit: int) -> Integers:
    """The first of each reason, so that no reason is crowded out."""
    reasons, counts = np.unique(weighed.reason[rows], return_counts=True)
    left = limit
    kept: list[Integers] = []
    for position, (reason, count) in enumerate(sorted(zip(reasons, counts, strict=True), key=lambda x: x[1])):
        share = min(int(count), left // (len(reasons) - position))
        kept.append(rows[weighed.reason[rows] == reason][:share])
        left -= share
    chosen = np.isin(rows, np.concatenate(kept))
    return rows[chosen]


def write_rejection(setting: Setting[Any], weighed: Weighed, row: int) -> Rejection:
    """One rejected offer. What would help a machine that is too small is worked out once for all its offers."""
    market, workload = weighed.market, setting.workload
    reason = REASONS[weighed.reason[row]]
    outcome = weighed.placements[market.machine_index[row]]
    facts = market.facts(row, setting.at.date())
    detail: dict[str, Any] = {}
    needed = available = None
    would_help: tuple[dict[str, Any], ...] = ()
    if isinstance(outcome, Refusal) and outcome.reason == reason:
        detail = dict(outcome.detail)
        if outcome.split is not None:
            needed, available = outcome.split.needed_bytes, outcome.split.usable_bytes
        if reason == "memory":
            if outcome.what_would_help is None:
                machine = market.machines[market.machine_index[row]]
                outcome.what_would_help = setting.what_would_help(outcome, machine)
            would_help = outcome.what_would_help
    elif reason == "memory":
        # The devices hold it, the host does not.
        needed, available = host_bytes(outcome), int(market.ram_bytes[row])
        detail = {"rule": "host_memory", "needed_gib": needed / GIB, "has_gib": available / GIB}
    elif reason == "price":
        got = int(weighed.total_minor[row]) / MINOR_UNITS[weighed.currency]
        oldest = workload.filters.price_age_days_maximum
        if facts.estimated and not workload.filters.estimated_prices:
            detail = {"rule": "estimated"}
        elif oldest is not None and facts.price_age_days > oldest:
            detail = {"rule": "age", "asked": oldest, "got": facts.price_age_days}
        else:
            detail = {"rule": "maximum", "asked": workload.filters.price_per_month_maximum, "got": got}
    elif reason == "tier":
        detail = {"tier": facts.tier, "asked": list(workload.filters.tiers)}
    elif reason == "currency":
        detail = {"currency": facts.price_currency, "asked": weighed.currency}
    elif reason == "interruption":
        detail = {"tier": facts.tier}
    elif reason == "region":
        detail = {"region": facts.region or None, "asked": list(workload.filters.regions)}
    elif reason == "provider":
        detail = {"provider": facts.provider, "asked": list(workload.filters.providers)}
    elif reason == "gpu_count":
        detail = {"gpu_count": facts.gpu_count, "asked": workload.filters.gpu_count_maximum}
    elif reason in ("include", "exclude"):
        detail = {"accelerator": facts.accelerator, "asked": list(getattr(workload.filters, reason))}
    return Rejection(
        offer=facts, reason=reason, detail=detail, needed_bytes=needed, available_bytes=available,
        what_would_help=would_help,
    )  # fmt: skip
