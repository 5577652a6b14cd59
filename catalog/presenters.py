"""Rows and facts as pages show them: figures in the units people read, unknown ones as nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from django.db.models import Count, Max, Min, OuterRef, Subquery
from django.utils.translation import get_language, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from catalog import kept_lists, wording
from catalog.facts import RATES, AcceleratorFact, Rate, accelerators
from catalog.history import MarketPoint
from catalog.identify import identify
from catalog.models import (
    WITHOUT_ACCELERATOR,
    KeptBack,
    Offer,
    Price,
    PriceUnit,
    Refresh,
    RefreshQuerySet,
    RefreshStatus,
    Region,
)
from catalog.runs import is_alive
from catalog.schedule import NIGHT_HOUR_UTC, Nightly
from catalog.services import is_set_up
from catalog.sheets import Fact, number, scaled
from catalog.sources import Source

GIB = 1024**3
SOURCE_LENGTH = 22
KEPT_BACK_SHOWN = 200
OTHER_TERMS_SHOWN = 30
"""Spot prices by zone are many; the list of offers has them all."""
SHOWN_RATES: tuple[Rate, ...] = ("bf16", "fp8", "int8", "fp4")


@dataclass(frozen=True)
class FactGroup:
    title: wording.Text
    facts: list[Fact]


def accelerator_row(fact: AcceleratorFact) -> dict[str, Any]:
    return {
        "fact": fact,
        "memory_gib": scaled(fact.memory_bytes, GIB),
        "bandwidth": scaled(fact.bandwidth_bytes_per_s, 1e9),
        "rates": [_rate(fact, rate) for rate in SHOWN_RATES],
        "link": wording.say(wording.LINKS, fact.link) if fact.link != "unknown" else None,
        "link_rate": scaled(fact.link_bytes_per_s, 1e9),
        "power": number(fact.tdp_w),
        "device_class": wording.say(wording.DEVICE_CLASSES, fact.device_class or ""),
    }


def _rate(fact: AcceleratorFact, rate: Rate) -> dict[str, Any]:
    known = fact.dense_rates.get(rate)
    return {
        "label": wording.RATES[rate],
        "text": scaled(known, 1e12),
        "not_run": rate in fact.not_run,
    }


def fact_groups(fact: AcceleratorFact, *, with_bridge: bool = False) -> list[FactGroup]:
    """Everything that is known of an accelerator, with the source of each group."""
    return [
        FactGroup(_("Memory"), _memory(fact)),
        FactGroup(_("Dense rates, without sparsity"), [_dense_rate(fact, rate) for rate in RATES]),
        FactGroup(pgettext_lazy("of an accelerator", "Links"), _links(fact, with_bridge)),
        FactGroup(_("Device"), _device(fact)),
    ]


@dataclass(frozen=True)
class FactRow:
    """One fact of several accelerators; ``differs`` where they do not all say the same."""

    label: wording.Text
    facts: list[Fact]
    differs: bool


def fact_columns(facts: list[AcceleratorFact]) -> list[dict[str, Any]]:
    """The fact sheets of several accelerators beside each other. Unknown beside known is a difference."""
    groups = []
    for sheets in zip(*(fact_groups(fact, with_bridge=True) for fact in facts), strict=True):
        rows = [
            FactRow(lines[0].label, list(lines), len({str(line.text) for line in lines}) > 1)
            for lines in zip(*(sheet.facts for sheet in sheets), strict=True)
        ]
        known = [row for row in rows if any(line.text is not None for line in row.facts)]
        groups.append({"title": sheets[0].title, "rows": known})
    return groups


def _line(
    fact: AcceleratorFact, group: str, label: wording.Text, text: wording.Text | None, unit: str = ""
) -> Fact:
    return Fact(label, text, unit, fact.sources.get(group, ""), fact.is_unverified(group))


def _memory(fact: AcceleratorFact) -> list[Fact]:
    smi, engine = number(fact.smi_mib, 7), number(fact.engine_total_mib, 7)
    return [
        _line(fact, "memory", _("as sold"), number(fact.memory_gb), "GB"),
        _line(fact, "memory", _("as the driver reports it"), smi, "MiB"),
        _line(fact, "engine_total", _("as a serving engine sees it"), engine, "MiB"),
        _line(fact, "memory", _("kind"), fact.memory_kind),
        _line(fact, "bandwidth", _("bandwidth"), scaled(fact.bandwidth_bytes_per_s, 1e9), "GB/s"),
    ]


def _dense_rate(fact: AcceleratorFact, rate: Rate) -> Fact:
    if rate in fact.not_run:
        return _line(fact, "flops", wording.RATES[rate], _("not run by its matrix units"))
    unit = "TOP/s" if rate == "int8" else "TFLOP/s"
    return _line(fact, "flops", wording.RATES[rate], scaled(fact.dense_rates.get(rate), 1e12), unit)


def _links(fact: AcceleratorFact, with_bridge: bool) -> list[Fact]:
    rate, bridge = scaled(fact.link_bytes_per_s, 1e9), scaled(fact.bridge_bytes_per_s, 1e9)
    lines = [
        _line(fact, "interconnect", _("between devices"), fact.interconnect),
        _line(fact, "interconnect", _("both directions, per device"), rate, "GB/s"),
        _line(fact, "interconnect", "PCIe", fact.pcie),
    ]
    if bridge is not None or with_bridge:
        lines.insert(2, _line(fact, "interconnect", _("with a bridge that is sold apart"), bridge, "GB/s"))
    return lines


def _device(fact: AcceleratorFact) -> list[Fact]:
    kind = wording.say(wording.DEVICE_CLASSES, fact.device_class) if fact.device_class else None
    return [
        Fact(_("vendor"), wording.say(wording.VENDORS, fact.vendor)),
        Fact(_("architecture"), fact.architecture),
        Fact(_("compute capability or target"), fact.compute_capability),
        Fact(_("class"), kind),
        Fact(
            _("form factor"),
            wording.say(wording.FORM_FACTORS, fact.form_factor) if fact.form_factor else None,
        ),
        Fact(_("devices on one board"), number(fact.devices_per_board)),
        _line(fact, "tdp", _("power"), number(fact.tdp_w), "W"),
        Fact(_("container images must be for"), fact.host_architecture or _("its host's processor")),
        Fact(_("partitions"), fact.mig, is_quoted=True),
        Fact(_("year"), str(fact.year) if fact.year else None),
        Fact(_("how sure"), wording.say(wording.STATUSES, fact.status)),
    ]


def offer_rows(offers: Iterable[Offer], at: datetime) -> list[dict[str, Any]]:
    """Rows of a list, with the places of their regions: one query for all of them."""
    shown = list(offers)
    wanted = {(offer.provider_id, offer.region) for offer in shown if offer.region}
    named = Region.objects.filter(
        provider__in={slug for slug, _code in wanted}, code__in={code for _slug, code in wanted}
    )
    places = {(one.provider_id, one.code): place(one) for one in named}
    return [offer_row(offer, at, places.get((offer.provider_id, offer.region), "")) for offer in shown]


def place(region: Region) -> str:
    japanese = (get_language() or "").startswith("ja")
    if japanese and region.name_ja:
        return region.name_ja
    return f"{region.city} ({region.country})" if region.city and region.country else region.name


def short_source(source: str) -> str:
    """The document in a few words; the offer's page has the whole."""
    words = source.removeprefix("second-hand transcription of ")
    words = re.split(r" \(|, |; | \+ ", words, maxsplit=1)[0]
    return words if len(words) <= SOURCE_LENGTH else words[: SOURCE_LENGTH - 1].rstrip() + "…"


