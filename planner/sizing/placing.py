"""One workload on every distinct machine: layout, memory, replicas and speed, in a few passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf

import numpy as np

from planner.sizing.architecture import Architecture
from planner.sizing.constants import Constants
from planner.sizing.devices import Machine
from planner.sizing.formats import compute_rate
from planner.sizing.options import Desk, Option, altered
from planner.sizing.placement import LATENCY_TARGETS, ONE_IN_A_THOUSAND, ROUNDING, Loads, Placement
from planner.sizing.quantities import Estimate
from planner.sizing.results import LatencyTarget, Miss
from planner.sizing.runtime import Runtime
from planner.sizing.serving import (
    REPLICAS_MAXIMUM,
    Load,
    OperatingPoint,
    ServingPoint,
    operate,
    replicas_for,
)
from planner.sizing.setting import Refusal
from planner.sizing.workload import BatchWorkload, Offload, ServingWorkload

CONTEXT_MEASURED_TOKENS = 34_832
"""The longest context among the measurements that the speed constants are held against."""
JUST_FITS_FRACTION = 0.1
"""Less KV room than this share of the usable memory is worth a word."""
Targets = tuple[float | None, float | None]
"""Seconds of TTFT and TPOT; None where none is asked for."""
LIGHT_RATE_PER_S = 1e-6
SWIFT = ("ttft", "tpot")
"""Objectives of who would rather wait less than save machines."""
WORTH_ANOTHER_SPLIT = 0.1
"""A job is split otherwise than over the least devices only where each device then does so much more."""
FEW_AT_ONCE = 64
"""Only where the least devices run fewer requests at once may more of them do a tenth more each."""


@dataclass(eq=False)
class _Trial:
    """A machine on its way: the options that fit, the one chosen, and its replicas."""

    number: int
    machine: Machine
    options: list[Option]
    targets: Targets = (None, None)
    chosen: int = 0
    replicas: int | None = None
    tied: list[int] = field(default_factory=list)
    """Other splits than the plain ones that need equally few machines, of which the fastest is to be found."""
    counts: Sequence[int | None] = ()
    least_misses: bool = False
    """Whether the option with the least devices misses a latency target that the chosen one meets."""
    unreachable: dict[LatencyTarget, float] = field(default_factory=dict)
    """Targets that no number of replicas meets, with what one request alone on a replica gets."""

    @property
    def option(self) -> Option:
        return self.options[self.chosen]

    def machines(self, number: int, replicas: int) -> int:
        """Machines for so many replicas of one of the options."""
        return ceil(replicas * self.options[number].layout.device_count / self.machine.device_count)

    def choose(self, counts: Sequence[int | None], *, fewest_machines: bool) -> None:
        """Of the options that meet the targets the first, or the one with the fewest machines: a plain one if any."""
        met = [
            (self.machines(number, n) if fewest_machines else 0, not self.options[number].is_plain, number)
            for number, n in enumerate(counts)
            if n is not None
        ]
        least = min(met, default=(0, False, 0))
        self.take(least[2], counts)
        self.tied = [number for machines, _other, number in met if least[1] and machines == least[0]]
        self.least_misses = bool(met) and counts[0] is None

    def take(self, number: int, counts: Sequence[int | None]) -> None:
        self.chosen, self.replicas, self.counts = number, counts[number], counts


def place(
    workload: ServingWorkload | BatchWorkload,
    arch: Architecture,
    runtime: Runtime,
    machines: Sequence[Machine],
    constants: Constants,
) -> list[Placement | Refusal]:
    """Every machine's placement, or why there is none, in the order of ``machines``.

    A replica takes the least number of devices that fits and divides; more of them, or another split, only
    where that meets a latency target which the least does not, or needs fewer machines. Who wants the lowest latency
    gets the latter only for the former: what saves machines is slower.
    """
    desk = Desk(workload, arch, runtime)
    return settle(workload, [(machine, desk.options(machine)) for machine in machines], constants)


def settle(
    workload: ServingWorkload | BatchWorkload,
    tried: Sequence[tuple[Machine, list[Option] | Refusal]],
    constants: Constants,
    targets: Sequence[Targets] | None = None,
) -> list[Placement | Refusal]:
    """Each machine with one of its options, the replicas it needs and their speed; refusals stay what they are.

    ``targets`` are those of each machine, where they are not the workload's.
    """
    asked = targets or [targets_of(workload)] * len(tried)
    found: list[Placement | Refusal | None] = [
        outcome if isinstance(outcome, Refusal) else None for _machine, outcome in tried
    ]
    trials = [
        _Trial(number, machine, outcome, asked[number])
        for number, (machine, outcome) in enumerate(tried)
        if not isinstance(outcome, Refusal)
    ]
    settled = (
        _settle_batch(workload, trials, constants)
        if isinstance(workload, BatchWorkload)
        else _settle_serving(workload, trials, constants)
    )
    for number, placement in settled:
        found[number] = placement
    return [outcome for outcome in found if outcome is not None]


def _operate(each: Sequence[tuple[Option, Load, float]], constants: Constants) -> list[OperatingPoint]:
    """The speed of options at their loads; equal ones are worked out once."""
    numbers: dict[tuple[int, Load, float], int] = {}
    points: list[ServingPoint] = []
    for option, kind, load in each:
        if numbers.setdefault((id(option), kind, load), len(points)) == len(points):
            points.append(altered(option.point, load=kind, load_value=load))
    speeds = operate(points, constants)
    return [speeds[numbers[id(option), kind, load]] for option, kind, load in each]


def _count_replicas(
    workload: ServingWorkload,
    options: Sequence[Option],
    loads: Loads,
    targets: Sequence[Targets],
    constants: Constants,
) -> list[int | None]:
    """Replicas for the peak within each option's targets; equal options are worked out once."""
    asked = [(id(option), *own) for option, own in zip(options, targets, strict=True)]
    numbers: dict[tuple[int, float | None, float | None], int] = {}
    distinct: list[int] = []
    for position, question in enumerate(asked):
        if numbers.setdefault(question, len(distinct)) == len(distinct):
            distinct.append(position)
    counts = replicas_for(
        [altered(options[position].point, load=loads.kind, load_value=loads.peak) for position in distinct],
        [loads.peak] * len(distinct),
        np.array([targets[position][0] or np.inf for position in distinct]),
        np.array([targets[position][1] or np.inf for position in distinct]),
        constants,
        minimum=workload.replicas_minimum,
    )
    return [counts[numbers[question]] for question in asked]


