"""What a million tokens cost, and the requests that the tokens of a month are, for whoever wants to work them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.sizing import token_volume
from planner.sizing.placement import Placement
from planner.sizing.quantities import Derivation, Term
from planner.sizing.results import Candidate
from planner.sizing.workload import BatchWorkload, ServingWorkload

if TYPE_CHECKING:
    from planner.sizing.llm import LlmSetting


def _stated(workload: ServingWorkload | BatchWorkload) -> list[Term]:
    """The sides of the month's tokens that were stated."""
    volume = token_volume.stated(workload) or token_volume.InOut(None, None)
    named = (("input_tokens_per_month", volume.input), ("output_tokens_per_month", volume.output))
    return [
        Term(symbol=symbol, value=tokens, unit="token/month", source="as entered")
        for symbol, tokens in named
        if tokens is not None
    ]


def _lengths(workload: ServingWorkload | BatchWorkload) -> list[Term]:
    return [
        Term(symbol="input_tokens", value=workload.input_tokens.typical, unit="token", source="as entered"),
        Term(symbol="output_tokens", value=workload.output_tokens.typical, unit="token", source="as entered"),
    ]


def rate_of_volume(setting: LlmSetting) -> Derivation | None:
    """The average rate of requests, where tokens of a month state it."""
    workload = setting.workload
    told = _stated(workload)
    if not told or isinstance(workload, BatchWorkload):
        return None
    sides = [f"{term.symbol} / {term.symbol.removesuffix('_per_month')}" for term in told]
    requests = sides[0] if len(sides) == 1 else f"max({', '.join(sides)})"
    needed = {side.rpartition(" ")[2] for side in sides}
    return Derivation(
        figure="request_rate",
        formula=f"{requests} / (3600 * hours_per_day * days)",
        terms=(*told, *(term for term in _lengths(workload) if term.symbol in needed), *_hours(workload)),
        value=workload.average_rate_per_s or 0.0,
        unit="1/s",
    )


def _hours(workload: ServingWorkload | BatchWorkload) -> list[Term]:
    schedule = workload.schedule
    return [
        Term(symbol="hours_per_day", value=schedule.hours_per_day, unit="h", source="as entered"),
        Term(symbol="days", value=schedule.days_per_month, unit="day", source="as entered"),
    ]


def _of_stated_volume(candidate: Candidate, workload: ServingWorkload, value: float) -> Derivation:
    """The price of a million where tokens of the month were stated: those are what the month's total is divided by."""
    told = _stated(workload)
    symbols = [term.symbol for term in told]
    terms = [
        Term(symbol="monthly_total", value=float(candidate.monthly.total), unit=candidate.monthly.currency),
        *told,
    ]
    if len(told) == 1:  # The other side is that of as many typical requests.
        sides = ["input_tokens", "output_tokens"]
        own = symbols[0].removesuffix("_per_month")
        other = next(side for side in sides if side != own)
        symbols.append(f"{symbols[0]} / {own} * {other}")
        terms += _lengths(workload)
    return Derivation(
        figure="per_million_tokens",
        formula=f"monthly_total * 1000000 / ({' + '.join(symbols)})",
        terms=tuple(terms),
        value=value,
        unit=candidate.monthly.currency,
    )


def per_million(setting: LlmSetting, placement: Placement, candidate: Candidate, value: float) -> Derivation:
    workload = setting.workload
    if isinstance(workload, ServingWorkload) and token_volume.stated(workload) is not None:
        return _of_stated_volume(candidate, workload, value)
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