def _per_dollar(offer: Offer, figure: float | None, unit: float) -> str | None:
    """What a dollar an hour buys of a card's figure; unknown where the offer cannot be compared."""
    if offer.not_comparable or not offer.usd_per_hour or not offer.gpu_count or figure is None:
        return None
    devices = offer.gpu_count * float(offer.gpu_fraction)
    return number(figure * devices / float(offer.usd_per_hour) / unit, 3)


def other_terms(offer: Offer) -> list[dict[str, Any]]:
    """The same machine in the same region on other terms of sale, cheapest hour first; one query."""
    found = (
        Offer.objects.current()
        .filter(
            provider=offer.provider_id, sku=offer.sku, region=offer.region, gpu_count=offer.gpu_count,
            current_price__unit=PriceUnit.HOUR,
        )
        .exclude(pk=offer.pk)
        .select_related("current_price")
        .order_by("usd_per_hour", "pk")
    )  # fmt: skip
    rows = []
    for one in found[:OTHER_TERMS_SHOWN]:
        price = cast(Price, one.current_price)  # the query asks for offers with a price
        rows.append({
            "offer": one, "terms": wording.say(wording.TIER_DETAILS, one.tier_detail), "price": price,
            "amount": money(price.amount), "upfront": money(price.upfront) if price.upfront else "",
            "recurring": money(price.recurring) if price.upfront and price.recurring is not None else "",
        })  # fmt: skip
    return rows


