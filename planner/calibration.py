"""Fits the constants of the speed model on measurement files. See ``docs/methods.md`` for the method."""

from __future__ import annotations

from pathlib import Path

from planner.sizing.constants import CONSTANTS, Constant, Constants

SEED = Path(__file__).parent / "seeds" / "calibration.json"

PRIORS: dict[str, float] = {
    "weight_read_fraction": 0.78,
    "kv_read_fraction": 0.6,
    "decode_compute_fraction": 0.5,
    "prefill_compute_fraction": 0.55,
    "prefill_attention_fraction": 0.3,
    "roof_exponent": 3.0,
    "step_fixed_s": 1.5e-3,
    "step_layer_s": 4e-5,
    "step_sequence_s": 1e-5,
    "prefill_step_share": 0.3,
    "prefill_half_tokens": 64.0,
    "hop_s": 8e-6,
    "link_fraction": 0.6,
    "stage_s": 5e-5,
    "request_fixed_s": 2e-2,
    "synchrony_fraction": 0.4,
    "kv_residency_fraction": 0.8,
    "latency_limit_fraction": 0.8,
}
"""Where the fit starts and what it is pulled toward."""

PRIOR_FACTORS: dict[str, dict[str, dict[str, float]]] = {
    "hop_s": {"link": {"pcie": 3.0}},
    "step_layer_s": {"launch": {"eager": 2.0}, "engine": {"llama_cpp_now": 0.3, "llama_cpp_2024": 0.3}},
    "step_fixed_s": {"engine": {"llama_cpp_now": 0.3, "llama_cpp_2024": 0.3, "tensorrt_llm_now": 0.5}},
    "step_sequence_s": {"engine": {"tensorrt_llm_now": 0.3}},
    "request_fixed_s": {"engine": {"llama_cpp_now": 0.1, "llama_cpp_2024": 0.1}},
}


def first_constants() -> Constants:
    """The starting values as a set of constants, before any fit."""
    return Constants(
        version="prior",
        origin="starting values",
        constants=tuple(
            Constant(
                name=name,
                base=PRIORS[name],
                unit=CONSTANTS[name][0],
                by={axis: dict(PRIOR_FACTORS[name][axis]) for axis in PRIOR_FACTORS.get(name, {})},
                origin="starting value",
            )
            for name in CONSTANTS
        ),
    )


def constants() -> Constants:
    """The shipped constants."""
    return Constants.model_validate_json(SEED.read_text(encoding="utf-8"))
