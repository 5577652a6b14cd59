"""Prices over time: of one offer, of an accelerator's market, and of everything as it stood on a day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from statistics import median

from django.db.models import Case, DecimalField, Exists, F, OuterRef, Q, Subquery, Value, When

from catalog.models import (
    STALE_DAYS,
    ExchangeRate,
    MarketDay,
    Offer,
    OfferQuerySet,
    Price,
    PriceUnit,
    Tier,
)

DAYS_SHOWN_MAXIMUM = 400


@dataclass(frozen=True)
class Step:
    """A price with the days from which and to which it was seen."""

    begins: date
    ends: date
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class MarketPoint:
    """What one GPU of a kind cost an hour on demand on a day: the cheapest of each provider, over the providers."""

    on: date
    low: Decimal
    median: Decimal
    high: Decimal
    listed: int
    """Providers; of a reported day the offers that were listed."""
    source: str = ""
    available: int | None = None


def steps_of(offer: Offer) -> list[Step]:
    """The prices of one offer, each until the next or until it was last seen. The newest currency alone is drawn."""
    seen = [
        price
        for price in offer.prices.order_by("observed_on", "pk")
        if offer.current_price is not None
        and (price.currency, price.unit) == (offer.current_price.currency, offer.current_price.unit)
    ]
    steps: list[Step] = []
    for place, price in enumerate(seen):
        following = seen[place + 1].observed_on if place + 1 < len(seen) else offer.confirmed_on
        steps.append(
            Step(
                price.observed_on,
                max(price.observed_on, following or price.observed_on),
                price.amount,
                price.currency,
            )
        )
    return steps


def market_of(accelerator: str, on: date) -> list[MarketPoint]:
    """Median and range on every day on which some price was seen, and the days that a source reported itself.

    Of each comparable on-demand offer the newest price counts that is at most 180 days old, and of each provider its
    cheapest offer: one with sixty regions is not sixty markets. A price in another currency counts by the rate of its
    day. Floors of marketplaces and estimates are left out.
    """
    reported = {
        day.on: MarketPoint(
            day.on, day.low, day.median, day.high, day.listed_count or 0, day.source, day.available_count
        )
        for day in MarketDay.objects.filter(accelerator=accelerator, on__lte=on)
    }
    points = {point.on: point for point in _worked_out(accelerator, on)} | reported
    return [points[day] for day in sorted(points)][-DAYS_SHOWN_MAXIMUM:]


def _worked_out(accelerator: str, on: date) -> list[MarketPoint]:
    columns = (
        "offer_id",
        "offer__provider_id",
        "offer__gone_since",
        "observed_on",
        "amount",
        "currency",
        "offer__gpu_count",
    )
    rows = (
        Price.objects.filter(
            offer__accelerator=accelerator, offer__not_comparable="", offer__tier=Tier.ON_DEMAND,
            offer__gpu_fraction=1, unit=PriceUnit.HOUR, floor=False, estimated=False, observed_on__lte=on,
        )
        .order_by("observed_on", "pk")
        .values_list(*columns)
    )  # fmt: skip
    rates = _Rates(on)
    latest: dict[int, tuple[str, date, date | None, Decimal]] = {}
    points: list[MarketPoint] = []
    seen = list(rows)
    for place, (offer, provider, gone, day, amount, currency, count) in enumerate(seen):
        each = rates.dollars(amount / count, currency, day)
        if each is not None:
            latest[offer] = (provider, day, None if gone is None else gone.date(), each)
        if place + 1 < len(seen) and seen[place + 1][3] == day:
            continue
        oldest = day - timedelta(days=STALE_DAYS)
        cheapest: dict[str, Decimal] = {}
        for whose, since, until, price in latest.values():
            if since >= oldest and (until is None or until > day):
                cheapest[whose] = min(price, cheapest.get(whose, price))
        now = list(cheapest.values())
        if now:
            points.append(MarketPoint(day, min(now), median(now), max(now), len(now)))
    return points


class _Rates:
    """Units for a dollar by currency, as known on a day: one query."""

    def __init__(self, on: date) -> None:
        self.known: dict[str, list[tuple[date, Decimal]]] = {}
        for rate in ExchangeRate.objects.filter(on__lte=on).order_by("on"):
            self.known.setdefault(rate.currency, []).append((rate.on, rate.per_usd))

    def dollars(self, amount: Decimal, currency: str, on: date) -> Decimal | None:
        if currency == "USD":
            return amount
        found = [rate for day, rate in self.known.get(currency, []) if day <= on]
        rate = found[-1] if found else next((rate for _day, rate in self.known.get(currency, [])), None)
        return None if rate is None else amount / rate


def as_of(offers: OfferQuerySet, on: date) -> OfferQuerySet:
    """Offers with the price that was seen last by the end of a day, as ``price_id_on`` and ``usd_on``.

    Left out are those not seen yet and those whose source had stopped to list them.
    """
    digits = DecimalField(max_digits=20, decimal_places=6)
    latest = Price.objects.filter(offer=OuterRef("pk"), observed_on__lte=on).order_by(
        F("observed_on").desc(), F("pk").desc()
    )
    hourly = [When(currency="USD", then=F("amount"))]
    hourly += [
        When(currency=currency, then=F("amount") / Value(rate.per_usd, digits))
        for currency, rate in ExchangeRate.latest(on).items()
        if currency != "USD"
    ]
    dollars = latest.filter(unit=PriceUnit.HOUR).annotate(
        dollars=Case(*hourly, default=None, output_field=digits)
    )
    alive = Q(gone_since__isnull=True) | Q(gone_since__date__gt=on)
    # Whether there is any price is asked by itself: a database works a subquery out wherever its name stands.
    return offers.filter(alive, Exists(latest.order_by())).annotate(
        price_id_on=Subquery(latest.values("pk")[:1]), usd_on=Subquery(dollars.values("dollars")[:1])
    )


def put_back(offers: list[Offer]) -> list[Offer]:
    """Offers of ``as_of`` with their price of that day in the place of today's; for showing, never for saving."""
    prices = Price.objects.in_bulk([offer.price_id_on for offer in offers])  # type: ignore[attr-defined]
    for offer in offers:
        price = prices[offer.price_id_on]  # type: ignore[attr-defined]
        offer.current_price = price
        offer.confirmed_on = price.observed_on
        offer.usd_per_hour = offer.usd_on  # type: ignore[attr-defined]
    return offers
