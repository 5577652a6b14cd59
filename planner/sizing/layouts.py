"""Other ways to split the replicas of one machine: tensors, layers, experts, and attention by requests.

The comparison takes the least GPUs that hold a replica. Here every split of the machine is tried with the same
memory and speed, and they are ordered by the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from planner.sizing import divisibility, memory, placing, split_support, support, weights
from planner.sizing.compare import bill_of
from planner.sizing.devices import Layout, Machine
from planner.sizing.llm import ORDERS, LlmSetting
from planner.sizing.options import Desk, Option, altered
from planner.sizing.placing import Placement
from planner.sizing.points import UnknownRate, serving_point
from planner.sizing.quantities import Estimate, Frozen
from planner.sizing.results import Candidate, Limit, MemorySplit, Miss, Money, OtherLayout, Verdict
from planner.sizing.setting import Refusal
from planner.sizing.speculation import draft_of
from planner.sizing.weighing import weigh
from planner.sizing.workload import BatchWorkload

STAGES_MAXIMUM = 8
NODES = (2, 4)
"""Machines that one replica is tried over, where the offer names a network between them."""
BY_REQUESTS = ("vllm", "sglang", "tensorrt_llm")
"""Engines whose ranks can each keep the attention of their own requests (vLLM: data-parallel-size with
enable-expert-parallel; SGLang: enable-dp-attention; TensorRT-LLM: enable_attention_dp)."""


class LayoutChoice(Frozen):
    """One way to split a replica, and what it does for the workload on machines of one offer."""

    layout: Layout
    attention_dp: int
    """Ranks that each keep the attention of their own requests; 1: all ranks share every request."""
    gpus_per_replica: int
    replicas: int
    machines_per_replica: int
    """1, or more where one replica is laid over several machines."""
    machines: int
    verdict: Verdict
    limit: Limit
    misses: tuple[Miss, ...]
    ttft_s: Estimate | None
    tpot_s: Estimate | None
    output_tokens_per_s: Estimate | None
    """At peak, all replicas together."""
    job_hours: Estimate | None
    total: Money
    """A month's bill of the machines it needs."""
    currency: str
    complete: bool
    is_shown: bool
    """Whether the comparison shows the offer with this split."""


@dataclass(frozen=True)
class Split:
    """Degrees of one way to split."""

    layout: Layout
    attention_dp: int = 1


def alternatives(
    setting: LlmSetting, placements: list[Placement | Refusal], row: int, *, fabric: str = ""
) -> tuple[LayoutChoice, ...]:
    """Every split of the offer's machine that holds the workload: those that meet its targets first, then by the
    objective, fewer GPUs first. Empty where the offer is refused for another reason than its memory or division.

    ``fabric`` is what the offer says of the network between its machines; where it says something, a replica is also
    laid over several, layers from machine to machine. What they then send (hidden states, under 1 % of a step at the
    25 GB/s of such networks) is counted as that of stages inside one machine.
    """
    market = setting.market
    machine = market.machines[market.machine_index[row]]
    shown = placements[market.machine_index[row]]
    desk = Desk(setting.workload, setting.arch, setting.runtime)
    if desk.offloads or support.refusal(
        setting.runtime,
        machine.device,
        setting.workload.weights_format,
        setting.workload.kv_format,
        setting.arch,
    ):
        return ()
    tried = [(split, sized(desk, machine, split)) for split in splits(desk, machine, NODES if fabric else ())]
    held = [(split, option) for split, option in tried if option is not None]
    settled = placing.settle(setting.workload, [(machine, [option]) for _, option in held], setting.constants)
    found = [
        (split, placed)
        for (split, _), placed in zip(held, settled, strict=True)
        if isinstance(placed, Placement)
    ]
    order = ORDERS.get(setting.workload.objective)

    def key(pair: tuple[Split, Placement]) -> tuple[bool, bool, float, int]:
        placed = pair[1]
        value = order(placed) if order is not None else placed.machines
        return (
            bool(placed.misses), placed.verdict != "fits", float("inf") if value is None else value,
            placed.layout.device_count,
        )  # fmt: skip

    weighed = weigh(setting, placements)
    choices = []
    for split, placed in sorted(found, key=key):
        monthly = bill_of(setting, weighed, row, placed)
        choices.append(_choice(split, placed, shown, monthly.total, monthly.currency, monthly.complete))
    return tuple(choices)


def fewer_machines(
    setting: LlmSetting, placements: list[Placement | Refusal], row: int, candidate: Candidate
) -> OtherLayout | None:
    """A split of the candidate's machine with which fewer of them do the same, the fewest and then the cheapest first.

    The comparison tries one way to split alone. Targets that the candidate misses may be missed, no others.
    """
    if candidate.machines == 1 or candidate.offer.gpu_count == 1:
        return None
    missed = {miss.target for miss in candidate.misses}
    better = [
        choice
        for choice in alternatives(setting, placements, row)
        if choice.machines < candidate.machines
        and choice.verdict == "fits"
        and {miss.target for miss in choice.misses} <= missed
    ]
    if not better:
        return None
    best = min(better, key=lambda choice: (choice.machines, choice.total))
    return OtherLayout(
        layout=best.layout,
        attention_dp=best.attention_dp,
        replicas=best.replicas,
        machines=best.machines,
        ttft_s=best.ttft_s,
        tpot_s=best.tpot_s,
        total=best.total,
        currency=best.currency,
        complete=best.complete,
    )


