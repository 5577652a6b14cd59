"""What every kind of workload brings to a comparison.

A kind's core is a ``Setting``: it places its workload on every machine of the market and says what each placement
means. Filters, bills, classes, order, rejections and the page of candidates are the same for all kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from planner.sizing import bill
from planner.sizing.bill import Needs, Run
from planner.sizing.devices import Layout, Machine
from planner.sizing.offers import Market
from planner.sizing.quantities import Assumption, Derivation
from planner.sizing.results import (
    BatchRun,
    Bill,
    Candidate,
    Figure,
    FitTarget,
    Limit,
    LongestContext,
    MemoryParts,
    MemorySplit,
    Miss,
    PerMillionTokens,
    RejectionReason,
    ReplicasSetBy,
    SmallerMachine,
    Speed,
    Verdict,
)
from planner.sizing.storage_rates import Reading
from planner.sizing.workload import CommonWorkload

WITHOUT_EFFECT = frozenset(
    {
        "objective", "budget_per_month", "schedule", "interruptible", "storage_gb", "egress_gb_per_month",
        "filters", "currency", "load_minutes_maximum", "managed_input_per_million", "managed_output_per_million",
    }
)  # fmt: skip
"""Fields that change bills, filters and order, but neither memory nor speed of any machine."""


@dataclass
class Refusal:
    """Why a machine cannot run the workload: the rule and its numbers."""

    reason: RejectionReason
    detail: dict[str, Any]
    split: MemorySplit | MemoryParts | None = None
    layout: Layout | None = None
    what_would_help: tuple[dict[str, Any], ...] | None = None
    """Worked out when a row of it is first shown; kept with it for other pages of the same workload."""


class Placed(Protocol):
    """A workload on one distinct machine, as filters, bills and order see it."""

    @property
    def machine(self) -> Machine: ...
    @property
    def layout(self) -> Layout:
        """How one replica is split."""
        ...

    @property
    def replicas(self) -> int: ...
    @property
    def machines(self) -> int:
        """Machines that are rented."""
        ...

    @property
    def verdict(self) -> Verdict: ...
    @property
    def limit(self) -> Limit: ...
    @property
    def planned(self) -> MemorySplit | MemoryParts:
        """The memory that was planned for, by which the verdict was given."""
        ...

    @property
    def misses(self) -> tuple[Miss, ...]:
        """Targets that are missed, the budget aside."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def set_by(self) -> ReplicasSetBy | None:
        """Why there are not fewer replicas."""
        ...

    @property
    def idle_devices(self) -> int: ...


P = TypeVar("P", bound=Placed)
NO_TOKENS = PerMillionTokens()


@dataclass(frozen=True)
class Outcome:
    """What a kind adds to a candidate: its speed, the figures it names, what one unit of use costs."""

    speed: Speed | None = None
    batch: BatchRun | None = None
    per_million_tokens: PerMillionTokens = NO_TOKENS
    requests_per_replica_maximum: int | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    unit_costs: Mapping[str, Decimal | None] = field(default_factory=dict)
    """Money by unit of use, in the bill's currency: ``{"run": Decimal("12.30")}``."""


@dataclass(frozen=True)
class Change:
    """A change of the question that may give a candidate where there is none; tried by sizing again."""

    name: str
    value: float | str
    update: Mapping[str, Any]
    """Fields of the workload, as ``model_copy`` takes them."""
    is_needed: bool = False
    """Without it nothing fits anywhere, so it is tried before filters are lifted."""


@dataclass(frozen=True)
class Spared(Generic[P]):
    """A placement that needs less, and the target or headroom it gives up."""

    smaller: P
    target: FitTarget
    asked: float
    got: float | None


