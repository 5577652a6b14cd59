"""What a user asks for: fine-tuning and pre-training as documents with their defaults and limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, Strict, model_validator

from planner.sizing.quantities import Frozen
from planner.sizing.settable import Settable
from planner.sizing.training.job import (
    FrozenFormat,
    Optimizer,
    Precision,
    Recompute,
    Software,
    State,
    Targets,
)
from planner.sizing.training.settable import TRAINING
from planner.sizing.workload import CommonWorkload, Count, ModelReference, Number, Schedule

Auto = Literal["auto"]
Sharding = Literal["auto", "ddp", "zero1", "zero2", "zero3"]
STAGES: dict[str, int] = {"ddp": 0, "zero1": 1, "zero2": 2, "zero3": 3}
TOKENS_PER_PARAMETER = 20
"""Compute-optimal training (Hoffmann et al., arXiv 2203.15556): about 20 tokens a parameter."""
SEQUENCE_MAXIMUM = 4_194_304
SAMPLES_MAXIMUM = 10**12


class Lengths(Frozen):
    """Tokens of a sample. Packed samples fill the sequence; others are padded to the longest of their batch."""

    maximum: Annotated[Count, Field(ge=1, le=SEQUENCE_MAXIMUM)] = 2048
    mean: Annotated[Count, Field(ge=1, le=SEQUENCE_MAXIMUM)] | None = None
    """None: half of the maximum where samples are not packed. Of packed ones it is how far attention sees: each sample
    for itself; None: the whole sequence."""
    padded: Annotated[bool, Strict()] = False

    @property
    def packed(self) -> bool:
        return not self.padded


class Adapter(Frozen):
    """What is trained beside frozen weights."""

    rank: Annotated[Count, Field(ge=1, le=4096)] = 16
    targets: Targets = "all_linear"
    weight_decomposed: Annotated[bool, Strict()] = False
    """DoRA."""
    embeddings_trained: Annotated[bool, Strict()] = False


class Parallel(Frozen):
    """How the work is split. None: chosen for each machine."""

    sharding: Sharding = "auto"
    tp: Annotated[Count, Field(ge=1, le=64)] | None = None
    pp: Annotated[Count, Field(ge=1, le=256)] | None = None
    cp: Annotated[Count, Field(ge=1, le=256)] | None = None
    ep: Annotated[Count, Field(ge=1, le=1024)] | None = None


class Batch(Frozen):
    """The effective batch is what training sees; accumulation makes it from micro-batches and promises no speed."""

    effective: Annotated[Count, Field(ge=1, le=10_000_000)] = 32
    """Samples in one step of the optimizer, all GPUs together."""
    micro: Annotated[Count, Field(ge=1, le=100_000)] | None = None
    """Samples of one GPU at a time. None: the largest power of two up to 16 that fits."""


class Host(Frozen):
    """Feeding the GPUs: loader processes and what one sample costs them."""

    workers_per_gpu: Annotated[Count, Field(ge=0, le=256)] = 4
    worker_gb: Annotated[Number, Field(ge=0, le=1024)] = 1.0
    sample_kb: Annotated[Number, Field(gt=0, le=1e9)] | None = None
    """Read from storage for one sample. None: four bytes a token."""
    decode_ms: Annotated[Number, Field(ge=0, le=1e7)] = 0.0
    transform_ms: Annotated[Number, Field(ge=0, le=1e7)] = 0.5
    collate_ms: Annotated[Number, Field(ge=0, le=1e7)] = 0.05
    parallel_fraction: Annotated[Number, Field(ge=0, le=1)] = 0.95
    """Share of decoding and transforming that runs in parallel over cores."""


class Checkpoints(Frozen):
    """What is written while training, and what stays."""

    omitted: Annotated[bool, Strict()] = False
    """None are planned: an interruption loses the run."""
    content: Literal["full_state", "weights"] = "full_state"
    """Weights alone serve a model, but no run resumes from them."""
    interval_minutes: Annotated[Number, Field(gt=0, le=1e6)] | None = None
    """None: the best one by write time and failures."""
    kept: Annotated[Count, Field(ge=1, le=10_000)] = 3
    restart_minutes: Annotated[Number, Field(ge=0, le=10_000)] = 10.0
    """From an interruption until training goes on, reading the checkpoint aside."""

    @property
    def planned(self) -> bool:
        return not self.omitted


class Storage(Frozen):
    """Where data and checkpoints lie."""

    dataset_gb: Annotated[Number, Field(ge=0, le=1e9)] = 10.0
    read_gb_per_s: Annotated[Number, Field(gt=0, le=1e5)] = 1.0
    """What the storage gives to one machine."""
    write_gb_per_s: Annotated[Number, Field(gt=0, le=1e5)] = 0.5
    method: Literal["posix", "nfs", "s3", "mounted_bucket"] = "posix"
    pattern: Literal["sequential", "random"] = "sequential"
    place: Literal["durable", "scratch", "shared", "object"] = "durable"
    gpudirect: Literal["no", "wanted"] = "no"
    restore_minutes_maximum: Annotated[Number, Field(gt=0, le=1e6)] | None = None


class TrainingBase(CommonWorkload):
    """What fine-tuning and pre-training share."""

    model: ModelReference = ModelReference()
    optimizer: Optimizer = "adamw"
    precision: Precision = "bf16"
    state: State | Auto = "auto"
    recompute: Recompute | Auto = "auto"
    scores_written_out: Annotated[bool, Strict()] = False
    """No flash attention: the square of the sequence lies in memory."""
    chunked_loss: Annotated[bool, Strict()] = False
    compiled: Annotated[bool, Strict()] = False
    parallel: Parallel = Parallel()
    offload_optimizer: Annotated[bool, Strict()] = False
    offload_activations: Annotated[bool, Strict()] = False
    host: Host = Host()
    checkpoints: Checkpoints = Checkpoints()
    storage: Storage = Storage()
    interruptible: Annotated[bool, Strict()] = True
    schedule: Schedule = Schedule(starts_per_day=0)
    """Runs a day; 0 is one run a month."""
    gpus_exact: Annotated[Count, Field(ge=1, le=1_000_000)] | None = None
    """GPUs of the run, neither more nor fewer, whatever machines are allowed. None: as many as fit and are in time."""
    storage_gb: Annotated[Number, Field(ge=0, le=1e9)] = 0
    """Kept beside weights, data and checkpoints."""
    settable: ClassVar[Mapping[str, Settable]] = TRAINING

    @property
    def flash_attention(self) -> bool:
        return not self.scores_written_out

    @property
    def spot_allowed(self) -> bool:
        """An interruption is affordable only where a run resumes from a checkpoint."""
        return self.interruptible and self.checkpoints.planned and self.checkpoints.content == "full_state"


class TuningWorkload(TrainingBase):
    """Fine-tuning a model: LoRA, QLoRA, or all of its weights."""

    kind: Literal["lora", "qlora", "full_finetune"] = "lora"
    software: Software = "transformers"
    lengths: Lengths = Lengths()
    adapter: Adapter = Adapter()
    frozen_format: FrozenFormat | Auto = "auto"
    """Of weights that are not trained: BF16 for LoRA and doubly quantised NF4 for QLoRA."""
    batch: Batch = Batch()
    sample_count: Annotated[Count, Field(ge=1, le=SAMPLES_MAXIMUM)] = 50_000
    epochs: Annotated[Number, Field(gt=0, le=10_000)] = 3.0
    machines_maximum: Annotated[Count, Field(ge=1, le=10_000)] = 1

    @model_validator(mode="after")
    def _mean_within_maximum(self) -> Self:
        if self.lengths.mean is not None and self.lengths.mean > self.lengths.maximum:
            raise ValueError(
                f"lengths.mean {self.lengths.mean} is above lengths.maximum {self.lengths.maximum}"
            )
        return self

    @model_validator(mode="after")
    def _micro_within_effective(self) -> Self:
        if self.batch.micro is not None and self.batch.micro > self.batch.effective:
            raise ValueError(
                f"batch.micro {self.batch.micro} is above batch.effective {self.batch.effective}"
            )
        return self


class PretrainingWorkload(TrainingBase):
    """Pre-training from scratch on many machines."""

    kind: Literal["pretraining"] = "pretraining"
    software: Software = "megatron"
    parameters_billion: Annotated[Number, Field(ge=0.01, le=20_000)] | None = None
    """Instead of a model: a decoder of the usual shape with so many parameters."""
    tokens_billion: Annotated[Number, Field(gt=0, le=1e9)] | None = None
    """None: 20 for each parameter (of experts: each active one)."""
    sequence: Annotated[Count, Field(ge=16, le=SEQUENCE_MAXIMUM)] = 4096
    batch_million_tokens: Annotated[Number, Field(gt=0, le=10_000)] = 4.0
    micro: Annotated[Count, Field(ge=1, le=10_000)] | None = None
    machines_maximum: Annotated[Count, Field(ge=1, le=100_000)] = 64
    network_gbit_per_s: Annotated[Number, Field(gt=0, le=100_000)] | None = None
    """Of one GPU between machines. None: what is usual with that generation."""
    deadline_hours: Annotated[Number, Field(gt=0, le=876_000)] | Literal["none"] | None = 720.0
