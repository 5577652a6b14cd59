"""From an architecture, a device and lengths to the serving point that ``serving`` operates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from planner.sizing import kv_cache, weights
from planner.sizing.architecture import Architecture
from planner.sizing.constants import PointClasses, device_class, engine_era, link_class
from planner.sizing.devices import Device, Layout, Link
from planner.sizing.formats import compute_rate
from planner.sizing.runtime import Runtime, version_key
from planner.sizing.serving import Load, ServingPoint
from planner.sizing.speculation import Draft

PCIE_BYTES_PER_S = 26e9
"""One direction of PCIe 4.0 x16 after protocol overhead, where the card's own link is not known."""
FP16_PER_FP32 = {"intel": 8.0}
FP16_PER_FP32_ELSEWHERE = 2.0
"""16-bit rate assumed for each FP32 FLOP where it is not known: packed halves; XMX units on Intel."""
INT8_PER_FP16_NVIDIA = 4.0
"""INT8 for each 16-bit FLOP with FP32 sums on GeForce-class chips, where the INT8 rate is not known (RTX 3090,
4090 and 5090 data sheets)."""
FLOPS_PER_BYTE_GUESS = 30.0
"""FLOP for each byte of bandwidth of chips with unified memory whose rate no source gives: 26 (M1 Max) to 34
(M2 Ultra) as commonly quoted."""


class UnknownRate(Exception):
    """No compute rate of this device is known, so nothing can be said of its prefill."""

    code = "unknown_rate"

    def __init__(self, device: str, weights_format: str) -> None:
        self.params = {"device": device, "weights_format": weights_format}
        super().__init__(f"{device}: no compute rate known for {weights_format}")


FORMAT_CLASSES = {
    "fp32": "w16", "bf16": "w16", "fp16": "w16", "fp8": "fp8", "int8": "int8", "int4_awq": "int4",
    "int4_gptq": "int4", "gguf_q4_k_m": "gguf", "gguf_q8_0": "gguf", "mxfp4": "fp4", "nvfp4": "fp4",
}  # fmt: skip
"""Formats that run on the same kernels share constants."""


def format_class(weights_format: str, saves_memory_only: bool) -> str:
    """Class of kernels; a narrow float that is widened before the product is a class of its own."""
    found = FORMAT_CLASSES[weights_format]
    return f"{found}_widened" if saves_memory_only and found in ("fp8", "fp4") else found


@dataclass(frozen=True, slots=True)
class _Model:
    """What one rank has of a model, all pipeline stages together."""

    layers: int
    hidden: int
    always_read_bytes: float
    experts_read_bytes: float
    experts: int
    experts_per_token: int
    linear_flops_per_token: float
    attended_fraction: float


@lru_cache(maxsize=2048)
def _model(arch: Architecture, weights_format: str, tp: int, dp: int) -> _Model:
    whole = weights.footprint(arch, weights_format, Layout(tp=tp * dp))
    always = weights.footprint(arch, weights_format, Layout(tp=tp)) if dp > 1 else whole
    attended = (always.linear_flops_per_token - always.expert_flops_per_token) / dp
    linear = attended + whole.expert_flops_per_token if dp > 1 else whole.linear_flops_per_token
    return _Model(
        layers=arch.layer_count,
        hidden=arch.hidden,
        always_read_bytes=float(always.always_read_bytes),
        experts_read_bytes=float(whole.expert_bytes * whole.moe_layers),
        experts=whole.experts,
        experts_per_token=whole.experts_per_token,
        linear_flops_per_token=linear,
        attended_fraction=attended / linear if linear else 1.0,
    )


@lru_cache(maxsize=8192)
def _kv(
    arch: Architecture, kv_format: str, weights_format: str, tp: int, dp: int, runtime: Runtime,
    chunk_tokens: int, prompt: float, cached: float, output: float,
) -> tuple[float, float, float, float, float]:  # fmt: skip
    """Bytes read and FLOPs of a decode step, FLOPs of the prompt, bytes held after it and at the end."""
    kv = kv_cache.footprint(arch, kv_format, weights_format, Layout(tp=tp), runtime, chunk_tokens)
    middle = prompt + output / 2
    prompt_flops = kv.prompt_flops(prompt) - kv.prompt_flops(cached)
    return (
        kv.read_bytes(middle) / dp,
        kv.attention_flops(middle) / dp,
        max(prompt_flops, 0.0) / dp,
        kv.bytes_for(max(1, round(prompt))) / dp,
        kv.bytes_for(max(1, round(prompt + output))) / dp,
    )


def _before_graphs(runtime: Runtime) -> bool:
    """vLLM records CUDA graphs since 0.2.7 (its release notes)."""
    version = version_key(runtime.version)
    return runtime.name == "vllm" and bool(version) and version < (0, 2, 7)


class Software(NamedTuple):
    """Engine, era and year of release as classes of constants."""

    engine: str
    era: str
    year: str


def classes_of(
    device: Device,
    weights_format: str,
    runtime: Runtime,
    link: Link,
    *,
    eager: bool = False,
    software: Software | None = None,
) -> PointClasses:
    """The classes whose constants hold for this combination; ``software`` where it is not the runtime's own."""
    rate = compute_rate(device, weights_format)
    own = software or Software(runtime.name, *engine_era(runtime.name, version_key(runtime.version)))
    kernels = format_class(weights_format, rate.saves_memory_only if rate else False)
    is_eager = eager or _before_graphs(runtime)
    return _classes(own, device_class(device), kernels, link_class(link), is_eager)


