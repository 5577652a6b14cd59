"""The market as the arithmetic sees it: columns of offers, billing terms, exchange rates. No Django, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.sizing.devices import Machine
from planner.sizing.results import OfferFacts

MICRO = 1_000_000
MICRO_UNIT = Decimal("0.000001")

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class StoragePrice:
    """Block storage kept for a month, per GB (10⁹ bytes)."""

    price_per_gb_month: Decimal
    currency: str
    source: str
    observed_on: date | None = None


@dataclass(frozen=True)
class EgressStep:
    """Traffic above ``from_gb`` GB a month costs ``price_per_gb``, until the next step."""

    from_gb: Decimal
    price_per_gb: Decimal


@dataclass(frozen=True)
class EgressPrice:
    """Transfer out, in steps; a free allowance is a first step at price 0. No steps = unknown."""

    steps: tuple[EgressStep, ...]
    currency: str
    source: str
    observed_on: date | None = None
    until_gb: Decimal | None = None
    """Where the last known step ends: what more costs is unknown. None: it has no end."""


@dataclass(frozen=True)
class Terms:
    """How one provider bills in one region. ``None`` means not known, never free."""

    provider: str
    unit_s: int | None = None
    minimum_s: int | None = None
    storage: StoragePrice | None = None
    egress: EgressPrice | None = None
    source: str | None = None
    cap_hours: Decimal | None = None
    """Hours of a month after which the provider charges no more: its own month, or a number of days."""

    def over(self, months: int) -> Terms:
        """The same for a machine that is kept for several months."""
        if months == 1 or self.cap_hours is None:
            return self
        return replace(self, cap_hours=self.cap_hours * months)


@dataclass(frozen=True)
class Rates:
    """Exchange rates of one day: units of each currency per USD."""

    on: date | None = None
    per_usd: Mapping[str, Decimal] = field(default_factory=lambda: {"USD": Decimal(1)})
    source: str = ""

    def factor(self, source: str, target: str) -> Decimal | None:
        """Units of ``target`` per unit of ``source``; None where a rate is missing."""
        if source == target:
            return Decimal(1)
        if source not in self.per_usd or target not in self.per_usd:
            return None
        return self.per_usd[target] / self.per_usd[source]


def shown_unit_price(price: Decimal, factor: Decimal) -> Decimal:
    """Price per hour or month in the shown currency, to six places.

    The one place where a machine's price is converted: the bill multiplies this figure, and so does the
    ranking in integers, which is why both agree to the cent.
    """
    return (price * factor).quantize(MICRO_UNIT, ROUND_HALF_UP)


def upfront_per_month(upfront: Decimal | None, term_months: int | None) -> Decimal:
    """What a month of the term bears of a fee that is paid once, to six places: upfront ÷ months; 0 without a fee."""
    if not upfront or not term_months:
        return Decimal(0)
    return (upfront / term_months).quantize(MICRO_UNIT, ROUND_HALF_UP)


@dataclass(eq=False)
class Market:
    """Comparable offers in columns, all of one length; read-only after it was made.

    Identical machines share an entry of ``machines`` and are sized once. ``facts(i, today)`` makes the
    readable row of one offer, only for rows that are shown.
    """

    version: str
    machines: tuple[Machine, ...]
    accelerators: tuple[str, ...]
    """Catalog name of the accelerator of each entry of ``machines``."""
    terms: tuple[Terms, ...]
    rates: Rates
    providers: tuple[str, ...]
    region_codes: tuple[str, ...]
    regions: tuple[frozenset[str], ...]
    """What a region filter may say to mean each region, in lower case; empty where the source names none."""
    tiers: tuple[str, ...]
    currencies: tuple[str, ...]
    offer_id: Integers
    machine_index: Integers
    terms_index: Integers
    provider_index: Integers
    region_index: Integers
    tier_index: Integers
    currency_index: Integers
    price_micro: Integers
    """Micro-units of the offer's own currency, for the whole machine, per hour or per month. Of a commitment that is
    paid upfront in part or whole: what is paid beside that, which may be nothing."""
    per_month: Flags
    estimated: Flags
    floor: Flags
    observed_ordinal: Integers
    ram_bytes: Integers
    vcpu: NDArray[np.float64]
    facts: Callable[[int, date], OfferFacts]
    not_comparable_count: int = 0
    upfront_micro: Integers | None = None
    """Micro-units of the offer's own currency: a month's share of what is paid upfront for a machine. None: nowhere."""
    storage_bytes_per_s: NDArray[np.float64] | None = None
    """What the machine lets through to network storage, sustained; NaN where no source says. None: nowhere."""
    _shown: dict[str, Integers] = field(default_factory=dict)
    _alike: dict[bool, tuple[Integers, Integers, Integers]] = field(default_factory=dict)
    _tie_rank: Integers | None = None
    _position: dict[int, int] | None = None

    def __len__(self) -> int:
        return len(self.offer_id)

    def only(self, row: int) -> Market:
        """The market with one offer alone."""
        one = np.array([row])
        zero = np.zeros(1, dtype=np.int64)

        def picked(values: tuple[Any, ...], index: Integers) -> tuple[Any, ...]:
            return (values[int(index[row])],)

        facts = self.facts
        return Market(
            version=f"{self.version}/{int(self.offer_id[row])}",
            machines=picked(self.machines, self.machine_index),
            accelerators=picked(self.accelerators, self.machine_index),
            terms=picked(self.terms, self.terms_index),
            rates=self.rates,
            providers=picked(self.providers, self.provider_index),
            region_codes=picked(self.region_codes, self.region_index),
            regions=picked(self.regions, self.region_index),
            tiers=picked(self.tiers, self.tier_index),
            currencies=picked(self.currencies, self.currency_index),
            offer_id=self.offer_id[one],
            machine_index=zero,
            terms_index=zero,
            provider_index=zero,
            region_index=zero,
            tier_index=zero,
            currency_index=zero,
            price_micro=self.price_micro[one],
            per_month=self.per_month[one],
            estimated=self.estimated[one],
            floor=self.floor[one],
            observed_ordinal=self.observed_ordinal[one],
            ram_bytes=self.ram_bytes[one],
            vcpu=self.vcpu[one],
            facts=lambda _row, today: facts(row, today),
            upfront_micro=None if self.upfront_micro is None else self.upfront_micro[one],
            storage_bytes_per_s=None if self.storage_bytes_per_s is None else self.storage_bytes_per_s[one],
        )

    def position(self, offer_id: int) -> int | None:
        """Row of an offer, None where the market does not hold it."""
        if self._position is None:
            self._position = {int(number): row for row, number in enumerate(self.offer_id)}
        return self._position.get(offer_id)

    def shown_price_micro(self, currency: str) -> Integers:
        """Unit prices in micro-units of ``currency``; -1 where there is no rate."""
        return self._converted("price", self.price_micro, currency)

    def shown_upfront_micro(self, currency: str) -> Integers | None:
        """A month's share of what is paid upfront for each machine, likewise; None where no offer asks for it."""
        if self.upfront_micro is None or not self.upfront_micro.any():
            return None
        return np.maximum(self._converted("upfront", self.upfront_micro, currency), 0)

    def _converted(self, column: str, micro: Integers, currency: str) -> Integers:
        key = f"{column} {currency}"
        if key not in self._shown:
            shown = np.full(len(self), -1, dtype=np.int64)
            for index, own in enumerate(self.currencies):
                rows = self.currency_index == index
                factor = self.rates.factor(own, currency)
                if factor is None:
                    continue
                if own == currency:
                    shown[rows] = micro[rows]
                    continue
                distinct, inverse = np.unique(micro[rows], return_inverse=True)
                converted = [
                    int(shown_unit_price(Decimal(int(price)) * MICRO_UNIT, factor) * MICRO)
                    for price in distinct
                ]
                shown[rows] = np.array(converted, dtype=np.int64)[inverse]
            self._shown[key] = shown
        return self._shown[key]

    def billed_alike(self, *, by_machine: bool) -> tuple[Integers, Integers, Integers]:
        """Groups of offers with the same billed hours: their keys, a row of each, and the group of every offer.

        Terms and tier decide; for jobs the machine too, for it decides how long they run.
        """
        if by_machine not in self._alike:
            key = self.terms_index * max(1, len(self.tiers)) + self.tier_index
            if by_machine:
                key = key * max(1, len(self.machines)) + self.machine_index
            distinct, first, inverse = np.unique(key, return_index=True, return_inverse=True)
            self._alike[by_machine] = (distinct, first, inverse)
        return self._alike[by_machine]

    def tie_rank(self) -> Integers:
        """Position of each offer by what breaks ties and never changes: more bandwidth, more memory, more RAM,
        more vCPU, newer price, then the older row."""
        if self._tie_rank is None:
            bandwidth = np.array([m.device.bandwidth_bytes_per_s for m in self.machines])
            memory = np.array([m.device.memory_bytes for m in self.machines])
            order = np.lexsort(
                (
                    self.offer_id,
                    -self.observed_ordinal,
                    -self.vcpu,
                    -self.ram_bytes,
                    -memory[self.machine_index] if len(self) else self.offer_id,
                    -bandwidth[self.machine_index] if len(self) else self.offer_id,
                )
            )
            rank = np.empty(len(self), dtype=np.int64)
            rank[order] = np.arange(len(self))
            self._tie_rank = rank
        return self._tie_rank
