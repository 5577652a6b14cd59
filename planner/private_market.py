"""A team's private offers laid over the public market. The public copy is shared and never touched.

The overlay is a market of its own: the columns of the public one with the team's rows behind them. It is kept for a
few teams, by the public market's version and the very rows it holds, so a change shows at the next comparison.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from threading import Lock
from typing import Any

import numpy as np

from catalog.models import STALE_DAYS, PrivateOffer
from catalog.price_files import known_providers
from planner import market
from planner.market_rows import Row
from planner.sizing.offers import Integers, Market
from planner.sizing.results import OfferFacts, QuoteFacts

OVERLAYS_KEPT = 16
MARK = "~"
"""Between the public market's version and what a team adds to it."""


@dataclass
class _Kept:
    overlays: OrderedDict[tuple[str, int, str], Market] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)


_kept = _Kept()


def current(at: datetime, team_id: int | None = None) -> Market:
    """The market as it stood at ``at``, with the private offers that the team had then."""
    public = market.current(at)
    if team_id is None:
        return public
    offers = list(PrivateOffer.objects.standing(at).comparable().filter(team_id=team_id).order_by("pk"))
    if not offers:
        return public
    today = at.date()
    marks = ",".join(f"{each.pk}{'x' if each.is_expired(today) else ''}" for each in offers)
    key = (public.version, team_id, hashlib.sha256(marks.encode()).hexdigest()[:16])
    with _kept.lock:
        if key not in _kept.overlays:
            _kept.overlays[key] = _overlaid(public, offers, at, f"{key[0]}{MARK}{team_id}.{key[2]}")
            while len(_kept.overlays) > OVERLAYS_KEPT:
                _kept.overlays.popitem(last=False)
        _kept.overlays.move_to_end(key)
        return _kept.overlays[key]


def public_version(version: str) -> str:
    """The version of the public market below a team's."""
    return version.partition(MARK)[0]


def forget() -> None:
    with _kept.lock:
        _kept.overlays.clear()


def _overlaid(public: Market, offers: Sequence[PrivateOffer], at: datetime, version: str) -> Market:
    slugs = known_providers()
    rows = [_row(each, slugs) for each in offers]
    own = market.assemble_private(version, rows, at)
    quotes = {-each.pk: _quote(each, at.date()) for each in offers}
    expired = np.array([quotes[int(number)].expired for number in own.offer_id], dtype=bool)
    # A quote that is over is shown and marked; as a price that is old, it is never called the cheapest.
    stale_ordinal = at.date().toordinal() - STALE_DAYS - 1
    own.observed_ordinal[expired] = np.minimum(own.observed_ordinal[expired], stale_ordinal)
    return _joined(public, own, version, quotes)


def _row(offer: PrivateOffer, slugs: dict[str, str]) -> Row:
    """The offer as a row of the market; its number is negative, as no public one is.

    A provider that the catalog knows by that name lends its terms for storage and transfer.
    """
    return Row(
        offer_id=-offer.pk,
        provider=slugs.get(offer.provider_name.casefold(), offer.provider_name.casefold()),
        provider_name=offer.provider_name,
        sku=offer.sku,
        region=offer.region,
        tier=offer.tier,
        accelerator=str(offer.accelerator_id),
        gpu_count=offer.gpu_count,
        gpu_fraction=Decimal(1),
        vcpu=offer.vcpu,
        ram_gib=offer.ram_gib,
        confirmed_on=offer.received_on,
        tier_detail=offer.tier_detail,
        amount=offer.amount_over_term,
        currency=offer.currency,
        unit=offer.unit,
        observed_on=offer.received_on,
        observed_precision="day",
        estimated=False,
        floor=False,
        source=f"private offer {offer.reference}".strip(),
        source_url="",
        licence="",
        tax_included=offer.tax_included,
        upfront=offer.upfront,
        recurring=offer.amount if offer.upfront else None,
        term_months=offer.term_months,
    )


