"""The memory model against published measurements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from planner.evaluation.memory_fit import out_of_fold, publisher
from planner.evaluation.memory_rows import predict_memory_rows
from planner.evaluation.rows import Row, read

FILES = ("memory.csv", "memory_more.csv", "memory_extra.csv")
# Metric: least answers, median and 90th percentile of |predicted − measured| ÷ measured.
EXPECTED = {
    "weights_gib_per_gpu": (50, 0.01, 0.06),
    "weights_gib_total": (24, 0.015, 0.06),
    "kv_size_gib": (30, 0.01, 0.1),
    "kv_tokens": (70, 0.05, 0.2),
    "max_concurrency": (33, 0.05, 0.2),
    "peak_vram_gib": (65, 0.1, 0.3),
    "available_kv_gib": (40, 0.04, 0.15),
    "activation_peak_gib": (28, 0.2, 0.6),
    "non_torch_gib": (28, 0.2, 0.6),
}


def row(file_kind: str = "memory", metric: str = "weights_gib_per_gpu", **inputs: str) -> Row:
    base = {
        "engine": "vLLM",
        "model_id": "meta-llama/Llama-3.1-8B-Instruct",
        "weights_dtype_or_quant": "bfloat16",
    }
    return Row(file_kind, "r1", metric, 1.0, True, 0, 1.0, {**base, **inputs}, "publisher", "source")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def measured() -> list[Row]:
    folder = Path(settings.MEASUREMENTS_DIR) / "accuracy"
    return [item for item in read([folder / name for name in FILES]) if item.scored]


@pytest.mark.measurements
@pytest.mark.parametrize("metric", sorted(EXPECTED))
def test_the_median_and_the_tail_of_a_metric_stay_within_their_figures(
    measured: list[Row], metric: str
) -> None:
    own = [item for item in measured if item.metric == metric]
    answers = predict_memory_rows(own)
    errors = [
        abs(answer.predicted / float(item.measured) - 1)
        for item, answer in zip(own, answers, strict=True)
        if isinstance(answer.predicted, float)
    ]
    least, median, tail = EXPECTED[metric]
    assert len(errors) >= least
    assert np.median(errors) <= median
    assert np.quantile(errors, 0.9) <= tail


@pytest.mark.measurements
def test_nineteen_of_twenty_rows_of_language_models_are_answered_by_their_own_model_and_card() -> None:
    folder = Path(settings.MEASUREMENTS_DIR) / "accuracy"
    names = ("memory.csv", "memory_more.csv", "memory_extra.csv", "verdicts.csv")
    rows = [item for item in read([folder / name for name in names])
            if item.scored and item.inputs.get("kind", "llm") in ("llm", "vision")]  # fmt: skip
    answers = predict_memory_rows(rows)
    answered = sum(1 for answer in answers if answer.status == "ok")
    assert len(rows) > 500
    assert answered / len(rows) >= 0.95


@pytest.mark.parametrize(
    ("inputs", "gib"),
    [
        # Llama 3.1 8B: 64 KiB a token and half of keys or values at 16 bits.
        ({"kv_dtype": "f16", "weights_dtype_or_quant": "IQ3_K mix"}, 0.5),
        ({"kv_dtype": "K q8_0 / V f16"}, 0.5 * (8.5 + 16) / 32),
    ],
)
def test_the_cache_of_a_file_does_not_depend_on_the_mix_of_its_weights(
    inputs: dict[str, str], gib: float
) -> None:
    asked = row(metric="kv_size_gib", engine="llama.cpp", max_model_len_or_ctx="4096", **inputs)
    (answer,) = predict_memory_rows([asked])
    assert answer.predicted == pytest.approx(gib)


def test_prompts_on_an_unpacked_latent_cache_need_a_buffer_that_grows_with_the_context() -> None:
    asked = [
        row(metric="compute_buffer_mib", engine="ik_llama.cpp", model_id="deepseek-ai/DeepSeek-V3", ubatch="512",
            max_model_len_or_ctx=length, options="mla=3", weights_dtype_or_quant="Q8_0")
        for length in ("32768", "65536")
    ]  # fmt: skip
    short, long = (float(str(answer.predicted)) for answer in predict_memory_rows(asked))
    assert long - short == pytest.approx(32_768 * 128 * (128 + 64 + 128) * 2 / 2**20)
    # Logs of ik_llama.cpp say 3,425 and 6,081 MiB.
    assert short == pytest.approx(3425, rel=0.2)
    assert long == pytest.approx(6081, rel=0.2)


def test_a_file_weighs_what_its_mean_bits_say() -> None:
    asked = row(metric="weights_gib_total", engine="ik_llama.cpp", weights_dtype_or_quant="4.50 bpw")
    (answer,) = predict_memory_rows([asked])
    assert answer.predicted == pytest.approx(8_030_261_248 * 4.5 / 8 / 2**30)


def test_an_engine_with_a_fraction_peaks_at_its_fraction_whatever_the_model() -> None:
    asked = [
        row(metric="peak_vram_gib", gpu="RTX3090-24GB", gpu_memory_utilization=share, usable_gib="23.5")
        for share in ("0.5", "0.9")
    ]
    assert [answer.predicted for answer in predict_memory_rows(asked)] == pytest.approx([11.75, 21.15])


@pytest.mark.measurements
def test_verdicts_that_ran_are_called_fitting_but_for_two() -> None:
    rows = read([Path(settings.MEASUREMENTS_DIR) / "accuracy" / "verdicts.csv"])
    pairs = list(zip(rows, predict_memory_rows(rows), strict=True))
    answered = [(item.measured, answer.predicted) for item, answer in pairs if answer.status == "ok"]
    assert len(answered) >= 24
    assert sum(1 for real, said in answered if real == "fits" and said != "fits") <= 2
    assert not [real for real, said in answered if real != "fits" and said == "fits"]


@pytest.mark.parametrize(("memory_gib", "said"), [("16", "does_not_fit"), ("79", None)])
def test_what_does_not_fit_without_a_drafter_does_not_fit_with_one(memory_gib: str, said: str | None) -> None:
    asked = row("verdicts", metric="verdicts", gpu="H100-80GB", usable_gib=memory_gib, options="drafter=dflash",
                max_model_len="8192", gpu_memory_utilization="0.9", weights="bfloat16")  # fmt: skip
    (answer,) = predict_memory_rows([asked])
    assert answer.predicted == said
    assert said or answer.reason == "option drafter"


@pytest.mark.measurements
def test_what_is_not_covered_is_refused_by_name(measured: list[Row]) -> None:
    for item, answer in zip(measured, predict_memory_rows(measured), strict=True):
        assert (answer.status == "ok") == (answer.predicted is not None), item.id
        if answer.status == "unsupported":
            assert answer.reason


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ({"model_id": "", "model": "mystery-7b"}, "model: mystery-7b"),
        ({"model_id": "nvidia/Qwen3.8-Flash-Next-NVFP4"}, "tensors not known"),
        ({"engine": "Transformers"}, "engine: Transformers"),
        ({"engine": "llama.cpp", "weights_dtype_or_quant": "i2_s"}, "weights format: i2_s"),
        ({"weights_dtype_or_quant": "IQ3_K mix"}, "weights format: IQ3_K mix"),
        ({"kv_dtype": "K q8_0 / V q4_0"}, "cache format"),
        ({"kind": "diffusion"}, "kind of workload: diffusion"),
        ({"options": "drafter=eagle"}, "option drafter"),
        ({"tp": "two"}, "tp: two"),
    ],
)
def test_a_row_outside_the_width_says_why(inputs: dict[str, str], reason: str) -> None:
    (answer,) = predict_memory_rows([row(**inputs)])
    assert answer.status == "unsupported"
    assert reason in str(answer.reason)


def test_a_pool_without_a_card_is_refused() -> None:
    (answer,) = predict_memory_rows([row(metric="kv_tokens")])
    assert answer.reason == "card: not named"


def test_the_measured_value_is_never_read() -> None:
    one = row(metric="kv_tokens", usable_gib="79.19", engine_version="0.19")
    answers = {predict_memory_rows([one._replace(measured=value)])[0] for value in (1.0, 1e9, float("nan"))}
    assert len(answers) == 1


def test_a_range_encloses_its_prediction_and_is_wider_where_the_version_is_not_stated() -> None:
    known = predict_memory_rows([row(metric="available_kv_gib", usable_gib="79.19", engine_version="0.19")])[
        0
    ]
    unknown = predict_memory_rows([row(metric="available_kv_gib", usable_gib="79.19")])[0]
    for answer in (known, unknown):
        assert isinstance(answer.predicted, float)
        assert answer.low is not None
        assert answer.high is not None
        assert answer.low <= answer.predicted <= answer.high
    assert isinstance(unknown.predicted, float)
    assert isinstance(known.predicted, float)
    assert (unknown.high or 0) / (unknown.low or 1) > (known.high or 0) / (known.low or 1)


@pytest.mark.measurements
@pytest.mark.slow
def test_out_of_fold_the_room_for_cache_is_as_near_as_in_sample(measured: list[Row]) -> None:
    answers = out_of_fold(measured)
    errors = [
        abs(predicted / float(item.measured) - 1)
        for item in measured
        if item.metric == "available_kv_gib" and (predicted := answers[item.id]) is not None
    ]
    assert len(errors) >= 40
    assert np.median(errors) <= 0.04
    assert np.quantile(errors, 0.9) <= 0.15


def test_a_verdict_is_judged_without_its_publishers_rows() -> None:
    assert (
        publisher(row(usable_gib="1")._replace(source_group="", source="repo:owner/name@1:path")) == "owner"
    )
    assert publisher(
        row()._replace(source_group="", source="issue:https://github.com/vllm-project/vllm/issues/1")
    ) == ("vllm-project")
    assert publisher(row()) == "publisher"


def test_what_lmdeploy_printed_for_a_vision_model_on_80_gb() -> None:
    """A start log of InternVL2.5-8B says 397,696 tokens of 131,072 bytes at 0.8 of what is free."""
    asked = [
        row(metric=metric, engine="LMDeploy (TurboMind)", model_id="", model="OpenGVLab/InternVL2_5-8B-MPO", tp="1",
            gpu="A100-80GB", gpu_memory_utilization="0.8", kv_dtype="bfloat16", options="fraction_of=free",
            kind="vision")
        for metric in ("kv_bytes_per_token", "kv_tokens")
    ]  # fmt: skip
    width, tokens = (answer.predicted for answer in predict_memory_rows(asked))
    assert width == 131_072
    assert tokens == pytest.approx(397_696, rel=0.05)
