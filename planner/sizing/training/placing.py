"""A training workload on machines: for each kind of machine the fastest split that fits, on as few machines as do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from planner.sizing.devices import Layout, Machine, Rate
from planner.sizing.host import HostNeed, PathRate
from planner.sizing.quantities import Estimate
from planner.sizing.results import Limit, MemoryPart, MemoryParts, Miss, ReplicasSetBy, Verdict
from planner.sizing.setting import Refusal
from planner.sizing.training import memory, speed
from planner.sizing.training.constants import TrainingConstants, classes
from planner.sizing.training.demand import fabric_bytes
from planner.sizing.training.fabric import Fabric, fabric
from planner.sizing.training.job import Job, Recompute, Split
from planner.sizing.training.memory import Peak
from planner.sizing.training.options import (
    GPUS_MAXIMUM,
    MICRO_BATCHES,
    machine_counts,
    recomputes,
    splits,
)
from planner.sizing.training.speed import NoRate, Step, peak_flops

PARTS = (
    "frozen",
    "weights",
    "gradients",
    "optimizer",
    "activations",
    "logits",
    "buffers",
    "allocator",
    "runtime",
)
NAMES = {
    "weights": "trainable",
    "buffers": "work_buffers",
    "allocator": "fragmentation",
    "runtime": "overhead",
}
"""Of the parts as they are shown."""
SHORTLIST = 10
"""Splits whose time is worked out for one machine; the rest differ by more ranks for the same memory."""
FLASH_CAPABILITY = 8.0


@dataclass(frozen=True)
class Task:
    """What the search needs of a workload, whichever kind it is."""

    job: Job
    """Without split, micro-batch and recomputation."""
    effective_batch: int
    batch_tolerance: float
    """By how much larger a batch is still the one asked for: nothing, or of a round number of tokens a little."""
    micro: int | None
    recompute: str
    sharding: Any
    machines_maximum: int
    gpus_exact: int | None
    """So many GPUs and no other number, in whole machines; None: up to ``machines_maximum`` machines."""
    headroom_fraction: float
    network_bytes_per_s: float | None
    constants: TrainingConstants


@dataclass(frozen=True)
class Choice:
    """One split of a job on one machine type, with its memory and the time of a step."""

    job: Job
    peak: Peak
    step: Step
    machines: int
    links: Fabric

    @property
    def needed_bytes(self) -> float:
        return float(self.peak.total)

    @property
    def step_s(self) -> float:
        return float(self.step.total_s)

    @property
    def samples_per_s(self) -> float:
        return self.job.step_samples / self.step_s

    @property
    def fabric_bytes(self) -> float:
        """Over one GPU's adapter between machines, in one step."""
        return fabric_bytes(self.job, self.links)


@dataclass(frozen=True)
class TrainingPlacement:
    """A whole run on one kind of machine."""

    machine: Machine
    choice: Choice
    planned: MemoryParts
    verdict: Verdict
    limit: Limit
    misses: tuple[Miss, ...]
    warnings: tuple[str, ...]
    step_s: Estimate
    """With what the data path and checkpoints add."""
    run_hours: Estimate
    facts: Mapping[str, float]
    """Further figures by name; their units stand in ``TrainingSetting``."""
    host: HostNeed | None
    path: PathRate | None

    @property
    def layout(self) -> Layout:
        split = self.choice.job.split
        return Layout(tp=split.tp, pp=split.pp, ep=split.ep, dp=split.dp * split.cp)

    @property
    def replicas(self) -> int:
        return 1

    @property
    def machines(self) -> int:
        return self.choice.machines

    @property
    def set_by(self) -> ReplicasSetBy | None:
        return None

    @property
    def idle_devices(self) -> int:
        return self.machine.device_count * self.choice.machines - self.choice.job.split.gpu_count


def flash_runs(machine: Machine) -> bool:
    """Flash attention needs Ampere or newer of NVIDIA; others bring their own."""
    capability = machine.device.compute_capability
    return machine.device.vendor != "nvidia" or capability is None or float(capability) >= FLASH_CAPABILITY


def on_machine(task: Task, machine: Machine) -> Job:
    """The job with what this device cannot do taken out."""
    job = task.job
    if job.flash_attention and not flash_runs(machine):
        job = job.model_copy(update={"flash_attention": False})
    return job


def parts(
    found: Peak, usable_bytes: float, device_bytes: int, headroom: float, spread: tuple[float, float]
) -> MemoryParts:
    """Memory as it is shown: every part, and what may be used."""
    named = []
    for name in PARTS:
        size = round(float(getattr(found, name)))
        exact = name in ("frozen", "weights", "gradients", "optimizer")
        named.append(
            MemoryPart(
                name=NAMES.get(name, name),
                size_bytes=size,
                low_bytes=size if exact else round(size * spread[0]),
                high_bytes=size if exact else round(size * spread[1]),
            )
        )
    return MemoryParts(
        device_bytes=device_bytes,
        usable_bytes=round(usable_bytes),
        headroom_bytes=round(usable_bytes * headroom),
        needed_bytes=sum(part.size_bytes for part in named),
        parts=tuple(named),
    )


