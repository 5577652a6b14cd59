"""Time of training: operations, links, pipelines, and laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.architecture import active_parameter_count
from planner.sizing.training.demand import fabric_bytes
from planner.sizing.training.fabric import Fabric, exchanged, fabric, reached, ring
from planner.sizing.training.flops import counted_attention, executed, model_flops_per_token
from planner.sizing.training.job import Split
from planner.sizing.training.speed import NoRate, peak_flops
from tests.sizing.machines import A100, H100, grouped
from tests.sizing.training.jobs import SMALL, job, model, step

LINKS = Fabric(inside=450e9, between=50e9, domain=8)


def test_six_operations_a_parameter_and_token_four_with_frozen_weights() -> None:
    active = active_parameter_count(SMALL)
    assert model_flops_per_token(SMALL) == 6 * active
    assert executed(job()).linear == 6 * active
    assert executed(job(method="lora", rank=8)).linear == 4 * active
    assert executed(job(recompute="full")).linear == 8 * active


def test_attention_as_papers_count_it() -> None:
    """PaLM, appendix B: 12 L H Q T a token. 96 layers of 96 heads of 128 at 2,048 tokens."""
    gpt3 = grouped(layers=96, heads=96, kv_heads=96, head_dim=128, hidden=12_288)
    assert counted_attention(gpt3, 2048) == 12 * 96 * 96 * 128 * 2048


def test_only_chosen_experts_are_computed() -> None:
    arch = model("Qwen/Qwen3-30B-A3B")
    found = executed(job(arch=arch))
    assert found.linear + found.experts == pytest.approx(6 * active_parameter_count(arch))


def test_a_ring_sends_all_but_its_own_part() -> None:
    assert ring(800.0, 8) == 700.0
    assert ring(800.0, 1) == 0.0


def test_a_ring_over_whole_nodes_uses_all_their_adapters() -> None:
    assert reached(LINKS, 8, 1) == 450e9
    assert reached(LINKS, 64, 1) == 400e9
    assert reached(LINKS, 8, 8) == 50e9
    assert exchanged(LINKS, 64, 1) == pytest.approx(50e9 / (1 - 8 / 64))


def test_what_crosses_between_machines_by_hand() -> None:
    found = job(split=Split(tp=8, dp=2, zero_stage=1))
    from planner.sizing.training.counting import parameters

    held = parameters(found)
    assert fabric_bytes(found, LINKS) == pytest.approx(6 * held.dense / 2)
    assert fabric_bytes(job(split=Split(tp=8)), LINKS) == 0


def test_machines_without_links_are_given_a_plain_network() -> None:
    linked = A100.model_copy(update={"link": "nvswitch", "link_bytes_per_s": 600e9})
    assert fabric(A100).between < fabric(linked).between


def test_a_precision_the_units_do_not_run_falls_back_to_16_bits_and_says_so() -> None:
    assert peak_flops(H100, "fp8") == (1979e12, "fp8")
    assert peak_flops(A100, "fp8") == (312e12, "bf16")
    with pytest.raises(NoRate):
        peak_flops(A100.model_copy(update={"dense_rates": {}}), "bf16")


@given(st.sampled_from(["full", "lora", "qlora"]), st.integers(128, 8192))
def test_recomputation_takes_more_time(method: str, sequence: int) -> None:
    shared = {"method": method, "rank": 8 if method != "full" else 0, "sequence": sequence}
    none, full = (float(step(job(recompute=how, **shared)).total_s) for how in ("none", "full"))
    assert full > none


@given(st.integers(128, 8192), st.integers(1, 4096))
def test_more_tokens_never_take_less_time(sequence: int, more: int) -> None:
    assert float(step(job(sequence=sequence + more)).total_s) >= float(step(job(sequence=sequence)).total_s)


@given(st.integers(1, 32))
def test_accumulation_promises_no_speed(accumulation: int) -> None:
    one, many = job(), job(accumulation=accumulation)
    rate = one.step_samples / float(step(one).total_s)
    more = many.step_samples / float(step(many).total_s)
    # Only the optimizer's own step is spread over more samples.
    once = float(step(one).optimizer_s) / float(step(one).total_s)
    assert rate * (1 - 1e-9) <= more <= rate / (1 - once) * (1 + 1e-9)


@given(st.floats(1.0, 8.0))
def test_a_device_that_is_faster_in_everything_is_never_slower(factor: float) -> None:
    faster = A100.model_copy(update={
        "dense_rates": {name: rate * factor for name, rate in A100.dense_rates.items()},
        "bandwidth_bytes_per_s": A100.bandwidth_bytes_per_s * factor,
    })  # fmt: skip
    assert float(step(job(), faster).total_s) <= float(step(job(), A100).total_s) * (1 + 1e-9)


@given(st.sampled_from([1, 2, 4, 8]), st.integers(1, 64))
def test_a_pipelines_bubble_is_its_stages_less_one_over_the_micro_batches(pp: int, micro: int) -> None:
    found = step(job(accumulation=micro, split=Split(pp=pp)))
    working = float(found.products_s + found.attention_s + found.traffic_s + found.launch_s + found.tensor_s
                    + found.experts_s + found.data_s)  # fmt: skip
    assert float(found.bubble_s) == pytest.approx(working * (pp - 1) / micro, rel=1e-6)


def test_the_parts_of_a_step_sum_to_it() -> None:
    found = step(job(accumulation=4, split=Split(dp=2, tp=2, pp=2, zero_stage=1)))
    parts = (found.products_s + found.attention_s + found.traffic_s + found.launch_s + found.tensor_s + found.experts_s
             + found.data_s + found.bubble_s + found.optimizer_s)  # fmt: skip
    assert float(parts) == pytest.approx(float(found.total_s))
