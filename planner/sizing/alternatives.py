"""What stands beside a candidate: what its conditions cost, other splits, terms and machines, its longest context."""

from __future__ import annotations

from typing import Literal

from planner.sizing.devices import Layout
from planner.sizing.offer_facts import Money
from planner.sizing.quantities import Estimate, Frozen

FitTarget = Literal["ttft_s", "tpot_s", "headroom_fraction"]


class FewerReplicas(Frozen):
    """The candidate with one replica fewer: what it would break, and the month's total then."""

    replicas: int
    machines: int
    target: FitTarget
    asked: float
    got: float | None
    """The latency it would have; None for the headroom."""
    total: Money
    currency: str
    complete: bool | None = None
    """Whether every line of that month is known; None in plans saved before this was told."""


class Relief(Frozen):
    """The candidate's machine sized again with one condition given up: what that condition costs."""

    given_up: FitTarget
    asked: float
    got: float | None
    """The latency it would have; None for the headroom."""
    replicas: int
    gpus_per_replica: int
    machines: int
    total: Money
    currency: str
    complete: bool


class TermCost(Frozen):
    """What one run costs on one term of sale of the same machine: machine time alone."""

    offer_id: int
    provider: str
    region: str
    tier: str
    term_months: int | None
    """Of a commitment; None where it is none, or its source does not say (then a month is taken)."""
    hours_paid: float
    """Of each machine: those of the run, or of the whole term."""
    total: Money
    currency: str
    stale: bool = False
    floor: bool = False
    """"From" so much: what is really asked may be more."""
    pays_from_days: float | None = None
    """Of a commitment: days of work from which on it costs less than on demand; None where it never does."""


class SmallerMachine(Frozen):
    """The smallest machine on which the work runs, as asked or with one change."""

    change: str | None
    """None: as asked."""
    value: float | str | None
    accelerator: str
    gpu_count: int
    """Of one machine."""
    machines: int
    memory_bytes: int
    """Of all its devices together."""
    needed_bytes: int
    """On the fullest device."""
    offer_id: int
    run_hours: float | None
    run_cost: Money | None
    """The month's bill of its cheapest offer over the month's runs."""
    currency: str
    complete: bool | None = None
    """Whether every line of that bill is known; None in plans saved before this was told."""
    micro_batch: int
    accumulation: int
    recompute: str
    effective_batch: int


class OtherLayout(Frozen):
    """The candidate's machine split otherwise, with what it then takes."""

    layout: Layout
    attention_dp: int = 1
    """In plans saved before the layout told it: ranks that each keep the attention of their own requests."""
    replicas: int
    machines: int
    ttft_s: Estimate | None
    tpot_s: Estimate | None
    total: Money
    currency: str
    complete: bool


class LongestContext(Frozen):
    """The most tokens that each request of the peak may have on one machine of the offer, by its best split."""

    users: int
    tokens: int
    """0 where not even one token fits."""
    tokens_without_headroom: int
    layout: Layout
    replicas: int
    limited_by: Literal["memory", "model_length", "engine_sequences", "searched"]
    is_own_layout: bool
    """Whether the candidate's replicas are split so, too."""
