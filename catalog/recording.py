"""The one place where offers and prices are written: observations become offers, and prices are appended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, TypeVar

from django.db.models import Case, DecimalField, F, OuterRef, QuerySet, Subquery, Value, When

from catalog.models import (
    PRICE_DIGITS,
    Accelerator,
    ExchangeRate,
    Offer,
    Price,
    PriceUnit,
    Refresh,
    offer_key,
)

T = TypeVar("T")

CENT = Decimal(1).scaleb(-PRICE_DIGITS["decimal_places"])
CHUNK = 500
"""SQLite allows about 32,000 variables a statement; PostgreSQL likes moderate ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One machine with its price, as a source showed it on a day."""

    provider: str
    sku: str
    amount: Decimal
    currency: str
    observed_on: date
    source: str
    region: str = ""
    tier: str = "on_demand"
    tier_detail: str = ""
    accelerator: str | None = None
    accelerator_as_written: str = ""
    gpu_count: int | None = None
    gpu_fraction: Decimal = Decimal(1)
    gpu_memory_gib: Decimal | None = None
    vcpu: Decimal | None = None
    ram_gib: Decimal | None = None
    sold_per_gpu: bool = False
    fabric: str = ""
    spec_source: str = ""
    not_comparable: str = ""
    not_comparable_detail: str = ""
    note: str = ""
    availability: str = ""
    unit: str = "hour"
    upfront: Decimal | None = None
    recurring: Decimal | None = None
    term_months: int | None = None
    observed_precision: str = "day"
    effective_from: date | None = None
    estimated: bool = False
    floor: bool = False
    source_url: str = ""
    licence: str = ""

    @property
    def key(self) -> str:
        count = self.gpu_count if self.sold_per_gpu else None
        return offer_key(self.provider, self.sku, self.region, self.tier, self.tier_detail, count)

    @property
    def availability_on(self) -> date | None:
        return self.observed_on if self.availability else None

    def offer_fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in OFFER_FIELDS} | {
            "accelerator_id": self.accelerator or None
        }

    def price_key(self) -> tuple[Any, ...]:
        """What makes two readings one price row."""
        return (self.observed_on, self.effective_from, self.amount, self.currency, self.unit, self.source)


OFFER_FIELDS = (
    "accelerator_as_written", "gpu_count", "gpu_fraction", "gpu_memory_gib", "vcpu", "ram_gib",
    "sold_per_gpu",
    "fabric", "spec_source", "not_comparable", "not_comparable_detail", "note",
    "availability", "availability_on",
)  # fmt: skip
"""Facts of the machine that a newer observation may correct."""

FACTS_KEPT = (
    "gpu_memory_gib", "vcpu", "ram_gib", "spec_source", "fabric", "note", "accelerator_as_written", "availability",
    "availability_on",
)  # fmt: skip
"""Facts that an observation without them does not take away."""


@dataclass(slots=True)
class Recorded:
    """What came of a set of observations."""

    offers_added: int = 0
    offers_corrected: int = 0
    prices_added: int = 0
    prices_changed: int = 0
    prices_confirmed: int = 0
    prices_older: int = 0
    touched_ids: set[int] = field(default_factory=set)

    def add(self, other: Recorded) -> None:
        """Count in what came of another part of the same set."""
        for name in (
            "offers_added", "offers_corrected", "prices_added", "prices_changed", "prices_confirmed",
            "prices_older",
        ):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.touched_ids |= other.touched_ids

    @property
    def anything(self) -> bool:
        return bool(self.offers_added or self.offers_corrected or self.prices_added or self.prices_confirmed)


def rounded(amount: Decimal) -> Decimal:
    """To the digits that the database keeps exactly; half to even, which is what sums stay fair under."""
    return amount.quantize(CENT, rounding=ROUND_HALF_EVEN)


def record(observations: Iterable[Observation], at: datetime, refresh: Refresh | None = None) -> Recorded:
    """Append what is new; call it inside a transaction. The same observations again add nothing.

    A price row is added when the price differs from the one that is current, or when an older observation was
    not known yet (history). An unchanged price only moves the day on which it was last seen.
    """
    by_key: dict[str, list[Observation]] = {}
    for observation in observations:
        by_key.setdefault(observation.key, []).append(observation)
    for seen in by_key.values():
        seen.sort(key=lambda one: (one.observed_on, one.effective_from or date.min))
    done = Recorded()
    known = {
        offer.key: offer
        for keys in _chunks(list(by_key))
        for offer in Offer.objects.filter(key__in=keys).select_related("current_price")
    }
    _add_accelerators({seen[-1].accelerator for seen in by_key.values()} - {None, ""})
    new = [_new_offer(key, seen[-1]) for key, seen in by_key.items() if key not in known]
    Offer.objects.bulk_create(new, batch_size=CHUNK)
    done.offers_added = len(new)
    known.update({offer.key: offer for offer in new})
    history = (
        _history({known[key].pk for key in by_key} - {offer.pk for offer in new}) if refresh is None else {}
    )

    additions: list[Price] = []
    newest: set[int] = set()
    corrected: list[Offer] = []
    for key, seen in by_key.items():
        offer = known[key]
        done.touched_ids.add(offer.pk)
        if offer.confirmed_on is not None and _correct(offer, seen[-1]):
            corrected.append(offer)
        additions += _prices_to_add(offer, seen, history.get(offer.pk, set()), at, refresh, done, newest)
    Price.objects.bulk_create(additions, batch_size=CHUNK)
    done.prices_added = len(additions)
    done.offers_corrected = len(corrected)
    point_at_newest(sorted(newest), at)
    Offer.objects.bulk_update(corrected, [*OFFER_FIELDS, "accelerator"], batch_size=100)
    _mark_seen([known[key] for key in by_key], refresh)
    return done


def point_at_newest(offer_ids: Sequence[int], at: datetime) -> None:
    """Let each offer's current price be its newest; older ones stay history."""
    newest = Price.objects.filter(offer=OuterRef("pk")).order_by(F("observed_on").desc(), F("pk").desc())
    for part in _chunks(offer_ids):
        moved = Offer.objects.filter(pk__in=part)
        moved.update(current_price=Subquery(newest.values("pk")[:1]), gone_since=None)
        write_dollars(moved, ExchangeRate.latest(at.date()))