def _settle_serving(
    workload: ServingWorkload, trials: list[_Trial], constants: Constants
) -> Iterator[tuple[int, Placement | Refusal]]:
    """Layout and replicas for the peak load within the targets; speed at typical, at peak and at full use."""
    loads = Loads.of(workload)
    tried = [(option, trial.targets) for trial in trials for option in trial.options]
    options, targets = [option for option, _own in tried], [own for _option, own in tried]
    counts = iter(_count_replicas(workload, options, loads, targets, constants))
    for trial in trials:
        own = [next(counts) for _option in trial.options]
        trial.choose(own, fewest_machines=workload.objective not in SWIFT)
    _take_fastest([trial for trial in trials if len(trial.tied) > 1], loads, constants)
    _relax(workload, [trial for trial in trials if trial.replicas is None], loads, constants)
    settled = [(trial, trial.replicas) for trial in trials if trial.replicas is not None]
    beyond = [trial for trial in trials if trial.replicas is None]
    share = loads.peak / REPLICAS_MAXIMUM
    borne = _operate([(trial.option, loads.kind, share) for trial in beyond], constants)
    for trial, point in zip(beyond, borne, strict=True):
        detail = {
            "rule": "overload", "load": loads.kind, "peak": loads.peak, "replicas": REPLICAS_MAXIMUM,
            "rate_per_s": point.bearable_rate_per_s * REPLICAS_MAXIMUM,
        }  # fmt: skip
        yield trial.number, Refusal("overload", detail, trial.option.split, trial.option.layout)
    typical = [(trial.option, loads.kind, loads.typical / n) for trial, n in settled]
    peak = [(trial.option, loads.kind, loads.peak / n) for trial, n in settled]
    full: list[tuple[Option, Load, float]] = [(trial.option, "saturated", 0.0) for trial, _n in settled]
    speeds = _operate(typical + peak + full, constants)
    count = len(settled)
    at_loads = zip(speeds[:count], speeds[count : 2 * count], speeds[2 * count :], strict=True)
    for (trial, replicas), (at_typical, at_peak, at_full) in zip(settled, at_loads, strict=True):
        placement = Placement(
            machine=trial.machine,
            option=trial.option,
            replicas=replicas,
            machines=trial.machines(trial.chosen, replicas),
            typical=at_typical,
            peak=at_peak,
            full=at_full,
            misses=_misses(trial.targets, at_peak, trial.unreachable),
            warnings=_warnings(workload, trial),
        )
        yield trial.number, placement


