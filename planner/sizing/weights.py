"""Bytes of the weights on one rank, in the format they are stored in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from planner.sizing.architecture import Architecture, Moe, Tensor, tensors
from planner.sizing.devices import Layout
from planner.sizing.formats import FORMATS, Format, Group, tensor_bits
from planner.sizing.quantities import Derivation, Term

VOCABULARY_PADDING = 64
"""Engines round the vocabulary up to this before they split it (vLLM's VocabParallelEmbedding)."""


@dataclass(frozen=True, slots=True)
class WeightFootprint:
    """Weights of one replica, seen from its fullest rank."""

    total_bytes: int
    """The whole checkpoint, once."""
    resident_bytes: int
    """On the fullest rank."""
    always_read_bytes: int
    """Read from that rank's memory in every decode step, whatever the batch."""
    expert_bytes: int
    """One routed expert of one layer, this rank's share of it."""
    moe_layers: int
    experts: int
    experts_per_token: int
    linear_flops_per_token: float
    """Matrix products of one token on one rank: 2 × parameters it passes through there."""
    expert_flops_per_token: float
    """Of these, the routed experts."""
    groups: tuple[tuple[Group, int], ...]
    """Resident bytes by tensor group; they sum to ``resident_bytes``."""
    resident_parameters: int
    largest_layer_bytes: int
    lookup_bytes: int = 0
    """Of the rank: an embedding that is only looked up, as the head is another matrix."""


def more_bits_fraction(layer_count: int) -> float:
    """Share of layers that a Q4_K_M file keeps in more bits: the first and last eighth and every third
    between."""
    n = layer_count
    chosen = sum(1 for i in range(n) if i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2)
    return chosen / n if n else 0.0


def rank_elements(tensor: Tensor, layout: Layout) -> int:
    """Elements of one copy of this tensor that one tensor-parallel rank holds (experts: of one expert)."""
    tp = layout.tp
    if tp == 1 or tensor.split == "copy":
        return tensor.rows * tensor.columns
    if tensor.split == "kv":
        held = max(1, ceil(tensor.kv_heads / tp))
        return tensor.rows * held // tensor.kv_heads * tensor.columns
    if tensor.split == "vocab":
        padded = ceil(tensor.rows / VOCABULARY_PADDING) * VOCABULARY_PADDING
        return ceil(padded / tp) * tensor.columns
    if tensor.split == "expert" and layout.ep > 1:
        return ceil(tensor.rows * tensor.columns / max(1, tp // layout.ep))
    return ceil(tensor.rows * tensor.columns / tp)


def _padded(elements: int, tensor: Tensor, form: Format, layout: Layout) -> int:
    """Elements after the kernel's padding of the experts' width on this rank."""
    if tensor.split != "expert" or form.expert_tile is None or tensor.columns == 1:
        return elements
    width = tensor.columns if tensor.role == "down" else tensor.rows // tensor.gates
    own = ceil(width / max(1, layout.tp // layout.ep))
    return ceil(elements / own * ceil(own / form.expert_tile) * form.expert_tile)


@lru_cache(maxsize=2048)
def footprint(arch: Architecture, weights_format: str, layout: Layout) -> WeightFootprint:
    """Weights of one rank: Σ over tensors of elements on the rank × bits of its group in this format ÷ 8.

    Linear layers, experts and the vocabulary are split over ``tp``; norms, routers, towers and latent
    down-projections are on every rank, KV heads at least one a rank. With ``pp`` the fullest stage is
    counted.
    Padding counts where it is known: vocabulary, experts in MXFP4.
    Leaves out: padding of kernels.
    """
    form = FORMATS[weights_format]
    fraction = more_bits_fraction(arch.layer_count)
    experts = arch.has_experts
    stage_share = ceil(arch.layer_count / layout.pp) / arch.layer_count
    resident: dict[Group, float] = {}
    total = always = flops = parameters = 0.0
    edge_first = edge_last = lookup = 0.0
    for tensor in tensors(arch):
        bits = _bits(tensor, form, experts, fraction, arch)
        held = _padded(rank_elements(tensor, layout), tensor, form, layout)
        copies = float(tensor.count)
        total += tensor.parameters * bits / 8
        if tensor.split == "expert" and layout.ep > 1:
            copies = tensor.count / layout.ep
        if tensor.layer:
            copies *= stage_share
        elif layout.pp > 1:
            if tensor.group in ("embedding", "tower"):
                edge_first += held * copies * bits / 8
            else:
                edge_last += held * copies * bits / 8
        resident[tensor.group] = resident.get(tensor.group, 0.0) + held * copies * bits / 8
        parameters += held * copies
        if tensor.read == "lookup" and tensor.split == "vocab":
            lookup += held * copies * bits / 8
        if tensor.read == "always":
            always += held * copies * bits / 8
            if tensor.columns > 1:
                flops += 2 * held * copies
    moe = next((group.mlp for group in arch.layers if isinstance(group.mlp, Moe)), None)
    moe_layers = sum(group.count for group in arch.layers if isinstance(group.mlp, Moe))
    expert_bytes = expert_flops = 0.0
    if moe is not None:
        share = layout.tp if layout.ep == 1 else max(1, layout.tp // layout.ep)
        one = moe.expert_parameters(arch.hidden)
        expert_bytes = one / share * _expert_bits(form, arch, fraction) / 8
        expert_flops = 2 * one / layout.tp * moe.experts_per_token * moe_layers * stage_share
        flops += expert_flops
    if layout.pp > 1:
        drop = min(edge_first, edge_last)
        key: Group = "embedding" if edge_first <= edge_last else "head"
        resident[key] = max(0.0, resident.get(key, 0.0) - drop)
        if key == "embedding":
            lookup = 0.0
    groups = tuple((name, round(size)) for name, size in resident.items())
    return WeightFootprint(
        total_bytes=round(total),
        resident_bytes=sum(size for _, size in groups),
        always_read_bytes=round(always),
        expert_bytes=round(expert_bytes),
        moe_layers=moe_layers,
        experts=moe.experts if moe else 0,
        experts_per_token=moe.experts_per_token if moe else 0,
        linear_flops_per_token=flops,
        expert_flops_per_token=expert_flops,
        groups=groups,
        resident_parameters=round(parameters),
        largest_layer_bytes=round(total / max(1, arch.layer_count)),
        lookup_bytes=round(lookup),
    )


def _bits(tensor: Tensor, form: Format, experts: bool, fraction: float, arch: Architecture) -> float:
    if (
        form.name == arch.stored_format
        and tensor.columns > 1
        and tensor.group in ("attention", "mlp", "expert")
    ):
        if tensor.group in arch.stored_kept:
            return 16
        for group, bits in arch.stored_group_bits:
            if tensor.group == group:
                return bits
        if arch.stored_linear_bits is not None:
            return arch.stored_linear_bits
    sharing = max(1, tensor.query_heads // tensor.kv_heads)
    return tensor_bits(
        form, tensor.group, tensor.role, tensor.columns, experts, tensor.latent, fraction, arch.tied, sharing
    )


def _expert_bits(form: Format, arch: Architecture, fraction: float) -> float:
    """Mean bits a weight of the routed experts."""
    bits = weight = 0.0
    for tensor in tensors(arch):
        if tensor.read == "routed":
            weight += tensor.parameters
            bits += tensor.parameters * _bits(tensor, form, True, fraction, arch)
    return bits / weight if weight else form.linear_bits


def derive(arch: Architecture, weights_format: str, layout: Layout) -> Derivation:
    """How the weights on one rank come about, by tensor group."""
    found = footprint(arch, weights_format, layout)
    terms = tuple(
        Term(symbol=f"{name}_bytes", value=size, unit="byte", source=arch.source)
        for name, size in found.groups
    )
    return Derivation(
        figure="weights_bytes",
        formula=" + ".join(term.symbol for term in terms),
        terms=terms,
        value=found.resident_bytes,
        unit="byte",
    )
