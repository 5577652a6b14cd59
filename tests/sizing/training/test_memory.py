"""Memory of training: activations, published cases, and laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import training_constants
from planner.sizing.quantities import GIB
from planner.sizing.training import memory
from planner.sizing.training.constants import classes
from planner.sizing.training.job import Job, Split
from planner.sizing.training.shapes import usual
from tests.sizing.machines import A100, RTX4090, grouped
from tests.sizing.training.jobs import job, model, peak, total

GPT3 = grouped(
    layers=96, heads=96, kv_heads=96, head_dim=128, hidden=12_288, intermediate=49_152, vocab=51_200
)


def needed_gib(found: Job, measure: str = "device") -> float:
    """With the constants the product ships."""
    values = training_constants.constants().resolve(classes(found, A100))
    return float(memory.peak(memory.amounts(found, measure), values).total) / GIB


def test_activations_of_a_gpt_layer_are_what_korthikanti_counts() -> None:
    """arXiv 2205.05198, equation 1: sbh (34 + 5 a s ÷ h) bytes a layer; without dropout masks 32 sbh."""
    plain = GPT3.model_copy(update={"layers": (GPT3.layers[0].model_copy(update={
        "mlp": GPT3.layers[0].mlp.model_copy(update={"gated": False})}),)})  # fmt: skip
    found = job(arch=plain, sequence=2048, micro_batch=1)
    counted = memory.amounts(found)
    sbh = 2048 * 12_288
    assert float(counted.inner) / 96 / sbh == pytest.approx(34, rel=0.08)
    written = memory.amounts(found.model_copy(update={"flash_attention": False}))
    assert float(written.scores) == 96 * 2048**2
    from planner.sizing.training.constants import MEMORY

    assert MEMORY["score_bytes"].value == 5


def test_full_recomputation_keeps_two_bytes_a_hidden_value_and_layer() -> None:
    """The same paper, section 5: 2 sbh a layer."""
    found = memory.amounts(job(arch=GPT3, sequence=2048, recompute="full"))
    assert float(found.boundary) == 2 * 2048 * 12_288 * 96


def test_tensor_and_sequence_parallel_share_all_of_a_layers_activations() -> None:
    """The same paper, equation 4: everything ÷ t with sequence parallelism, only a part without."""
    one = float(memory.amounts(job(arch=GPT3)).inner)
    both = float(memory.amounts(job(arch=GPT3, split=Split(tp=8, sequence_parallel=True))).inner)
    tensor = float(memory.amounts(job(arch=GPT3, split=Split(tp=8))).inner)
    assert both == pytest.approx(one / 8)
    assert one / 8 < tensor < one


def test_tensor_parallel_ranks_share_the_logits_unless_the_head_gathers_them() -> None:
    split = Split(tp=4, sequence_parallel=True)
    shared, gathered = (memory.amounts(job(split=split, logits_gathered=each)) for each in (False, True))
    assert float(gathered.logits) == 4 * float(shared.logits)


def test_a_pipelines_first_stage_holds_a_micro_batch_for_each_stage() -> None:
    one = memory.amounts(job(arch=GPT3, accumulation=16))
    four = memory.amounts(job(arch=GPT3, accumulation=16, split=Split(pp=4)))
    assert float(four.inner) == pytest.approx(float(one.inner))


@pytest.mark.parametrize(
    ("name", "method", "settings", "gib", "source"),
    [
        ("meta-llama/Llama-2-7b-hf", "lora", {"rank": 8, "sequence": 2048, "micro_batch": 4, "recompute": "full"}, 19.8,
         "torchtune README, RTX 4090"),
        ("meta-llama/Llama-2-7b-hf", "qlora",
         {"rank": 8, "sequence": 2048, "micro_batch": 4, "recompute": "full"}, 11.5,
         "torchtune README, RTX 4090"),
        ("meta-llama/Llama-2-13b-hf", "qlora", {"rank": 8, "sequence": 512, "recompute": "full"}, 10.4,
         "QLoRA paper: 13B in about 11 GB"),
        ("meta-llama/Llama-2-70b-hf", "qlora", {"rank": 64, "sequence": 512, "recompute": "full"}, 43.0,
         "QLoRA paper, section 5: 65B in 41 GB, here 69B"),
    ],
)  # fmt: skip
def test_published_adapters_on_7b_13b_and_70b(
    name: str, method: str, settings: dict[str, object], gib: float, source: str
) -> None:
    found = Job.model_validate({
        "arch": model(name), "method": method, "software": "torch", "state": "half",
        "frozen_format": "nf4_dq" if method == "qlora" else "bf16", **settings,
    })  # fmt: skip
    assert needed_gib(found, "allocated") == pytest.approx(gib, rel=0.3), source


def test_qlora_of_a_70b_fits_48_gb_and_lora_does_not() -> None:
    shared = {
        "arch": model("meta-llama/Llama-2-70b-hf"),
        "rank": 64,
        "sequence": 512,
        "recompute": "full",
        "state": "half",
        "optimizer": "paged_adamw",
    }
    assert needed_gib(Job.model_validate({**shared, "method": "qlora", "frozen_format": "nf4_dq"})) < 47.5
    assert needed_gib(Job.model_validate({**shared, "method": "lora"})) > 79.2


def test_full_fine_tuning_of_a_7b_does_not_fit_80_gb_in_mixed_precision_and_does_on_eight() -> None:
    shared = {
        "arch": model("meta-llama/Llama-2-7b-hf"),
        "sequence": 2048,
        "recompute": "full",
        "state": "mixed",
    }
    assert needed_gib(Job.model_validate(shared)) > 79.2
    assert needed_gib(Job.model_validate({**shared, "split": Split(dp=8, zero_stage=3)})) < 40


def test_qlora_never_needs_more_than_lora() -> None:
    for name in ("meta-llama/Llama-2-7b-hf", "Qwen/Qwen2.5-14B-Instruct"):
        shared = {"arch": model(name), "rank": 16, "sequence": 1024, "recompute": "full"}
        quantised = Job.model_validate({**shared, "method": "qlora", "frozen_format": "nf4_dq"})
        assert needed_gib(quantised) < needed_gib(Job.model_validate({**shared, "method": "lora"}))


lengths = st.integers(64, 16_384)
recomputes = st.sampled_from(["none", "selective", "full"])
methods = st.sampled_from(["full", "lora", "qlora"])


@given(lengths, st.integers(1, 4096), methods, recomputes)
def test_more_tokens_never_need_less(sequence: int, more: int, method: str, recompute: str) -> None:
    shared = {"method": method, "rank": 8 if method != "full" else 0, "recompute": recompute}
    assert total(job(sequence=sequence + more, **shared)) >= total(job(sequence=sequence, **shared))


@given(st.integers(1, 32), st.integers(1, 32), recomputes)
def test_a_larger_micro_batch_never_needs_less(micro: int, more: int, recompute: str) -> None:
    assert total(job(micro_batch=micro + more, recompute=recompute)) >= total(
        job(micro_batch=micro, recompute=recompute)
    )


@given(st.integers(1, 256), st.integers(1, 256))
def test_a_higher_rank_never_needs_less(rank: int, more: int) -> None:
    assert total(job(method="lora", rank=rank + more)) >= total(job(method="lora", rank=rank))


@given(st.integers(1, 40), st.integers(1, 40))
def test_more_layers_never_need_less(layers: int, more: int) -> None:
    few, many = (
        grouped(layers=n, hidden=256, heads=4, kv_heads=4, head_dim=64) for n in (layers, layers + more)
    )
    assert total(job(arch=many)) >= total(job(arch=few))


@given(st.sampled_from([1, 2, 4, 8]), st.integers(0, 3), st.sampled_from([1, 2, 4]))
def test_sharding_never_increases_the_state_of_a_gpu(dp: int, stage: int, tp: int) -> None:
    def state(split: Split) -> float:
        found = peak(job(state="mixed", split=split))
        return float(found.weights + found.gradients * 0 + found.optimizer)

    whole = state(Split())
    less = state(Split(dp=dp, zero_stage=stage, tp=tp))
    assert less <= whole * (1 + 1e-9)
    if stage < 3:
        assert state(Split(dp=dp, zero_stage=stage + 1, tp=tp)) <= less * (1 + 1e-9)


@given(lengths, methods)
def test_recomputation_never_needs_more(sequence: int, method: str) -> None:
    shared = {"sequence": sequence, "method": method, "rank": 8 if method != "full" else 0}
    none, full = (total(job(recompute=how, **shared)) for how in ("none", "full"))
    assert full <= none


@given(st.integers(2, 64))
def test_accumulation_does_not_change_memory_once_gradients_are_kept(accumulation: int) -> None:
    two, many = job(accumulation=2), job(accumulation=accumulation)
    assert total(many) == total(two)


def test_columns_give_what_single_jobs_give() -> None:
    jobs = [job(), job(recompute="full"), job(method="qlora", rank=8), job(split=Split(dp=4, zero_stage=3))]
    from planner.sizing.training.constants import MEMORY

    values = {name: prior.value for name, prior in MEMORY.items()}
    together = memory.peak(memory.columns([memory.amounts(one) for one in jobs]), values)
    alone = [float(memory.peak(memory.amounts(one), values).total) for one in jobs]
    assert np.allclose(np.asarray(together.total), alone)


def test_parts_sum_to_the_peak() -> None:
    for found in (
        job(),
        job(recompute="full", accumulation=4),
        job(method="qlora", rank=8),
        job(optimizer="sgd"),
    ):
        one = peak(found)
        parts = (one.frozen + one.weights + one.gradients + one.optimizer + one.activations + one.logits + one.buffers
                 + one.allocator + one.runtime)  # fmt: skip
        assert float(parts) == pytest.approx(float(one.total))


def test_what_the_allocator_keeps_is_given_back_when_the_card_is_full() -> None:
    found = job(sequence=8192, packed=False)
    values = training_constants.constants().resolve(classes(found, RTX4090))
    free = memory.peak(memory.amounts(found), values)
    tight = memory.peak(memory.amounts(found, "device", float(free.total) * 0.99), values)
    assert float(tight.total) == pytest.approx(float(free.total) * 0.99)


@pytest.mark.parametrize("billions", [0.125, 1.3, 7, 13, 34, 70, 180, 405, 1000])
def test_the_usual_shape_has_about_as_many_parameters_as_asked_for(billions: float) -> None:
    from planner.sizing.architecture import parameter_count

    assert parameter_count(usual(billions * 1e9)) == pytest.approx(billions * 1e9, rel=0.06)
