"""What an offer brings to the page of ways to pay: the prices of its tiers, and each commitment over the term."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from catalog import wording
from catalog.commitments import term_months
from catalog.models import Offer, OfferQuerySet, Price, PriceUnit, Tier
from planner.sizing import hosting
from planner.sizing.hosting import Stated

STEP = Decimal("0.000001")


def offer_of(text: str) -> Offer | None:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        return None
    return Offer.objects.filter(pk=int(text)).select_related("provider").first()


def prices_of(offer: Offer) -> dict[str, str]:
    """What the offer and its other tiers cost by the hour; of commitments the one whose hour comes to least."""
    found: dict[str, str] = {}
    for one in _siblings(offer).order_by("-usd_per_hour", "pk"):
        if one.tier == Tier.ON_DEMAND:
            found["on_demand_per_hour"] = _text(one.usd_per_hour or Decimal(0))
        elif one.tier == Tier.SPOT:
            found["spot_per_hour"] = _text(one.usd_per_hour or Decimal(0))
        elif (reserved := _reserved(one)) is not None:
            found |= reserved
    return found


def commitments_of(offer: Offer, stated: Stated, keep: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Every commitment to the same machine, with its total over the stated months and where it breaks even.

    ``keep`` is what the link of each holds beside its price.
    """
    rows = []
    for one in _siblings(offer).filter(tier=Tier.RESERVED).order_by("usd_per_hour", "pk"):
        given = _reserved(one)
        if given is None:
            continue
        asked = Stated.model_validate(stated.model_dump() | given)
        total = hosting.reserved(asked)
        kept = [(name, value) for name, value in keep if name not in given]
        rows.append({
            "offer": one, "terms": wording.say(wording.TIER_DETAILS, one.tier_detail),
            "months": given["reserved_term_months"],
            "upfront": f"{asked.reserved_upfront:,.2f}" if asked.reserved_upfront else "",
            "per_hour": given["reserved_per_hour"], "over_term": _text(one.usd_per_hour or Decimal(0)),
            "total": None if total.amount is None else f"{total.amount:,.2f}",
            "even_hours": hosting.break_even_hours(asked), "even_month": hosting.break_even_month(asked),
            "query": urlencode([*kept, *given.items()]),
        })  # fmt: skip
    return rows


def _siblings(offer: Offer) -> OfferQuerySet:
    """The same machine at every tier that has a price by the hour in dollars."""
    found: OfferQuerySet = Offer.objects.current().filter(
        provider=offer.provider_id, sku=offer.sku, region=offer.region, gpu_count=offer.gpu_count,
        usd_per_hour__isnull=False,
    )  # fmt: skip
    return found.select_related("current_price")


def _reserved(offer: Offer) -> dict[str, str] | None:
    """A commitment's fields in dollars; None where its term is not known."""
    price: Price | None = offer.current_price
    months = (
        term_months(offer.tier_detail)
        if price is None
        else price.term_months or term_months(offer.tier_detail)
    )
    if price is None or offer.tier != Tier.RESERVED or price.unit != PriceUnit.HOUR or not months:
        return None
    per_hour = offer.usd_per_hour or Decimal(0)
    if not price.upfront or price.recurring is None:
        return {
            "reserved_per_hour": _text(per_hour), "reserved_upfront": "0", "reserved_term_months": str(months),
        }  # fmt: skip
    dollars = per_hour / price.amount
    return {
        "reserved_per_hour": _text((price.recurring * dollars).quantize(STEP)),
        "reserved_upfront": _text((price.upfront * dollars).quantize(Decimal("0.01"))),
        "reserved_term_months": str(months),
    }


def _text(amount: Decimal) -> str:
    return f"{amount.normalize():f}"
