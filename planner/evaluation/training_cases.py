"""Reads the description of a training row into a job. Blank cells take the product's documented defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from planner.evaluation.cards import cards
from planner.evaluation.rows import options
from planner.evaluation.training_models import model
from planner.evaluation.training_names import FORMATS, OPTIMIZERS, SOFTWARE, TARGETS
from planner.evaluation.training_splits import number, split_of
from planner.sizing.architecture import Architecture, active_parameter_count, parameter_count
from planner.sizing.devices import Device
from planner.sizing.mixers import Latent
from planner.sizing.training.constants import MEMORY, regime
from planner.sizing.training.fabric import Fabric, fabric
from planner.sizing.training.flops import counted_attention
from planner.sizing.training.job import (
    DOCUMENT_TOKENS,
    Job,
    Measure,
    Method,
    Precision,
    Recompute,
    Software,
    State,
    Targets,
)
from planner.sizing.training.memory import amounts, peak
from planner.sizing.training.speed import NoRate, peak_flops

FP8_RECIPES = ("nvidia", "nemo", "ngc", "pytorch", "llmboost", "megatron")
"""Software whose recipes run FP8 where the GPU does, when nothing is said."""
HALF_MOMENTS = ("megatron-bridge",)
"""Software whose recipes for models like DeepSeek-V3 keep gradients and moments in 16 bits."""
GATHERED_LOGITS = ("kempnerforge",)
"""Software whose tensor-parallel head gathers the logits for the loss (its tensor_parallel.py)."""
EVERYTHING_COUNTED = ("kempnerforge",)
"""Software whose MFU counts attention and embeddings too, as its tokens/s and MFU of the same runs show."""
HBM2E_BYTES_PER_S = 2.4e12
"""Six stacks as fast as the five of the H100-PCIe."""
DEFAULT_RANK = 16
DEFAULT_TARGETS: dict[Software, Targets] = {
    "megatron": "attention", "torch": "all_linear", "transformers": "all_linear",
}  # fmt: skip
"""What a recipe adapts when nothing is said: NeMo's and MLPerf's attention alone."""
DEFAULT_SEQUENCE = 2048
SHORTER_FRACTION = 0.5
"""Mean length over a cap that not every sample reaches, where nothing is said."""
SAMPLE_TOKENS, SAMPLE_LONGEST = DOCUMENT_TOKENS, 2048
"""Mean and longest of instruction samples, where nothing is said of them."""
EMBEDDED_LAYERS = 2
"""LISA keeps embeddings, head and so many layers trained."""


class Unsupported(Exception):
    """The product does not answer this row; the text says why."""


@dataclass(frozen=True, slots=True)
class TrainingCase:
    job: Job
    device: Device | None
    links: Fabric | None
    metric: str
    measure: Measure
    gpu_count: int
    regime: str
    mfu_flops: float
    """Operations a token as the row counts them."""
    mfu_peak: float
    tokens_total: float
    step_tokens: float
    """Tokens of one step over all GPUs, as a rate counts them: with padding."""


def case(inputs: Mapping[str, str]) -> TrainingCase:
    """The job, machine and unit of a row. Raises ``Unsupported``."""
    metric = inputs.get("metric", "")
    if inputs.get("kind", "llm") in ("diffusion", "audio"):
        raise Unsupported("training of diffusion models is not sized")
    more = options(inputs.get("options", ""))
    parameters, active = number(inputs.get("params_b")), number(inputs.get("params_active_b"))
    arch = model(
        inputs.get("model", ""), inputs.get("model_id", ""), inputs.get("family", ""),
        parameters and parameters * 1e9, active and active * 1e9,
    )  # fmt: skip
    if arch is None:
        raise Unsupported("model not known, and no number of parameters")
    device = _device(inputs.get("gpu", ""))
    memory = metric == "peak_mem_gib_per_gpu"
    if device is None and not memory:
        raise Unsupported("accelerator not known")
    job = _job(inputs, more, arch, device, metric)
    said = inputs.get("activation_checkpointing")
    if not said and job.software != "megatron" and device is not None and inputs.get("micro_batch"):
        job = fitting(job, device)
    count = int(number(inputs.get("gpu_count")) or job.split.gpu_count)
    measure = cast(
        Measure, {"allocated": "allocated", "nvidia-smi": "device"}.get(inputs.get("measure", ""), "reserved")
    )
    links = fabric(device) if device is not None else None
    flops, top = _counted(inputs, more, job, device)
    tokens = number(inputs.get("tokens_total")) or (number(inputs.get("samples_total")) or 0.0) * job.sequence
    if metric in ("gpu_hours", "minutes_to_train") and not tokens:
        raise Unsupported("neither tokens nor samples of the run are stated")
    return TrainingCase(
        job=job, device=device, links=links, metric=metric, measure=measure, gpu_count=count,
        regime=_regime(job, metric), mfu_flops=flops, mfu_peak=top, tokens_total=tokens,
        step_tokens=_step_samples(inputs, job, count) * job.computed_tokens,
    )  # fmt: skip


def fitting(job: Job, device: Device) -> Job:
    """The job with as little recomputation as fits the card: what somebody chose who did not say."""
    prior = {name: one.value for name, one in MEMORY.items()}
    for choice in ("none", "full"):
        tried = job.model_copy(update={"recompute": choice})
        need = peak(amounts(tried, "device"), prior).total
        if need <= device.engine_total_bytes:
            return tried
    return job.model_copy(update={"recompute": "full"})


def _step_samples(inputs: Mapping[str, str], job: Job, count: int) -> float:
    return job.micro_batch * job.accumulation * count / (job.split.tp * job.split.pp * job.split.cp)


def _device(label: str) -> Device | None:
    """The card of a label: where it leaves the variant open, the one with the fastest links, since training rows come
    from clusters; with a power limit, a card whose clock follows the cube root of its power."""
    if not label or label.startswith("not stated"):
        return None
    found = cards(label, None)
    if not found:
        plain = re.sub(r"\(.*?\)|-HBM\w+|-?\d+GB", "", label).strip(" -")
        found = cards(plain, None)
    if not found:
        return None
    best = max(
        found, key=lambda one: (one.link_bytes_per_s or 0.0, one.bandwidth_bytes_per_s, one.memory_bytes)
    )
    limit, size = re.search(r"\((\d+) ?W\)", label), re.search(r"(\d+)GB", label)
    if limit is None or best.tdp_w is None:
        return best
    slower = min(1.0, float(limit[1]) / best.tdp_w) ** (1 / 3)
    memory = best.engine_total_bytes
    if size is not None:
        memory = round(float(size[1]) / round(best.memory_bytes / 2**30) * best.engine_total_bytes)
    bandwidth = HBM2E_BYTES_PER_S if "HBM2e" in label else best.bandwidth_bytes_per_s
    return best.model_copy(update={
        "dense_rates": {rate: flops * slower for rate, flops in best.dense_rates.items()},
        "engine_total_bytes": memory, "bandwidth_bytes_per_s": bandwidth,
    })  # fmt: skip


def _software(inputs: Mapping[str, str]) -> Software:
    name = inputs.get("framework", "").lower()
    if (number(inputs.get("ep")) or 1) > 1 or inputs.get("parallelism", "").lower().startswith("megatron"):
        return "megatron"  # Only Megatron's layers split experts over ranks.
    return next((kind for word, kind in SOFTWARE if word in name), "torch")


def _precision(
    inputs: Mapping[str, str], more: Mapping[str, str], software: Software, device: Device | None
) -> Precision:
    text = inputs.get("precision", "").lower()
    if more.get("fp4") == "1" or "fp4" in text:
        return "fp4"
    if inputs.get("fp8") == "1" or "fp8" in text:
        return "fp8"
    if text.startswith(("fp32", "32")):
        return "fp32"
    if text.startswith(("fp16", "16")):
        return "fp16"
    # Megatron's recipes run FP8 where the GPU does; everything else BF16.
    recipes = inputs.get("framework", "").lower().startswith(FP8_RECIPES)
    if not text and software == "megatron" and recipes and device is not None and "fp8" in device.dense_rates:
        return "fp8"
    return "bf16"


def _state(
    inputs: Mapping[str, str], arch: Architecture, software: Software, method: Method, precision: Precision
) -> State:
    text = inputs.get("weights_dtype", "").lower()
    if method != "full":
        return "fp32" if software == "transformers" else "half"
    if inputs.get("framework", "").lower().startswith(HALF_MOMENTS) and arch.has_experts and _latent(arch):
        return "mixed_half_moments"
    if "mp=pure" in inputs.get("parallelism", "").lower():
        return "fp32"
    if "master" in text and text.startswith("fp32"):
        return "fp32"
    if "master" in text:
        return "mixed"
    if text.startswith("fp32"):
        return "fp32"
    if text.startswith(("bf16", "fp16")) and software != "megatron":
        return "half"
    return "fp32" if precision == "fp32" else "mixed"


def _latent(arch: Architecture) -> bool:
    return any(isinstance(group.attention, Latent) for group in arch.layers)


def _recompute(text: str, software: Software, method: Method, metric: str) -> Recompute:
    low = text.lower()
    if low.startswith("selective"):
        return "none" if software == "megatron" else "selective"
    if low.startswith(("yes", "full", "offload")):
        return "full"
    if low.startswith(("no", "none")):
        return "none"
    # Not said: Megatron's selective recomputation repeats only attention, which flash attention does anyway.
    return "full" if software == "transformers" else "none"


def _job(
    inputs: Mapping[str, str], more: Mapping[str, str], arch: Architecture, device: Device | None, metric: str
) -> Job:
    software = _software(inputs)
    stated = inputs.get("method", "full")
    method: Method = "qlora" if stated == "qlora" else "lora" if "lora" in stated else "full"
    precision = _precision(inputs, more, software, device)
    weights = inputs.get("weights_dtype", "").lower()
    frozen = next((form for word, form in FORMATS if weights.startswith(word)), "bf16")
    if method == "lora" and not weights and precision == "fp8":
        frozen = "fp8"
    sequence = int(number(inputs.get("seq_len")) or DEFAULT_SEQUENCE)
    offload = inputs.get("offload", "")
    optimizer = next(
        (kind for word, kind in OPTIMIZERS if word in inputs.get("optimizer", "").lower()), "adamw"
    )
    if optimizer == "paged_adamw" and "8" in inputs.get("optimizer", ""):
        optimizer = "paged_adamw_8bit"
    split, micro, accumulation = split_of(inputs, more, software, sequence, arch, device)
    packed = inputs.get("packed") == "1" or (
        inputs.get("packed") != "0" and inputs.get("length_is_maximum") != "1"
    )
    mean = longest = None
    if not packed and inputs.get("length_is_maximum") == "1":
        stated_mean = number(more.get("data_mean_tokens"))
        # Of samples that are cut at the cap, with lengths spread like an exponential: the mean that is left.
        mean = (
            _capped_mean(stated_mean, sequence)
            if stated_mean
            else min(SAMPLE_TOKENS, SHORTER_FRACTION * sequence)
        )
        longest = min(sequence, round(3 * stated_mean) if stated_mean else SAMPLE_LONGEST)
    rank = int(number(inputs.get("lora_rank")) or (DEFAULT_RANK if method != "full" else 0))
    trainable = number(more.get("trainable_params"))
    layers = number(more.get("layers_trained"))
    if layers and method == "full":
        ends = arch.vocab * arch.hidden * (1 if arch.tied else 2)
        each = (active_parameter_count(arch) - arch.vocab * arch.hidden) / arch.layer_count
        trainable = ends + layers * each
    if more.get("adapter") == "llamapro" and method == "full":
        # Block expansion adds and trains one layer to every eight.
        trainable = active_parameter_count(arch) / 8
    moe_reached = arch.has_experts and more.get("moe_experts_quantised") != "1" and software == "transformers"
    return Job(
        arch=arch, method=method, software=software, optimizer=optimizer,
        state=_state(inputs, arch, software, method, precision), frozen_format=frozen,
        experts_quantised=not moe_reached, precision=precision, sequence=sequence,
        longest_sequence=longest, mean_sequence=mean, packed=packed,
        document_tokens=_document_tokens(inputs, more, packed),
        even_lengths=not inputs.get("packed") and not more.get("data_mean_tokens"),
        micro_batch=micro, accumulation=accumulation,
        recompute=_recompute(inputs.get("activation_checkpointing", ""), software, method, metric),
        flash_attention=_flash(inputs, device), chunked_loss=inputs.get("chunked_loss") == "1",
        compiled=_compiled(inputs, more),
        rank=rank, targets=TARGETS.get(more.get("lora_targets", ""), DEFAULT_TARGETS[software]),
        trainable_parameters=int(trainable) if trainable else None,
        weight_decomposed=more.get("adapter") == "dora", step_in_backward=more.get("optimizer_in_backward") == "1",
        offload_optimizer="optimizer" in offload or offload == "cpu", offload_parameters="params" in offload,
        offload_activations="activations" in offload, overlapped_tp=more.get("async_tp") == "1",
        expert_loop=more.get("expert_loop") == "1", split=split,
        logits_gathered=inputs.get("framework", "").lower().startswith(GATHERED_LOGITS),
    )  # fmt: skip


WRITTEN_FUSED = ("llm.c", "nanogpt")
"""llm.c's kernels are written by hand, several operations in each; nanoGPT compiles unless told not to (train.py)."""


