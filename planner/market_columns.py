"""Rows of the market as columns: what the ranking reads, and the readable row of an offer when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from catalog.facts import accelerators
from catalog.models import STALE_DAYS
from catalog.places import words_for
from planner import inputs
from planner.market_rows import Place, ProviderTerms, Row
from planner.sizing import offers
from planner.sizing.devices import Machine
from planner.sizing.offers import Market, Rates, Terms
from planner.sizing.quantities import GIB
from planner.sizing.results import HostFacts, OfferFacts

COUNTRY_AT_END = re.compile(r", ([A-Z]{2})$")
FACTS_KEPT = 8_192
"""Readable rows kept per market; the same ones are shown again and again."""


def assemble(
    version: str,
    rows: list[Row],
    *,
    terms: dict[str, ProviderTerms],
    rates: Rates,
    places: dict[tuple[str, str], Place],
    hosts: Mapping[tuple[str, str], HostFacts] | None = None,
    not_comparable_count: int = 0,
) -> Market:
    """Columns out of rows. Rows whose accelerator lacks a fact that sizing needs are left out and counted."""
    facts = accelerators()
    machine_of: dict[tuple[str, int, Decimal], int] = {}
    machines: list[Machine] = []
    names: list[str] = []
    kept: list[Row] = []
    machine_index: list[int] = []
    for row in rows:
        key = (row.accelerator, row.gpu_count, row.gpu_fraction)
        if key not in machine_of:
            fact = facts.get(row.accelerator)
            made = fact and inputs.machine(fact, count=row.gpu_count, fraction=float(row.gpu_fraction))
            machine_of[key] = len(machines) if made else -1
            if made:
                machines.append(made)
                names.append(row.accelerator)
        if machine_of[key] >= 0:
            kept.append(row)
            machine_index.append(machine_of[key])
    columns = _Columns()
    terms_index = [columns.index("terms", _terms_of(row, terms)) for row in kept]
    region_index = [columns.index("region", (row.region, _region_keys(row, places))) for row in kept]
    return Market(
        version=version,
        machines=tuple(machines),
        accelerators=tuple(names),
        machine_index=_integers(machine_index),
        terms_index=_integers(terms_index),
        terms=columns.values("terms"),
        rates=rates,
        provider_index=_integers([columns.index("provider", row.provider) for row in kept]),
        providers=columns.values("provider"),
        region_index=_integers(region_index),
        region_codes=tuple(code for code, _keys in columns.values("region")),
        regions=tuple(keys for _code, keys in columns.values("region")),
        tier_index=_integers([columns.index("tier", row.tier) for row in kept]),
        tiers=columns.values("tier"),
        currency_index=_integers([columns.index("currency", row.currency) for row in kept]),
        currencies=columns.values("currency"),
        offer_id=_integers([row.offer_id for row in kept]),
        price_micro=_integers([_micro(row.recurring if row.is_paid_upfront else row.amount) for row in kept]),
        per_month=np.array([row.unit == "month" for row in kept], dtype=bool),
        estimated=np.array([row.estimated for row in kept], dtype=bool),
        floor=np.array([row.floor for row in kept], dtype=bool),
        observed_ordinal=_integers([(row.confirmed_on or row.observed_on).toordinal() for row in kept]),
        ram_bytes=_integers([int((row.ram_gib or 0) * GIB) for row in kept]),
        vcpu=np.array([float(row.vcpu or 0) for row in kept], dtype=np.float64),
        facts=_Facts(kept, machines, machine_index, places, hosts or {}),
        not_comparable_count=not_comparable_count + len(rows) - len(kept),
        upfront_micro=_upfront(kept),
        storage_bytes_per_s=_storage(kept, hosts or {}),
    )


def _micro(amount: Decimal | None) -> int:
    return int((amount or 0) * offers.MICRO)


def _upfront(rows: list[Row]) -> offers.Integers | None:
    """A month's share of what is paid upfront, by row; None where no offer asks for it."""
    if not any(row.is_paid_upfront for row in rows):
        return None
    return _integers(
        [
            _micro(offers.upfront_per_month(row.upfront, row.term_months)) if row.is_paid_upfront else 0
            for row in rows
        ]
    )