def write_dollars(offers: QuerySet[Offer], rates: Mapping[str, ExchangeRate]) -> None:
    """Write what lists are sorted by: the current price by the hour in dollars; unknown without a rate."""
    digits = DecimalField(max_digits=20, decimal_places=6)
    hourly = [When(currency="USD", then=F("amount"))]
    hourly += [
        When(currency=currency, then=F("amount") / Value(rate.per_usd, digits))
        for currency, rate in rates.items()
        if currency != "USD"
    ]
    price = Price.objects.filter(pk=OuterRef("current_price"), unit=PriceUnit.HOUR).annotate(
        dollars=Case(*hourly, default=None, output_field=digits)
    )
    offers.update(usd_per_hour=Subquery(price.values("dollars")[:1]))


def _mark_seen(offers: list[Offer], refresh: Refresh | None) -> None:
    """Move the day on which unchanged prices were last seen; remember the run that listed them."""
    by_day: dict[date, list[int]] = {}
    for offer in offers:
        if offer.confirmed_on is not None:
            by_day.setdefault(offer.confirmed_on, []).append(offer.pk)
    for day, ids in by_day.items():
        for part in _chunks(ids):
            Offer.objects.filter(pk__in=part).exclude(confirmed_on=day).update(confirmed_on=day)
    if refresh is not None:
        for part in _chunks([offer.pk for offer in offers]):
            Offer.objects.filter(pk__in=part).update(confirmed_by=refresh, gone_since=None)


def _chunks(keys: Sequence[T]) -> Iterable[Sequence[T]]:
    return (keys[start : start + CHUNK] for start in range(0, len(keys), CHUNK))


def _add_accelerators(names: set[str | None]) -> None:
    from_facts = [Accelerator(name=name, vendor="") for name in sorted(filter(None, names))]
    Accelerator.objects.bulk_create(from_facts, ignore_conflicts=True)


def _new_offer(key: str, observation: Observation) -> Offer:
    return Offer(
        key=key,
        provider_id=observation.provider,
        sku=observation.sku,
        region=observation.region,
        tier=observation.tier,
        tier_detail=observation.tier_detail,
        **observation.offer_fields(),
    )


def _history(offer_ids: set[int]) -> dict[int, set[tuple[Any, ...]]]:
    known: dict[int, set[tuple[Any, ...]]] = {}
    columns = ("observed_on", "effective_from", "amount", "currency", "unit", "source")
    for row in Price.objects.values_list("offer_id", *columns).iterator(chunk_size=5000):
        if row[0] in offer_ids:
            known.setdefault(row[0], set()).add(row[1:])
    return known


def _correct(offer: Offer, observation: Observation) -> bool:
    """Take over facts of the machine from an observation that is not older than what is known."""
    if offer.confirmed_on is not None and observation.observed_on < offer.confirmed_on:
        return False
    changed = False
    for name, value in observation.offer_fields().items():
        if name in FACTS_KEPT and value in (None, ""):
            continue
        if getattr(offer, name) != value:
            setattr(offer, name, value)
            changed = True
    return changed


def _prices_to_add(
    offer: Offer,
    seen: list[Observation],
    known: set[tuple[Any, ...]],
    at: datetime,
    refresh: Refresh | None,
    done: Recorded,
    newest: set[int],
) -> list[Price]:
    """What to append for one offer; ``newest`` gets the offer if its current price is among that."""
    added: list[Price] = []
    current = offer.current_price
    for observation in seen:
        if observation.price_key() in known:
            continue
        older = offer.confirmed_on is not None and observation.observed_on < offer.confirmed_on
        if not older and current is not None and _same_price(current, observation):
            if offer.confirmed_on is None or observation.observed_on > offer.confirmed_on:
                offer.confirmed_on = observation.observed_on
                done.prices_confirmed += 1
            continue
        if older and refresh is not None:
            done.prices_older += 1
            continue
        price = _price(offer, observation, at, refresh)
        added.append(price)
        if older:
            done.prices_older += 1
            continue
        if current is not None:
            done.prices_changed += 1
        current = price
        newest.add(offer.pk)
        offer.confirmed_on = observation.observed_on
    return added


def _same_price(price: Price, observation: Observation) -> bool:
    return (
        price.amount, price.currency, price.unit, price.estimated, price.floor, price.upfront or 0,
    ) == (
        observation.amount, observation.currency, observation.unit, observation.estimated, observation.floor,
        observation.upfront or 0,
    )  # fmt: skip


def _price(offer: Offer, observation: Observation, at: datetime, refresh: Refresh | None) -> Price:
    return Price(
        offer=offer,
        amount=observation.amount,
        currency=observation.currency,
        unit=observation.unit,
        upfront=observation.upfront,
        recurring=observation.recurring,
        term_months=observation.term_months,
        observed_on=observation.observed_on,
        observed_precision=observation.observed_precision,
        effective_from=observation.effective_from,
        recorded_at=at,
        estimated=observation.estimated,
        floor=observation.floor,
        source=observation.source,
        source_url=observation.source_url,
        licence=observation.licence,
        refresh=refresh,
    )
