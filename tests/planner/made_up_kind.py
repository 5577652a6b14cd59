"""A kind of workload that nobody needs, with its own parts of memory, figures and unit of use: it is declared here
alone, so that tests see what the frame gives a newcomer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from math import ceil
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.columns import figured, unit_cost
from planner.fields import ChoiceField, NumberField
from planner.kinds import every_kind
from planner.kinds.frame import Block, Cost, Example, Group, Kind, Measure, Row
from planner.sizing import bill
from planner.sizing.bill import Run
from planner.sizing.devices import Layout, Machine
from planner.sizing.offers import Market
from planner.sizing.quantities import GIB, Assumption, Derivation, Term
from planner.sizing.results import (
    Bill,
    Candidate,
    Figure,
    Limit,
    MemoryPart,
    MemoryParts,
    Miss,
    ReplicasSetBy,
    Verdict,
)
from planner.sizing.setting import Outcome, Refusal, Setting
from planner.sizing.workload import CommonWorkload, Count, Number


class WeavingWorkload(CommonWorkload):
    """So many carpets of so many knots, done in time."""

    kind: Literal["weaving", "knotting"] = "weaving"
    carpets: Annotated[Count, Field(ge=1, le=10_000)] = 20
    knots_million: Annotated[Number, Field(gt=0, le=5_000)] = 400
    deadline_hours: Annotated[Number, Field(gt=0, le=876_000)] | Literal["none"] | None = 48.0


ONE_DEVICE = Layout()


@dataclass(frozen=True)
class Loom:
    """One carpet after another on one device."""

    machine: Machine
    hours: float
    planned: MemoryParts
    misses: tuple[Miss, ...]
    layout: Layout = ONE_DEVICE
    replicas: int = 1
    machines: int = 1
    verdict: Verdict = "fits"
    limit: Limit = "memory_bandwidth"
    warnings: tuple[str, ...] = ()
    set_by: ReplicasSetBy | None = None

    @property
    def idle_devices(self) -> int:
        return self.machine.device_count - 1


@dataclass(frozen=True, eq=False)
class WeavingSetting(Setting[Loom]):
    workload: WeavingWorkload

    def place(self) -> list[Loom | Refusal]:
        return [self._place(machine) for machine in self.market.machines]

    def _place(self, machine: Machine) -> Loom | Refusal:
        pattern = int(self.workload.knots_million * 0.1 * GIB)
        usable = int(machine.device.memory_bytes * 0.9)
        parts = (MemoryPart(name="pattern", size_bytes=pattern), MemoryPart(name="overhead", size_bytes=GIB))
        memory = MemoryParts(
            device_bytes=machine.device.memory_bytes,
            usable_bytes=usable,
            headroom_bytes=0,
            needed_bytes=pattern + GIB,
            parts=parts,
        )
        if memory.needed_bytes > usable:
            return Refusal("memory", {"devices": 1}, memory, Layout())
        knots = self.workload.carpets * self.workload.knots_million * 1e6
        hours = knots / (machine.device.bandwidth_bytes_per_s / 1e8) / 3600
        asked = self.workload.deadline_hours
        late = isinstance(asked, float) and hours > asked
        misses = (Miss(target="deadline_hours", asked=asked, got=hours),) if late else ()
        return Loom(machine, hours, memory, misses, verdict="fits")

    @property
    def runs_by_machine(self) -> bool:
        return True

    def run(self, placed: Loom) -> Run:
        return bill.jobs(self.workload.schedule, Decimal(str(round(placed.hours, 6))))

    def outcome(self, placed: Loom, monthly: Bill, tier: str) -> Outcome:
        runs = Decimal(str(self.workload.schedule.starts_per_day * self.workload.schedule.days_per_month))
        per_carpet = bill.rounded(monthly.total / (runs * self.workload.carpets), monthly.currency)
        hours = Figure(value=placed.hours, unit="h", low=placed.hours * 0.8, high=placed.hours * 1.3)
        return Outcome(figures={"weaving_hours": hours}, unit_costs={"carpet": per_carpet})

    @property
    def orders(self) -> Mapping[str, Callable[[Loom], float | None]]:
        return {"finish": lambda placed: placed.hours}

    def units_per_month(self, placed: Loom) -> float:
        return float(self.workload.carpets)

    def describe(self) -> dict[str, Any]:
        return {"name": "a carpet", "source": "a weaver"}

    def assumptions(self, first: Loom | None) -> list[Assumption]:
        return [Assumption(name="knots_per_byte", value=0.01, unit="1", source="a weaver")]

    def derive(self, placed: Loom, candidate: Candidate) -> dict[str, Derivation]:
        rate = Term(symbol="rate", value=placed.machine.device.bandwidth_bytes_per_s / 1e8, unit="1/s")
        knots = Term(symbol="knots", value=self.workload.knots_million * 1e6, unit="1")
        carpets = Term(symbol="carpets", value=self.workload.carpets, unit="1")
        made = Derivation(
            figure="weaving_hours",
            formula="carpets * knots / rate / 3600",
            terms=(carpets, knots, rate),
            value=placed.hours,
            unit="h",
        )
        return {"weaving_hours": made}


def _setting(workload: WeavingWorkload, at: datetime, market: Market) -> WeavingSetting:
    return WeavingSetting(workload=workload, market=market, at=at)


def _blocks(candidate: Candidate) -> tuple[Block, ...]:
    return (Block("Weaving", ("all of it",), (("Hours", (HOURS.figure(candidate),)),)),)


HOURS = Measure(
    "weaving_hours",
    "weaving",
    "Weaving, all carpets",
    "h",
    lambda candidate: candidate.figures["weaving_hours"].estimate,
    target=("deadline_hours",),
)

WEAVING = Kind(
    names=("weaving", "knotting"),
    title="Weaving",
    family="Handicraft",
    about="Carpets are woven in time.",
    workload=WeavingWorkload,
    setting=_setting,
    fields={
        "craft": ChoiceField(
            label="Craft",
            path=("kind",),
            default="weaving",
            choices=(("weaving", "on a loom"), ("knotting", "by hand")),
        ),
        "carpets": NumberField(label="Carpets", path=("carpets",), default="20", integer=True),
        "knots": NumberField(label="Knots of one", path=("knots_million",), default="400", unit="million"),
        "deadline": NumberField(
            label="Woven within", path=("deadline_hours",), default="48", blank="none", unit="h"
        ),
        "objective": ChoiceField(
            label="Rank by",
            path=("objective",),
            default="cost",
            choices=(("cost", "cost"), ("finish", "end")),
        ),
        **every_kind.HEADROOM,
        **every_kind.SCHEDULE,
        **every_kind.REPLICAS,
        **every_kind.TERMS,
        **every_kind.FILTERS,
        **every_kind.CURRENCY,
        **every_kind.KEPT,
    },
    groups=(
        Group("What is woven", ("craft", ("carpets", "knots"), "deadline")),
        Group("Targets", (Row(("objective", "currency"), "uneven"), ("headroom", "budget"))),
        every_kind.WHEN_AND_WHERE,
        every_kind.WHAT_IS_KEPT,
    ),
    columns=every_kind.columns(
        speed=(figured("weaving_hours", "Hours of weaving", "h", shown=True, sort="finish"),),
        unit=(unit_cost("per_carpet", "Per carpet", "carpet"),),
    ),
    measures=(HOURS,),
    costs=(every_kind.MONTHLY, Cost("per_carpet", "Per carpet", lambda c: c.unit_costs["carpet"])),
    unit="carpet",
    chart_title="Monthly total against hours of weaving",
    headline=lambda best: (
        f"One {best.offer.accelerator} weaves it in {ceil(best.figures['weaving_hours'].value)} h"
    ),
    carrying=("carpets", "deadline"),
    blocks=_blocks,
    examples=(Example("carpet", "A carpet", "One carpet.", "1 carpet", "kind=weaving&carpets=1"),),
)
