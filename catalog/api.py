"""The catalog over HTTP: current prices, page by page."""

from __future__ import annotations

from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated, Literal, cast
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from catalog.models import ExchangeRate, Offer, OfferQuerySet, Price

router = Router(tags=["catalog"])

PAGE_MAXIMUM = 1000
Word = Annotated[str, Field(max_length=120, pattern=r"^[^\x00-\x1f\x7f]*$")]


class PriceFilter(Schema):
    """Which prices; an absent field does not filter."""

    source: Word = ""
    """A provider, as its slug."""
    sku: Word = ""
    region: Word = ""
    accelerator: Word = ""
    tier: Literal["", "on_demand", "spot", "reserved", "community"] = ""
    comparable: bool | None = None
    without_gpu: bool = True
    """Whether machines without GPUs are among them."""
    limit: Annotated[int, Field(ge=1, le=PAGE_MAXIMUM)] = 500
    after: Annotated[int, Field(ge=0, le=2**62)] = 0
    """Offers with a higher id: where the page before ended."""

    def apply(self, offers: OfferQuerySet) -> OfferQuerySet:
        columns = {
            "provider": self.source, "sku": self.sku, "region": self.region, "accelerator": self.accelerator,
            "tier": self.tier,
        }  # fmt: skip
        offers = offers.filter(**{name: value for name, value in columns.items() if value})
        if self.comparable is not None:
            offers = offers.comparable() if self.comparable else offers.exclude(not_comparable="")
        if not self.without_gpu:
            offers = offers.with_accelerator()
        return offers.filter(pk__gt=self.after)


class PriceRow(Schema):
    """One offer with its current price, for the whole machine."""

    id: int
    provider: str
    sku: str
    region: str
    kind: str
    """The tier, or for reserved and community prices the source's own word for it."""
    tier: str
    tier_detail: str
    accelerator: str | None
    gpu_count: int | None
    gpu_fraction: Decimal
    availability: str
    """What its source said of the stock, and when; empty where it says nothing."""
    availability_on: date | None
    not_comparable: str
    amount: Decimal
    currency: str
    unit: str
    upfront: Decimal | None
    """Of a commitment: paid once for the machine and term; ``amount`` is what an hour of the term comes to."""
    recurring: Decimal | None
    """What is paid by the hour beside it."""
    term_months: int | None
    usd_per_hour: Decimal | None
    """Empty where the price is by the month or no exchange rate is known."""
    observed_on: date
    confirmed_on: date | None
    effective_from: date | None
    estimated: bool
    floor: bool
    source: str
    licence: str


class PricePage(Schema):
    items: list[PriceRow]
    next: str | None
    """The next page's address; empty on the last one."""
    at: datetime


@router.get("/prices", response=PricePage, summary="Current prices")
def prices(request: HttpRequest, wanted: Query[PriceFilter]) -> PricePage:
    """Every offer that its source still lists, with its current price, in the order of ids."""
    at = timezone.now()
    rates = {currency: rate.per_usd for currency, rate in ExchangeRate.latest(at.date()).items()}
    found = wanted.apply(Offer.objects.current()).select_related("current_price").order_by("pk")
    offers = list(found[: wanted.limit + 1])
    following = None
    if len(offers) > wanted.limit:
        offers = offers[: wanted.limit]
        query = wanted.dict(exclude_defaults=True) | {"after": offers[-1].pk}
        following = f"{reverse('api:prices')}?{urlencode(query)}"
    return PricePage(items=[_row(offer, rates) for offer in offers], next=following, at=at)


def _row(offer: Offer, rates: dict[str, Decimal]) -> PriceRow:
    price = cast(Price, offer.current_price)  # the query asks for offers with a price
    return PriceRow(
        id=offer.pk,
        provider=offer.provider_id,
        sku=offer.sku,
        region=offer.region,
        kind=offer.tier_detail
        if offer.tier in ("reserved", "community") and offer.tier_detail
        else offer.tier,
        tier=offer.tier,
        tier_detail=offer.tier_detail,
        accelerator=offer.accelerator_id,
        gpu_count=offer.gpu_count,
        gpu_fraction=offer.gpu_fraction,
        availability=offer.availability,
        availability_on=offer.availability_on,
        not_comparable=offer.not_comparable,
        amount=price.amount,
        currency=price.currency,
        unit=price.unit,
        upfront=price.upfront,
        recurring=price.recurring,
        term_months=price.term_months,
        usd_per_hour=usd_per_hour(price.amount, price.currency, price.unit, rates),
        observed_on=price.observed_on,
        confirmed_on=offer.confirmed_on,
        effective_from=price.effective_from,
        estimated=price.estimated,
        floor=price.floor,
        source=price.source,
        licence=price.licence,
    )


def usd_per_hour(amount: Decimal, currency: str, unit: str, rates: dict[str, Decimal]) -> Decimal | None:
    if unit != "hour":
        return None
    if currency == "USD":
        return amount
    rate = rates.get(currency)
    return None if not rate else (amount / rate).quantize(Decimal("0.000001"), rounding=ROUND_HALF_EVEN)
