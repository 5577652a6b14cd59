"""How the figures of one candidate come about: memory, speed and money, each by the module that computed it."""

from __future__ import annotations

from planner.sizing import memory, speed_derivations
from planner.sizing.bill import MINOR_UNITS
from planner.sizing.offers import shown_unit_price
from planner.sizing.options import altered
from planner.sizing.placing import Loads, Placement
from planner.sizing.quantities import Derivation, Term
from planner.sizing.results import Bill, Candidate
from planner.sizing.weighing import Setting
from planner.sizing.workload import BatchWorkload


def derive(setting: Setting, placement: Placement, candidate: Candidate) -> dict[str, Derivation]:
    """Every derivation of a candidate by the name of its figure."""
    held = min(placement.peak.batch, placement.point.batch_cap)
    need = memory.Need.of(setting.workload, concurrency=max(1.0, held))
    found = memory.derive(
        setting.arch, need, setting.runtime, placement.machine.device, placement.option.layout
    )
    point = placement.point
    if not isinstance(setting.workload, BatchWorkload):
        point = altered(point, load=Loads.of(setting.workload).kind)
    found |= speed_derivations.derive(
        point, placement.peak, placement.replicas, setting.constants, placement.machine.device
    )
    if isinstance(setting.workload, BatchWorkload):
        # At saturation requests wait by intention: neither the first token nor the queue means anything.
        found.pop("ttft_s", None)
        found.pop("queue_s", None)
    found |= derive_money(setting, placement, candidate)
    return found


def derive_money(setting: Setting, placement: Placement, candidate: Candidate) -> dict[str, Derivation]:
    """The machine line, the total and the cost of a million tokens."""
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
    million = candidate.per_million_tokens.all
    if million is not None:
        found["per_million_tokens"] = _per_million(setting, placement, candidate, float(million))
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


def _per_million(setting: Setting, placement: Placement, candidate: Candidate, value: float) -> Derivation:
    workload = setting.workload
    terms = [
        Term(symbol="monthly_total", value=float(candidate.monthly.total), unit=candidate.monthly.currency),
        Term(symbol="input_tokens", value=workload.input_tokens.typical, unit="token"),
        Term(symbol="output_tokens", value=workload.output_tokens.typical, unit="token"),
    ]
    if isinstance(workload, BatchWorkload):
        requests = "requests * jobs"
        starts = workload.schedule.starts_per_day * workload.schedule.days_per_month or 1.0
        terms += [
            Term(symbol="requests", value=workload.request_count, unit="1"),
            Term(symbol="jobs", value=starts, unit="1/month"),
        ]
    else:
        requests = "request_rate * 3600 * hours_per_day * days"
        terms += [
            Term(
                symbol="request_rate",
                value=placement.typical.request_rate_per_s * placement.replicas,
                unit="1/s",
            ),
            Term(symbol="hours_per_day", value=workload.schedule.hours_per_day, unit="h"),
            Term(symbol="days", value=workload.schedule.days_per_month, unit="day"),
        ]
    return Derivation(
        figure="per_million_tokens",
        formula=f"monthly_total * 1000000 / ({requests} * (input_tokens + output_tokens))",
        terms=tuple(terms),
        value=value,
        unit=candidate.monthly.currency,
    )
