"""Interactive serving of an LLM: requests at once or per second, latency targets at peak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from planner.columns import LLM_MEMORY, SERVING_SPEED, THROUGHPUT, TOKEN_COST
from planner.fields import ChoiceField, NumberField
from planner.figures import Figure, duration, ranged, significant
from planner.kinds import by_rate, by_token, every_kind, host_block, llm_shared
from planner.kinds.frame import Block, Example, Fold, Group, Kind, Measure, Row, Variant, put, scaled
from planner.options import OBJECTIVES
from planner.sizing.llm_derivations import TYPICAL
from planner.sizing.quantities import Estimate
from planner.sizing.results import Candidate, Comparison, LoadPoint, Speed
from planner.sizing.workload import ServingWorkload
from planner.wording import word


def _peak(name: str) -> Any:
    def of(candidate: Candidate) -> Estimate | None:
        return getattr(candidate.speed.peak, name) if candidate.speed else None

    return of


TPOT = Measure(
    "tpot_peak",
    "TPOT",
    gettext_lazy("TPOT at peak"),
    "s",
    _peak("tpot_s"),
    gloss=gettext_lazy("Time from the first to the last token, divided by the tokens after the first"),
    target=("targets", "tpot_s"),
    derivation="tpot_s",
    axis_unit="ms",
    axis_scale=1000,
)
TTFT = Measure(
    "ttft_peak",
    "TTFT",
    gettext_lazy("TTFT at peak"),
    "s",
    _peak("ttft_s"),
    gloss=gettext_lazy("Time to first token"),
    target=("targets", "ttft_s"),
    derivation="ttft_s",
)


def headline(best: Candidate) -> str:
    words = {
        "gpus": f"{best.gpus_per_replica:,}",
        "name": best.offer.accelerator,
        "replicas": f"{best.replicas:,}",
    }
    if best.replicas == 1 and best.gpus_per_replica == 1:
        return _("Fits on one %(name)s, and meets every target at peak") % words
    if best.replicas == 1:
        return _("%(gpus)s × %(name)s together meet every target at peak") % words
    if best.gpus_per_replica == 1:
        return _("Fits on one %(name)s per replica; %(replicas)s replicas carry the peak") % words
    return _("%(gpus)s × %(name)s per replica; %(replicas)s replicas carry the peak") % words


def missing(candidate: Candidate) -> str:
    overloaded = candidate.speed is not None and candidate.speed.peak.overloaded
    return _("overloaded") if overloaded else _("unknown")


def blocks(candidate: Candidate) -> tuple[Block, ...]:
    """Speed of the whole deployment at typical load and at peak."""
    if candidate.speed is None:
        return ()
    host = host_block.serving_block(candidate)
    shown = speed_block(candidate.speed, candidate.limit)
    return (shown, *llm_shared.use_blocks(candidate), *((host,) if host else ()))


def cautions(candidate: Candidate, workload: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        *host_block.host_cautions(candidate),
        *host_block.disk_cautions(candidate, workload),
        *host_block.load_cautions(candidate, workload),
    )


def speed_block(speed: Speed, limit: str, *, with_ttft: bool = True) -> Block:
    points = ((speed.typical, TYPICAL if with_ttft else ""), (speed.peak, ""))

    def row(label: str, of: Any) -> tuple[str, tuple[Figure | str | None, ...]]:
        return label, tuple(of(point, before) for point, before in points)

    def ttft(point: LoadPoint, before: str) -> Figure | str | None:
        if point.ttft_s is None:
            return _("overloaded") if point.overloaded else _("unknown")
        return duration(point.ttft_s, f"{before}ttft_s")

    def at_once(point: LoadPoint, before: str) -> Figure:
        return Figure(significant(point.concurrency), opens=f"{before}requests_at_once")

    return Block(
        title=_("Speed of the whole deployment"),
        heads=(_("typical load"), _("peak load")),
        rows=(
            row(_("Requests at once"), at_once),
            *((row("TTFT", ttft),) if with_ttft else ()),
            row("TPOT", lambda point, before: duration(point.tpot_s, f"{before}tpot_s")),
            row(
                _("Output, all replicas"),
                lambda point, before: ranged(
                    point.output_tokens_per_s, "tok/s", f"{before}output_tokens_per_s"
                ),
            ),
            row(
                _("Output, each user"),
                lambda point, before: ranged(
                    point.output_tokens_per_s_per_user, "tok/s", f"{before}user_tokens_per_s"
                ),
            ),
            row(_("Limited by"), lambda point, _before: word("limit", point.limit)),
        ),
        note=_(
            # xgettext:no-python-format
            "Means with an 80 % range; no percentile is given until a simulation exists."
        ),
    )


def notes(comparison: Comparison, best: Candidate) -> tuple[str, ...]:
    return (*llm_shared.format_notes(comparison, best), *_load_check(comparison, best))


def _load_check(comparison: Comparison, best: Candidate) -> tuple[str, ...]:
    """Where a request rate is given it wins; what it means in requests at once is said beside what was typed."""
    rate_per_s = by_rate.rate_per_s(comparison.workload)
    if rate_per_s is None or best.speed is None:
        return ()
    return (
        _(
            "At %(rate)s requests per second this machine holds %(held)s requests at once on average (rate × time "
            "per request), and %(most)s at the peak of %(times)s × that rate. Of the fields “At once” it only counts "
            "that %(peak)s is %(times)s × %(average)s."
        )
        % {
            "rate": significant(rate_per_s),
            "held": significant(best.speed.typical.concurrency),
            "most": significant(best.speed.peak.concurrency),
            **by_rate.times(comparison.workload),
        },
    )


SERVING = Kind(
    names=("llm_serving",),
    title=gettext_lazy("Interactive serving"),
    family=every_kind.ANSWERS,
    about=gettext_lazy("People or programs wait for each answer: latency targets at the peak decide."),
    workload=ServingWorkload,
    setting=llm_shared.setting,
    pins=llm_shared.pins,
    complete=by_token.one_load,
    managed_per_million=by_token.managed_per_million,
    fields={
        **llm_shared.MODEL,
        **llm_shared.ENGINE,
        **llm_shared.LENGTHS,
        "users": NumberField(
            label=gettext_lazy("At once, average"),
            path=("concurrency", "average"),
            default="8",
            unit=gettext_lazy("requests"),
            one=gettext_lazy("request"),
        ),
        "users_peak": NumberField(
            label=gettext_lazy("At once, peak"),
            path=("concurrency", "peak"),
            default="32",
            unit=gettext_lazy("requests"),
            one=gettext_lazy("request"),
        ),
        "rate": NumberField(
            label=gettext_lazy("Requests per second"),
            path=("request_rate_per_s",),
            unit="1/s",
            help_text=gettext_lazy(
                "If given, it counts instead of the numbers at once; its peak is as much higher as theirs."
            ),
        ),
        **by_token.VOLUME,
        **llm_shared.HIT,
        "ttft": NumberField(
            label=gettext_lazy("First token within"),
            path=("targets", "ttft_s"),
            default="1",
            blank="none",
            unit="s",
            help_text=gettext_lazy("TTFT at peak, mean. Empty: no target."),
        ),
        "tpot": NumberField(
            label=gettext_lazy("Then one token every"),
            path=("targets", "tpot_s"),
            default="50",
            blank="none",
            scale=1000,
            unit="ms",
            help_text=gettext_lazy("TPOT at peak, mean. Empty: no target."),
        ),
        "objective": ChoiceField(
            label=gettext_lazy("Rank by"), path=("objective",), default="cost", choices=OBJECTIVES
        ),
        **every_kind.HEADROOM,
        **every_kind.SCHEDULE,
        **every_kind.REPLICAS,
        **every_kind.TERMS,
        **every_kind.FILTERS,
        **every_kind.CURRENCY,
        **by_token.MANAGED,
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
                ("users", "users_peak"),
                Fold(
                    gettext_lazy("Request rate, tokens a month, prefix cache"),
                    ("rate", ("m_in", "m_out"), "hit"),
                ),
            ),
        ),
        Group(
            gettext_lazy("Targets"),
            (
                ("ttft", "tpot"),
                Row(("objective", "currency"), "uneven"),
                llm_shared.HEADROOM_FOLD,
                by_token.MANAGED_FOLD,
            ),
        ),
        every_kind.WHEN_AND_WHERE,
        llm_shared.WHAT_IS_KEPT,
    ),
    ordered=(*llm_shared.ORDERED, ("users", "users_peak")),
    columns=every_kind.columns(
        memory=LLM_MEMORY, speed=(*SERVING_SPEED[:5], *THROUGHPUT, *SERVING_SPEED[5:]), unit=TOKEN_COST
    ),
    measures=(TPOT, TTFT),
    costs=(every_kind.MONTHLY, llm_shared.PER_MILLION),
    unit=llm_shared.UNIT,
    chart_title=gettext_lazy("Monthly total against TPOT at peak load"),
    headline=headline,
    is_served=True,
    missing=missing,
    carrying=(
        "model",
        "runtime",
        "weights",
        "rate",
        "users_peak",
        "m_in",
        "m_out",
        "in_",
        "out",
        "hours",
        "days",
        "assume",
    ),
    levers=(
        "in_",
        "out",
        "users_peak",
        "rate",
        "m_in",
        "m_out",
        "hit",
        "ttft",
        "tpot",
        "headroom",
        "hours",
        "days",
        "storage",
        "egress",
    ),
    variants=(
        *llm_shared.FORMAT_VARIANTS[:3],
        llm_shared.LONG_VARIANT,
        Variant(
            "double",
            gettext_lazy("double load"),
            scaled("users", "users_peak", "rate", "m_in", "m_out", by=2),
        ),
        *llm_shared.FORMAT_VARIANTS[3:],
        Variant("fast", gettext_lazy("fastest memory first"), put(objective="tpot")),
    ),
    explorations=("sensitivity", "memory", "tpot", "ttft", "throughput", "utilisation"),
    memory_note=llm_shared.memory_note,
    memory_facts=llm_shared.memory_facts,
    blocks=blocks,
    cautions=cautions,
    notes=notes,
    model_line=llm_shared.model_line,
    examples=(
        Example(
            "chat",
            gettext_lazy("Internal chat assistant"),
            gettext_lazy(
                "An 8B model answers colleagues during working hours. First words within a second, then "
                "faster than one reads."
            ),
            gettext_lazy("Llama 3.1 8B · 8 at once, 32 at peak · weekdays, 12 h"),
            "in=800&in_max=8000&out=300&users=8&users_peak=32&hours=12&days=21",
        ),
        Example(
            "rag",
            gettext_lazy("RAG answerer"),
            gettext_lazy(
                "Long prompts with retrieved passages, short cited answers. A part of each prompt repeats "
                "and comes from the cache."
            ),
            gettext_lazy("Qwen2.5 32B in FP8 · 6,000 tokens in, 400 out · always on"),
            "model=Qwen/Qwen2.5-32B-Instruct&weights=fp8&in=6000&in_max=16000&out=400&users=6&users_peak=20&hit=30"
            "&ttft=2",
        ),
        Example(
            "agent",
            gettext_lazy("Coding agent with long context"),
            gettext_lazy(
                "A 70B model reads whole files and works in many steps. Context is long, most of it repeats "
                "from step to step."
            ),
            gettext_lazy("Llama 3.3 70B in FP8 · 32,000 tokens in, up to 128,000 · 4 at once"),
            "model=meta-llama/Llama-3.3-70B-Instruct&weights=fp8&kv=fp8&in=32000&in_max=120000&out=800&out_max=8000"
            "&users=4&users_peak=8&hit=80&ttft=10",
        ),
    ),
)
