"""Time of one optimizer step of a training job: products, memory traffic, communication, bubbles.

As with memory, what follows from shapes (``Work``) is kept apart from the fitted constants, and one function
serves a screen and a fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from planner.sizing.architecture import Moe
from planner.sizing.devices import Device, Rate
from planner.sizing.training.counting import adapter_values, parameters, widths
from planner.sizing.training.fabric import Fabric, data_rate, exchanged, reached, ring
from planner.sizing.training.flops import FORWARD_FLOPS, Flops, executed
from planner.sizing.training.job import FrozenFormat, Job
from planner.sizing.training.memory import HALF_BYTES, HIDDEN_VALUES
from planner.sizing.training.states import BYTES, FROZEN_BYTES, ON_HOST, moment_bytes, states

Array = NDArray[np.float64]
Numbers = float | Array

HALF_RATES: tuple[Rate, ...] = ("bf16", "fp16")
OPTIMIZER_TRAFFIC_BYTES = 28
"""Read and written for one parameter by AdamW: gradient, master, two moments, and the weight."""
HOST_UPDATE_BYTES_PER_S = 40e9
"""Memory traffic that an optimizer on the host reaches: a share of one socket's bandwidth."""
REACHED_MAXIMUM = 0.95
BALANCE = 150.0
"""FLOP a byte, of the A100 at 16 bits: products reach a smaller share of the peak on devices that compute more for
each byte they read."""
MOE_KERNELS, LOOPED_EXPERTS = 10.0, 1.0
"""Kernels of a layer with experts over those of a dense one: routing, permuting, grouped products, and waiting for the
number of tokens of each; and experts that take as long to launch as one dense layer, where they are looped over."""
ADAPTER_KERNELS = 1.7
"""Two more products and a sum beside each adapted one."""
PARTITIONED_KERNELS = 2.0
"""DeepSpeed gathers and frees each parameter in hooks of Python."""


UNPACKED_BYTES: dict[FrozenFormat, float] = {"int4_gptq": 12.0, "int8_gptq": 12.0}
"""Written and read for one element where PyTorch's own operations widen it: shift, mask, zero point, scale (AutoGPTQ's
path for training). Others widen in one kernel, two bytes."""
PAGED_ROOM_FRACTION = 0.8
"""Of a card that paged moments may take beside weights and gradients, before activations push them out."""


class NoRate(ValueError):
    """The device's rate in this precision is not known."""


def peak_flops(device: Device, precision: str) -> tuple[float, Rate]:
    """Dense FLOP/s the linear layers run at, and in which format: the precision asked for if the matrix units run
    it, otherwise 16 bits. Raises ``NoRate``."""
    wanted: tuple[Rate, ...] = HALF_RATES
    if precision == "fp4":
        wanted = ("fp4", "fp8", *HALF_RATES)
    elif precision == "fp8":
        wanted = ("fp8", *HALF_RATES)
    elif precision == "fp16":
        wanted = ("fp16", "bf16")
    elif precision == "fp32":
        wanted = ("tf32", "fp32")
    for rate in wanted:
        if rate in device.dense_rates:
            return device.dense_rates[rate], rate
    raise NoRate(device.name)


SUSTAINED: dict[str, dict[Rate, float]] = {
    "MI300X": {"bf16": 708 / 1307, "fp16": 654 / 1307, "fp8": 1273 / 2615},
    "MI325X": {"bf16": 831 / 1307, "fp16": 787 / 1307, "fp8": 1408 / 2615},
}
"""Largest share of the peak that a product keeps up at these cards' power, as AMD measured it (ROCm blogs, "Measuring
Max-Achievable FLOPs", February 2025, and "Typical Attained FLOPs", October 2026)."""
USUALLY_SUSTAINED = 0.8
"""The same of other cards, which the fitted fraction already holds."""


def sustained_fraction(device: Device, rate: Rate) -> float:
    """What this card's power leaves of its peak, over what it leaves others; 1 where nobody measured it."""
    measured = SUSTAINED.get(device.name.split("-")[0], {}).get(rate)
    return 1.0 if measured is None else min(1.0, measured / USUALLY_SUSTAINED)


def reduced_bytes(job: Job) -> float:
    """Bytes of a trained parameter that pass between data-parallel ranks in a step: its gradient twice where all is
    reduced everywhere, once and the new 16-bit weight where the optimizer is split (ZeRO-1 and 2)."""
    gradient = BYTES[job.state].gradients
    return float(2 * gradient if job.split.zero_stage == 0 else gradient + HALF_BYTES)


