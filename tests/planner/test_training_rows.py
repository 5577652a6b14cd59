"""Training rows of measurement files: how they are read, what is predicted, and how near it comes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from planner import training_constants
from planner.evaluation.rows import Row, read
from planner.evaluation.scoring import error_figures
from planner.evaluation.training_cases import TrainingCase
from planner.evaluation.training_fit import SOURCES_MINIMUM, calibrate, sides, unknowns
from planner.evaluation.training_models import model
from planner.evaluation.training_rows import case_of, predict_training_rows
from planner.sizing.architecture import parameter_count

TRAINING = Path(settings.MEASUREMENTS_DIR) / "accuracy" / "training.csv"
INPUTS = {
    "framework": "torchtune", "model": "Llama-2-7B", "model_id": "meta-llama/Llama-2-7b-hf", "params_b": "6.74",
    "method": "lora", "optimizer": "AdamW", "weights_dtype": "bf16", "precision": "bf16", "parallelism": "none",
    "gpu": "A100-80GB-SXM", "gpu_count": "1", "seq_len": "2048", "micro_batch": "2", "grad_accum": "4",
    "global_batch": "8", "activation_checkpointing": "yes", "lora_rank": "8", "packed": "1",
    "length_is_maximum": "0", "kind": "llm",
}  # fmt: skip


def row(metric: str = "peak_mem_gib_per_gpu", **changed: str) -> Row:
    inputs = {key: value for key, value in {**INPUTS, **changed}.items() if value}
    return Row("training", "r", metric, 1.0, True, 0, 1.0, inputs, "ours", "ours")


def case(metric: str = "tokens_per_s_per_gpu", **changed: str) -> TrainingCase:
    found = case_of(row(metric, **changed))
    assert isinstance(found, TrainingCase), found
    return found


def predicted(metric: str, **changed: str) -> float:
    (answer,) = predict_training_rows([row(metric, **changed)], training_constants.constants())
    assert answer.status == "ok", answer.reason
    assert isinstance(answer.predicted, float)
    assert answer.low is not None
    assert answer.high is not None
    assert answer.low < answer.predicted < answer.high
    return answer.predicted


def test_a_row_is_read_into_a_job() -> None:
    job = case().job
    assert (job.method, job.software, job.micro_batch, job.accumulation, job.recompute) == (
        "lora",
        "torch",
        2,
        4,
        "full",
    )
    assert parameter_count(job.arch) == 6_738_415_616


def test_all_units_tell_of_one_step() -> None:
    step = predicted("step_time_s")
    assert predicted("tokens_per_s_total") == pytest.approx(8 * 2048 / step)
    assert predicted("tokens_per_s_per_gpu") == pytest.approx(8 * 2048 / step)
    hours = predicted("gpu_hours", tokens_total="1e9")
    assert hours == pytest.approx(1e9 / (8 * 2048 / step) / 3600)
    assert predicted("minutes_to_train", samples_total="1000") == pytest.approx(1000 / 8 * step / 60)
    mfu = predicted("mfu", flops_counted="model")
    assert mfu == pytest.approx(predicted("tflops_per_gpu", flops_counted="model") * 1e12 / 312e12)


def test_hardware_operations_count_recomputation() -> None:
    full = {"method": "full", "lora_rank": "", "activation_checkpointing": "full"}
    counted = [
        predicted("tflops_per_gpu", flops_counted=how, **full) for how in ("with_attention", "hardware")
    ]
    assert counted[1] / counted[0] == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    ("changed", "split"),
    [
        ({"gpu_count": "8", "zero_stage": "3", "parallelism": "fsdp"}, (1, 1, 8, 3)),
        (
            {"gpu_count": "64", "tp": "4", "pp": "2", "framework": "Megatron-LM", "method": "pretrain"},
            (4, 2, 8, 1),
        ),
        ({"gpu_count": "2", "options": "device_map=naive"}, (1, 2, 1, 0)),
    ],
)
def test_degrees_that_are_not_stated_follow_from_those_that_are(
    changed: dict[str, str], split: tuple[int, ...]
) -> None:
    found = case(**changed).job.split
    assert (found.tp, found.pp, found.dp, found.zero_stage) == split


def test_model_parallel_ranks_follow_from_batch_and_accumulation() -> None:
    changed = {"framework": "NVIDIA NeMo", "gpu_count": "512", "global_batch": "896", "grad_accum": "112",
               "micro_batch": "", "parallelism": "", "method": "pretrain"}  # fmt: skip
    found = case(**changed).job.split
    assert found.tp * found.pp == 64


def test_flash_attention_does_not_run_on_volta() -> None:
    assert case(gpu="A100-80GB-SXM").job.flash_attention
    assert not case(gpu="V100-32GB", precision="fp16").job.flash_attention


def test_recipes_and_heads_that_are_known_are_read_from_the_software() -> None:
    moonlight = {"model": "Moonlight-16B-A3B", "model_id": "", "params_b": "16", "method": "pretrain", "lora_rank": "",
                 "weights_dtype": "bf16+fp32 master", "parallelism": "tp2 pp1 ep8", "tp": "2", "ep": "8",
                 "gpu": "H100-80GB", "gpu_count": "8"}  # fmt: skip
    assert case(framework="Megatron-Bridge", **moonlight).job.state == "mixed_half_moments"
    assert case(framework="Megatron-LM", **moonlight).job.state == "mixed"
    assert case(framework="KempnerForge").job.logits_gathered
    assert not case(framework="torchtitan").job.logits_gathered


def test_a_power_limit_slows_a_card_by_its_cube_root() -> None:
    full, limited = case(gpu="H100-SXM5-80GB").device, case(gpu="H100-96GB-HBM2e (500W)").device
    assert full is not None
    assert limited is not None
    assert limited.dense_rates["bf16"] / full.dense_rates["bf16"] == pytest.approx((500 / 700) ** (1 / 3))


@pytest.mark.parametrize(
    ("name", "billions", "within"),
    [("MPT-7b", 6.65, 0.03), ("BLOOM-176B", 176.2, 0.02), ("GPT-3 175B", 175, 0.02), ("chatglm3-6b", 6.24, 0.02),
     ("StableLM Alpha 3B", 3.64, 0.02), ("Moonlight-16B-A3B", 16.0, 0.03), ("Mistral-Small-24B", 23.6, 0.02)],
)  # fmt: skip
def test_published_shapes_have_their_parameters(name: str, billions: float, within: float) -> None:
    arch = model(name, "", "", billions * 1e9, None)
    assert arch is not None
    assert parameter_count(arch) == pytest.approx(billions * 1e9, rel=within)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"kind": "diffusion"}, "diffusion"),
        ({"model": "no such", "model_id": "", "params_b": ""}, "no number of parameters"),
        ({"gpu": "not stated"}, "accelerator not known"),
    ],
)
def test_what_cannot_be_predicted_is_refused_with_a_reason(changed: dict[str, str], reason: str) -> None:
    (answer,) = predict_training_rows([row("mfu", **changed)], training_constants.constants())
    assert answer.status == "unsupported"
    assert reason in str(answer.reason)


def test_nothing_but_inputs_is_read() -> None:
    one, other = row("step_time_s"), row("step_time_s")
    other = other._replace(measured=99.0, id="x", fold=None, source_group="else")
    answers = predict_training_rows([one, other], training_constants.constants())
    assert answers[0] == answers[1]


@pytest.mark.measurements
def test_no_row_is_an_error_and_enough_are_answered() -> None:
    rows = [one for one in read([TRAINING]) if one.scored]
    answers = predict_training_rows(rows, training_constants.constants(), training_constants.fold_constants())
    memory = [
        a.status == "ok" for one, a in zip(rows, answers, strict=True) if one.metric == "peak_mem_gib_per_gpu"
    ]
    others = [
        a.status == "ok" for one, a in zip(rows, answers, strict=True) if one.metric != "peak_mem_gib_per_gpu"
    ]
    assert not [a for a in answers if a.status == "error"]
    assert sum(memory) / len(memory) >= 0.92
    assert sum(others) / len(others) >= 0.90


@pytest.mark.measurements
def test_rows_left_out_of_the_fit_are_predicted_better_than_by_rules_of_thumb_and_a_simple_fit() -> None:
    rows = [one for one in read([TRAINING]) if one.scored]
    answers = predict_training_rows(rows, training_constants.constants(), training_constants.fold_constants())
    pairs = list(zip(rows, answers, strict=True))
    runs = ("gpu_hours", "minutes_to_train")
    memory = error_figures([pair for pair in pairs if pair[0].metric == "peak_mem_gib_per_gpu"])
    speed = error_figures([pair for pair in pairs if pair[0].metric not in ("peak_mem_gib_per_gpu", *runs)])
    assert memory["median_ape"] < 0.15  # type: ignore[operator]
    assert speed["median_ape"] < 0.18  # type: ignore[operator]
    assert 0.74 < memory["within_range"] < 0.9  # type: ignore[operator]
    assert 0.74 < speed["within_range"] < 0.9  # type: ignore[operator]


@pytest.mark.measurements
def test_a_class_has_a_factor_only_where_two_publishers_measured_it() -> None:
    for side in sides([one for one in read([TRAINING]) if one.scored]):
        keep = range(len(side.rows))
        for one in unknowns(side, keep):  # type: ignore[arg-type]
            if one.axis is not None:
                publishers = {
                    side.rows[n].source_group for n in keep if getattr(side.classes[n], one.axis) == one.name
                }
                assert len(publishers) >= SOURCES_MINIMUM, one


@pytest.mark.measurements
def test_calibrating_again_gives_the_shipped_bytes() -> None:
    made = calibrate(read([TRAINING]))
    shipped: Any = json.loads(training_constants.SEED.read_text(encoding="utf-8"))
    assert json.loads(json.dumps(made["training.json"])) == shipped