def candidates(task: Task, job: Job, gpu_count: int, domain: int) -> list[Job]:
    """Jobs with every split, recomputation and micro-batch worth trying on so many GPUs.

    Micro-batch × accumulation × ranks is the batch asked for, or the next that so many ranks can divide; a micro-batch
    that was asked for may take the next that it divides.
    """
    found = []
    sequence = job.sequence
    for split in splits(job.arch, job.software, task.sharding, gpu_count, domain, sequence):
        if split.dp > task.effective_batch:
            continue
        micros = (task.micro,) if task.micro else micro_batches(task, split.dp)
        for recompute in recomputes(task.recompute, job.software):
            for micro in micros:
                if micro * split.dp > task.effective_batch and micro > 1:
                    continue
                found.append(_with(job, split, recompute, micro, task.effective_batch))
    return found


def micro_batches(task: Task, ranks: int) -> tuple[int, ...]:
    """Micro-batches that make of the batch no more than the next one that the ranks divide, the largest first."""
    next_one = ceil(task.effective_batch / ranks) * ranks
    most = max(next_one, task.effective_batch * (1 + task.batch_tolerance))
    return tuple(
        micro
        for micro in MICRO_BATCHES
        if ceil(task.effective_batch / (micro * ranks)) * micro * ranks <= most
    )


def is_larger(task: Task, job: Job) -> bool:
    """Whether a step takes more samples than were asked for."""
    return job.step_samples > task.effective_batch * (1 + task.batch_tolerance)


def _with(job: Job, split: Split, recompute: Recompute, micro: int, batch: int) -> Job:
    return job.model_copy(
        update={
            "split": split,
            "recompute": recompute,
            "micro_batch": micro,
            "accumulation": max(1, ceil(batch / (micro * split.dp))),
        }
    )