def _take_fastest(trials: Sequence[_Trial], loads: Loads, constants: Constants) -> None:
    """Of equally few machines split otherwise than plainly, the split with the shortest time per token."""
    tried = [(trial, number) for trial in trials for number in trial.tied]
    speeds = _operate(
        [(trial.options[n], loads.kind, loads.peak / (trial.counts[n] or 1)) for trial, n in tried], constants
    )
    best: dict[int, float] = {}
    for (trial, number), speed in zip(tried, speeds, strict=True):
        tpot = speed.tpot_s.value if speed.tpot_s else inf
        if tpot < best.get(trial.number, inf):
            best[trial.number] = tpot
            trial.take(number, trial.counts)


def _misses(
    targets: Targets, peak: OperatingPoint, unreachable: Mapping[LatencyTarget, float]
) -> tuple[Miss, ...]:
    asked_and_got = zip(LATENCY_TARGETS, targets, (peak.ttft_s, peak.tpot_s), strict=True)
    return tuple(
        Miss(target=target, asked=asked, got=got.value if got else None, best=unreachable.get(target))
        for target, asked, got in asked_and_got
        if asked is not None and _missed(asked, got, peak)
    )


def _missed(asked: float, got: Estimate | None, point: OperatingPoint) -> bool:
    if got is None:
        return point.overloaded
    return got.value > asked * (1 + ONE_IN_A_THOUSAND)


def _relax(
    workload: ServingWorkload,
    trials: list[_Trial],
    loads: Loads,
    constants: Constants,
) -> None:
    """Replicas where no number of them meets every target: as many as hold the load within those that can be met.

    A target that the machine's lightest load misses sells no replicas: more of them would not bring it nearer than
    that load does. Of the least devices and of splits that are not plain, what misses fewest targets is taken, then
    what needs the fewest machines.
    """
    lightest = LIGHT_RATE_PER_S if loads.kind == "rate" else 1.0
    tried = [
        (trial, number)
        for trial in trials
        for number, option in enumerate(trial.options)
        if number == 0 or not option.is_plain
    ]
    options = [trial.options[number] for trial, number in tried]
    light = _operate([(option, loads.kind, lightest) for option in options], constants)
    lost: list[dict[LatencyTarget, float]] = []
    for (trial, _number), point in zip(tried, light, strict=True):
        best = (point.ttft_s, point.tpot_s)
        lost.append(
            {
                target: got.value
                for target, asked, got in zip(LATENCY_TARGETS, trial.targets, best, strict=True)
                if asked is not None and got is not None and got.value > asked
            }
        )
    kept = [
        (None if "ttft_s" in gone else trial.targets[0], None if "tpot_s" in gone else trial.targets[1])
        for (trial, _number), gone in zip(tried, lost, strict=True)
    ]
    counts = _count_replicas(workload, options, loads, kept, constants)
    taken: dict[int, tuple[int, float, int]] = {}
    for (trial, number), gone, count in zip(tried, lost, counts, strict=True):
        machines = inf if count is None else trial.machines(number, count)
        rank = (len(gone), 0 if workload.objective in SWIFT else machines, number)
        if trial.number not in taken or rank < taken[trial.number]:
            taken[trial.number] = rank
            trial.chosen, trial.replicas, trial.unreachable = number, count, gone


