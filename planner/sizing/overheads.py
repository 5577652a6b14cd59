"""What an engine holds beside weights and cache: activations, buffers, graphs, the device's context."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from planner.sizing.architecture import Absent, Architecture, Grouped, Moe
from planner.sizing.devices import Device, Layout
from planner.sizing.quantities import GIB
from planner.sizing.runtime import Runtime
from planner.sizing.workload import LlmWorkload, Offload

HALF_BYTES = 2
NOTHING_MOVED = Offload()
SHARES_TOKENS = ("sglang",)
"""Engines whose tokens a step are shared by the groups that keep attention by requests (SGLang source, server_args.py:
chunked_prefill_size is divided by dp_size); elsewhere each group takes as many."""


@dataclass(frozen=True, slots=True)
class Need:
    """What one replica must hold: lengths in tokens, ``concurrency`` requests at once at typical length."""

    weights_format: str = "bf16"
    kv_format: str = "auto"
    typical_tokens: int = 1300
    maximum_tokens: int = 9000
    concurrency: float = 1
    headroom_fraction: float = 0.1
    batched_tokens: int | None = None
    sequences: int | None = None
    utilization: float | None = None
    eager: bool = False
    flash_attention: bool = True
    context_tokens: int | None = None
    """The engine's context limit, where it is not ``maximum_tokens``."""
    drafts: bool = False
    """Whether the checkpoint's own draft layers are loaded (``drafting``)."""
    offload: Offload = NOTHING_MOVED
    """Weights that are kept in host memory."""
    context_parallel: int = 1
    """Ranks of one tensor-parallel group that share the tokens of the cache."""
    kv_offload_bytes: float = 0.0
    """Host memory for cache that was pushed out of the device."""

    @staticmethod
    def of(workload: LlmWorkload, concurrency: float = 1) -> Need:
        """The need of one replica of this workload with ``concurrency`` requests at once."""
        options = workload.runtime.options
        return Need(
            weights_format=workload.weights_format,
            kv_format=workload.kv_format,
            typical_tokens=workload.input_tokens.typical + workload.output_tokens.typical,
            maximum_tokens=workload.input_tokens.maximum + workload.output_tokens.maximum,
            concurrency=concurrency,
            headroom_fraction=workload.headroom_fraction,
            batched_tokens=options.max_num_batched_tokens,
            sequences=options.max_num_seqs,
            utilization=options.gpu_memory_utilization or workload.assumed.get("memory_fraction"),
            eager=bool(options.enforce_eager),
            drafts=options.speculative_tokens is not None,
            context_parallel=options.decode_context_parallel or 1,
            # One object for the usual, so that what is kept for it is found at once.
            offload=NOTHING_MOVED if workload.offload == NOTHING_MOVED else workload.offload,
            kv_offload_bytes=workload.kv_offload_gib * GIB,
        )


@dataclass(frozen=True, slots=True)
class Overheads:
    """What an engine holds beside weights and KV on one rank, bytes. ``outside`` is not in its budget."""

    batched_tokens: int
    sequences: int
    activation: int
    non_torch: int
    graphs: int
    context: int
    inside: int
    outside: int
    warmup: int = 0
    """Of ``outside``: what the sampler's run asks for anew once cache and graphs have cut up the heap."""


class DeviceKind(NamedTuple):
    """All that an engine's overheads depend on of a device."""

    batched_tokens: int
    """Tokens a step that the engine chooses there."""
    sequences: int
    """Sequences at once that it chooses there."""
    switched_links: bool
    """See ``has_switched_links``."""


def overheads(
    arch: Architecture, need: Need, runtime: Runtime, device: Device, layout: Layout
) -> Overheads:  # fmt: skip
    """Activation peak, engine buffers, graphs and device context of one rank.

    activation = the largest of
    forward pass: batched tokens × 2 B × (MLP width on the rank + ``hidden_copies`` × hidden);
    sampler: sequences × vocabulary × ``logit_bytes`` + ``activation_base_bytes``, whole on every rank;
    llama.cpp: batched tokens × (vocabulary + 2 × hidden) × ``prompt_value_bytes``.
    graphs = ``graph_bytes`` + layers of the stage × ``graph_layer_bytes`` + ``graph_expert_bytes`` with experts.
    warm-up = sequences × vocabulary × ``warmup_logit_bytes``: the budget counts the sampler's own run, but not
    that it must be allocated once more in one piece after the cache (vLLM from 0.8 runs it last).
    Constants are the runtime's, each with its source. Leaves out: encoders of images.
    """
    return overheads_of(arch, need, runtime, device_kind(runtime, device), layout)


