"""The time of one engine step: decode and prefill of a replica, for many replicas at once.

Every function takes a ``Batch`` of replicas (arrays, one entry per replica) and returns arrays. Nothing here
knows about load; ``serving`` does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.sizing.constants import INDEX

Array = NDArray[np.float64]

BYTES_PER_ACTIVATION = 2.0
DRAFT_SHARE = 0.05
"""Of a step's reading and computing, for each drafted token: a head of one decoder layer and the output matrix beside
32 to 80 layers (EAGLE, arXiv 2401.15077, section 3; DeepSeek-V3, arXiv 2412.19437, section 2.2). Assumed."""


@dataclass(frozen=True)
class Replicas:
    """What decides the speed of n replicas; each field is an array of n. "Rank" is one device of a replica.

    ``constants`` is an array (constant, replica) in the order of ``constants.NAMES``. What of a step does not depend
    on the batch is worked out once: a search asks for dozens of steps, and each operation on a column costs the same
    for one replica as for a hundred.
    """

    bandwidth_bytes_per_s: Array
    matrix_flops_per_s: Array
    """Peak of one device for the matrix products of the weights, in the rate they really run at."""
    block_kernels: Array
    """1 where blocks of a GGUF file are multiplied as integers, else 0."""
    attention_flops_per_s: Array
    link_bytes_per_s: Array
    """One direction, one device."""
    link_tokens_share: Array
    """Tokens an exchange carries: 1 for tensor parallelism, where every rank works on all of them."""
    tp: Array
    pp: Array
    attention_dp: Array
    """Groups of ranks that each keep the attention of their own requests; 1: all ranks share every request."""
    attended_fraction: Array
    """Of ``linear_flops_per_token``: what only a request's own group works on."""
    drafted: Array
    """Tokens a draft proposes for each step; 0 without speculative decoding."""
    layers: Array
    hidden: Array
    always_read_bytes: Array
    """Of one tensor-parallel rank, all pipeline stages together."""
    experts_read_bytes: Array
    """The bytes of one expert in every expert layer, of one rank, all stages together."""
    experts: Array
    experts_per_token: Array
    linear_flops_per_token: Array
    """Of one rank, all stages together, as the next three; these four are means over groups, all of them at work."""
    kv_read_bytes: Array
    """KV read by one sequence in one decode step, at mean context."""
    decode_attention_flops: Array
    """Attention of one sequence in one decode step, at mean context."""
    prompt_attention_flops: Array
    """Attention of one whole prompt."""
    constants: Array

    def constant(self, name: str) -> Array:
        column: Array = self.constants[INDEX[name]]
        return column

    @cached_property
    def has_experts(self) -> bool:
        return bool(self.experts.any())

    @cached_property
    def has_groups(self) -> bool:
        """Whether any keeps attention by requests."""
        return bool((self.attention_dp > 1.0).any())

    @cached_property
    def checked_tokens(self) -> Array:
        """Tokens that a step checks of each sequence."""
        return 1.0 + self.drafted

    @cached_property
    def launch_s(self) -> Array:
        """Of a step, whatever is in it."""
        return self.constant("step_fixed_s") + self.layers * self.constant("step_layer_s")

    @cached_property
    def stages_s(self) -> Array:
        """Of handing a step on from stage to stage."""
        return (self.pp - 1.0) * self.constant("stage_s")

    @cached_property
    def drafting_share(self) -> Array:
        return self.drafted * DRAFT_SHARE

    @cached_property
    def exchanged_fraction(self) -> Array:
        """Of a tensor, what a rank sends and receives in one all-reduce."""
        return 2.0 * (self.tp - 1.0) / self.tp

    @cached_property
    def exchange_bytes_per_s(self) -> Array:
        return self.link_bytes_per_s * self.constant("link_fraction")

    @cached_property
    def hops_s(self) -> Array:
        """Of one all-reduce of nothing."""
        hops: Array = np.log2(self.tp) ** self.constant("hop_growth")
        return self.constant("hop_s") * hops


