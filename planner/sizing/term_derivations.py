"""How the cost of one run on each term of sale comes about."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal
from typing import Any

from planner.sizing import bill
from planner.sizing.offers import MICRO
from planner.sizing.quantities import Derivation, Term
from planner.sizing.results import Candidate, TermCost
from planner.sizing.setting import Setting

HOURS_PER_DAY = 24


def derive(setting: Setting[Any], candidate: Candidate, run_hours: float) -> dict[str, Derivation]:
    """Hours that are paid, the total, and from how many days a commitment pays, of each term by its number."""
    on_demand = [cost for cost in candidate.terms if cost.tier == "on_demand"]
    reference = min((float(cost.total) for cost in on_demand), default=None)
    found: dict[str, Derivation] = {}
    for number, cost in enumerate(candidate.terms, start=1):
        for made in _term(setting, candidate, cost, run_hours, reference):
            key = f"term_{number}_{made.figure}"
            found[key] = made.model_copy(update={"figure": key})
    return found


def _plain(symbol: str, value: float, unit: str = "1", source: str | None = None) -> Term:
    return Term(symbol=symbol, value=float(value), unit=unit, source=source)


def _term(
    setting: Setting[Any], candidate: Candidate, cost: TermCost, run_hours: float, reference: float | None
) -> Iterator[Derivation]:
    market = setting.market
    row = market.position(cost.offer_id)
    if row is None:
        return
    facts = market.facts(row, setting.at.date())
    read = f"{facts.source}, {facts.price_observed_on.isoformat()}"
    price = int(market.shown_price_micro(cost.currency)[row]) / MICRO
    upfront = market.shown_upfront_micro(cost.currency)
    machines = _plain("machines", candidate.machines_each)
    hours = _plain("run_hours", run_hours, "h")
    by_month = cost.tier in bill.COMMITTED_TIERS or facts.price_unit == "month"
    whole = float(bill.WHOLE_MONTH_HOURS)
    if by_month:
        term = (facts.term_months or 1) if cost.tier in bill.COMMITTED_TIERS else 1
        months = _plain("term_months", term, "month", facts.source)
        yield Derivation(
            figure="hours",
            formula=f"ceil(run_hours / (term_months * {whole:g})) * term_months * {whole:g}",
            terms=(hours, months),
            value=cost.hours_paid,
            unit="h",
        )
        each = price if facts.price_unit == "month" else price * whole
        first = 0.0 if upfront is None else int(upfront[row]) / MICRO
        yield Derivation(
            figure="total",
            formula=f"machines * hours_paid / {whole:g} * (monthly_price + upfront_per_month)",
            terms=(
                machines,
                _plain("hours_paid", cost.hours_paid, "h"),
                _plain("monthly_price", each, f"{cost.currency}/month", read),
                _plain("upfront_per_month", first, f"{cost.currency}/month", read),
            ),
            value=float(cost.total),
            unit=cost.currency,
        )
    else:
        terms = market.terms[market.terms_index[row]]
        once = bill.billed_hours(
            bill.Run(Decimal(str(run_hours)), Decimal(1), Decimal(str(run_hours))),
            terms.unit_s,
            terms.minimum_s,
        )
        yield Derivation(
            figure="hours",
            formula="billed_hours + repeated_hours",
            terms=(
                _plain("billed_hours", float(once), "h", "the run, up to the provider's billing unit"),
                _plain("repeated_hours", cost.hours_paid - float(once), "h", "done twice on spot machines"),
            ),
            value=cost.hours_paid,
            unit="h",
        )
        yield Derivation(
            figure="total",
            formula="machines * hours_paid * unit_price",
            terms=(
                machines,
                _plain("hours_paid", cost.hours_paid, "h"),
                _plain("unit_price", price, f"{cost.currency}/hour", read),
            ),
            value=float(cost.total),
            unit=cost.currency,
        )
    if cost.pays_from_days is not None and reference:
        length = (cost.term_months or 1) * bill.WHOLE_MONTH_HOURS
        count = max(Decimal(1), Decimal(str(cost.hours_paid)) / length)
        yield Derivation(
            figure="days",
            formula=f"total / terms / (on_demand_total / run_hours * {HOURS_PER_DAY})",
            terms=(
                _plain("total", float(cost.total), cost.currency),
                _plain(
                    "terms",
                    float(count.quantize(Decimal("0.000001"), ROUND_CEILING)),
                    "1",
                    "paid to their end",
                ),
                _plain("on_demand_total", reference, cost.currency),
                hours,
            ),
            value=cost.pays_from_days,
            unit="day",
        )
