"""Number formats: how many bits each group of tensors takes, and on which units it is computed.

Bits include scales and zero points. Groups that a quantisation leaves alone stay at 16 bits (norms and
routers of GGUF files at 32).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from planner.sizing.devices import Device, Rate
from planner.sizing.quantities import Frozen

Group = Literal["embedding", "head", "norm", "router", "attention", "mlp", "expert", "tower"]
FILE_BITS = {
    "F32": 32.0, "F16": 16.0, "Q8_0": 8.5, "Q6_K": 6.5625, "Q5_K": 5.5, "Q5_0": 5.5, "Q4_K": 4.5, "Q4_0": 4.5,
    "Q3_K": 3.4375, "Q2_K": 2.625, "IQ4_XS": 4.25, "IQ4_NL": 4.5,
}  # fmt: skip
"""Bits a weight of the block types of GGUF files: block bytes × 8 ÷ weights in a block (ggml's block
structs)."""

K_BLOCK = 256
"""Weights in one super-block of a K type; rows that it does not divide fall back to a 32-weight type."""


class Format(Frozen):
    """One weights format. ``linear_bits`` holds for matrices of attention and MLP, scales included."""

    name: str
    label: str
    linear_bits: float
    embedding_bits: float = 16
    head_bits: float = 16
    norm_bits: float = 16
    router_bits: float = 16
    attention_bits: float | None = None
    """Where it differs from ``linear_bits`` although the model has experts (expert-only quantisation)."""
    latent_attention_bits: float | None = None
    """The same where attention is latent (MLA)."""
    expert_tile: int | None = None
    """Kernels of this format pad the width of experts to a multiple of this."""
    quantised_group: int | None = None
    """Weights that share a scale along the input: it must divide a rank's share of the input features."""
    rate: Rate
    """The units it would be computed on, if the device has them."""
    weight_only: bool = False
    """Weights are widened to 16 bits before the product, on any device."""
    file_type: str | None = None
    source: str


_HALF = "IEEE 754 / bfloat16: 16 bits a weight"
_GGML = "ggml block structs (ggml-common.h) and llama.cpp's tensor-type choice of llama-quantize"
FORMATS: dict[str, Format] = {
    item.name: item
    for item in (
        Format(name="fp32", label="FP32", linear_bits=32, embedding_bits=32, head_bits=32, norm_bits=32,
               router_bits=32, rate="fp32", source="IEEE 754"),
        Format(name="bf16", label="BF16", linear_bits=16, rate="bf16", source=_HALF),
        Format(name="fp16", label="FP16", linear_bits=16, rate="fp16", source=_HALF),
        Format(name="fp8", label="FP8", linear_bits=8 + 32 / (128 * 128), quantised_group=128, rate="fp8",
               source="FP8 checkpoints: E4M3, one FP32 scale per 128 × 128 block, or per channel"),
        Format(name="int8", label="INT8", linear_bits=8 + 16 / 4096, rate="int8",
               source="W8A8 checkpoints of compressed-tensors: one 16-bit scale per output channel"),
        Format(name="int4_awq", label="INT4 (AWQ)", linear_bits=4 + (16 + 4) / 128, quantised_group=128,
        rate="fp16",
               weight_only=True, source="AWQ: groups of 128 with a 16-bit scale and a 4-bit zero point"),
        Format(name="int4_gptq", label="INT4 (GPTQ)", linear_bits=4 + (16 + 4) / 128, quantised_group=128,
               rate="fp16", weight_only=True,
               source="GPTQ: groups of 128 with a 16-bit scale and a 4-bit zero point"),
        Format(name="gguf_q4_k_m", label="GGUF Q4_K_M", linear_bits=4.5, embedding_bits=4.5, head_bits=6.5625,
               norm_bits=32, router_bits=32, quantised_group=K_BLOCK, rate="fp16", weight_only=True,
               file_type="Q4_K", source=_GGML),
        Format(name="gguf_q8_0", label="GGUF Q8_0", linear_bits=8.5, embedding_bits=8.5, head_bits=8.5,
               norm_bits=32, router_bits=32, quantised_group=32, rate="fp16", weight_only=True,
               file_type="Q8_0",
               source=_GGML),
        Format(name="mxfp4", label="MXFP4", linear_bits=4 + 8 / 32, attention_bits=16,
        latent_attention_bits=16,
               quantised_group=32, expert_tile=256, rate="fp4",
               source="OCP Microscaling formats 1.0: blocks of 32, an 8-bit scale; gpt-oss: experts only"),
        Format(name="nvfp4", label="NVFP4", linear_bits=4 + 8 / 16, latent_attention_bits=16,
        quantised_group=16,
               rate="fp4",
               source="NVFP4: blocks of 16 with an FP8 scale; MLA projections are left at 16 bits"),
    )
}  # fmt: skip