@dataclass(frozen=True, slots=True)
class StepParts:
    """Seconds of one decode step and what they are made of."""

    memory_s: Array
    compute_s: Array
    roof_s: Array
    link_s: Array
    overhead_s: Array

    @property
    def total_s(self) -> Array:
        return self.roof_s + self.link_s + self.overhead_s


def smooth_maximum(a: Array, b: Array, exponent: Array) -> Array:
    """(aᵖ + bᵖ)^(1/p): never below the larger, and up to 2^(1/p) above it where both bind."""
    larger = np.maximum(a, b)
    smaller = np.minimum(a, b)
    ratio = smaller / np.maximum(larger, 1e-30)
    return larger * (1.0 + ratio**exponent) ** (1.0 / exponent)


def experts_touched(replicas: Replicas, tokens: Array) -> Array:
    """Expected distinct experts a layer reads for a step of n tokens: E × (1 − (1 − k/E)^(1 + (n − 1) · spread)).

    Tokens that follow one another choose alike; ``routing_spread`` is the share of a further token that counts
    as an independent choice.
    """
    tokens = np.where(tokens > 1.0, 1.0 + (tokens - 1.0) * replicas.constant("routing_spread"), tokens)
    experts = np.maximum(replicas.experts, 1.0)
    miss = np.clip(1.0 - replicas.experts_per_token / experts, 0.0, 1.0)
    return replicas.experts * (1.0 - miss**tokens)


def weights_read_bytes(replicas: Replicas, tokens: Array) -> Array:
    """Weights one rank reads for a step of ``tokens``, all stages: always-read + experts touched ÷ their fraction.

    The experts of one token are read like any matrix. The more of them a step touches, the more their kernels widen
    packed weights tile by tile, each tile for few tokens: the fraction falls from 1 to ``expert_read_fraction`` where
    every expert is touched. It differs by number format; only formats that several publishers measured have their own.
    """
    if not replicas.has_experts:
        return replicas.always_read_bytes
    touched = experts_touched(replicas, tokens)
    chosen = replicas.experts_per_token
    spread = np.clip((touched - chosen) / np.maximum(replicas.experts - chosen, 1.0), 0.0, 1.0)
    fraction = 1.0 - spread * (1.0 - replicas.constant("expert_read_fraction"))
    return replicas.always_read_bytes + replicas.experts_read_bytes * touched / fraction


def all_reduce_s(replicas: Replicas, tokens: Array) -> Array:
    """Two all-reduces a layer: 2 · layers · (hop · (log2 tp)^growth + 2 (tp − 1)/tp · tokens · hidden · 2 B ÷ link).

    Rings and trees take more hops with more ranks; one-shot reductions over a switch hardly do: growth is fitted.
    """
    sent = replicas.exchanged_fraction * tokens * replicas.link_tokens_share
    transfer = sent * replicas.hidden * BYTES_PER_ACTIVATION / replicas.exchange_bytes_per_s
    return 2.0 * replicas.layers * (replicas.hops_s + transfer)


def attended_sequences(replicas: Replicas, sequences: Array) -> Array:
    """Sequences of the fullest group, times the groups: what one step's attention costs as if all groups were as full.

    Sequences are spread evenly: max(n, groups × min(n, 1)).
    """
    if not replicas.has_groups:
        return sequences
    return np.maximum(sequences, np.minimum(sequences, 1.0) * replicas.attention_dp)


def lone(replicas: Replicas) -> Replicas:
    """The replicas as one prompt alone sees them: of the groups that keep attention by requests its own works alone,
    on the whole of its attention and of the weights that are no routed experts."""
    groups = replicas.attention_dp
    more = 1.0 + replicas.attended_fraction * (groups - 1.0)
    return replace(
        replicas,
        linear_flops_per_token=replicas.linear_flops_per_token * more,
        prompt_attention_flops=replicas.prompt_attention_flops * groups,
    )


