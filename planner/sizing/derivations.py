"""How the bill of a candidate and the memory it leaves come about, for every kind of workload."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from planner.sizing import bill
from planner.sizing.bill import HOUR_STEPS, MINOR_UNITS, Run
from planner.sizing.offers import Terms, shown_unit_price
from planner.sizing.quantities import Derivation, Term
from planner.sizing.results import Bill, BillLine, Candidate
from planner.sizing.setting import Setting

ROUNDED = "floor(({amount}) * minor_units + 0.5) / minor_units"
AT_LEAST_ONE = "max(floor(({amount}) * minor_units + 0.5), 1) / minor_units"
"""Of an amount that is the smallest unit: it is never rounded to nothing."""


def derive_money(setting: Setting[Any], candidate: Candidate, run: Run) -> dict[str, Derivation]:
    """Billed hours, each line whose amount is known, and the total."""
    monthly, market = candidate.monthly, setting.market
    found = [_total(candidate)]
    row = market.position(candidate.offer.offer_id)
    terms = None if row is None else market.terms[market.terms_index[row]]
    if terms is not None:
        each = run.of_each(monthly.sets)
        if monthly.sets > 1:
            found.append(_sets(candidate, run))
        found.append(_hours(candidate, bill.paid(each, candidate.offer.tier), terms.over(monthly.months)))
    for line in monthly.lines:
        made = _line(setting, candidate, line, terms)
        if made is not None:
            found.append(made)
    return {item.figure: item for item in found}


def derive_room(setting: Setting[Any], candidate: Candidate) -> dict[str, Derivation]:
    """What of the usable memory is kept free, and what is left beside it."""
    memory = candidate.memory
    terms = (
        _plain("headroom_fraction", setting.workload.headroom_fraction, "1", "as entered"),
        _plain("usable_bytes", memory.usable_bytes, "byte"),
        _plain("needed_bytes", memory.needed_bytes, "byte"),
    )
    spare = max(0, memory.usable_bytes - memory.needed_bytes)
    kept = min(memory.headroom_bytes, spare)
    formulas = {
        "headroom_bytes": "min(headroom_fraction * usable_bytes, max(0, usable_bytes - needed_bytes))",
        "free_bytes": "max(0, usable_bytes - needed_bytes - headroom_fraction * usable_bytes)",
        "over_bytes": "max(0, needed_bytes - usable_bytes)",
    }
    values = {
        "headroom_bytes": kept,
        "free_bytes": spare - kept,
        "over_bytes": max(0, memory.needed_bytes - memory.usable_bytes),
    }
    return {
        name: Derivation(
            figure=name,
            formula=formula,
            terms=tuple(term for term in terms if term.symbol in formula),
            value=values[name],
            unit="byte",
        )
        for name, formula in formulas.items()
        if name != "over_bytes" or values[name]
    }


def _plain(symbol: str, value: float, unit: str = "1", source: str | None = None) -> Term:
    return Term(symbol=symbol, value=value, unit=unit, source=source)


def minor_units(currency: str) -> Term:
    """What ``ROUNDED`` rounds to."""
    return _plain("minor_units", MINOR_UNITS[currency], "1", "smallest units of the currency")


def of_one_run(figure: str, runs: str, monthly: Bill, run: Run, cost: Decimal) -> Derivation:
    """Cost of one run or job, as ``bill.of_one_run`` counts it; ``runs`` names what the month has several of."""
    terms = [_plain("monthly_total", float(monthly.total), monthly.currency)]
    terms.append(_plain(runs, float(run.starts), "1/month", "schedule"))
    formula = f"monthly_total / {runs}"
    if not 0 < cost * MINOR_UNITS[monthly.currency] < 1:
        terms.append(minor_units(monthly.currency))
        formula = ROUNDED.format(amount=formula)
    return Derivation(
        figure=figure,
        formula=formula,
        terms=tuple(terms),
        value=float(cost),
        unit=monthly.currency,
    )


def _total(candidate: Candidate) -> Derivation:
    monthly = candidate.monthly
    known = [line for line in monthly.lines if line.amount is not None]
    return Derivation(
        figure="monthly_total",
        formula=" + ".join(f"{line.what}_amount" for line in known) or "0",
        terms=tuple(
            _plain(f"{line.what}_amount", float(line.amount or 0), monthly.currency, line.source)
            for line in known
        ),
        value=float(monthly.total),
        unit=monthly.currency,
    )


def _sets(candidate: Candidate, run: Run) -> Derivation:
    """Sets of machines side by side: hours of all jobs of a month ÷ hours that a month has, up."""
    sets = candidate.monthly.sets
    terms = [
        _plain("hours_each", float(run.hours_per_start), "h"),
        _plain("starts", float(run.starts), "1/month", "schedule"),
        _plain("month_hours", float(run.month_hours), "h", "what a month holds"),
    ]
    again = ""
    rework = next((line for line in candidate.monthly.lines if line.what == "rework"), None)
    if rework is not None and candidate.monthly.hours:
        again = " * (1 + rework_fraction)"
        share = rework.quantity / (candidate.machines * candidate.monthly.hours)
        terms.append(_plain("rework_fraction", share, "1", "done twice on spot machines"))
    return Derivation(
        figure="sets",
        formula=f"ceil(hours_each{again} * starts / month_hours)",
        terms=tuple(terms),
        value=sets,
        unit="1",
    )


def _hours(candidate: Candidate, run: Run, terms: Terms) -> Derivation:
    """Starts × the time of each, up to the provider's billing unit and minimum, at most what can be billed."""
    each, used = "hours_each", [_plain("hours_each", float(run.hours_per_start), "h", "schedule")]
    if terms.unit_s:
        each = f"ceil({each} * 3600 / unit_s) * unit_s / 3600"
        used.append(_plain("unit_s", terms.unit_s, "s", terms.source))
    if terms.minimum_s:
        each = f"max({each}, minimum_s / 3600)"
        used.append(_plain("minimum_s", terms.minimum_s, "s", terms.source))
    sets = candidate.monthly.sets if candidate.offer.tier not in bill.COMMITTED_TIERS else 1
    used.append(_plain("starts", float(run.starts * sets), "1/month", "schedule"))
    starts = "starts"
    if sets > 1:
        starts = "starts / sets"
        used.append(_plain("sets", sets))
    ceiling = max(run.hours_ceiling, run.hours_per_start * run.starts)
    used.append(_plain("hours_ceiling", float(ceiling), "h", "what a month holds"))
    bounded = f"min({starts} * {each}, hours_ceiling)"
    if terms.cap_hours is not None:
        bounded = f"min({starts} * {each}, hours_ceiling, cap_hours)"
        used.append(_plain("cap_hours", float(terms.cap_hours), "h", terms.source))
    return Derivation(
        figure="billed_hours",
        formula=f"{_steps(bounded, candidate.monthly.hours)} / {HOUR_STEPS}",
        terms=tuple(used),
        value=candidate.monthly.hours,
        unit="h",
    )