def overheads_of(
    arch: Architecture, need: Need, runtime: Runtime, kind: DeviceKind, layout: Layout
) -> Overheads:
    """The same for every device of a kind."""
    return _overheads(
        arch, runtime, layout, kind, need.weights_format, need.batched_tokens, need.sequences, need.eager,
        need.flash_attention, need.context_tokens, need.maximum_tokens,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _overheads(
    arch: Architecture, runtime: Runtime, layout: Layout, kind: DeviceKind, weights_format: str,
    batched_tokens: int | None, asked_sequences: int | None, eager: bool, flash_attention: bool,
    context_tokens: int | None, maximum_tokens: int,
) -> Overheads:  # fmt: skip
    tokens = batched_tokens or kind.batched_tokens
    if runtime.name in SHARES_TOKENS:
        tokens = max(1, tokens // layout.dp)
    if runtime.batched_tokens_cover_length and batched_tokens is None:
        longest = context_tokens or maximum_tokens
        tokens = max(tokens, longest)
        plain = not arch.towers and all(group.attention.window is None for group in arch.layers)
        if runtime.chunks_above_tokens and longest > runtime.chunks_above_tokens and plain:
            tokens = runtime.chunk_tokens or tokens
    sequences = asked_sequences or kind.sequences
    forward = _forward_bytes(arch, weights_format, runtime, layout, tokens)
    logits = min(sequences, tokens) * arch.vocab * runtime.constant("logit_bytes")
    prompt = tokens * (arch.vocab + 2 * arch.hidden) * runtime.constant("prompt_value_bytes")
    if not flash_attention:
        prompt = max(prompt, tokens * arch.heads * maximum_tokens * runtime.constant("prompt_value_bytes"))
    masks = runtime.constant("cross_mask_copies") * _cross_mask_bytes(arch, tokens, sequences)
    activation = max(forward + masks, logits + runtime.constant("activation_base_bytes"), prompt)
    engine, of_device = _buffer_names(runtime, kind.switched_links, layout)
    non_torch, context = runtime.constant(engine), runtime.constant(of_device)
    graphs = 0.0
    if not eager:
        graphs = (
            runtime.constant("graph_bytes")
            + runtime.constant("graph_layer_bytes") * arch.layer_count / layout.pp
            + (runtime.constant("graph_expert_bytes") if arch.has_experts else 0)
        )
    warmup = min(sequences, tokens) * arch.vocab * runtime.constant("warmup_logit_bytes")
    inside, outside = non_torch, context + warmup
    if runtime.budget == "fraction_of_total":
        inside += graphs if runtime.graphs_in_budget else 0
        outside += 0 if runtime.graphs_in_budget else graphs
    else:
        inside, outside = non_torch + context + graphs, 0
    return Overheads(
        tokens, sequences, round(activation), round(non_torch), round(graphs), round(context), round(inside),
        round(outside), round(warmup),
    )  # fmt: skip


def buffer_names(runtime: Runtime, device: Device, layout: Layout) -> tuple[str, str]:
    """The constants that hold for this split: of the engine's own buffers, and of the device's context."""
    return _buffer_names(runtime, has_switched_links(device), layout)


def _buffer_names(runtime: Runtime, switched: bool, layout: Layout) -> tuple[str, str]:
    engine, context = "engine_bytes", "context_bytes"
    if layout.tp > 1 or layout.ep > 1:
        engine = "engine_tp_bytes" if runtime.constant("engine_tp_bytes") else engine
        if not switched and runtime.constant("engine_tp_plain_bytes"):
            engine = "engine_tp_plain_bytes"
    elif layout.pp > 1 and runtime.constant("engine_pp_bytes"):
        engine = "engine_pp_bytes"
    if max(layout.tp * layout.pp, layout.ep) > 1 and switched and runtime.constant("context_tp_bytes"):
        context = "context_tp_bytes"
    return engine, context


def _cross_mask_bytes(arch: Architecture, tokens: int, sequences: int) -> int:
    """A dense mask between the scheduled tokens and the positions of as many images as a profile run holds.

    tokens × images × positions of one × 2 B, with images = min(sequences, tokens ÷ positions): what an engine
    reserves for a model that attends to an encoder's output.
    """
    if not arch.towers:
        return 0
    positions = max(
        (group.cross.encoder_tokens for group in arch.layers if group.cross is not None), default=0
    )
    own = (
        g.attention.encoder_tokens
        for g in arch.layers
        if isinstance(g.attention, Grouped) and g.attention.cross
    )
    positions = max(positions, max(own, default=0))
    if not positions:
        return 0
    images = max(1, min(sequences, tokens // positions))
    return tokens * images * positions * HALF_BYTES


def device_kind(runtime: Runtime, device: Device) -> DeviceKind:
    """Worked out once for each card, which its name tells."""
    key = (
        runtime, device.name, device.vendor, device.memory_bytes, device.architecture, device.compute_capability,
    )  # fmt: skip
    found = _kinds.get(key)
    if found is None:
        if len(_kinds) >= KINDS_KEPT:
            _kinds.clear()
        found = _kinds[key] = _device_kind(runtime, device)
    return found


KINDS_KEPT = 4096
_kinds: dict[tuple[Runtime, str, str, int, str, str | None], DeviceKind] = {}


def _device_kind(runtime: Runtime, device: Device) -> DeviceKind:
    default = runtime.device_default(device)
    return DeviceKind(default.batched_tokens, default.sequences, has_switched_links(device))


def has_switched_links(device: Device) -> bool:
    """Whether ranks exchange through buffers that all of them map: Hopper and Blackwell of data centres.

    A card without a name counts as one of them.
    """
    if device.vendor == "":
        return True
    major = (device.compute_capability or "").partition(".")[0]
    return device.vendor == "nvidia" and major in ("9", "10")


def forward_bytes(arch: Architecture, need: Need, runtime: Runtime, layout: Layout, tokens: int) -> int:
    """Activation peak of one layer's forward pass: tokens × bytes a value × (MLP width + copies × hidden)."""
    return _forward_bytes(arch, need.weights_format, runtime, layout, tokens)


def _forward_bytes(
    arch: Architecture, weights_format: str, runtime: Runtime, layout: Layout, tokens: int
) -> int:
    width = 4 if weights_format == "fp32" else HALF_BYTES
    return round(tokens * width * (mlp_width(arch, layout) + runtime.constant("hidden_copies") * arch.hidden))


def first_stage_bytes(
    arch: Architecture, need: Need, runtime: Runtime, layout: Layout, tokens: int
) -> int:  # fmt: skip
    """Activation peak of a pipeline's first stage, which has no logits: the forward pass, and hidden states with
    their residuals on their way to the next stage (2 × tokens × hidden × bytes a value)."""
    width = 4 if need.weights_format == "fp32" else HALF_BYTES
    return forward_bytes(arch, need, runtime, layout, tokens) + 2 * tokens * width * arch.hidden


@lru_cache(maxsize=1024)
def mlp_width(arch: Architecture, layout: Layout) -> float:
    """Activations of the widest MLP for one token on one rank: gate, up and their product.

    With experts: that of each expert a token takes, and what it returns, which are kept until they are
    summed.
    """
    widest = 0.0
    for group in arch.layers:
        mlp = group.mlp
        if isinstance(mlp, Moe):
            own = mlp.experts_per_token * (3 * mlp.intermediate / layout.tp + arch.hidden)
            own += 3 * mlp.shared_intermediate / layout.tp
        elif isinstance(mlp, Absent):
            continue
        else:
            own = (3 if mlp.gated else 2) * mlp.intermediate / layout.tp
        widest = max(widest, own)
    return widest
