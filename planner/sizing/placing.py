"""One workload on every distinct machine: layout, memory, replicas and speed, all machines in a few passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor
from typing import Any

import numpy as np

from planner.sizing import divisibility, memory, support
from planner.sizing.architecture import Architecture
from planner.sizing.constants import Constants
from planner.sizing.devices import Layout, Machine
from planner.sizing.formats import compute_rate
from planner.sizing.memory import Need
from planner.sizing.points import UnknownRate, at_load, serving_point
from planner.sizing.results import Estimate, MemorySplit, Miss, RejectionReason, Verdict
from planner.sizing.runtime import Runtime
from planner.sizing.serving import (
    REPLICAS_MAXIMUM,
    Load,
    OperatingPoint,
    ServingPoint,
    operate,
    replicas_for,
)
from planner.sizing.workload import BatchWorkload, ServingWorkload

CONTEXT_MEASURED_TOKENS = 34_832
"""The longest context among the measurements that the speed constants are held against."""
JUST_FITS_FRACTION = 0.1
"""Less KV room than this share of the usable memory is worth a word."""
RELAXED = 1.25
"""Where a target cannot be met, replicas are counted for 1.25 × the best the machine can do."""
LIGHT_RATE_PER_S = 1e-6
ONE_IN_A_THOUSAND = 1e-3
"""Bisection ends this near to a target; that is not a miss."""
ROUNDING = 1e-9


@dataclass(frozen=True)
class Refusal:
    """Why a machine cannot run the workload: the rule and its numbers."""

    reason: RejectionReason
    detail: dict[str, Any]
    split: MemorySplit | None = None
    layout: Layout | None = None


@dataclass
class Option:
    """One way to split a replica over devices of a machine, with what is in its memory."""

    layout: Layout
    split: MemorySplit
    verdict: Verdict
    need: Need


@dataclass
class Placement:
    """The workload on one distinct machine."""

    machine: Machine
    option: Option
    point: ServingPoint
    replicas: int
    machines: int
    typical: OperatingPoint
    peak: OperatingPoint
    full: OperatingPoint
    """At saturation."""
    misses: tuple[Miss, ...]
    warnings: tuple[str, ...]
    job_hours: Estimate | None = None

    @property
    def idle_devices(self) -> int:
        return self.machines * self.machine.device_count - self.replicas * self.option.layout.device_count


@dataclass(frozen=True)
class Loads:
    """The load on the whole deployment: requests in flight, or requests a second."""

    kind: Load
    typical: float
    peak: float

    @staticmethod
    def of(workload: ServingWorkload) -> Loads:
        """A rate wins over the concurrency; its peak is as much above it as the concurrency's peak."""
        flight = workload.concurrency
        if workload.request_rate_per_s is not None:
            rate = workload.request_rate_per_s
            return Loads("rate", rate, rate * flight.peak / flight.average)
        return Loads("concurrency", flight.average, flight.peak)


@dataclass
class _Trial:
    """A machine on its way: the options that fit, the one being tried, and the best fallback."""

    number: int
    machine: Machine
    options: list[Option]
    points: list[ServingPoint] = field(default_factory=list)
    chosen: int = 0
    replicas: int | None = None

    @property
    def option(self) -> Option:
        return self.options[self.chosen]


def place(
    workload: ServingWorkload | BatchWorkload,
    arch: Architecture,
    runtime: Runtime,
    machines: Sequence[Machine],
    constants: Constants,
) -> list[Placement | Refusal]:
    """Every machine's placement, or why there is none, in the order of ``machines``.

    A replica takes the least number of devices that fits and divides; more of them only where that meets
    a latency target which the least does not.
    """
    found: list[Placement | Refusal | None] = [None] * len(machines)
    trials: list[_Trial] = []
    for number, machine in enumerate(machines):
        outcome = _options(workload, arch, runtime, machine)
        if isinstance(outcome, Refusal):
            found[number] = outcome
            continue
        try:
            points = [_point(workload, arch, runtime, machine, option) for option in outcome]
        except UnknownRate as unknown:
            found[number] = Refusal("support", {"rule": unknown.code} | unknown.params)
            continue
        trials.append(_Trial(number, machine, outcome, points))
    settled = (
        _settle_batch(workload, trials, constants)
        if isinstance(workload, BatchWorkload)
        else _settle_serving(workload, trials, constants)
    )
    for number, placement in settled:
        found[number] = placement
    return [outcome for outcome in found if outcome is not None]


def _layouts(machine: Machine, runtime: Runtime) -> list[Layout]:
    """Splits within one machine, fewest devices first: by layers where the runtime does so, else by tensors."""
    counts = [n for n in range(1, machine.device_count + 1) if machine.device_count % n == 0]
    if machine.fraction < 1:
        counts = [1]
    if runtime.name == "llama_cpp":
        return [Layout(pp=n) for n in counts]
    return [Layout(tp=n) for n in counts]