def _steps(bounded: str, hours: float) -> str:
    """Hours in steps, half up, and one step where they are less."""
    steps = f"floor({bounded} * {HOUR_STEPS} + 0.5)"
    return f"max({steps}, 1)" if hours * HOUR_STEPS <= 1 else steps


def _line(
    setting: Setting[Any], candidate: Candidate, line: BillLine, terms: Terms | None
) -> Derivation | None:
    if line.amount is None or line.unit_price is None or line.unit_price_currency is None:
        return None
    currency = candidate.monthly.currency
    factor = setting.market.rates.factor(line.unit_price_currency, currency)
    if factor is None:
        return None
    amount, used = _amount(candidate, line, factor, terms)
    is_least = line.amount * MINOR_UNITS[currency] == 1
    return Derivation(
        figure=f"{line.what}_line",
        formula=(AT_LEAST_ONE if is_least else ROUNDED).format(amount=amount),
        terms=(*used, minor_units(currency)),
        value=float(line.amount),
        unit=currency,
    )


def _amount(
    candidate: Candidate, line: BillLine, factor: Decimal, terms: Terms | None
) -> tuple[str, tuple[Term, ...]]:
    """The amount of a line before it is rounded: as a formula, and its numbers."""
    currency, offer = candidate.monthly.currency, candidate.offer
    read = f"{line.source}, {line.observed_on.isoformat()}" if line.observed_on else line.source
    own = Decimal(line.unit_price or 0)
    if line.what in ("gpu", "rework"):
        price = shown_unit_price(own, factor)
        machines = _plain("machines", candidate.machines)
        unit = "month" if line.unit == "machine-month" else "h"
        count = _plain("billed", line.quantity / candidate.machines, unit)
        each = _plain("unit_price", float(price), f"{currency}/{offer.price_unit}", read)
        return "machines * billed * unit_price", (machines, count, each)
    rate = _plain("exchange_rate", float(factor), f"{currency}/{line.unit_price_currency}")
    rates = () if factor == 1 else (rate,)
    times = "" if factor == 1 else " * exchange_rate"
    steps = terms.egress.steps if terms and line.what == "egress" and terms.egress else ()
    unit = f"{line.unit_price_currency}/GB"
    if len(steps) > 1:
        parts, used = [], [_plain("quantity", line.quantity, "GB", "as entered")]
        for number, step in enumerate(steps, start=1):
            following = f"from_{number + 1}" if number < len(steps) else "quantity"
            if float(step.from_gb) >= line.quantity:
                break
            used += [
                _plain(f"from_{number}", float(step.from_gb), "GB", read),
                _plain(f"price_{number}", float(step.price_per_gb), unit, read),
            ]
            if following != "quantity":
                used.append(_plain(following, float(steps[number].from_gb), "GB", read))
            upper = "quantity" if following == "quantity" else f"min(quantity, {following})"
            parts.append(f"({upper} - from_{number}) * price_{number}")
        distinct = tuple({term.symbol: term for term in used}.values())
        return f"({' + '.join(parts)}){times}", (*distinct, *rates)
    kept = "as entered" if line.what == "egress" else "what is kept"
    quantity = _plain("quantity", line.quantity, line.unit, kept)
    each = _plain("unit_price", float(own), unit, read)
    return f"quantity * unit_price{times}", (quantity, each, *rates)
