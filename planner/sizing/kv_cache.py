"""The KV cache of one sequence: bytes held, reserved and read, by attention kind, window and runtime."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

from planner.sizing.architecture import (
    Absent,
    Architecture,
    Compressed,
    GatedDelta,
    Kda,
    Latent,
    Mamba,
    Mamba2,
    Mixer,
    NotSized,
)
from planner.sizing.devices import Layout
from planner.sizing.formats import kv_bits
from planner.sizing.kv_layers import KvLayers, layers_of
from planner.sizing.quantities import Derivation, Term
from planner.sizing.runtime import Runtime


@dataclass(frozen=True, slots=True)
class KvFootprint:
    """KV cache on one rank. ``chunk_tokens`` is the most prompt tokens the runtime schedules in one step."""

    layers: tuple[KvLayers, ...]
    block_tokens: int
    windows_saved: bool
    """Whether the runtime frees what is behind the window."""
    chunk_tokens: int
    paged: bool

    state_blocks: int = 1
    """Pages of states a sequence takes in each layer that keeps one."""
    state_page_bytes: float = 0.0
    """Page that a state takes where states share pages with the cache; 0 where it takes its own size."""

    def _held(self, length: int, group: KvLayers, ahead: int) -> int:
        """Entries a layer keeps of a sequence: all, or a window and what is ahead of it; whole blocks."""
        size, window = self.block_tokens, group.window
        if window is None or not self.windows_saved:
            return ceil(ceil(length / group.stride) / size) * size
        # A window rarely starts on a block's edge, so a paged cache touches one block more.
        return (ceil(min(length, window - 1 + ahead) / size) + (1 if self.paged else 0)) * size

    def fixed_of(self, group: KvLayers) -> float:
        """Bytes of one layer that do not depend on the length."""
        if group.state_bytes:
            return max(group.state_bytes, self.state_page_bytes) * self.state_blocks
        return group.bytes_per_token * group.encoder_tokens

    def _bytes(self, length: int, ahead: int) -> int:
        return round(
            sum(
                group.held_count
                * (
                    group.bytes_per_token * self._held(length, group, ahead)
                    if group.by_token
                    else self.fixed_of(group)
                )
                for group in self.layers
            )
        )

    def bytes_for(self, length: int) -> int:
        """Bytes one sequence of this length holds while it decodes."""
        return self._bytes(length, 1)

    def reserved_bytes_for(self, length: int) -> int:
        """Bytes the runtime must find before it admits a sequence of this length: a chunk ahead of each
        window."""
        return self._bytes(length, self.chunk_tokens)

    def bytes_per_token(self, length: int) -> int:
        """Bytes a token costs on average in a sequence of this length, without rounding to blocks."""
        if not self.varies:
            return self.pool_bytes_per_token
        held = sum(
            group.held_count
            * (
                group.bytes_per_token * self._kept(group, length) / group.stride
                if group.by_token
                else self.fixed_of(group)
            )
            for group in self.layers
        )
        return ceil(held / length)

    def _kept(self, group: KvLayers, length: int) -> int:
        return min(length, group.window) if group.window is not None and self.windows_saved else length

    @property
    def pool_bytes_per_token(self) -> int:
        """Bytes that one token of the runtime's pool stands for: every layer, windows or not."""
        return ceil(
            sum(group.held_count * group.bytes_per_token / group.stride for group in self.layers)
        ) or round(self.fixed_bytes)

    @property
    def fixed_bytes(self) -> float:
        """Bytes a sequence takes whatever its length: states, and entries of an encoder's output."""
        return sum(group.held_count * self.fixed_of(group) for group in self.layers if not group.by_token)

    @property
    def sequence_states_bytes(self) -> float:
        """Of the fixed bytes, those of states."""
        return sum(group.held_count * self.fixed_of(group) for group in self.layers if group.state_bytes)

    def without_states(self) -> KvFootprint:
        """What is left where states have a place of their own; the same where there are none."""
        left = tuple(group for group in self.layers if not group.state_bytes)
        return self if len(left) == len(self.layers) else replace(self, layers=left, state_page_bytes=0.0)

    @property
    def varies(self) -> bool:
        """Whether the bytes of a token depend on the length: windows, states, an encoder's output."""
        return any(
            not group.by_token or (self.windows_saved and group.window is not None) for group in self.layers
        )

    def read_bytes(self, length: float) -> float:
        """Bytes moved to decode one token at this context: entries read; states read and written back."""
        return sum(
            group.count * (group.bytes_per_token * group.positions(length) + 2 * group.state_bytes)
            for group in self.layers
        )

    def attention_flops(self, length: float, prefill: bool = False) -> float:
        """FLOPs of attention of one token with this many positions before it, on one rank."""
        return sum(
            group.count
            * (
                (group.prefill_flops_per_position if prefill else group.flops_per_position)
                * group.positions(length)
                + group.state_flops
            )
            for group in self.layers
        )

    def prompt_flops(self, tokens: float) -> float:
        """FLOPs of attention of a whole prompt on one rank."""
        return sum(
            group.count
            * (group.prefill_flops_per_position * group.pairs(tokens) + group.state_flops * tokens)
            for group in self.layers
        )


