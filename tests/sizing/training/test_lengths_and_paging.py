"""What padding, packing, paging, power, stages and experts do to the time of a step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import architectures
from planner.sizing.architecture import Architecture
from planner.sizing.training import speed
from planner.sizing.training.fabric import fabric
from planner.sizing.training.flops import executed
from planner.sizing.training.job import Job, Split
from planner.sizing.training.shapes import usual, usual_with_experts
from planner.sizing.training.states import moment_bytes
from planner.sizing.workload import ModelReference
from tests.sizing.machines import A100, H100

ARCH = usual(7e9)
USUAL_PCIE = 64e9


def _job(**changes: Any) -> Job:
    return Job(arch=ARCH, **changes)


def test_a_padded_micro_batch_of_one_computes_its_own_tokens_and_larger_ones_pad_to_the_longest() -> None:
    short = [
        _job(packed=False, mean_sequence=500.0, sequence=4096, micro_batch=n).computed_tokens
        for n in (1, 2, 8, 1000)
    ]
    assert short[0] == 500.0
    # Two exponential lengths: the longer is 1.5 times the mean.
    assert short[1] == pytest.approx(750, rel=0.001)
    assert short[2] == pytest.approx(500 * sum(1 / k for k in range(1, 9)), rel=0.01)
    assert short[3] < 4096
    assert short == sorted(short)


def test_padding_never_passes_the_longest_sample() -> None:
    job = _job(packed=False, mean_sequence=1000.0, longest_sequence=1200, sequence=4096, micro_batch=16)
    assert job.computed_tokens == 1200


@given(st.integers(1, 64), st.integers(1, 64), st.floats(16, 4096))
def test_a_larger_micro_batch_never_pads_less(micro: int, more: int, mean: float) -> None:
    def computed(n: int) -> float:
        return _job(packed=False, mean_sequence=mean, sequence=4096, micro_batch=n).computed_tokens

    assert mean <= computed(micro) <= computed(micro + more) <= 4096 + 1e-6


@given(st.floats(1, 8192), st.floats(1, 8192))
def test_longer_samples_in_a_sequence_never_take_less_attention(tokens: float, more: float) -> None:
    def seen(length: float) -> float:
        return executed(_job(sequence=8192, document_tokens=length)).attention

    assert seen(tokens) <= seen(tokens + more) <= executed(_job(sequence=8192)).attention


@given(st.floats(8, 200), st.floats(1, 100))
def test_a_card_with_more_memory_never_pages_more(gib: float, more: float) -> None:
    def paged(size: float) -> float:
        card = A100.model_copy(update={"engine_total_bytes": round(size * 2**30)})
        return float(speed.work(_job(state="half", optimizer="paged_adamw"), card, fabric(card)).host_s)

    assert 0.0 <= paged(gib + more) <= paged(gib)


def test_packed_samples_fill_the_sequence_and_attention_may_stay_within_each() -> None:
    whole = _job(sequence=8192)
    within = _job(sequence=8192, document_tokens=1000.0)
    assert within.computed_tokens == whole.computed_tokens == 8192
    assert executed(within).attention == pytest.approx(executed(whole).attention * 1000 / 8192)
    assert executed(within).linear == executed(whole).linear
    assert _job(sequence=512, document_tokens=1000.0).attended_tokens == 512


def test_paged_moments_that_have_no_room_come_over_the_bus_each_step() -> None:
    links = fabric(A100)
    small = A100.model_copy(update={"engine_total_bytes": 24 * 2**30})
    plain = speed.work(_job(state="half"), small, links)
    paged = speed.work(_job(state="half", optimizer="paged_adamw"), small, links)
    roomy = speed.work(
        _job(state="half", optimizer="paged_adamw", split=Split(dp=64, zero_stage=3)), A100, links
    )
    assert plain.host_s == 0.0
    parameters = 7e9
    assert paged.host_s == pytest.approx(parameters * 8 / (USUAL_PCIE / 2), rel=0.05)
    assert roomy.host_s == 0.0


def test_bitsandbytes_keeps_paged_moments_in_fp32_whatever_the_weights_are() -> None:
    assert moment_bytes("half", "paged_adamw") == 8
    assert moment_bytes("half", "adamw") == 4


@pytest.mark.parametrize(
    ("state", "stage", "expected"),
    [("mixed", 0, 8), ("mixed", 1, 6), ("mixed", 2, 6), ("half", 0, 4), ("half", 1, 4), ("fp32", 0, 8)],
)
def test_without_zero_a_gradient_passes_twice(state: str, stage: int, expected: float) -> None:
    assert speed.reduced_bytes(_job(state=state, split=Split(dp=8, zero_stage=stage))) == expected


def test_a_card_that_its_power_holds_down_is_slower_than_its_peak_says() -> None:
    """MI300X at 750 W and MI325X at 1,000 W have one peak; AMD measured 708 and 831 of 1,307 TFLOP/s."""
    lower = H100.model_copy(update={"name": "MI300X"})
    higher = H100.model_copy(update={"name": "MI325X"})
    assert speed.sustained_fraction(H100, "bf16") == 1.0
    assert speed.sustained_fraction(lower, "bf16") == pytest.approx(708 / 1307 / 0.8)
    assert speed.sustained_fraction(lower, "bf16") < speed.sustained_fraction(higher, "bf16") < 1.0
    links = fabric(H100)
    assert speed.work(_job(), lower, links).peak < speed.work(_job(), H100, links).peak
    # What MFU divides by stays the data sheet's.
    assert speed.peak_flops(lower, "bf16") == speed.peak_flops(H100, "bf16")


def test_gptq_weights_cost_more_to_widen_than_nf4() -> None:
    made = {
        form: speed.work(_job(method="qlora", frozen_format=form, rank=16), A100, fabric(A100)).dequantised
        for form in ("nf4", "int4_gptq")
    }
    assert made["int4_gptq"] > 4 * made["nf4"]


def test_the_last_stage_holds_the_head_where_layers_divide_evenly() -> None:
    """Llama 2 70B: 80 layers over 8 stages; its head of 262 million parameters is 3 % of a stage besides."""
    arch = architectures.resolve(ModelReference(id="meta-llama/Llama-2-70b-hf"))
    links = fabric(A100)

    def linear(pp: int) -> float:
        job = Job(arch=arch, split=Split(pp=pp), accumulation=16)
        return float(speed.work(job, A100, links).linear_flops)

    head = 2 * arch.vocab * arch.hidden * 3 * 2048
    assert linear(8) == pytest.approx((linear(1) - head) / 8 + head)
    # 80 layers do not divide by 12: the ends have taken the place of layers.
    assert linear(12) == pytest.approx(linear(1) / 12)
    assert linear(1) > linear(2) > linear(8) > linear(12)


def test_only_layers_with_experts_launch_what_experts_need() -> None:
    dense = usual(7e9)
    experts = usual_with_experts(30e9, 3e9, 128_000)
    half = experts.model_copy(
        update={
            "layers": (
                experts.layers[0].model_copy(update={"count": experts.layer_count // 2}),
                dense.layers[0].model_copy(update={"count": experts.layer_count - experts.layer_count // 2}),
            )
        }
    )

    def launches(arch: Architecture) -> float:
        made = speed.work(Job(arch=arch), A100, fabric(A100))
        return float(made.launches) / arch.layer_count

    assert launches(experts) == pytest.approx(speed.MOE_KERNELS * launches(dense))
    assert launches(half) == pytest.approx((speed.MOE_KERNELS + 1) / 2 * launches(dense), rel=0.05)
