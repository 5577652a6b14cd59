"""Offers and their prices as pages show them: figures in the units people read, unknown ones as nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from django.utils.translation import get_language

from catalog import wording
from catalog.facts import accelerators
from catalog.history import MarketPoint
from catalog.models import WITHOUT_ACCELERATOR, Offer, Price, PriceUnit, Region
from catalog.sheets import GIB, number

SOURCE_LENGTH = 22
OTHER_TERMS_SHOWN = 30
"""Spot prices by zone are many; the list of offers has them all."""


def offer_rows(offers: Iterable[Offer], at: datetime) -> list[dict[str, Any]]:
    """Rows of a list, with the places of their regions: one query for all of them."""
    shown = list(offers)
    wanted = {(offer.provider_id, offer.region) for offer in shown if offer.region}
    named = Region.objects.filter(
        provider__in={slug for slug, _code in wanted}, code__in={code for _slug, code in wanted}
    )
    places = {(one.provider_id, one.code): place(one) for one in named}
    return [offer_row(offer, at, places.get((offer.provider_id, offer.region), "")) for offer in shown]


def place(region: Region) -> str:
    japanese = (get_language() or "").startswith("ja")
    if japanese and region.name_ja:
        return region.name_ja
    return f"{region.city} ({region.country})" if region.city and region.country else region.name


def short_source(source: str) -> str:
    """The document in a few words; the offer's page has the whole."""
    words = source.removeprefix("second-hand transcription of ")
    words = re.split(r" \(|, |; | \+ ", words, maxsplit=1)[0]
    return words if len(words) <= SOURCE_LENGTH else words[: SOURCE_LENGTH - 1].rstrip() + "…"


def _per_dollar(offer: Offer, figure: float | None, unit: float) -> str | None:
    """What a dollar an hour buys of a card's figure; unknown where the offer cannot be compared."""
    if offer.not_comparable or not offer.usd_per_hour or not offer.gpu_count or figure is None:
        return None
    devices = offer.gpu_count * float(offer.gpu_fraction)
    return number(figure * devices / float(offer.usd_per_hour) / unit, 3)


def other_terms(offer: Offer) -> list[dict[str, Any]]:
    """The same machine in the same region on other terms of sale, cheapest hour first; one query."""
    found = (
        Offer.objects.current()
        .filter(
            provider=offer.provider_id, sku=offer.sku, region=offer.region, gpu_count=offer.gpu_count,
            current_price__unit=PriceUnit.HOUR,
        )
        .exclude(pk=offer.pk)
        .select_related("current_price")
        .order_by("usd_per_hour", "pk")
    )  # fmt: skip
    rows = []
    for one in found[:OTHER_TERMS_SHOWN]:
        price = cast(Price, one.current_price)  # the query asks for offers with a price
        rows.append({
            "offer": one, "terms": wording.say(wording.TIER_DETAILS, one.tier_detail), "price": price,
            "amount": money(price.amount), "upfront": money(price.upfront) if price.upfront else "",
            "recurring": money(price.recurring) if price.upfront and price.recurring is not None else "",
        })  # fmt: skip
    return rows


def offer_row(offer: Offer, at: datetime, place_name: str = "") -> dict[str, Any]:
    price = offer.current_price
    fact = accelerators().get(offer.accelerator_id or "")
    devices = None if not offer.gpu_count else offer.gpu_count * offer.gpu_fraction
    return {
        "offer": offer,
        "price": price,
        "amount": None if price is None else money(price.amount),
        "per_gpu": None if price is None or not devices else money(price.amount / devices),
        "bandwidth_per_dollar": _per_dollar(offer, fact.bandwidth_bytes_per_s if fact else None, 1e9),
        "memory_per_dollar": _per_dollar(offer, fact.memory_bytes if fact else None, GIB),
        "place": place_name,
        "terms": wording.say(wording.TIER_DETAILS, offer.tier_detail),
        "short_source": "" if price is None else short_source(price.source),
        "without_gpu": offer.not_comparable in WITHOUT_ACCELERATOR,
        "age_days": offer.price_age_days(at),
        "stale": offer.is_stale(at),
        "fraction": None if offer.gpu_fraction == 1 else number(float(offer.gpu_fraction)),
        "reason": wording.say(wording.NOT_COMPARABLE, offer.not_comparable) if offer.not_comparable else None,
        "candidates": offer.not_comparable_detail.replace("|", ", "),
    }


def money(amount: Decimal) -> str:
    """Two digits after the point, more where the price has them."""
    text = f"{amount:,.4f}".rstrip("0")
    whole, _point, part = text.partition(".")
    return f"{whole}.{part:0<2}"


def market_rows(points: Iterable[MarketPoint]) -> list[dict[str, Any]]:
    """The market's days, newest first, in dollars for one GPU and hour."""
    return [
        {"point": one, "low": money(one.low), "median": money(one.median), "high": money(one.high)}
        for one in points
    ][::-1]
