"""The format a checkpoint is stored in, as its ``quantization_config`` says."""

from __future__ import annotations

from typing import Any


def stored_formats(quantised: object, dtype: object) -> tuple[str, str | None]:
    """The format a checkpoint is stored in, and the KV format it declares, from ``quantization_config``."""
    plain = {"float32": "fp32", "float16": "fp16"}.get(dtype if isinstance(dtype, str) else "", "bf16")
    if not isinstance(quantised, dict):
        return plain, None
    method = str(quantised.get("quant_method") or "").lower()[:40]
    algorithm = str(quantised.get("quant_algo") or "").lower()[:40]
    kv = quantised.get("kv_cache_scheme") or quantised.get("kv_cache_quant_algo")
    stored_kv = "fp8" if isinstance(kv, dict) or (isinstance(kv, str) and kv.lower() == "fp8") else None
    bits = quantised.get("bits")
    if method == "awq":
        return "int4_awq", stored_kv
    if method in ("gptq", "auto-round", "auto_round"):
        return ("int8" if bits == 8 else "int4_gptq"), stored_kv
    if method in ("fp8", "fbgemm_fp8"):
        return "fp8", stored_kv
    if method in ("mxfp4", "quark"):
        return "mxfp4", stored_kv
    if "nvfp4" in algorithm or "fp4" in algorithm:
        return "nvfp4", stored_kv
    if "fp8" in algorithm:
        return "fp8", stored_kv
    if method == "compressed-tensors":
        return _compressed(quantised), stored_kv
    return plain, stored_kv


def _compressed(quantised: dict[str, Any]) -> str:
    groups = quantised.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    scheme = first.get("weights") if isinstance(first, dict) else None
    if not isinstance(scheme, dict):
        return "bf16"
    bits, kind = scheme.get("num_bits"), scheme.get("type")
    if bits == 4:
        return "nvfp4" if kind == "float" else "int4_gptq"
    return "fp8" if kind == "float" else "int8"