def splits(desk: Desk, machine: Machine, nodes: tuple[int, ...] = ()) -> list[Split]:
    """Ways to split that this engine has and that divide, fewest GPUs first.

    n GPUs as tensors × layers; experts whole on their ranks, with attention shared by all ranks or kept by requests.
    llama.cpp splits by layers alone. Over several machines: all tensors of some layers on each.
    """
    if machine.fraction != 1:
        return [Split(Layout())]
    found = []
    for count in (n for n in range(1, machine.device_count + 1) if machine.device_count % n == 0):
        if desk.runtime.name == "llama_cpp":
            found.append(Split(Layout(pp=count)))
            continue
        for stages in (n for n in range(1, min(count, STAGES_MAXIMUM) + 1) if count % n == 0):
            ranks = count // stages
            found.append(Split(Layout(tp=ranks, pp=stages)))
            if desk.arch.has_experts and ranks > 1:
                found.append(Split(Layout(tp=ranks, pp=stages, ep=ranks)))
                if desk.runtime.name in BY_REQUESTS:
                    found.append(Split(Layout(tp=ranks, pp=stages, ep=ranks), attention_dp=ranks))
    if desk.runtime.name in BY_REQUESTS:
        found += [Split(Layout(tp=machine.device_count, pp=count)) for count in nodes]
    form = desk.workload.weights_format
    return [
        split for split in found
        if divisibility.violation(desk.arch, form, _divided(split)) is None
        and split_support.refusal(desk.runtime, split.layout, by_requests=split.attention_dp > 1) is None
        and desk.need.context_parallel == 1
    ]  # fmt: skip


def _divided(split: Split) -> Layout:
    """The split as it must divide: attention kept by requests divides no heads."""
    if split.attention_dp == 1:
        return split.layout
    return split.layout.model_copy(update={"tp": 1})


def sized(desk: Desk, machine: Machine, split: Split) -> Option | None:
    """The replica with its memory and its speed's inputs; None where it does not fit or nothing is known."""
    workload, layout = desk.workload, split.layout
    parts = rank_memory(desk, machine, split)
    verdict = memory.verdict(parts)
    if verdict == "does_not_fit":
        return None
    room = parts.kv_room_bytes - (parts.headroom_bytes if verdict == "fits" else 0)
    over = memory.overheads(desk.arch, desk.need, desk.runtime, machine.device, layout)
    try:
        point = serving_point(
            desk.arch, machine.device, desk.runtime, layout,
            link=machine.link,
            weights_format=workload.weights_format,
            kv_format=workload.kv_format,
            input_tokens=workload.input_tokens.typical,
            output_tokens=workload.output_tokens.typical,
            kv_room_bytes=max(0, room),
            batch_cap=over.sequences,
            chunk_tokens=over.batched_tokens,
            load="saturated",
            prefix_hit_fraction=workload.prefix_hit_fraction,
            attention_dp=split.attention_dp,
            draft=draft_of(workload.runtime.options),
            eager=bool(workload.runtime.options.enforce_eager),
        )  # fmt: skip
    except UnknownRate:
        return None
    per_request = point.kv_full_bytes
    if desk.runtime.preallocates:
        per_request = float(parts.kv_needed_bytes)
    most = min(point.batch_cap, floor(point.kv_room_bytes / max(per_request, 1.0)))
    if isinstance(workload, BatchWorkload):
        most = min(most, workload.request_count)
    planned = altered(
        point, batch_cap=float(max(1, most)), kv_prompt_bytes=per_request, kv_full_bytes=per_request
    )
    return Option(layout, parts, verdict, planned, point.batch_cap)


def rank_memory(desk: Desk, machine: Machine, split: Split) -> MemorySplit:
    """One rank's memory. Attention kept by requests: its weights and one request's cache whole on each rank."""
    parts = memory.split(desk.arch, desk.need, desk.runtime, machine.device, split.layout)
    if split.attention_dp == 1:
        return parts
    shared = max(1, split.layout.tp // split.attention_dp)
    own = split.layout.model_copy(update={"tp": shared, "ep": 1})
    alone = memory.split(desk.arch, desk.need, desk.runtime, machine.device, own)
    form = desk.workload.weights_format
    copied = (
        weights.footprint(desk.arch, form, own).always_read_bytes
        - weights.footprint(desk.arch, form, split.layout).always_read_bytes
    )
    more = int(copied) + alone.kv_needed_bytes - parts.kv_needed_bytes
    room = parts.kv_room_bytes - int(copied)
    return parts.model_copy(
        update={
            "weights_bytes": parts.weights_bytes + int(copied),
            "kv_bytes_per_token": alone.kv_bytes_per_token,
            "kv_needed_bytes": alone.kv_needed_bytes,
            "kv_room_bytes": room,
            "kv_room_tokens": max(0, room) // max(1, alone.kv_bytes_per_token),
            "needed_bytes": parts.needed_bytes + more,
        }
    )


def _choice(
    split: Split,
    placed: Placement,
    shown: Placement | Refusal,
    total: Money,
    currency: str,
    complete: bool,
) -> LayoutChoice:
    peak = placed.peak.load_point(placed.replicas)
    is_job = placed.job_hours is not None
    return LayoutChoice(
        layout=split.layout,
        attention_dp=split.attention_dp,
        gpus_per_replica=split.layout.device_count,
        replicas=placed.replicas,
        machines_per_replica=ceil(split.layout.device_count / placed.machine.device_count),
        machines=placed.machines,
        verdict=placed.verdict,
        limit=placed.limit,
        misses=placed.misses,
        ttft_s=None if is_job else peak.ttft_s,
        tpot_s=peak.tpot_s,
        output_tokens_per_s=peak.output_tokens_per_s,
        job_hours=placed.job_hours,
        total=total,
        currency=currency,
        complete=complete,
        is_shown=isinstance(shown, Placement) and split.attention_dp == 1 and shown.layout == split.layout,
    )
