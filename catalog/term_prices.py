"""Prices of storage and transfer as sources publish them: collected from a run, judged like machines' prices, written.

They replace what is known of the same storage, or of the same provider and region's transfer, as a whole; what was in
force before stays as history. What a run does not list stays, with its date. Shipped rows never take a run's place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import pairwise
from typing import TypeVar

from catalog.models import UNIT_PRICE_DIGITS, EgressTier, Refresh, SteppedQuerySet, StoragePrice
from catalog.sources.quotes import EgressQuote, StorageQuote

MOVE_MAXIMUM = Decimal(2)
SEEN = ("observed", "source", "note", "refresh_id", "is_default", "to_gb")
"""What of a step in force follows its source while its price is the same."""
DIGIT = Decimal(1).scaleb(-UNIT_PRICE_DIGITS["decimal_places"])

Step = TypeVar("Step", StorageQuote, EgressQuote)
Place = tuple[str, str]
"""A provider and region."""
StorageKey = tuple[str, str, str, str]
"""Provider, region, kind and name."""


@dataclass
class TermReading:
    """Steps of each storage and each region's transfer; ``contradictory`` say two things of one step."""

    storage: dict[StorageKey, dict[Decimal, StorageQuote]] = field(default_factory=dict)
    egress: dict[Place, dict[Decimal, EgressQuote]] = field(default_factory=dict)
    contradictory: set[StorageKey | Place] = field(default_factory=set)

    def add(self, one: StorageQuote | EgressQuote) -> None:
        if isinstance(one, StorageQuote):
            key = (one.provider, one.region, one.kind, one.name)
            known = self.storage.setdefault(key, {}).setdefault(one.from_gb, one)
            if known.amount_per_month != one.amount_per_month:
                self.contradictory.add(key)
            return
        place = (one.provider, one.region)
        step = self.egress.setdefault(place, {}).setdefault(one.from_gb, one)
        if step.amount_per_gb != one.amount_per_gb:
            self.contradictory.add(place)

    def settle(self, refused: Counter[str]) -> None:
        """Leave out what is no whole price: contradictions, steps that do not begin at zero, zero without a price."""
        for key, stored in list(self.storage.items()):
            amounts = [step.amount_per_month for step in stored.values()]
            if why := self._fault(key, list(stored.values()), amounts):
                refused[why] += 1
                del self.storage[key]
        for place, sent in list(self.egress.items()):
            if why := self._fault(place, list(sent.values()), [step.amount_per_gb for step in sent.values()]):
                refused[why] += 1
                del self.egress[place]

    def _fault(
        self, key: StorageKey | Place, steps: Sequence[StorageQuote | EgressQuote], amounts: Sequence[Decimal]
    ) -> str:
        """Why steps are no whole price; empty where they are."""
        ordered = sorted(steps, key=lambda step: step.from_gb)
        gaps = any(one.to_gb not in (None, other.from_gb) for one, other in pairwise(ordered))
        if key in self.contradictory:
            return "contradictory"
        if gaps or ordered[0].from_gb != 0:
            return "incomplete_terms"
        return "" if any(amounts) else "zero_price"

    @property
    def count(self) -> int:
        return sum(map(len, self.storage.values())) + sum(map(len, self.egress.values()))

    def without(self, keys: Iterable[StorageKey | Place]) -> TermReading:
        left_out = set(keys)
        return TermReading(
            {key: steps for key, steps in self.storage.items() if key not in left_out},
            {place: steps for place, steps in self.egress.items() if place not in left_out},
        )


def known_amounts(reading: TermReading) -> dict[StorageKey | Place, dict[Decimal, tuple[Decimal, str]]]:
    """What is in force of the storages and regions that a reading speaks of: amounts per byte unit by step."""
    found: dict[StorageKey | Place, dict[Decimal, tuple[Decimal, str]]] = {}
    providers = {key[0] for key in (*reading.storage, *reading.egress)}
    for price in StoragePrice.objects.in_force().filter(provider__in=providers):
        key = (price.provider_id, price.region, price.kind, price.name)
        found.setdefault(key, {})[price.from_gb] = (price.amount_per_month / price.per_bytes, price.currency)
    for tier in EgressTier.objects.in_force().filter(provider__in=providers):
        found.setdefault((tier.provider_id, tier.region), {})[tier.from_gb] = (
            tier.amount_per_gb / tier.per_bytes, tier.currency,
        )  # fmt: skip
    return found