@dataclass(frozen=True, eq=False)
class Setting(ABC, Generic[P]):
    """One workload on one market at one moment. A kind subclasses it with what its arithmetic needs besides."""

    workload: CommonWorkload
    market: Market
    at: datetime

    @abstractmethod
    def place(self) -> list[P | Refusal]:
        """The workload on each of ``market.machines``, in their order, or why it cannot run there."""

    def place_some(self, numbers: Sequence[int]) -> list[P | Refusal]:
        """The workload on some of ``market.machines``; kinds that place each by itself save the others."""
        everywhere = self.place()
        return [everywhere[number] for number in numbers]

    @abstractmethod
    def outcome(self, placed: P, monthly: Bill, tier: str) -> Outcome:
        """Speed, figures and costs of a placement under this bill."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What was understood of the model: ``name`` and plain facts."""

    def placing_key(self) -> str:
        """Equal keys on one market have equal placements, so that they are worked out once."""
        return self.workload.model_dump_json(exclude=set(WITHOUT_EFFECT))

    def memory(self, placed: P) -> MemorySplit | MemoryParts:
        """Memory of the fullest device as it is shown."""
        return placed.planned

    @property
    def runs_by_machine(self) -> bool:
        """Whether the hours on the bill depend on the machine, as those of a job do."""
        return False

    def run(self, placed: P) -> Run:
        """When the machines run in a month: the schedule's hours, unless the kind knows better."""
        return bill.scheduled(self.workload.schedule)

    def rework(self, placed: P | None, tier: str) -> Decimal:
        """Share of machine time expected to be done twice on this tier; ``placed`` where bills depend on it."""
        assumed = self.workload.assumed
        return bill.rework_fraction(assumed) if tier in bill.INTERRUPTIBLE_TIERS else Decimal(0)

    def host_ram_bytes(self, placed: P) -> int | None:
        """Host memory of one machine that the work needs with a reserve; None where the kind does not say."""
        return None

    def needs(self, placed: P | None, tier: str) -> Needs:
        """What is kept and sent in a month; without a placement the most that may be."""
        return Needs(self.workload.storage_gb, self.workload.egress_gb_per_month)

    @property
    def orders(self) -> Mapping[str, Callable[[P], float | None]]:
        """Objectives and sortable columns of this kind, by name; lower is better."""
        return {}

    descending: ClassVar[frozenset[str]] = frozenset()
    """Those of ``orders`` that are held negative, because more is better."""

    def units_per_month(self, placed: P) -> float:
        """What the month's total is divided by, for sorting by the cost of one unit of use."""
        return 1.0

    def document(self) -> dict[str, Any]:
        """The workload with every default filled in."""
        return self.workload.model_dump(mode="json")

    def assumptions(self, first: P | None) -> list[Assumption]:
        """Numbers the answer rests on that the user did not give; those of the first candidate where they differ."""
        return []

    def warnings(self) -> tuple[str, ...]:
        """Codes of what is to be known of the question itself."""
        return ()

    def explain(self, placements: Sequence[P]) -> None:
        """Note at placements that are about to be shown why they are as they are."""

    def spared(self, placed: P) -> Spared[P] | None:
        """The same machine with one replica fewer, where one target alone asks for the last."""
        return None

    def run_hours(self, placed: P) -> Decimal | None:
        """Hours of one run of work that ends; None for services, which go on."""
        return None

    def smallest(self, weighed: Any) -> tuple[SmallerMachine, ...]:
        """The smallest machine that works, and smaller ones that a change would let work."""
        return ()

    def readings(self, placed: P) -> Sequence[Reading]:
        """What one machine must read from network storage, and how fast."""
        return ()

    def longest_context(self, placed: P) -> LongestContext | None:
        """The question turned round, on one machine of this placement; None for kinds without requests at once."""
        return None

    def relieved(self, placed: P) -> Iterable[Spared[P]]:
        """The machine sized again without the headroom, and without each target, where that needs fewer machines."""
        return ()

    def derive(self, placed: P, candidate: Candidate) -> dict[str, Derivation]:
        """How memory, speed and unit cost of a candidate come about; bills are derived for all kinds alike."""
        return {}

    def what_would_help(self, refusal: Refusal, machine: Machine) -> tuple[dict[str, Any], ...]:
        """Changes that would make it run on this machine, smallest first."""
        return ()

    def changes(self) -> tuple[Change, ...]:
        """Changes of the question worth trying where nothing meets everything, smallest first."""
        return ()

    def movable(self, candidate: Candidate) -> Iterable[tuple[str, float, str]]:
        """Assumptions of the method that ``moved`` can move: name, value as it acts on this candidate, unit."""
        return ()

    def moved(self, name: str, factor: float) -> Self:
        """The same setting with one of its assumptions multiplied."""
        raise KeyError(name)

    def changed(self, update: Mapping[str, Any]) -> Self:
        """The same setting with some fields of the workload changed."""
        return replace(self, workload=self.workload.model_copy(update=dict(update)))
