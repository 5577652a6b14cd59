"""Beside an answer: the shipped prices by the token of its very model, and the one typed with the question."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from catalog.managed import ManagedPrice, managed_prices
from planner.kinds import by_rate
from planner.sizing.by_token import PRICE_STEP, services_month
from planner.sizing.offers import Rates
from planner.sizing.results import Candidate, Comparison
from planner.sizing.token_prices import TokenPrice


def with_services(found: Comparison, rates: Rates) -> Comparison:
    """The comparison with the month that services ask for; as it is where the work has no tokens."""
    first = found.candidates[0] if found.candidates else None
    if first is None or first.rank != 1 or not _length(found.workload, "typical"):
        return found
    millions = millions_of(first, found.workload)
    prices = [*_typed(found.workload), *_shipped(found.workload, rates)]
    services = services_month(first, millions, prices) if any(millions) else None
    return found if services is None else found.model_copy(update={"services": services})


def millions_of(candidate: Candidate, workload: Mapping[str, Any]) -> tuple[float, float]:
    """Tokens in and out of a month that the answer counts, in millions; zeros where the work has none.

    As stated, or of a stated rate; else monthly total ÷ the price of a million, in the mix of the typical request.
    """
    stated = by_rate.millions_a_month(workload)
    if stated is not None:
        return stated
    cost = candidate.per_million_tokens.all
    taken, made = (workload.get(name, {}).get("typical") or 0 for name in ("input_tokens", "output_tokens"))
    if not cost or not taken or not made:
        return 0.0, 0.0
    requests_millions = float(candidate.monthly.total / cost) / (taken + made)
    return requests_millions * taken, requests_millions * made


def _length(workload: Mapping[str, Any], part: str) -> float:
    """Of a request, in and out; 0 where the work has none."""
    lengths = (workload.get(name) or {} for name in ("input_tokens", "output_tokens"))
    return sum(float(length.get(part) or 0) for length in lengths)


def _typed(workload: Mapping[str, Any]) -> list[TokenPrice]:
    """The price typed with the question, where both sides are."""
    taken, made = (workload.get(f"managed_{side}_per_million") for side in ("input", "output"))
    if not taken or not made:
        return []
    return [
        TokenPrice(
            input_per_million=Decimal(str(taken)),
            output_per_million=Decimal(str(made)),
            currency=str(workload.get("currency") or "USD"),
        )
    ]


def _shipped(workload: Mapping[str, Any], rates: Rates) -> list[TokenPrice]:
    """Of services that are not said to have withdrawn the model, nor known to have too short a context for it."""
    currency = str(workload.get("currency") or "USD")
    name = str((workload.get("model") or {}).get("id") or "")
    longest = _length(workload, "maximum")
    found = []
    for one in _by_model().get(name.casefold(), ()):
        factor = rates.factor(one.currency, currency)
        if factor is None or (one.context_tokens is not None and one.context_tokens < longest):
            continue
        found.append(
            TokenPrice(
                service=one.service,
                input_per_million=_in(one.input_per_million, factor),
                output_per_million=_in(one.output_per_million, factor),
                currency=currency,
                context_tokens=one.context_tokens,
                source=one.source,
                observed=one.observed,
            )
        )
    return found


def _in(amount: Decimal, factor: Decimal) -> Decimal:
    return amount if factor == 1 else (amount * factor).quantize(PRICE_STEP)


@cache
def _by_model() -> dict[str, tuple[ManagedPrice, ...]]:
    found: dict[str, list[ManagedPrice]] = {}
    for one in managed_prices().values():
        if not one.withdrawn:
            found.setdefault(one.model.casefold(), []).append(one)
    return {name: tuple(prices) for name, prices in found.items()}
