"""What a language model consists of, tensor by tensor.

An architecture is groups of equal layers. ``tensors`` lists every matrix and vector with its shape, so that
parameters, bytes, shares of a rank and products all come from one list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field

from planner.sizing.formats import Group
from planner.sizing.quantities import Frozen

Count = Annotated[int, Field(ge=1)]
CountOrNone = Annotated[int, Field(ge=0)]


class ModelError(Exception):
    """A model that cannot be sized: a code and its data; the wording is somebody else's."""

    code = "model"

    def __init__(self, message: str, **params: object) -> None:
        self.params = params
        super().__init__(message)


class NotSized(ModelError):
    """The model is known, but its attention kind is not covered yet."""

    code = "not_sized"

    def __init__(self, model: str, kind: str) -> None:
        super().__init__(f"{model}: attention kind not sized yet: {kind}", model=model, kind=kind)


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
    output_bias: bool = False
    qk_norm: Literal["none", "head", "full"] = "none"
    """Normalised queries and keys: weights of one head, or of all heads together."""
    sinks: bool = False
    """One learned logit a head."""
    shared_key_value: bool = False
    """Values are the keys: no value matrix (the cache still holds both)."""

    @property
    def values_dim(self) -> int:
        return self.value_head_dim or self.head_dim


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


class Dense(Frozen):
    kind: Literal["dense"] = "dense"
    intermediate: Count
    gated: bool = True
    bias: bool = False


class Moe(Frozen):
    """Routed experts, of which each token takes some, and shared ones that every token takes."""

    kind: Literal["moe"] = "moe"
    experts: Count
    experts_per_token: Count
    intermediate: Count
    gated: bool = True
    bias: bool = False
    shared_intermediate: CountOrNone = 0
    """Width of all shared experts together."""
    shared_gate: bool = False
    router_bias: bool = False
    router_scales: CountOrNone = 0
    """Further values of the router, beside one weight for each hidden unit and expert."""
    dense: Dense | None = None
    """A dense MLP beside the experts in the same layer."""


class LayerGroup(Frozen):
    """Equal layers: ``norms`` vectors of hidden size each (twice where they have a bias)."""

    count: Count
    attention: Grouped | Latent
    mlp: Dense | Moe
    norms: CountOrNone = 2


class Tower(Frozen):
    """An encoder beside the language model: always at 16 bits, whole on every rank."""

    name: str
    parameters: Count
    source: str


class Architecture(Frozen):
    id: str
    family: str
    hidden: Count
    vocab: Count
    tied: bool
    layers: Annotated[tuple[LayerGroup, ...], Field(min_length=1)]
    norm_bias: bool = False
    final_norms: CountOrNone = 1
    head_bias: bool = False
    learned_positions: CountOrNone = 0
    towers: tuple[Tower, ...] = ()
    max_position: Count | None = None
    stored_format: str = "bf16"
    stored_kv_format: str | None = None
    stored_kept: tuple[Group, ...] = ()
    """Groups that the checkpoint in its stored format leaves at 16 bits, beyond what the format always does."""
    stored_linear_bits: float | None = None
    """Bits a weight of its stored format, where its groups are not of the usual size."""
    attention_kind: str = ""
    parameters_published: int | None = None
    parameters_published_kind: str | None = None
    source: str

    def __hash__(self) -> int:
        return hash((self.id, self.hidden, self.vocab, self.source))

    @property
    def layer_count(self) -> int:
        return sum(group.count for group in self.layers)

    @property
    def has_experts(self) -> bool:
        return any(group.mlp.kind == "moe" for group in self.layers)

    @property
    def heads(self) -> int:
        return max(group.attention.heads for group in self.layers)