def _options(
    workload: ServingWorkload | BatchWorkload, arch: Architecture, runtime: Runtime, machine: Machine
) -> list[Option] | Refusal:
    """Layouts that fit, fewest devices first, or the first rule that none passes: support, memory, division.

    A layout that fits only without headroom counts where none fits with it.
    """
    device = machine.device
    lacking = support.refusal(
        runtime, device, workload.weights_format, workload.kv_format, arch, device_count=machine.device_count
    )
    if lacking is not None:
        return Refusal("support", lacking)
    need = Need.of(workload)
    if arch.max_position is not None and need.maximum_tokens > arch.max_position:
        detail = {"rule": "context_length", "asked": need.maximum_tokens, "maximum": arch.max_position}
        return Refusal("support", detail)
    fits: list[Option] = []
    tight: list[Option] = []
    worst: Option | None = None
    broken: tuple[Layout, dict[str, Any]] | None = None
    for layout in _layouts(machine, runtime):
        violation = divisibility.violation(arch, workload.weights_format, layout)
        if violation is not None:
            broken = broken or (layout, violation)
            continue
        split = memory.split(arch, need, runtime, device, layout)
        option = Option(layout, split, memory.verdict(split), need)
        if option.verdict == "fits":
            fits.append(option)
        elif option.verdict == "tight":
            tight.append(option)
        worst = option
    if fits or tight:
        return fits or tight[:1]
    if broken is not None:
        layout, violation = broken
        return Refusal("divisibility", violation, worst.split if worst else None, layout)
    assert worst is not None  # noqa: S101 - one device always divides
    return Refusal("memory", {"devices": worst.layout.device_count}, worst.split, worst.layout)


def _point(
    workload: ServingWorkload | BatchWorkload,
    arch: Architecture,
    runtime: Runtime,
    machine: Machine,
    option: Option,
) -> ServingPoint:
    """The replica as the speed model sees it. The headroom asked for is kept free of KV cache, too."""
    room_bytes = option.split.kv_room_bytes
    if option.verdict == "fits":
        room_bytes -= option.split.headroom_bytes
    over = memory.overheads(arch, option.need, runtime, machine.device, option.layout)
    point = serving_point(
        arch,
        machine.device,
        runtime,
        option.layout,
        link=machine.link,
        weights_format=workload.weights_format,
        kv_format=workload.kv_format,
        input_tokens=workload.input_tokens.typical,
        output_tokens=workload.output_tokens.typical,
        kv_room_bytes=max(0, room_bytes),
        batch_cap=over.sequences,
        chunk_tokens=over.batched_tokens,
        load="saturated",
        prefix_hit_fraction=workload.prefix_hit_fraction,
        eager=bool(workload.runtime.options.enforce_eager),
    )
    # Planned is what is shown as fitting: every request at its full length, whole requests only.
    per_request = float(option.split.kv_needed_bytes) if runtime.preallocates else point.kv_full_bytes
    most = min(point.batch_cap, floor(point.kv_room_bytes / max(per_request, 1.0)))
    if isinstance(workload, BatchWorkload):
        most = min(most, workload.request_count)
    return replace(
        point, batch_cap=float(max(1, most)), kv_prompt_bytes=per_request, kv_full_bytes=per_request
    )


def _settle_serving(
    workload: ServingWorkload, trials: list[_Trial], constants: Constants
) -> Iterator[tuple[int, Placement | Refusal]]:
    """Layout and replicas for the peak load within the targets; speed at typical, at peak and at full use."""
    loads = Loads.of(workload)
    ttft, tpot = _target(workload.targets.ttft_s), _target(workload.targets.tpot_s)
    tried = [at_load(point, loads.kind, loads.peak) for trial in trials for point in trial.points]
    counts = replicas_for(
        tried, [loads.peak] * len(tried), ttft, tpot, constants, minimum=workload.replicas_minimum
    )
    start = 0
    for trial in trials:
        own = counts[start : start + len(trial.points)]
        start += len(trial.points)
        trial.chosen = next((number for number, count in enumerate(own) if count is not None), 0)
        trial.replicas = own[trial.chosen]
    _relax(workload, [trial for trial in trials if trial.replicas is None], loads, ttft, tpot, constants)
    for trial in trials:
        if trial.replicas is None:
            yield (
                trial.number,
                Refusal("overload", {"load": loads.kind, "peak": loads.peak}, trial.option.split),
            )
    settled = [trial for trial in trials if trial.replicas is not None]
    each = [(trial.points[trial.chosen], trial.replicas or 1) for trial in settled]
    typical = operate([at_load(point, loads.kind, loads.typical / n) for point, n in each], constants)
    peak = operate([at_load(point, loads.kind, loads.peak / n) for point, n in each], constants)
    full = operate([point for point, _n in each], constants)
    for trial, at_typical, at_peak, at_full in zip(settled, typical, peak, full, strict=True):
        replicas = trial.replicas or 1
        misses = tuple(
            Miss(target=name, asked=asked, got=got.value if got else None)
            for name, asked, got in (("ttft_s", ttft, at_peak.ttft_s), ("tpot_s", tpot, at_peak.tpot_s))
            if asked is not None and _missed(asked, got, at_peak)
        )  # fmt: skip
        yield (
            trial.number,
            Placement(
                machine=trial.machine,
                option=trial.option,
                point=trial.points[trial.chosen],
                replicas=replicas,
                machines=ceil(replicas * trial.option.layout.device_count / trial.machine.device_count),
                typical=at_typical,
                peak=at_peak,
                full=at_full,
                misses=misses,
                warnings=_warnings(workload, trial),
            ),
        )