class Search:
    """Finds placements; remembers memory, which does not depend on the machine but through its classes."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._memory: dict[tuple[Any, ...], tuple[list[Job], Peak]] = {}

    def memory(self, machine: Machine, gpu_count: int, domain: int) -> tuple[list[Job], Peak]:
        """All jobs to try on so many GPUs, and their memory in columns."""
        task = self.task
        job = on_machine(task, machine)
        found_classes = classes(job, machine.device)
        key = (gpu_count, domain, job.flash_attention, found_classes.software, found_classes.build)
        if key not in self._memory:
            jobs = candidates(task, job, gpu_count, domain)
            table = memory.columns([memory.amounts(one, "device") for one in jobs]) if jobs else None
            values = task.constants.resolve(found_classes)
            self._memory[key] = (jobs, memory.peak(table, values)) if table else ([], None)  # type: ignore[assignment]
        return self._memory[key]

    def best(self, machine: Machine, machines: int, usable_bytes: float) -> Choice | None:
        """The fastest job that needs no more than ``usable_bytes`` of each device; None where none fits.

        Samples beyond the batch that was asked for are no gain: what counts is the time of a step of that batch.
        """
        task, device = self.task, machine.device
        links = fabric(device, task.network_bytes_per_s, machine.device_count)
        gpu_count = machine.device_count * machines
        jobs, peaks = self.memory(machine, gpu_count, links.domain)
        if not jobs:
            return None
        fits = np.flatnonzero(np.asarray(peaks.total) <= usable_bytes)
        if not len(fits):
            return None
        values = task.constants.resolve(classes(jobs[0], device))
        found: list[Choice] = []
        seen: set[tuple[Split, str]] = set()
        for n in fits:
            job = jobs[int(n)]
            if (job.split, job.recompute) in seen:
                continue  # Micro-batches come largest first.
            seen.add((job.split, job.recompute))
            if len(seen) > SHORTLIST:
                break
            step = speed.step(speed.work(job, device, links), values)
            found.append(Choice(job, _row(peaks, int(n)), step, machines, links))
        least_s = min(one.step_s for one in found)
        return min(found, key=lambda one: (round(-least_s / one.step_s, 3), one.needed_bytes))

    def smallest(self, machine: Machine, most: int | None = None) -> tuple[Job, Peak] | None:
        """The job that needs least memory, whether it fits or not, on the most machines that can share the batch, at
        most ``most`` of them."""
        links = fabric(machine.device, self.task.network_bytes_per_s, machine.device_count)
        for machines in reversed(counts(self.task, machine, most or GPUS_MAXIMUM)):
            jobs, peaks = self.memory(machine, machine.device_count * machines, links.domain)
            if jobs:
                n = int(np.argmin(np.asarray(peaks.total)))
                return jobs[n], _row(peaks, n)
        return None


def _row(table: Peak, n: int) -> Peak:
    return Peak(
        *(
            np.broadcast_to(np.asarray(getattr(table, name)), np.shape(table.total))[n]
            for name in Peak.__slots__
        )
    )


NEEDED_RATES: dict[str, tuple[Rate, ...]] = {
    "bf16": ("bf16",), "fp16": ("fp16", "bf16"), "fp8": ("fp8",), "fp4": ("fp4",), "fp32": ("tf32", "fp32"),
}  # fmt: skip
"""A precision is run where the matrix units have one of these; nothing else is done in its place unasked."""


INFERENCE_ONLY = ("Inferentia",)
"""Chips that their maker builds for inference; its training goes to others (AWS: Trainium)."""


def cannot_train(task: Task, machine: Machine) -> Refusal | None:
    """What keeps a machine out whatever the memory: slices, unknown rates, a precision its units do not run."""
    device = machine.device
    if machine.fraction != 1:
        return Refusal("support", {"rule": "slice_trains_nothing", "device": device.name})
    if device.name.startswith(INFERENCE_ONLY):
        return Refusal("support", {"rule": "inference_only", "device": device.name})
    if not device.dense_rates:
        return Refusal("support", {"rule": "matrix_rate_unknown", "device": device.name})
    precision = task.job.precision
    if not any(rate in device.dense_rates for rate in NEEDED_RATES[precision]):
        named = {"rule": "precision_not_run", "device": device.name, "precision": precision.upper()}
        return Refusal("support", named)
    try:
        peak_flops(device, precision)
        peak_flops(device, "fp16" if precision == "fp16" else "bf16")
    except NoRate:
        return Refusal("support", {"rule": "matrix_rate_unknown", "device": device.name})
    return None


def counts(task: Task, machine: Machine, most: int = GPUS_MAXIMUM) -> tuple[int, ...]:
    """Numbers of this machine to try, at most ``most``; none where the GPUs asked for are no whole machines."""
    if task.gpus_exact is None:
        return machine_counts(min(task.machines_maximum, most))
    machines, rest = divmod(task.gpus_exact, machine.device_count)
    return (machines,) if not rest and 0 < machines <= most else ()


def refused(task: Task, search: Search, machine: Machine) -> Refusal:
    """Why the workload does not fit on this machine, however it is split."""
    device = machine.device
    if not counts(task, machine):
        detail = {"rule": "no_whole_machines", "gpus": task.gpus_exact, "each": machine.device_count}
        return Refusal("divisibility", detail)
    found = search.smallest(machine)
    if found is None:
        gpus = task.gpus_exact or machine.device_count * task.machines_maximum
        return Refusal("divisibility", {"rule": "no_split", "gpus": gpus})
    job, least = found
    split = parts(
        least, float(device.engine_total_bytes), device.engine_total_bytes, task.headroom_fraction, (1.0, 1.0)
    )
    return Refusal(
        "memory",
        {"rule": "training", "gpus": job.split.gpu_count},
        split=split,
        layout=Layout(tp=job.split.tp, pp=job.split.pp, ep=job.split.ep, dp=job.split.dp * job.split.cp),
    )


def place(
    task: Task, machines: Sequence[Machine], finish: Callable[[Machine, Choice, Verdict], TrainingPlacement]
) -> list[TrainingPlacement | Refusal]:
    """Each machine of a market: the fewest that fit and meet the deadline, else the most that may be rented."""
    search = Search(task)
    found: list[TrainingPlacement | Refusal] = []
    for machine in machines:
        found.append(_place(task, search, machine, finish))
    return found


def _place(
    task: Task,
    search: Search,
    machine: Machine,
    finish: Callable[[Machine, Choice, Verdict], TrainingPlacement],
) -> TrainingPlacement | Refusal:
    barred = cannot_train(task, machine)
    if barred is not None:
        return barred
    device_bytes = float(machine.device.engine_total_bytes)
    latest: TrainingPlacement | None = None
    rooms: tuple[tuple[float, Verdict], ...] = (
        (device_bytes * (1 - task.headroom_fraction), "fits"), (device_bytes, "tight"),
    )  # fmt: skip
    for room, verdict in rooms:
        least = 1.0
        for count in counts(task, machine):
            if count < least and count < task.machines_maximum:
                continue
            choice = search.best(machine, count, room)
            if choice is None:
                continue
            latest = finish(machine, choice, verdict)
            if not latest.misses:
                return latest
            late = latest.misses[0]
            if late.got is not None:
                # More machines are never faster than in proportion.
                least = count * late.got / late.asked
        if latest is not None:
            return latest
    return refused(task, search, machine)
