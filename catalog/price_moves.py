"""Which offers' prices moved since a moment, and by how much: what an alert on a plan asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.db.models import F, OuterRef, Subquery

from catalog.models import ExchangeRate, Offer, Price

OFFERS_OF_A_QUERY = 500


@dataclass(frozen=True)
class Seen:
    """A price with its day; for the whole machine and ``unit``."""

    amount: Decimal
    currency: str
    unit: str
    observed_on: date


@dataclass(frozen=True)
class Move:
    """One offer whose price moved, or that its source no longer lists.

    ``change_fraction`` is now ÷ before − 1: +0.25 is a quarter dearer. None where both cannot be compared: the offer is
    gone, is charged by another unit, or a currency has no rate.
    """

    offer_id: int
    before: Seen
    now: Seen | None
    change_fraction: Decimal | None
    gone_since: datetime | None = None


def moved_since(offer_ids: Iterable[int], since: datetime, share: Decimal) -> list[Move]:
    """Offers whose price now differs by at least ``share`` from the one in force at ``since``; and those that are gone.

    The price in force then is the newest that was recorded by that moment. Prices in two currencies are compared by the
    newest rates of the day of each. An offer that was not known then, or was gone already, has not moved. Offers that
    were charged by another unit are told with no fraction. In the order of the numbers; three queries for 500 offers.
    """
    if share < 0:
        raise ValueError("share below zero")
    wanted = sorted(set(offer_ids))
    rates: dict[date, Mapping[str, ExchangeRate]] = {}
    found: list[Move] = []
    for start in range(0, len(wanted), OFFERS_OF_A_QUERY):
        part = wanted[start : start + OFFERS_OF_A_QUERY]
        before = _in_force(part, since)
        for offer in Offer.objects.filter(pk__in=part).select_related("current_price").order_by("pk"):
            then = before.get(offer.pk)
            if then is None or (offer.gone_since is not None and offer.gone_since <= since):
                continue
            if offer.gone_since is not None or offer.current_price is None:
                found.append(Move(offer.pk, _seen(then), None, None, offer.gone_since))
                continue
            move = _move(offer.pk, then, offer.current_price, rates)
            if move.change_fraction is None or (move.change_fraction and abs(move.change_fraction) >= share):
                found.append(move)
    return found


def _in_force(offer_ids: list[int], at: datetime) -> dict[int, Price]:
    latest = (
        Price.objects.filter(offer=OuterRef("pk"), recorded_at__lte=at)
        .order_by(F("observed_on").desc(), F("pk").desc())
        .values("pk")[:1]
    )
    numbers = (
        Offer.objects.filter(pk__in=offer_ids).annotate(then=Subquery(latest)).values_list("then", flat=True)
    )
    return {
        price.offer_id: price for price in Price.objects.filter(pk__in=[n for n in numbers if n is not None])
    }


def _seen(price: Price) -> Seen:
    return Seen(price.amount, price.currency, price.unit, price.observed_on)


def _move(offer_id: int, then: Price, now: Price, rates: dict[date, Mapping[str, ExchangeRate]]) -> Move:
    def moved(fraction: Decimal | None) -> Move:
        return Move(offer_id, _seen(then), _seen(now), fraction)

    if then.pk == now.pk:
        return moved(Decimal(0))
    if then.unit != now.unit:
        return moved(None)
    if then.currency == now.currency:
        return moved(now.amount / then.amount - 1)
    before, after = _dollars(then, rates), _dollars(now, rates)
    return moved(None if before is None or after is None else after / before - 1)


def _dollars(price: Price, rates: dict[date, Mapping[str, ExchangeRate]]) -> Decimal | None:
    if price.currency == "USD":
        return price.amount
    if price.observed_on not in rates:
        rates[price.observed_on] = ExchangeRate.latest(price.observed_on)
    rate = rates[price.observed_on].get(price.currency)
    return None if rate is None else price.amount / rate.per_usd
