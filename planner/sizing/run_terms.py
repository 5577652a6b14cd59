"""What one run costs on each term of sale of its machine: on demand, committed, spot; here and elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

import numpy as np

from planner.sizing import bill
from planner.sizing.offers import MICRO, Integers, Market
from planner.sizing.results import OfferFacts, TermCost
from planner.sizing.setting import Placed, Setting
from planner.sizing.weighing import Weighed

TERMS_SHOWN = 8
HOURS_PER_DAY = 24


@dataclass(frozen=True)
class Priced:
    """One offer of the machine, its price in the shown currency."""

    row: int
    facts: OfferFacts
    per_unit: Decimal
    upfront_per_month: Decimal


def run_terms(
    setting: Setting[Any], weighed: Weighed, row: int, placed: Placed, hours: Decimal
) -> tuple[TermCost, ...]:
    """The cheapest offer of this very machine on every term: its provider's own, and another's where it costs less.

    On demand: billed hours × price; spot: the same with the hours expected to be done twice; by the month or
    committed: whole months, or whole terms, whether the run needs them or not. Machine time alone, for one run; the
    cheapest first. Leaves out offers without an exchange rate, estimates, and lowest asking prices of what is not
    committed.
    """
    market = weighed.market
    provider = int(market.provider_index[row])
    found: list[TermCost] = []
    here: dict[tuple[str, int | None], TermCost] = {}
    elsewhere: dict[tuple[str, int | None], TermCost] = {}
    for number in _same_machine(setting, weighed, row):
        cost = _cost(setting, weighed, int(number), placed, hours)
        if cost is None:
            continue
        best = here if int(market.provider_index[number]) == provider else elsewhere
        key = cost.tier, cost.term_months
        if key not in best or cost.total < best[key].total:
            best[key] = cost
    found += here.values()
    found += [cost for key, cost in elsewhere.items() if key not in here or cost.total < here[key].total]
    on_demand = [cost.total for cost in found if cost.tier == "on_demand"]
    reference = min(on_demand, default=None)
    ordered = sorted(found, key=lambda cost: (cost.total, cost.provider))[:TERMS_SHOWN]
    return tuple(_with_break_even(cost, reference, hours) for cost in ordered)


def _same_machine(setting: Setting[Any], weighed: Weighed, row: int) -> Integers:
    market = weighed.market
    committed = np.array([tier in bill.COMMITTED_TIERS for tier in market.tiers], dtype=bool)[
        market.tier_index
    ]
    rows = (
        (market.machine_index == market.machine_index[row]) & ~market.estimated & (committed | ~market.floor)
    )
    rows &= market.shown_price_micro(weighed.currency) >= 0
    if not setting.workload.interruptible:
        rows &= ~np.array([tier in bill.INTERRUPTIBLE_TIERS for tier in market.tiers], dtype=bool)[
            market.tier_index
        ]
    return np.flatnonzero(_cheapest_of_each(market, rows, weighed.currency))


def _cheapest_of_each(market: Market, rows: np.ndarray[Any, np.dtype[np.bool_]], currency: str) -> Any:
    """On demand and spot differ in price alone: of each provider the cheapest is enough. Commitments are all kept,
    since their terms differ."""
    price = market.shown_price_micro(currency)
    kept = np.zeros(len(market), dtype=bool)
    best: dict[tuple[int, int, bool], int] = {}
    for number in np.flatnonzero(rows):
        tier = int(market.tier_index[number])
        if market.tiers[tier] in bill.COMMITTED_TIERS:
            kept[number] = True
            continue
        key = (int(market.provider_index[number]), tier, bool(market.per_month[number]))
        if key not in best or price[number] < price[best[key]]:
            best[key] = int(number)
    kept[list(best.values())] = True
    return kept


def _cost(
    setting: Setting[Any], weighed: Weighed, row: int, placed: Placed, hours: Decimal
) -> TermCost | None:
    market, currency = weighed.market, weighed.currency
    facts = market.facts(row, setting.at.date())
    upfront = market.shown_upfront_micro(currency)
    priced = Priced(
        row=row,
        facts=facts,
        per_unit=Decimal(int(market.shown_price_micro(currency)[row])) / MICRO,
        upfront_per_month=Decimal(0 if upfront is None else int(upfront[row])) / MICRO,
    )
    total, paid, term = _paid(setting, weighed, priced, placed, hours)
    return TermCost(
        offer_id=facts.offer_id,
        provider=facts.provider_name,
        region=facts.region,
        tier=facts.tier,
        term_months=term,
        hours_paid=float(paid),
        total=bill.rounded(total, currency),
        currency=currency,
        stale=facts.stale,
        floor=facts.floor,
    )


def _paid(
    setting: Setting[Any], weighed: Weighed, priced: Priced, placed: Placed, hours: Decimal
) -> tuple[Decimal, Decimal, int | None]:
    """Cost of a run, hours that are paid of each machine, and the term in months."""
    machines, facts = placed.machines, priced.facts
    committed = facts.tier in bill.COMMITTED_TIERS
    if committed or facts.price_unit == "month":
        term = (facts.term_months or 1) if committed else 1
        a_term = term * bill.WHOLE_MONTH_HOURS
        terms = (hours / a_term).quantize(Decimal(1), ROUND_CEILING)
        months = terms * term
        unit = priced.per_unit if facts.price_unit == "month" else priced.per_unit * bill.WHOLE_MONTH_HOURS
        return (unit + priced.upfront_per_month) * months * machines, a_term * terms, facts.term_months
    terms_of = weighed.market.terms[weighed.market.terms_index[priced.row]]
    run = bill.Run(hours, Decimal(1), hours)
    paid = bill.billed_hours(run, terms_of.unit_s, terms_of.minimum_s)
    paid += bill.repeated_hours(paid, setting.rework(placed, facts.tier), terms_of)
    return priced.per_unit * paid * machines, paid, None


def _with_break_even(cost: TermCost, on_demand: Decimal | None, hours: Decimal) -> TermCost:
    """From how many days of work on a commitment costs less than the cheapest that is sold on demand."""
    if cost.tier not in bill.COMMITTED_TIERS or not on_demand or not hours:
        return cost
    a_day = on_demand / hours * HOURS_PER_DAY
    terms = max(
        Decimal(1), Decimal(str(cost.hours_paid)) / ((cost.term_months or 1) * bill.WHOLE_MONTH_HOURS)
    )
    days = cost.total / terms / a_day
    ends = (cost.term_months or 1) * bill.WHOLE_MONTH_HOURS / HOURS_PER_DAY
    return cost.model_copy(update={"pays_from_days": float(days) if days <= ends else None})


def advice(terms: tuple[TermCost, ...]) -> Iterator[tuple[str, TermCost]]:
    """What follows, as codes: the term that costs least, and the commitment nearest to paying."""
    if not terms:
        return
    yield "cheapest", terms[0]
    committed = [cost for cost in terms if cost.tier in bill.COMMITTED_TIERS]
    if not committed:
        return
    if terms[0].tier not in bill.COMMITTED_TIERS:
        paying = [cost for cost in committed if cost.pays_from_days is not None]
        if paying:
            yield "pays_from", min(paying, key=lambda cost: cost.pays_from_days or 0.0)
        else:
            yield "never_pays", committed[0]
