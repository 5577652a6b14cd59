"""Other ways to split the replicas of one machine: tensors, layers, experts, and attention by requests.

The comparison takes the least GPUs that hold a replica, more or another split where that needs fewer machines. Here
every split of the machine is tried with the same memory and speed, and they are ordered by the objective.
"""

from __future__ import annotations

from math import ceil

from planner.sizing import placing, support, tried_layouts
from planner.sizing.compare import bill_of
from planner.sizing.devices import Layout, Machine
from planner.sizing.llm import ORDERS, LlmSetting
from planner.sizing.options import Desk, Option
from planner.sizing.placement import Placement
from planner.sizing.points import UnknownRate
from planner.sizing.quantities import Estimate, Frozen
from planner.sizing.results import Bill, Candidate, Limit, Miss, Money, OtherLayout, Verdict
from planner.sizing.setting import Refusal
from planner.sizing.weighing import weigh

STAGES_MAXIMUM = 8
NODES = (2, 4)
"""Machines that one replica is tried over, where the offer names a network between them."""
OVER_MACHINES = ("vllm", "sglang", "tensorrt_llm")
"""Engines whose replicas may lie over several machines."""


class LayoutChoice(Frozen):
    """One way to split a replica, and what it does for the workload on machines of one offer."""

    layout: Layout
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
    is_too_fast: bool
    """Within one machine more stages than are ranked: measured as slower than this says."""


def alternatives(
    setting: LlmSetting, placements: list[Placement | Refusal], row: int, *, fabric: str = ""
) -> tuple[LayoutChoice, ...]:
    """Every split of the offer's machine that holds the workload: those that meet its targets first, then by the
    objective, of equal ones the faster first. Empty where the offer is refused for another reason than its memory or
    division.

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
    tried = [sized(desk, machine, layout) for layout in splits(desk, machine, NODES if fabric else ())]
    held = [option for option in tried if option is not None]
    settled = placing.settle(setting.workload, [(machine, [option]) for option in held], setting.constants)
    found = [placed for placed in settled if isinstance(placed, Placement)]
    order = ORDERS.get(setting.workload.objective)

    def key(placed: Placement) -> tuple[bool, bool, float, float, int]:
        value = order(placed) if order is not None else placed.machines
        tpot = placed.peak.tpot_s
        return (
            bool(placed.misses), placed.verdict != "fits", float("inf") if value is None else value,
            tpot.value if tpot else float("inf"), placed.layout.device_count,
        )  # fmt: skip

    weighed = weigh(setting, placements)
    choices = []
    for placed in sorted(found, key=key):
        monthly = bill_of(setting, weighed, row, placed)
        choices.append(_choice(placed, shown, monthly, splits_layers=setting.runtime.splits_layers))
    return tuple(choices)


def by_tensors(
    setting: LlmSetting, placements: list[Placement | Refusal], row: int, candidate: Candidate
) -> OtherLayout | None:
    """What the candidate's machine would need split by tensors alone, where it is split otherwise; None where it is
    not, or nothing else fits."""
    if candidate.layout == tried_layouts.plain(setting.runtime, candidate.layout.device_count):
        return None
    market = setting.market
    machine = market.machines[market.machine_index[row]]
    options = Desk(setting.workload, setting.arch, setting.runtime).options(machine)
    plain = [] if isinstance(options, Refusal) else [option for option in options if option.is_plain]
    if not plain:
        return None
    (placed,) = placing.settle(setting.workload, [(machine, plain)], setting.constants)
    if isinstance(placed, Refusal):
        return None
    monthly = bill_of(setting, weigh(setting, placements), row, placed)
    peak = placed.peak.load_point(placed.replicas)
    return OtherLayout(
        layout=placed.layout,
        replicas=placed.replicas,
        machines=placed.machines * monthly.sets,
        ttft_s=None if placed.job_hours is not None else peak.ttft_s,
        tpot_s=peak.tpot_s,
        total=monthly.total,
        currency=monthly.currency,
        complete=monthly.complete,
    )


def splits(desk: Desk, machine: Machine, nodes: tuple[int, ...] = ()) -> list[Layout]:
    """Ways to split that this engine has and that divide, fewest GPUs first.

    n GPUs as tensors × layers; experts whole on their ranks, with attention shared by all ranks or kept by requests.
    llama.cpp splits by layers alone. Over several machines: all tensors of some layers on each.
    """
    if machine.fraction != 1:
        return [Layout()]
    found: list[Layout] = []
    for count in (n for n in range(1, machine.device_count + 1) if machine.device_count % n == 0):
        if desk.runtime.splits_layers:
            found.append(Layout(pp=count))
            continue
        for stages in (n for n in range(1, min(count, STAGES_MAXIMUM) + 1) if count % n == 0):
            ranks = count // stages
            found.append(Layout(tp=ranks, pp=stages))
            if desk.arch.has_experts and ranks > 1:
                found.append(Layout(tp=ranks, pp=stages, ep=ranks))
                found.append(Layout(dp=ranks, pp=stages, ep=ranks))
        form, shared = desk.workload.weights_format, desk.need.context_parallel
        others = tried_layouts.beside_plain(desk.arch, form, desk.runtime, count, shared)
        found += [other for other in others if other not in found]
    if desk.runtime.name in OVER_MACHINES:
        found += [Layout(tp=machine.device_count, pp=count) for count in nodes]
    return [
        layout for layout in found
        if tried_layouts.refusal(desk.arch, desk.workload.weights_format, desk.runtime, layout) is None
        and desk.need.context_parallel == 1
    ]  # fmt: skip


def sized(desk: Desk, machine: Machine, layout: Layout) -> Option | None:
    """The replica with its memory and its speed's inputs; None where it does not fit or nothing is known."""
    try:
        found = desk.option(machine, layout)
    except UnknownRate:
        return None
    return found if isinstance(found, Option) else None


def _choice(
    placed: Placement,
    shown: Placement | Refusal,
    monthly: Bill,
    *,
    splits_layers: bool,
) -> LayoutChoice:
    peak = placed.peak.load_point(placed.replicas)
    is_job = placed.job_hours is not None
    per_replica = ceil(placed.layout.device_count / placed.machine.device_count)
    return LayoutChoice(
        layout=placed.layout,
        gpus_per_replica=placed.layout.device_count,
        replicas=placed.replicas,
        machines_per_replica=per_replica,
        machines=placed.machines * monthly.sets,
        verdict=placed.verdict,
        limit=placed.limit,
        misses=placed.misses,
        ttft_s=None if is_job else peak.ttft_s,
        tpot_s=peak.tpot_s,
        output_tokens_per_s=peak.output_tokens_per_s,
        job_hours=placed.job_hours,
        total=monthly.total,
        currency=monthly.currency,
        complete=monthly.complete,
        is_shown=isinstance(shown, Placement) and shown.layout == placed.layout,
        is_too_fast=placed.layout.pp > tried_layouts.STAGES_RANKED and per_replica == 1 and not splits_layers,
    )