def _missed(asked: float, got: Estimate | None, point: OperatingPoint) -> bool:
    if got is None:
        return point.overloaded
    return got.value > asked * (1 + ONE_IN_A_THOUSAND)


def _relax(
    workload: ServingWorkload,
    trials: list[_Trial],
    loads: Loads,
    ttft: float | None,
    tpot: float | None,
    constants: Constants,
) -> None:
    """Replicas where no number of them meets the targets: as near as the machine's lightest load allows."""
    least = Loads(loads.kind, 0.0, LIGHT_RATE_PER_S if loads.kind == "rate" else 1.0)
    light = operate([at_load(trial.points[0], least.kind, least.peak) for trial in trials], constants)
    groups: dict[tuple[float | None, float | None], list[_Trial]] = {}
    for trial, point in zip(trials, light, strict=True):
        trial.chosen = 0
        groups.setdefault((_relaxed(ttft, point.ttft_s), _relaxed(tpot, point.tpot_s)), []).append(trial)
    if not trials:
        return
    order = [trial for members in groups.values() for trial in members]
    counts = replicas_for(
        [at_load(trial.points[0], loads.kind, loads.peak) for trial in order],
        [loads.peak] * len(order),
        np.array([key[0] or np.inf for key, members in groups.items() for _trial in members]),
        np.array([key[1] or np.inf for key, members in groups.items() for _trial in members]),
        constants,
        minimum=workload.replicas_minimum,
    )
    for trial, count in zip(order, counts, strict=True):
        trial.replicas = count


def _relaxed(asked: float | None, best: Estimate | None) -> float | None:
    if asked is None or best is None:
        return None
    return max(asked, RELAXED * best.value)


def _target(value: float | str) -> float | None:
    return None if isinstance(value, str) else value


def _settle_batch(
    workload: BatchWorkload, trials: list[_Trial], constants: Constants
) -> Iterator[tuple[int, Placement | Refusal]]:
    """Whole machines, as many as the deadline needs, every device of them at work, at saturation.

    hours = requests ÷ (requests a second of one replica × replicas) ÷ 3600.
    """
    full = operate([trial.points[0] for trial in trials], constants)
    deadline = workload.deadline_hours if isinstance(workload.deadline_hours, int | float) else None
    for trial, at_full in zip(trials, full, strict=True):
        if at_full.overloaded or at_full.request_rate_per_s <= 0:
            yield trial.number, Refusal("overload", {"load": "saturated"}, trial.option.split)
            continue
        alone_hours = workload.request_count / at_full.request_rate_per_s / 3600
        wanted = ceil(alone_hours / deadline - ROUNDING) if deadline else 1
        wanted = min(max(wanted, workload.replicas_minimum), REPLICAS_MAXIMUM)
        per_machine = trial.machine.device_count // trial.option.layout.device_count
        machines = ceil(wanted / per_machine)
        replicas = machines * per_machine
        hours = alone_hours / replicas
        rate = at_full.output_tokens_per_s
        estimate = Estimate(
            value=hours, low=hours * rate.value / rate.high, high=hours * rate.value / max(rate.low, 1e-12)
        )
        late = deadline is not None and hours > deadline * (1 + ONE_IN_A_THOUSAND)
        misses = (Miss(target="deadline_hours", asked=deadline, got=hours),) if late and deadline else ()
        yield (
            trial.number,
            Placement(
                machine=trial.machine,
                option=trial.option,
                point=trial.points[0],
                replicas=replicas,
                machines=machines,
                typical=at_full,
                peak=at_full,
                full=at_full,
                misses=misses,
                warnings=_warnings(workload, trial),
                job_hours=estimate,
            ),
        )


def _warnings(workload: ServingWorkload | BatchWorkload, trial: _Trial) -> tuple[str, ...]:
    """Codes of what is worth knowing about this machine for this workload."""
    option, machine = trial.option, trial.machine
    rate = compute_rate(machine.device, workload.weights_format)
    devices = option.layout.device_count
    found = {
        "tp_over_pcie": option.layout.tp > 1 and machine.link in ("pcie", "unknown"),
        "format_saves_memory_only": rate is not None and rate.saves_memory_only,
        "weights_just_fit": option.split.kv_room_bytes < JUST_FITS_FRACTION * option.split.usable_bytes,
        "context_never_tested": option.need.maximum_tokens > CONTEXT_MEASURED_TOKENS,
        "more_devices_for_speed": trial.chosen > 0 and devices > trial.options[0].layout.device_count,
        "engine_total_assumed": machine.device.engine_total_assumed,
        "fraction": machine.fraction < 1,
        "link_unknown": option.layout.tp > 1 and machine.link == "unknown",
        "kv_offload_not_counted": workload.kv_offload_gib > 0,
    }
    return tuple(code for code, holds in found.items() if holds)
