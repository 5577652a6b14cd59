"""The answer to a workload: a comparison of candidates, and what was rejected and why."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from planner.sizing.alternatives import FewerReplicas as FewerReplicas
from planner.sizing.alternatives import FitTarget as FitTarget
from planner.sizing.alternatives import LongestContext as LongestContext
from planner.sizing.alternatives import OtherLayout as OtherLayout
from planner.sizing.alternatives import Relief as Relief
from planner.sizing.alternatives import SmallerMachine as SmallerMachine
from planner.sizing.alternatives import TermCost as TermCost
from planner.sizing.devices import Layout
from planner.sizing.memory_parts import MemoryPart as MemoryPart
from planner.sizing.memory_parts import MemoryParts as MemoryParts
from planner.sizing.memory_parts import MemorySplit as MemorySplit
from planner.sizing.offer_facts import HostFacts as HostFacts
from planner.sizing.offer_facts import Money as Money
from planner.sizing.offer_facts import OfferFacts as OfferFacts
from planner.sizing.offer_facts import QuoteFacts as QuoteFacts
from planner.sizing.quantities import Assumption, Derivation, Estimate, Frozen
from planner.sizing.token_prices import ServicesMonth as ServicesMonth

Verdict = Literal["fits", "tight", "does_not_fit"]
Limit = Literal[
    "memory_bandwidth",
    "compute",
    "interconnect",
    "step_overhead",
    "kv_room",
    "batch_cap",
    "offered_load",
    "prefill",
    "data_loading",
    "storage_read",
]
RejectionReason = Literal[
    "support", "memory", "divisibility", "include", "exclude", "region", "provider", "price", "interruption",
    "tier", "incomplete_price", "overload", "currency", "budget", "deadline", "context", "gpu_count"
]  # fmt: skip


ReplicasSetBy = Literal[
    "one", "replicas_minimum", "ttft_s", "tpot_s", "headroom", "kv_room", "batch_cap", "load", "deadline_hours",
    "machine"
]  # fmt: skip
"""Why there are not fewer replicas: one is the least, the minimum asked for, a target that one fewer misses, the
headroom kept free of KV cache, the memory, the engine's cap on sequences, the request rate, the deadline of a job,
or (jobs) that every GPU of the one machine works."""


class Figure(Frozen):
    """A figure that a kind of workload names, with its unit, and its 80 % range where it is predicted."""

    value: float
    unit: str
    low: float | None = None
    high: float | None = None

    @property
    def estimate(self) -> Estimate:
        return Estimate(
            value=self.value,
            low=self.value if self.low is None else self.low,
            high=self.value if self.high is None else self.high,
        )


class LoadPoint(Frozen):
    """Speed of the whole deployment at one load; means. Overloaded: no latency is given."""

    concurrency: float
    request_rate_per_s: float | None
    batch_per_replica: float
    ttft_s: Estimate | None
    tpot_s: Estimate | None
    output_tokens_per_s: Estimate | None
    """All replicas together."""
    output_tokens_per_s_per_user: Estimate | None
    output_tokens_per_s_per_replica: Estimate | None
    overloaded: bool
    limit: Limit
    bearable_rate_per_s: float | None = None
    """The request rate the deployment can bear, where it is overloaded."""


class Speed(Frozen):
    typical: LoadPoint
    peak: LoadPoint


class BatchRun(Frozen):
    """A whole offline job."""

    hours: Estimate
    output_tokens_per_s: Estimate
    cost: Money | None
    meets_deadline: bool | None
    spot_eligible: bool


class BillLine(Frozen):
    """One line of a monthly bill. ``amount`` is None where the price is unknown; 0 only where it is known to be."""

    what: Literal["gpu", "upfront", "storage", "egress", "rework"]
    amount: Money | None
    quantity: float
    unit: str
    unit_price: Money | None
    unit_price_currency: str | None
    source: str | None
    observed_on: date | None = None
    note: str | None = None


class Bill(Frozen):
    """A month's bill in one currency: the sum of its rounded lines."""

    total: Money
    currency: str
    complete: bool
    missing: tuple[str, ...] = ()
    hours: float
    lines: tuple[BillLine, ...]
    rate: Money | None = None
    """Units of ``currency`` per USD used, with its date."""
    rate_on: date | None = None
    sets: int = 1
    """Sets of machines that do the jobs of the month side by side, because one has not the hours for all of them; the
    lines count the machines of all."""
    months: int = 1
    """Months that a job done once takes; above 1 this is the bill of all of them."""


class PerMillionTokens(Frozen):
    """None where the workload makes no tokens, or none in the month."""

    all: Money | None = None
    output: Money | None = None
    at_full_use: Money | None = None


LatencyTarget = Literal["ttft_s", "tpot_s"]


class Miss(Frozen):
    """A target that is missed: by how much."""

    target: Literal[
        "ttft_s", "tpot_s", "throughput", "deadline_hours", "budget_per_month", "load_minutes_maximum",
        "restore_minutes_maximum", "storage_read",
    ]  # fmt: skip
    asked: float
    got: float | None
    best: float | None = None
    """What one request alone on a replica gets, where that misses it, too: more replicas do not help."""


