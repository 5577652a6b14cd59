"""Floating-point operations of a training step: matrix products, attention, recomputation."""

from __future__ import annotations

from typing import NamedTuple

from planner.sizing.architecture import Architecture, active_parameter_count
from planner.sizing.training.counting import Widths, widths
from planner.sizing.training.job import Job

FORWARD_FLOPS = 2
"""Of one parameter for one token: a multiplication and an addition."""
CAUSAL = 0.5
"""Tokens see what came before them: half of the square."""
ATTENTION_BACKWARD = 2.5
"""The backward pass of flash attention computes the scores again: five products to the forward pass's two
(FlashAttention-2, arXiv 2307.08691)."""


class Flops(NamedTuple):
    """Operations a token, whole model, with what is computed twice."""

    linear: float
    experts: float
    """Of routed experts, beside ``linear``."""
    attention: float
    passes: float
    """Forward passes' worth of linear layers: 3 with all weights trained, 2 with frozen ones, 1 more with full
    recomputation."""


def model_flops_per_token(arch: Architecture) -> float:
    """6 × active parameters: forward 2, backward 4 (Kaplan et al., arXiv 2001.08361). Without attention."""
    return 3.0 * FORWARD_FLOPS * active_parameter_count(arch)


def useful_flops_per_token(job: Job) -> float:
    """What MFU counts: 6 × active parameters, or 4 where the weights are frozen and have no gradients of their own."""
    whole = model_flops_per_token(job.arch)
    return whole if job.method == "full" else whole * FROZEN_SHARE


FROZEN_SHARE = 2 / 3


def attention_forward(wide: Widths, sequence: float) -> float:
    """Forward operations of attention for one token of a sequence, causal, all layers.

    Σ over layers of 2 × 2 × seen × query values, where seen is half of the sequence, or at most the window.
    """
    total = 0.0
    for window, queries in wide.attended:
        seen = sequence * CAUSAL
        if window and window < sequence:
            seen = window * (1 - window / (2 * sequence))
        total += 2 * FORWARD_FLOPS * seen * queries
    return total


def counted_attention(arch: Architecture, sequence: float) -> float:
    """Attention operations as papers count them: forward and twice that backward, without the causal half.

    12 × layers × hidden × sequence a token (PaLM, arXiv 2204.02311, appendix B).
    """
    wide = widths(arch)
    return 3.0 * sum(2 * FORWARD_FLOPS * (min(window, sequence) if window else sequence) * queries
                     for window, queries in wide.attended)  # fmt: skip


def executed(job: Job) -> Flops:
    """What a GPU really computes for one token: 3 (or 2 with frozen weights) forward passes' worth of products,
    one more with full recomputation, and attention with its own backward."""
    wide = widths(job.arch)
    active = float(active_parameter_count(job.arch))
    routed = 0.0
    for group in job.arch.layers:
        if group.mlp.kind == "moe":
            routed += group.count * group.mlp.experts_per_token * group.mlp.expert_parameters(job.arch.hidden)
    again = 1.0 if job.recompute == "full" else 0.0
    passes = (3.0 if job.method == "full" else 2.0) + again
    attention = attention_forward(wide, job.attended_tokens)
    attention *= 1.0 + ATTENTION_BACKWARD + (again if job.flash_attention else 0.0)
    return Flops(
        linear=FORWARD_FLOPS * (active - routed) * passes,
        experts=FORWARD_FLOPS * routed * passes,
        attention=attention,
        passes=passes,
    )
