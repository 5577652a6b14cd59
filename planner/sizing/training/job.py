"""One training job on one layout: everything that its memory and its time depend on, and nothing else."""

from __future__ import annotations

from math import exp
from typing import Annotated, Literal

from pydantic import Field

from planner.sizing.architecture import Architecture
from planner.sizing.quantities import Frozen
from planner.sizing.tensors import Count, CountOrNone

Method = Literal["lora", "qlora", "full"]
Software = Literal["megatron", "torch", "transformers"]
"""Megatron-LM, NeMo and their kin; PyTorch with its own FSDP; Transformers with DeepSpeed or Accelerate."""
Precision = Literal["fp32", "bf16", "fp16", "fp8", "fp4"]
"""What the matrix products of linear layers run in."""
State = Literal["fp32", "mixed", "mixed_half_gradients", "mixed_half_moments", "half"]
"""How a trained parameter is kept; see ``states.BYTES``."""
FrozenFormat = Literal[
    "bf16", "fp16", "fp32", "fp8", "int8", "nf4", "nf4_dq", "int4_gptq", "int8_gptq"
]  # fmt: skip
"""What weights that are not trained are kept in."""
Optimizer = Literal[
    "adamw", "adamw_8bit", "adamw_4bit", "paged_adamw", "paged_adamw_8bit", "lion", "paged_lion_8bit", "sgd",
    "sgd_momentum", "adafactor", "muon", "galore_adamw", "galore_adamw_8bit",
]  # fmt: skip
Recompute = Literal["none", "selective", "full"]
Targets = Literal["all_linear", "attention", "q_v", "all_linear_head"]
DOCUMENT_TOKENS = 1000
"""Mean tokens of instruction samples, where nothing is said of them."""
PADDING_TERMS = 64
Measure = Literal["allocated", "reserved", "device"]
"""What the figure counts: tensors in use, what the caching allocator holds, or the whole process on the card."""
Share = Annotated[float, Field(gt=0, le=1)]


class Split(Frozen):
    """How a job is spread over GPUs; their number is tp × pp × cp × dp, and ``ep`` lies across tp × cp × dp."""

    tp: Count = 1
    pp: Count = 1
    cp: Count = 1
    dp: Count = 1
    ep: Count = 1
    zero_stage: Annotated[int, Field(ge=0, le=3)] = 0
    """0: every data-parallel rank holds all; 1: optimizer split; 2: and gradients; 3: and weights (FSDP)."""
    sequence_parallel: bool = False
    """Norms and residuals are split over the tensor-parallel ranks too."""
    virtual_stages: Count = 1
    """Chunks of layers a pipeline rank holds (interleaved schedule)."""
    serial: bool = False
    """Layers on several GPUs, one working at a time (a device map): no pipeline at all."""

    @property
    def gpu_count(self) -> int:
        return self.tp * self.pp * self.cp * self.dp

    @property
    def shard_count(self) -> int:
        """Ranks that the state of a dense tensor may be split over, beside tp and pp."""
        return self.dp * self.cp

    @property
    def expert_shard_count(self) -> int:
        """The same for an expert, of which every ``ep``-th rank holds a copy."""
        return max(1, self.dp * self.cp * self.tp // self.ep)


class Job(Frozen):
    """What is trained, how, and on which split. Sequence and batch are those of one data-parallel rank."""

    arch: Architecture
    method: Method = "full"
    software: Software = "torch"
    optimizer: Optimizer = "adamw"
    state: State = "mixed"
    frozen_format: FrozenFormat = "bf16"
    experts_quantised: bool = True
    """Whether a quantisation of frozen weights reaches the experts."""
    precision: Precision = "bf16"
    sequence: Count = 2048
    longest_sequence: Count | None = None
    """Tokens of the longest sample met, where it is below ``sequence``."""
    mean_sequence: float | None = None
    """Tokens of a sample on average, where samples are shorter than ``sequence`` and not packed."""
    packed: bool = True
    document_tokens: float | None = None
    """Mean tokens of the samples that are packed into a sequence, where attention stays within each; None: it sees the
    whole sequence."""
    even_lengths: bool = False
    """Samples are not packed, but batches come in few lengths, so that the allocator finds its blocks again."""
    micro_batch: Count = 1
    accumulation: Count = 1
    """Micro-batches of one rank in one step of the optimizer."""
    recompute: Recompute = "none"
    flash_attention: bool = True
    chunked_loss: bool = False
    compiled: bool = False
    rank: CountOrNone = 0
    targets: Targets = "all_linear"
    trainable_parameters: CountOrNone | None = None
    """Where it is known or chosen; otherwise counted from method, rank and targets."""
    embeddings_trained: bool = False
    weight_decomposed: bool = False
    """DoRA: a magnitude for each output, and the norm of the whole weight on the way."""
    step_in_backward: bool = False
    """The optimizer's step runs as soon as a gradient is there, so that gradients never live all at once."""
    offload_optimizer: bool = False
    offload_parameters: bool = False
    offload_activations: bool = False
    overlapped_tp: bool = False
    """Tensor-parallel communication runs beside the products it belongs to."""
    logits_gathered: bool = False
    """Tensor-parallel ranks put the whole logits together for the loss, instead of a loss on their own share."""
    expert_loop: bool = False
    """Experts run one after the other instead of in one grouped product."""
    split: Split = Split()

    @property
    def micro_tokens(self) -> int:
        """Tokens of one micro-batch on one model-parallel group's context-parallel rank."""
        return max(1, self.micro_batch * self.sequence // self.split.cp)

    @property
    def peak_tokens(self) -> int:
        """The same for the longest samples, padded to their length."""
        return max(1, self.micro_batch * (self.longest_sequence or self.sequence) // self.split.cp)

    @property
    def step_samples(self) -> int:
        """The effective batch: samples of all ranks in one step of the optimizer."""
        return self.micro_batch * self.accumulation * self.split.dp

    @property
    def computed_tokens(self) -> float:
        """Tokens of one sample that are computed, padding to the longest of its micro-batch included.

        Lengths are taken as exponential, cut at the longest: mean × Σ uᵏ⁻¹ ÷ k for k up to the micro-batch, with
        u = 1 − e^(−longest ÷ mean).
        """
        if self.packed:
            return float(self.sequence)
        longest, mean = float(self.longest_sequence or self.sequence), self.sample_tokens
        short = 1 - exp(-longest / mean)
        terms = min(self.micro_batch, PADDING_TERMS)
        padded = mean * sum(short ** (k - 1) / k for k in range(1, terms + 1))
        return max(mean, min(longest, padded))

    @property
    def attended_tokens(self) -> float:
        """Tokens of the stretch that attention sees: a packed sample's own where it stays within it."""
        if self.packed:
            return min(float(self.sequence), self.document_tokens or float(self.sequence))
        return self.computed_tokens

    @property
    def sample_tokens(self) -> float:
        """Tokens of one sample on average that carry a loss or are at least computed."""
        return self.mean_sequence or float(self.sequence)
