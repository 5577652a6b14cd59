"""A whole run on a machine: the step with its data path, checkpoints and failures, host and storage, what it misses."""

from __future__ import annotations

from math import ceil

from planner.sizing import bill, host, storage_need
from planner.sizing.architecture import parameter_count
from planner.sizing.devices import Machine
from planner.sizing.host import DataPath, HostNeed
from planner.sizing.quantities import GB, Estimate
from planner.sizing.results import Limit, Miss, Verdict
from planner.sizing.training import checkpoints, memory
from planner.sizing.training.constants import classes, regime
from planner.sizing.training.counting import parameters, widths
from planner.sizing.training.flops import useful_flops_per_token
from planner.sizing.training.memory import HALF_BYTES
from planner.sizing.training.placing import Choice, TrainingPlacement, is_larger, parts
from planner.sizing.training.question import Question
from planner.sizing.training.speed import peak_flops
from planner.sizing.training.states import BYTES, moment_bytes

SECONDS_PER_HOUR = 3600.0
UNITS = {
    "train_step_s": "s", "run_hours": "h", "run_days": "d", "gpu_hours": "h", "tokens_per_s": "tokens/s",
    "samples_per_s": "1/s", "steps_per_hour": "1/h", "steps": "1", "mfu": "1", "tokens_total": "token",
    "gpu_count": "1", "micro_batch": "1", "accumulation": "1", "effective_batch": "1", "zero_stage": "1",
    "context_parallel": "1", "recompute": "1", "checkpoint_bytes": "byte", "checkpoint_write_s": "s",
    "checkpoint_interval_s": "s", "checkpoint_written_bytes": "byte", "restore_s": "s", "wasted_fraction": "1",
    "interruptions": "1", "spot_interruptions": "1", "rework_fraction": "1", "host_cores": "1",
    "host_ram_bytes": "byte", "host_page_cache_bytes": "byte",
    "host_shared_memory_bytes": "byte", "loader_samples_per_s": "1/s", "storage_read_bytes_per_s": "byte/s",
    "checkpoint_write_bytes_per_s": "byte/s",
    "storage_gb": "GB", "storage_spot_gb": "GB", "fabric_bytes_per_s": "byte/s", "fabric_offered_bytes_per_s": "byte/s",
    "spare_machines": "1", "trainable": "1",
    "flash_attention": "1", "data_wait_fraction": "1",
}  # fmt: skip
"""Unit of every figure that a training run names."""
RANGED = {"train_step_s", "run_hours", "run_days", "gpu_hours"}
INVERSE = {"tokens_per_s", "samples_per_s", "steps_per_hour", "mfu"}
RECOMPUTE_CODES = {"none": 0, "selective": 1, "full": 2}


