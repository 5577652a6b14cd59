"""Columns, measures and costs of a training run."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy

from planner.columns import Column
from planner.kinds.frame import Cost, Measure
from planner.kinds.host_block import value
from planner.sizing.quantities import GB, GIB, Estimate
from planner.sizing.results import Candidate


def estimate(name: str) -> Callable[[Candidate], Estimate | None]:
    def of(candidate: Candidate) -> Estimate | None:
        found = candidate.figures.get(name)
        return None if found is None else found.estimate

    return of


def run_cost(candidate: Candidate) -> Decimal | None:
    return candidate.unit_costs.get("run")


HOURS = Measure(
    "run_hours",
    gettext_lazy("run"),
    gettext_lazy("The whole run"),
    "h",
    estimate("run_hours"),
    target=("deadline_hours",),
    axis_label=gettext_lazy("Hours for the run"),
    derivation="run_hours",
)
TOKENS = Measure(
    "train_tokens_per_s",
    gettext_lazy("tokens"),
    gettext_lazy("Tokens trained, all GPUs"),
    "tokens/s",
    estimate("tokens_per_s"),
    lower_is_better=False,
    derivation="tokens_per_s",
)
RUN_COST = Cost(
    "run_cost",
    gettext_lazy("Cost of a run"),
    run_cost,
    derivation="run_cost",
    note=gettext_lazy("the month's whole bill, storage and transfer with it, divided by its runs"),
)


def _figure(
    key: str,
    title: Any,
    name: str,
    unit: str = "",
    *,
    shown: bool = False,
    decimals: int | None = None,
    scale: float = 1.0,
    sort: str | None = None,
    with_range: bool = False,
) -> Column:
    def of(candidate: Candidate) -> float | None:
        found = value(candidate, name)
        return None if found is None else found / scale

    return Column(
        key,
        title,
        "number",
        of,
        unit,
        digits=None if decimals is not None else 3,
        decimals=decimals,
        shown=shown,
        sort=sort,
        estimate=estimate(name) if with_range else None,
    )


MEMORY = (
    Column(
        "needed",
        gettext_lazy("Memory needed per GPU"),
        "number",
        lambda c: c.memory.needed_bytes / GIB,
        "GiB",
        decimals=1,
        shown=True,
        sort="memory_needed",
    ),
)
SPEED = (
    _figure(
        "run_hours",
        gettext_lazy("Hours for the run"),
        "run_hours",
        "h",
        shown=True,
        sort="run_hours",
        with_range=True,
    ),
    _figure(
        "train_tokens_per_s",
        gettext_lazy("Tokens trained, all GPUs"),
        "tokens_per_s",
        "tokens/s",
        shown=True,
        sort="throughput",
        with_range=True,
    ),
    _figure("samples_per_s", gettext_lazy("Samples per second"), "samples_per_s", "1/s", with_range=True),
    _figure("steps_per_hour", gettext_lazy("Steps per hour"), "steps_per_hour", "1/h", with_range=True),
    _figure("train_step_s", gettext_lazy("One step"), "train_step_s", "s", with_range=True),
    _figure("gpu_hours", gettext_lazy("GPU hours"), "gpu_hours", "h", sort="gpu_hours", with_range=True),
    _figure("mfu", gettext_lazy("MFU"), "mfu", "%", scale=0.01),
    _figure("micro_batch", gettext_lazy("Micro-batch"), "micro_batch", decimals=0),
    _figure("accumulation", gettext_lazy("Accumulation"), "accumulation", decimals=0),
    _figure("zero_stage", gettext_lazy("ZeRO stage"), "zero_stage", decimals=0),
    _figure("checkpoint", gettext_lazy("Checkpoint"), "checkpoint_bytes", "GB", scale=GB),
    _figure("checkpoint_every", gettext_lazy("Checkpoint every"), "checkpoint_interval_s", "min", scale=60),
    _figure("interruptions", gettext_lazy("Failures expected"), "interruptions"),
    _figure("host_cores", gettext_lazy("Cores needed per machine"), "host_cores"),
    _figure(
        "host_ram", gettext_lazy("RAM needed per machine"), "host_ram_bytes", "GiB", scale=GIB, decimals=0
    ),
    _figure("fabric", gettext_lazy("Network needed per GPU"), "fabric_bytes_per_s", "GB/s", scale=GB),
)
RUN = (
    Column(
        "run_cost",
        gettext_lazy("Cost of a run"),
        "money",
        run_cost,
        shown=True,
        sort="total",
        is_of_total=True,
    ),
)
