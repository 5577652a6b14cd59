"""What equal layers keep of a sequence on one rank: entries of a cache, windows, states; by kind of mixer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from planner.sizing.architecture import (
    Absent,
    Architecture,
    Compressed,
    GatedDelta,
    Grouped,
    Indexer,
    Kda,
    Latent,
    LayerGroup,
    Mamba,
    Mamba2,
)
from planner.sizing.mixers import OVERLAPPED_RATIO
from planner.sizing.runtime import Runtime

HALF_BYTES = 2
WHOLE_BYTES = 4
STATE_FLOPS = 6.0
"""Products and sums a token costs for each value of a state: decay, update and query, two each."""
ROPE_DIM_COMPRESSED = 64
"""Rotary part of a compressed entry, kept at 16 bits (DeepSeek V4 config: qk_rope_head_dim)."""
LATENT_SCALE_GROUP = 128
"""Values that share one FP32 scale in an 8-bit latent entry for sparse attention (FlashMLA: 656 bytes)."""
COMPRESSED_SCALE_BYTES = 8
"""Seven scales of 64 values each and padding in an 8-bit compressed entry (vLLM, DeepSeek V4: 584 bytes)."""
INDEX_SCALE_BYTES = 4
FP32_STATES = ("qwen3_5", "qwen3_5_moe", "nemotron_h", "kimi_linear")
"""Families whose configs ask for FP32 states (``mamba_ssm_dtype``); vLLM keeps others in the model's format."""


@dataclass(frozen=True, slots=True)
class KvLayers:
    """Equal layers of the cache on one rank."""

    count: int
    bytes_per_token: float
    """Of one layer, for each entry of its cache."""
    window: int | None
    held_count: int
    """Layers that the runtime makes room for: more than ``count`` where it shares pages between kinds of
    layers."""
    flops_per_position: float
    """Products of one query token with one cached position in one layer on one rank (decode)."""
    prefill_flops_per_position: float
    stride: int = 1
    """Tokens that become one entry."""
    selected: int | None = None
    """Most entries a query looks at, of all that are kept."""
    chunk: int | None = None
    """Attention within chunks of this many tokens."""
    encoder_tokens: int = 0
    """Entries are those of an encoder's output, whatever the length."""
    state_bytes: float = 0.0
    """Of one layer and sequence, whatever its length; read and written with every token."""
    state_flops: float = 0.0
    """Of one token in one layer."""

    @property
    def by_token(self) -> bool:
        """Whether the cache of these layers grows with the sequence."""
        return not self.state_bytes and not self.encoder_tokens

    def positions(self, length: float) -> float:
        """Entries that the last token of this many looks at."""
        if self.encoder_tokens:
            return float(self.encoder_tokens)
        for limit in (self.window, self.chunk):
            if limit:
                length = min(length, limit)
        seen = length / self.stride
        return min(seen, self.selected) if self.selected else seen

    def pairs(self, tokens: float) -> float:
        """Pairs of a token of a prompt and an entry it looks at: s²/2, or w·s − w²/2 within a window.

        Within chunks of c: c·s/2 for the whole chunks and r²/2 for the rest.
        """
        if self.encoder_tokens:
            return tokens * self.encoder_tokens
        if self.chunk:
            whole, rest = divmod(tokens, self.chunk)
            return whole * self.chunk * self.chunk / 2 + rest * rest / 2
        limit = self.window or (self.selected * self.stride if self.selected else None)
        if limit is None or tokens <= limit:
            return tokens * tokens / 2 / self.stride
        return (limit * tokens - limit * limit / 2) / self.stride