def offer_row(offer: Offer, at: datetime, place_name: str = "") -> dict[str, Any]:
    price = offer.current_price
    fact = accelerators().get(offer.accelerator_id or "")
    devices = None if not offer.gpu_count else offer.gpu_count * offer.gpu_fraction
    return {
        "offer": offer,
        "price": price,
        "amount": None if price is None else money(price.amount),
        "per_gpu": None if price is None or not devices else money(price.amount / devices),
        "bandwidth_per_dollar": _per_dollar(offer, fact.bandwidth_bytes_per_s if fact else None, 1e9),
        "memory_per_dollar": _per_dollar(offer, fact.memory_bytes if fact else None, GIB),
        "place": place_name,
        "terms": wording.say(wording.TIER_DETAILS, offer.tier_detail),
        "short_source": "" if price is None else short_source(price.source),
        "without_gpu": offer.not_comparable in WITHOUT_ACCELERATOR,
        "age_days": offer.price_age_days(at),
        "stale": offer.is_stale(at),
        "fraction": None if offer.gpu_fraction == 1 else number(float(offer.gpu_fraction)),
        "reason": wording.say(wording.NOT_COMPARABLE, offer.not_comparable) if offer.not_comparable else None,
        "candidates": offer.not_comparable_detail.replace("|", ", "),
    }


def money(amount: Decimal) -> str:
    """Two digits after the point, more where the price has them."""
    text = f"{amount:,.4f}".rstrip("0")
    whole, _point, part = text.partition(".")
    return f"{whole}.{part:0<2}"


def market_rows(points: Iterable[MarketPoint]) -> list[dict[str, Any]]:
    """The market's days, newest first, in dollars for one GPU and hour."""
    return [
        {"point": one, "low": money(one.low), "median": money(one.median), "high": money(one.high)}
        for one in points
    ][::-1]


def source_row(source: Source, at: datetime) -> dict[str, Any]:
    return source_rows([source], at)[0]


def source_rows(sources: Sequence[Source], at: datetime) -> list[dict[str, Any]]:
    """Where each source stands: its last run, its last good one, what it gave. A constant number of queries."""
    runs = Refresh.objects.filter(source__in=[source.name for source in sources])
    last = _newest_by_source(runs)
    good = _newest_by_source(runs.good())
    alive = {run.source for run in runs.filter(status=RefreshStatus.RUNNING) if is_alive(run, at)}
    providers = {provider for source in sources for provider in source.all_providers}
    of_tiers = (
        Offer.objects.filter(provider__in=providers)
        .current()
        .values_list("provider", "tier")
        .annotate(Count("pk"))
        .order_by()
    )
    counts: list[tuple[str, str, int]] = kept_lists.once(
        kept_lists.state(), ("offers by tier", *sorted(providers)), lambda: list(of_tiers)
    )
    return [
        _source_row(source, last.get(source.name), good.get(source.name), source.name in alive, at)
        | {
            "offers": sum(
                count
                for provider, tier, count in counts
                if provider in source.all_providers and (not source.tiers or tier in source.tiers)
            )
            if source.all_providers
            else None
        }
        for source in sources
    ]


def _newest_by_source(runs: RefreshQuerySet) -> dict[str, Refresh]:
    newest = runs.filter(source=OuterRef("source")).order_by("-started_at", "-pk")
    found = runs.filter(pk=Subquery(newest.values("pk")[:1]))
    return {run.source: run for run in found}


