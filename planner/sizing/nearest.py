"""What would help: the least change that gives a candidate meeting everything, and what makes one fit."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import Any

import numpy as np

from planner.sizing import memory, support
from planner.sizing.bill import MINOR_UNITS
from planner.sizing.devices import Machine
from planner.sizing.formats import FORMATS
from planner.sizing.memory import Need
from planner.sizing.offers import Integers
from planner.sizing.options import Refusal
from planner.sizing.placing import Placement
from planner.sizing.ranking import MEETS_TARGETS, MISSES_TARGETS, TIGHT
from planner.sizing.results import SmallestChange
from planner.sizing.weighing import Setting, Weighed, placed, weigh
from planner.sizing.workload import BatchWorkload, ServingWorkload

SMALL = 1.25
"""A target or budget moved by no more than a quarter is a smaller change than another format or fewer filters."""
FORMATS_TRIED = {"llama_cpp": ("gguf_q8_0", "gguf_q4_k_m")}
FORMATS_TRIED_ELSEWHERE = ("fp8", "int4_awq")


def what_would_help(setting: Setting, refusal: Refusal, machine: Machine) -> tuple[dict[str, Any], ...]:
    """Changes that would make a replica fit on this machine, smallest first."""
    workload = setting.workload
    if refusal.layout is None:
        return ()
    return memory.what_would_help(
        setting.arch,
        Need.of(workload),
        setting.runtime,
        machine.device,
        refusal.layout,
        device_count=machine.device_count,
        weights_formats=support.weights_formats(
            setting.runtime, machine.device, setting.arch, workload.kv_format
        ),
        kv_formats=support.kv_formats(setting.runtime, machine.device, setting.arch, workload.weights_format),
    )


def smallest_change(setting: Setting, weighed: Weighed) -> SmallestChange | None:
    """The least change that fills class 1, found by trying; None where none of those tried does.

    In this order: a target, deadline or budget moved by at most a quarter; a context no longer than the model
    allows; a filter lifted; less headroom; narrower weights; then a target, deadline or budget moved as far as
    it takes.
    """
    numeric = sorted(_numeric(setting, weighed), key=lambda found: found[0])
    if numeric and numeric[0][0] <= SMALL:
        return numeric[0][1]
    return (
        _shorter(setting)
        or _filter(setting, weighed)
        or _headroom(setting, weighed)
        or _narrower(setting)
        or (numeric[0][1] if numeric else None)
    )


def _shorter(setting: Setting) -> SmallestChange | None:
    """The longest input the model itself allows, where more was asked for."""
    asked, longest = setting.workload.input_tokens, setting.arch.max_position
    if longest is None or asked.maximum + setting.workload.output_tokens.maximum <= longest:
        return None
    maximum = longest - setting.workload.output_tokens.maximum
    if maximum < asked.typical:
        return None
    shorter = {"input_tokens": asked.model_copy(update={"maximum": maximum})}
    return _tried(setting, "input_tokens_maximum", maximum, shorter)


def _rounded_up(value: float) -> float:
    """To two significant digits, upwards.

    >>> _rounded_up(0.0512), _rounded_up(1234.0)
    (0.052, 1300.0)
    """
    step = 10.0 ** (floor(log10(value)) - 1)
    return round(ceil(value / step - 1e-9) * step, 12)


def _numeric(setting: Setting, weighed: Weighed) -> list[tuple[float, SmallestChange]]:
    """Each target, deadline or budget that alone is missed somewhere: how far it must move, and for how many."""
    workload, market = setting.workload, weighed.market
    rows = np.flatnonzero((weighed.reason < 0) & (weighed.class_ == MISSES_TARGETS))
    only: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        outcome = weighed.placements[market.machine_index[row]]
        if not isinstance(outcome, Placement):
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


def _over_budget(weighed: Weighed, workload: ServingWorkload | BatchWorkload, row: int) -> bool:
    budget = workload.budget_per_month
    return budget is not None and weighed.total_minor[row] > budget * MINOR_UNITS[weighed.currency]


def _filter(setting: Setting, weighed: Weighed) -> SmallestChange | None:
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


def _lifted(setting: Setting, weighed: Weighed, change: str, rows: Integers) -> tuple[float | str, int]:
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


def _headroom(setting: Setting, weighed: Weighed) -> SmallestChange | None:
    """The headroom that the roomiest tight machine leaves."""
    shares = []
    for outcome in weighed.placements:
        if isinstance(outcome, Placement) and outcome.option.verdict == "tight":
            split = outcome.option.split
            shares.append(floor((split.usable_bytes - split.needed_bytes) / split.usable_bytes * 100) / 100)
    if not shares or weighed.count(TIGHT) == 0:
        return None
    return _tried(setting, "headroom_fraction", max(shares), {"headroom_fraction": max(shares)})


def _narrower(setting: Setting) -> SmallestChange | None:
    """Narrower weights that give a candidate meeting everything: the checkpoint's own first, then the widest."""
    now = FORMATS[setting.workload.weights_format].linear_bits
    usual = FORMATS_TRIED.get(setting.runtime.name, FORMATS_TRIED_ELSEWHERE)
    for name in dict.fromkeys((setting.arch.stored_format, *usual)):
        if name in FORMATS and FORMATS[name].linear_bits < now:
            found = _tried(setting, "weights_format", name, {"weights_format": name})
            if found is not None:
                return found
    return None


def _tried(
    setting: Setting, change: str, value: float | str, update: dict[str, Any]
) -> SmallestChange | None:
    changed = Setting(
        workload=setting.workload.model_copy(update=update),
        arch=setting.arch,
        runtime=setting.runtime,
        constants=setting.constants,
        market=setting.market,
        at=setting.at,
    )
    weighed = weigh(changed, placed(changed))
    count = weighed.count(MEETS_TARGETS)
    return SmallestChange(change=change, value=value, candidates=count) if count else None
