"""What a training workload asks, in the terms of the arithmetic: the job, samples, batch, data path, what is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.sizing import storage_need
from planner.sizing.architecture import Architecture, active_parameter_count, parameter_count
from planner.sizing.devices import Machine
from planner.sizing.host import DataPath, DataStage
from planner.sizing.quantities import GB, SET_BY_HAND
from planner.sizing.storage_need import Kept, StorageNeed
from planner.sizing.training import checkpoints
from planner.sizing.training.constants import TrainingConstants
from planner.sizing.training.counting import parameters
from planner.sizing.training.job import Job, State
from planner.sizing.training.placing import Task
from planner.sizing.training.workload import TOKENS_PER_PARAMETER, PretrainingWorkload, TuningWorkload

BYTES_PER_TOKEN = 4
ROUND_TOKENS = 0.02
"""By how much larger a batch of so many tokens may be: it is a round number, of which samples are no whole ones."""
METHODS = {"lora": "lora", "qlora": "qlora", "full_finetune": "full", "pretraining": "full"}


@dataclass(frozen=True)
class Question:
    """One workload on one model, before any machine."""

    workload: TuningWorkload | PretrainingWorkload
    arch: Architecture
    constants: TrainingConstants

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
            document_tokens=float(lengths.mean) if lengths.packed and lengths.mean else None,
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

    @property
    def network_source(self) -> str:
        """Where the rate between machines comes from."""
        if isinstance(self.workload, PretrainingWorkload) and self.workload.network_gbit_per_s:
            return "as asked"
        if "fabric_link_bytes_per_s" in self.workload.assumed:
            return SET_BY_HAND
        return "usual network of one GPU in clusters of this generation; the offer does not say"

    def task(self) -> Task:
        workload = self.workload
        network = workload.assumed.get("fabric_link_bytes_per_s")
        micro = workload.batch.micro if isinstance(workload, TuningWorkload) else workload.micro
        if isinstance(workload, PretrainingWorkload) and workload.network_gbit_per_s:
            network = workload.network_gbit_per_s * 1e9 / 8
        return Task(
            job=self.job(),
            effective_batch=self.effective_batch,
            batch_tolerance=0.0 if isinstance(workload, TuningWorkload) else ROUND_TOKENS,
            micro=micro,
            recompute=workload.recompute,
            sharding=workload.parallel,
            machines_maximum=workload.machines_maximum,
            gpus_exact=workload.gpus_exact,
            headroom_fraction=workload.headroom_fraction,
            network_bytes_per_s=network,
            constants=self.constants,
        )

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

    def storage(self, written: int | None = None) -> StorageNeed:
        """What is kept while and after training: weights to start from and to serve, data, checkpoints, the rest.

        ``written`` are the checkpoints that a run makes: no more of them can be kept. None: as many as are to be.
        """
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
                    copies=min(workload.checkpoints.kept, written or workload.checkpoints.kept),
                    place=asked.place,
                )
            )
        return storage_need.need(
            tuple(kept), asked.method, asked.pattern, resumes=workload.checkpoints.planned
        )

    def storage_gb(self, written: int | None = None) -> float:
        return round(self.storage(written).total_gb, 3)