@dataclass(frozen=True, slots=True)
class Work:
    """What one GPU does for one micro-batch (and once a step), before constants."""

    linear_flops: Numbers
    expert_flops: Numbers
    attention_flops: Numbers
    peak: Numbers
    """FLOP/s of the linear layers' format."""
    half_peak: Numbers
    """FLOP/s at 16 bits, for attention."""
    bandwidth: Numbers
    width: Numbers
    """Output width of a matrix on one rank."""
    tokens: Numbers
    """Tokens of a micro-batch that are computed, padding left out."""
    expert_tokens: Numbers
    """Of them per expert on the rank that holds it."""
    traffic: Numbers
    """Bytes of activations read and written between the products, all passes."""
    adapter_traffic: Numbers
    """The same of adapters, beside the products they stand on."""
    score_traffic: Numbers
    """Attention scores written out, all passes."""
    logits_traffic: Numbers
    dequantised: Numbers
    """Bytes of frozen weights widened, all passes."""
    launches: Numbers
    """Layer passes of one micro-batch."""
    tensor_s: Numbers
    """Seconds of tensor-parallel communication at full link rate, one micro-batch."""
    expert_s: Numbers
    context_s: Numbers
    gather_s: Numbers
    """ZeRO-3 gathers and scatters of one micro-batch."""
    reduce_s: Numbers
    """Gradients (and weights, from ZeRO-1 on), once a step."""
    optimizer_bytes: Numbers
    host_s: Numbers
    """What crosses to the host and back, and the update there, once a step."""
    carried_s: Numbers
    """Kept activations to host memory and back, one micro-batch, beside the products."""
    micro_batches: Numbers
    bubble: Numbers
    """Idle share of a pipeline: (pp − 1) ÷ (micro-batches × chunks)."""
    serial: Numbers
    """GPUs that take turns (device map); 1 otherwise."""
    nodes: Numbers
    overlapped: Numbers
    """1 where tensor-parallel communication runs beside the products."""
    adapters: Numbers