def targets_of(workload: ServingWorkload | BatchWorkload) -> Targets:
    """TTFT and TPOT that were asked for; jobs ask for neither."""
    if isinstance(workload, BatchWorkload):
        return None, None
    ttft, tpot = workload.targets.ttft_s, workload.targets.tpot_s
    return None if isinstance(ttft, str) else ttft, None if isinstance(tpot, str) else tpot


def _settle_batch(
    workload: BatchWorkload, trials: list[_Trial], constants: Constants
) -> Iterator[tuple[int, Placement | Refusal]]:
    """Whole machines, as many as the deadline needs, every device of them at work, at saturation.

    hours = requests ÷ (requests a second of one replica × replicas) ÷ 3600. The least devices, unless another split
    takes a tenth less machine time.
    """
    tried = [
        (trial, number)
        for trial in trials
        for number, option in enumerate(trial.options)
        if number == 0 or not option.is_plain or trial.options[0].point.batch_cap < FEW_AT_ONCE
    ]
    speeds = _operate([(trial.options[number], "saturated", 0.0) for trial, number in tried], constants)
    full: dict[int, OperatingPoint] = {}
    pace: dict[int, float] = {}
    for (trial, number), speed in zip(tried, speeds, strict=True):
        each = 0.0 if speed.overloaded else speed.request_rate_per_s
        each /= trial.options[number].layout.device_count
        if trial.number not in full or each > pace[trial.number] * (1 + WORTH_ANOTHER_SPLIT):
            trial.chosen, full[trial.number], pace[trial.number] = number, speed, each
    deadline = workload.deadline_hours if isinstance(workload.deadline_hours, int | float) else None
    for trial in trials:
        at_full = full[trial.number]
        if at_full.overloaded or at_full.request_rate_per_s <= 0:
            yield (
                trial.number,
                Refusal("overload", {"load": "saturated"}, trial.option.split, trial.option.layout),
            )
            continue
        if trial.option.point.batch_cap >= workload.request_count:
            # The whole job runs at once: nothing ends the batch but the job.
            at_full = replace(at_full, limit=at_full.longest_part, batch_limit="offered_load")
        alone_hours = workload.request_count / at_full.request_rate_per_s / 3600
        wanted = ceil(alone_hours / deadline - ROUNDING) if deadline else 1
        wanted = min(max(wanted, workload.replicas_minimum), REPLICAS_MAXIMUM)
        per_machine = trial.machine.device_count // trial.option.layout.device_count
        machines = ceil(wanted / per_machine)
        replicas = machines * per_machine
        hours = alone_hours / replicas
        rate = at_full.output_tokens_per_s
        estimate = Estimate(
            value=hours,
            low=hours * (rate.value / rate.high),
            high=hours * (rate.value / max(rate.low, 1e-12)),
        )
        late = deadline is not None and hours > deadline * (1 + ONE_IN_A_THOUSAND)
        misses = (Miss(target="deadline_hours", asked=deadline, got=hours),) if late and deadline else ()
        yield (
            trial.number,
            Placement(
                machine=trial.machine,
                option=trial.option,
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
    more = option.layout.device_count > trial.options[0].layout.device_count
    found = {
        "tp_over_pcie": option.layout.ranks > 1 and machine.link in ("pcie", "unknown"),
        "format_saves_memory_only": rate is not None and rate.saves_memory_only,
        "weights_just_fit": option.split.kv_room_bytes < JUST_FITS_FRACTION * option.split.usable_bytes,
        "context_never_tested": workload.input_tokens.maximum + workload.output_tokens.maximum
        > CONTEXT_MEASURED_TOKENS,
        "more_devices_for_speed": more and trial.least_misses,
        "more_devices_for_load": more and not trial.least_misses,
        "attention_by_requests": option.layout.dp > 1,
        "layers_beside_tensors": option.layout.pp > 1 and not option.is_plain,
        "engine_total_assumed": machine.device.engine_total_assumed,
        "fraction": machine.fraction < 1,
        "link_unknown": option.layout.ranks > 1 and machine.link == "unknown",
        "kv_offload_not_counted": workload.kv_offload_gib > 0,
        "weights_in_host_memory": workload.offload != Offload(),
    }
    return tuple(code for code, holds in found.items() if holds)