WITHIN_SAMPLES = ("ms-swift", "axolotl", "trl", "torchtune", "unsloth")
"""Software that keeps attention within each of the samples it packs (position ids that start anew, block masks);
XTuner's and NeMo's see the whole sequence unless told otherwise."""


def _compiled(inputs: Mapping[str, str], more: Mapping[str, str]) -> bool:
    if more.get("compile") == "1" or more.get("kernels") in ("liger", "unsloth"):
        return True
    return more.get("compile") != "0" and inputs.get("framework", "").lower().startswith(WRITTEN_FUSED)


def _document_tokens(inputs: Mapping[str, str], more: Mapping[str, str], packed: bool) -> float | None:
    within = inputs.get("framework", "").lower().startswith(WITHIN_SAMPLES)
    if not packed or inputs.get("method") == "pretrain" or not within:
        return None
    return number(more.get("data_mean_tokens")) or float(DOCUMENT_TOKENS)


OWN_ATTENTION = ("chatglm2", "chatglm3", "baichuan2-13b")
"""Models whose published code writes attention scores out whatever it is told: prefix masks and ALiBi."""
FLASH_CAPABILITY = 8.0
"""FlashAttention-2 runs from Ampere on."""


def _flash(inputs: Mapping[str, str], device: Device | None) -> bool:
    if inputs.get("flash_attention") == "0" or inputs.get("model", "").lower().startswith(OWN_ATTENTION):
        return False
    capability = device.compute_capability if device is not None else None
    return (
        capability is None
        or device is None
        or device.vendor != "nvidia"
        or float(capability) >= FLASH_CAPABILITY
    )