def finish(asked: Question, machine: Machine, choice: Choice, verdict: Verdict) -> TrainingPlacement:
    """A whole run: the step with the data path, checkpoints, failures; host and storage; what it misses."""
    workload, job = asked.workload, choice.job
    device = machine.device
    low, high = asked.constants.range_of(regime("speed", job), classes(job, device))
    path = asked.data_path(machine)
    cores = machine.vcpu
    fed = None if cores is None else host.path_rate(path, cores)
    per_machine = choice.samples_per_s / choice.machines
    waiting = 1.0
    if fed is not None and fed.samples_per_s < per_machine:
        waiting = per_machine / fed.samples_per_s
    step_s = choice.step_s * waiting
    steps = ceil(asked.samples / job.step_samples)
    size = asked.checkpoint_bytes()
    write_s = size / (workload.storage.write_gb_per_s * GB * choice.machines)
    restore_s = size / (workload.storage.read_gb_per_s * GB * choice.machines)
    gpus = job.split.gpu_count
    assumed = workload.assumed
    between = checkpoints.mean_time_between_failures_s(gpus, assumed=assumed)
    saves = workload.checkpoints.planned
    interval = interval_s(asked, write_s, between)
    restart = workload.checkpoints.restart_minutes * 60 + restore_s
    productive_h = steps * step_s / SECONDS_PER_HOUR
    wasted = (
        checkpoints.wasted_fraction(write_s, interval, restart, between)
        if saves
        else min(0.99, productive_h * SECONDS_PER_HOUR / 2 / between)
    )
    hours = productive_h / (1 - wasted)
    tokens_per_s = job.step_samples * job.sample_tokens / step_s
    flops, _rate = peak_flops(device, job.precision)
    need = host_need(asked, machine, choice, path, per_machine)
    facts: dict[str, float] = {
        "gpu_hours": hours * gpus,
        "run_days": hours / 24,
        "tokens_per_s": tokens_per_s,
        "samples_per_s": job.step_samples / step_s,
        "steps_per_hour": SECONDS_PER_HOUR / step_s,
        "steps": steps,
        "mfu": tokens_per_s / gpus * useful_flops_per_token(job) / flops,
        "tokens_total": asked.samples * job.sample_tokens,
        "gpu_count": gpus,
        "micro_batch": job.micro_batch,
        "accumulation": job.accumulation,
        "effective_batch": job.step_samples,
        "zero_stage": job.split.zero_stage,
        "context_parallel": job.split.cp,
        "recompute": RECOMPUTE_CODES[job.recompute],
        "flash_attention": float(job.flash_attention),
        "trainable": parameters(job).total_adapters if job.method != "full" else parameter_count(asked.arch),
        "checkpoint_bytes": size,
        "restore_s": restore_s,
        "wasted_fraction": wasted,
        "interruptions": hours * SECONDS_PER_HOUR / between,
        "host_ram_bytes": need.ram_bytes,
        "host_page_cache_bytes": need.page_cache_bytes,
        "host_shared_memory_bytes": need.shared_memory_bytes,
        "storage_read_bytes_per_s": per_machine / waiting * path.sample_bytes,
        "storage_gb": asked.storage_gb(saved(hours, interval)),
        "data_wait_fraction": 1 - 1 / waiting,
    }
    if saves:
        spot = spot_interval_s(asked, gpus, choice.machines, write_s)
        facts |= {
            "checkpoint_write_s": write_s,
            "checkpoint_interval_s": interval,
            "checkpoint_write_bytes_per_s": size / max(write_s, 1e-9),
            "checkpoint_written_bytes": size * saved(hours, interval),
            "storage_spot_gb": asked.storage_gb(saved(hours, min(spot, interval))),
            "spot_interruptions": hours * bill.INTERRUPTIONS_PER_HOUR.given(assumed) * choice.machines,
            "rework_fraction": spot_rework(asked, gpus, choice.machines, write_s, restart),
        }
    if need.cores is not None:
        facts["host_cores"] = need.cores
    if fed is not None:
        facts["loader_samples_per_s"] = fed.samples_per_s * choice.machines
    if choice.machines > 1:
        facts["fabric_bytes_per_s"] = choice.fabric_bytes / choice.step_s
        facts["fabric_offered_bytes_per_s"] = choice.links.between
        facts["spare_machines"] = ceil(
            gpus * checkpoints.REPAIR_HOURS.given(assumed) / checkpoints.GPU_HOURS_PER_FAILURE.given(assumed)
        )
    limit = _limit(choice, fed.slowest if fed is not None and waiting > 1 else None)
    spread = asked.constants.range_of(regime("memory", job))
    run_hours = Estimate(value=hours, low=hours * low, high=hours * high)
    deadline = workload.deadline_hours
    misses: tuple[Miss, ...] = ()
    if isinstance(deadline, int | float) and hours > deadline:
        misses = (Miss(target="deadline_hours", asked=deadline, got=hours),)
    return TrainingPlacement(
        machine=machine,
        choice=choice,
        verdict=verdict,
        limit=limit,
        misses=misses,
        planned=parts(
            choice.peak,
            float(device.engine_total_bytes),
            device.engine_total_bytes,
            workload.headroom_fraction,
            spread,
        ),
        warnings=_warnings(asked, machine, choice, need, fed is None, waiting, restore_s),
        step_s=Estimate(value=step_s, low=step_s * low, high=step_s * high),
        run_hours=run_hours,
        facts=facts,
        host=need,
        path=fed,
    )


def interval_s(asked: Question, write_s: float, between: float) -> float:
    """Seconds between checkpoints: as asked, else those that lose least."""
    minutes = asked.workload.checkpoints.interval_minutes
    return minutes * 60 if minutes is not None else checkpoints.best_interval_s(write_s, between)


