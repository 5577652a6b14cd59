"""What a served LLM gives on its machines: speed, a job, the cost of a million tokens, and what its host has to do."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from planner.sizing import bill, host, token_volume
from planner.sizing.placement import Placement
from planner.sizing.quantities import GIB
from planner.sizing.results import BatchRun, Bill, Figure, PerMillionTokens, Speed
from planner.sizing.workload import BatchWorkload, ServingWorkload

if TYPE_CHECKING:
    from planner.sizing.llm import LlmSetting

SECONDS_PER_HOUR = 3600
PER_MILLION_STEP = Decimal("0.0001")


def speed(workload: ServingWorkload | BatchWorkload, placement: Placement) -> Speed:
    typical = placement.typical.load_point(placement.replicas)
    peak = placement.peak.load_point(placement.replicas)
    if isinstance(workload, BatchWorkload):
        # At saturation requests wait for hours by intention: a time to first token says nothing.
        typical = peak = peak.model_copy(update={"ttft_s": None})
    return Speed(typical=typical, peak=peak)


def batch(setting: LlmSetting, placement: Placement, monthly: Bill) -> BatchRun | None:
    workload = setting.workload
    if not isinstance(workload, BatchWorkload) or placement.job_hours is None:
        return None
    run = setting.run(placement)
    rate = placement.full.output_tokens_per_s
    deadline = workload.deadline_hours
    return BatchRun(
        hours=placement.job_hours,
        output_tokens_per_s=rate.model_copy(
            update={name: getattr(rate, name) * placement.replicas for name in ("value", "low", "high")}
        ),
        cost=bill.of_one_run(monthly, run),
        meets_deadline=None
        if not isinstance(deadline, int | float)
        else not any(miss.target == "deadline_hours" for miss in placement.misses),
        spot_eligible=workload.interruptible,
    )


def tokens_per_month(setting: LlmSetting, placement: Placement) -> tuple[float, float]:
    """Input and output tokens served in a month at average load: as stated, or requests × typical lengths.

    Serving: request rate × 3600 × hours of the schedule. Batch: requests of a job × jobs a month.
    """
    workload = setting.workload
    volume = token_volume.stated(workload)
    if isinstance(workload, BatchWorkload):
        requests = workload.request_count * float(setting.run(placement).starts)
    else:
        hours = workload.schedule.hours_per_day * workload.schedule.days_per_month
        requests = placement.typical.request_rate_per_s * placement.replicas * SECONDS_PER_HOUR * hours
    return token_volume.tokens_per_month(volume, token_volume.typical(workload), requests)


def per_million_tokens(setting: LlmSetting, placement: Placement, monthly: Bill) -> PerMillionTokens:
    """Monthly total ÷ tokens of the month: all, output alone, and all at saturation for the hours billed.

    At saturation tokens are in and out as they are on average: tokens × (rate at saturation ÷ average rate).
    """
    taken, made = tokens_per_month(setting, placement)
    if isinstance(setting.workload, BatchWorkload):
        lengths = sum(length or 0.0 for length in token_volume.typical(setting.workload))
        full = placement.full.request_rate_per_s * placement.replicas * lengths
        full *= SECONDS_PER_HOUR * monthly.hours
    else:
        more = placement.full.request_rate_per_s / max(placement.typical.request_rate_per_s, 1e-30)
        full = (taken + made) * more

    def per_million(tokens: float) -> Decimal | None:
        if tokens <= 0:
            return None
        return (monthly.total * 1_000_000 / Decimal(repr(tokens))).quantize(PER_MILLION_STEP, ROUND_HALF_UP)

    return PerMillionTokens(
        all=per_million(taken + made), output=per_million(made), at_full_use=per_million(full)
    )


def host_load(setting: LlmSetting, placed: Placement) -> host.ServingLoad:
    """What the host of one machine has to do at peak load."""
    workload = setting.workload
    machines = max(1, placed.machines)
    point = placed.full if isinstance(workload, BatchWorkload) else placed.peak
    requests = (point.request_rate_per_s or 0.0) * placed.replicas / machines
    replicas = max(1, placed.replicas // machines)
    return host.ServingLoad(
        gpus=placed.layout.device_count * replicas, replicas=replicas, requests_per_s=requests,
        input_tokens=workload.input_tokens.typical,
        output_tokens_per_s=point.output_tokens_per_s.value * placed.replicas / machines,
        weights_bytes=setting.weights_bytes,
        offloaded_bytes=getattr(placed.planned, "host_bytes", 0) * replicas + workload.kv_offload_gib * GIB,
    )  # fmt: skip


def host_figures(setting: LlmSetting, placed: Placement) -> dict[str, Figure]:
    """What the host and the disks of one machine need at peak load."""
    workload, load = setting.workload, host_load(setting, placed)
    need, weights_bytes = load.need(workload.assumed), load.weights_bytes
    kept = host.WEIGHTS_KEPT.given(workload.assumed)
    found = {
        "host_ram_bytes": Figure(value=need.ram_bytes, unit="byte"),
        "weights_file_bytes": Figure(value=weights_bytes, unit="byte"),
        "storage_needed_bytes": Figure(value=kept * weights_bytes, unit="byte"),
    }
    if need.cores is not None:
        found["host_cores"] = Figure(value=need.cores, unit="1")
    return found
