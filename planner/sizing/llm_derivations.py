"""How memory, speed and unit cost of a served LLM come about, each by the module that computed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.sizing import memory, memory_derivations, speed_derivations
from planner.sizing.options import altered
from planner.sizing.placing import Loads, Placement
from planner.sizing.quantities import Derivation, Term
from planner.sizing.results import Candidate
from planner.sizing.workload import BatchWorkload

if TYPE_CHECKING:
    from planner.sizing.llm import LlmSetting


def derive(setting: LlmSetting, placement: Placement, candidate: Candidate) -> dict[str, Derivation]:
    """Memory, speed and the cost of a million tokens, by the name of the figure."""
    need = memory.Need.of(setting.workload, concurrency=placement.held)
    found = memory_derivations.derive(
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
    million = candidate.per_million_tokens.all
    if million is not None:
        found["per_million_tokens"] = _per_million(setting, placement, candidate, float(million))
    return found


def _per_million(setting: LlmSetting, placement: Placement, candidate: Candidate, value: float) -> Derivation:
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
