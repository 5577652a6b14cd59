"""Layers that keep a state of fixed size instead of a cache: Mamba, Mamba-2, gated delta nets, KDA."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Literal

from planner.sizing.quantities import Frozen
from planner.sizing.tensors import Count, Tensor


def _vector(role: str, n: int, rows: int) -> Tensor:
    return Tensor(role, "norm", n, rows, 1, "shard", "always")


def _matrix(role: str, n: int, rows: int, columns: int, *, shared: bool = False) -> Tensor:
    return Tensor(role, "attention", n, rows, columns, "copy" if shared else "shard", "always")


class Mamba(Frozen):
    """Selective state space of the first kind: ``inner`` channels with ``state`` values each."""

    kind: Literal["mamba"] = "mamba"
    inner: Count
    state: Count
    step_rank: Count
    kernel: Count = 4
    conv_bias: bool = True
    proj_bias: bool = False
    normed: bool = False
    """Norms on step, input and output matrices (Jamba)."""
    heads: Literal[1] = 1
    window: None = None

    def state_values(self, tp: int) -> tuple[int, int]:
        """Values a sequence keeps in one layer on one rank: of the convolution, and of the state."""
        inner = ceil(self.inner / tp)
        return (self.kernel - 1) * inner, inner * self.state

    def tensors(self, n: int, hidden: int) -> Iterator[Tensor]:
        low = self.step_rank + 2 * self.state
        yield _matrix("in", n, 2 * self.inner, hidden)
        yield _vector("conv", n, self.inner * (self.kernel + self.conv_bias))
        yield _matrix("x", n, low, self.inner)
        yield _matrix("step", n, self.inner, self.step_rank)
        yield _vector("step_bias", n, self.inner)
        yield _vector("decay", n, self.inner * self.state)
        yield _vector("skip", n, self.inner)
        yield _matrix("out", n, hidden, self.inner)
        if self.normed:
            yield _vector("state_norms", n, low)
        if self.proj_bias:
            yield _vector("proj_bias", n, 2 * self.inner + hidden)


class Mamba2(Frozen):
    """Selective state space of the second kind: heads that share inputs and outputs by group."""

    kind: Literal["mamba2"] = "mamba2"
    heads: Count
    head_dim: Count
    groups: Count
    state: Count
    kernel: Count = 4
    conv_bias: bool = True
    proj_bias: bool = False
    window: None = None

    def state_values(self, tp: int) -> tuple[int, int]:
        """Values a sequence keeps in one layer on one rank; every rank has at least one group."""
        inner = ceil(self.heads / tp) * self.head_dim
        channels = inner + 2 * ceil(self.groups / tp) * self.state
        return (self.kernel - 1) * channels, inner * self.state

    def tensors(self, n: int, hidden: int) -> Iterator[Tensor]:
        inner = self.heads * self.head_dim
        channels = inner + 2 * self.groups * self.state
        yield _matrix("in", n, inner + channels + self.heads, hidden)
        yield _vector("conv", n, channels * (self.kernel + self.conv_bias))
        yield _vector("decay_skip_step", n, 3 * self.heads)
        yield _vector("gated_norm", n, inner)
        yield _matrix("out", n, hidden, inner)
        if self.proj_bias:
            yield _vector("proj_bias", n, inner + channels + self.heads + hidden)


class GatedDelta(Frozen):
    """Gated delta net (GDN): linear attention whose state is one matrix a value head."""

    kind: Literal["gated_delta"] = "gated_delta"
    key_heads: Count
    heads: Count
    """Value heads."""
    key_dim: Count
    value_dim: Count
    kernel: Count = 4
    window: None = None

    def state_values(self, tp: int) -> tuple[int, int]:
        """Values a sequence keeps in one layer on one rank: of the convolution, and a matrix a value head."""
        heads = ceil(self.heads / tp)
        channels = 2 * ceil(self.key_heads / tp) * self.key_dim + heads * self.value_dim
        return (self.kernel - 1) * channels, heads * self.key_dim * self.value_dim

    def tensors(self, n: int, hidden: int) -> Iterator[Tensor]:
        keys, values = self.key_heads * self.key_dim, self.heads * self.value_dim
        yield _matrix("qkvz", n, 2 * keys + 2 * values, hidden)
        yield _matrix("decay_beta", n, 2 * self.heads, hidden)
        yield _vector("conv", n, (2 * keys + values) * self.kernel)
        yield _vector("decay_step", n, 2 * self.heads)
        yield _vector("gated_norm", n, self.value_dim)
        yield _matrix("out", n, hidden, values)


class Kda(Frozen):
    """Kimi delta attention: a delta net with a decay for each channel, made through a low rank."""

    kind: Literal["kda"] = "kda"
    heads: Count
    head_dim: Count
    kernel: Count = 4
    full_rank_gate: bool = False
    """The output's gate is one matrix; else it too goes through ``head_dim``."""
    window: None = None

    def state_values(self, tp: int) -> tuple[int, int]:
        """Values a sequence keeps in one layer on one rank: of three convolutions, and a matrix a head."""
        heads = ceil(self.heads / tp)
        return 3 * (self.kernel - 1) * heads * self.head_dim, heads * self.head_dim * self.head_dim

    def tensors(self, n: int, hidden: int) -> Iterator[Tensor]:
        width = self.heads * self.head_dim
        yield _matrix("qkv", n, 3 * width, hidden)
        yield _vector("conv", n, 3 * width * self.kernel)
        yield _matrix("decay_a", n, self.head_dim, hidden, shared=True)
        yield _matrix("decay_b", n, width, self.head_dim)
        yield _vector("decay_step", n, self.heads + width)
        yield _matrix("beta", n, self.heads, hidden)
        if self.full_rank_gate:
            yield _matrix("gate", n, width, hidden)
        else:
            yield _matrix("gate_a", n, self.head_dim, hidden, shared=True)
            yield _matrix("gate_b", n, width, self.head_dim)
        yield _vector("gated_norm", n, self.head_dim)
        yield _matrix("out", n, hidden, width)