def footprint(
    arch: Architecture,
    kv_format: str,
    weights_format: str,
    layout: Layout,
    runtime: Runtime,
    chunk_tokens: int,
) -> KvFootprint:
    """KV cache of one rank.

    MHA/GQA/MQA: kv_heads on the rank × (head_dim + value_head_dim) × bytes a layer; a rank holds at least one
    KV head. MLA: (kv_rank + rope_dim) × bytes a layer on **every** rank, split only by ``dp`` and ``pp``.
    Layers with a window keep the window where the runtime frees the rest; layers that keep a state keep it
    whatever the length; layers without attention keep nothing. ``kv_layers`` has all kinds. Raises
    ``NotSized`` where no layer keeps anything.
    """
    return _footprint(
        arch,
        _cache_format(arch, kv_format, weights_format, runtime),
        weights_format,
        layout,
        chunk_tokens,
        runtime,
    )


def _cache_format(arch: Architecture, kv_format: str, weights_format: str, runtime: Runtime) -> str:
    """What ``auto`` and 8-bit integers mean: the checkpoint's own scheme; llama.cpp's blocks with their scales."""
    if kv_format == "auto" and arch.stored_kv_format and weights_format == arch.stored_format:
        return arch.stored_kv_format
    if kv_format == "auto" and runtime.name == "vllm" and _keeps_narrow_entries(arch):
        return "fp8"
    return "q8_0" if kv_format == "int8" and runtime.name in ("llama_cpp", "ollama") else kv_format


@lru_cache(maxsize=256)
def _keeps_narrow_entries(arch: Architecture) -> bool:
    """Whether vLLM's own choice for this model is its 8-bit cache: sparse and compressed latent attention."""
    return any(
        isinstance(mixer, Compressed) or (isinstance(mixer, Latent) and mixer.selected is not None)
        for mixer in (group.attention for group in arch.layers)
    )


@lru_cache(maxsize=4096)
def _footprint(
    arch: Architecture,
    kv_format: str,
    weights_format: str,
    layout: Layout,
    chunk_tokens: int,
    runtime: Runtime,
) -> KvFootprint:
    width = kv_bits(kv_format, weights_format) / 8
    held_counts = _held_counts(arch, layout, runtime)
    found = tuple(
        layers
        for group, held in zip(arch.layers, held_counts, strict=True)
        for layers in layers_of(arch, group, width, layout.tp, ceil(group.count / layout.pp), held, runtime)
    )
    if not found:
        raise NotSized(arch.id, arch.not_sized or arch.attention_kind)
    block, page = _state_page(found, runtime)
    return KvFootprint(
        layers=found,
        block_tokens=block,
        windows_saved=runtime.frees_windows,
        chunk_tokens=chunk_tokens,
        paged=not runtime.preallocates,
        state_blocks=runtime.state_blocks if any(group.state_bytes for group in found) else 1,
        state_page_bytes=page,
    )