def _source_row(
    source: Source, last: Refresh | None, good: Refresh | None, running: bool, at: datetime
) -> dict[str, Any]:
    state = "never" if last is None else last.status
    if last is not None and last.status == RefreshStatus.RUNNING and not running:
        state = "failed"
    return {
        "source": source,
        "set_up": is_set_up(source.name),
        "state": state,
        "running": running,
        "last": None if last is None else run_row(last, at),
        "good": None if good is None else run_row(good, at),
        "age_hours": None
        if good is None or good.finished_at is None
        else int((at - good.finished_at).total_seconds() // 3600),
    }


def run_row(run: Refresh, at: datetime) -> dict[str, Any]:
    end = run.finished_at or at
    refused = [
        {"words": wording.say(wording.REFUSED, code), "count": count} for code, count in run.refused.items()
    ]
    return {
        "run": run,
        "reason": wording.say(wording.RUN_REASONS, run.reason) if run.reason else "",
        "refused": refused,
        "refused_count": sum(run.refused.values()),
        "seconds": max(0, round((end - run.started_at).total_seconds())),
    }


def kept_back_rows(source: str) -> list[dict[str, Any]]:
    """Prices that wait for a person beside those in force."""
    waiting = (
        KeptBack.objects.open()
        .filter(refresh__source=source)
        .select_related("offer__current_price", "offer__provider")[:KEPT_BACK_SHOWN]
    )
    rows = []
    for held in waiting:
        now = held.offer.current_price
        factor = None if now is None else max(held.amount / now.amount, now.amount / held.amount)
        rows.append({
            "held": held, "offer": held.offer, "terms": wording.say(wording.TIER_DETAILS, held.offer.tier_detail),
            "new": money(held.amount), "old": None if now is None else money(now.amount),
            "factor": None if factor is None else number(float(factor), 3),
        })  # fmt: skip
    return rows


REVIEWED: tuple[tuple[str, str], ...] = (
    ("unknown_accelerator", "accelerator_as_written"),
    ("ambiguous_accelerator", "accelerator_as_written"),
    ("size_unknown", "sku"),
    ("memory_contradicts", "accelerator_as_written"),
    ("card_not_read", "sku"),
    ("count_unknown", "sku"),
)
"""Reasons that a person can settle, and by which name such offers are counted."""


def review_groups() -> list[dict[str, Any]]:
    """Offers that are not understood, by reason, provider and name, with how many and one to look at."""
    groups = []
    for reason, column in REVIEWED:
        found = (
            Offer.objects.current()
            .filter(not_comparable=reason)
            .values("provider_id", "provider__name", column)
            .annotate(offer_count=Count("pk"), example=Min("pk"), newest=Max("confirmed_on"))
            .order_by("-offer_count", "provider_id", column)
        )
        rows = [dict(row) | {"name": row[column] or "?", "means": _meant(row, column)} for row in found]
        total = sum(row["offer_count"] for row in rows)
        groups.append({"title": wording.say(wording.NOT_COMPARABLE, reason), "rows": rows, "total": total})
    return [group for group in groups if group["rows"]]


def _meant(row: Mapping[str, Any], column: str) -> str:
    """What the name would mean: the candidates, where it is a card's."""
    if column != "accelerator_as_written" or not row[column]:
        return ""
    answer = identify(row[column], row["provider_id"])
    return answer.canonical or ", ".join(answer.candidates)


def standing(
    rows: Sequence[Mapping[str, Any]], shipped: Sequence[Mapping[str, Any]], schedule: Nightly
) -> dict[str, Any]:
    """What is so of the whole: which prices are in force, and whether anything will read newer ones."""
    good = [row["good"]["run"].finished_at for row in rows if row["good"]]
    return {
        "newest_shipped": max((row["newest"] for row in shipped), default=None),
        "newest_run": max(filter(None, good), default=None),
        "good_count": len(good),
        "source_count": len(rows),
        "ready_count": sum(row["set_up"] for row in rows),
        "on_count": sum(row["source"].name in schedule.on for row in rows),
        "ran_at": schedule.ran_at,
        "hour": NIGHT_HOUR_UTC,
    }


def shipped_sources() -> list[dict[str, Any]]:
    """The documents that the shipped prices were read from, with how many and how new."""
    found = (
        Price.objects.filter(refresh__isnull=True)
        .values("source", "licence")
        .annotate(price_count=Count("pk"), newest=Max("observed_on"))
        .order_by("-price_count")
    )
    return kept_lists.once(
        kept_lists.state(), "shipped sources", lambda: [dict[str, Any](row) for row in found]
    )
