"""How a training row is split over its GPUs: what is stated, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping

from planner.sizing.architecture import Architecture, parameter_count
from planner.sizing.devices import Device
from planner.sizing.training.job import Software, Split

GPUS_PER_NODE = 8
PRETRAINING_BATCH_TOKENS = 4e6
"""A usual batch of pre-training, where none is stated."""
PRETRAINING_MICRO_TOKENS = 8192
"""Tokens that keep a GPU busy in one micro-batch of pre-training, where neither batch nor micro-batch is stated."""
PIPELINE_MICRO_BATCHES = 4
"""Micro-batches a stage of a pipeline has to work on, where a row says neither batch nor accumulation."""
STATE_FRACTION = 0.7
"""Of a card that weights, gradients and a share of the optimizer may take when nothing is said of the split."""
SHARDED_STATE_BYTES = 6.5
"""Weights and gradients of a parameter, and what many ranks leave of its optimizer."""


def number(text: str | None) -> float | None:
    return float(text) if text else None


def model_parallel(arch: Architecture, device: Device) -> tuple[int, int]:
    """The smallest tensor- and pipeline-parallel degrees that hold a model whose optimizer is split over many ranks."""
    need = parameter_count(arch) * SHARDED_STATE_BYTES / (STATE_FRACTION * device.engine_total_bytes)
    tp = next((degree for degree in (1, 2, 4, 8) if degree >= need), GPUS_PER_NODE)
    pp = 1
    while tp * pp < need:
        pp *= 2
    return tp, pp


def split_of(
    inputs: Mapping[str, str],
    more: Mapping[str, str],
    software: Software,
    sequence: int,
    arch: Architecture,
    device: Device | None,
) -> tuple[Split, int, int]:
    """Degrees, micro-batch and accumulation, with what is not stated worked out from what is."""
    count = int(number(inputs.get("gpu_count")) or 1)
    tp, pp, cp, ep = (int(number(inputs.get(name)) or 1) for name in ("tp", "pp", "cp", "ep"))
    micro = int(number(inputs.get("micro_batch")) or 1)
    stated_accumulation = number(inputs.get("grad_accum"))
    batch = number(inputs.get("global_batch"))
    if inputs.get("method") == "pretrain" and not inputs.get("micro_batch") and not batch:
        micro = max(1, PRETRAINING_MICRO_TOKENS // sequence)
    serial = more.get("device_map") == "naive"
    if serial:
        tp, pp, cp = 1, count, 1
    if more.get("sequence_parallel") == "long_lengths" and sequence > 8192 * 2:
        cp = min(count, max(1, sequence // 32768))
    # A data-parallel degree says how the rest is split only where the number of GPUs is stated, too.
    stated = ("tp", "pp", "zero_stage", "dp") if inputs.get("gpu_count") else ("tp", "pp", "zero_stage")
    laid_out = any(inputs.get(name) for name in stated) or serial or cp > 1
    if not laid_out and batch and stated_accumulation and count > 1:
        # Nothing is said of the split: ranks that share a batch follow from batch, accumulation and micro-batch.
        ranks = max(1, round(count * stated_accumulation * micro / batch))
        tp = min(GPUS_PER_NODE, ranks)
        while count % tp:
            tp -= 1
        pp = max(1, ranks // tp)
    elif (
        not laid_out
        and not inputs.get("parallelism")
        and inputs.get("method") == "pretrain"
        and device is not None
    ):
        tp, pp = model_parallel(arch, device)
    if tp * pp * cp > count:
        count = tp * pp * cp
    dp = int(number(inputs.get("dp")) or 0) or max(1, count // (tp * pp * cp))
    if dp * tp * pp * cp > count or (count % (dp * tp * pp * cp) == 0 and inputs.get("zero_stage") != "3"):
        dp = max(1, count // (tp * pp * cp))
    accumulation = 1
    if (
        pp > 1
        and not serial
        and not stated_accumulation
        and (software == "torch" or (batch and micro * dp >= batch))
    ):
        # What PyTorch's pipelines call a batch is cut into micro-batches of one.
        micro, accumulation = 1, max(1, micro, int(batch // dp) if batch else 1)
    elif batch:
        accumulation = max(1, round(batch / (micro * dp)))
    elif stated_accumulation:
        accumulation = int(stated_accumulation)
    elif inputs.get("method") == "pretrain" and not inputs.get("micro_batch"):
        accumulation = max(1, round(PRETRAINING_BATCH_TOKENS / (sequence * micro * dp)))
    elif pp > 1:
        accumulation = PIPELINE_MICRO_BATCHES * pp
    zero = int(number(inputs.get("zero_stage")) or 0)
    splits_optimizer = software == "megatron" or "megatron" in inputs.get("framework", "").lower()
    if not inputs.get("zero_stage") and splits_optimizer and inputs.get("method") != "lora":
        zero = 1
    # Megatron's own recipes interleave; DeepSpeed's pipeline cannot.
    deepspeed = "deepspeed" in inputs.get("framework", "").lower()
    interleaved = more.get("schedule") == "interleaved_1f1b" or (
        software == "megatron"
        and "deepspeed" not in inputs.get("framework", "").lower()
        and not more.get("schedule")
    )
    split = Split(
        tp=tp, pp=pp, cp=cp, dp=dp, ep=min(ep, tp * cp * dp), zero_stage=zero, serial=serial,
        sequence_parallel=tp > 1 and software in ("megatron", "torch") and not deepspeed,
        virtual_stages=int(number(more.get("vp")) or (2 if interleaved and arch.layer_count >= 4 * pp else 1)),
    )  # fmt: skip
    return split, micro, accumulation
