"""The only writers of prices: a refresh of one source, and a person's decision about a held run."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import httpx2
import structlog
from django.conf import settings
from django.db import transaction

from accounts.models import User
from catalog import runs, term_prices
from catalog.judging import Judgement, Reading, judge, read_pages
from catalog.models import CatalogVersion, ExchangeRate, KeptBack, Refresh, RefreshDecision, RefreshStatus
from catalog.recording import OFFER_FIELDS, Observation, record
from catalog.seed_loading import SeedReport, load_seeds
from catalog.sources import SOURCES, Source
from catalog.sources.fetching import Limits, open_client
from catalog.sources.quotes import SourceFailure
from catalog.swapping import in_force, note, swap

__all__ = [
    "SeedReport",
    "UnknownSource",
    "decide",
    "is_set_up",
    "load_seeds",
    "refresh",
    "refresh_is_running",
    "take_kept_back",
]

log = structlog.get_logger(__name__)


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
        CatalogVersion.hold()
        if Refresh.objects.good().filter(source=held.source, started_at__gt=held.started_at).exists():
            raise SourceFailure("newer_run_exists")
        source = _source(held.source)
        reading = read_pages(source, runs.kept_pages(held), held.started_at.date())
        if not reading.listed_count:
            raise SourceFailure("pages_forgotten")
        swap(source, held, reading, kept_back=frozenset(), at=at)
        return held


def is_set_up(name: str) -> bool:
    """Whether an operator gave what the source asks for."""
    credentials = getattr(settings, "SOURCE_CREDENTIALS", {}).get(name, {})
    return all(credentials.get(what) for what in _source(name).needs)


def _source(name: str) -> Source:
    try:
        return SOURCES[name]
    except KeyError:
        raise UnknownSource(name) from None


def _fetch(source: Source, run: Refresh, client: httpx2.Client, limits: Limits, now: runs.Clock) -> None:
    if not is_set_up(source.name):
        raise SourceFailure("not_set_up", ", ".join(source.needs))
    addresses = settings.SOURCE_BASE_URLS
    base_url = addresses.get(source.name) or addresses.get(source.address_of) or source.default_base_url
    given = getattr(settings, "SOURCE_CREDENTIALS", {})
    credentials = given.get(source.name) or given.get(source.address_of) or {}
    for page in source.fetch(client, base_url, credentials, limits):
        runs.keep_page(run, page, now())


def _judge_and_swap(source: Source, run: Refresh, reading: Reading, now: runs.Clock) -> None:
    version = CatalogVersion.current()
    judgement = _judge(source, run, reading)
    with transaction.atomic():
        row = runs.locked(run)
        if CatalogVersion.hold() != version:
            judgement = _judge(source, run, reading)  # by the prices that somebody wrote meanwhile
        if judgement.reason:
            note(row, reading, RefreshStatus.HELD, now(), judgement)
        else:
            reading.terms = reading.terms.without(judgement.terms_kept_back)
            reading.refused["moved_too_far"] += len(judgement.terms_kept_back)
            swap(source, row, reading, kept_back=judgement.kept_back, at=now())
    runs.forget_pages(source.name)


def _judge(source: Source, run: Refresh, reading: Reading) -> Judgement:
    last_good = (
        Refresh.objects.good().filter(source=source.name).values_list("quote_count", flat=True).first()
    )
    rates = {currency: rate.per_usd for currency, rate in ExchangeRate.latest(run.started_at.date()).items()}
    return judge(
        source, reading, in_force(source), last_good, rates, term_prices.known_amounts(reading.terms)
    )


def take_kept_back(held: KeptBack, user: User, at: datetime) -> None:
    """Let a price that moved too far be the current one, because a person says that it is right."""
    with transaction.atomic():
        CatalogVersion.hold()  # so does a run that arrives and forgets what was kept back
        still = KeptBack.objects.open().filter(pk=held.pk).first()
        if still is None:
            raise SourceFailure("price_decided")
        held = still
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
        **{name: getattr(offer, name) for name in OFFER_FIELDS if name != "availability_on"},
        amount=held.amount,
        currency=held.currency,
        unit=held.unit,
        upfront=held.upfront,
        recurring=held.recurring,
        term_months=held.term_months,
        observed_on=held.observed_on,
        effective_from=held.effective_from,
        source=_source(held.refresh.source).title,
    )
