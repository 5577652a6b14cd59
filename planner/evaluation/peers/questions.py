"""A measured row as the peers are asked it, and the row's metric from their TTFT and TPOT.

Peers are asked for one replica at a known batch; rows without one (saturated runs, arrival rates) are not asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.evaluation.cards import cards
from planner.evaluation.rows import Row
from planner.evaluation.throughput_cases import Case, Unsupported, case
from planner.sizing.devices import Device

MILLISECONDS = 1000.0
GIGA, TERA = 1e9, 1e12


def question(row: Row) -> tuple[dict[str, Any], Case] | None:
    """What a peer is told of a row (never what was measured); None where it cannot be asked."""
    try:
        read = case(row.inputs)
    except (Unsupported, ValueError):
        return None
    if read.batch is None or read.by_rate or read.metric == "prefill_tok_s" or len(read.alternatives) > 1:
        return None
    (device,) = cards(row.inputs.get("gpu", ""), _memory(row.inputs)) or (None,)
    if device is None:
        return None
    point, replicas = read.alternatives[0].point, read.alternatives[0].replicas
    return {
        "id": row.id,
        "family": row.inputs.get("family", ""),
        "engine": point.classes.engine,
        "format": point.classes.format.removesuffix("_widened"),
        "batch": max(1, round(read.batch / replicas)),
        "input_tokens": max(1, round(read.input_tokens)),
        "output_tokens": max(1, round(read.output_tokens)),
        "together": read.kind == "fixed_batch",
        "tp": point.tp,
        "pp": point.pp,
        "experts": point.experts,
        "ep": _count(row.inputs, "ep"),
        "attention_dp": point.attention_dp,
        "device": _device(device),
    }, read


def _device(device: Device) -> dict[str, Any]:
    half = max(device.dense_rates.get("bf16", 0.0), device.dense_rates.get("fp16", 0.0))
    return {
        "name": device.name,
        "teraflops": half / TERA,
        "bandwidth_gb_per_s": device.bandwidth_bytes_per_s / GIGA,
        "memory_gb": device.engine_total_bytes / GIGA,
        "link_gb_per_s": (device.link_bytes_per_s or device.pcie_bytes_per_s or 0.0) / GIGA,
    }


def _memory(inputs: Mapping[str, str]) -> float | None:
    return float(inputs["gpu_memory_gb"]) if inputs.get("gpu_memory_gb") else None


def _count(inputs: Mapping[str, str], name: str) -> int:
    return int(float(inputs[name])) if inputs.get(name) else 1


def metric(read: Case, asked: Mapping[str, Any], ttft_s: float, tpot_s: float) -> float:
    """The row's metric: a batch takes TTFT + (output tokens − 1) × TPOT."""
    output = float(asked["output_tokens"])
    replicas = read.alternatives[0].replicas
    took_s = tpot_s * output if read.decode_only else ttft_s + max(output - 1.0, 0.0) * tpot_s
    tokens_per_s = asked["batch"] * output / max(took_s, 1e-12) * replicas
    found: dict[str, float] = {
        "ttft_ms": ttft_s * MILLISECONDS,
        "tpot_ms": tpot_s * MILLISECONDS,
        "decode_tok_s_single": 1.0 / max(tpot_s, 1e-12),
        "output_tok_s_total": tokens_per_s,
        "per_gpu_output_tok_s": tokens_per_s / read.gpus,
        "total_tok_s": tokens_per_s * (output + read.input_tokens) / output,
    }
    return found[read.metric]