Split = Literal["shard", "kv", "copy", "expert", "vocab"]
Read = Literal["always", "lookup", "routed", "never"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """``count`` equal matrices of ``rows`` outputs and ``columns`` inputs (1 for vectors)."""

    role: str
    group: Group
    count: int
    rows: int
    columns: int
    split: Split
    read: Read
    kv_heads: int = 1
    latent: bool = False
    layer: bool = True
    query_heads: int = 1
    gates: int = 1
    """Matrices of the same width that are stacked in ``rows``."""

    @property
    def parameters(self) -> int:
        return self.count * self.rows * self.columns


def _attention(group: LayerGroup, hidden: int) -> Iterator[Tensor]:
    n = group.count
    a = group.attention
    if isinstance(a, Latent):
        query = a.heads * (a.nope_dim + a.rope_dim)
        if a.query_rank is None:
            yield Tensor("q", "attention", n, query, hidden, "shard", "always", latent=True)
        else:
            yield Tensor("q_a", "attention", n, a.query_rank, hidden, "copy", "always", latent=True)
            yield Tensor("q_norm", "norm", n, a.query_rank, 1, "copy", "always")
            yield Tensor("q_b", "attention", n, query, a.query_rank, "shard", "always", latent=True)
        yield Tensor("kv_a", "attention", n, a.kv_rank + a.rope_dim, hidden, "copy", "always", latent=True)
        yield Tensor("kv_norm", "norm", n, a.kv_rank, 1, "copy", "always")
        yield Tensor("kv_b", "attention", n, a.heads * (a.nope_dim + a.value_dim), a.kv_rank, "shard",
            "always",
                     latent=True)  # fmt: skip
        yield Tensor("o", "attention", n, hidden, a.heads * a.value_dim, "shard", "always", latent=True)
        return
    query, keys, values = a.heads * a.head_dim, a.kv_heads * a.head_dim, a.kv_heads * a.values_dim
    kv, heads = a.kv_heads, a.heads
    yield Tensor("q", "attention", n, query, hidden, "shard", "always", kv_heads=kv, query_heads=heads)
    yield Tensor("k", "attention", n, keys, hidden, "kv", "always", kv_heads=kv, query_heads=heads)
    if not a.shared_key_value:
        yield Tensor("v", "attention", n, values, hidden, "kv", "always", kv_heads=kv, query_heads=heads)
    yield Tensor(
        "o", "attention", n, hidden, a.heads * a.values_dim, "shard", "always", kv_heads=kv, query_heads=heads
    )
    if a.qkv_bias:
        yield Tensor("q_bias", "attention", n, query, 1, "shard", "always")
        yield Tensor("kv_bias", "attention", n, keys + values, 1, "kv", "always", kv_heads=a.kv_heads)
    if a.output_bias:
        yield Tensor("o_bias", "attention", n, hidden, 1, "copy", "always")
    if a.qk_norm == "head":
        yield Tensor("qk_norm", "norm", n, 2 * a.head_dim, 1, "copy", "always")
    elif a.qk_norm == "full":
        yield Tensor("qk_norm", "norm", n, query + keys, 1, "copy", "always")
    if a.sinks:
        yield Tensor("sinks", "norm", n, a.heads, 1, "shard", "always")


def _dense(mlp: Dense, count: int, hidden: int, role: str = "") -> Iterator[Tensor]:
    up = 2 if mlp.gated else 1
    yield Tensor("up", "mlp", count, up * mlp.intermediate, hidden, "shard", "always")
    yield Tensor("down", "mlp", count, hidden, mlp.intermediate, "shard", "always")
    if mlp.bias:
        yield Tensor("mlp_bias", "mlp", count, up * mlp.intermediate + hidden, 1, "shard", "always")


def _experts(mlp: Moe, count: int, hidden: int) -> Iterator[Tensor]:
    n = count * mlp.experts
    up = 2 if mlp.gated else 1
    yield Tensor("router", "router", count, mlp.experts, hidden, "copy", "always")
    if mlp.router_bias:
        yield Tensor("router_bias", "router", count, mlp.experts, 1, "copy", "always")
    if mlp.router_scales:
        yield Tensor("router_scales", "router", count, mlp.router_scales, 1, "copy", "always")
    yield Tensor("up", "expert", n, up * mlp.intermediate, hidden, "expert", "routed", gates=up)
    yield Tensor("down", "expert", n, hidden, mlp.intermediate, "expert", "routed")
    if mlp.bias:
        yield Tensor("expert_bias", "expert", n, up * mlp.intermediate + hidden, 1, "expert", "routed")
    if mlp.shared_intermediate:
        yield from _dense(Dense(intermediate=mlp.shared_intermediate, gated=mlp.gated), count, hidden)
        if mlp.shared_gate:
            yield Tensor("shared_gate", "router", count, 1, hidden, "copy", "always")
    if mlp.dense is not None:
        yield from _dense(mlp.dense, count, hidden)


@lru_cache(maxsize=512)
def tensors(arch: Architecture) -> tuple[Tensor, ...]:
    """Every tensor of the model. A tied head is the embedding itself and is listed once."""
    hidden = arch.hidden
    sides = 2 if arch.norm_bias else 1
    found: list[Tensor] = [
        Tensor("embedding", "embedding", 1, arch.vocab, hidden, "vocab", "always" if arch.tied else "lookup",
               layer=False)
    ]  # fmt: skip
    if arch.learned_positions:
        found.append(
            Tensor("positions", "embedding", 1, arch.learned_positions, hidden, "copy", "lookup", layer=False)
        )
    for group in arch.layers:
        found.extend(_attention(group, hidden))
        if isinstance(group.mlp, Moe):
            found.extend(_experts(group.mlp, group.count, hidden))
        else:
            found.extend(_dense(group.mlp, group.count, hidden))
        if group.norms:
            found.append(
                Tensor("norm", "norm", group.count * group.norms * sides, hidden, 1, "copy", "always")
            )
    if arch.final_norms:
        found.append(
            Tensor("final_norm", "norm", arch.final_norms * sides, hidden, 1, "copy", "always", layer=False)
        )
    if not arch.tied:
        found.append(Tensor("head", "head", 1, arch.vocab, hidden, "vocab", "always", layer=False))
    if arch.head_bias:
        found.append(Tensor("head_bias", "norm", 1, arch.vocab, 1, "vocab", "always", layer=False))
    for tower in arch.towers:
        found.append(Tensor(tower.name, "tower", 1, tower.parameters, 1, "copy", "never", layer=False))
    return tuple(found)


def parameter_count(arch: Architecture) -> int:
    """All parameters of the model, towers included: the sum of rows × columns over every tensor."""
    return sum(tensor.parameters for tensor in tensors(arch))


def active_parameter_count(arch: Architecture) -> int:
    """Parameters that one token passes through: all but unchosen experts, the looked-up embedding and towers.

    A tied embedding counts once, as the head.
    """
    total = 0.0
    for tensor in tensors(arch):
        if tensor.read == "always":
            total += tensor.parameters
    for group in arch.layers:
        if isinstance(group.mlp, Moe):
            one = group.mlp.intermediate * arch.hidden * (3 if group.mlp.gated else 2)
            total += group.count * group.mlp.experts_per_token * one
    return int(total)