def layers_of(
    arch: Architecture, group: LayerGroup, width: float, tp: int, count: int, held: int, runtime: Runtime
) -> Iterator[KvLayers]:
    """What one group of equal layers keeps; ``width`` are the bytes of a cached value.

    MHA/GQA/MQA: KV heads on the rank × (head_dim + value_head_dim) × width an entry. MLA: (kv_rank + rope_dim)
    × width on every rank. Indexers keep one 8-bit key a token on every rank. States: ``recurrent``.
    """
    mixer = group.attention
    if isinstance(mixer, Grouped):
        yield _grouped(mixer, width, tp, count, held, runtime)
        if mixer.indexer is not None:
            yield _index(mixer.indexer, count, held, 1)
    elif isinstance(mixer, Latent):
        yield _latent(mixer, width, tp, count, held)
        if mixer.indexer is not None:
            yield _index(mixer.indexer, count, held, 1)
    elif isinstance(mixer, Compressed):
        yield from _compressed(mixer, width, tp, count, held)
    elif not isinstance(mixer, Absent):
        yield _state(mixer, arch.family, tp, count, held, runtime)
    if group.cross is not None:
        yield _grouped(group.cross, width, tp, count, held, runtime)


def _grouped(a: Grouped, width: float, tp: int, count: int, held: int, runtime: Runtime) -> KvLayers:
    heads = max(1, ceil(a.kv_heads / tp))
    flops = 2.0 * ceil(a.heads / tp) * (a.head_dim + a.values_dim)
    frees_chunks = a.chunk is not None and runtime.frees_windows and runtime.frees_chunks
    return KvLayers(
        count,
        heads * (a.head_dim + a.values_dim) * width,
        a.chunk if frees_chunks else a.window,
        held,
        flops,
        flops,
        selected=a.selected,
        chunk=a.chunk,
        encoder_tokens=a.encoder_tokens if a.cross else 0,
    )


def _latent(a: Latent, width: float, tp: int, count: int, held: int) -> KvLayers:
    heads = ceil(a.heads / tp)
    entry = (a.kv_rank + a.rope_dim) * width
    if a.selected is not None and width == 1:
        # Sparse kernels keep the rotary part at 16 bits and scales beside the rest.
        entry = a.kv_rank + HALF_BYTES * a.rope_dim + WHOLE_BYTES * a.kv_rank / LATENT_SCALE_GROUP
    return KvLayers(
        count, entry, None, held,
        2.0 * heads * (2 * a.kv_rank + a.rope_dim),
        2.0 * heads * (a.nope_dim + a.rope_dim + a.value_dim),
        selected=a.selected,
    )  # fmt: skip


def _index(one: Indexer, count: int, held: int, stride: int) -> KvLayers:
    flops = 2.0 * one.heads * one.dim
    return KvLayers(count, one.dim + INDEX_SCALE_BYTES, None, held, flops, flops, stride=stride)


def _compressed(a: Compressed, width: float, tp: int, count: int, held: int) -> Iterator[KvLayers]:
    """A window, the entries that ``ratio`` tokens became, and what the compressor has not finished."""
    flops = 4.0 * ceil(a.heads / tp) * a.head_dim
    entry = a.head_dim * width
    if width == 1:
        entry = a.head_dim + ROPE_DIM_COMPRESSED + COMPRESSED_SCALE_BYTES
    yield KvLayers(count, entry, a.window, held, flops, flops)
    if not a.ratio:
        return
    yield KvLayers(count, entry, None, held, flops, flops, stride=a.ratio, selected=a.selected)
    twice = 2 if a.ratio == OVERLAPPED_RATIO else 1
    dims = a.head_dim
    if a.indexer is not None:
        yield _index(a.indexer, count, held, a.ratio)
        dims += a.indexer.dim
    # Values and weights of every token that is not compressed yet, in FP32.
    yield KvLayers(count, 2 * twice * dims * WHOLE_BYTES, twice * a.ratio, held, 0.0, 0.0)


def _state(
    a: Mamba | Mamba2 | GatedDelta | Kda, family: str, tp: int, count: int, held: int, runtime: Runtime
) -> KvLayers:
    conv, matrix = a.state_values(tp)
    conv_bytes, matrix_bytes = HALF_BYTES, WHOLE_BYTES
    if runtime.name in ("llama_cpp", "ollama"):
        conv_bytes = WHOLE_BYTES
    elif runtime.name == "vllm" and family not in FP32_STATES:
        matrix_bytes = HALF_BYTES
    size = conv * conv_bytes + matrix * matrix_bytes
    return KvLayers(
        count, 0.0, None, held, 0.0, 0.0, state_bytes=float(size), state_flops=STATE_FLOPS * matrix
    )  # fmt: skip
