"""Columns of a comparison in named groups. Each kind of workload puts its own ordered list together from them;
screen, CSV, XLSX and PDF all read that list, so they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from planner.sizing.quantities import GB, GIB, Estimate
from planner.sizing.results import Candidate, LoadPoint, OfferFacts

Kind = Literal["text", "code", "number", "money", "date", "flag"]
Value = str | int | float | Decimal | date | bool | None


@dataclass(frozen=True)
class Column:
    """One column. ``value`` gives the figure in ``unit``, None where it is unknown.

    Kinds: ``code`` is worded in the reader's language by ``planner.wording``; ``money`` is in the currency of
    the candidate's bill (``decimals`` None: the currency's own); ``number`` is shown to ``decimals`` places, or to
    ``digits`` significant digits.
    """

    key: str
    title: str | Promise
    kind: Kind
    value: Callable[[Candidate], Value]
    unit: str = ""
    decimals: int | None = None
    digits: int | None = None
    shown: bool = False
    """On the screen by default."""
    estimate: Callable[[Candidate], Estimate | None] | None = None
    """The predicted figure with its range, where the column shows a prediction."""
    sort: str | None = None
    """The name ``services.compare(sort=…)`` knows it by."""
    is_of_total: bool = False
    """An amount made from the month's total: at least so much where one of its lines is unknown."""


def _number(estimate: Estimate | None) -> float | None:
    return estimate.value if estimate else None


def _point(candidate: Candidate, load: Literal["typical", "peak"]) -> LoadPoint | None:
    return getattr(candidate.speed, load) if candidate.speed else None


def _predicted(
    key: str,
    title: str | Promise,
    unit: str,
    load: Literal["typical", "peak"],
    field: str,
    *,
    digits: int = 3,
    shown: bool = False,
    sort: str | None = None,
    scale: float = 1,
) -> Column:
    def estimate(candidate: Candidate) -> Estimate | None:
        point = _point(candidate, load)
        found: Estimate | None = getattr(point, field) if point else None
        if found is None or scale == 1:
            return found
        return Estimate(value=found.value * scale, low=found.low * scale, high=found.high * scale)

    return Column(
        key, title, "number", lambda candidate: _number(estimate(candidate)), unit, digits=digits, shown=shown,
        estimate=estimate, sort=sort,
    )  # fmt: skip


def figured(
    key: str,
    title: str | Promise,
    unit: str = "",
    *,
    name: str = "",
    scale: float = 1,
    digits: int = 3,
    shown: bool = False,
    sort: str | None = None,
) -> Column:
    """A column of ``Candidate.figures[name]`` (``key`` by default), ``scale`` units of it per unit of the figure."""

    def estimate(candidate: Candidate) -> Estimate | None:
        found = candidate.figures.get(name or key)
        if found is None or found.low is None or found.high is None:
            return None
        return Estimate(value=found.value * scale, low=found.low * scale, high=found.high * scale)

    def value(candidate: Candidate) -> Value:
        found = candidate.figures.get(name or key)
        return None if found is None else found.value * scale

    return Column(key, title, "number", value, unit, digits=digits, shown=shown, estimate=estimate, sort=sort)


def unit_cost(
    key: str, title: str | Promise, unit: str, *, decimals: int | None = None, shown: bool = True
) -> Column:
    """A column of ``Candidate.unit_costs[unit]``."""
    return Column(
        key, title, "money", lambda c: c.unit_costs.get(unit), decimals=decimals, shown=shown, sort="per_unit",
        is_of_total=True,
    )  # fmt: skip


def _line(what: str) -> Callable[[Candidate], Decimal | None]:
    def amount(candidate: Candidate) -> Decimal | None:
        return next((line.amount for line in candidate.monthly.lines if line.what == what), None)

    return amount


def _as_read(offer: OfferFacts) -> Decimal:
    """What is paid by the hour or month; what is paid upfront stands in a column of its own."""
    return offer.price_amount if offer.recurring is None else offer.recurring


def _answer(name: str, title: str | Promise, kind: Kind, unit: str = "") -> Column:
    """What a provider answered with a private offer; nothing where it was not asked or did not say."""
    return Column(name, title, kind, lambda c: getattr(c.offer.quote, name) if c.offer.quote else None, unit)


def _per(candidate: Candidate, whole: float) -> Decimal | None:
    """Monthly total per unit of something all machines have together."""
    machines = candidate.machines * candidate.offer.gpu_count
    if not candidate.monthly.complete or whole <= 0 or machines <= 0:
        return None
    return candidate.monthly.total / Decimal(str(whole * machines))


