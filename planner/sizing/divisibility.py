"""Which splits divide: heads, vocabulary, MLP width with quantisation groups, experts and layers by ranks."""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import Any

from planner.sizing.architecture import Architecture, Dense, GatedDelta, Grouped, Latent, Mamba, Moe
from planner.sizing.devices import Layout
from planner.sizing.formats import FORMATS
from planner.sizing.weights import VOCABULARY_PADDING

GROUPED_ANYWHERE = ("int4_awq", "int4_gptq", "nvfp4")
"""Formats whose groups lie along the input of every quantised layer, whoever made the checkpoint."""
GROUPED_EXPERTS = ("fp8",)
"""Formats that come with blocks in checkpoints of mixtures of experts, per channel elsewhere."""


def context_violation(arch: Architecture, layout: Layout, ranks: int) -> dict[str, Any] | None:
    """Why so many ranks cannot share the tokens of the cache; None where they can.

    They must divide the tensor-parallel ranks and be no more than those that would else hold the same KV heads; every
    layer must attend over the whole sequence (vLLM documentation, context parallel deployment).
    """
    if ranks == 1:
        return None
    heads = 1
    for group in arch.layers:
        mixer = group.attention
        if isinstance(mixer, Grouped) and mixer.window is None and mixer.chunk is None and not mixer.cross:
            heads = max(heads, mixer.kv_heads)
        elif not isinstance(mixer, Latent):
            return {"rule": "context_parallel_kind"}
    if layout.tp % ranks or layout.tp < ranks * heads:
        return {"rule": "context_parallel", "ranks": ranks, "kv_heads": heads, "tp": layout.tp}
    return None


@lru_cache(maxsize=4096)
def violation(arch: Architecture, weights_format: str, layout: Layout) -> dict[str, Any] | None:
    """The first rule that this split breaks, with its numbers; None where it divides.

    Rules: heads ÷ tp; KV heads ÷ tp or tp ÷ KV heads; padded vocabulary ÷ tp; MLP width ÷ tp, and that a
    whole number of quantisation groups; experts ÷ ep; layers ≥ pp. The padding of kernels is not counted
    on.
    """
    tp = layout.tp
    if layout.pp > arch.layer_count:
        return {"rule": "layers", "layers": arch.layer_count, "pp": layout.pp}
    if tp == 1 and layout.ep == 1:
        return None
    form = FORMATS[weights_format]
    if ceil(arch.vocab / VOCABULARY_PADDING) * VOCABULARY_PADDING % tp:
        return {"rule": "vocabulary", "vocabulary": arch.vocab, "tp": tp}
    for group in arch.layers:
        attention, mlp = group.attention, group.mlp
        heads = attention.inner if isinstance(attention, Mamba) else attention.heads
        if heads % tp:
            return {"rule": "heads", "heads": heads, "tp": tp}
        if isinstance(attention, GatedDelta) and attention.key_heads % tp:
            return {"rule": "heads", "heads": attention.key_heads, "tp": tp}
        if isinstance(attention, Grouped) and attention.kv_heads % tp and tp % attention.kv_heads:
            return {"rule": "kv_heads", "kv_heads": attention.kv_heads, "tp": tp}
        widths = []
        if isinstance(mlp, Moe):
            if mlp.experts % layout.ep:
                return {"rule": "experts", "experts": mlp.experts, "ep": layout.ep}
            share = max(1, tp // layout.ep)
            widths.append((mlp.intermediate, share, weights_format in GROUPED_ANYWHERE + GROUPED_EXPERTS))
            if mlp.shared_intermediate:
                widths.append((mlp.shared_intermediate, tp, weights_format in GROUPED_ANYWHERE))
            if mlp.dense is not None:
                widths.append((mlp.dense.intermediate, tp, weights_format in GROUPED_ANYWHERE))
        elif isinstance(mlp, Dense):
            widths.append((mlp.intermediate, tp, weights_format in GROUPED_ANYWHERE))
        for width, ranks, grouped in widths:
            if width % ranks:
                return {"rule": "intermediate", "intermediate": width, "tp": ranks}
            size = form.quantised_group
            if grouped and ranks > 1 and size is not None and (width // ranks) % size:
                return {"rule": "quantised_group", "intermediate": width, "tp": ranks, "group": size}
    return None
