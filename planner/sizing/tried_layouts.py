"""The splits of n devices that searches try: the plain one, and others where that one copies the cache."""

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

STAGES_RANKED = 4
"""More stages are measured as slower than predicted (8: by a fifth to a half), so that no machine is ranked by them."""


@lru_cache(maxsize=1024)
def plain(runtime: Runtime, devices: int) -> Layout:
    """By layers or by tensors, as the engine does: one object for each, so that what is kept for it is found fast."""
    return Layout(pp=devices) if runtime.splits_layers else Layout(tp=devices)


@lru_cache(maxsize=1024)
def beside_plain(
    arch: Architecture, weights_format: str, runtime: Runtime, devices: int, context_parallel: int = 1
) -> tuple[Layout, ...]:
    """Other splits of a mixture that can win: those that copy less of its cache than tensor parallelism over all.

    Attention by requests with the experts spread over all devices, in groups as large as they can be without copies;
    tensors over as many, or over some of a cache that is whole on each, and layers over the others, up to
    ``STAGES_RANKED`` stages. Only such as divide and the engine has.
    """
    if devices == 1 or context_parallel > 1 or runtime.splits_layers or not arch.has_experts:
        return ()
    if copies(arch, devices) == 1:
        return ()
    most = undivided(arch, devices)
    tp = most if runtime.name in GROUPS_OF_RANKS else 1
    stages = [n for n in range(2, min(devices, STAGES_RANKED) + 1) if devices % n == 0]
    found = (
        Layout(tp=tp, dp=devices // tp, ep=devices),
        *(Layout(tp=devices // n, pp=n) for n in stages if most in (1, devices // n)),
    )
    return tuple(layout for layout in found if not refusal(arch, weights_format, runtime, layout))


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
