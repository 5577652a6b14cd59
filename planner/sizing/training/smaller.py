"""The smallest machine on which a training run works as asked, and smaller ones that one change lets work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from planner.sizing.compare import bill_of
from planner.sizing.devices import Machine
from planner.sizing.offers import Flags, Integers
from planner.sizing.results import SmallerMachine
from planner.sizing.setting import Change, Refusal, Setting
from planner.sizing.training.options import GPUS_MAXIMUM
from planner.sizing.training.placing import Search, Task, TrainingPlacement
from planner.sizing.weighing import REASONS, Weighed

CHANGES_SHOWN = 6
SAME_NUMBER = "machines_maximum"
"""More machines of a kind are no smaller machine."""


def memory_bytes(machine: Machine, machines: int = 1) -> int:
    """Of all devices of a machine, or of several, together."""
    return machine.device.engine_total_bytes * machine.device_count * machines


def smallest(
    setting: Setting[Any],
    weighed: Weighed,
    changes: Sequence[Change],
    task: Callable[[Setting[Any]], Task],
    place_on: Callable[[Setting[Any], int], TrainingPlacement | Refusal],
) -> tuple[SmallerMachine, ...]:
    """First the machine with least memory on which the run fits and meets its deadline as asked; then, for each change
    that lets a smaller one work, the smallest of those, sized and billed with the change.

    Only machines that the filters show count, and of each its cheapest offer. Changes come in the order given, those
    that leave training as it is first.
    """
    market = weighed.market
    found: list[SmallerMachine] = []
    limit = float("inf")
    shown = weighed.reason < 0
    memory_alone = (weighed.reason == REASONS.index("memory")) & (weighed.rules_broken == 1)
    works = _works(weighed)
    if works:
        number = min(works, key=lambda one: (works[one], _cheapest(weighed, one, shown)[1]))
        limit = works[number]
        row, _price = _cheapest(weighed, number, shown)
        found.append(_written(setting, weighed, row, weighed.placements[number], None))
    small = _too_small(weighed, memory_alone, limit)
    for change in changes:
        if change.name == SAME_NUMBER:
            continue
        changed = setting.changed(change.update)
        search = Search(task(changed))
        usable = 1 - changed.workload.headroom_fraction
        for number in small:
            machine = market.machines[number]
            # As many of them as have less memory together than the smallest that works.
            least = search.smallest(machine, int(min(GPUS_MAXIMUM, (limit - 1) // memory_bytes(machine))))
            if least is None or float(least[1].total) > usable * machine.device.engine_total_bytes:
                continue
            placed = place_on(changed, number)
            if isinstance(placed, Refusal) or memory_bytes(machine, placed.machines) >= limit:
                continue
            if placed.misses:
                continue  # It fits and is late: no machine on which the run works.
            row, _price = _cheapest(weighed, number, memory_alone)
            found.append(_written(changed, weighed, row, placed, change))
            break
        if len(found) > CHANGES_SHOWN:
            break
    return tuple(found)


def _works(weighed: Weighed) -> dict[int, int]:
    """Memory of every machine that fits, is in time and is shown, by its number."""
    found = {}
    for number in np.unique(weighed.market.machine_index[weighed.rows]):
        placed = weighed.placements[number]
        if placed.verdict == "fits" and not placed.misses:
            found[int(number)] = memory_bytes(weighed.market.machines[number], placed.machines)
    return found


def _too_small(weighed: Weighed, alone: Flags, limit: float) -> list[int]:
    """Machines that memory alone keeps out and that have less of it than the limit, the smallest first."""
    market = weighed.market
    numbers = [int(number) for number in np.unique(market.machine_index[alone])]
    sizes = {number: memory_bytes(market.machines[number]) for number in numbers}
    return sorted((number for number in numbers if sizes[number] < limit), key=lambda number: sizes[number])


def _cheapest(weighed: Weighed, number: int, among: Flags) -> tuple[int, int]:
    """Row and price of the cheapest of these offers of a machine; those by the hour before those by the month."""
    market = weighed.market
    rows: Integers = np.flatnonzero((market.machine_index == number) & among)
    price = market.shown_price_micro(weighed.currency)[rows]
    order = np.lexsort((price, market.per_month[rows], price < 0))
    return int(rows[order[0]]), int(price[order[0]])


def _written(
    setting: Setting[Any], weighed: Weighed, row: int, placed: TrainingPlacement, change: Change | None
) -> SmallerMachine:
    market, job = weighed.market, placed.choice.job
    facts = market.facts(row, setting.at.date())
    monthly = bill_of(setting, weighed, row, placed, facts)
    costs = setting.outcome(placed, monthly, facts.tier).unit_costs
    return SmallerMachine(
        change=change.name if change else None,
        value=change.value if change else None,
        accelerator=facts.accelerator,
        gpu_count=facts.gpu_count,
        machines=placed.machines,
        memory_bytes=memory_bytes(placed.machine, placed.machines),
        needed_bytes=placed.planned.needed_bytes,
        offer_id=facts.offer_id,
        run_hours=placed.run_hours.value,
        run_cost=costs.get("run"),
        currency=monthly.currency,
        complete=monthly.complete,
        micro_batch=job.micro_batch,
        accumulation=job.accumulation,
        recompute=job.recompute,
        effective_batch=job.step_samples,
    )