LAYOUT: tuple[Column, ...] = (
    Column("rank", _("Rank"), "number", lambda c: c.rank, decimals=0, shown=True),
    Column("class", _("Class"), "number", lambda c: c.class_, decimals=0),
    Column("provider", _("Provider"), "text", lambda c: c.offer.provider_name, shown=True, sort="provider"),
    Column("sku", _("Machine"), "text", lambda c: c.offer.sku, shown=True),
    Column("region", _("Region"), "text", lambda c: c.offer.region or None, shown=True, sort="region"),
    Column("tier", _("Tier"), "code", lambda c: c.offer.tier),
    Column("accelerator", _("Accelerator"), "text", lambda c: c.offer.accelerator, shown=True, sort="accelerator"),
    Column("gpu_count", _("GPUs per machine"), "number", lambda c: c.offer.gpu_count, decimals=0, sort="gpu_count"),
    Column("gpu_fraction", _("Share of a GPU"), "number", lambda c: c.offer.gpu_fraction, decimals=3),
    Column("replicas", _("Replicas"), "number", lambda c: c.replicas, decimals=0, shown=True),
    Column("gpus_per_replica", _("GPUs per replica"), "number", lambda c: c.gpus_per_replica, decimals=0, shown=True),
    Column("tp", _("Tensor parallel"), "number", lambda c: c.layout.tp, decimals=0),
    Column("pp", _("Pipeline parallel"), "number", lambda c: c.layout.pp, decimals=0),
    Column("dp", _("Groups with attention by requests"), "number", lambda c: c.layout.dp, decimals=0),
    Column("ep", _("Expert parallel"), "number", lambda c: c.layout.ep, decimals=0),
    Column("machines", _("Machines"), "number", lambda c: c.machines, decimals=0, shown=True),
    Column("idle_gpus", _("Idle GPUs"), "number", lambda c: c.idle_gpus, decimals=0),
    Column("verdict", _("Memory verdict"), "code", lambda c: c.verdict),
    Column("limit", _("Limited by"), "code", lambda c: c.limit, shown=True),
)  # fmt: skip

MEMORY: tuple[Column, ...] = (
    Column("memory", _("Memory per GPU"), "number", lambda c: c.offer.gpu_memory_bytes / GIB, "GiB", decimals=1,
           sort="memory"),
    Column("usable", _("Usable memory"), "number", lambda c: c.memory.usable_bytes / GIB, "GiB", decimals=1),
)  # fmt: skip

LLM_MEMORY: tuple[Column, ...] = (
    Column("weights", _("Weights per GPU"), "number", lambda c: c.split.weights_bytes / GIB, "GiB", decimals=1),
    Column("kv_per_token", _("KV cache per token"), "number", lambda c: c.split.kv_bytes_per_token, "B", decimals=0),
    Column("kv_room", _("KV room"), "number", lambda c: c.split.kv_room_tokens, "tokens", decimals=0),
    Column("concurrency_typical", _("Requests that fit, typical"), "number",
           lambda c: c.split.concurrency_at_typical, decimals=0),
    Column("concurrency_maximum", _("Requests that fit, longest"), "number",
           lambda c: c.split.concurrency_at_maximum, decimals=0),
)  # fmt: skip

HARDWARE: tuple[Column, ...] = (
    Column("bandwidth", _("Memory bandwidth per GPU"), "number", lambda c: c.offer.bandwidth_bytes_per_s / GB, "GB/s",
           decimals=0, shown=True, sort="bandwidth"),
    Column("link", _("GPU link"), "code", lambda c: c.offer.link),
    Column("vcpu", _("vCPU"), "number", lambda c: c.offer.vcpu, decimals=0),
    Column("ram", _("RAM"), "number", lambda c: c.offer.ram_bytes / GIB if c.offer.ram_bytes else None, "GiB",
           decimals=0),
)  # fmt: skip

SERVING_SPEED: tuple[Column, ...] = (
    _predicted("ttft_typical", _("TTFT, typical load"), "s", "typical", "ttft_s"),
    _predicted("ttft_peak", _("TTFT, peak load"), "s", "peak", "ttft_s", shown=True, sort="ttft"),
    _predicted("tpot_typical", _("TPOT, typical load"), "ms", "typical", "tpot_s", scale=1000),
    _predicted("tpot_peak", _("TPOT, peak load"), "ms", "peak", "tpot_s", shown=True, sort="tpot", scale=1000),
    _predicted("throughput_typical", _("Output, typical load, all replicas"), "tokens/s", "typical",
               "output_tokens_per_s"),
    _predicted("throughput_per_user", _("Output per user, peak load"), "tokens/s", "peak",
               "output_tokens_per_s_per_user"),
    Column("overloaded", _("Overloaded at peak"), "flag",
           lambda c: c.speed.peak.overloaded if c.speed else None),
)  # fmt: skip

THROUGHPUT: tuple[Column, ...] = (
    _predicted("throughput_peak", _("Output, peak load, all replicas"), "tokens/s", "peak", "output_tokens_per_s",
               shown=True, sort="throughput"),
)  # fmt: skip

