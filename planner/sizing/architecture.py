"""What a language model consists of, tensor by tensor.

An architecture is groups of equal layers. ``tensors`` lists every matrix and vector with its shape, so that
parameters, bytes, shares of a rank and products all come from one list.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field

from planner.sizing.formats import Group
from planner.sizing.mixers import Absent, Compressed, Grouped, Indexer, Latent
from planner.sizing.quantities import Frozen
from planner.sizing.recurrent import GatedDelta, Kda, Mamba, Mamba2
from planner.sizing.tensors import Count, CountOrNone, Read, Split, Tensor

__all__ = [
    "Absent",
    "Architecture",
    "Assumed",
    "Compressed",
    "Count",
    "CountOrNone",
    "Dense",
    "GatedDelta",
    "Grouped",
    "Indexer",
    "Kda",
    "Latent",
    "LayerGroup",
    "Mamba",
    "Mamba2",
    "Mixer",
    "Moe",
    "NotSized",
    "Part",
    "Tensor",
    "Tower",
    "active_parameter_count",
    "layer_parameters",
    "parameter_count",
    "tensors",
]

Mixer = Grouped | Latent | Compressed | Mamba | Mamba2 | GatedDelta | Kda | Absent
"""What a layer mixes tokens with."""


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


class Dense(Frozen):
    kind: Literal["dense"] = "dense"
    intermediate: Count
    gated: bool = True
    bias: bool = False
    norm: bool = False
    """A norm before the down matrix (BitNet)."""


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
    latent: Count | None = None
    """Width the experts work at, where the layer projects down to it and up again."""
    latent_norm: bool = False

    def expert_width(self, hidden: int) -> int:
        """What goes into an expert and comes out of it."""
        return self.latent or hidden

    def expert_parameters(self, hidden: int) -> int:
        """Parameters of the matrices of one expert."""
        return self.intermediate * self.expert_width(hidden) * (3 if self.gated else 2)


class LayerGroup(Frozen):
    """Equal layers: ``norms`` vectors of hidden size each (twice where they have a bias)."""

    count: Count
    attention: Mixer
    mlp: Dense | Moe | Absent
    norms: CountOrNone = 2
    cross: Grouped | None = None
    """Attention to an encoder's output, beside that to the tokens."""
    scalars: CountOrNone = 0
    """Single learned numbers (gates of whole branches)."""
    streams: CountOrNone = 0
    """Residual streams that hyper-connections mix around attention and around the MLP."""


class Tower(Frozen):
    """An encoder beside the language model: always at 16 bits, whole on every rank."""

    name: str
    parameters: Count
    source: str


class Part(Frozen):
    """A tensor outside the layers that few models have: token types, a pooler, a norm of embeddings."""

    name: str
    group: Group
    rows: Count
    columns: Count = 1
    read: Read = "always"
    split: Split = "copy"


class Assumed(Frozen):
    """A key that a config does not have, and the value taken instead."""

    key: str
    value: int


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
    parts: tuple[Part, ...] = ()
    draft_parameters: CountOrNone = 0
    """Parameters of draft layers (multi-token prediction) in the checkpoint, which serving does not load by
    itself; not part of ``parameter_count``."""
    not_sized: str | None = None
    """The kind of its layers, where parameters are counted but memory of a sequence and speed are not yet."""
    max_position: Count | None = None
    stored_format: str = "bf16"
    stored_kv_format: str | None = None
    stored_kept: tuple[Group, ...] = ()
    """Groups that the checkpoint in its stored format leaves at 16 bits, beyond what the format always does."""
    stored_linear_bits: float | None = None
    """Bits a weight of its stored format, where its groups are not of the usual size."""
    stored_group_bits: tuple[tuple[Group, float], ...] = ()
    """Bits a weight of groups that the checkpoint stores in a second format (FP8 beside FP4 experts)."""
    attention_kind: str = ""
    parameters_published: int | None = None
    parameters_published_kind: str | None = None
    source: str
    assumed: tuple[Assumed, ...] = ()
    """Of a config that somebody gave: what it does not say and was taken."""
    left_aside: tuple[str, ...] = ()
    """Of a config that somebody gave: keys that may shape the model and were not read."""

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


