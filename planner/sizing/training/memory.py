"""Peak memory of one GPU of a training job: states, activations, logits, buffers, what the allocator adds.

The parts are computed as amounts (bytes or elements that follow from shapes alone) and weighed with few fitted
constants, so that one function serves a screen with one job and a fit with hundreds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from planner.sizing.training.counting import Parameters, parameters, widths
from planner.sizing.training.job import Job
from planner.sizing.training.states import BYTES, states

Array = NDArray[np.float64]
Numbers = float | Array

HALF_BYTES = 2
WORD_BYTES = 4
HIDDEN_VALUES = 6
"""Hidden states a layer keeps a token for its backward pass: two residual inputs, two normed inputs, and what two
norms keep beside."""
QUANTISED_INPUT_COPIES = 1.75
"""Copies of what goes into a product that its quantised version keeps beside (bitsandbytes, as litgpt's tables of LoRA
and QLoRA at equal settings show)."""
FROZEN_HIDDEN_VALUES = 4
"""The same where the MLP is frozen and has no adapters: a frozen product does not keep what went into it."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """What the memory of the fullest GPU is made of, before constants. One number each, or a column of them."""

    frozen: Numbers
    weights: Numbers
    gradients: Numbers
    optimizer: Numbers
    gathered: Numbers
    """Bytes of the largest layer as ZeRO-3 gathers it, in the type it computes in."""
    stepped: Numbers
    """Bytes of the parameters that the optimizer's step works on at once."""
    boundary: Numbers
    """Bytes of layer inputs that full recomputation keeps."""
    inner: Numbers
    """Bytes all layers keep when nothing is recomputed."""
    kept_inner: Numbers
    """Share of ``inner`` that is kept: 1 without recomputation, 0 with full; selective stands in ``selective``."""
    selective: Numbers
    """1 where recomputation is selective."""
    layer: Numbers
    """``inner`` of one layer of one micro-batch: the working set while it is recomputed."""
    scores: Numbers
    """Elements of attention scores of one layer, where they are written out."""
    score_layers: Numbers
    """Layers that keep them for the backward pass."""
    whole: Numbers
    """Bytes of weights and gradients that PyTorch's FSDP leaves gathered between the micro-batches of one step."""
    logits: Numbers
    """Elements of logits of one micro-batch."""
    chunked: Numbers
    """1 where logits are never whole."""
    early_gradients: Numbers
    """1 where gradients are held from the start of the backward pass: accumulation, or one buffer for all."""
    dequantised: Numbers
    """Bytes of the largest frozen matrix at 16 bits, where it is widened for each product."""
    adapters: Numbers
    """1 where only adapters are trained."""
    reserved: Numbers
    """1 where the figure is what the allocator holds."""
    variable: Numbers
    """1 where sequences differ in length from step to step."""
    device: Numbers
    """1 where the whole process counts."""
    several: Numbers
    """1 where more than one GPU takes part."""
    usable: Numbers
    """Bytes of the card, or infinity where it is not known."""


def amounts(job: Job, measure: str = "device", usable_bytes: float | None = None) -> Amounts:
    """The amounts of a job. Leaves out: buffers of kernels, of CUDA graphs, and activations of towers."""
    held: Parameters = parameters(job)
    kept = states(job, held)
    wide = widths(job.arch)
    split = job.split
    value_bytes = WORD_BYTES if job.precision == "fp32" else HALF_BYTES
    tokens = float(job.peak_tokens)
    outer = split.tp if split.sequence_parallel else 1
    stage = 1.0 / split.pp
    flight = 1.0
    if split.pp > 1 and not split.serial:
        flight = min(split.pp, job.accumulation) * (
            1 + (split.pp - 1) / (split.pp * split.virtual_stages) - (split.pp - 1) / split.pp
        )
    hidden = wide.hidden * wide.layers
    # Products keep their inputs only for weights that are trained: without adapters on a gated MLP, gate, its
    # activation and up are kept, but not what goes into down.
    bare = job.method != "full" and job.targets in ("q_v", "attention")
    kept_mlp = (
        wide.mlp + (0 if bare else wide.mlp_inner) + (wide.mlp_inner if wide.mlp > wide.mlp_inner else 0)
    )
    inner = value_bytes * tokens * stage * (
        (FROZEN_HIDDEN_VALUES if bare else HIDDEN_VALUES) * hidden / outer
        + (2 * wide.queries + wide.keys_values + kept_mlp) / split.tp
        + 2 * wide.routed_copies * wide.hidden / outer
    )  # fmt: skip
    if job.method == "qlora":
        into = 2 * hidden / outer + (wide.queries + wide.mlp_inner) / split.tp
        inner += value_bytes * tokens * stage * QUANTISED_INPUT_COPIES * into
    boundary = value_bytes * tokens * stage * hidden / outer
    if job.offload_activations:
        boundary *= 2.0 / max(2.0, wide.layers * stage)
    layers = max(1.0, wide.layers * stage)
    full = job.recompute == "full"
    scores = 0.0
    if not job.flash_attention:
        one_layer = (
            job.micro_batch
            * (job.longest_sequence or job.sequence) ** 2
            / split.cp
            * wide.heads
            / wide.layers
            / split.tp
        )
        scores = one_layer
    gathered = 0.0
    if split.zero_stage == 3 and split.shard_count > 1:
        one = held.largest_layer if job.method == "full" else held.largest_layer * (
            kept.frozen / max(1.0, HALF_BYTES * (held.dense + held.experts) / split.shard_count)
        )  # fmt: skip
        gathered = one * (WORD_BYTES if job.precision == "fp32" else HALF_BYTES)
    whole = 0.0
    if (
        gathered
        and job.software == "torch"
        and job.method == "full"
        and (job.accumulation > 1 or split.pp > 1)
    ):
        rest = (held.dense + held.experts) * (1 - 1 / split.shard_count)
        whole = (HALF_BYTES + BYTES[job.state].gradients) * rest
    quantised = job.method == "qlora"
    paged = job.offload_optimizer
    return Amounts(
        frozen=kept.frozen,
        weights=kept.weights,
        gradients=kept.gradients,
        optimizer=kept.optimizer,
        gathered=gathered,
        stepped=0.0 if paged or job.step_in_backward else kept.stepped * (4 if job.state != "half" else 2),
        boundary=boundary * flight,
        inner=inner * flight,
        kept_inner=1.0 if job.recompute == "none" else 0.0,
        selective=1.0 if job.recompute == "selective" else 0.0,
        layer=inner / layers if full or job.recompute == "selective" else 0.5 * inner / layers,
        scores=scores,
        score_layers=layers * flight if job.recompute == "none" else 0.0,
        whole=whole,
        logits=tokens * job.arch.vocab / (1 if job.logits_gathered else split.tp),
        chunked=float(job.chunked_loss),
        early_gradients=float(job.accumulation > 1 or job.state.startswith("mixed")),
        dequantised=held.largest_matrix * HALF_BYTES if quantised else 0.0,
        adapters=float(job.method != "full"),
        reserved=0.0 if measure == "allocated" else 1.0,
        variable=0.0 if job.packed or job.even_lengths else 1.0,
        device=1.0 if measure == "device" else 0.0,
        several=float(split.gpu_count > 1),
        usable=float("inf") if usable_bytes is None else usable_bytes,
    )


