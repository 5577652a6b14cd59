"""The evaluate command: what it reads, what it answers, and that it never sees what was measured."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from planner import speed_constants
from planner.evaluation.cards import cards
from planner.evaluation.engines import engine
from planner.evaluation.rows import UnreadableFile, kind_of, options, read
from planner.evaluation.scoring import quantile
from planner.evaluation.throughput_answers import predict_throughput_rows
from planner.evaluation.throughput_cases import Unsupported, case
from tests.sizing.points import constants

ACCURACY = Path(settings.MEASUREMENTS_DIR) / "accuracy"
BASELINE = Path(__file__).parents[1] / "data" / "accuracy_baseline.json"

HEADER = (
    "id,source_repo,engine,engine_version,model,precision_weights,precision_kv,gpu,gpu_count,tp,pp,replicas_or_dp,"
    "isl,osl,concurrency_or_batch,scenario,metric,value,notes,source_group,family,model_id,request_rate_per_s,"
    "arrival,static_batching,gpu_memory_gb,options,fold,scored,unscored_reason"
)
ROW = {
    "id": "row-1", "engine": "vLLM", "engine_version": "0.19.0", "model": "Llama-3.1-8B",
    "precision_weights": "bf16", "gpu": "H100 SXM 80GB", "gpu_count": "1", "tp": "1", "pp": "1",
    "replicas_or_dp": "1", "isl": "1000", "osl": "300", "concurrency_or_batch": "8",
    "scenario": "closed_loop", "metric": "tpot_ms", "value": "9.0", "source_group": "ours",
    "family": "llama-3-8b", "model_id": "meta-llama/Llama-3.1-8B-Instruct", "arrival": "closed",
    "static_batching": "0", "gpu_memory_gb": "80", "fold": "0", "scored": "1",
}  # fmt: skip


def written(folder: Path, *rows: dict[str, str], header: str = HEADER) -> Path:
    path = folder / "measurements.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, header.split(","))
        table.writeheader()
        table.writerows({**ROW, **row} for row in rows)
    return path


def evaluated(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("evaluate", *arguments, "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def test_the_answer_has_exactly_the_documented_fields(tmp_path: Path) -> None:
    found = evaluated(str(written(tmp_path, {})))
    assert set(found) == {"rows", "summary"}
    (row,) = found["rows"]
    assert set(row) == {
        "id", "metric", "measured", "predicted", "low", "high", "status", "reason", "regime"
    }  # fmt: skip
    assert row["status"] == "ok"
    assert row["regime"] == "decode batched"
    assert row["low"] < row["predicted"] < row["high"]
    assert {"rows", "scored", "answered", "seconds", "by"} <= set(found["summary"])
    line = next(line for line in found["summary"]["by"] if line["group"] == "all")
    assert {
        "metric", "group", "n", "median_ape", "p80_ape", "p90_ape", "within_2x", "bias", "within_range",
        "median_high_over_low",
    } <= set(line)  # fmt: skip


def test_what_was_measured_and_by_whom_does_not_change_the_answer(tmp_path: Path) -> None:
    (one,) = evaluated(str(written(tmp_path, {})))["rows"]
    told = {"value": "1234", "notes": "really 1234", "source_group": "them", "fold": "7", "scored": "0"}
    (other,) = evaluated(str(written(tmp_path, told)))["rows"]
    assert one["predicted"] == other["predicted"]
    row = read([written(tmp_path, told)])[0]
    assert not {"value", "notes", "id", "fold", "scored", "source_group", "source_repo"} & set(row.inputs)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"engine": "DeepSpeed"}, "engine not in the product"),
        ({"gpu": "Abacus 9"}, "card not known"),
        ({"model": "no-such", "model_id": ""}, "model not known"),
        ({"precision_weights": "exl2 3.0bpw"}, "weights format not in the product"),
        ({"gpu": "T4 16GB", "gpu_memory_gb": "16"}, "does not fit"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_name(
    tmp_path: Path, changed: dict[str, str], reason: str
) -> None:
    (row,) = evaluated(str(written(tmp_path, changed)))["rows"]
    assert row["status"] == "unsupported"
    assert reason in row["reason"]
    assert row["predicted"] is None


def test_blank_inputs_are_filled_as_for_a_user_who_leaves_fields_alone(tmp_path: Path) -> None:
    blank = dict.fromkeys(("isl", "osl", "precision_weights", "tp", "pp", "replicas_or_dp"), "")
    (row,) = evaluated(str(written(tmp_path, blank)))["rows"]
    assert row["status"] == "ok"


def test_a_card_that_is_not_told_apart_is_answered_between_its_kinds(tmp_path: Path) -> None:
    assert len(cards("H100 (variant not stated)", None)) > 1
    vague = {"gpu": "H100 (variant not stated)", "gpu_memory_gb": "", "concurrency_or_batch": "1"}
    exact = [{"gpu": name, "concurrency_or_batch": "1"} for name in ("H100 SXM 80GB", "H100 PCIe 80GB")]
    (between,) = evaluated(str(written(tmp_path, vague)))["rows"]
    ends = [evaluated(str(written(tmp_path, one)))["rows"][0] for one in exact]
    assert ends[0]["predicted"] <= between["predicted"] <= ends[1]["predicted"]
    assert case(read([written(tmp_path, vague)])[0].inputs).assumed


def test_several_files_are_pooled_and_a_row_in_two_counts_once(tmp_path: Path) -> None:
    first = written(tmp_path, {}, {"id": "row-2"})
    (tmp_path / "more").mkdir()
    second = written(tmp_path / "more", {}, {"id": "row-3"})
    assert evaluated(str(first), str(second))["summary"]["rows"] == 3


def test_a_file_of_another_kind_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(CommandError, match="header_not_known"):
        call_command("evaluate", str(path))
    with pytest.raises(UnreadableFile):
        kind_of(["metric", "nothing"], "x")


def test_the_table_names_each_metric_once_for_all(tmp_path: Path) -> None:
    out = StringIO()
    call_command("evaluate", str(written(tmp_path, {})), stdout=out)
    assert "1 rows, 1 scored, 1 answered" in out.getvalue()
    assert sum("tpot_ms" in line and " all " in line for line in out.getvalue().splitlines()) == 1


@pytest.mark.parametrize(
    ("label", "version", "name", "number", "era"),
    [
        ("vLLM", "vLLM 0.6.3.post2.dev308", "vllm", "0.6.3", "vllm_2024"),
        ("vLLM", "Oct 2025 (image vllm/vllm-openai:latest)", "vllm", "0.11.0", "vllm_2025"),
        ("TensorRT-LLM", "TensorRT 10.2.0, CUDA 12.4", "tensorrt_llm", "0.11.0", "tensorrt_llm_2024"),
        ("NIM (TensorRT-LLM)", "1.8.0", "tensorrt_llm", "0.18.0", "tensorrt_llm_2025"),
        ("llama.cpp (CUDA)", "b6918", "llama_cpp", "6918", "llama_cpp_2025"),
        ("llama.cpp", "May 2024", "llama_cpp", "2800", "llama_cpp_2024"),
        ("SGLang", "nightly-dev", "sglang", None, "sglang_unstated"),
        ("gpt-fast (torch.compile)", "", "llama_cpp", None, "compiled_unstated"),
    ],
)
def test_labels_of_engines_are_read(
    label: str, version: str, name: str, number: str | None, era: str
) -> None:
    found = engine(label, version)
    assert found is not None
    assert (found.name, found.version, found.software.era) == (name, number, era)


def test_an_engine_that_resembles_none_of_ours_is_none() -> None:
    assert engine("DeepSpeed (Optimum-Habana)", "") is None


def test_options_are_pairs() -> None:
    assert options("a=1;b=x=y;;c") == {"a": "1", "b": "x=y", "c": ""}


def test_a_quantile_with_weights_leans_to_the_heavy_end() -> None:
    values = np.array([1.0, 2.0, 3.0])
    assert quantile(values, np.ones(3), 0.5) == 2.0
    assert quantile(values, np.array([1.0, 1.0, 10.0]), 0.5) > 2.4


def test_disaggregated_runs_are_refused() -> None:
    with pytest.raises(Unsupported, match="separate GPUs"):
        case({**ROW, "options": "disaggregated=1"})


@pytest.mark.measurements
def test_the_sample_is_answered_within_the_shipped_accuracy() -> None:
    found = evaluated(str(ACCURACY / "throughput.csv"), "--folds")
    summary = found["summary"]
    assert summary["answered"] >= 0.96 * summary["scored"]
    steady = [
        row for row in found["rows"]
        if row["status"] == "ok" and row["metric"] not in ("ttft_ms", "prefill_tok_s")
    ]  # fmt: skip
    scored = {row.id for row in read([ACCURACY / "throughput.csv"]) if row.scored}
    errors = np.array([row["predicted"] / row["measured"] - 1 for row in steady if row["id"] in scored])
    assert np.median(np.abs(errors)) < 0.18
    assert np.quantile(np.abs(errors), 0.8) < 0.35
    assert np.mean(np.abs(np.log1p(errors)) < np.log(2)) > 0.92


@pytest.mark.measurements
def test_predictions_stay_as_they_were_noted() -> None:
    """A change of a formula or constant shows here. After an intended one, write the file anew with
    ``manage.py evaluate --json`` and keep id → predicted of the answered rows (``docs/methods.md``)."""
    noted: dict[str, float] = json.loads(BASELINE.read_text(encoding="utf-8"))
    rows = read([ACCURACY / "throughput.csv"])
    answers = predict_throughput_rows(rows, speed_constants.constants())
    found = {row.id: answer.predicted for row, answer in zip(rows, answers, strict=True)}
    moved = {
        row: (value, found.get(row))
        for row, value in noted.items()
        if not isinstance(found.get(row), float) or abs(float(found[row] or 0) / value - 1) > 1e-3
    }
    assert not moved


@pytest.mark.measurements
def test_no_row_of_the_collection_is_an_error() -> None:
    rows = read([ACCURACY / "throughput_full.csv"])
    answers = predict_throughput_rows(rows, constants())
    assert not [answer.reason for answer in answers if answer.status == "error"]
    assert len(answers) == len(rows)


@pytest.mark.measurements
def test_calibrating_the_same_measurements_gives_the_same_bytes(tmp_path: Path) -> None:
    with (ACCURACY / "throughput.csv").open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        few = [row for row in table if row["scored"] == "1"][::6]
        for name in ("throughput.csv", "throughput_full.csv"):
            with (tmp_path / name).open("w", encoding="utf-8", newline="") as copy:
                writer = csv.DictWriter(copy, table.fieldnames or ())
                writer.writeheader()
                writer.writerows(few)
    for folder in ("once", "again"):
        (tmp_path / folder).mkdir()
        call_command("calibrate", "--from", str(tmp_path), "--to", str(tmp_path / folder), stdout=StringIO())
    for name in ("calibration.json", "calibration_folds.json", "calibration_ratios.json"):
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_the_shipped_files_hold_nothing_measured() -> None:
    held = json.loads((speed_constants.SEED.parent / "calibration_ratios.json").read_text())
    assert held["rows"]
    assert set(held["columns"]) == {
        "id", "ratio", "metric", "family", "gpu", "engine", "regime", "source", "shape", "fitted", "assumed",
    }  # fmt: skip
    assert set(held) == {"about", "accelerators", "columns", "rows", "shapes", "sources"}
    assert all(len(row) == len(held["columns"]) for row in held["rows"])
