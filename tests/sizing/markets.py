"""Small markets for tests of the core: a few machines with known prices, no database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from catalog.facts import accelerators
from planner import architectures, inputs, runtimes, speed_constants
from planner.sizing.llm import LlmSetting
from planner.sizing.offers import (
    MICRO,
    EgressPrice,
    EgressStep,
    Market,
    Rates,
    StoragePrice,
    Terms,
    upfront_per_month,
)
from planner.sizing.quantities import GIB
from planner.sizing.results import OfferFacts
from planner.sizing.workload import BatchWorkload, ServingWorkload

AT = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
RATES = Rates(
    on=date(2026, 10, 30),
    per_usd={"USD": Decimal(1), "JPY": Decimal("157.25"), "EUR": Decimal("0.895095")},
    source="ECB",
)
KNOWN = Terms(
    "known",
    unit_s=1,
    minimum_s=60,
    storage=StoragePrice(Decimal("0.08"), "USD", "price page"),
    egress=EgressPrice((EgressStep(Decimal(0), Decimal("0.09")),), "USD", "price page"),
)


@dataclass(frozen=True)
class Row:
    """One offer of a test market."""

    accelerator: str = "H100-SXM5"
    count: int = 1
    price: str = "2.49"
    provider: str = "known"
    region: str = "r1"
    places: tuple[str, ...] = ("r1", "jp", "tokyo")
    tier: str = "on_demand"
    currency: str = "USD"
    unit: str = "hour"
    fraction: float = 1.0
    vcpu: float = 16
    ram_gib: float = 128
    observed_on: date = date(2026, 11, 1)
    floor: bool = False
    estimated: bool = False
    terms: Terms = field(default=KNOWN)
    term_months: int | None = None
    upfront: str | None = None
    """Of a commitment: paid once; ``price`` is what is paid by the hour beside it."""


def make_market(rows: Sequence[Row]) -> Market:
    """A market of these rows; offer n has the id n, from 1."""
    facts = accelerators()
    keys: list[tuple[str, int, float]] = []
    for row in rows:
        key = (row.accelerator, row.count, row.fraction)
        if key not in keys:
            keys.append(key)
    machines = [inputs.machine(facts[name], count=count, fraction=part) for name, count, part in keys]
    assert all(machines), "the test names an accelerator that cannot be sized"

    def index(values: list[Any]) -> tuple[tuple[Any, ...], Any]:
        distinct = list(dict.fromkeys(values))
        return tuple(distinct), np.array([distinct.index(value) for value in values], dtype=np.int64)

    terms, terms_index = index([row.terms for row in rows])
    providers, provider_index = index([row.provider for row in rows])
    places, region_index = index([(row.region, frozenset(row.places)) for row in rows])
    tiers, tier_index = index([row.tier for row in rows])
    currencies, currency_index = index([row.currency for row in rows])

    def facts_of(number: int, today: date) -> OfferFacts:
        row = rows[number]
        machine = machines[keys.index((row.accelerator, row.count, row.fraction))]
        assert machine is not None
        age_days = (today - row.observed_on).days
        return OfferFacts(
            offer_id=number + 1, provider=row.provider, provider_name=row.provider.title(),
            sku=f"{row.accelerator}-{row.count}", region=row.region, tier=row.tier, accelerator=row.accelerator,
            gpu_count=row.count, gpu_fraction=row.fraction, gpu_memory_bytes=machine.device.memory_bytes,
            bandwidth_bytes_per_s=machine.device.bandwidth_bytes_per_s, link=machine.link, vcpu=row.vcpu,
            ram_bytes=int(row.ram_gib * GIB), price_amount=Decimal(row.price), price_currency=row.currency,
            price_unit=row.unit, price_observed_on=row.observed_on, price_observed_precision="day",
            price_age_days=age_days, stale=age_days > 180, floor=row.floor, estimated=row.estimated,
            source="price page", term_months=row.term_months,
            upfront=None if row.upfront is None else Decimal(row.upfront),
            recurring=None if row.upfront is None else Decimal(row.price),
        )  # fmt: skip

    return Market(
        version="test", machines=tuple(machine for machine in machines if machine),
        accelerators=tuple(name for name, _count, _part in keys), terms=terms, rates=RATES, providers=providers,
        region_codes=tuple(code for code, _keys in places), regions=tuple(words for _code, words in places),
        tiers=tiers, currencies=currencies, offer_id=np.arange(1, len(rows) + 1, dtype=np.int64),
        machine_index=np.array([keys.index((r.accelerator, r.count, r.fraction)) for r in rows], dtype=np.int64),
        terms_index=terms_index, provider_index=provider_index, region_index=region_index, tier_index=tier_index,
        currency_index=currency_index,
        price_micro=np.array([int(Decimal(row.price) * MICRO) for row in rows], dtype=np.int64),
        per_month=np.array([row.unit == "month" for row in rows], dtype=bool),
        estimated=np.array([row.estimated for row in rows], dtype=bool),
        floor=np.array([row.floor for row in rows], dtype=bool),
        observed_ordinal=np.array([row.observed_on.toordinal() for row in rows], dtype=np.int64),
        ram_bytes=np.array([int(row.ram_gib * GIB) for row in rows], dtype=np.int64),
        vcpu=np.array([row.vcpu for row in rows], dtype=np.float64),
        facts=facts_of,
        upfront_micro=np.array(
            [int(upfront_per_month(Decimal(r.upfront or 0), r.term_months) * MICRO) for r in rows], dtype=np.int64
        ),
    )  # fmt: skip


def setting(workload: ServingWorkload | BatchWorkload, market: Market | Sequence[Row]) -> LlmSetting:
    return LlmSetting(
        workload=workload,
        arch=architectures.resolve(workload.model),
        runtime=runtimes.resolve(workload.runtime.name, workload.runtime.version),
        constants=speed_constants.constants(),
        market=market if isinstance(market, Market) else make_market(market),
        at=AT,
    )
