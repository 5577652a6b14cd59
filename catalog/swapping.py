"""A run that was believed becomes the prices in force: appended, the unlisted told as gone, all of it or nothing."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from catalog import term_prices
from catalog.commitments import term_months
from catalog.judging import InForce, Judgement, Key, Reading
from catalog.models import (
    WITHOUT_ACCELERATOR,
    CatalogVersion,
    ExchangeRate,
    KeptBack,
    Offer,
    OfferQuerySet,
    Refresh,
    RefreshStatus,
)
from catalog.recording import Observation, Recorded, record, rounded, write_dollars
from catalog.sources import Source
from catalog.sources.quotes import Quote

SEED_COVER_MINIMUM = 0.90
"""A run that lists this share of the shipped offers is complete enough to tell which of them are gone."""
PART = 4000
"""Offers that are looked at together; a long list would fill the memory otherwise."""
KEYS_OF_A_QUERY = 500


def in_force(source: Source) -> dict[Key, InForce]:
    """The current price of every offer of the source's providers."""
    here = Offer.objects.filter(provider__in=source.all_providers).current()
    columns = here.values_list(
        "key", "current_price__amount", "current_price__currency", "current_price__unit"
    )
    return {
        key: InForce(amount, currency, unit)
        for key, amount, currency, unit in columns.iterator(chunk_size=5000)
    }


def swap(source: Source, run: Refresh, reading: Reading, *, kept_back: frozenset[Key], at: datetime) -> None:
    """Append what changed, say what is gone, close the run. Inside a transaction."""
    done = Recorded()
    taken = [key for key in reading.quotes if key not in kept_back]
    for start in range(0, len(taken), PART):
        part = [
            _observation(source, reading.quotes[key], run)
            for key in taken[start : start + PART]
            if rounded(reading.quotes[key].amount) > 0
        ]
        done.add(record(part, at, run))
    reading.refused["moved_too_far"] += len(kept_back)
    still_listed = sorted(kept_back | reading.contradictory)
    for start in range(0, len(still_listed), KEYS_OF_A_QUERY):
        keys = still_listed[start : start + KEYS_OF_A_QUERY]
        Offer.objects.filter(key__in=keys).update(confirmed_by=run)
    _keep_back(source, run, {key: reading.quotes[key] for key in kept_back})
    run.added_count = done.offers_added
    run.changed_count = done.prices_changed + _take_rates(source, reading, at)
    run.changed_count += term_prices.take(reading.terms, run, source.title, at)
    run.gone_count = 0 if not reading.quotes else _mark_gone(source, run, reading, at)
    note(run, reading, RefreshStatus.SUCCEEDED, at, Judgement())
    if done.anything or run.gone_count or run.changed_count or reading.terms.count:
        CatalogVersion.bump(at)


def note(run: Refresh, reading: Reading, status: RefreshStatus, at: datetime, judgement: Judgement) -> None:
    run.status = status
    run.finished_at = at
    run.reason, run.reason_detail = judgement.reason, judgement.detail
    run.item_count = reading.item_count
    run.quote_count = reading.listed_count
    run.refused = {code: count for code, count in sorted(reading.refused.items()) if count}
    run.save()


def _take_rates(source: Source, reading: Reading, at: datetime) -> int:
    """Exchange rates that are new; lists sorted by dollars follow them."""
    known = {
        (rate.on, rate.currency): rate.per_usd
        for rate in ExchangeRate.objects.filter(on__in={rate.on for rate in reading.rates.values()})
    }
    new = [rate for rate in reading.rates.values() if known.get((rate.on, rate.currency)) != rate.per_usd]
    for rate in new:
        ExchangeRate.objects.update_or_create(
            on=rate.on,
            currency=rate.currency,
            defaults={"per_usd": rate.per_usd, "source": source.title},
        )
    if new:
        foreign = Offer.objects.current().exclude(current_price__currency="USD")
        write_dollars(foreign, ExchangeRate.latest(at.date()))
    return len(new)


