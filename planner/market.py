"""The current market: a columnar copy of the comparable offers, one per process and catalog version."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from catalog.facts import accelerators
from catalog.models import (
    STALE_DAYS,
    BillingTerms,
    CatalogVersion,
    EgressTier,
    ExchangeRate,
    Offer,
    Price,
    Region,
    StoragePrice,
)
from planner import host_facts, inputs
from planner.sizing import offers
from planner.sizing.devices import Machine
from planner.sizing.offers import MICRO_UNIT, EgressStep, Market, Rates, Terms
from planner.sizing.quantities import GB, GIB
from planner.sizing.results import HostFacts, OfferFacts

PAST_KEPT = 4
"""Past markets kept in memory: a screen may be saved after the prices it was opened with have changed."""

FACTS_KEPT = 8_192
"""Readable rows kept per market; the same ones are shown again and again."""

OFFER_FIELDS = (
    "pk", "provider_id", "provider__name", "sku", "region", "tier", "accelerator_id", "gpu_count", "gpu_fraction",
    "vcpu", "ram_gib", "confirmed_on",
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


@dataclass
class Kept:
    """The markets of this process. Guarded: two threads must not build the same one at once."""

    current: Market | None = None
    past: OrderedDict[tuple[str, datetime], Market] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)


_kept = Kept()


def current(at: datetime) -> Market:
    """The market as it stood at ``at``: one query where it is unchanged since the last call.

    Prices are append-only, so a moment before the last change is built from the history and is the same
    whenever it is asked for.
    """
    number, changed_at = _version()
    version = str(number)
    with _kept.lock:
        if changed_at is None or at >= changed_at:
            if _kept.current is None or _kept.current.version != version:
                _kept.current = build(version, at, past=False)
            return _kept.current
        key = (version, at)
        if key not in _kept.past:
            _kept.past[key] = build(f"{version}@{at.isoformat()}", at, past=True)
            while len(_kept.past) > PAST_KEPT:
                _kept.past.popitem(last=False)
        return _kept.past[key]


def forget() -> None:
    """Drop what is kept: tests that roll their database back need it."""
    with _kept.lock:
        _kept.current = None
        _kept.past.clear()


def enlarged(count: int, at: datetime) -> Market:
    """The current offers repeated to ``count`` rows with prices a little apart: how speed grows with the catalog.

    It is kept as the current market of this process until the catalog changes or ``forget`` is called.
    """
    shipped = _current_rows()
    rows: list[Row] = []
    while shipped and len(rows) < count:
        turn = len(rows) // len(shipped)
        step = Decimal(1) + Decimal(turn) / 997
        rows += [
            row._replace(
                offer_id=row.offer_id + turn * 1_000_000, amount=(row.amount * step).quantize(MICRO_UNIT)
            )
            for row in shipped[: count - len(rows)]
        ]
    version = str(_version()[0])
    found = assemble(version, rows, terms=_terms_by_provider(), rates=_rates(at.date()), places=_places())
    with _kept.lock:
        _kept.current = found
    return found


def _version() -> tuple[int, datetime | None]:
    found = CatalogVersion.objects.filter(pk=CatalogVersion.ONLY).values_list("number", "changed_at").first()
    return found or (0, None)


def build(version: str, at: datetime, *, past: bool) -> Market:
    """Read all comparable offers with their prices, terms and rates: a constant number of queries."""
    rows = _past_rows(at) if past else _current_rows()
    left_out = Offer.objects.with_accelerator().exclude(not_comparable="").count()
    return assemble(
        version,
        rows,
        terms=_terms_by_provider(),
        rates=_rates(at.date()),
        places=_places(),
        hosts=host_facts.hosts(),
        not_comparable_count=left_out,
    )


def assemble_private(version: str, rows: list[Row], at: datetime) -> Market:
    """A market of a team's own rows alone, with the terms and rates that the public one has."""
    return assemble(version, rows, terms=_terms_by_provider(), rates=_rates(at.date()), places=_places())


def _current_rows() -> list[Row]:
    price_fields = [f"current_price__{name}" for name in PRICE_FIELDS]
    found = Offer.objects.comparable().current().values_list(*OFFER_FIELDS, *price_fields, *STOCK_FIELDS)
    return [Row(*values) for values in found]


def _past_rows(at: datetime) -> list[Row]:
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


def _rates(on: date) -> Rates:
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


def _places() -> dict[tuple[str, str], Place]:
    places = {}
    for provider, code, country, city, name, name_ja in Region.objects.values_list(
        "provider_id", "code", "country", "city", "name", "name_ja"
    ):
        words = (code, f"{provider}:{code}", country, city, name, name_ja)
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


def _terms_by_provider() -> dict[str, ProviderTerms]:
    terms: dict[str, ProviderTerms] = {}

    def of(provider: str) -> ProviderTerms:
        return terms.setdefault(provider, ProviderTerms(None, None, None, {}, {}))

    for provider, unit_s, minimum_s, source, caps in BillingTerms.objects.values_list(
        "provider_id", "unit_s", "minimum_s", "source", "cap_hours"
    ):
        terms[provider] = ProviderTerms(unit_s, minimum_s, source or None, {}, {}, caps)
    for price in StoragePrice.objects.filter(is_default=True, from_gb=0):
        of(price.provider_id).storage[price.region] = offers.StoragePrice(
            price_per_gb_month=price.amount_per_month * GB / price.per_bytes,
            currency=price.currency,
            source=f"{price.name}: {price.source}",
            observed_on=_day(price.observed),
        )
    steps: dict[tuple[str, str], list[EgressTier]] = {}
    for tier in EgressTier.objects.order_by("provider", "region", "from_gb"):
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
    return frozenset((row.region.casefold(), f"{row.provider}:{row.region}".casefold()))


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
