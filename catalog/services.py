"""The only writers of prices: a refresh of one source, and a person's decision about a held run."""

from __future__ import annotations

import gzip
import os
import socket
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import httpx2
import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.models import User
from catalog.models import (
    CatalogVersion,
    Offer,
    Refresh,
    RefreshDecision,
    RefreshPage,
    RefreshStatus,
    offer_key,
)
from catalog.recording import Observation, record, rounded
from catalog.seed_loading import SeedReport, load_seeds
from catalog.sources import SOURCES, Source
from catalog.sources.fetching import Limits, open_client
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure

__all__ = ["SeedReport", "UnknownSource", "decide", "load_seeds", "refresh", "refresh_is_running"]

log = structlog.get_logger(__name__)

LEASE = timedelta(seconds=120)
"""A run that shows no sign of life for this long has died."""
RUNS_WITH_PAGES = 3
"""Pages are kept of this many good and this many other runs of a source."""

FALL_MAXIMUM = 0.10
"""A run with fewer prices than this share below the last good one is held."""
MOVE_MAXIMUM = {"spot": Decimal(5)}
MOVE_MAXIMUM_ELSE = Decimal(2)
"""A price that moved by more than this factor is kept back; many of them hold the run."""
ODD_SHARE_MAXIMUM = 0.01
SEED_COVER_MINIMUM = 0.90
"""A run that lists this share of the shipped offers is complete enough to tell which of them are gone."""


class UnknownSource(Exception):
    """There is no source of that name."""


class LostLease(Exception):
    """Another process took this run for dead and closed it; it must not write any more."""


@dataclass
class Reading:
    """What the pages of a run say."""

    quotes: dict[tuple[str, str, str, str], Quote] = field(default_factory=dict)
    contradictory: set[tuple[str, str, str, str]] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)
    item_count: int = 0
    broken_count: int = 0


def refresh(
    name: str,
    at: datetime,
    *,
    asked_by: User | None = None,
    asked_at: datetime | None = None,
    client: httpx2.Client | None = None,
    limits: Limits | None = None,
) -> Refresh:
    """Bring one source up to date and return its run, whatever came of it.

    One run at a time: while another is alive, or when one began after ``asked_at`` and has ended, that one is
    returned and nothing is fetched.
    """
    source = _source(name)
    limits = limits or Limits(**getattr(settings, "REFRESH_LIMITS", {}))
    started = time.monotonic()

    def now() -> datetime:
        return at + timedelta(seconds=time.monotonic() - started)

    run, ours = _open(source, at, asked_by, asked_at)
    if not ours:
        return run
    own_client = client or open_client(limits)
    try:
        _keep_pages(source, run, own_client, limits, now)
        reading = read_pages(source, _stored(run), run.started_at)
        _judge_and_swap(source, run, reading, now)
    except SourceFailure as failure:
        _close(run, RefreshStatus.FAILED, now(), failure.code, failure.detail)
    except LostLease:
        log.warning("refresh_lost_lease", source=name, refresh=run.pk)
    except BaseException as error:
        _close(run, RefreshStatus.FAILED, now(), "internal_error", type(error).__name__)
        log.exception("refresh_failed", source=name)
        if not isinstance(error, Exception):
            raise
    finally:
        if client is None:
            own_client.close()
    run.refresh_from_db()
    log.info("refresh_ended", source=name, status=run.status, reason=run.reason, quotes=run.quote_count)
    return run


def refresh_is_running(name: str, at: datetime) -> bool:
    return any(_alive(run, at) for run in Refresh.objects.filter(source=name, status=RefreshStatus.RUNNING))


def decide(run: Refresh, action: str, user: User, at: datetime) -> Refresh:
    """Confirm or drop a held run, with an audit row. Confirming reads its kept pages again."""
    with transaction.atomic():
        held = Refresh.objects.select_for_update().get(pk=run.pk)
        if held.status != RefreshStatus.HELD:
            raise SourceFailure("not_held")
        newer = Refresh.objects.good().filter(source=held.source, started_at__gt=held.started_at).exists()
        if action == "confirm" and newer:
            raise SourceFailure("newer_run_exists")
        RefreshDecision.objects.create(refresh=held, action=action, user=user, decided_at=at)
        if action == "drop":
            held.status = RefreshStatus.DROPPED
            held.save(update_fields=["status"])
            return held
        source = _source(held.source)
        reading = read_pages(source, _stored(held), held.started_at)
        _swap(source, held, reading, kept_back=set(), at=at)
        return held


# --- Opening and closing a run -----------------------------------------------------------------------------


def _source(name: str) -> Source:
    try:
        return SOURCES[name]
    except KeyError:
        raise UnknownSource(name) from None