def _dense(mlp: Dense, count: int, hidden: int, role: str = "") -> Iterator[Tensor]:
    up = 2 if mlp.gated else 1
    yield Tensor("up", "mlp", count, up * mlp.intermediate, hidden, "shard", "always")
    yield Tensor("down", "mlp", count, hidden, mlp.intermediate, "shard", "always")
    if mlp.bias:
        yield Tensor("mlp_bias", "mlp", count, up * mlp.intermediate + hidden, 1, "shard", "always")
    if mlp.norm:
        yield Tensor("mlp_norm", "norm", count, mlp.intermediate, 1, "shard", "always")


def _experts(mlp: Moe, count: int, hidden: int) -> Iterator[Tensor]:
    n = count * mlp.experts
    up = 2 if mlp.gated else 1
    yield Tensor("router", "router", count, mlp.experts, hidden, "copy", "always")
    if mlp.router_bias:
        yield Tensor("router_bias", "router", count, mlp.experts, 1, "copy", "always")
    if mlp.router_scales:
        yield Tensor("router_scales", "router", count, mlp.router_scales, 1, "copy", "always")
    width = mlp.expert_width(hidden)
    yield Tensor("up", "expert", n, up * mlp.intermediate, width, "expert", "routed", gates=up)
    yield Tensor("down", "expert", n, width, mlp.intermediate, "expert", "routed")
    if mlp.latent is not None:
        yield Tensor("latent", "mlp", 2 * count, mlp.latent, hidden, "copy", "always")
        if mlp.latent_norm:
            yield Tensor("latent_norm", "norm", count, mlp.latent, 1, "copy", "always")
    if mlp.bias:
        yield Tensor("expert_bias", "expert", n, up * mlp.intermediate + hidden, 1, "expert", "routed")
    if mlp.shared_intermediate:
        yield from _dense(Dense(intermediate=mlp.shared_intermediate, gated=mlp.gated), count, hidden)
        if mlp.shared_gate:
            yield Tensor("shared_gate", "router", count, 1, hidden, "copy", "always")
    if mlp.dense is not None:
        yield from _dense(mlp.dense, count, hidden)


def _layer(group: LayerGroup, hidden: int, sides: int) -> Iterator[Tensor]:
    n = group.count
    yield from group.attention.tensors(n, hidden)
    if group.cross is not None:
        yield from group.cross.tensors(n, hidden)
    if isinstance(group.mlp, Moe):
        yield from _experts(group.mlp, n, hidden)
    elif isinstance(group.mlp, Dense):
        yield from _dense(group.mlp, n, hidden)
    if group.norms:
        yield Tensor("norm", "norm", n * group.norms * sides, hidden, 1, "copy", "always")
    if group.scalars:
        yield Tensor("scalars", "norm", n, group.scalars, 1, "copy", "always")
    if group.streams:
        mixes = (2 + group.streams) * group.streams
        yield Tensor("mix", "norm", 2 * n, mixes * (group.streams * hidden + 1) + 3, 1, "copy", "always")


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
        found.extend(_layer(group, hidden, sides))
    if arch.final_norms:
        found.append(
            Tensor("final_norm", "norm", arch.final_norms * sides, hidden, 1, "copy", "always", layer=False)
        )
    if not arch.tied:
        found.append(Tensor("head", "head", 1, arch.vocab, hidden, "vocab", "always", layer=False))
    if arch.head_bias:
        found.append(Tensor("head_bias", "norm", 1, arch.vocab, 1, "vocab", "always", layer=False))
    for part in arch.parts:
        found.append(
            Tensor(part.name, part.group, 1, part.rows, part.columns, part.split, part.read, layer=False)
        )
    for tower in arch.towers:
        found.append(Tensor(tower.name, "tower", 1, tower.parameters, 1, "copy", "never", layer=False))
    return tuple(found)


def parameter_count(arch: Architecture) -> int:
    """All parameters of the model, towers included: the sum of rows × columns over every tensor."""
    return sum(tensor.parameters for tensor in tensors(arch))


def layer_parameters(group: LayerGroup, hidden: int, *, norm_bias: bool = False) -> int:
    """Parameters of all layers of one group."""
    return sum(tensor.parameters for tensor in _layer(group, hidden, 2 if norm_bias else 1))


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
            one = group.mlp.expert_parameters(arch.hidden)
            total += group.count * group.mlp.experts_per_token * one
    return int(total)