def saved(hours: float, interval_s: float) -> int:
    """Checkpoints that a run writes: one at its end at least."""
    return max(1, int(hours * SECONDS_PER_HOUR // max(interval_s, 1)))


def spot_interval_s(asked: Question, gpu_count: int, machines: int, write_s: float) -> float:
    """Seconds between checkpoints on machines that may be taken away."""
    assumed = asked.workload.assumed
    taken = bill.INTERRUPTIONS_PER_HOUR.given(assumed) * machines
    return interval_s(asked, write_s, checkpoints.mean_time_between_failures_s(gpu_count, taken, assumed))


def spot_rework(asked: Question, gpu_count: int, machines: int, write_s: float, restart_s: float) -> float:
    """Share of spot time that is not progress, with checkpoints as often as spot asks for."""
    assumed = asked.workload.assumed
    taken = bill.INTERRUPTIONS_PER_HOUR.given(assumed) * machines
    between = checkpoints.mean_time_between_failures_s(gpu_count, taken, assumed)
    return checkpoints.wasted_fraction(write_s, interval_s(asked, write_s, between), restart_s, between)


def host_need(
    asked: Question, machine: Machine, choice: Choice, path: DataPath, samples_per_s: float
) -> HostNeed:
    workload, job = asked.workload, choice.job
    held = parameters(job)
    offloaded = 0.0
    if job.offload_optimizer:
        kept = BYTES[job.state]
        per_parameter = kept.master + moment_bytes(job.state, job.optimizer)
        trained = held.total if job.method == "full" else held.total_adapters
        offloaded = trained * per_parameter / choice.machines
    if job.offload_activations and job.recompute != "none":
        split, wide = job.split, widths(job.arch)
        kept_bytes = HALF_BYTES * job.peak_tokens * wide.hidden * wide.layers / split.pp
        shards = split.tp if split.sequence_parallel else 1
        offloaded += kept_bytes / shards * split.gpu_count / choice.machines
    return host.host_need(
        cores=host.cores_for(path, samples_per_s),
        weights_bytes=held.total * 2.0,
        workers=workload.host.workers_per_gpu * machine.device_count,
        worker_bytes=workload.host.worker_gb * GB,
        batch_bytes=path.sample_bytes * job.micro_batch,
        offloaded_bytes=offloaded,
        dataset_bytes=workload.storage.dataset_gb * GB,
        assumed=workload.assumed,
    )


def _limit(choice: Choice, slowest: str | None) -> Limit:
    if slowest is not None:
        return "storage_read" if slowest == "storage_read" else "data_loading"
    step = choice.step
    groups: dict[Limit, float] = {
        "compute": float(step.products_s) + float(step.attention_s),
        "memory_bandwidth": float(step.traffic_s) + float(step.optimizer_s),
        "interconnect": float(step.tensor_s)
        + float(step.experts_s)
        + float(step.data_s)
        + float(step.bubble_s),
        "step_overhead": float(step.launch_s),
    }
    return max(groups, key=lambda name: groups[name])


def _fits_unquantised(asked: Question, machine: Machine, choice: Choice) -> bool:
    """Whether frozen weights in four bits would fit at 16, split and computed as they are."""
    if choice.job.method != "qlora":
        return False
    job = choice.job.model_copy(update={"method": "lora", "frozen_format": "bf16"})
    values = asked.constants.resolve(classes(job, machine.device))
    needed = float(memory.peak(memory.amounts(job, "device"), values).total)
    return needed <= machine.device.engine_total_bytes * (1 - asked.workload.headroom_fraction)


def _warnings(
    asked: Question,
    machine: Machine,
    choice: Choice,
    need: HostNeed,
    cores_unknown: bool,
    waiting: float,
    restore_s: float,
) -> tuple[str, ...]:
    workload = asked.workload
    limit = workload.storage.restore_minutes_maximum
    direct = storage_need.gpudirect(
        machine.device.vendor,
        workload.storage.method,
        workload.storage.place,
        read_bound=waiting > 1,
        decoded=workload.host.decode_ms > 0,
    )
    codes = (
        ("host_ram_short", machine.ram_bytes is not None and machine.ram_bytes < need.ram_bytes),
        ("host_ram_unknown", machine.ram_bytes is None),
        ("host_cores_unknown", cores_unknown),
        ("waits_for_data", waiting > 1),
        ("more_cores_do_not_help", waiting > 1 and need.cores is None),
        ("batch_above_asked", is_larger(asked.task(), choice.job)),
        ("tp_over_pcie", choice.job.split.tp > 1 and machine.link in ("pcie", "unknown")),
        (
            "zero3_over_pcie",
            choice.job.split.zero_stage == 3
            and choice.job.split.gpu_count > 1
            and machine.link in ("pcie", "unknown"),
        ),
        ("qlora_not_needed", _fits_unquantised(asked, machine, choice)),
        (
            "context_beyond_model",
            asked.arch.max_position is not None and choice.job.sequence > asked.arch.max_position,
        ),
        ("link_unknown", machine.link == "unknown" and machine.device_count > 1),
        ("fabric_assumed", choice.machines > 1),
        (
            "fabric_short",
            choice.machines > 1 and choice.fabric_bytes / choice.step_s > choice.links.between,
        ),
        ("no_flash_attention", workload.flash_attention and not choice.job.flash_attention),
        ("no_checkpoints", not workload.checkpoints.planned),
        (
            "checkpoints_do_not_resume",
            workload.checkpoints.planned and workload.checkpoints.content == "weights",
        ),
        ("restore_too_slow", limit is not None and restore_s > limit * 60),
        ("gpudirect_would_not_help", workload.storage.gpudirect == "wanted" and not direct.useful),
        ("engine_total_assumed", machine.device.engine_total_assumed),
    )
    return tuple(code for code, holds in codes if holds)
