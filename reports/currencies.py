"""A stored answer shown in another currency: the same figures times one rate, which is shown with its date.

For readers only: what is stored, and the fingerprint over it, stay in the plan's own currency. Ranks stay too, since
one factor changes no order. Unit prices stay as their source states them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, TypeVar

from catalog.models import ExchangeRate
from planner.sizing import by_token
from planner.sizing.bill import rounded, share
from planner.sizing.results import (
    Bill,
    Candidate,
    Comparison,
    FewerReplicas,
    OtherLayout,
    Relief,
    Remedy,
    SmallestChange,
    TermCost,
)
from reports.sheets import Sheet

CURRENCIES = ("USD", "JPY", "EUR")
SMALL = Decimal("0.000001")


@dataclass(frozen=True)
class Rates:
    """Units of each currency per USD, and the day of the newest of them."""

    on: date
    per_usd: dict[str, Decimal]

    def factor(self, source: str, target: str) -> Decimal | None:
        if source not in self.per_usd or target not in self.per_usd:
            return None
        return self.per_usd[target] / self.per_usd[source]


def rates(on: date) -> Rates | None:
    """What was known on the day of the plan's prices; None where nothing was."""
    latest = ExchangeRate.latest(on)
    found = {name: latest[name] for name in CURRENCIES if name in latest and name != "USD"}
    if not found:
        return None
    return Rates(
        max(each.on for each in found.values()),
        {name: each.per_usd for name, each in found.items()} | {"USD": Decimal(1)},
    )


def shown_in(sheet: Sheet, currency: str, known: Rates | None) -> Sheet:
    """The sheet in ``currency``; itself where that is its own already, or where no rate is known."""
    workloads = []
    is_converted = False
    for item in sheet.workloads:
        own = str(item.comparison.workload.get("currency") or "USD")
        factor = known.factor(own, currency) if known and own != currency else None
        if factor is None or known is None:
            workloads.append(item)
            continue
        is_converted = True
        workloads.append(replace(item, comparison=_converted(item.comparison, currency, factor, known)))
    if not is_converted or known is None:
        return sheet
    return replace(sheet, workloads=tuple(workloads), converted=(currency, known.on, known.per_usd))


def _converted(comparison: Comparison, currency: str, factor: Decimal, known: Rates) -> Comparison:
    workload = comparison.workload | {"currency": currency}
    if isinstance(workload.get("budget_per_month"), int | float):
        workload["budget_per_month"] = float(
            rounded(Decimal(str(workload["budget_per_month"])) * factor, currency)
        )
    for name in ("managed_input_per_million", "managed_output_per_million"):
        if isinstance(workload.get(name), int | float):
            workload[name] = float(f"{Decimal(str(workload[name])) * factor:.6g}")
    services = comparison.services
    changes: dict[str, Any] = {
        "workload": workload,
        "services": None if services is None else by_token.converted(services, currency, factor),
        "candidates": tuple(_candidate(each, currency, factor, known) for each in comparison.candidates),
    }
    if comparison.cheapest is not None:
        bill = next(
            (
                each.monthly
                for each in changes["candidates"]
                if each.offer.offer_id == comparison.cheapest.offer.offer_id
            ),
            None,
        )
        total = bill.total if bill else rounded(comparison.cheapest.total * factor, currency)
        lowest = comparison.cheapest
        update: dict[str, Any] = {"total": total, "currency": currency}
        update["unit_costs"] = {name: _small(amount, factor) for name, amount in lowest.unit_costs.items()}
        if lowest.job_cost is not None:
            update["job_cost"] = share(lowest.job_cost * factor, currency)
        changes["cheapest"] = lowest.model_copy(update=update)
    changes["remedies"] = tuple(
        _limit(_month(each, currency, factor), currency, factor) for each in comparison.remedies
    )
    if comparison.smallest_change is not None:
        changes["smallest_change"] = _limit(comparison.smallest_change, currency, factor)
    return comparison.model_copy(update=changes)


Monthly = TypeVar("Monthly", FewerReplicas, OtherLayout, Relief, Remedy, TermCost)


def _month(each: Monthly, currency: str, factor: Decimal) -> Monthly:
    """A month that is told beside the candidates, in the other currency."""
    return each.model_copy(update={"total": rounded(each.total * factor, currency), "currency": currency})


Limited = TypeVar("Limited", SmallestChange, Remedy)
AMOUNTS = frozenset({"budget_per_month", "price_per_month_maximum"})


def _limit(each: Limited, currency: str, factor: Decimal) -> Limited:
    """A change whose value is an amount, in the other currency."""
    if each.change not in AMOUNTS:
        return each
    return each.model_copy(update={"value": float(rounded(Decimal(str(each.value)) * factor, currency))})


def _candidate(candidate: Candidate, currency: str, factor: Decimal, known: Rates) -> Candidate:
    per_million = candidate.per_million_tokens
    changes: dict[str, Any] = {
        "monthly": _bill(candidate.monthly, currency, factor, known),
        "per_million_tokens": per_million.model_copy(
            update={
                name: _small(getattr(per_million, name), factor) for name in type(per_million).model_fields
            }
        ),
        "unit_costs": {name: _small(amount, factor) for name, amount in candidate.unit_costs.items()},
        "misses": tuple(
            miss.model_copy(
                update={
                    "asked": miss.asked * float(factor),
                    "got": None if miss.got is None else miss.got * float(factor),
                }
            )
            if miss.target == "budget_per_month"
            else miss
            for miss in candidate.misses
        ),
    }
    if candidate.batch is not None and candidate.batch.cost is not None:
        cost = share(candidate.batch.cost * factor, currency)
        changes["batch"] = candidate.batch.model_copy(update={"cost": cost})
    if candidate.fewer_replicas is not None:
        changes["fewer_replicas"] = _month(candidate.fewer_replicas, currency, factor)
    if candidate.other_layout is not None:
        changes["other_layout"] = _month(candidate.other_layout, currency, factor)
    changes["reliefs"] = tuple(_month(each, currency, factor) for each in candidate.reliefs)
    changes["terms"] = tuple(_month(each, currency, factor) for each in candidate.terms)
    changes["smallest"] = tuple(
        each.model_copy(
            update={
                "run_cost": None if each.run_cost is None else share(each.run_cost * factor, currency),
                "currency": currency,
            }
        )
        for each in candidate.smallest
    )
    return candidate.model_copy(update=changes)


def _bill(bill: Bill, currency: str, factor: Decimal, known: Rates) -> Bill:
    """Each line is converted and rounded, and the total is their sum, as in every bill."""
    lines = tuple(
        line
        if line.amount is None
        else line.model_copy(update={"amount": rounded(line.amount * factor, currency)})
        for line in bill.lines
    )
    total = sum((line.amount for line in lines if line.amount is not None), Decimal(0))
    rate = known.per_usd[currency] if currency != "USD" else None
    return bill.model_copy(
        update={"lines": lines, "total": total, "currency": currency, "rate": rate, "rate_on": known.on}
    )


def _small(amount: Decimal | None, factor: Decimal) -> Decimal | None:
    """To four decimals, and below that to two digits: nothing becomes 0 by being told in another currency."""
    if amount is None or not amount:
        return amount
    found = amount * factor
    step = SMALL if abs(found) >= SMALL else Decimal(1).scaleb(found.adjusted() - 1)
    return found.quantize(step, ROUND_HALF_UP)
