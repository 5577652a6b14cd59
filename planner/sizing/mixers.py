"""Attention in its kinds, and the tensors of each: grouped, latent, with an indexer, over a compressed cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from planner.sizing.quantities import Frozen
from planner.sizing.tensors import Count, CountOrNone, Tensor


class Indexer(Frozen):
    """Picks the cached tokens that sparse attention looks at: own queries and keys of few dimensions."""

    heads: Count
    dim: Count
    weighted: bool = True
    """A learned weight for each head, and a norm with a bias; without, plain norms of queries and keys."""

    def tensors(self, count: int, hidden: int, query_inputs: int) -> Iterator[Tensor]:
        yield Tensor("index_q", "attention", count, self.heads * self.dim, query_inputs, "copy", "always")
        yield Tensor("index_k", "attention", count, self.dim, hidden, "copy", "always")
        yield Tensor("index_norm", "norm", count, 2 * self.dim, 1, "copy", "always")
        if self.weighted:
            yield Tensor("index_weights", "attention", count, self.heads, hidden, "copy", "always")


class Grouped(Frozen):
    """Multi-head attention with as many or fewer KV heads (MHA, GQA, MQA), full or within a window."""

    kind: Literal["grouped"] = "grouped"
    heads: Count
    kv_heads: Count
    head_dim: Count
    value_head_dim: Count | None = None
    """Where it differs from ``head_dim``."""
    window: Count | None = None
    """Tokens a query sees; None = all."""
    qkv_bias: bool = False
    key_bias: bool = True
    """Keys have a bias where queries and values have one (Whisper's do not)."""
    output_bias: bool = False
    qk_norm: Literal["none", "head", "full"] = "none"
    """Normalised queries and keys: weights of one head, or of all heads together."""
    sinks: bool = False
    """One learned logit a head."""
    shared_key_value: bool = False
    """Values are the keys: no value matrix (the cache still holds both)."""
    output_gate: Literal["none", "head", "element"] = "none"
    """A learned gate on what attention returns: one value a head, or one for each of its elements."""
    output_norm: bool = False
    """A norm over all heads before the output matrix (BitNet)."""
    cross: bool = False
    """Keys and values come from an encoder's output, not from the tokens."""
    encoder_tokens: CountOrNone = 0
    """Most positions of the encoder's output, where they are attended to."""
    chunk: Count | None = None
    """Tokens attend within chunks of this length."""
    selected: Count | None = None
    """Cached tokens a query looks at, chosen by the indexer."""
    indexer: Indexer | None = None

    @property
    def values_dim(self) -> int:
        return self.value_head_dim or self.head_dim

    def tensors(self, n: int, hidden: int) -> Iterator[Tensor]:
        query, keys, values = (
            self.heads * self.head_dim,
            self.kv_heads * self.head_dim,
            self.kv_heads * self.values_dim,
        )
        kv, heads, out = self.kv_heads, self.heads, self.heads * self.values_dim
        yield Tensor("q", "attention", n, query, hidden, "shard", "always", kv_heads=kv, query_heads=heads)
        yield Tensor("k", "attention", n, keys, hidden, "kv", "always", kv_heads=kv, query_heads=heads)
        if not self.shared_key_value:
            yield Tensor("v", "attention", n, values, hidden, "kv", "always", kv_heads=kv, query_heads=heads)
        yield Tensor("o", "attention", n, hidden, out, "shard", "always", kv_heads=kv, query_heads=heads)
        if self.output_gate != "none":
            rows = heads if self.output_gate == "head" else out
            yield Tensor("gate", "attention", n, rows, hidden, "shard", "always")
        if self.qkv_bias:
            yield Tensor("q_bias", "attention", n, query, 1, "shard", "always")
            biased = keys + values if self.key_bias else values
            yield Tensor("kv_bias", "attention", n, biased, 1, "kv", "always", kv_heads=kv)
        if self.output_bias:
            yield Tensor("o_bias", "attention", n, hidden, 1, "copy", "always")
        if self.qk_norm == "head":
            yield Tensor("qk_norm", "norm", n, 2 * self.head_dim, 1, "copy", "always")
        elif self.qk_norm == "full":
            yield Tensor("qk_norm", "norm", n, query + keys, 1, "copy", "always")
        if self.output_norm:
            yield Tensor("output_norm", "norm", n, out, 1, "shard", "always")
        if self.sinks:
            yield Tensor("sinks", "norm", n, heads, 1, "shard", "always")
        if self.indexer is not None:
            yield from self.indexer.tensors(n, hidden, hidden)


class Latent(Frozen):
    """Multi-head latent attention (MLA): one compressed vector a token is cached instead of keys and
    values."""

    kind: Literal["latent"] = "latent"
    heads: Count
    query_rank: Count | None = None
    kv_rank: Count
    nope_dim: Count
    rope_dim: Count
    value_dim: Count
    window: None = None
    output_gate: bool = False
    indexer: Indexer | None = None
    selected: Count | None = None
    """Cached tokens a query looks at; chosen by this layer's indexer or by another's."""

    def tensors(self, n: int, hidden: int) -> Iterator[Tensor]:
        query = self.heads * (self.nope_dim + self.rope_dim)
        if self.query_rank is None:
            yield Tensor("q", "attention", n, query, hidden, "shard", "always", latent=True)
        else:
            yield Tensor("q_a", "attention", n, self.query_rank, hidden, "copy", "always", latent=True)
            yield Tensor("q_norm", "norm", n, self.query_rank, 1, "copy", "always")
            yield Tensor("q_b", "attention", n, query, self.query_rank, "shard", "always", latent=True)
        down = self.kv_rank + self.rope_dim
        up = self.heads * (self.nope_dim + self.value_dim)
        out = self.heads * self.value_dim
        yield Tensor("kv_a", "attention", n, down, hidden, "copy", "always", latent=True)
        yield Tensor("kv_norm", "norm", n, self.kv_rank, 1, "copy", "always")
        yield Tensor("kv_b", "attention", n, up, self.kv_rank, "shard", "always", latent=True)
        yield Tensor("o", "attention", n, hidden, out, "shard", "always", latent=True)
        if self.output_gate:
            yield Tensor("gate", "attention", n, out, hidden, "shard", "always", latent=True)
        if self.indexer is not None:
            yield from self.indexer.tensors(n, hidden, self.query_rank or hidden)


OVERLAPPED_RATIO = 4
"""DeepSeek V4 compresses by this ratio with overlapping windows (twice the width) and indexes what it made."""


class Compressed(Frozen):
    """Attention over a window and over a cache in which ``ratio`` tokens become one (DeepSeek V4)."""

    kind: Literal["compressed"] = "compressed"
    heads: Count
    head_dim: Count
    query_rank: Count
    output_groups: Count
    output_rank: Count
    window: Count | None = None
    ratio: int = 0
    """0: no compressed cache in this layer."""
    selected: Count | None = None
    """Compressed entries a query looks at, chosen by the indexer."""
    indexer: Indexer | None = None

    def tensors(self, n: int, hidden: int) -> Iterator[Tensor]:
        query = self.heads * self.head_dim
        low = self.output_groups * self.output_rank
        yield Tensor("q_a", "attention", n, self.query_rank, hidden, "copy", "always")
        yield Tensor("q_norm", "norm", n, self.query_rank, 1, "copy", "always")
        yield Tensor("q_b", "attention", n, query, self.query_rank, "shard", "always")
        yield Tensor("kv", "attention", n, self.head_dim, hidden, "copy", "always")
        yield Tensor("kv_norm", "norm", n, self.head_dim, 1, "copy", "always")
        yield Tensor("o_a", "attention", n, low, query // self.output_groups, "shard", "always")
        yield Tensor("o_b", "attention", n, hidden, low, "shard", "always")
        yield Tensor("sinks", "norm", n, self.heads, 1, "shard", "always")
        if self.ratio:
            yield from _compressor(n, hidden, self.head_dim, self.ratio)
        if self.indexer is not None:
            one = self.indexer
            yield Tensor("index_q", "attention", n, one.heads * one.dim, self.query_rank, "copy", "always")
            yield Tensor("index_weights", "attention", n, one.heads, hidden, "copy", "always")
            yield from _compressor(n, hidden, one.dim, self.ratio)


def _compressor(n: int, hidden: int, dim: int, ratio: int) -> Iterator[Tensor]:
    wide = dim * (2 if ratio == OVERLAPPED_RATIO else 1)
    yield Tensor("compress", "attention", n, 2 * wide, hidden, "copy", "always")
    yield Tensor("compress_positions", "norm", n, ratio * wide, 1, "copy", "always")
    yield Tensor("compress_norm", "norm", n, dim, 1, "copy", "always")


class Absent(Frozen):
    """No attention, or no MLP, in this layer."""

    kind: Literal["absent"] = "absent"
    heads: Literal[0] = 0
    window: None = None

    def tensors(self, n: int, hidden: int) -> Iterator[Tensor]:
        yield from ()