def work(job: Job, device: Device, links: Fabric) -> Work:
    """The work of a job on this device and these links. Leaves out: data loading and checkpoints.

    Raises ``NoRate`` where the device's matrix rate is not known.
    """
    split = job.split
    peak, rate = peak_flops(device, job.precision)
    half, half_rate = peak_flops(device, "bf16" if job.precision != "fp16" else "fp16")
    peak, half = peak * sustained_fraction(device, rate), half * sustained_fraction(device, half_rate)
    flops = executed(job)
    wide = widths(job.arch)
    held = parameters(job)
    kept = states(job, held)
    ranks = split.tp * split.pp
    filled = min(1.0, job.computed_tokens / job.sequence)
    tokens = job.micro_tokens * filled
    layers = wide.layers / split.pp
    moe = next((group.mlp for group in job.arch.layers if isinstance(group.mlp, Moe)), None)
    expert_tokens = tokens
    if moe is not None:
        expert_tokens = tokens * moe.experts_per_token * split.ep / moe.experts
    inner = HALF_BYTES * tokens / split.pp * (
        HIDDEN_VALUES * wide.hidden * wide.layers / (split.tp if split.sequence_parallel else 1)
        + (2 * wide.queries + wide.keys_values + wide.mlp + 2 * wide.mlp_inner) / split.tp
        + 2 * wide.routed_copies * wide.hidden
    )  # fmt: skip
    adapted = 0.0
    if job.method != "full":
        adapted = HALF_BYTES * tokens / split.pp / split.tp * adapter_values(job.arch, job.targets)
    scores = 0.0
    if not job.flash_attention:
        scores = (
            tokens * (job.sequence if job.packed else job.computed_tokens) * wide.heads / split.tp / split.pp
        )
    # Tensor parallel: two reductions of the hidden state forward, two backward, two more when computed again.
    again = 1.0 if job.recompute == "full" else 0.0
    hidden_bytes = HALF_BYTES * tokens * wide.hidden
    tensor = ring(hidden_bytes, split.tp) * 2 * layers * (4 + 2 * again) if split.tp > 1 else 0.0
    if job.logits_gathered and split.tp > 1:
        tensor += ring(HALF_BYTES * tokens * job.arch.vocab, split.tp) * 2 / split.pp
    tensor_s = tensor / reached(links, split.tp, 1)
    copies = wide.routed_copies
    if moe is not None and split.ep > links.domain:
        # Across nodes a token goes to each node once, however many of its experts are there.
        nodes = split.ep / links.domain
        copies *= min(1.0, nodes * (1 - (1 - 1 / nodes) ** moe.experts_per_token) / moe.experts_per_token)
    routed = copies / split.pp * hidden_bytes / (split.tp if split.sequence_parallel else 1)
    expert_s = (
        ring(routed, split.ep) * (4 + 2 * again) / exchanged(links, split.ep, 1) if split.ep > 1 else 0.0
    )
    context = (
        HALF_BYTES * tokens * wide.keys_values / split.pp / split.tp * (split.cp - 1) * 3
        if split.cp > 1
        else 0.0
    )
    context_s = context / reached(links, split.cp, split.tp)
    shared = held.dense + held.experts
    between = data_rate(links, split)
    gather_s = reduce_s = 0.0
    if split.shard_count > 1:
        trained = shared if job.method == "full" else held.adapters
        if split.zero_stage == 3:
            resident = shared if job.method == "full" else kept.frozen * split.shard_count / HALF_BYTES
            gather = HALF_BYTES * ring(resident, split.shard_count) * 2
            gather_s = (gather + HALF_BYTES * ring(trained, split.shard_count)) / between
        else:
            reduce_s = ring(trained, split.shard_count) * reduced_bytes(job) / between
    dequantised = 0.0
    if job.method == "qlora":
        matrices = (held.dense - held.embedding - held.vectors) + held.experts
        widened = UNPACKED_BYTES.get(job.frozen_format, HALF_BYTES)
        dequantised = matrices * (FROZEN_BYTES[job.frozen_format] + widened) * flops.passes
    host_s = 0.0
    if job.offload_optimizer:
        pcie = (device.pcie_bytes_per_s or 64e9) / 2
        host_s = kept.stepped * (2 * HALF_BYTES / pcie + OPTIMIZER_TRAFFIC_BYTES / HOST_UPDATE_BYTES_PER_S)
    elif job.optimizer in ON_HOST:
        moments = kept.stepped * moment_bytes(job.state, job.optimizer)
        room = PAGED_ROOM_FRACTION * device.engine_total_bytes - kept.frozen - kept.weights - kept.gradients
        # What has no room comes over the bus for its update while what was updated leaves.
        host_s = max(0.0, moments - max(0.0, room)) / ((device.pcie_bytes_per_s or 64e9) / 2)
    carried_s = 0.0
    if job.offload_activations and job.recompute != "none":
        shards = split.tp if split.sequence_parallel else 1
        carried_s = 2 * hidden_bytes * layers / shards / ((device.pcie_bytes_per_s or 64e9) / 2)
    kernels = 1.0
    if moe is not None:
        routed_share = sum(g.count for g in job.arch.layers if isinstance(g.mlp, Moe)) / job.arch.layer_count
        each = MOE_KERNELS if not job.expert_loop else moe.experts / LOOPED_EXPERTS
        kernels = routed_share * each + (1 - routed_share)
    if job.method != "full":
        kernels *= ADAPTER_KERNELS
    if split.zero_stage == 3 and split.shard_count > 1 and job.software == "transformers":
        kernels *= PARTITIONED_KERNELS
    return Work(
        linear_flops=_slowest_stage(job, flops) * tokens / split.tp,
        expert_flops=flops.experts * tokens / ranks,
        attention_flops=flops.attention * tokens / ranks,
        peak=peak,
        half_peak=half,
        bandwidth=device.bandwidth_bytes_per_s,
        width=wide.hidden / split.tp,
        tokens=tokens,
        expert_tokens=max(1.0, expert_tokens),
        traffic=inner * flops.passes,
        score_traffic=scores * flops.passes,
        adapter_traffic=adapted * flops.passes,
        logits_traffic=tokens
        * job.arch.vocab
        / (1 if job.logits_gathered else split.tp)
        / (1 if _ends_on_top(job) else split.pp)
        * (0.5 if job.chunked_loss else 1.0),
        dequantised=dequantised,
        launches=layers * flops.passes * kernels,
        tensor_s=tensor_s,
        expert_s=expert_s,
        context_s=context_s,
        gather_s=gather_s,
        reduce_s=reduce_s,
        optimizer_bytes=0.0 if job.offload_optimizer else kept.stepped * OPTIMIZER_TRAFFIC_BYTES,
        host_s=host_s,
        carried_s=carried_s,
        micro_batches=job.accumulation,
        bubble=0.0 if split.serial else (split.pp - 1) / (job.accumulation * split.virtual_stages),
        serial=float(split.pp) if split.serial else 1.0,
        nodes=max(1.0, split.gpu_count / links.domain),
        overlapped=float(job.overlapped_tp),
        adapters=float(job.method != "full"),
    )


