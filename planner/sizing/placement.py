"""A workload placed on one kind of machine: the split, the replicas, their speed at their loads, and why so many."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from planner.sizing.devices import Layout, Machine
from planner.sizing.options import Option
from planner.sizing.quantities import Estimate
from planner.sizing.results import LatencyTarget, Limit, MemorySplit, Miss, ReplicasSetBy, Verdict
from planner.sizing.serving import Load, OperatingPoint, ServingPoint
from planner.sizing.workload import ServingWorkload

LATENCY_TARGETS: tuple[LatencyTarget, LatencyTarget] = ("ttft_s", "tpot_s")
ONE_IN_A_THOUSAND = 1e-3
"""Bisection ends this near to a target; that is not a miss."""
ROUNDING = 1e-9


@dataclass(frozen=True)
class Reason:
    """What sets the number of replicas; with ``missed``, what one fewer would miss."""

    set_by: ReplicasSetBy
    missed: Miss | None = None


@dataclass
class Placement:
    """The workload on one distinct machine."""

    machine: Machine
    option: Option
    replicas: int
    machines: int
    typical: OperatingPoint
    peak: OperatingPoint
    full: OperatingPoint
    """At saturation."""
    misses: tuple[Miss, ...]
    warnings: tuple[str, ...]
    job_hours: Estimate | None = None
    reason: Reason | None = None
    """Why so many replicas: noted by ``fewer.explain`` when a row of it is first shown."""
    host_ram_bytes: int | None = None
    """What the host of one machine needs: worked out when offers are first weighed with it."""

    @property
    def point(self) -> ServingPoint:
        return self.option.point

    @property
    def held(self) -> float:
        """Requests that hold their cache in one replica at peak: those that decode and those whose prompt is read."""
        return max(1.0, min(self.peak.requests_in_flight, self.point.batch_cap))

    @property
    def held_each(self) -> float:
        """Of these, those on the fullest group of ranks that keeps attention by requests: spread evenly over them."""
        groups = self.layout.dp
        return self.held if groups == 1 else max(1.0, ceil(self.held / groups - ONE_IN_A_THOUSAND))

    @property
    def layout(self) -> Layout:
        return self.option.layout

    @property
    def verdict(self) -> Verdict:
        return self.option.verdict

    @property
    def planned(self) -> MemorySplit:
        return self.option.split

    @property
    def limit(self) -> Limit:
        return self.peak.limit

    @property
    def set_by(self) -> ReplicasSetBy | None:
        return self.reason.set_by if self.reason else None

    @property
    def idle_devices(self) -> int:
        return self.machines * self.machine.device_count - self.replicas * self.option.layout.device_count


@dataclass(frozen=True)
class Loads:
    """The load on the whole deployment: requests in flight, or requests a second."""

    kind: Load
    typical: float
    peak: float

    @staticmethod
    def of(workload: ServingWorkload) -> Loads:
        """A rate wins over the concurrency; its peak is as much above it as the concurrency's peak."""
        flight = workload.concurrency
        rate = workload.average_rate_per_s
        if rate is not None:
            return Loads("rate", rate, rate * flight.peak / flight.average)
        return Loads("concurrency", flight.average, flight.peak)
