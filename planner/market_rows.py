"""The market's rows as the catalog has them: offers with prices, terms beside the machine, rates and places."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple

from catalog.models import BillingTerms, EgressTier, ExchangeRate, Offer, Price, Region, StoragePrice
from catalog.places import words_for
from planner.sizing import offers
from planner.sizing.offers import EgressStep, Rates
from planner.sizing.quantities import GB

OFFER_FIELDS = (
    "pk", "provider_id", "provider__name", "sku", "region", "tier", "accelerator_id", "gpu_count", "gpu_fraction",
    "vcpu", "ram_gib", "confirmed_on", "tier_detail",
)  # fmt: skip
PRICE_FIELDS = (
    "amount", "currency", "unit", "observed_on", "observed_precision", "estimated", "floor", "source", "source_url",
    "licence", "tax_included", "upfront", "recurring", "term_months",
)  # fmt: skip


STOCK_FIELDS = ("availability", "availability_on")
"""Kept for the present alone: a past market says nothing of its stock."""


class Row(NamedTuple):
    """One offer with its price, in the order of ``OFFER_FIELDS`` + ``PRICE_FIELDS`` + ``STOCK_FIELDS``."""

    offer_id: int
    provider: str
    provider_name: str
    sku: str
    region: str
    tier: str
    accelerator: str
    gpu_count: int
    gpu_fraction: Decimal
    vcpu: Decimal | None
    ram_gib: Decimal | None
    confirmed_on: date | None
    tier_detail: str
    amount: Decimal
    currency: str
    unit: str
    observed_on: date
    observed_precision: str
    estimated: bool
    floor: bool
    source: str
    source_url: str
    licence: str
    tax_included: bool | None
    upfront: Decimal | None = None
    recurring: Decimal | None = None
    term_months: int | None = None
    stock: str = ""
    stock_on: date | None = None

    @property
    def is_paid_upfront(self) -> bool:
        """Whether a part is paid at once; what the month bears of it is a line of its own then."""
        return bool(self.upfront and self.recurring is not None and self.term_months)


def current_rows() -> list[Row]:
    price_fields = [f"current_price__{name}" for name in PRICE_FIELDS]
    found = Offer.objects.comparable().current().values_list(*OFFER_FIELDS, *price_fields, *STOCK_FIELDS)
    return [Row(*values) for values in found]


def past_rows(at: datetime) -> list[Row]:
    """Offers with the prices of then. A price that was replaced since was last confirmed when it was read."""
    found = list(
        Offer.objects.comparable().priced(at).values_list(*OFFER_FIELDS, "current_price_id", "price_id_at")
    )
    prices = {
        values[0]: values[1:]
        for values in Price.objects.filter(recorded_at__lte=at).values_list("pk", *PRICE_FIELDS)
    }
    rows = []
    for *offer, now_id, then_id in found:
        row = Row(*offer, *prices[then_id])
        confirmed = None
        if now_id == then_id and row.confirmed_on is not None:
            confirmed = min(row.confirmed_on, at.date())
        rows.append(row._replace(confirmed_on=confirmed))
    return rows


def rates_on(on: date) -> Rates:
    latest = ExchangeRate.latest(on)
    per_usd = {currency: rate.per_usd for currency, rate in latest.items()} | {"USD": Decimal(1)}
    dollars = [rate for currency, rate in latest.items() if currency in ("JPY", "EUR")]
    newest = max(dollars, key=lambda rate: rate.on, default=None)
    return Rates(on=newest.on if newest else None, per_usd=per_usd, source=newest.source if newest else "")


class Place(NamedTuple):
    name: str
    name_ja: str
    keys: frozenset[str]
    """What a region filter may say to mean it, in lower case."""


def places() -> dict[tuple[str, str], Place]:
    places = {}
    for provider, code, country, city, name, name_ja in Region.objects.values_list(
        "provider_id", "code", "country", "city", "name", "name_ja"
    ):
        words = (code, f"{provider}:{code}", city, name, name_ja, *words_for(country))
        places[provider, code] = Place(name, name_ja, frozenset(word.casefold() for word in words if word))
    return places


class ProviderTerms(NamedTuple):
    """What one provider bills beside the machine, by region; the empty region holds for all others."""

    unit_s: int | None
    minimum_s: int | None
    source: str | None
    storage: dict[str, offers.StoragePrice]
    egress: dict[str, offers.EgressPrice]
    caps: dict[str, int] = {}
    """Hours of a month that are charged at most, by the beginning of a machine's name; "" for all."""

    def cap_hours(self, sku: str) -> Decimal | None:
        fitting = [prefix for prefix in self.caps if sku.startswith(prefix)]
        return Decimal(self.caps[max(fitting, key=len)]) if fitting else None


def terms_by_provider(at: datetime | None = None) -> dict[str, ProviderTerms]:
    """What each provider bills beside the machine: now, or as it was in force at a moment."""
    terms: dict[str, ProviderTerms] = {}

    def of(provider: str) -> ProviderTerms:
        return terms.setdefault(provider, ProviderTerms(None, None, None, {}, {}))

    for provider, unit_s, minimum_s, source, caps in BillingTerms.objects.values_list(
        "provider_id", "unit_s", "minimum_s", "source", "cap_hours"
    ):
        terms[provider] = ProviderTerms(unit_s, minimum_s, source or None, {}, {}, caps)
    storage, egress = (
        model.objects.in_force() if at is None else model.objects.as_of(at)
        for model in (StoragePrice, EgressTier)
    )
    for price in storage.filter(is_default=True, from_gb=0):
        of(price.provider_id).storage[price.region] = offers.StoragePrice(
            price_per_gb_month=price.amount_per_month * GB / price.per_bytes,
            currency=price.currency,
            source=f"{price.name}: {price.source}",
            observed_on=_day(price.observed),
        )
    steps: dict[tuple[str, str], list[EgressTier]] = {}
    for tier in egress.order_by("provider", "region", "from_gb"):
        steps.setdefault((tier.provider_id, tier.region), []).append(tier)
    for (provider, region), tiers in steps.items():
        if tiers[0].from_gb != 0:
            continue
        of(provider).egress[region] = offers.EgressPrice(
            steps=tuple(
                EgressStep(tier.from_gb * tier.per_bytes / GB, tier.amount_per_gb * GB / tier.per_bytes)
                for tier in tiers
            ),
            currency=tiers[0].currency,
            source=tiers[0].source,
            observed_on=_day(tiers[0].observed),
            until_gb=None if tiers[-1].to_gb is None else tiers[-1].to_gb * tiers[-1].per_bytes / GB,
        )
    return terms


def _day(observed: str) -> date | None:
    """A full date; a month or a year alone is not one."""
    return date.fromisoformat(observed) if re.fullmatch(r"\d{4}-\d\d-\d\d", observed) else None