def _open(source: Source, at: datetime, asked_by: User | None, asked_at: datetime | None) -> tuple[Refresh, bool]:
    """A row for this run, or the run that already does what is asked."""
    for running in Refresh.objects.filter(source=source.name, status=RefreshStatus.RUNNING):
        if _alive(running, at):
            return running, False
        _close(running, RefreshStatus.FAILED, at, "worker_died", "")
    try:
        with transaction.atomic():
            if asked_at is not None:
                done = Refresh.objects.filter(source=source.name, started_at__gte=asked_at, finished_at__isnull=False)
                if (latest := done.first()) is not None:
                    return latest, False
            run = Refresh.objects.create(
                source=source.name, started_at=at, lease_until=at + LEASE, worker=_worker(), asked_by=asked_by
            )
            return run, True
    except IntegrityError:
        other = Refresh.objects.filter(source=source.name).first()
        if other is None:
            raise
        return other, False


def _worker() -> str:
    return f"{socket.gethostname()[:60]} {os.getpid()} {_process_start(os.getpid())}"


def _process_start(pid: int) -> str:
    """When a process began, in ticks since boot (Linux); empty where that cannot be read."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _alive(run: Refresh, at: datetime) -> bool:
    """Whether whoever runs it still does: its process on this host, else its lease."""
    host, _, rest = run.worker.partition(" ")
    pid, _, began = rest.partition(" ")
    if host == socket.gethostname()[:60] and pid.isdigit() and began:
        return _process_start(int(pid)) == began and run.lease_until > at
    return run.lease_until > at


def _close(run: Refresh, status: RefreshStatus, at: datetime, reason: str, detail: str) -> None:
    """End a run that is still open; one that someone else closed stays as it was closed."""
    Refresh.objects.filter(pk=run.pk, status=RefreshStatus.RUNNING).update(
        status=status, finished_at=at, reason=reason, reason_detail=detail[:300]
    )
    _forget_pages(run.source)


def _forget_pages(name: str) -> None:
    good = Q(status=RefreshStatus.SUCCEEDED)
    kept: list[int] = []
    for which in (good, ~good):
        kept += Refresh.objects.filter(which, source=name).values_list("pk", flat=True)[:RUNS_WITH_PAGES]
    RefreshPage.objects.filter(refresh__source=name).exclude(refresh__in=kept).delete()


# --- Pages -------------------------------------------------------------------------------------------------


def _keep_pages(source: Source, run: Refresh, client: httpx2.Client, limits: Limits, now) -> None:
    base_url = settings.SOURCE_BASE_URLS.get(source.name) or source.default_base_url
    credentials = getattr(settings, "SOURCE_CREDENTIALS", {}).get(source.name, {})
    for page in source.fetch(client, base_url, credentials, limits):
        with transaction.atomic():
            alive = Refresh.objects.filter(pk=run.pk, status=RefreshStatus.RUNNING).update(
                page_count=page.number, lease_until=now() + LEASE
            )
            if not alive:
                raise LostLease
            RefreshPage.objects.create(
                refresh=run,
                number=page.number,
                url=page.url[:2000],
                body_gzip=gzip.compress(page.body, compresslevel=6, mtime=0),
                size_bytes=len(page.body),
                fetched_at=now(),
            )


def _stored(run: Refresh) -> Iterable[Page]:
    for page in run.pages.order_by("number").iterator(chunk_size=4):
        yield Page(number=page.number, url=page.url, body=gzip.decompress(bytes(page.body_gzip)))


def read_pages(source: Source, pages: Iterable[Page], at: datetime) -> Reading:
    """Collect quotes by machine; where two prices claim to hold today, neither does."""
    reading = Reading()
    for one in source.parse(pages, at.date()):
        reading.item_count += 1
        if isinstance(one, Refused):
            reading.refused[one.reason] += 1
            reading.broken_count += one.broken
            continue
        other = reading.quotes.get(one.key)
        if other is None or _begins(other) < _begins(one):
            reading.quotes[one.key] = one
            reading.contradictory.discard(one.key)
        elif other.amount != one.amount and _begins(other) == _begins(one):
            reading.contradictory.add(one.key)
    for key in reading.contradictory:
        del reading.quotes[key]
    reading.refused["contradictory"] += len(reading.contradictory)
    return reading


def _begins(quote: Quote) -> str:
    return quote.effective_from.isoformat() if quote.effective_from else ""


# --- Plausibility and the swap -----------------------------------------------------------------------------


def _judge_and_swap(source: Source, run: Refresh, reading: Reading, now) -> None:
    listed = len(reading.quotes) + len(reading.contradictory)
    if not reading.quotes:
        raise SourceFailure("no_prices", f"{reading.item_count} rows read")
    if reading.broken_count > ODD_SHARE_MAXIMUM * (listed + reading.broken_count):
        raise SourceFailure("broken_rows", f"{reading.broken_count} of {listed + reading.broken_count}")
    held: list[str] = []
    last = Refresh.objects.good().filter(source=source.name).exclude(pk=run.pk).first()
    if last is not None and listed < (1 - FALL_MAXIMUM) * last.quote_count:
        held = ["fewer_prices", f"{listed} after {last.quote_count}"]
    moved, compared = _moved(source, reading)
    if not held and len(moved) > ODD_SHARE_MAXIMUM * max(compared, 1):
        held = ["prices_moved", f"{len(moved)} of {compared}"]
    if held:
        with transaction.atomic():
            _note_counts(_locked(run), reading, status=RefreshStatus.HELD, at=now(), reason=held)
        _forget_pages(source.name)
        return
    with transaction.atomic():
        _swap(source, _locked(run), reading, kept_back=moved, at=now())
    _forget_pages(source.name)


def _locked(run: Refresh) -> Refresh:
    locked = Refresh.objects.select_for_update().get(pk=run.pk)
    if locked.status != RefreshStatus.RUNNING:
        raise LostLease
    return locked


def _moved(source: Source, reading: Reading) -> tuple[set[tuple[str, str, str, str]], int]:
    """Quotes whose price moved implausibly against the current one, and how many could be compared."""
    current = {
        (offer.sku, offer.region, offer.tier, offer.tier_detail): offer.current_price
        for offer in Offer.objects.filter(provider=source.provider, gone_since__isnull=True).select_related("current_price")
        if offer.current_price is not None
    }
    moved = set()
    compared = 0
    for key, quote in reading.quotes.items():
        price = current.get(key)
        if price is None or (price.currency, price.unit) != (quote.currency, quote.unit):
            continue
        compared += 1
        factor = max(quote.amount / price.amount, price.amount / quote.amount)
        if factor > MOVE_MAXIMUM.get(quote.tier, MOVE_MAXIMUM_ELSE):
            moved.add(key)
    return moved, compared


def _swap(
    source: Source, run: Refresh, reading: Reading, *, kept_back: set[tuple[str, str, str, str]], at: datetime
) -> None:
    """Append what changed, say what is gone, close the run: all of it or nothing. Inside a transaction."""
    observations = [
        _observation(source, quote, run) for key, quote in reading.quotes.items() if key not in kept_back
    ]
    done = record([one for one in observations if one.amount > 0], at, run)
    if kept_back:
        reading.refused["moved_too_far"] += len(kept_back)
    still_listed = kept_back | reading.contradictory
    keys = [offer_key(source.provider, *key) for key in still_listed]
    Offer.objects.filter(key__in=keys).update(confirmed_by=run)
    run.added_count = done.offers_added
    run.changed_count = done.prices_changed
    run.gone_count = _mark_gone(source, run, at)
    _note_counts(run, reading, status=RefreshStatus.SUCCEEDED, at=at, reason=["", ""])
    if done.anything or run.gone_count:
        CatalogVersion.bump(at)


def _mark_gone(source: Source, run: Refresh, at: datetime) -> int:
    """Offers that earlier runs listed and this complete one does not; shipped ones if it covers most of them."""
    here = Offer.objects.filter(provider=source.provider, gone_since__isnull=True)
    gone = here.filter(confirmed_by__source=source.name).exclude(confirmed_by=run).update(gone_since=at)
    shipped = here.filter(confirmed_by__isnull=True).count()
    covered = here.filter(confirmed_by=run, prices__refresh__isnull=True).distinct().count()
    if shipped and covered >= SEED_COVER_MINIMUM * (shipped + covered):
        gone += here.filter(confirmed_by__isnull=True).update(gone_since=at)
    return gone


def _note_counts(run: Refresh, reading: Reading, *, status: RefreshStatus, at: datetime, reason: list[str]) -> None:
    run.status = status
    run.finished_at = at
    run.reason, run.reason_detail = reason
    run.item_count = reading.item_count
    run.quote_count = len(reading.quotes) + len(reading.contradictory)
    run.refused = {code: count for code, count in sorted(reading.refused.items()) if count}
    run.save()


def _observation(source: Source, quote: Quote, run: Refresh) -> Observation:
    return Observation(
        provider=source.provider,
        sku=quote.sku,
        region=quote.region,
        tier=quote.tier,
        tier_detail=quote.tier_detail,
        accelerator=quote.accelerator,
        accelerator_as_written=quote.as_written,
        gpu_count=quote.gpu_count,
        gpu_fraction=quote.gpu_fraction,
        vcpu=quote.vcpu,
        ram_gib=quote.ram_gib,
        fabric=quote.fabric,
        spec_source=quote.spec_source,
        not_comparable=quote.not_comparable,
        amount=rounded(quote.amount),
        currency=quote.currency,
        unit=quote.unit,
        observed_on=run.started_at.date(),
        effective_from=quote.effective_from,
        source=source.title,
    )