def decode_step(replicas: Replicas, batch: Array) -> StepParts:
    """One token for each of ``batch`` sequences: every stage once, for its share of the batch.

    A pipeline of pp stages works on pp micro-batches; a sequence gets its next token after all stages. With a draft
    of k tokens k + 1 are checked at once: computed, sent and routed, over the same keys and values. Groups that keep
    attention by requests prepare, read and attend only to their own; the step lasts as long as the fullest needs,
    which has a whole sequence where there are fewer sequences than groups.
    """
    share = np.maximum(batch / replicas.pp, np.minimum(batch, 1.0))
    attended = attended_sequences(replicas, share)
    tokens = share * replicas.checked_tokens
    weights = weights_read_bytes(replicas, tokens) / replicas.constant("weight_read_fraction")
    kv = attended * replicas.kv_read_bytes / replicas.constant("kv_read_fraction")
    memory = (weights + kv) / replicas.bandwidth_bytes_per_s
    compute = (
        replicas.checked_tokens
        / replicas.constant("decode_compute_fraction")
        * (
            share * replicas.linear_flops_per_token / replicas.matrix_flops_per_s
            + attended * replicas.decode_attention_flops / replicas.attention_flops_per_s
        )
    )
    roof = smooth_maximum(memory, compute, replicas.constant("roof_exponent"))
    overhead = (
        replicas.launch_s
        + attended * replicas.constant("step_sequence_s") * replicas.pp / replicas.attention_dp
        + replicas.stages_s
        + replicas.drafting_share * roof
    )
    return StepParts(memory, compute, roof, all_reduce_s(replicas, tokens), overhead)


def prompt_work_s(replicas: Replicas, tokens: Array, sequences: Array) -> Array:
    """Matrix products and attention of ``tokens`` prompt tokens in ``sequences`` whole prompts, on one rank.

    ``tokens × flops ÷ (rate × fraction)``, the rate reached growing with the tokens of the step as
    ``tokens ÷ (tokens + half)``, plus attention at its own rate.
    """
    filled = tokens + replicas.constant("prefill_half_tokens")
    linear = filled * replicas.linear_flops_per_token
    fraction = np.where(
        replicas.block_kernels > 0.0,
        replicas.constant("block_compute_fraction"),
        replicas.constant("prefill_compute_fraction"),
    )
    compute = linear / (replicas.matrix_flops_per_s * fraction)
    attention = sequences * replicas.prompt_attention_flops
    return compute + attention / (
        replicas.attention_flops_per_s * replicas.constant("prefill_attention_fraction")
    )


def prefill_s(replicas: Replicas, tokens: Array, sequences: Array, chunk: Array) -> Array:
    """Time until ``sequences`` whole prompts of ``tokens`` together are processed, nothing else running."""
    chunks = np.ceil(np.maximum(tokens, 1.0) / chunk)
    weights = weights_read_bytes(replicas, tokens / chunks) * chunks
    memory = weights / (replicas.constant("weight_read_fraction") * replicas.bandwidth_bytes_per_s)
    roof = smooth_maximum(
        memory, prompt_work_s(replicas, tokens, sequences), replicas.constant("roof_exponent")
    )
    alone = roof + chunks * (
        all_reduce_s(replicas, tokens / chunks)
        + replicas.constant("step_fixed_s")
        + replicas.layers * replicas.constant("step_layer_s")
        + (replicas.pp - 1.0) * replicas.constant("stage_s")
    )
    # m chunks pass p stages in m + p − 1 stage times instead of m × p, as far as the engine overlaps them.
    side_by_side = (chunks + replicas.pp - 1.0) / (chunks * replicas.pp)
    return alone * (1.0 - replicas.constant("stage_overlap") * (1.0 - side_by_side))


def prompt_share_s(
    replicas: Replicas, tokens: Array, chunk: Array, alone_s: Array | None = None
) -> Array:  # fmt: skip
    """Engine time one prompt takes from the decoding of others, pipeline stages working side by side.

    Its matrix and attention work; of what a step of its own costs beyond that (weights, launch, transfers)
    only the share that the engine's scheduler does not merge with decode steps. ``alone_s`` is what it takes with
    nothing else running, where that is known already.
    """
    ones = np.ones_like(tokens)
    half = replicas.constant("prefill_half_tokens")
    work = prompt_work_s(replicas, np.maximum(tokens - half, 0.0), ones)
    alone = prefill_s(replicas, tokens, ones, chunk) if alone_s is None else alone_s
    return (work + replicas.constant("prefill_step_share") * np.maximum(alone - work, 0.0)) / replicas.pp