JOB: tuple[Column, ...] = (
    Column("job_hours", _("Hours for the job"), "number", lambda c: c.batch.hours.value if c.batch else None, "h",
           digits=3, shown=True, estimate=lambda c: c.batch.hours if c.batch else None, sort="finish"),
    Column("job_cost", _("Cost of the job"), "money", lambda c: c.batch.cost if c.batch else None, shown=True,
           sort="job_cost", is_of_total=True),
)  # fmt: skip

MONTH: tuple[Column, ...] = (
    Column("monthly", _("Monthly total"), "money", lambda c: c.monthly.total, shown=True, sort="total",
           is_of_total=True),
    Column("complete", _("All prices known"), "flag", lambda c: c.monthly.complete),
    Column("missing", _("Unknown prices"), "code", lambda c: ", ".join(c.monthly.missing) or None),
    Column("monthly_gpu", _("Machines a month"), "money", _line("gpu")),
    Column("monthly_upfront", _("Share of what is paid upfront, a month"), "money", _line("upfront")),
    Column("monthly_rework", _("Expected rework a month"), "money", _line("rework")),
    Column("monthly_storage", _("Storage a month"), "money", _line("storage")),
    Column("monthly_egress", _("Transfer out a month"), "money", _line("egress")),
    Column("hours", _("Billed hours a month"), "number", lambda c: c.monthly.hours, "h", decimals=2),
    Column("currency", _("Currency"), "text", lambda c: c.monthly.currency),
)  # fmt: skip

TOKEN_COST: tuple[Column, ...] = (
    Column("per_million", _("Per 1M tokens"), "money", lambda c: c.per_million_tokens.all, decimals=4,
           shown=True, sort="per_million", is_of_total=True),
    Column("per_million_output", _("Per 1M output tokens"), "money", lambda c: c.per_million_tokens.output,
           decimals=4, is_of_total=True),
    Column("per_million_full", _("Per 1M tokens, full use"), "money", lambda c: c.per_million_tokens.at_full_use,
           decimals=4, is_of_total=True),
)  # fmt: skip

VALUE: tuple[Column, ...] = (
    Column("per_gib", _("Monthly total per GiB of GPU memory"), "money",
           lambda c: _per(c, c.offer.gpu_memory_bytes / GIB), decimals=2),
    Column("per_bandwidth", _("Monthly total per GB/s of bandwidth"), "money",
           lambda c: _per(c, c.offer.bandwidth_bytes_per_s / GB), decimals=4),
)  # fmt: skip

PRICE: tuple[Column, ...] = (
    Column("price", _("Unit price as read"), "number", lambda c: _as_read(c.offer)),
    Column("price_currency", _("Currency of the unit price"), "text", lambda c: c.offer.price_currency),
    Column("price_unit", _("Unit of the price"), "code", lambda c: c.offer.price_unit),
    Column("upfront", _("Paid upfront for a machine and term"), "number", lambda c: c.offer.upfront),
    Column("price_over_term", _("Unit price with its share of what is paid upfront"), "number",
           lambda c: c.offer.price_amount if c.offer.upfront else None),
    Column("terms", _("Terms within the tier"), "code", lambda c: c.offer.tier_detail),
    Column("term_months", _("Months of the term"), "number", lambda c: c.offer.term_months),
    Column("stock", _("Stock as last seen"), "code", lambda c: c.offer.stock),
    Column("stock_on", _("Stock seen on"), "date", lambda c: c.offer.stock_on),
    Column("price_date", _("Price read on"), "date", lambda c: c.offer.price_observed_on, shown=True),
    Column("price_age", _("Price age"), "number", lambda c: c.offer.price_age_days, "days", decimals=0, sort="age"),
    Column("stale", _("Price is old"), "flag", lambda c: c.offer.stale),
    Column("floor", _("Marketplace floor price"), "flag", lambda c: c.offer.floor),
    Column("estimated", _("Estimated price"), "flag", lambda c: c.offer.estimated),
    Column("valid_until", _("Quote valid until"), "date",
           lambda c: c.offer.quote.valid_until if c.offer.quote else None),
    Column("expired", _("Quote expired"), "flag", lambda c: c.offer.quote.expired if c.offer.quote else None),
    _answer("survives_restart", _("Local data survive a restart"), "code"),
    _answer("survives_host_change", _("Local data survive a change of host"), "code"),
    _answer("survives_contract_end", _("Local data survive the end of the contract"), "code"),
    _answer("data_location", _("Where data lie"), "text"),
    _answer("availability", _("Availability at the wanted date"), "text"),
    _answer("startup_minutes", _("Start-up time"), "number", "min"),
    _answer("answered_on", _("Answered on"), "date"),
)  # fmt: skip

KNOWN: tuple[Column, ...] = (
    Column("misses", _("Missed targets"), "code", lambda c: ", ".join(miss.target for miss in c.misses) or None),
    Column("warnings", _("To know"), "code", lambda c: ", ".join(c.warnings) or None),
    Column("source", _("Source of the price"), "code", lambda c: c.offer.source),
)  # fmt: skip
