"""The peak of libraries that load a model and generate, without a budget or a scheduler of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planner.sizing import kv_cache, weights
from planner.sizing.architecture import Architecture
from planner.sizing.devices import Layout
from planner.sizing.formats import FORMATS
from planner.sizing.overheads import HALF_BYTES, Need, mlp_width
from planner.sizing.runtime import Runtime

HIDDEN_COPIES = 3.4
"""Hidden states that live beside the widest MLP: what the logs of vLLM's forward pass give, which runs the same
PyTorch operations."""
CONTEXT_BYTES = 547_608_330
"""A CUDA context with PyTorch's kernels: vLLM start logs on H100, one rank. Seen by ``nvidia-smi`` only."""
QUANTISED_WORK_BYTES = 805_306_368
"""What libraries hold beside narrow weights, as seen from outside: widened matrices and work buffers of their kernels.
The middle of what published peaks of three publishers (QwenLM, Lightning-AI, premAI-io) are above the rest of this
formula, 0.4 to 1.6 GiB."""
SIXTEEN = 16
LOGIT_COPIES_BYTES = HALF_BYTES + 4
"""A value of the logits as computed and widened to FP32, where a library keeps those of the whole prompt."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One call of a library: sequences of equal length at once."""

    prompt_tokens: int
    total_tokens: int
    batch: int = 1
    prompt_logits: bool = False
    """Logits of every prompt token are kept (Transformers before 4.45)."""
    cache: Literal["grows", "whole"] = "grows"
    """Whether the cache grows with the sequence, or is taken for the model's longest at once (ExLlamaV2)."""
    as_reserved: bool = False
    """Whether what the allocator keeps is counted, not only what is in use: pieces that a growing cache left
    behind are too small for its next size, and come to about as much as the cache itself."""
    with_context: bool = False
    """Whether what the driver holds is counted."""


def peak_bytes(arch: Architecture, need: Need, runtime: Runtime, call: Generation) -> int:
    """Most bytes at once, all devices together.

    peak = weights + the larger of (cache after the prompt + activations of the prompt) and (cache at the end).
    activations = batch × prompt tokens × value bytes × (MLP width + 3.4 × hidden), and the logits of the
    prompt where they are kept. ``runtime`` says how a cache is laid out. Leaves out: work buffers of
    kernels at 16 bits. Typical errors: docs/methods-memory.md.
    """
    held = weights.footprint(arch, need.weights_format, Layout()).total_bytes
    cache = kv_cache.footprint(arch, need.kv_format, need.weights_format, Layout(), runtime, 1)
    total = call.total_tokens
    if call.cache == "whole":
        total = max(total, arch.max_position or total)
    width = 4 if need.weights_format == "fp32" else HALF_BYTES
    per_token = width * (mlp_width(arch, Layout()) + HIDDEN_COPIES * arch.hidden)
    if call.prompt_logits:
        per_token += arch.vocab * LOGIT_COPIES_BYTES
    left_behind = 2 if call.as_reserved and call.cache == "grows" else 1
    ends = call.batch * cache.bytes_for(total) * left_behind
    first = total if call.cache == "whole" else max(1, call.prompt_tokens)
    starts = call.batch * (cache.bytes_for(first) + call.prompt_tokens * per_token)
    narrow = call.as_reserved and FORMATS[need.weights_format].linear_bits < SIXTEEN
    work = QUANTISED_WORK_BYTES if narrow else 0
    return round(held + work + max(starts, ends) + (CONTEXT_BYTES if call.with_context else 0))
