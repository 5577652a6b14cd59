"""Workload documents: what is read, what is refused and with which words; the schemas."""

from __future__ import annotations

import json
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from planner import documents
from planner.documents import WorkloadInvalid
from planner.sizing.workload import BatchWorkload, LlmWorkload, ServingWorkload
from tests.planner.factories import make_small_catalog

INTERFACE_EXAMPLE = {
    "kind": "llm_serving",
    "model": {"id": "meta-llama/Llama-3.1-8B-Instruct", "revision": None, "config": None},
    "runtime": {
        "name": "vllm",
        "version": "0.19",
        "options": {"max_num_batched_tokens": 8192, "gpu_memory_utilization": 0.9},
    },
    "weights_format": "bf16", "kv_format": "auto",
    "input_tokens": {"typical": 1000, "maximum": 8000}, "output_tokens": {"typical": 300, "maximum": 1000},
    "concurrency": {"average": 8, "peak": 32}, "request_rate_per_s": None,
    "prefix_hit_fraction": 0.0, "kv_offload_gib": 0,
    "targets": {"ttft_s": 1.0, "tpot_s": 0.05}, "objective": "cost", "budget_per_month": None, "deadline_hours": None,
    "headroom_fraction": 0.1, "replicas_minimum": 1, "interruptible": False,
    "schedule": {"hours_per_day": 24, "days_per_month": 30.4167, "starts_per_day": 1},
    "storage_gb": 100, "egress_gb_per_month": 50,
    "filters": {"regions": [], "providers": [], "include": [], "exclude": [], "tiers": ["on_demand"]},
    "currency": "USD",
}  # fmt: skip


def refusal(text: str | bytes) -> WorkloadInvalid:
    with pytest.raises(WorkloadInvalid) as caught:
        documents.read(text)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_full_document_is_read() -> None:
    found = documents.read(json.dumps(INTERFACE_EXAMPLE))
    assert isinstance(found, ServingWorkload)
    assert found.runtime.options.max_num_batched_tokens == 8192


def test_nothing_said_means_the_documented_defaults() -> None:
    assert documents.read("{}") == ServingWorkload()
    assert documents.read('{"kind": "llm_batch", "deadline_hours": null}') == BatchWorkload()


@pytest.mark.parametrize(
    ("model", "given", "sized"),
    [
        ("deepseek-ai/DeepSeek-R1", {}, "fp8"),
        ("deepseek-ai/DeepSeek-R1", {"weights_format": None}, "fp8"),
        ("deepseek-ai/DeepSeek-R1", {"weights_format": "bf16"}, "bf16"),
        ("openai/gpt-oss-120b", {"kind": "llm_batch"}, "mxfp4"),
        ("meta-llama/Llama-3.1-8B-Instruct", {}, "bf16"),
    ],
)
def test_weights_without_a_format_are_sized_as_they_are_stored(
    model: str, given: dict[str, Any], sized: str
) -> None:
    workload = documents.validate({"model": {"id": model}} | given)
    assert isinstance(workload, LlmWorkload)
    assert workload.weights_format == sized


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"colour": 1}', "colour"),
        ('{"schedule": {"hours_per_day": 25}}', "schedule.hours_per_day"),
        ('{"filters": {"tiers": ["free"]}}', "filters.tiers.0"),
        ('{"kind": "rag"}', "kind"),
        ('{"kind": "poem"}', "kind"),
        ('{"kind": 7}', "kind"),
        ('{"storage_gb": "100"}', "storage_gb"),
        ('{"storage_gb": true}', "storage_gb"),
        ('{"concurrency": {"peak": 0}}', "concurrency.peak"),
        ('{"model": {"id": ""}}', "model.id"),
        ('{"storage_gb": 1, "storage_gb": 2}', "storage_gb"),
    ],
)
def test_a_wrong_key_is_named_by_its_path(text: str, field: str) -> None:
    assert refusal(text).field == field


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "7", "{", '{"storage_gb": NaN}', '{"storage_gb": Infinity}', '{"storage_gb": 1e400}',
        '{"a":' * 100_000, "[" * 100_000, '{"storage_gb": ' + "9" * 5_000 + "}", '{"model": {"id": "a\\u0000b"}}',
        '{"model": {"id": "\\ud800"}}', '{"output_tokens": {"typical": 5000}}',
        '{"concurrency": {"average": 64}}', '{"kind": "llm_serving"} {}',
    ],
)  # fmt: skip
def test_hostile_documents_are_refused_in_one_line(text: str) -> None:
    refusal(text)


def test_other_encodings_are_refused() -> None:
    refusal("{}".encode("utf-16"))
    refusal(b"\xff\xfe{}")


@pytest.mark.parametrize("name", documents.SCHEMAS)
def test_a_schema_is_printed(name: str) -> None:
    out = StringIO()
    call_command("schema", name, stdout=out)
    found = json.loads(out.getvalue())
    assert found["$schema"].startswith("https://json-schema.org/")
    assert "$defs" in found


def test_the_schema_forbids_unknown_keys_everywhere() -> None:
    found = documents.schema("workload")
    assert all(part.get("additionalProperties") is False for part in found["$defs"].values())


def sized(*arguments: str, **options: Any) -> str:
    out = StringIO()
    call_command("size", *arguments, stdout=out, **options)
    return out.getvalue()


@pytest.mark.django_db
def test_size_prints_a_table_for_people_and_json_for_programs(tmp_path: Path) -> None:
    make_small_catalog()
    file = tmp_path / "workload.json"
    file.write_text(json.dumps(INTERFACE_EXAMPLE), encoding="utf-8")
    assert "811.00 USD/month" in sized(str(file))
    answer = json.loads(sized(str(file), "--json", "--limit", "1"))
    assert answer["candidates"][0]["class"] == 1
    assert answer["candidates"][0]["monthly"]["total"] == "811.00"
    assert answer["candidates"][0]["layout"] == {"tp": 1, "pp": 1, "ep": 1, "dp": 1}
    assert len(answer["candidates"]) == 1
    assert answer["rejected"][0]["reason"] == "tier"


@pytest.mark.django_db
def test_size_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small_catalog()
    monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": BytesIO(b"{}")})())
    assert "meet every target" in sized("-")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"colour": 1}', "colour"),
        ('{"model": {"id": "nobody/nothing"}}', "nobody/nothing"),
        ('{"runtime": {"version": "latest"}}', "latest"),
    ],
)
def test_size_ends_with_2_and_one_line_for_a_bad_workload(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "workload.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CommandError, match=says) as caught:
        sized(str(file))
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)


def test_size_says_which_file_is_missing() -> None:
    with pytest.raises(CommandError, match="absent") as caught:
        sized("absent.json")
    assert caught.value.returncode == 2


@pytest.mark.django_db
def test_size_can_look_back() -> None:
    make_small_catalog()
    with pytest.raises(CommandError, match="ISO"):
        sized(str(Path(__file__)), at="yesterday")