def _storage(
    rows: list[Row], hosts: Mapping[tuple[str, str], HostFacts]
) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Bytes/s towards network storage by row, NaN where unknown; None where it is known of none."""
    known = {
        key: facts.storage_bytes_per_s
        for key, facts in hosts.items()
        if facts.storage_bytes_per_s is not None
    }
    if not known:
        return None
    return np.array([known.get((row.provider, row.sku), np.nan) for row in rows], dtype=np.float64)


def _integers(values: list[int]) -> offers.Integers:
    return np.array(values, dtype=np.int64)


class _Columns:
    """Distinct values of each column, numbered in the order they appear."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[Any, int]] = {}

    def index(self, column: str, value: Any) -> int:
        numbers = self._numbers.setdefault(column, {})
        return numbers.setdefault(value, len(numbers))

    def values(self, column: str) -> tuple[Any, ...]:
        return tuple(self._numbers.get(column, ()))


def _terms_of(row: Row, terms: dict[str, ProviderTerms]) -> Terms:
    found = terms.get(row.provider)
    if found is None:
        return Terms(row.provider)
    region = row.region
    return Terms(
        row.provider,
        unit_s=found.unit_s,
        minimum_s=found.minimum_s,
        storage=found.storage.get(region) or found.storage.get(""),
        egress=found.egress.get(region) or found.egress.get(""),
        source=found.source,
        cap_hours=found.cap_hours(row.sku),
    )


def _region_keys(row: Row, places: dict[tuple[str, str], Place]) -> frozenset[str]:
    place = places.get((row.provider, row.region))
    if place is not None:
        return place.keys
    if not row.region:
        return frozenset()
    country = COUNTRY_AT_END.search(row.region)  # a marketplace's "Virginia, US"
    words = (row.region, f"{row.provider}:{row.region}", *words_for(country[1] if country else ""))
    return frozenset(word.casefold() for word in words)


class _Facts:
    """Makes the readable row of an offer, only when it is asked for."""

    def __init__(
        self,
        rows: list[Row],
        machines: list[Machine],
        machine_index: list[int],
        places: dict[tuple[str, str], Place],
        hosts: Mapping[tuple[str, str], HostFacts],
    ) -> None:
        self._rows = rows
        self._machines = machines
        self._machine_index = machine_index
        self._places = places
        self._hosts = hosts
        self._made: dict[tuple[int, date], OfferFacts] = {}

    def __call__(self, number: int, today: date) -> OfferFacts:
        found = self._made.get((number, today))
        if found is None:
            if len(self._made) >= FACTS_KEPT:
                self._made.clear()
            found = self._made[number, today] = self._make(number, today)
        return found

    def _make(self, number: int, today: date) -> OfferFacts:
        row = self._rows[number]
        machine = self._machines[self._machine_index[number]]
        place = self._places.get((row.provider, row.region))
        age_days = max(0, (today - (row.confirmed_on or row.observed_on)).days)
        return OfferFacts(
            offer_id=row.offer_id,
            provider=row.provider,
            provider_name=row.provider_name,
            sku=row.sku,
            region=row.region,
            region_name=(place.name or None) if place else None,
            region_name_ja=(place.name_ja or None) if place else None,
            tier=row.tier,
            accelerator=row.accelerator,
            gpu_count=row.gpu_count,
            gpu_fraction=float(row.gpu_fraction),
            gpu_memory_bytes=machine.device.memory_bytes,
            bandwidth_bytes_per_s=machine.device.bandwidth_bytes_per_s,
            link=machine.link,
            vcpu=None if row.vcpu is None else float(row.vcpu),
            ram_bytes=None if row.ram_gib is None else int(row.ram_gib * GIB),
            price_amount=row.amount,
            price_currency=row.currency,
            price_unit=row.unit,
            upfront=row.upfront if row.is_paid_upfront else None,
            recurring=row.recurring if row.is_paid_upfront else None,
            term_months=row.term_months,
            tier_detail=row.tier_detail or None,
            price_observed_on=row.observed_on,
            price_observed_precision=row.observed_precision,
            price_age_days=age_days,
            stale=age_days > STALE_DAYS,
            floor=row.floor,
            estimated=row.estimated,
            source=row.source,
            source_url=row.source_url or None,
            licence=row.licence or None,
            tax_included=row.tax_included,
            stock=row.stock or None,
            stock_on=row.stock_on,
            host=self._hosts.get((row.provider, row.sku)),
        )
