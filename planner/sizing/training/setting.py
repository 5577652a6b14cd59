"""Training as a setting: what each kind of workload asks, and what a run on a machine comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from math import ceil
from typing import Any

import numpy as np

from planner.sizing import bill, host, storage_need
from planner.sizing.architecture import Architecture, active_parameter_count, parameter_count
from planner.sizing.bill import Needs, Run
from planner.sizing.devices import Machine
from planner.sizing.host import DataPath, DataStage, HostNeed
from planner.sizing.llm import describe_model
from planner.sizing.quantities import GB, Assumption, Derivation, Estimate
from planner.sizing.results import Bill, Candidate, Figure, Limit, Miss, Verdict
from planner.sizing.setting import WITHOUT_EFFECT, Change, Outcome, Refusal, Setting
from planner.sizing.storage_need import Kept, StorageNeed
from planner.sizing.training import checkpoints, derivations
from planner.sizing.training.constants import TrainingConstants, classes, regime
from planner.sizing.training.counting import parameters
from planner.sizing.training.flops import model_flops_per_token
from planner.sizing.training.job import Job, State
from planner.sizing.training.placing import Choice, Search, Task, TrainingPlacement, parts, place
from planner.sizing.training.speed import peak_flops
from planner.sizing.training.states import BYTES, moment_bytes
from planner.sizing.training.workload import TOKENS_PER_PARAMETER, PretrainingWorkload, TuningWorkload

SECONDS_PER_HOUR = 3600.0
HOURS_PER_MONTH = 730.0
BYTES_PER_TOKEN = 4
REPAIR_HOURS = 24.0
"""So long a failed machine is away: as many spares stand in for those."""
METHODS = {"lora": "lora", "qlora": "qlora", "full_finetune": "full", "pretraining": "full"}
UNITS = {
    "train_step_s": "s", "run_hours": "h", "run_days": "d", "gpu_hours": "h", "tokens_per_s": "tokens/s",
    "samples_per_s": "1/s", "steps_per_hour": "1/h", "steps": "1", "mfu": "1", "tokens_total": "token",
    "gpu_count": "1", "micro_batch": "1", "accumulation": "1", "effective_batch": "1", "zero_stage": "1",
    "context_parallel": "1", "recompute": "1", "checkpoint_bytes": "byte", "checkpoint_write_s": "s",
    "checkpoint_interval_s": "s", "checkpoint_written_bytes": "byte", "restore_s": "s", "wasted_fraction": "1",
    "interruptions": "1", "spot_interruptions": "1", "rework_fraction": "1", "host_cores": "1", "host_ram_bytes": "byte",
    "host_page_cache_bytes": "byte",
    "host_shared_memory_bytes": "byte", "loader_samples_per_s": "1/s", "storage_read_bytes_per_s": "byte/s",
    "checkpoint_write_bytes_per_s": "byte/s",
    "storage_gb": "GB", "fabric_bytes_per_s": "byte/s", "fabric_offered_bytes_per_s": "byte/s",
    "spare_machines": "1", "trainable": "1",
    "flash_attention": "1", "data_wait_fraction": "1",
}  # fmt: skip
"""Unit of every figure that a training run names."""
RANGED = {"train_step_s", "run_hours", "run_days", "gpu_hours"}
INVERSE = {"tokens_per_s", "samples_per_s", "steps_per_hour", "mfu"}
RECOMPUTE_CODES = {"none": 0, "selective": 1, "full": 2}


@dataclass(frozen=True, eq=False)
class TrainingSetting(Setting[TrainingPlacement]):
    """One training workload with one set of constants."""

    workload: TuningWorkload | PretrainingWorkload
    arch: Architecture
    constants: TrainingConstants
    _searches: dict[str, Search] = field(default_factory=dict, init=False, repr=False)
    """One for each change that was tried, so that memory is worked out once for all machines."""

    # What is asked.

    @property
    def samples(self) -> float:
        """Samples of the whole run."""
        workload = self.workload
        if isinstance(workload, TuningWorkload):
            return workload.sample_count * workload.epochs
        return self.tokens_total / workload.sequence

    @property
    def tokens_total(self) -> float:
        """Tokens that are computed in the whole run; compute-optimal where nothing is said."""
        workload = self.workload
        if isinstance(workload, TuningWorkload):
            return self.samples * self.job().sample_tokens
        if workload.tokens_billion is not None:
            return workload.tokens_billion * 1e9
        return float(TOKENS_PER_PARAMETER * active_parameter_count(self.arch))

    @property
    def effective_batch(self) -> int:
        workload = self.workload
        if isinstance(workload, TuningWorkload):
            return workload.batch.effective
        return max(1, round(workload.batch_million_tokens * 1e6 / workload.sequence))

    def job(self) -> Job:
        """The job before it is split."""
        workload = self.workload
        method = METHODS[workload.kind]
        shared: dict[str, Any] = {
            "arch": self.arch,
            "method": method,
            "software": workload.software,
            "optimizer": workload.optimizer,
            "precision": workload.precision,
            "state": self._state(method),
            "flash_attention": workload.flash_attention,
            "chunked_loss": workload.chunked_loss,
            "compiled": workload.compiled,
            "offload_optimizer": workload.offload_optimizer,
            "offload_activations": workload.offload_activations,
        }
        if isinstance(workload, PretrainingWorkload):
            return Job(**shared, sequence=workload.sequence)
        lengths, adapter = workload.lengths, workload.adapter
        mean = None if lengths.packed else float(lengths.mean or max(1, lengths.maximum // 2))
        frozen = workload.frozen_format
        if frozen == "auto":
            frozen = "nf4_dq" if method == "qlora" else "bf16"
        return Job(
            **shared,
            sequence=lengths.maximum,
            mean_sequence=mean,
            packed=lengths.packed,
            frozen_format=frozen,
            rank=0 if method == "full" else adapter.rank,
            targets=adapter.targets,
            embeddings_trained=adapter.embeddings_trained and method != "full",
            weight_decomposed=adapter.weight_decomposed and method != "full",
        )

    def _state(self, method: str) -> State:
        workload = self.workload
        if workload.state != "auto":
            return workload.state
        if workload.precision == "fp32":
            return "fp32"
        if method != "full":
            return "fp32" if workload.software == "transformers" else "half"
        return "fp32" if workload.software == "torch" else "mixed"

    def task(self) -> Task:
        workload = self.workload
        network = None
        micro = workload.batch.micro if isinstance(workload, TuningWorkload) else workload.micro
        if isinstance(workload, PretrainingWorkload) and workload.network_gbit_per_s:
            network = workload.network_gbit_per_s * 1e9 / 8
        return Task(
            job=self.job(),
            effective_batch=self.effective_batch,
            micro=micro,
            recompute=workload.recompute,
            sharding=workload.parallel,
            machines_maximum=workload.machines_maximum,
            headroom_fraction=workload.headroom_fraction,
            network_bytes_per_s=network,
            constants=self.constants,
        )

    # What a setting must answer.

    def place(self) -> list[TrainingPlacement | Refusal]:
        return place(self.task(), self.hosted(), self.finish)

    def hosted(self) -> list[Machine]:
        """The market's machines with the usual host of their offers: the median of the cores and memory known."""
        market = self.market
        found = []
        for number, machine in enumerate(market.machines):
            rows = np.flatnonzero(market.machine_index == number)
            cores, memory = market.vcpu[rows], market.ram_bytes[rows]
            cores, memory = cores[np.isfinite(cores) & (cores > 0)], memory[memory > 0]
            update: dict[str, Any] = {}
            if len(cores):
                update["vcpu"] = float(np.median(cores))
            if len(memory):
                update["ram_bytes"] = int(np.median(memory))
            found.append(machine.model_copy(update=update) if update else machine)
        return found

    def placing_key(self) -> str:
        keys = set(WITHOUT_EFFECT) - {"interruptible"}
        return f"{self.constants.version} {self.workload.model_dump_json(exclude=keys)}"

    def describe(self) -> dict[str, Any]:
        return describe_model(self.arch)

    def finish(self, machine: Machine, choice: Choice, verdict: Verdict) -> TrainingPlacement:
        """A whole run: the step with the data path, checkpoints, failures; host and storage; what it misses."""
        workload, job = self.workload, choice.job
        device = machine.device
        low, high = self.constants.range_of(regime("speed", job), classes(job, device))
        path = self.data_path(machine)
        cores = machine.vcpu
        fed = None if cores is None else host.path_rate(path, cores)
        per_machine = choice.samples_per_s / choice.machines
        waiting = 1.0
        if fed is not None and fed.samples_per_s < per_machine:
            waiting = per_machine / fed.samples_per_s
        step_s = choice.step_s * waiting
        steps = ceil(self.samples / job.step_samples)
        size = self.checkpoint_bytes()
        write_s = size / (workload.storage.write_gb_per_s * GB * choice.machines)
        restore_s = size / (workload.storage.read_gb_per_s * GB * choice.machines)
        gpus = job.split.gpu_count
        between = checkpoints.mean_time_between_failures_s(gpus)
        saves = workload.checkpoints.planned
        interval = self._interval(write_s, between)
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
        need = self.host_need(machine, choice, path, per_machine)
        facts: dict[str, float] = {
            "gpu_hours": hours * gpus,
            "run_days": hours / 24,
            "tokens_per_s": tokens_per_s,
            "samples_per_s": job.step_samples / step_s,
            "steps_per_hour": SECONDS_PER_HOUR / step_s,
            "steps": steps,
            "mfu": tokens_per_s / gpus * model_flops_per_token(self.arch) / flops,
            "tokens_total": self.samples * job.sample_tokens,
            "gpu_count": gpus,
            "micro_batch": job.micro_batch,
            "accumulation": job.accumulation,
            "effective_batch": job.step_samples,
            "zero_stage": job.split.zero_stage,
            "context_parallel": job.split.cp,
            "recompute": RECOMPUTE_CODES[job.recompute],
            "flash_attention": float(job.flash_attention),
            "trainable": parameters(job).total_adapters
            if job.method != "full"
            else parameter_count(self.arch),
            "checkpoint_bytes": size,
            "restore_s": restore_s,
            "wasted_fraction": wasted,
            "interruptions": hours * SECONDS_PER_HOUR / between,
            "host_ram_bytes": need.ram_bytes,
            "host_page_cache_bytes": need.page_cache_bytes,
            "host_shared_memory_bytes": need.shared_memory_bytes,
            "storage_read_bytes_per_s": per_machine / waiting * path.sample_bytes,
            "storage_gb": self.needs().storage_gb,
            "data_wait_fraction": 1 - 1 / waiting,
        }
        if saves:
            facts |= {
                "checkpoint_write_s": write_s,
                "checkpoint_interval_s": interval,
                "checkpoint_write_bytes_per_s": size / max(write_s, 1e-9),
                "checkpoint_written_bytes": size * max(1, hours * SECONDS_PER_HOUR // max(interval, 1)),
                "spot_interruptions": hours * float(bill.INTERRUPTIONS_PER_HOUR.value) * choice.machines,
                "rework_fraction": self.spot_rework(gpus, choice.machines, write_s, restart),
            }
        if need.cores is not None:
            facts["host_cores"] = need.cores
        if fed is not None:
            facts["loader_samples_per_s"] = fed.samples_per_s * choice.machines
        if choice.machines > 1:
            facts["fabric_bytes_per_s"] = choice.fabric_bytes / choice.step_s
            facts["fabric_offered_bytes_per_s"] = choice.links.between
            facts["spare_machines"] = ceil(
                gpus * REPAIR_HOURS / float(checkpoints.GPU_HOURS_PER_FAILURE.value)
            )
        limit = self._limit(choice, fed.slowest if fed is not None and waiting > 1 else None)
        spread = self.constants.range_of(regime("memory", job))
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
            warnings=self._warnings(machine, choice, need, fed is None, waiting, restore_s),
            step_s=Estimate(value=step_s, low=step_s * low, high=step_s * high),
            run_hours=run_hours,
            facts=facts,
            host=need,
            path=fed,
        )

    # Parts of a run.

    def _interval(self, write_s: float, between: float) -> float:
        asked = self.workload.checkpoints.interval_minutes
        return asked * 60 if asked is not None else checkpoints.best_interval_s(write_s, between)

    def spot_rework(self, gpu_count: int, machines: int, write_s: float, restart_s: float) -> float:
        """Share of spot time that is not progress, with checkpoints as often as spot asks for."""
        taken = float(bill.INTERRUPTIONS_PER_HOUR.value) * machines
        between = checkpoints.mean_time_between_failures_s(gpu_count, taken)
        return checkpoints.wasted_fraction(write_s, self._interval(write_s, between), restart_s, between)

    def checkpoint_bytes(self) -> float:
        job = self.job()
        held = parameters(job)
        return checkpoints.content_bytes(
            job, held.total, held.total_adapters, self.workload.checkpoints.content
        )

    def data_path(self, machine: Machine) -> DataPath:
        """The stages of one sample, on the storage of one machine."""
        workload = self.workload
        asked = workload.host
        sample_bytes = asked.sample_kb * 1000 if asked.sample_kb else self.job().sequence * BYTES_PER_TOKEN
        stages = (
            DataStage(
                name="decode", sample_s=asked.decode_ms / 1000, parallel_fraction=asked.parallel_fraction
            ),
            DataStage(
                name="transform",
                sample_s=asked.transform_ms / 1000,
                parallel_fraction=asked.parallel_fraction,
            ),
            DataStage(name="collate", sample_s=asked.collate_ms / 1000, parallel_fraction=0.0),
        )
        copy = (machine.device.pcie_bytes_per_s or 32e9) / 2 * machine.device_count
        return DataPath(
            sample_bytes=sample_bytes,
            stages=stages,
            copy_bytes_per_s=copy,
            read_bytes_per_s=workload.storage.read_gb_per_s * GB,
        )

    def host_need(self, machine: Machine, choice: Choice, path: DataPath, samples_per_s: float) -> HostNeed:
        workload, job = self.workload, choice.job
        held = parameters(job)
        offloaded = 0.0
        if job.offload_optimizer:
            kept = BYTES[job.state]
            per_parameter = kept.master + moment_bytes(job.state, job.optimizer)
            trained = held.total if job.method == "full" else held.total_adapters
            offloaded = trained * per_parameter / choice.machines
        return host.host_need(
            cores=host.cores_for(path, samples_per_s),
            weights_bytes=held.total * 2.0,
            workers=workload.host.workers_per_gpu * machine.device_count,
            worker_bytes=workload.host.worker_gb * GB,
            batch_bytes=path.sample_bytes * job.micro_batch,
            offloaded_bytes=offloaded,
            dataset_bytes=workload.storage.dataset_gb * GB,
        )

    def storage(self) -> StorageNeed:
        """What is kept while and after training: weights to start from and to serve, data, checkpoints, the rest."""
        workload = self.workload
        asked = workload.storage
        kept = [
            Kept(name="dataset", size_bytes=round(asked.dataset_gb * GB), copies=1, place=asked.place),
            Kept(name="other", size_bytes=round(workload.storage_gb * GB), copies=1, place="durable"),
        ]
        if isinstance(workload, TuningWorkload):
            kept.append(
                Kept(name="weights", size_bytes=parameter_count(self.arch) * 2, copies=1, place="durable")
            )
        if workload.checkpoints.planned:
            kept.append(
                Kept(
                    name="checkpoints",
                    size_bytes=round(self.checkpoint_bytes()),
                    copies=workload.checkpoints.kept,
                    place=asked.place,
                )
            )
        return storage_need.need(
            tuple(kept), asked.method, asked.pattern, resumes=workload.checkpoints.planned
        )

    def needs(self) -> Needs:
        return Needs(round(self.storage().total_gb, 3), self.workload.egress_gb_per_month)

    def _limit(self, choice: Choice, slowest: str | None) -> Limit:
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

    def _warnings(
        self,
        machine: Machine,
        choice: Choice,
        need: HostNeed,
        cores_unknown: bool,
        waiting: float,
        restore_s: float,
    ) -> tuple[str, ...]:
        workload = self.workload
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
            ("tp_over_pcie", choice.job.split.tp > 1 and machine.link in ("pcie", "unknown")),
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

    # What the frame asks.

    @property
    def runs_by_machine(self) -> bool:
        return True

    def run(self, placed: TrainingPlacement) -> Run:
        return bill.jobs(self.workload.schedule, Decimal(str(round(placed.run_hours.value, 6))))

    def rework(self, placed: TrainingPlacement | None, tier: str) -> Decimal:
        if tier not in bill.INTERRUPTIBLE_TIERS or placed is None:
            return Decimal(0)
        return Decimal(str(round(placed.facts.get("rework_fraction", 1.0), 4)))

    @property
    def orders(self) -> Mapping[str, Callable[[TrainingPlacement], float | None]]:
        return {
            "finish": lambda placed: placed.run_hours.value,
            "run_hours": lambda placed: placed.run_hours.value,
            "throughput": lambda placed: -placed.facts["tokens_per_s"],
            "gpu_hours": lambda placed: placed.facts["gpu_hours"],
            "memory_needed": lambda placed: float(placed.planned.needed_bytes),
        }

    def outcome(self, placed: TrainingPlacement, monthly: Bill, tier: str) -> Outcome:
        """Every figure of a run, and what one run costs: the month's bill over its runs."""
        figures = {"train_step_s": _ranged(placed.step_s, "s"), "run_hours": _ranged(placed.run_hours, "h")}
        spread = placed.step_s.low / placed.step_s.value, placed.step_s.high / placed.step_s.value
        for name, value in placed.facts.items():
            figures[name] = _figure(name, value, spread)
        runs = self.run(placed).starts
        cost = (monthly.total / runs).quantize(Decimal("0.01"), ROUND_HALF_UP)
        if any(line.unit == "machine-month" for line in monthly.lines):
            months = Decimal(ceil(placed.run_hours.value / HOURS_PER_MONTH))
            cost = (monthly.total * months).quantize(Decimal("0.01"), ROUND_HALF_UP)
        return Outcome(figures=figures, unit_costs={"run": cost})

    def derive(self, placed: TrainingPlacement, candidate: Candidate) -> dict[str, Derivation]:
        return derivations.derive(self, placed)

    def assumptions(self, first: TrainingPlacement | None) -> list[Assumption]:
        workload = self.workload
        listed = [checkpoints.GPU_HOURS_PER_FAILURE]
        if first is not None:
            found = classes(first.choice.job, first.machine.device)
            listed += self.constants.assumptions(found, tuple(item.name for item in self.constants.constants))
            if first.choice.machines > 1:
                listed.append(
                    Assumption(
                        name="fabric_bytes_per_s",
                        value=first.choice.links.between,
                        unit="byte/s",
                        source="usual network of one GPU in clusters of this generation; the offer does not say"
                        if not isinstance(workload, PretrainingWorkload)
                        or workload.network_gbit_per_s is None
                        else "as asked",
                    )
                )
        return listed

    def warnings(self) -> tuple[str, ...]:
        return self.storage().warnings

    def what_would_help(self, refusal: Refusal, machine: Machine) -> tuple[dict[str, Any], ...]:
        """Changes that would make it fit on this machine, those that change training least first."""
        found = []
        usable = machine.device.engine_total_bytes * (1 - self.workload.headroom_fraction)
        for change in self._smaller():
            key = f"{change.name} {change.value}"
            if key not in self._searches:
                self._searches[key] = Search(self.changed(change.update).task())
            search = self._searches[key]
            least = search.smallest(machine, search.task.machines_maximum)
            if least is not None and float(least[1].total) <= usable:
                found.append(
                    {"change": change.name, "to": change.value, "needed_bytes": round(float(least[1].total))}
                )
        return tuple(found)

    def changes(self) -> tuple[Change, ...]:
        return self._smaller()

    def _smaller(self) -> tuple[Change, ...]:
        """Changes that need less memory: those that leave training as it is first."""
        workload = self.workload
        made: list[Change] = []
        if workload.recompute not in ("auto", "full"):
            made.append(Change("recompute", "full", {"recompute": "full"}))
        if isinstance(workload, TuningWorkload) and (workload.batch.micro or 1) > 1:
            batch = workload.batch.model_copy(update={"micro": 1})
            made.append(Change("micro_batch", 1, {"batch": batch}))
        if not workload.chunked_loss:
            made.append(Change("chunked_loss", "on", {"chunked_loss": True}))
        if workload.parallel.sharding not in ("auto", "zero3"):
            parallel = workload.parallel.model_copy(update={"sharding": "zero3"})
            made.append(Change("sharding", "zero3", {"parallel": parallel}))
        if not workload.offload_optimizer and METHODS[workload.kind] == "full":
            made.append(Change("offload_optimizer", "on", {"offload_optimizer": True}))
        if workload.optimizer == "adamw" and METHODS[workload.kind] == "full":
            made.append(Change("optimizer", "adamw_8bit", {"optimizer": "adamw_8bit", "state": "half"}))
        if workload.kind == "lora":
            made.append(Change("method", "qlora", {"kind": "qlora"}))
        elif workload.kind == "full_finetune":
            made.append(Change("method", "lora", {"kind": "lora"}))
            made.append(Change("method", "qlora", {"kind": "qlora"}))
        if workload.machines_maximum < 64:
            made.append(
                Change(
                    "machines_maximum",
                    workload.machines_maximum * 2,
                    {"machines_maximum": workload.machines_maximum * 2},
                )
            )
        return tuple(made)


def _ranged(estimate: Estimate, unit: str) -> Figure:
    return Figure(value=estimate.value, unit=unit, low=estimate.low, high=estimate.high)


def _figure(name: str, value: float, spread: tuple[float, float]) -> Figure:
    low, high = spread
    if name in INVERSE:
        return Figure(value=value, unit=UNITS[name], low=value / high, high=value / low)
    if name in RANGED:
        return Figure(value=value, unit=UNITS[name], low=value * low, high=value * high)
    return Figure(value=value, unit=UNITS[name])
