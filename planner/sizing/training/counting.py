"""Parameters of one GPU by what becomes of them: trained, frozen, in an expert or not, and the adapters' own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from planner.sizing.architecture import Architecture, Moe, tensors
from planner.sizing.tensors import Tensor
from planner.sizing.training.job import Job, Split, Targets

ATTENTION_Q_V = frozenset({"q", "q_b", "v", "kv_b"})
VECTOR_COLUMNS = 1


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters on the fullest GPU before data-parallel ranks share them, and of the whole model."""

    dense: float
    """Of tensors that every token passes, this rank's share under tp and pp."""
    experts: float
    """Of routed experts, this rank's share under ep (or tp) and pp."""
    embedding: float
    """Of them in embedding and head (part of ``dense``)."""
    vectors: float
    """Of them in norms, biases and routers (part of ``dense``): what a quantisation leaves alone."""
    adapters: float
    """Adapter parameters, this rank's share."""
    largest_layer: float
    """Of the largest layer, whole on one tensor-parallel rank: what ZeRO-3 gathers at a time."""
    largest_matrix: float
    """Of the largest matrix of a layer."""
    total: int
    total_adapters: int


def targeted(tensor: Tensor, targets: Targets) -> bool:
    """Whether an adapter stands on this matrix. Routed experts get none: libraries keep them in one stacked tensor,
    which is no linear layer."""
    if tensor.columns == VECTOR_COLUMNS or tensor.group == "expert":
        return False
    if tensor.group == "attention":
        return targets != "q_v" or tensor.role in ATTENTION_Q_V
    if tensor.group == "mlp":
        return targets in ("all_linear", "all_linear_head")
    return tensor.group == "head" and targets == "all_linear_head"


def share(tensor: Tensor, split: Split) -> float:
    """The fraction of this tensor that one rank holds under tp, ep and pp, before ZeRO."""
    layers = 1.0 / split.pp if tensor.layer else 1.0
    if tensor.split == "expert":
        return layers / (split.ep if split.ep > 1 else split.tp)
    if tensor.split == "copy":
        return layers
    if tensor.split == "kv":
        return layers / min(split.tp, max(1, tensor.kv_heads))
    return layers / split.tp


def stacked(arch: Architecture, tensor: Tensor) -> int:
    """Matrices that a checkpoint stacks in this one and adapters tell apart: gate and up."""
    if tensor.gates > 1 or tensor.role != "up":
        return tensor.gates
    return 2 if any(getattr(group.mlp, "gated", False) for group in arch.layers) else 1


def adapter_parameters(arch: Architecture, rank: int, targets: Targets) -> int:
    """Parameters of adapters of this rank on every target: rank × (inputs + outputs) of each matrix.

    Matrices that a checkpoint stacks (gate and up) have an adapter each.
    """
    found = 0
    for tensor in tensors(arch):
        if targeted(tensor, targets):
            found += tensor.count * rank * (stacked(arch, tensor) * tensor.columns + tensor.rows)
    return found


ADAPTED_ACCESSES = 2.0
"""Accesses to an adapted product's output beyond the product's own: read and written again for the sum."""


@lru_cache(maxsize=1024)
def adapter_values(arch: Architecture, targets: Targets) -> float:
    """Values a token that adapters read and write beside the products they stand on, one pass, all layers."""
    found = 0.0
    for tensor in tensors(arch):
        if targeted(tensor, targets):
            found += tensor.count * (stacked(arch, tensor) * tensor.columns + ADAPTED_ACCESSES * tensor.rows)
    return found


@lru_cache(maxsize=2048)
def _layers(arch: Architecture) -> tuple[float, float]:
    """Parameters of the largest layer without its experts, and of its experts."""
    plain, routed = 0.0, 0.0
    for group in arch.layers:
        own = [item for item in tensors(arch.model_copy(update={"layers": (group,)})) if item.layer]
        dense = sum(item.parameters for item in own if item.split != "expert") / group.count
        moe = sum(item.parameters for item in own if item.split == "expert") / group.count
        if dense + moe > plain + routed:
            plain, routed = dense, moe
    return plain, routed