class Candidate(Frozen):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)

    rank: int
    class_: Annotated[int, Field(alias="class", ge=1, le=3)]
    offer: OfferFacts
    layout: Layout
    replicas: int
    replicas_set_by: ReplicasSetBy | None = None
    """None in plans that were saved before this was told."""
    requests_per_replica_maximum: int | None = None
    """Requests of typical length planned on one replica at once, the headroom kept free."""
    fewer_replicas: FewerReplicas | None = None
    """Of the first candidate and of one shown alone, where giving way on a target or the headroom saves a replica."""
    reliefs: tuple[Relief, ...] = ()
    """Of the same candidates: the headroom and each target that cost machines, and the month without them."""
    terms: tuple[TermCost, ...] = ()
    """Of the same candidates, where the work is a run that ends: its cost on each term of sale, the cheapest first."""
    smallest: tuple[SmallerMachine, ...] = ()
    """Of the same candidates, of training: the smallest machine that works, and smaller ones by one change."""
    other_layout: OtherLayout | None = None
    """Of the same candidates, where they keep attention by requests: what a split by tensors alone would take. In plans
    saved before the ranking tried that: a split that needs fewer machines."""
    longest_context: LongestContext | None = None
    """Of the same candidates, of kinds that hold requests at once."""
    gpus_per_replica: int
    machines: int
    idle_gpus: int
    verdict: Verdict
    limit: Limit
    misses: tuple[Miss, ...] = ()
    memory: MemorySplit | MemoryParts
    speed: Speed | None = None
    batch: BatchRun | None = None
    figures: dict[str, Figure] = {}
    """What the kind of workload predicts besides, by name."""
    monthly: Bill
    per_million_tokens: PerMillionTokens = PerMillionTokens()
    unit_costs: dict[str, Money | None] = {}
    """Cost of one unit of use by its name, such as ``run``, in the bill's currency; None where it is unknown."""
    warnings: tuple[str, ...] = ()
    """Codes of things to know, worded by the reader's language: e.g. ``tp_over_pcie``, ``format_saves_memory_only``."""
    derivations: dict[str, Derivation] = {}

    @property
    def machines_each(self) -> int:
        """Machines that do one run or job together; ``machines`` are those of all sets side by side."""
        return self.machines // self.monthly.sets

    @property
    def split(self) -> MemorySplit:
        """The memory of a served LLM. Raises ``TypeError`` for kinds that name other parts."""
        if not isinstance(self.memory, MemorySplit):
            raise TypeError("this kind of workload has no KV cache")
        return self.memory


class Rejection(Frozen):
    offer: OfferFacts
    reason: RejectionReason
    detail: dict[str, Any] = {}
    """Data of the reason (which rule, whose number), worded by the reader's language."""
    needed_bytes: int | None = None
    available_bytes: int | None = None
    what_would_help: tuple[dict[str, Any], ...] = ()
    """Computed changes that would make it fit, smallest first: ``{"change": "weights_format", "to": "fp8", …}``."""


class SmallestChange(Frozen):
    """Where no candidate meets everything: the least change that would give one."""

    change: str
    value: float | str
    candidates: int


class Remedy(Frozen):
    """Where no candidate meets everything: one change, and the first candidate when all is sized and ranked with it."""

    change: str
    value: float | str
    candidates: int
    """How many meet every target then; 0 where it fits only without the headroom."""
    offer: OfferFacts
    layout: Layout
    replicas: int
    machines: int
    total: Money
    currency: str
    complete: bool


class Cheapest(Frozen):
    """The offer that may be called the cheapest: lowest complete monthly total of class 1, on demand, price at
    most 180 days old, no marketplace floor and no estimate."""

    offer: OfferFacts
    layout: Layout
    replicas: int
    machines: int
    total: Money
    currency: str
    job_cost: Money | None = None
    """Cost of one job, of kinds that run jobs: the month's whole bill by its jobs."""
    unit_costs: dict[str, Money | None] = {}
    """Cost of one unit of use, as of a candidate."""


class Comparison(Frozen):
    """Everything one workload's answer consists of; a plan stores exactly this."""

    schema_version: int = 1
    engine_version: str
    kind: str
    priced_at: datetime
    catalog_version: str
    workload: dict[str, Any]
    """The workload with every default filled in, as it was computed."""
    model: dict[str, Any]
    """What was understood of the model: name, parameters, layers, attention, stored format, source."""
    assumptions: tuple[Assumption, ...]
    candidates: tuple[Candidate, ...]
    candidates_total: int
    class_counts: dict[str, int]
    rejected: tuple[Rejection, ...]
    rejected_counts: dict[str, int]
    smallest_change: SmallestChange | None = None
    remedies: tuple[Remedy, ...] = ()
    """Where no candidate meets everything: a few changes of different kinds, the gentlest first."""
    not_comparable_count: int = 0
    cheapest_offer_id: int | None = None
    cheapest: Cheapest | None = None
    """None where no candidate may be called so."""
    services: ServicesMonth | None = None
    """What services by the token ask for the same month, beside the first candidate; None in kinds without tokens, and
    in plans saved before this was told."""