def _state_page(layers: tuple[KvLayers, ...], runtime: Runtime) -> tuple[int, float]:
    """Tokens of a block and bytes of a page, where states lie in the pages of the cache.

    The block grows in steps of the engine's own until a page of one attention layer holds one state.
    """
    own = runtime.block_tokens
    state = max((group.state_bytes for group in layers), default=0.0)
    entry = max((group.bytes_per_token for group in layers if group.by_token), default=0.0)
    if not runtime.pages_states or not state or not entry:
        return own, 0.0
    block = max(own, ceil(state / entry / own) * own)
    return block, block * entry


def _held_counts(arch: Architecture, layout: Layout, runtime: Runtime) -> list[int]:
    """Layers of each group that room is made for.

    A runtime that shares pages between kinds of layers makes groups as large as the smaller kind and fills
    the last one up: 52 windowed layers beside 10 global ones take the room of 60.
    """
    counts = [ceil(group.count / layout.pp) for group in arch.layers]
    kinds = [_page_kind(group.attention) for group in arch.layers]
    states = "state" in kinds
    shares = runtime.pages_states if states else runtime.unifies_pages and runtime.frees_windows
    by_kind: dict[str | int | None, int] = {}
    for kind, count in zip(kinds, counts, strict=True):
        if kind != "absent":
            by_kind[kind] = by_kind.get(kind, 0) + count
    if (
        not shares
        or len(by_kind) < 2
        or any(isinstance(group.attention, Compressed) for group in arch.layers)
    ):
        return counts
    size = min(by_kind.values())
    return [
        count + (ceil(by_kind[kind] / size) * size - by_kind[kind] if kinds.index(kind) == number else 0)
        if kind != "absent"
        else count
        for number, (kind, count) in enumerate(zip(kinds, counts, strict=True))
    ]


def _page_kind(mixer: Mixer) -> str | int | None:
    """Layers of one kind share pages: by window, states, and none at all."""
    if isinstance(mixer, Absent):
        return "absent"
    return "state" if isinstance(mixer, Mamba | Mamba2 | GatedDelta | Kda) else mixer.window


def derive(kv: KvFootprint, length: int) -> Derivation:
    """How the bytes a token costs at this length come about."""
    terms: list[Term] = [Term(symbol="length", value=length, unit="token")]
    parts: list[str] = []
    for number, group in enumerate(kv.layers, 1):
        terms.append(Term(symbol=f"layers_{number}", value=group.held_count, unit="1"))
        if not group.by_token:
            # Whatever the length: a state, or the entries of an encoder's output.
            fixed = kv.fixed_of(group)
            terms.append(Term(symbol=f"fixed_bytes_{number}", value=fixed, unit="byte/request"))
            parts.append(f"layers_{number} * fixed_bytes_{number}")
            continue
        terms.append(Term(symbol=f"layer_bytes_{number}", value=group.bytes_per_token, unit="byte/token"))
        held = "length"
        if group.window is not None and kv.windows_saved:
            terms.append(Term(symbol=f"window_{number}", value=group.window, unit="token"))
            held = f"min(length, window_{number})"
        if group.stride > 1:
            terms.append(Term(symbol=f"stride_{number}", value=group.stride, unit="token"))
            held = f"{held} / stride_{number}"
        parts.append(f"layers_{number} * layer_bytes_{number} * {held}")
    return Derivation(
        figure="kv_bytes_per_token",
        formula=f"ceil(({' + '.join(parts)}) / length)",
        terms=tuple(terms),
        value=kv.bytes_per_token(length),
        unit="byte/token",
    )
