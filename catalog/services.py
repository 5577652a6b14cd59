"""The only writers of prices: a refresh of one source, and a person's decision about a held run."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import httpx2
import structlog
from django.conf import settings
from django.db import transaction

from accounts.models import User
from catalog import runs
from catalog.judging import Judgement, Key, Reading, judge, read_pages
from catalog.models import (
    CatalogVersion,
    KeptBack,
    Offer,
    Price,
    Refresh,
    RefreshDecision,
    RefreshStatus,
    offer_key,
)
from catalog.recording import OFFER_FIELDS, Observation, record, rounded
from catalog.seed_loading import SeedReport, load_seeds
from catalog.sources import SOURCES, Source
from catalog.sources.fetching import Limits, open_client
from catalog.sources.quotes import Quote, SourceFailure

__all__ = [
    "SeedReport",
    "UnknownSource",
    "decide",
    "load_seeds",
    "refresh",
    "refresh_is_running",
    "take_kept_back",
]

log = structlog.get_logger(__name__)

SEED_COVER_MINIMUM = 0.90
"""A run that lists this share of the shipped offers is complete enough to tell which of them are gone."""


class UnknownSource(Exception):
    """There is no source of that name."""


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
    run, is_ours = runs.open_run(name, at, asked_by, asked_at)
    if not is_ours:
        return run
    started = time.monotonic()

    def now() -> datetime:
        return at + timedelta(seconds=time.monotonic() - started)

    own_client = client or open_client(limits)
    try:
        _fetch(source, run, own_client, limits, now)
        reading = read_pages(source, runs.kept_pages(run), run.started_at.date())
        _judge_and_swap(source, run, reading, now)
    except SourceFailure as failure:
        runs.close(run, RefreshStatus.FAILED, now(), failure.code, failure.detail)
    except runs.LostLease:
        log.warning("refresh_lost_lease", source=name, refresh=run.pk)
    except BaseException as error:
        runs.close(run, RefreshStatus.FAILED, now(), "internal_error", type(error).__name__)
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
    return any(
        runs.is_alive(run, at) for run in Refresh.objects.filter(source=name, status=RefreshStatus.RUNNING)
    )


def decide(run: Refresh, action: str, user: User, at: datetime) -> Refresh:
    """Confirm or drop a held run, with an audit row. Confirming reads its kept pages again."""
    with transaction.atomic():
        held = Refresh.objects.select_for_update().get(pk=run.pk)
        if held.status != RefreshStatus.HELD:
            raise SourceFailure("not_held")
        RefreshDecision.objects.create(refresh=held, action=action, user=user, decided_at=at)
        if action == "drop":
            held.status = RefreshStatus.DROPPED
            held.save(update_fields=["status"])
            return held
        if Refresh.objects.good().filter(source=held.source, started_at__gt=held.started_at).exists():
            raise SourceFailure("newer_run_exists")
        source = _source(held.source)
        reading = read_pages(source, runs.kept_pages(held), held.started_at.date())
        if not reading.quotes:
            raise SourceFailure("pages_forgotten")
        _swap(source, held, reading, kept_back=frozenset(), at=at)
        return held


def _source(name: str) -> Source:
    try:
        return SOURCES[name]
    except KeyError:
        raise UnknownSource(name) from None


def _fetch(source: Source, run: Refresh, client: httpx2.Client, limits: Limits, now: runs.Clock) -> None:
    base_url = settings.SOURCE_BASE_URLS.get(source.name) or source.default_base_url
    credentials = getattr(settings, "SOURCE_CREDENTIALS", {}).get(source.name, {})
    for page in source.fetch(client, base_url, credentials, limits):
        runs.keep_page(run, page, now())


def _judge_and_swap(source: Source, run: Refresh, reading: Reading, now: runs.Clock) -> None:
    last_good = (
        Refresh.objects.good().filter(source=source.name).values_list("quote_count", flat=True).first()
    )
    judgement = judge(reading, _in_force(source), last_good)
    with transaction.atomic():
        row = runs.locked(run)
        if judgement.reason:
            _note(row, reading, RefreshStatus.HELD, now(), judgement)
        else:
            _swap(source, row, reading, kept_back=judgement.kept_back, at=now())
    runs.forget_pages(source.name)


def _in_force(source: Source) -> dict[Key, Price]:
    here = (
        Offer.objects.filter(provider=source.provider)
        .with_accelerator()
        .current()
        .select_related("current_price")
    )
    return {
        (offer.sku, offer.region, offer.tier, offer.tier_detail): offer.current_price
        for offer in here
        if offer.current_price is not None
    }


def _swap(source: Source, run: Refresh, reading: Reading, *, kept_back: frozenset[Key], at: datetime) -> None:
    """Append what changed, say what is gone, close the run: all of it or nothing. Inside a transaction."""
    taken = [quote for key, quote in reading.quotes.items() if key not in kept_back]
    observations = [_observation(source, quote, run) for quote in taken]
    done = record([one for one in observations if one.amount > 0], at, run)
    reading.refused["moved_too_far"] += len(kept_back)
    still_listed = [offer_key(source.provider, *key) for key in kept_back | reading.contradictory]
    Offer.objects.filter(key__in=still_listed).update(confirmed_by=run)
    _keep_back(source, run, [reading.quotes[key] for key in kept_back])
    run.added_count = done.offers_added
    run.changed_count = done.prices_changed
    run.gone_count = _mark_gone(source, run, at)
    _note(run, reading, RefreshStatus.SUCCEEDED, at, Judgement())
    if done.anything or run.gone_count:
        CatalogVersion.bump(at)


def _keep_back(source: Source, run: Refresh, quotes: list[Quote]) -> None:
    """Remember prices that wait for a person; those of earlier runs that nobody decided on are forgotten."""
    KeptBack.objects.open().filter(refresh__source=source.name).delete()
    keys = {offer_key(source.provider, *quote.key): quote for quote in quotes}
    KeptBack.objects.bulk_create(
        KeptBack(
            offer=offer,
            refresh=run,
            amount=rounded(keys[offer.key].amount),
            currency=keys[offer.key].currency,
            unit=keys[offer.key].unit,
            effective_from=keys[offer.key].effective_from,
            observed_on=run.started_at.date(),
        )
        for offer in Offer.objects.filter(key__in=list(keys))
    )


def take_kept_back(held: KeptBack, user: User, at: datetime) -> None:
    """Let a price that moved too far be the current one, because a person says that it is right."""
    with transaction.atomic():
        held = KeptBack.objects.select_for_update().get(pk=held.pk)
        if held.decided_at is not None:
            raise SourceFailure("price_decided")
        record([_observation_of(held)], at, held.refresh)
        held.user, held.decided_at = user, at
        held.save(update_fields=["user", "decided_at"])
        CatalogVersion.bump(at)


def _observation_of(held: KeptBack) -> Observation:
    offer = held.offer
    return Observation(
        provider=offer.provider_id,
        sku=offer.sku,
        region=offer.region,
        tier=offer.tier,
        tier_detail=offer.tier_detail,
        accelerator=offer.accelerator_id,
        **{name: getattr(offer, name) for name in OFFER_FIELDS},
        amount=held.amount,
        currency=held.currency,
        unit=held.unit,
        observed_on=held.observed_on,
        effective_from=held.effective_from,
        source=_source(held.refresh.source).title,
    )


def _mark_gone(source: Source, run: Refresh, at: datetime) -> int:
    """Offers that earlier runs listed and this one does not; shipped ones too if it covers most of them."""
    here = Offer.objects.filter(provider=source.provider, gone_since__isnull=True).with_accelerator()
    gone = here.filter(confirmed_by__source=source.name).exclude(confirmed_by=run).update(gone_since=at)
    shipped = here.filter(confirmed_by__isnull=True).count()
    covered = here.filter(confirmed_by=run, prices__refresh__isnull=True).distinct().count()
    if shipped and covered >= SEED_COVER_MINIMUM * (shipped + covered):
        gone += here.filter(confirmed_by__isnull=True).update(gone_since=at)
    return gone


def _note(run: Refresh, reading: Reading, status: RefreshStatus, at: datetime, judgement: Judgement) -> None:
    run.status = status
    run.finished_at = at
    run.reason, run.reason_detail = judgement.reason, judgement.detail
    run.item_count = reading.item_count
    run.quote_count = reading.listed_count
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
