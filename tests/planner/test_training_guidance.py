"""Where a reading rule applies to a training run, its answer says so."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.http import QueryDict
from django.test import Client

from planner import asked, services, wording
from planner.forms import WorkbenchForm
from planner.sizing.results import Candidate, Comparison
from reports import presenters
from tests.planner.factories import make_offer

pytestmark = pytest.mark.django_db
SEVEN = "model=Qwen/Qwen2.5-7B-Instruct"


@pytest.fixture(autouse=True)
def catalog(mixed_catalog: None) -> None:
    make_offer("L40S", "9", count=8)
    make_offer("A100-SXM4-80GB", "2")


def compared(query: str, now: datetime) -> Comparison:
    form = WorkbenchForm.from_query(QueryDict(query))
    assert form.is_valid(), form.errors
    return services.compare(form.workload(), at=now)


def on(query: str, accelerator: str, count: int, now: datetime) -> Candidate:
    return next(
        one
        for one in compared(query, now).candidates
        if (one.offer.accelerator, one.offer.gpu_count) == (accelerator, count)
    )


def test_qlora_where_sixteen_bits_would_fit_is_said(now: datetime) -> None:
    assert "qlora_not_needed" in on(f"kind=qlora&{SEVEN}", "H200-SXM", 1, now).warnings
    assert "qlora_not_needed" not in on(f"kind=lora&{SEVEN}", "H200-SXM", 1, now).warnings
    seventy = "kind=qlora&model=meta-llama/Llama-3.3-70B-Instruct&samples=1000"
    assert "qlora_not_needed" not in on(seventy, "H200-SXM", 1, now).warnings


def test_zero_3_over_pcie_is_said(now: datetime) -> None:
    query = f"kind=full_finetune&{SEVEN}&sharding=zero3"
    assert "zero3_over_pcie" in on(query, "L40S", 8, now).warnings
    assert "zero3_over_pcie" not in on(query, "H100-SXM5", 8, now).warnings
    assert "zero3_over_pcie" not in on(f"kind=lora&{SEVEN}", "L40S", 8, now).warnings


def test_fp8_where_the_units_do_not_run_it_is_refused_by_name(now: datetime) -> None:
    found = compared(f"kind=lora&{SEVEN}&precision=fp8", now)
    refused = {one.offer.accelerator: one for one in found.rejected if one.reason == "support"}
    assert refused["A100-SXM4-80GB"].detail["rule"] == "precision_not_run"
    assert "H200-SXM" in {one.offer.accelerator for one in found.candidates}


def test_a_sequence_beyond_the_models_own_is_said(now: datetime) -> None:
    long = on(f"kind=lora&{SEVEN}&sequence=40960&batch=8&recompute=full&chunked=1", "H100-SXM5", 8, now)
    assert "context_beyond_model" in long.warnings
    assert "context_beyond_model" not in on(f"kind=lora&{SEVEN}", "H100-SXM5", 8, now).warnings


def test_the_only_copy_on_scratch_and_runs_without_checkpoints_are_said(now: datetime) -> None:
    assert "only_copy_on_scratch" in on(f"kind=lora&{SEVEN}&place=scratch", "H200-SXM", 1, now).warnings
    plain = on(f"kind=lora&{SEVEN}", "H200-SXM", 1, now)
    assert not {"only_copy_on_scratch", "no_checkpoints"} & set(plain.warnings)
    assert "no_checkpoints" in on(f"kind=lora&{SEVEN}&no_saves=1", "H200-SXM", 1, now).warnings
    spot = compared(f"kind=lora&{SEVEN}&no_saves=1&tiers=spot", now)
    assert not spot.candidates


@pytest.mark.parametrize("code", ["qlora_not_needed", "zero3_over_pcie"])
def test_each_has_words(code: str) -> None:
    assert wording.warning(code) != code.replace("_", " ")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("samples=48828&epochs=1", "48,828 samples × 2,048 tokens make 100 million tokens an epoch, 100 million"),
        ("samples=2460&epochs=3&padded=1&mean=500", "2,460 samples × 500 tokens make 1.23 million tokens an epoch, 3"),
        ("samples=1000&epochs=2&padded=1", "1,000 samples × 1,024 tokens make 1.02 million tokens an epoch, 2.05 "),
    ],
)  # fmt: skip
def test_samples_are_told_as_tokens_too(query: str, said: str, client: Client) -> None:
    page = client.get(f"/workbench/?kind=lora&{SEVEN}&{query}").content.decode()
    assert said in page


def test_where_all_weights_are_trained_no_adapter_is_told_among_what_was_asked(now: datetime) -> None:
    def told(kind: str) -> set[str]:
        form = WorkbenchForm.from_query(QueryDict(f"kind={kind}&{SEVEN}"))
        assert form.is_valid()
        shown = {label for label, _text in asked.asked(form)}
        document = form.workload().model_dump(mode="json")
        return shown | {fact.label for fact in presenters.question(document)}

    assert {"Adapter rank", "Adapters on", "Frozen weights in"} <= told("lora")
    assert not {"Adapter rank", "Adapters on", "Frozen weights in"} & told("full_finetune")
    assert "Optimizer" in told("full_finetune")