def _quote(offer: PrivateOffer, today: date) -> QuoteFacts:
    return QuoteFacts(
        reference=offer.reference,
        valid_until=offer.valid_until,
        expired=offer.is_expired(today),
        note=offer.note,
        survives_restart=offer.survives_restart or None,
        survives_host_change=offer.survives_host_change or None,
        survives_contract_end=offer.survives_contract_end or None,
        data_location=offer.data_location or None,
        availability=offer.availability or None,
        startup_minutes=None if offer.startup_minutes is None else float(offer.startup_minutes),
        answered_on=offer.answered_on,
    )


def _joined(public: Market, own: Market, version: str, quotes: dict[int, QuoteFacts]) -> Market:
    """The columns of both behind each other; what both name is named once."""
    machines, machine_at = _names(
        list(zip(public.accelerators, public.machines, strict=True)),
        list(zip(own.accelerators, own.machines, strict=True)),
        lambda each: (each[0], each[1].device_count, each[1].fraction),
    )
    terms, terms_at = _names(public.terms, own.terms)
    providers, provider_at = _names(public.providers, own.providers)
    places, region_at = _names(
        list(zip(public.region_codes, public.regions, strict=True)),
        list(zip(own.region_codes, own.regions, strict=True)),
    )
    tiers, tier_at = _names(public.tiers, own.tiers)
    currencies, currency_at = _names(public.currencies, own.currencies)
    upfront = None
    if public.upfront_micro is not None or own.upfront_micro is not None:
        upfront = np.concatenate([_upfront(public), _upfront(own)])
    storage = None
    if public.storage_bytes_per_s is not None:
        # Quotes do not say what their machines let through.
        storage = np.concatenate([public.storage_bytes_per_s, np.full(len(own), np.nan)])
    plain: dict[str, Any] = {
        name: np.concatenate([getattr(public, name), getattr(own, name)])
        for name in (
            "offer_id", "price_micro", "per_month", "estimated", "floor", "observed_ordinal", "ram_bytes", "vcpu",
        )
    }  # fmt: skip
    indexes: dict[str, Any] = {
        name: np.concatenate([getattr(public, name), moved[getattr(own, name)]])
        for name, moved in (
            ("machine_index", machine_at),
            ("terms_index", terms_at),
            ("provider_index", provider_at),
            ("region_index", region_at),
            ("tier_index", tier_at),
            ("currency_index", currency_at),
        )
    }
    return replace(
        public,
        version=version,
        machines=tuple(machine for _name, machine in machines),
        accelerators=tuple(name for name, _machine in machines),
        terms=tuple(terms),
        providers=tuple(providers),
        region_codes=tuple(code for code, _keys in places),
        regions=tuple(keys for _code, keys in places),
        tiers=tuple(tiers),
        currencies=tuple(currencies),
        facts=_Facts(public, own, quotes),
        not_comparable_count=public.not_comparable_count + own.not_comparable_count,
        upfront_micro=upfront,
        storage_bytes_per_s=storage,
        _shown={},
        _alike={},
        _tie_rank=None,
        _position=None,
        **plain,
        **indexes,
    )


def _upfront(one: Market) -> Integers:
    return np.zeros(len(one), dtype=np.int64) if one.upfront_micro is None else one.upfront_micro


def _names(
    first: Sequence[Any], second: Sequence[Any], key: Callable[[Any], Any] = lambda each: each
) -> tuple[list[Any], Integers]:
    """Both lists in one without repetitions, and where each entry of the second stands in it."""
    place = {key(each): number for number, each in enumerate(first)}
    names = list(first)
    moved = []
    for each in second:
        if key(each) not in place:
            place[key(each)] = len(names)
            names.append(each)
        moved.append(place[key(each)])
    return names, np.array(moved, dtype=np.int64)


class _Facts:
    """The readable row of an offer: the public one's own, or the team's with its quote."""

    def __init__(self, public: Market, own: Market, quotes: dict[int, QuoteFacts]) -> None:
        self._public, self._own, self._quotes = public, own, quotes

    def __call__(self, number: int, today: date) -> OfferFacts:
        if number < len(self._public):
            return self._public.facts(number, today)
        facts = self._own.facts(number - len(self._public), today)
        quote = self._quotes[facts.offer_id]
        return facts.model_copy(update={"quote": quote, "stale": facts.stale or quote.expired})
