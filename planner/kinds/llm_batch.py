"""Batch generation with an LLM: so many requests by a deadline, at full use of the machines."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from planner.columns import JOB, LLM_MEMORY, THROUGHPUT, TOKEN_COST
from planner.fields import ChoiceField, NumberField
from planner.figures import hours
from planner.kinds import every_kind, host_block, llm_shared
from planner.kinds.frame import Block, Cost, Example, Fold, Group, Kind, Measure, Row, Variant, put, scaled
from planner.kinds.llm_serving import speed_block
from planner.options import OBJECTIVES
from planner.sizing.results import Candidate
from planner.sizing.workload import BatchWorkload


def _job_cost(candidate: Candidate) -> Decimal | None:
    return candidate.batch.cost if candidate.batch else None


HOURS = Measure(
    "job_hours",
    gettext_lazy("job"),
    gettext_lazy("The whole job"),
    "h",
    lambda candidate: candidate.batch.hours if candidate.batch else None,
    target=("deadline_hours",),
    axis_label=gettext_lazy("Hours for the job"),
    derivation="job_hours",
)
OUTPUT = Measure(
    "throughput_peak",
    gettext_lazy("output"),
    gettext_lazy("Output, all replicas"),
    "tokens/s",
    lambda candidate: candidate.batch.output_tokens_per_s if candidate.batch else None,
    lower_is_better=False,
    derivation="output_tokens_per_s",
)


def headline(best: Candidate) -> str:
    text, unit = hours(best.batch.hours.value if best.batch else 0.0)
    words = {
        "gpus": f"{best.gpus_per_replica:,}",
        "name": best.offer.accelerator,
        "replicas": f"{best.replicas:,}",
        "time": " ".join((text, _("h") if unit == "h" else unit)),
    }
    if best.replicas * best.gpus_per_replica == 1:
        return _("One %(name)s does the job in %(time)s") % words
    if best.replicas == 1:
        return _("%(gpus)s × %(name)s together do the job in %(time)s") % words
    return _("%(replicas)s replicas of %(gpus)s × %(name)s do the job in %(time)s") % words


def blocks(candidate: Candidate) -> tuple[Block, ...]:
    if candidate.speed is None:
        return ()
    host = host_block.serving_block(candidate)
    shown = speed_block(candidate.speed, candidate.limit, with_ttft=False)
    return (shown, *llm_shared.use_blocks(candidate), *((host,) if host else ()))


def cautions(candidate: Candidate, workload: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        _("Starting the machines and loading the model are not counted in the hours."),
        *host_block.host_cautions(candidate),
        *host_block.disk_cautions(candidate, workload),
        *host_block.load_cautions(candidate, workload),
    )


BATCH = Kind(
    names=("llm_batch",),
    title=gettext_lazy("Batch generation"),
    family=every_kind.ANSWERS,
    about=gettext_lazy("A number of requests must be done by a deadline; nobody waits for a single answer."),
    workload=BatchWorkload,
    setting=llm_shared.setting,
    pins=llm_shared.pins,
    fields={
        **llm_shared.MODEL,
        **llm_shared.ENGINE,
        **llm_shared.LENGTHS,
        "requests": NumberField(
            label=gettext_lazy("Requests in the job"),
            path=("request_count",),
            default="100000",
            integer=True,
        ),
        "deadline": NumberField(
            label=gettext_lazy("Done within"),
            path=("deadline_hours",),
            default="12",
            blank="none",
            unit=gettext_lazy("h"),
            help_text=gettext_lazy("Empty: no deadline."),
        ),
        **llm_shared.HIT,
        "objective": ChoiceField(
            label=gettext_lazy("Rank by"), path=("objective",), default="cost", choices=OBJECTIVES
        ),
        **every_kind.HEADROOM,
        **every_kind.SCHEDULE,
        **every_kind.REPLICAS,
        **every_kind.TERMS,
        **every_kind.FILTERS,
        **every_kind.CURRENCY,
        **every_kind.KEPT,
        **llm_shared.LOADING,
        **llm_shared.OPTIONS,
        **every_kind.ASSUMED,
    },
    groups=(
        llm_shared.WHAT_RUNS,
        Group(
            gettext_lazy("How much"),
            (
                *llm_shared.LENGTH_ROWS,
                ("requests", "deadline"),
                Fold(gettext_lazy("Prefix cache"), ("hit",)),
            ),
        ),
        Group(gettext_lazy("Targets"), (Row(("objective", "currency"), "uneven"), llm_shared.HEADROOM_FOLD)),
        every_kind.WHEN_AND_WHERE,
        llm_shared.WHAT_IS_KEPT,
    ),
    ordered=llm_shared.ORDERED,
    columns=every_kind.columns(memory=LLM_MEMORY, speed=(*THROUGHPUT, *JOB), unit=TOKEN_COST),
    measures=(HOURS, OUTPUT),
    costs=(
        Cost(
            "job_cost",
            gettext_lazy("Cost of the job"),
            _job_cost,
            derivation="job_cost",
            note=gettext_lazy("the month's whole bill, storage and transfer with it, divided by its jobs"),
        ),
        every_kind.MONTHLY,
        llm_shared.PER_MILLION,
    ),
    unit=gettext_lazy("job"),
    chart_title=gettext_lazy("Cost of the job against its hours"),
    can_restart=True,
    is_served=True,
    headline=headline,
    carrying=("model", "runtime", "weights", "requests", "deadline", "in_", "out", "hours", "days", "assume"),
    levers=("in_", "out", "requests", "deadline", "hit", "headroom", "starts", "storage", "egress"),
    variants=(
        *llm_shared.FORMAT_VARIANTS[:3],
        llm_shared.LONG_VARIANT,
        Variant("double", gettext_lazy("double load"), scaled("requests", by=2)),
        *llm_shared.FORMAT_VARIANTS[3:],
        Variant("fast", gettext_lazy("earliest finish first"), put(objective="finish")),
    ),
    explorations=("sensitivity", "memory", "throughput", "utilisation"),
    memory_note=llm_shared.memory_note,
    memory_facts=llm_shared.memory_facts,
    blocks=blocks,
    cautions=cautions,
    notes=llm_shared.format_notes,
    model_line=llm_shared.model_line,
    examples=(
        Example(
            "batch",
            gettext_lazy("Nightly batch summarisation"),
            gettext_lazy(
                "200,000 documents are summarised each night. It may be interrupted and start again, so "
                "spot machines count."
            ),
            gettext_lazy("Llama 3.1 8B · 200,000 requests · done within 8 h"),
            "kind=llm_batch&in=2000&out=200&requests=200000&deadline=8&objective=cost&tiers=on_demand,spot",
        ),
    ),
)