def moved_too_far(
    reading: TermReading, known: Mapping[StorageKey | Place, Mapping[Decimal, tuple[Decimal, str]]]
) -> tuple[set[StorageKey | Place], int]:
    """Which of them moved by more than a factor of two at some step, and how many could be compared."""
    moved: set[StorageKey | Place] = set()
    compared = 0
    listed: list[tuple[StorageKey | Place, Decimal, Decimal, str]] = [
        (key, start, step.amount_per_month / step.per_bytes, step.currency)
        for key, steps in reading.storage.items()
        for start, step in steps.items()
    ]
    listed += [
        (place, start, step.amount_per_gb / step.per_bytes, step.currency)
        for place, steps in reading.egress.items()
        for start, step in steps.items()
    ]
    for key, start, now, currency in listed:
        before, before_currency = known.get(key, {}).get(start, (Decimal(0), ""))
        if not before or not now or currency != before_currency:
            continue
        compared += 1
        if max(now / before, before / now) > MOVE_MAXIMUM:
            moved.add(key)
    return moved, compared


def take(reading: TermReading, run: Refresh, source: str, at: datetime) -> int:
    """Write what a run read; how many storages and regions are new or cost something else now."""
    changed = 0
    observed = run.started_at.date().isoformat()
    for (provider, region, kind, name), steps in reading.storage.items():
        here = StoragePrice.objects.filter(provider=provider, region=region, kind=kind, name=name)
        prices = [
            StoragePrice(
                provider_id=provider, region=region, kind=kind, name=name, from_gb=one.from_gb, to_gb=end,
                amount_per_month=one.amount_per_month.quantize(DIGIT, ROUND_HALF_EVEN), per_bytes=one.per_bytes,
                currency=one.currency, is_default=one.is_default, note=one.note, source=source, observed=observed,
                refresh=run,
            )
            for one, end in _with_ends(steps)
        ]  # fmt: skip
        changed += replace(here, prices, at)
    for (provider, region), steps_out in reading.egress.items():
        known = EgressTier.objects.filter(provider=provider, region=region)
        tiers = [
            EgressTier(
                provider_id=provider, region=region, from_gb=one.from_gb, to_gb=end,
                amount_per_gb=one.amount_per_gb.quantize(DIGIT, ROUND_HALF_EVEN), per_bytes=one.per_bytes,
                currency=one.currency, note=one.note, source=source, observed=observed, refresh=run,
            )
            for one, end in _with_ends(steps_out)
        ]  # fmt: skip
        changed += replace(known, tiers, at)
    return changed


def _with_ends(steps: Mapping[Decimal, Step]) -> list[tuple[Step, Decimal | None]]:
    """Steps in their order, each with where the next one begins."""
    ordered = [steps[start] for start in sorted(steps)]
    ends = [following.from_gb for following in ordered[1:]] + [ordered[-1].to_gb]
    return list(zip(ordered, ends, strict=True))


def replace(
    known: SteppedQuerySet, rows: Sequence[StoragePrice] | Sequence[EgressTier], at: datetime
) -> bool:
    """Let these steps be the ones in force in the place of ``known``; whether any price is another.

    Steps that cost the same stay, seen on another day. Otherwise all of them become history and all new ones are added:
    half a list of steps is a price that nobody asks.
    """
    there = {step.from_gb: step for step in known.in_force()}
    if prices_of(there.values()) == prices_of(rows):
        for row in rows:
            step = there[row.from_gb]
            changed = [name for name in SEEN if getattr(step, name, None) != getattr(row, name, None)]
            for name in changed:
                setattr(step, name, getattr(row, name))
            if changed:
                step.save(update_fields=changed)
        return False
    known.in_force().update(replaced_at=at)
    for row in rows:
        row.recorded_at, row.first_observed = at, row.observed
    known.model._default_manager.bulk_create(rows)
    return True


def prices_of(steps: Iterable[StoragePrice | EgressTier]) -> list[tuple[Decimal | str | int | None, ...]]:
    """What two lists of steps must share to be the same price. But for the last, a step ends where the next begins."""
    ordered = sorted(steps, key=lambda step: step.from_gb)
    found: list[tuple[Decimal | str | int | None, ...]] = [
        (
            step.from_gb,
            amount_of(step),
            step.currency,
            step.per_bytes,
        )
        for step in ordered
    ]
    return [*found, *((step.to_gb,) for step in ordered[-1:])]


def amount_of(step: StoragePrice | EgressTier) -> Decimal:
    return step.amount_per_month if isinstance(step, StoragePrice) else step.amount_per_gb