def columns(found: list[Amounts]) -> Amounts:
    """Many jobs' amounts as columns."""
    return Amounts(*(np.array([float(getattr(one, item.name)) for one in found]) for item in fields(Amounts)))


@dataclass(frozen=True, slots=True)
class Peak:
    """Bytes of the fullest GPU at its fullest moment, by what they are for; ``total`` is their sum."""

    frozen: Numbers
    weights: Numbers
    gradients: Numbers
    optimizer: Numbers
    activations: Numbers
    logits: Numbers
    buffers: Numbers
    """Gathered layers, the optimizer's working copies, widened matrices."""
    allocator: Numbers
    """What the allocator holds beyond what is in use."""
    runtime: Numbers
    """CUDA context and communication, where the whole process counts."""
    total: Numbers


def peak(found: Amounts, c: Mapping[str, Numbers]) -> Peak:
    """The peak of a job, with constants ``c`` by name.

    static  = frozen + weights + optimizer
    forward = stored activations + max(logits, one layer) + gathered + gradients held early
    late    = gradients + one layer + gathered
    step    = gradients + working copies of the optimizer
    total   = static + base + max(forward, late, step) + fragmentation × activations and logits + context
    """
    copies = c["activation_copies"] * (1.0 - found.adapters * (1.0 - c["adapter_activation_fraction"]))
    share = found.kept_inner + found.selective * c["selective_fraction"]
    stored = found.inner * copies * share + found.boundary * (1.0 - found.kept_inner)
    scores = found.scores * found.score_layers * c["score_bytes"]
    working = (
        found.layer * copies * c["working_layers"]
        + found.dequantised
        + found.scores * c["working_score_bytes"]
    )
    logits = found.logits * c["logit_bytes"] * (1.0 - found.chunked * (1.0 - c["chunked_logit_fraction"]))
    gathered = found.gathered * c["gathered_layers"] + found.whole * c["whole_fraction"]
    early = found.gradients * found.early_gradients
    at_end = np.maximum(logits, working)
    forward = stored + scores + at_end + gathered + early
    late = found.gradients + working + gathered
    step = found.gradients + found.stepped * c["step_copies"]
    moment = np.maximum(np.maximum(forward, late), step)
    static = found.frozen + found.weights + found.optimizer
    extra = found.reserved * (
        c["fragmentation_fraction"] + found.variable * c["variable_fragmentation_fraction"]
    )
    allocator = np.maximum(stored + scores + at_end, working) * extra
    runtime = c["base_bytes"] + found.device * (c["context_bytes"] + found.several * c["communication_bytes"])
    # A full card makes the allocator give back what it only keeps.
    allocator = np.maximum(0.0, np.minimum(allocator, found.usable - static - moment - runtime))
    is_forward, is_late = forward >= moment, (forward < moment) & (late >= moment)
    is_step = ~(is_forward | is_late)
    return Peak(
        frozen=found.frozen,
        weights=found.weights,
        gradients=np.where(is_forward, early, found.gradients),
        optimizer=found.optimizer,
        activations=np.where(
            is_forward, stored + scores + np.where(working > logits, working - found.dequantised, 0.0),
            np.where(is_late, working - found.dequantised, 0.0),
        ),
        logits=np.where(is_forward & (logits >= working), logits, 0.0),
        buffers=np.where(is_step, found.stepped * c["step_copies"], gathered)
        + np.where((is_forward & (working > logits)) | is_late, found.dequantised, 0.0),
        allocator=allocator,
        runtime=runtime,
        total=static + moment + allocator + runtime,
    )  # fmt: skip
