"""The splits of n devices that searches try: the plain one, and attention by requests where that one copies cache."""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Any

from planner.sizing import divisibility, split_support
from planner.sizing.architecture import Architecture, Compressed, Grouped, Latent
from planner.sizing.devices import Layout
from planner.sizing.runtime import Runtime

GROUPS_OF_RANKS = ("vllm",)
"""Engines whose groups may have several ranks each. Elsewhere each rank is a group (SGLang documentation, server
arguments: the dp size should be equal to the tp size; TensorRT-LLM: attention_dp_size is the tensor parallel size)."""
WHOLE_ON_EACH_RANK = (Latent, Compressed)
"""Attention whose cache all heads share: tensor parallelism keeps it whole on every rank."""


def plain(runtime: Runtime, devices: int) -> Layout:
    """By layers or by tensors, as the engine does."""
    return Layout(pp=devices) if runtime.splits_layers else Layout(tp=devices)


@lru_cache(maxsize=1024)
def by_requests(
    arch: Architecture, weights_format: str, runtime: Runtime, devices: int, context_parallel: int = 1
) -> Layout | None:
    """Attention by requests with the experts spread over all devices; None where it cannot win, divide or run.

    It wins where tensor parallelism would keep the same cache on several ranks: a latent cache whole on each, KV heads
    as often as there are more ranks than heads. Groups are as large as they can be without copies.
    """
    if devices == 1 or context_parallel > 1 or runtime.splits_layers or not arch.has_experts:
        return None
    tp = undivided(arch, devices)
    if tp > 1 and runtime.name not in GROUPS_OF_RANKS:
        tp = 1
    layout = Layout(tp=tp, dp=devices // tp, ep=devices)
    if layout.dp == 1 or copies(arch, devices) == 1 or refusal(arch, weights_format, runtime, layout):
        return None
    return layout


def refusal(
    arch: Architecture, weights_format: str, runtime: Runtime, layout: Layout
) -> dict[str, Any] | None:
    """Why this engine does not split this model so; None where it does."""
    return split_support.refusal(runtime, layout, arch.family) or divisibility.violation(
        arch, weights_format, layout
    )


def copies(arch: Architecture, ranks: int) -> float:
    """Ranks that hold the same keys and values under tensor parallelism, of the layers with most of such copies."""
    found = 1.0
    for group in arch.layers:
        if isinstance(group.attention, WHOLE_ON_EACH_RANK):
            return float(ranks)
        if isinstance(group.attention, Grouped) and not group.attention.cross:
            found = max(found, ranks / group.attention.kv_heads)
    return found


def undivided(arch: Architecture, devices: int) -> int:
    """The most ranks of a group that share attention without two of them holding the same keys and values."""
    most = devices
    for group in arch.layers:
        if isinstance(group.attention, WHOLE_ON_EACH_RANK):
            return 1
        if isinstance(group.attention, Grouped) and not group.attention.cross:
            most = gcd(most, group.attention.kv_heads)
    return most
