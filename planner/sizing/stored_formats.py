"""The format a checkpoint is stored in, as its ``quantization_config`` says."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from planner.sizing.formats import Group

GROUP_SIZE_MAXIMUM = 4096
PATTERNS: tuple[tuple[Group, str], ...] = (("attention", r"attn|attention"), ("mlp", r"shared_expert"))
"""How lists of modules that are left alone name a group."""


class Stored(NamedTuple):
    """``format`` and ``kv_format`` as declared; groups left at 16 bits; bits where groups are of an odd size."""

    format: str
    kv_format: str | None = None
    kept: tuple[Group, ...] = ()
    linear_bits: float | None = None
    understood: bool = True
    """False where a quantisation is declared that no format here stands for (several formats mixed)."""


def stored_formats(quantised: object, dtype: object, layer_count: int) -> Stored:
    """What ``quantization_config`` says of a checkpoint; 16 or 32 bits by ``dtype`` where it says nothing."""
    plain = {"float32": "fp32", "float16": "fp16"}.get(dtype if isinstance(dtype, str) else "", "bf16")
    if not isinstance(quantised, dict):
        return Stored(plain)
    name, bits = _format(quantised)
    kv = quantised.get("kv_cache_scheme") or quantised.get("kv_cache_quant_algo")
    kv_format = "fp8" if isinstance(kv, dict) or (isinstance(kv, str) and kv.lower() == "fp8") else None
    if name is None:
        return Stored(plain, kv_format, understood=False)
    return Stored(name, kv_format, _kept(quantised, layer_count), bits)


def _format(quantised: dict[str, Any]) -> tuple[str | None, float | None]:
    method = str(quantised.get("quant_method") or "").lower()[:40]
    algorithm = str(quantised.get("quant_algo") or "").lower()[:40]
    bits = quantised.get("bits")
    if algorithm == "mixed_precision":
        return None, None
    if method == "awq":
        return "int4_awq", _int4_bits(quantised.get("group_size"), zero_points=True)
    if method in ("gptq", "auto-round", "auto_round"):
        if bits == 8:
            return "int8", None
        return "int4_gptq", _int4_bits(quantised.get("group_size"), zero_points=True)
    if method in ("fp8", "fbgemm_fp8"):
        return "fp8", None
    if method in ("mxfp4", "quark"):
        return "mxfp4", None
    if "fp4" in algorithm:
        return "nvfp4", None
    if "fp8" in algorithm:
        return "fp8", None
    if method == "compressed-tensors":
        return _compressed(quantised)
    return None, None


def _int4_bits(group_size: object, *, zero_points: bool) -> float | None:
    """Bits with scale (16) and zero point (4) a group; None for the usual 128, or where nothing sensible is said."""
    if isinstance(group_size, bool) or not isinstance(group_size, int):
        return None
    if not 8 <= group_size <= GROUP_SIZE_MAXIMUM or (group_size == 128 and zero_points):
        return None
    return 4 + (20 if zero_points else 16) / group_size


def _compressed(quantised: dict[str, Any]) -> tuple[str | None, float | None]:
    groups = quantised.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    scheme = first.get("weights") if isinstance(first, dict) else None
    if not isinstance(scheme, dict):
        return None, None
    kind = scheme.get("type")
    if scheme.get("num_bits") == 4:
        if kind == "float":
            said = f"{quantised.get('format')} {first.get('format') if isinstance(first, dict) else ''}"
            return ("mxfp4" if "mxfp4" in said else "nvfp4"), None
        return "int4_gptq", _int4_bits(scheme.get("group_size"), zero_points=scheme.get("symmetric") is False)
    return ("fp8" if kind == "float" else "int8"), None


def _kept(quantised: dict[str, Any], layer_count: int) -> tuple[Group, ...]:
    """Groups that the list of modules to leave alone names by a pattern, or in at least half of the layers."""
    names: list[str] = []
    for key in ("ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers"):
        listed = quantised.get(key)
        if isinstance(listed, list):
            names.extend(name[:200] for name in listed if isinstance(name, str))
    found: list[Group] = []
    for group, pattern in PATTERNS:
        matching = [name for name in names if re.search(pattern, name) and "vision" not in name]
        layers = {number.group(1) for name in matching if (number := re.search(r"\.(\d+)\.", name))}
        everywhere = any("*" in name or not re.search(r"\.\d+\.", name) for name in matching)
        if everywhere or (len(layers) * 2 >= layer_count > 0 and layers):
            found.append(group)
    return tuple(found)