def _keep_back(source: Source, run: Refresh, quotes: dict[Key, Quote]) -> None:
    """Remember prices that wait for a person; those of earlier runs that nobody decided on are forgotten."""
    KeptBack.objects.open().filter(refresh__source=source.name).delete()
    KeptBack.objects.bulk_create(
        KeptBack(
            offer=offer,
            refresh=run,
            amount=rounded(quotes[offer.key].amount),
            currency=quotes[offer.key].currency,
            unit=quotes[offer.key].unit,
            upfront=quotes[offer.key].upfront,
            recurring=quotes[offer.key].recurring,
            term_months=_term(quotes[offer.key]),
            effective_from=quotes[offer.key].effective_from,
            observed_on=run.started_at.date(),
        )
        for offer in Offer.objects.filter(key__in=list(quotes))
    )


def _mark_gone(source: Source, run: Refresh, reading: Reading, at: datetime) -> int:
    """Offers that earlier runs listed and this one does not; shipped ones where it covers most of them.

    Machines with and without GPUs are two lists. A source that is read region by region says nothing of the others.
    """
    here = Offer.objects.filter(provider__in=source.all_providers, gone_since__isnull=True)
    if source.by_region:
        here = here.filter(region__in=sorted({quote.region for quote in reading.quotes.values()}))
    gone = here.filter(confirmed_by__source=source.name).exclude(confirmed_by=run).update(gone_since=at)
    for part in (here.with_accelerator(), here.filter(not_comparable__in=WITHOUT_ACCELERATOR)):
        gone += _shipped_gone(part, run, at)
    if source.own_names:
        gone += _shipped_under_other_names(source, run, at)
    return gone


def _shipped_gone(part: OfferQuerySet, run: Refresh, at: datetime) -> int:
    shipped = part.filter(confirmed_by__isnull=True).count()
    covered = part.filter(confirmed_by=run, prices__refresh__isnull=True).distinct().count()
    if not shipped or covered < SEED_COVER_MINIMUM * (shipped + covered):
        return 0
    return part.filter(confirmed_by__isnull=True).update(gone_since=at)


def _shipped_under_other_names(source: Source, run: Refresh, at: datetime) -> int:
    """Shipped offers of cards, counts and tiers that the provider's own list now names in its own way."""
    listed = Offer.objects.filter(confirmed_by=run, accelerator__isnull=False).values_list(
        "provider_id", "accelerator_id", "gpu_count", "tier"
    )
    gone = 0
    for provider, card, count, tier in sorted(set(listed), key=str):
        same = Q(provider=provider, accelerator=card, gpu_count=count, tier=tier)
        shipped = Offer.objects.filter(same, confirmed_by__isnull=True, gone_since__isnull=True)
        gone += shipped.update(gone_since=at)
    return gone


def _term(quote: Quote) -> int | None:
    """Months that a commitment binds: as its source says, or as the code of its terms does."""
    return quote.term_months or (term_months(quote.tier_detail) if quote.tier == "reserved" else None)


def _observation(source: Source, quote: Quote, run: Refresh) -> Observation:
    return Observation(
        provider=quote.provider or source.provider,
        sku=quote.sku,
        region=quote.region,
        tier=quote.tier,
        tier_detail=quote.tier_detail,
        accelerator=quote.accelerator,
        accelerator_as_written=quote.as_written,
        gpu_count=quote.gpu_count,
        gpu_fraction=quote.gpu_fraction,
        gpu_memory_gib=quote.gpu_memory_gib,
        vcpu=quote.vcpu,
        ram_gib=quote.ram_gib,
        sold_per_gpu=quote.sold_per_gpu,
        fabric=quote.fabric,
        spec_source=quote.spec_source,
        not_comparable=quote.not_comparable,
        not_comparable_detail=quote.not_comparable_detail,
        note=quote.note[:200],
        availability=quote.availability,
        amount=rounded(quote.amount),
        currency=quote.currency,
        unit=quote.unit,
        upfront=None if quote.upfront is None else rounded(quote.upfront),
        recurring=None if quote.recurring is None else rounded(quote.recurring),
        term_months=_term(quote),
        observed_on=run.started_at.date(),
        effective_from=quote.effective_from,
        estimated=quote.estimated,
        floor=quote.floor,
        source=source.title,
    )
