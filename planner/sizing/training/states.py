"""Bytes that a parameter keeps in memory while it is trained, and while it is not."""

from __future__ import annotations

from typing import NamedTuple

from planner.sizing.training.counting import Parameters
from planner.sizing.training.job import FrozenFormat, Job, Optimizer, State


class StateBytes(NamedTuple):
    """Bytes of one trained parameter."""

    weights: float
    gradients: float
    master: float
    moment: float
    """Of one moment of an optimizer that keeps them in full."""


BYTES: dict[State, StateBytes] = {
    "fp32": StateBytes(4, 4, 0, 4),
    "mixed": StateBytes(2, 4, 4, 4),
    "mixed_half_gradients": StateBytes(2, 2, 4, 4),
    "mixed_half_moments": StateBytes(2, 2, 4, 2),
    "half": StateBytes(2, 2, 0, 2),
}
"""With AdamW: 16, 18, 16, 12 and 8 bytes. 12 is Megatron's precision-aware optimizer as its recipes for DeepSeek-V3,
Moonlight and Kimi set it: FP32 master copy, gradients and moments of 16 bits. 18 is BF16 or FP16 weights, FP32
gradients, an FP32 master copy and two FP32 moments (Transformers 4.35.0, "model memory anatomy" counts the same 18),
and no other case."""

MOMENTS: dict[Optimizer, float] = {
    "adamw": 2, "adamw_8bit": 2, "adamw_4bit": 2, "paged_adamw": 2, "paged_adamw_8bit": 2, "lion": 1,
    "paged_lion_8bit": 1, "sgd": 0, "sgd_momentum": 1, "adafactor": 0.01, "muon": 1, "galore_adamw": 0.06,
    "galore_adamw_8bit": 0.06,
}  # fmt: skip
"""How many moments of full size an optimizer keeps. Adafactor keeps rows and columns; GaLore keeps two moments in
a space of rank 128 of about 4,096."""
SMALL_MOMENT_BYTES: dict[Optimizer, float] = {
    "adamw_8bit": 1 + 4 / 256, "paged_adamw_8bit": 1 + 4 / 256, "paged_lion_8bit": 1 + 4 / 256,
    "galore_adamw_8bit": 1 + 4 / 256, "adamw_4bit": 0.5 + 4 / 128, "paged_adamw": 4,
}  # fmt: skip
"""Quantised moments with an FP32 scale a block (bitsandbytes: 256 values; torchao's 4-bit: 128); its paged AdamW keeps
them in FP32 whatever the weights are."""
ON_HOST: frozenset[Optimizer] = frozenset({"paged_adamw", "paged_adamw_8bit", "paged_lion_8bit"})
"""Paged moments live in unified memory and give way to everything else when the card is full."""

FROZEN_BYTES: dict[FrozenFormat, float] = {
    "fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1 + 4 / 16384, "int8": 1 + 2 / 4096, "nf4": (4 + 32 / 64) / 8,
    "nf4_dq": (4 + 8 / 64 + 32 / (64 * 256)) / 8, "int4_gptq": (4 + 20 / 128) / 8, "int8_gptq": (8 + 24 / 128) / 8,
}  # fmt: skip
"""Bytes of a matrix element, scales included. NF4: blocks of 64 with an FP32 scale; doubly quantised: an 8-bit scale
and an FP32 one for 256 of them (QLoRA, arXiv 2305.14314)."""
KEPT_BYTES = 2.0
"""Embeddings, head, norms and routers, which those quantisations leave alone."""
CAST_BYTES = 2.0
"""The 16-bit copy of an FP32 weight that mixed precision computes with."""
FP8_COPIES_BYTES = 2.0
"""FP8 weights and their transposes beside the BF16 ones, an element of a linear layer (Transformer Engine)."""


def moment_bytes(state: State, optimizer: Optimizer) -> float:
    """Bytes of all moments of one trained parameter."""
    return MOMENTS[optimizer] * SMALL_MOMENT_BYTES.get(optimizer, BYTES[state].moment)


