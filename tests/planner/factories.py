"""A small catalog in the database: two providers, a few machines, terms and rates."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from catalog.models import (
    Accelerator,
    BillingTerms,
    CatalogVersion,
    EgressTier,
    ExchangeRate,
    Offer,
    Price,
    Provider,
    Region,
    StoragePrice,
    offer_key,
)
from tests.factories import AT


def make_provider(slug: str = "known", at: datetime = AT) -> Provider:
    provider, created = Provider.objects.get_or_create(slug=slug, defaults={"name": slug.title()})
    if created:
        CatalogVersion.bump(at)
    return provider


def make_terms(provider: Provider, at: datetime = AT) -> None:
    """Billed by the second, 0.08 a GB-month, 100 GB out free and 0.09 a GB after."""
    BillingTerms.objects.create(provider=provider, unit_s=1, minimum_s=60, source="price page")
    StoragePrice.objects.create(
        provider=provider, kind="block", name="disk", amount_per_month=Decimal("0.08"), currency="USD",
        is_default=True, source="price page", observed="2026-10-01",
    )  # fmt: skip
    EgressTier.objects.create(
        provider=provider, from_gb=0, to_gb=100, amount_per_gb=Decimal(0), currency="USD", source="price page",
        observed="2026-10",
    )  # fmt: skip
    EgressTier.objects.create(
        provider=provider, from_gb=100, amount_per_gb=Decimal("0.09"), currency="USD", source="price page"
    )
    CatalogVersion.bump(at)


def make_rates(at: datetime = AT) -> None:
    for currency, per_usd in (("JPY", "157.25"), ("EUR", "0.895095"), ("USD", "1")):
        ExchangeRate.objects.create(
            on=date(2026, 10, 30), currency=currency, per_usd=Decimal(per_usd), source="ECB"
        )
    CatalogVersion.bump(at)


def make_offer(
    accelerator: str = "H100-SXM5",
    price: str = "2.49",
    *,
    provider: str = "known",
    count: int = 1,
    at: datetime = AT,
    observed_on: date = date(2026, 11, 1),
    currency: str = "USD",
    **fields: Any,
) -> Offer:
    """An offer with its current price."""
    Accelerator.objects.get_or_create(name=accelerator, defaults={"vendor": "nvidia"})
    given: dict[str, Any] = {
        "sku": f"{accelerator}-{count}", "region": "tokyo-1", "tier": "on_demand", "tier_detail": "", "vcpu": 16,
        "ram_gib": 128, "gpu_fraction": Decimal(1),
    } | fields  # fmt: skip
    named = [given[name] for name in ("sku", "region", "tier", "tier_detail")]
    offer = Offer.objects.create(
        provider=make_provider(provider, at),
        accelerator_id=accelerator,
        gpu_count=count,
        key=offer_key(provider, *named),
        **given,
    )
    set_price(offer, price, at=at, observed_on=observed_on, currency=currency)
    return offer


def set_price(
    offer: Offer, amount: str, *, at: datetime, observed_on: date, currency: str = "USD", **fields: Any
) -> Price:
    """One more price of an offer, which becomes the current one."""
    price = Price.objects.create(
        offer=offer, amount=Decimal(amount), currency=currency, observed_on=observed_on, recorded_at=at,
        source="price page", **fields,
    )  # fmt: skip
    offer.current_price = price
    offer.confirmed_on = observed_on
    offer.save(update_fields=["current_price", "confirmed_on"])
    CatalogVersion.bump(at)
    return price


def make_small_catalog(at: datetime = AT) -> list[Offer]:
    """Four offers: an H100 and an L40S of a provider with terms, eight A100 of another without, and a spot H100."""
    known = make_provider("known", at)
    make_terms(known, at)
    make_rates(at)
    Region.objects.create(
        provider=known, code="tokyo-1", country="JP", city="Tokyo", name="Tokyo (JP)", name_ja="東京"
    )
    return [
        make_offer("H100-SXM5", "2.49", at=at),
        make_offer("L40S", "1.10", at=at),
        make_offer("A100-SXM4-80GB", "12.80", provider="other", count=8, region="", at=at),
        make_offer("H100-SXM5", "0.99", tier="spot", at=at),
    ]