def _capped_mean(mean: float, cap: int) -> float:
    """Mean of samples with exponential lengths of this mean, cut at ``cap``: mean × (1 − e^(−cap ÷ mean))."""
    from math import exp

    return mean * (1 - exp(-cap / mean))


def _counted(
    inputs: Mapping[str, str], more: Mapping[str, str], job: Job, device: Device | None
) -> tuple[float, float]:
    """Operations a token as the row counts them, and the peak it divides by."""
    flops = (
        4.0 if job.method != "full" and more.get("lora_flops_4n") == "1" else 6.0
    ) * active_parameter_count(job.arch)
    counted = inputs.get("flops_counted", "")
    if inputs.get("framework", "").lower().startswith(EVERYTHING_COUNTED):
        counted, flops = "with_attention", 6.0 * parameter_count(job.arch)
    if counted in ("with_attention", "hardware"):
        flops += counted_attention(job.arch, job.sequence)
    if counted == "hardware" and job.recompute == "full":
        flops *= 4 / 3
    if device is None:
        return flops, 1.0
    try:
        top = peak_flops(device, more.get("mfu_peak", "bf16"))[0]
    except NoRate:
        raise Unsupported("matrix rate of the accelerator not known") from None
    return flops, top


def _regime(job: Job, metric: str) -> str:
    if metric in ("gpu_hours", "minutes_to_train"):
        return "whole run"
    return regime("memory" if metric == "peak_mem_gib_per_gpu" else "speed", job)