def bytes_per_parameter(state: State, optimizer: Optimizer) -> float:
    """All bytes of one trained parameter on one GPU, unsharded: weights + gradient + master + moments.

    >>> [bytes_per_parameter(state, "adamw") for state in ("mixed", "half", "fp32")]
    [18.0, 8.0, 16.0]
    """
    kept = BYTES[state]
    return float(kept.weights + kept.gradients + kept.master + moment_bytes(state, optimizer))


class States(NamedTuple):
    """Bytes on the fullest GPU."""

    frozen: float
    weights: float
    gradients: float
    optimizer: float
    """Master copy and moments."""
    trained: float
    """Trained parameters on this GPU after sharding their weights."""
    stepped: float
    """Trained parameters whose moments this GPU keeps."""


def frozen_bytes(job: Job, held: Parameters) -> float:
    """Bytes of weights that are not trained, before ZeRO-3 shares them.

    Matrices in the frozen format; embeddings, head, norms and routers at 16 bits (32 with FP32); experts in the
    frozen format only where the quantisation reaches them.
    """
    inner = FROZEN_BYTES[job.frozen_format]
    kept = max(KEPT_BYTES, inner) if job.frozen_format == "fp32" else KEPT_BYTES
    alone = held.embedding + held.vectors
    experts = inner if job.experts_quantised or inner > KEPT_BYTES else KEPT_BYTES
    return (held.dense - alone) * inner + alone * kept + held.experts * experts


def states(job: Job, held: Parameters) -> States:
    """Weights, gradients and optimizer on the fullest GPU.

    full:      weights ÷ z3 + gradients ÷ z2 + (master + moments) ÷ z1 of dense and expert parameters
    adapters:  the same of the adapters, beside the frozen weights ÷ z3
    where z1, z2, z3 are the data-parallel ranks from that ZeRO stage on, otherwise 1.
    """
    split = job.split

    def ranks(stage: int, experts: bool = False) -> float:
        if split.zero_stage < stage:
            return 1.0
        return float(split.expert_shard_count if experts else split.shard_count)

    kept = BYTES[job.state]
    moments = moment_bytes(job.state, job.optimizer)
    resident = 0.0 if job.optimizer in ON_HOST or job.offload_optimizer else moments
    master = 0.0 if job.offload_optimizer else kept.master
    if job.method == "full":
        parts = [(held.dense, False), (held.experts, True)]
        if job.trainable_parameters is not None:
            fraction = min(1.0, job.trainable_parameters / held.total)
            parts = [(count * fraction, experts) for count, experts in parts]
            frozen = (held.dense + held.experts) * (1 - fraction) * KEPT_BYTES / ranks(3)
        else:
            frozen = 0.0
    else:
        embeddings = held.embedding if job.embeddings_trained else 0.0
        parts = [(held.adapters + embeddings, False)]
        frozen = frozen_bytes(job, held) / ranks(3)
    weights = sum(count / ranks(3, experts) for count, experts in parts) * kept.weights
    gradients = sum(count / ranks(2, experts) for count, experts in parts) * kept.gradients
    stepped = sum(count / ranks(1, experts) for count, experts in parts)
    if job.step_in_backward:
        gradients = 0.0
    if job.offload_parameters:
        weights, frozen = 0.0, 0.0
    if job.precision in ("fp8", "fp4") and job.software == "megatron" and job.method == "full":
        inner = held.dense - held.embedding - held.vectors
        weights += (inner / ranks(3) + held.experts / ranks(3, True)) * FP8_COPIES_BYTES
    if job.precision not in ("fp32", "fp8", "fp4") and split.zero_stage < 3:
        # Autocast keeps what it cast from FP32 until the backward pass is through.
        if job.method == "full" and job.state == "fp32":
            weights += (held.dense + held.experts) * CAST_BYTES
        elif job.method != "full" and job.frozen_format == "fp32":
            frozen += (held.dense + held.experts) * CAST_BYTES
    trained = sum(count / ranks(3, experts) for count, experts in parts)
    return States(frozen, weights, gradients, stepped * (master + resident), trained, stepped)
