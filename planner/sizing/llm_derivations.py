"""How memory, speed and unit cost of a served LLM come about, each by the module that computed it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.sizing import (
    host,
    host_derivations,
    memory,
    memory_derivations,
    speed_derivations,
    speed_terms,
    token_derivations,
    token_volume,
    weights,
)
from planner.sizing.derivations import of_one_run
from planner.sizing.devices import Layout
from planner.sizing.options import altered
from planner.sizing.placement import Loads, Placement
from planner.sizing.quantities import Derivation, Term
from planner.sizing.results import Candidate
from planner.sizing.serving import most_borne
from planner.sizing.workload import BatchWorkload

TYPICAL = "typical_"
"""Before the names of figures at typical load; without it they are those at peak."""
AT_BOTH_LOADS = frozenset(
    {"ttft_s", "tpot_s", "output_tokens_per_s", "user_tokens_per_s", "requests_at_once"}
)
"""Figures that are shown for either load."""
BORNE = "the most one replica bears within its room and the targets that can be met (docs/methods.md)"
OF_VOLUME = "tokens per month in requests of typical length; peak as the numbers at once"
USED = {"bandwidth": "memory_s", "compute": "compute_s", "link": "link_s", "launching": "overhead_s"}
"""Of a decode step, by what it is spent on."""

if TYPE_CHECKING:
    from planner.sizing.llm import LlmSetting


def derive(
    setting: LlmSetting, placement: Placement, candidate: Candidate, load: host.ServingLoad
) -> dict[str, Derivation]:
    """Memory, speed and the cost of a million tokens, by the name of the figure."""
    need = memory.Need.of(setting.workload, concurrency=placement.held_each)
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
    else:
        apart = speed_derivations.derive(
            point, placement.typical, placement.replicas, setting.constants, placement.machine.device
        )
        # What leads to them and is the same at both loads stands once.
        found |= {
            f"{TYPICAL}{name}": made
            for name, made in apart.items()
            if name in AT_BOTH_LOADS or made != found.get(name)
        }
    if (rate := token_derivations.rate_of_volume(setting)) is not None:
        found["request_rate"] = rate
    found["replicas"] = _replicas(setting, placement)
    found |= _used(candidate, found)
    found |= _job(setting, placement, candidate)
    whole = weights.derive(setting.arch, setting.workload.weights_format, Layout())
    found |= host_derivations.serving(candidate, load, whole, setting.workload.assumed)
    million = candidate.per_million_tokens.all
    if million is not None:
        found["per_million_tokens"] = token_derivations.per_million(
            setting, placement, candidate, float(million)
        )
    return found


def _replicas(setting: LlmSetting, placement: Placement) -> Derivation:
    """As many as bear the peak within the targets that can be met; of a job as many as finish in time."""
    workload = setting.workload
    least = Term(symbol="replicas_minimum", value=workload.replicas_minimum, unit="1", source="as entered")
    if isinstance(workload, BatchWorkload):
        alone = workload.request_count / placement.full.request_rate_per_s / 3600
        each = placement.machine.device_count // placement.layout.device_count
        wanted, terms = "replicas_minimum", [least]
        if isinstance(workload.deadline_hours, int | float):
            wanted = "max(replicas_minimum, ceil(alone_hours / deadline_hours))"
            terms += [
                Term(symbol="alone_hours", value=alone, unit="h", source="the job on one replica"),
                Term(symbol="deadline_hours", value=workload.deadline_hours, unit="h", source="as entered"),
            ]
        terms.append(Term(symbol="replicas_each", value=each, unit="1", source="on one machine"))
        formula = f"ceil({wanted} / replicas_each) * replicas_each"
    else:
        loads = Loads.of(workload)
        lost = {miss.target for miss in placement.misses if miss.best is not None}
        asked = [
            None if isinstance(target, str) or name in lost else target
            for name, target in (("ttft_s", workload.targets.ttft_s), ("tpot_s", workload.targets.tpot_s))
        ]
        point = altered(placement.point, load=loads.kind, load_value=loads.peak)
        most, _possible = most_borne([point], asked[0], asked[1], setting.constants)
        unit = "1/s" if loads.kind == "rate" else "request"
        source = "as entered" if token_volume.stated(workload) is None else OF_VOLUME
        formula = "max(replicas_minimum, ceil(peak_load / borne_load))"
        terms = [
            least,
            Term(symbol="peak_load", value=loads.peak, unit=unit, source=source),
            Term(symbol="borne_load", value=float(most[0]), unit=unit, source=BORNE),
        ]
    return Derivation(
        figure="replicas", formula=formula, terms=tuple(terms), value=placement.replicas, unit="1"
    )


def _used(candidate: Candidate, found: Mapping[str, Derivation]) -> dict[str, Derivation]:
    """How far memory, bandwidth, matrix units and link are used at peak, in percent."""
    split = candidate.split
    pairs: list[tuple[str, str, float, str, float, str]]
    pairs = [("used_memory", "needed_bytes", split.needed_bytes, "usable_bytes", split.usable_bytes, "byte")]
    step = found.get("step_s")
    if step is not None and step.value:
        pairs += [
            (f"used_{name}", part, found[part].value, "step_s", step.value, "s")
            for name, part in USED.items()
            if part in found
        ]
    return {
        figure: Derivation(
            figure=figure,
            formula=f"100 * {part} / {whole}",
            terms=(
                Term(symbol=part, value=part_value, unit=unit),
                Term(symbol=whole, value=whole_value, unit=unit),
            ),
            value=100 * part_value / whole_value,
            unit="%",
        )
        for figure, part, part_value, whole, whole_value, unit in pairs
        if whole_value
    }


def _job(setting: LlmSetting, placement: Placement, candidate: Candidate) -> dict[str, Derivation]:
    """Hours and cost of a batch job."""
    workload, batch = setting.workload, candidate.batch
    if not isinstance(workload, BatchWorkload) or batch is None:
        return {}
    hours = Derivation(
        figure="job_hours",
        formula="requests / (request_rate * replicas) / 3600",
        terms=(
            Term(symbol="requests", value=workload.request_count, unit="request", source="as entered"),
            Term(
                symbol="request_rate",
                value=placement.full.request_rate_per_s,
                unit="1/s",
                source=speed_terms.BY_LOAD,
            ),
            Term(symbol="replicas", value=placement.replicas, unit="1"),
        ),
        value=batch.hours.value,
        unit="h",
    )
    found = {"job_hours": hours}
    if batch.cost is not None:
        found["job_cost"] = of_one_run(
            "job_cost", "jobs", candidate.monthly, setting.run(placement), batch.cost
        )
    return found