@lru_cache(maxsize=4096)
def _held(arch: Architecture, split: Split) -> tuple[float, float, float, float, float]:
    dense = experts = embedding = vectors = matrix = 0.0
    for tensor in tensors(arch):
        held = tensor.parameters * share(tensor, split)
        if tensor.split == "expert":
            experts += held
        else:
            dense += held
            if tensor.group in ("embedding", "head"):
                embedding += held
            elif tensor.columns == VECTOR_COLUMNS or tensor.group in ("norm", "router"):
                vectors += held
        if tensor.layer:
            matrix = max(matrix, held / (tensor.count / split.pp))
    return dense, experts, embedding, vectors, matrix


def parameters(job: Job) -> Parameters:
    """Counts for the fullest GPU of a job. Embedding and head are counted on one rank of a pipeline of one or
    two stages, and half of them on each end of a longer one."""
    split = job.split
    dense, experts, embedding, vectors, matrix = _held(job.arch, split)
    if split.pp > 1:
        # The first stage holds the embedding, the last one the head.
        ends = embedding if job.arch.tied else embedding / 2
        dense, embedding = dense - embedding + ends, ends
    plain, routed = _layers(job.arch)
    if job.method == "full":
        adapters = 0
    elif job.trainable_parameters is not None:
        adapters = job.trainable_parameters
    else:
        adapters = adapter_parameters(job.arch, job.rank, job.targets)
    whole = sum(tensor.parameters for tensor in tensors(job.arch))
    return Parameters(
        dense=dense,
        experts=experts,
        embedding=embedding,
        vectors=vectors,
        adapters=adapters / (split.tp * split.pp),
        largest_layer=plain / split.tp + routed / (split.ep if split.ep > 1 else split.tp),
        largest_matrix=matrix,
        total=whole,
        total_adapters=adapters,
    )


@dataclass(frozen=True, slots=True)
class Widths:
    """Sums over all layers, in units of values per token: what activations and attention are made of."""

    layers: int
    hidden: int
    queries: float
    """Query (= attention output) values of all layers."""
    keys_values: float
    mlp: float
    """Intermediate values of all layers that one token passes, gates and what they gate counted apart."""
    mlp_inner: float
    """What goes into the down matrices, all layers."""
    routed_copies: float
    """Copies of the hidden state that routing makes, in hidden states, all layers."""
    heads: float
    """Query heads of all layers."""
    attended: tuple[tuple[float, float], ...]
    """Query values × layers by window (0 = whole sequence): what attention's products are made of."""


@lru_cache(maxsize=1024)
def widths(arch: Architecture) -> Widths:
    """The widths of an architecture's layers. Layers without attention over tokens count their inner width as
    queries and attend to nothing."""
    queries = keys = mlp = inner = copies = heads = 0.0
    attended: dict[float, float] = {}
    for group in arch.layers:
        mixer, n = group.attention, group.count
        made = [item for item in mixer.tensors(1, arch.hidden) if item.columns > VECTOR_COLUMNS]
        q = sum(item.rows for item in made if item.role in ("q", "q_b"))
        kv = sum(item.rows for item in made if item.role in ("k", "v", "kv_b", "kv"))
        if q == 0 and made:
            q, kv = sum(item.rows for item in made) // 2, 0
        else:
            window = float(getattr(mixer, "window", None) or getattr(mixer, "chunk", None) or 0)
            if made:
                attended[window] = attended.get(window, 0.0) + n * q
        queries += n * q
        keys += n * kv
        heads += n * mixer.heads
        block = group.mlp
        if isinstance(block, Moe):
            width = block.experts_per_token * block.intermediate + block.shared_intermediate
            width += block.dense.intermediate if block.dense else 0
            mlp += n * width * (2 if block.gated else 1)
            inner += n * width
            copies += n * block.experts_per_token * block.expert_width(arch.hidden) / arch.hidden
        elif block.kind == "dense":
            mlp += n * block.intermediate * (2 if block.gated else 1)
            inner += n * block.intermediate
    return Widths(
        layers=arch.layer_count, hidden=arch.hidden, queries=queries, keys_values=keys, mlp=mlp, mlp_inner=inner,
        routed_copies=copies, heads=heads, attended=tuple(sorted(attended.items())),
    )  # fmt: skip
