"""How the bill of a candidate comes about, for every kind of workload."""

from __future__ import annotations

from typing import Any

from planner.sizing.bill import MINOR_UNITS
from planner.sizing.offers import shown_unit_price
from planner.sizing.quantities import Derivation, Term
from planner.sizing.results import Bill, Candidate
from planner.sizing.setting import Setting


def derive_money(setting: Setting[Any], candidate: Candidate) -> dict[str, Derivation]:
    """The machine line and the total."""
    monthly = candidate.monthly
    found = {"monthly_total": _total(monthly)}
    factor = setting.market.rates.factor(candidate.offer.price_currency, monthly.currency)
    line = next((line for line in monthly.lines if line.what == "gpu"), None)
    if line is not None and line.amount is not None and factor is not None:
        price = shown_unit_price(candidate.offer.price_amount, factor)
        count = 1.0 if line.unit == "machine-month" else monthly.hours
        minor = MINOR_UNITS[monthly.currency]
        found["gpu_line"] = Derivation(
            figure="gpu_line",
            formula="floor(machines * billed * unit_price * minor_units + 0.5) / minor_units",
            terms=(
                Term(symbol="machines", value=candidate.machines, unit="1"),
                Term(symbol="billed", value=count, unit="month" if line.unit == "machine-month" else "h"),
                Term(
                    symbol="unit_price",
                    value=float(price),
                    unit=f"{monthly.currency}/{candidate.offer.price_unit}",
                    source=f"{candidate.offer.source}, {candidate.offer.price_observed_on.isoformat()}",
                ),
                Term(symbol="minor_units", value=minor, unit="1"),
            ),
            value=float(line.amount),
            unit=monthly.currency,
        )
    return found


def _total(monthly: Bill) -> Derivation:
    known = [line for line in monthly.lines if line.amount is not None]
    return Derivation(
        figure="monthly_total",
        formula=" + ".join(f"{line.what}_amount" for line in known),
        terms=tuple(
            Term(
                symbol=f"{line.what}_amount",
                value=float(line.amount or 0),
                unit=monthly.currency,
                source=line.source,
            )
            for line in known
        ),
        value=float(monthly.total),
        unit=monthly.currency,
    )
