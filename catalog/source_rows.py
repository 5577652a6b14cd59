"""Where prices come from: sources with their runs, what waits for a person, offers that nobody understands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Min, OuterRef, Subquery

from catalog import kept_lists, wording
from catalog.identify import identify
from catalog.models import KeptBack, Offer, Price, Refresh, RefreshQuerySet, RefreshStatus
from catalog.presenters import money
from catalog.runs import is_alive
from catalog.schedule import NIGHT_HOUR_UTC, Nightly
from catalog.services import is_set_up
from catalog.sheets import number
from catalog.sources import Source

KEPT_BACK_SHOWN = 200


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