KV_BITS: dict[str, float] = {
    "fp32": 32,
    "bf16": 16,
    "fp16": 16,
    "fp8": 8,
    "int8": 8,
    "q8_0": 8.5,
    "q4_0": 4.5,
    "q8_0+f16": (8.5 + 16) / 2,
    "q8_0+q4_0": (8.5 + 4.5) / 2,
    "iq4_nl+f16": (4.5 + 16) / 2,
}
"""Bits an element of the KV cache. FP8 scales are per tensor or per layer and take no memory worth
counting. ``a+b``: keys in one type and values in the other, where both are equally wide."""


def get(name: str) -> Format:
    """The format of that name. Raises ``KeyError`` for an unknown one."""
    return FORMATS[name]


def kv_bits(kv_format: str, weights_format: str) -> float:
    """Bits of one KV element; ``auto`` is the model's own 16 bits, or 32 where the weights are FP32."""
    if kv_format == "auto":
        return 32 if weights_format == "fp32" else 16
    return KV_BITS[kv_format]


@lru_cache(maxsize=4096)
def tensor_bits(
    form: Format, group: Group, role: str, columns: int, has_experts: bool, latent: bool,
    more_bits_fraction: float,
    tied: bool, kv_sharing: int,
) -> float:  # fmt: skip
    """Bits a weight of one tensor, scales included.

    ``more_bits_fraction`` is the share of layers whose value and down matrices a Q4_K_M file keeps in Q6_K,
    ``kv_sharing`` how many query heads share a KV head (8 or more: value matrices get more bits there).
    """
    if group == "tower":
        return max(16.0, form.embedding_bits) if form.file_type is None else 16.0
    if group == "norm":
        return form.norm_bits
    if group == "router":
        return form.router_bits
    if form.file_type is not None:
        return _file_bits(form, group, role, columns, has_experts, more_bits_fraction, tied, kv_sharing)
    if group == "embedding":
        return form.embedding_bits
    if group == "head":
        return form.head_bits
    if columns == 1:
        return max(16.0, form.norm_bits)
    if group == "attention":
        if latent and form.latent_attention_bits is not None:
            return form.latent_attention_bits
        if has_experts and form.attention_bits is not None:
            return form.attention_bits
    return form.linear_bits


def _file_bits(
    form: Format, group: Group, role: str, columns: int, has_experts: bool, more_bits_fraction: float,
    tied: bool,
    kv_sharing: int,
) -> float:  # fmt: skip
    if columns == 1:
        return FILE_BITS["F32"]
    if form.file_type == "Q8_0":
        return FILE_BITS["Q8_0"]
    divides = columns % K_BLOCK == 0
    base = FILE_BITS["Q4_K"] if divides else FILE_BITS["Q5_0"]
    more = FILE_BITS["Q6_K"] if divides else FILE_BITS["Q8_0"]
    if group == "head" or (group == "embedding" and tied):
        return more
    if role == "v" and has_experts:
        return FILE_BITS["Q8_0"]
    if role == "v" and kv_sharing >= 8:
        low = FILE_BITS["Q5_K"] if divides else base
        return more_bits_fraction * more + (1 - more_bits_fraction) * low
    if role in ("v", "down"):
        return more_bits_fraction * more + (1 - more_bits_fraction) * base
    if role == "k" and has_experts:
        return FILE_BITS["Q8_0"]
    if role == "o" and has_experts:
        return FILE_BITS["Q5_K"] if divides else base
    return base


class ComputeRate(NamedTuple):
    """Where the products of a format run on one device."""

    name: Rate
    flops: float
    saves_memory_only: bool


def compute_rate(device: Device, format_name: str) -> ComputeRate | None:
    """Dense FLOP/s at which this device computes with weights of this format; None where no rate is known.

    A format that the matrix units do not run is widened: it saves memory and bandwidth, not compute time.
    """
    form = FORMATS[format_name]
    if not form.weight_only and form.rate in device.dense_rates:
        return ComputeRate(form.rate, device.dense_rates[form.rate], False)
    narrow = form.linear_bits < 16
    order: tuple[Rate, ...] = ("fp32",) if form.name == "fp32" else ("bf16", "fp16", "fp32")
    if form.name == "fp16" or (form.weight_only and "fp16" in device.dense_rates):
        order = ("fp16", "bf16", "fp32")
    if form.name == "fp32":
        order = ("fp32", "tf32")
    for name in order:
        if name in device.dense_rates:
            return ComputeRate(name, device.dense_rates[name], narrow)
    return None
