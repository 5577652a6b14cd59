"""The KV cache of one sequence: bytes held, reserved and read, by attention kind, window and runtime."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from planner.sizing.architecture import Absent, Architecture, Grouped, Latent, NotSized
from planner.sizing.devices import Layout
from planner.sizing.formats import kv_bits
from planner.sizing.quantities import Derivation, Term
from planner.sizing.runtime import Runtime


@dataclass(frozen=True, slots=True)
class KvLayers:
    """Equal layers of the cache on one rank."""

    count: int
    bytes_per_token: float
    """Of one layer."""
    window: int | None
    held_count: int
    """Layers that the runtime makes room for: more than ``count`` where it shares pages between kinds of
    layers."""
    flops_per_position: float
    """Products of one query token with one cached position in one layer on one rank (decode)."""
    prefill_flops_per_position: float


@dataclass(frozen=True, slots=True)
class KvFootprint:
    """KV cache on one rank. ``chunk_tokens`` is the most prompt tokens the runtime schedules in one step."""

    layers: tuple[KvLayers, ...]
    block_tokens: int
    windows_saved: bool
    """Whether the runtime frees what is behind the window."""
    chunk_tokens: int
    paged: bool

    def _held(self, length: int, window: int | None, ahead: int) -> int:
        """Tokens a layer keeps of a sequence: all, or a window and what is ahead of it; whole blocks."""
        size = self.block_tokens
        if window is None or not self.windows_saved:
            return ceil(length / size) * size
        # A window rarely starts on a block's edge, so a paged cache touches one block more.
        return (ceil(min(length, window - 1 + ahead) / size) + (1 if self.paged else 0)) * size

    def bytes_for(self, length: int) -> int:
        """Bytes one sequence of this length holds while it decodes."""
        return round(
            sum(
                group.held_count * group.bytes_per_token * self._held(length, group.window, 1)
                for group in self.layers
            )
        )

    def reserved_bytes_for(self, length: int) -> int:
        """Bytes the runtime must find before it admits a sequence of this length: a chunk ahead of each
        window."""
        return round(
            sum(
                group.held_count * group.bytes_per_token * self._held(length, group.window, self.chunk_tokens)
                for group in self.layers
            )
        )

    def bytes_per_token(self, length: int) -> int:
        """Bytes a token costs on average in a sequence of this length, without rounding to blocks."""
        if not self.has_windows:
            return self.pool_bytes_per_token
        held = sum(
            group.held_count
            * group.bytes_per_token
            * (min(length, group.window) if group.window is not None and self.windows_saved else length)
            for group in self.layers
        )
        return ceil(held / length)

    @property
    def pool_bytes_per_token(self) -> int:
        """Bytes that one token of the runtime's pool stands for: every layer, windows or not."""
        return ceil(sum(group.held_count * group.bytes_per_token for group in self.layers))

    @property
    def has_windows(self) -> bool:
        return self.windows_saved and any(group.window is not None for group in self.layers)

    def read_bytes(self, length: float) -> float:
        """Bytes read from the cache to decode one token at this context."""
        return sum(
            group.count * group.bytes_per_token * (min(length, group.window) if group.window else length)
            for group in self.layers
        )

    def attention_flops(self, length: float, prefill: bool = False) -> float:
        """FLOPs of attention of one token with this many positions before it, on one rank."""
        return sum(
            group.count
            * (group.prefill_flops_per_position if prefill else group.flops_per_position)
            * (min(length, group.window) if group.window else length)
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
    Layers with a window keep the window where the runtime frees the rest; layers without attention keep
    nothing. Raises ``NotSized`` for other kinds of layers.
    """
    return _footprint(
        arch,
        _cache_format(arch, kv_format, weights_format, runtime),
        weights_format,
        layout,
        chunk_tokens,
        runtime.block_tokens,
        runtime.frees_windows,
        runtime.unifies_pages,
        not runtime.preallocates,
    )


def _cache_format(arch: Architecture, kv_format: str, weights_format: str, runtime: Runtime) -> str:
    """What ``auto`` and 8-bit integers mean: the checkpoint's own scheme; llama.cpp's blocks with their scales."""
    if kv_format == "auto" and arch.stored_kv_format and weights_format == arch.stored_format:
        return arch.stored_kv_format
    return "q8_0" if kv_format == "int8" and runtime.name == "llama_cpp" else kv_format


@lru_cache(maxsize=4096)
def _footprint(
    arch: Architecture,
    kv_format: str,
    weights_format: str,
    layout: Layout,
    chunk_tokens: int,
    block_tokens: int,
    frees_windows: bool,
    unifies_pages: bool,
    paged: bool,
) -> KvFootprint:
    width = kv_bits(kv_format, weights_format) / 8
    held_counts = _held_counts(arch, layout, unifies_pages and frees_windows)
    found: list[KvLayers] = []
    for group, held_count in zip(arch.layers, held_counts, strict=True):
        count = ceil(group.count / layout.pp)
        a = group.attention
        if isinstance(a, Latent) and a.indexer is None:
            heads = ceil(a.heads / layout.tp)
            found.append(
                KvLayers(
                    count,
                    (a.kv_rank + a.rope_dim) * width,
                    None,
                    held_count,
                    2.0 * heads * (2 * a.kv_rank + a.rope_dim),
                    2.0 * heads * (a.nope_dim + a.rope_dim + a.value_dim),
                )
            )
            continue
        if isinstance(a, Absent):
            continue
        if not isinstance(a, Grouped) or a.cross or a.indexer is not None or group.cross is not None:
            raise NotSized(arch.id, arch.not_sized or a.kind)
        held = max(1, ceil(a.kv_heads / layout.tp))
        flops = 2.0 * ceil(a.heads / layout.tp) * (a.head_dim + a.values_dim)
        found.append(
            KvLayers(count, held * (a.head_dim + a.values_dim) * width, a.window, held_count, flops, flops)
        )
    return KvFootprint(
        layers=tuple(found),
        block_tokens=block_tokens,
        windows_saved=frees_windows,
        chunk_tokens=chunk_tokens,
        paged=paged,
    )


def _held_counts(arch: Architecture, layout: Layout, shares_pages: bool) -> list[int]:
    """Layers of each group that room is made for.

    A runtime that shares pages between kinds of layers makes groups as large as the smaller kind and fills
    the last one up: 52 windowed layers beside 10 global ones take the room of 60.
    """
    counts = [ceil(group.count / layout.pp) for group in arch.layers]
    windows = [group.attention.window for group in arch.layers]
    if not shares_pages or len(set(windows)) < 2:
        return counts
    by_kind: dict[int | None, int] = {}
    for window, count in zip(windows, counts, strict=True):
        by_kind[window] = by_kind.get(window, 0) + count
    size = min(by_kind.values())
    return [
        count
        + (ceil(by_kind[window] / size) * size - by_kind[window] if windows.index(window) == number else 0)
        for number, (window, count) in enumerate(zip(windows, counts, strict=True))
    ]


def derive(kv: KvFootprint, length: int) -> Derivation:
    """How the bytes a token costs at this length come about."""
    terms: list[Term] = [Term(symbol="length", value=length, unit="token")]
    parts: list[str] = []
    for number, group in enumerate(kv.layers, 1):
        terms.append(Term(symbol=f"layers_{number}", value=group.held_count, unit="1"))
        terms.append(Term(symbol=f"layer_bytes_{number}", value=group.bytes_per_token, unit="byte/token"))
        held = "length"
        if group.window is not None and kv.windows_saved:
            terms.append(Term(symbol=f"window_{number}", value=group.window, unit="token"))
            held = f"min(length, window_{number})"
        parts.append(f"layers_{number} * layer_bytes_{number} * {held}")
    return Derivation(
        figure="kv_bytes_per_token",
        formula=f"ceil(({' + '.join(parts)}) / length)",
        terms=tuple(terms),
        value=kv.bytes_per_token(length),
        unit="byte/token",
    )
