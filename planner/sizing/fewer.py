"""Why a candidate has as many replicas as it has: what one fewer would miss, or would not hold."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import ceil, floor

from planner.sizing.constants import Constants
from planner.sizing.options import altered
from planner.sizing.placement import LATENCY_TARGETS, ROUNDING, Loads, Placement, Reason
from planner.sizing.results import Miss
from planner.sizing.serving import OperatingPoint, ServingPoint, operate
from planner.sizing.workload import BatchWorkload, ServingWorkload


def explain(
    workload: ServingWorkload | BatchWorkload, placements: Iterable[Placement], constants: Constants
) -> None:
    """Note at each placement why it has its replicas. Those of one page go through the speed model together."""
    tried: list[Placement] = []
    for placement in placements:
        if placement.reason is not None:
            continue
        if isinstance(workload, BatchWorkload):
            placement.reason = _of_job(workload, placement)
        elif placement.replicas == 1:
            placement.reason = Reason("one")
        elif placement.replicas == workload.replicas_minimum:
            placement.reason = Reason("replicas_minimum")
        else:
            tried.append(placement)
    if not tried or isinstance(workload, BatchWorkload):
        return
    loads = Loads.of(workload)
    points = []
    for placement in tried:
        loaded = altered(placement.point, load=loads.kind, load_value=loads.peak / (placement.replicas - 1))
        points += [loaded, _without_headroom(placement, loaded)]
    speeds = operate(points, constants)
    for number, placement in enumerate(tried):
        fewer, without = points[2 * number : 2 * number + 2]
        placement.reason = _of_load(
            workload,
            placement,
            _Tried(fewer, speeds[2 * number]),
            _Tried(without, speeds[2 * number + 1]),
        )


def with_one_less(placement: Placement) -> Placement:
    """The same machine with one replica fewer; only its counts are meant."""
    replicas = placement.replicas - 1
    machines = ceil(replicas * placement.option.layout.device_count / placement.machine.device_count)
    return replace(placement, replicas=replicas, machines=machines)


def _without_headroom(placement: Placement, point: ServingPoint) -> ServingPoint:
    """The replica with the headroom given to the KV cache, too."""
    option = placement.option
    room = float(option.split.kv_room_bytes * option.layout.pp)
    groups = option.layout.dp
    most = min(option.sequences, floor(room / max(point.kv_full_bytes, 1.0) / groups) * groups)
    return altered(point, kv_room_bytes=room, batch_cap=float(max(1, most)))


def _of_job(workload: BatchWorkload, placement: Placement) -> Reason:
    """Jobs take whole machines: as many as the deadline needs, or the one that is least."""
    per_machine = placement.machine.device_count // placement.option.layout.device_count
    if placement.replicas == 1:
        return Reason("one")
    if placement.machines == 1:
        return Reason("machine")
    if placement.machines == ceil(workload.replicas_minimum / per_machine):
        return Reason("replicas_minimum")
    if placement.job_hours is None or not isinstance(workload.deadline_hours, int | float):
        return Reason("machine")
    hours = placement.job_hours.value * placement.machines / (placement.machines - 1)
    return Reason("deadline_hours", Miss(target="deadline_hours", asked=workload.deadline_hours, got=hours))


@dataclass(frozen=True)
class _Tried:
    """One replica under its share of the load where there is one replica fewer."""

    point: ServingPoint
    found: OperatingPoint

    @property
    def holds(self) -> bool:
        """Whether all requests have room at once, and nothing waits for a place."""
        crowded = self.point.load == "concurrency" and self.point.load_value > self.point.batch_cap + ROUNDING
        return self.found.batch_limit == "offered_load" and not crowded


def _of_load(workload: ServingWorkload, placement: Placement, fewer: _Tried, without: _Tried) -> Reason:
    """What one replica fewer breaks: it holds too few requests, or a latency target is missed."""
    unreachable = {miss.target for miss in placement.misses}
    missed = _worst(workload, fewer.found, unreachable)
    if fewer.holds:
        return missed or Reason("load")
    if without.holds:
        late = _worst(workload, without.found, unreachable)
        # Both the headroom and a target would go: what is missed is no offer, since giving up one does not do.
        return Reason("headroom") if late is None else Reason(late.set_by)
    by_room = fewer.found.batch_limit == "kv_room" or placement.point.batch_cap < placement.option.sequences
    return Reason("kv_room" if by_room else "batch_cap")


def _worst(workload: ServingWorkload, found: OperatingPoint, unreachable: AbstractSet[str]) -> Reason | None:
    """The latency target that is missed by most, of those that more replicas can meet."""
    worst, most = None, 1.0
    for target in LATENCY_TARGETS:
        asked, got = getattr(workload.targets, target), getattr(found, target)
        if target in unreachable or not isinstance(asked, int | float) or got is None:
            continue
        if got.value / asked > most:
            most = got.value / asked
            worst = Reason(target, Miss(target=target, asked=asked, got=got.value))
    return worst
