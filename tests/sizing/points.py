"""Serving points and constants for the tests of speed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from planner.sizing.constants import CONSTANTS, Constant, Constants, PointClasses
from planner.sizing.serving import Load, ServingPoint
from planner.sizing.speculation import accepted

CLASSES = PointClasses(
    engine="vllm", era="vllm_now", year="2026", device="hopper_hbm", format="w16", link="nvlink"
)

VALUES = {
    "weight_read_fraction": 0.8,
    "kv_read_fraction": 0.7,
    "decode_compute_fraction": 0.5,
    "prefill_compute_fraction": 0.6,
    "block_compute_fraction": 0.15,
    "prefill_attention_fraction": 0.3,
    "roof_exponent": 3.0,
    "routing_spread": 0.8,
    "expert_read_fraction": 0.9,
    "step_fixed_s": 1e-3,
    "step_layer_s": 4e-5,
    "step_sequence_s": 1e-5,
    "prefill_step_share": 0.4,
    "prefill_half_tokens": 60.0,
    "hop_s": 8e-6,
    "hop_growth": 0.6,
    "link_fraction": 0.5,
    "stage_s": 5e-5,
    "stage_overlap": 0.3,
    "request_fixed_s": 2e-2,
    "synchrony_fraction": 0.3,
    "kv_residency_fraction": 0.75,
    "preempted_share": 0.4,
    "latency_limit_fraction": 0.75,
}


def constants(**changed: float) -> Constants:
    """Round numbers near those of the shipped set."""
    values = VALUES | changed
    return Constants(
        version="test",
        origin="test",
        constants=tuple(
            Constant(name=name, base=values[name], unit=unit, origin="test")
            for name, (unit, _) in CONSTANTS.items()
        ),
    )


EIGHT_BILLION = ServingPoint(
    classes=CLASSES,
    bandwidth_bytes_per_s=3.35e12,
    matrix_flops_per_s=989e12,
    block_kernels=0.0,
    attention_flops_per_s=989e12,
    link_bytes_per_s=450e9,
    link_tokens_share=1.0,
    tp=1,
    pp=1,
    layers=32,
    hidden=4096,
    always_read_bytes=15.0e9,
    experts_read_bytes=0.0,
    experts=0,
    experts_per_token=0,
    linear_flops_per_token=15.0e9,
    kv_read_bytes=1150 * 131072.0,
    decode_attention_flops=1150 * 524288.0,
    prompt_attention_flops=1000 * 1000 / 2 * 524288.0,
    kv_room_bytes=50e9,
    kv_prompt_bytes=1000 * 131072.0,
    kv_full_bytes=1300 * 131072.0,
    batch_cap=256.0,
    chunk_tokens=8192.0,
    prompt_tokens=1000.0,
    output_tokens=300.0,
    load="concurrency",
    load_value=8.0,
)
"""About Llama-3.1-8B in BF16 on one H100."""


@st.composite
def points(draw: st.DrawFn) -> ServingPoint:
    """Replicas of all sizes; half of them hold a dozen requests, the others fewer or none."""

    def between(low: float, high: float) -> float:
        return draw(st.floats(low, high, allow_nan=False, allow_infinity=False))

    tp = draw(st.sampled_from([1, 2, 4, 8]))
    experts = draw(st.sampled_from([0, 8, 128]))
    weights = 10 ** between(8.5, 11)
    prompt, output = between(1, 50_000), between(2, 8_000)
    token = 10 ** between(3.5, 5.5)
    request = (prompt + output) * token
    drafted = draw(st.sampled_from([0, 0, 3]))
    load: Load = draw(st.sampled_from(["concurrency", "rate"]))
    room = draw(st.sampled_from([0.5, 3.0, 40.0, 400.0, 4000.0])) * request
    return replace(
        EIGHT_BILLION,
        bandwidth_bytes_per_s=10 ** between(11, 13),
        matrix_flops_per_s=10 ** between(13.5, 16),
        attention_flops_per_s=10 ** between(13, 15.5),
        link_bytes_per_s=10 ** between(10, 12),
        tp=tp,
        pp=draw(st.sampled_from([1, 1, 2, 4])),
        layers=draw(st.integers(8, 128)),
        hidden=draw(st.sampled_from([2048, 4096, 16384])),
        always_read_bytes=weights if not experts else weights / 5,
        experts_read_bytes=0.0 if not experts else weights / experts,
        experts=experts,
        experts_per_token=min(8, experts // 4),
        linear_flops_per_token=weights,
        kv_read_bytes=(prompt + output / 2) * token,
        decode_attention_flops=(prompt + output / 2) * token * 4,
        prompt_attention_flops=prompt * prompt / 2 * token * 4,
        kv_room_bytes=room,
        kv_prompt_bytes=prompt * token,
        kv_full_bytes=request,
        batch_cap=draw(st.sampled_from([4.0, 64.0, 1024.0])),
        chunk_tokens=draw(st.sampled_from([512.0, 8192.0])),
        prompt_tokens=prompt,
        output_tokens=output,
        attention_dp=draw(st.sampled_from([1, tp])),
        drafted=drafted,
        accepted=accepted(drafted, between(0.2, 0.9)),
        load=load,
        load_value=10 ** between(0, 2.5) if load == "concurrency" else 10 ** between(-3, 1),
    )
