"""Whether a run's prices can be believed: collected, compared with those in force, held if they look odd."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from catalog.models import offer_key
from catalog.sources import Source
from catalog.sources.quotes import EgressQuote, Page, Quote, Rate, Refused, SourceFailure, StorageQuote
from catalog.term_prices import Place, StorageKey, TermReading, moved_too_far

Key = str
"""An offer's key."""
TermKey = StorageKey | Place

MOVE_MAXIMUM = {"spot": Decimal(5)}
MOVE_MAXIMUM_ELSE = Decimal(2)
"""A price that moved by more than this factor is kept back; many of them hold the run."""
ODD_SHARE_MAXIMUM = 0.01
"""Of all rows, as many may be broken, and of all prices as many may have moved too far."""
GPU_COUNT_MAXIMUM = 1025
"""No machine has so many."""
UNREADABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, breaks of lines, marks that turn the direction of what follows, and halves of characters."""
RATE_MOVE_MAXIMUM = Decimal("1.25")
"""No currency that is followed here moved so far between two runs."""


class InForce(NamedTuple):
    """The price that holds until the run is taken."""

    amount: Decimal
    currency: str
    unit: str


def can_be_kept(quote: Quote) -> bool:
    """Whether its texts can be stored and shown (PostgreSQL refuses NUL, terminals obey others) and its figures fit."""
    texts = (quote.sku, quote.region, quote.tier_detail, quote.as_written, quote.fabric, quote.note)
    figures = (
        (quote.gpu_count, GPU_COUNT_MAXIMUM), (quote.vcpu, Decimal(10**6)), (quote.ram_gib, Decimal(10**8)),
        (quote.gpu_memory_gib, Decimal(10**6)),
    )  # fmt: skip
    return (
        bool(quote.sku.strip())
        and not any(UNREADABLE.search(text) for text in texts)
        and all(figure is None or 0 <= figure < most for figure, most in figures)
        and 0 < quote.gpu_fraction <= 1
    )


def key_of(source: Source, quote: Quote) -> Key:
    count = quote.gpu_count if quote.sold_per_gpu else None
    provider = quote.provider or source.provider
    return offer_key(provider, quote.sku, quote.region, quote.tier, quote.tier_detail, count)


@dataclass
class Reading:
    """What the pages of a run say."""

    quotes: dict[Key, Quote] = field(default_factory=dict)
    contradictory: set[Key] = field(default_factory=set)
    rates: dict[str, Rate] = field(default_factory=dict)
    terms: TermReading = field(default_factory=TermReading)
    refused: Counter[str] = field(default_factory=Counter)
    item_count: int = 0
    broken_count: int = 0

    @property
    def listed_count(self) -> int:
        return len(self.quotes) + len(self.contradictory) + len(self.rates) + self.terms.count


@dataclass(frozen=True)
class Judgement:
    """``reason`` is empty where the run may be taken; for ``kept_back`` the old price stays in force."""

    reason: str = ""
    detail: str = ""
    kept_back: frozenset[Key] = frozenset()
    terms_kept_back: frozenset[TermKey] = frozenset()


def read_pages(source: Source, pages: Iterable[Page], on: date) -> Reading:
    """Collect quotes by machine; where two prices claim to hold on the same day, neither does."""
    reading = Reading()
    for one in source.parse(pages, on):
        reading.item_count += 1
        if isinstance(one, Refused):
            reading.refused[one.reason] += 1
            reading.broken_count += one.broken
            continue
        if isinstance(one, StorageQuote | EgressQuote):
            reading.terms.add(one)
            continue
        if isinstance(one, Rate):
            reading.rates[one.currency] = one
            continue
        if not can_be_kept(one):
            reading.refused["cannot_be_kept"] += 1
            reading.broken_count += 1
            continue
        key = key_of(source, one)
        other = reading.quotes.get(key)
        if other is None or _begins(other) < _begins(one):
            reading.quotes[key] = one
            reading.contradictory.discard(key)
        elif other.amount != one.amount and _begins(other) == _begins(one):
            reading.contradictory.add(key)
    for key in reading.contradictory:
        del reading.quotes[key]
    reading.refused["contradictory"] += len(reading.contradictory)
    reading.terms.settle(reading.refused)
    return reading


def _begins(quote: Quote) -> date:
    return quote.effective_from or date.min


def judge(
    source: Source,
    reading: Reading,
    in_force: Mapping[Key, InForce],
    last_good_count: int | None,
    rates: Mapping[str, Decimal],
    known_terms: Mapping[TermKey, Mapping[Decimal, tuple[Decimal, str]]] | None = None,
) -> Judgement:
    """Take, keep back or hold; raises ``SourceFailure`` where there is nothing to hold."""
    listed, broken = reading.listed_count, reading.broken_count
    if not reading.quotes and not reading.rates and not reading.terms.count:
        raise SourceFailure("no_prices", f"{reading.item_count} rows read")
    if broken > ODD_SHARE_MAXIMUM * (listed + broken):
        raise SourceFailure("broken_rows", f"{broken} of {listed + broken}")
    if last_good_count is not None and listed < (1 - source.fall_maximum) * last_good_count:
        return Judgement("fewer_prices", f"{listed} after {last_good_count}")
    is_listed_anew = last_good_count and reading.quotes and not source.by_region
    if is_listed_anew and not any(key in in_force for key in reading.quotes):
        return Judgement("other_machines", f"{listed}")
    jumped = [
        currency
        for currency, rate in reading.rates.items()
        if currency in rates and _factor(rate.per_usd, rates[currency]) > RATE_MOVE_MAXIMUM
    ]
    if jumped:
        return Judgement("rates_moved", ", ".join(sorted(jumped))[:200])
    compared = [key for key, quote in reading.quotes.items() if _comparable(quote, in_force.get(key))]
    moved = frozenset(key for key in compared if _moved_too_far(reading.quotes[key], in_force[key]))
    terms_moved, terms_compared = moved_too_far(reading.terms, known_terms or {})
    odd, all_compared = len(moved) + len(terms_moved), len(compared) + terms_compared
    if odd > ODD_SHARE_MAXIMUM * all_compared:
        return Judgement("prices_moved", f"{odd} of {all_compared}")
    return Judgement(kept_back=moved, terms_kept_back=frozenset(terms_moved))


def _comparable(quote: Quote, price: InForce | None) -> bool:
    return price is not None and (price.currency, price.unit) == (quote.currency, quote.unit)


def _factor(one: Decimal, other: Decimal) -> Decimal:
    return max(one / other, other / one)


def _moved_too_far(quote: Quote, price: InForce) -> bool:
    return _factor(quote.amount, price.amount) > MOVE_MAXIMUM.get(quote.tier, MOVE_MAXIMUM_ELSE)