def _ends_on_top(job: Job) -> bool:
    stages = job.split.pp
    return stages > 1 and not job.split.serial and job.arch.layer_count % stages == 0


def _slowest_stage(job: Job, flops: Flops) -> float:
    """Operations a token of the fullest pipeline stage's linear layers.

    Where layers divide evenly, the last stage holds the head besides. Where they do not, as in BLOOM (70 layers and two
    ends over 12 stages) and Llama 3.1 405B (126 and two over 8 or 16), the ends have taken the place of layers.
    """
    stages = job.split.pp
    if not _ends_on_top(job):
        return flops.linear / stages
    head = FORWARD_FLOPS * job.arch.vocab * job.arch.hidden * flops.passes
    return (flops.linear - head) / stages + head


def columns(found: list[Work]) -> Work:
    return Work(*(np.array([float(getattr(one, item.name)) for one in found]) for item in fields(Work)))


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds of one optimizer step by what they go into; ``total_s`` is their sum."""

    products_s: Numbers
    attention_s: Numbers
    traffic_s: Numbers
    launch_s: Numbers
    tensor_s: Numbers
    experts_s: Numbers
    data_s: Numbers
    bubble_s: Numbers
    optimizer_s: Numbers
    total_s: Numbers


def step(found: Work, c: Mapping[str, Numbers]) -> Step:
    """The time of one optimizer step, with constants ``c`` by name.

    products  = flops ÷ (peak × fraction), fraction falling where a rank's matrices are narrow or tokens are few
    micro     = products + attention + traffic ÷ bandwidth + exposed communication, or the launches if longer
    step      = micro × micro-batches × (1 + bubble) + gradients + optimizer + host
    """
    few = 1.0 / (1.0 + c["tokens_half"] / found.tokens) / (1.0 + c["width_half"] / found.width)
    reached = np.minimum(
        REACHED_MAXIMUM,
        c["linear_fraction"] * (found.half_peak / found.bandwidth / BALANCE) ** -c["balance_exponent"],
    )
    products = found.linear_flops / (found.peak * reached * few)
    few_experts = (
        1.0 / (1.0 + c["expert_tokens_half"] / found.expert_tokens) / (1.0 + c["width_half"] / found.width)
    )
    experts = found.expert_flops / (found.peak * reached * c["expert_fraction"] * few_experts)
    attention = found.attention_flops / (found.half_peak * c["attention_fraction"])
    traffic = (
        found.traffic * c["traffic_copies"]
        + found.adapter_traffic * c["adapter_copies"]
        + found.score_traffic * c["score_access_bytes"]
        + found.logits_traffic * c["logit_traffic_bytes"]
        + found.dequantised * c["dequantise_copies"]
    ) / found.bandwidth  # fmt: skip
    busy = products + experts + attention + traffic
    launch = np.maximum(0.0, _longer(busy, found.launches * c["launch_s"]) - busy)
    tensor = (found.tensor_s * c["tensor_exposed"] * (1.0 - found.overlapped * c["overlap_fraction"])
              + found.context_s * c["context_exposed"])  # fmt: skip
    routed = found.expert_s * c["expert_exposed"]
    running = busy + launch
    gathering = _longer(running, found.gather_s * c["gather_slowness"]) - running
    gathering = gathering + found.gather_s * c["gather_exposed"]
    carrying = _longer(running, found.carried_s) - running
    micro = running + tensor + routed + gathering + carrying
    wait = 1.0 + c["straggling_fraction"] * np.log2(found.nodes)
    whole = found.micro_batches * found.serial * wait
    optimizer = (
        found.optimizer_bytes / found.bandwidth * c["optimizer_copies"] + found.host_s * c["host_slowness"]
    )
    reduce = found.reduce_s * c["reduce_exposed"] * wait
    bubble = whole * micro * found.bubble
    return Step(
        products_s=whole * (products + experts), attention_s=whole * attention, traffic_s=whole * (traffic + carrying),
        launch_s=whole * launch, tensor_s=whole * tensor, experts_s=whole * routed,
        data_s=whole * gathering + reduce, bubble_s=bubble, optimizer_s=optimizer,
        total_s=whole * micro + bubble + reduce + optimizer,
    )  # fmt: skip


SMOOTH = 4.0


def _longer(one: Numbers, other: Numbers) -> Numbers:
    """A smooth maximum: (a⁴ + b⁴)^¼."""
    return (np.maximum(one, 1e-12) ** SMOOTH + np.maximum(other, 0.0) ** SMOOTH) ** (1 / SMOOTH)