@lru_cache(maxsize=1024)
def _classes(software: Software, device: str, kernels: str, link: str, is_eager: bool) -> PointClasses:
    """One object for all points of the same classes: what is kept for it is found at once."""
    return PointClasses(
        engine=software.engine, era=software.era, year=software.year, device=device, format=kernels, link=link,
        launch="eager" if is_eager else "graphs",
    )  # fmt: skip


def link_bytes_per_s(device: Device, link: Link) -> float:
    """One direction of the link between the devices of a machine."""
    if link == "pcie" or link == "unknown" or device.link_bytes_per_s is None:
        return device.pcie_bytes_per_s or PCIE_BYTES_PER_S
    return device.link_bytes_per_s / 2


def matrix_rate(device: Device, engine: str, weights_format: str, half: float) -> tuple[float, bool]:
    """Peak rate of the products of the weights, and whether it is that of integer blocks.

    ``half`` is the device's 16-bit rate. llama.cpp multiplies its block formats in INT8 where the device can,
    and 16-bit weights with FP16 sums, at half the INT8 rate (on GeForce cards twice the rate with FP32 sums).
    Source: ggml-cuda's mmq kernels and cuBLAS calls.
    """
    rate = compute_rate(device, weights_format)
    found = half if rate is None or rate.name == "fp32" else rate.flops
    if engine != "llama_cpp":
        return found, False
    guess = INT8_PER_FP16_NVIDIA * half if device.vendor == "nvidia" else 0.0
    integer = device.dense_rates.get("int8", guess)
    if FORMAT_CLASSES[weights_format] in ("gguf", "fp4", "int4") and integer > 0.0:
        return integer, True
    return max(found, integer / 2), False


def serving_point(
    arch: Architecture,
    device: Device,
    runtime: Runtime,
    layout: Layout,
    *,
    link: Link,
    weights_format: str,
    kv_format: str,
    input_tokens: float,
    output_tokens: float,
    kv_room_bytes: float,
    batch_cap: float,
    chunk_tokens: int,
    load: Load,
    load_value: float = 0.0,
    prefix_hit_fraction: float = 0.0,
    draft: Draft | None = None,
    eager: bool = False,
    software: Software | None = None,
    guess_rate: bool = False,
) -> ServingPoint:
    """The serving point of one replica. ``load_value`` is of one replica; ``kv_room_bytes`` of one rank.

    Where groups of ranks keep the attention of their own requests, what a request holds, reads and computes there
    counts divided by the groups, as all of them work side by side; exchanges send a token to the ranks of its experts.
    Pipeline stages share layers evenly. Raises ``NotSized`` for attention kinds that are not covered and
    ``UnknownRate`` where nothing is known of the device's compute, unless ``guess_rate`` takes
    ``FLOPS_PER_BYTE_GUESS`` of its bandwidth instead.
    """
    half = max(device.dense_rates.get("bf16", 0.0), device.dense_rates.get("fp16", 0.0))
    if half == 0.0:
        half = device.dense_rates.get("fp32", 0.0) * FP16_PER_FP32.get(device.vendor, FP16_PER_FP32_ELSEWHERE)
    if half == 0.0 and guess_rate:
        half = device.bandwidth_bytes_per_s * FLOPS_PER_BYTE_GUESS
    if half == 0.0:
        raise UnknownRate(device.name, weights_format)
    matrix_flops, blocks = matrix_rate(device, runtime.name, weights_format, half)
    model = _model(arch, weights_format, layout.tp, layout.dp)
    kv_read, kv_flops, prompt_flops, kv_prompt, kv_full = _kv(
        arch, kv_format, weights_format, layout.tp, layout.dp, runtime, chunk_tokens, float(input_tokens),
        float(input_tokens) * prefix_hit_fraction, float(output_tokens),
    )  # fmt: skip
    return ServingPoint(
        classes=classes_of(device, weights_format, runtime, link, eager=eager, software=software),
        bandwidth_bytes_per_s=device.bandwidth_bytes_per_s,
        matrix_flops_per_s=matrix_flops,
        block_kernels=float(blocks),
        attention_flops_per_s=half,
        link_bytes_per_s=link_bytes_per_s(device, link),
        tp=layout.ranks,
        pp=layout.pp,
        layers=model.layers,
        hidden=model.hidden,
        always_read_bytes=model.always_read_bytes,
        experts_read_bytes=model.experts_read_bytes,
        experts=model.experts,
        experts_per_token=model.experts_per_token,
        linear_flops_per_token=model.linear_flops_per_token,
        kv_read_bytes=kv_read,
        decode_attention_flops=kv_flops,
        prompt_attention_flops=prompt_flops,
        kv_room_bytes=kv_room_bytes * layout.pp,
        kv_prompt_bytes=kv_prompt,
        kv_full_bytes=kv_full,
        batch_cap=batch_cap * layout.dp,
        link_tokens_share=1.0
        if layout.dp == 1
        else min(model.experts_per_token or 1, layout.ranks) / layout.dp / 2,
        chunk_tokens=float(chunk_tokens),
        prompt_tokens=float(input_tokens) * (1 - prefix_hit_fraction),
        output_tokens=float(output_tokens),
        load=load,
        attention_dp=layout.dp,
        attended_fraction=model.attended_fraction,
        drafted=float(draft.tokens) if draft else 0.0,
        accepted=draft.accepted if draft else 1.0,
        accepted_spread=draft.spread if draft else (1.0, 1.0),
        load_value=load_value,
    )
