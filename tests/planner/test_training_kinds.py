"""Fine-tuning and pre-training through form, page, exports, schema and API."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from html import unescape

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from planner import documents, kinds, services
from planner.forms import WorkbenchForm
from planner.kinds.fine_tuning import FINE_TUNING
from planner.kinds.frame import Example
from planner.kinds.pretraining import PRETRAINING
from planner.sizing.training.workload import PretrainingWorkload, TuningWorkload
from tests.planner.factories import make_offer, make_small_catalog

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.one_database(reason="sums and words over a market that other tests read on both"),
]
EXAMPLES = [pytest.param(one, id=one.key) for kind in (FINE_TUNING, PRETRAINING) for one in kind.examples]
NAMES = ("lora", "qlora", "full_finetune", "pretraining")


def form_of(query: str) -> WorkbenchForm:
    return WorkbenchForm.from_query(QueryDict(query))


def make_training_catalog(at: datetime) -> None:
    make_small_catalog(at)
    make_offer("H100-SXM5", "19.92", provider="large", count=8, region="", ram_gib=2048, at=at)
    make_offer("H200-SXM", "28.00", provider="large", count=8, region="", ram_gib=2048, at=at)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_filled_in_and_yields_candidates(example: Example, client: Client) -> None:
    at = timezone.now()
    make_training_catalog(at)
    form = form_of(example.query)
    assert form.is_valid(), form.errors
    found = services.compare(form.workload(), at=at)
    assert found.class_counts["1"] >= 1
    best = found.candidates[0]
    assert best.figures["run_hours"].value > 0
    assert best.figures["run_hours"].low < best.figures["run_hours"].high  # type: ignore[operator]
    assert best.unit_costs["run"]
    page = client.get(f"/workbench/?{example.query}").content.decode()
    assert "do the run in" in page or "does the run in" in page


@pytest.mark.parametrize("name", NAMES)
def test_each_name_on_the_wire_is_schema_document_and_api(name: str, client: Client) -> None:
    make_training_catalog(timezone.now())
    assert name in documents.schema("workload")["discriminator"]["mapping"]
    answer = client.post("/api/v1/size", json.dumps({"kind": name}), content_type="application/json")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["kind"] == name
    assert body["candidates"], body["rejected_counts"]
    assert {"run_hours", "tokens_per_s", "mfu", "checkpoint_bytes"} <= set(body["candidates"][0]["figures"])
    assert [part["name"] for part in body["candidates"][0]["memory"]["parts"]][:4] == [
        "frozen", "trainable", "gradients", "optimizer",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "query", ["kind=lora", "kind=qlora", "kind=full_finetune", "kind=pretraining&parameters=7"]
)
def test_page_details_chart_csv_and_pdf(query: str, client: Client) -> None:
    make_training_catalog(timezone.now())
    assert client.get(f"/workbench/?{query}").status_code == 200
    form = form_of(query)
    assert form.is_valid(), form.errors
    workload = form.workload()
    offer = services.compare(workload, at=timezone.now(), limit=1).candidates[0].offer.offer_id
    detail = unescape(client.get(f"/workbench/candidate/{offer}/?{query}").content.decode())
    for text in (
        "How it is split",
        "Checkpoints and failures",
        "Host, storage, network",
        "steps × train_step_s ÷ 3600",
    ):
        assert text in detail
    assert client.get(f"/workbench/chart/?{query}").status_code == 200
    text = client.get(f"/plans/draft/export.csv?{query}").content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert float(rows[0]["run_hours_h"]) > 0
    assert rows[0]["run_cost"]
    pdf = client.get(f"/plans/draft/export.pdf?{query}")
    assert pdf.status_code == 200


def test_the_method_is_a_field_and_a_link_keeps_it() -> None:
    form = form_of("kind=qlora")
    assert form.is_valid(), form.errors
    assert form.workload() == TuningWorkload(kind="qlora")
    assert "method=qlora" in form.query_string()


def test_fields_reach_the_document() -> None:
    query = (
        "kind=full_finetune&method=full_finetune&software=torch&optimizer=adamw_8bit&precision=fp8&state=half"
        "&recompute=full&scores=1&chunked=1&sharding=zero3&tp=2&sequence=4096&padded=1&mean=900&batch=64&micro=2"
        "&content=weights&interval=30&place=shared&access=nfs&decode=3&shared=80&deadline=24&machines_max=2"
    )
    form = form_of(query)
    assert form.is_valid(), form.errors
    found = form.workload()
    assert isinstance(found, TuningWorkload)
    assert (found.software, found.optimizer, found.precision, found.state) == (
        "torch",
        "adamw_8bit",
        "fp8",
        "half",
    )
    assert (found.parallel.sharding, found.parallel.tp) == ("zero3", 2)
    assert (found.lengths.maximum, found.lengths.mean, found.lengths.packed) == (4096, 900, False)
    assert (found.batch.effective, found.batch.micro) == (64, 2)
    assert (found.flash_attention, found.chunked_loss, found.recompute) == (False, True, "full")
    assert (found.checkpoints.content, found.checkpoints.interval_minutes) == ("weights", 30)
    assert (found.storage.place, found.storage.method) == ("shared", "nfs")
    assert (found.host.decode_ms, found.host.parallel_fraction) == (3, 0.8)
    assert (found.deadline_hours, found.machines_maximum) == (24, 2)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("kind=lora&rank=0", "rank"), ("kind=lora&rank=many", "rank"), ("kind=lora&samples=0", "samples"),
        ("kind=lora&epochs=-1", "epochs"), ("kind=lora&sequence=0", "sequence"),
        ("kind=lora&batch=1.5", "batch"), ("kind=lora&micro=64&batch=32", "batch"),
        ("kind=lora&mean=4000&sequence=2048&padded=1", "sequence"), ("kind=lora&tp=0", "tp"),
        ("kind=lora&shared=150", "shared"), ("kind=lora&read=0", "read"), ("kind=lora&model=no-such-model", "model"),
        ("kind=lora&method=magic", "method"), ("kind=lora&optimizer=magic", "optimizer"),
        ("kind=pretraining&tokens=0", "tokens"), ("kind=pretraining&parameters=0", "parameters"),
        ("kind=pretraining&batch=0", "batch"), ("kind=pretraining&machines_max=0", "machines_max"),
        ("kind=pretraining&network=none", "network"),
    ],
)  # fmt: skip
def test_bad_input_gets_a_message_at_its_field_and_loses_nothing(
    query: str, field: str, client: Client
) -> None:
    make_training_catalog(timezone.now())
    answer = client.get(f"/workbench/?{query}")
    assert answer.status_code == 200
    form = form_of(query)
    if field != "model":  # Said when the answer is asked for.
        assert field in form.errors, form.errors
    page = answer.content.decode()
    assert f'id="err-{field}"' in page
    key, _equals, typed = query.split("&")[1].partition("=")
    assert typed in page, key


def test_a_model_and_a_number_of_parameters_are_two_ways_to_ask() -> None:
    at = timezone.now()
    make_training_catalog(at)
    usual = services.compare(PretrainingWorkload(parameters_billion=7), at=at)
    assert usual.model["parameters"] == pytest.approx(7e9, rel=0.05)
    named = services.compare(PretrainingWorkload(), at=at)
    assert named.model["name"] == "meta-llama/Llama-3.1-8B-Instruct"


def test_both_kinds_stand_among_the_others_on_the_start_page(client: Client) -> None:
    page = client.get("/").content.decode()
    for example in (*FINE_TUNING.examples, *PRETRAINING.examples):
        assert example.query.replace("&", "&amp;") in page
    assert {"lora", "qlora", "full_finetune", "pretraining"} <= kinds.BY_NAME.keys()


def test_the_number_of_gpus_can_be_asked_for_and_is_told_instead_of_machines(client: Client) -> None:
    make_offer("H100-SXM5", "20", count=8, sku="eight")
    query = "kind=pretraining&parameters=1&tokens=20&gpus_exact=16&deadline="
    page = unescape(client.get(f"/workbench/?{query}").content.decode())
    assert "16 × H100-SXM5 in 2 machines do the run in" in page
    assert "“GPUs, exactly” is given, so “Machines, at most” does not count." in page
    refused = unescape(client.get(f"/workbench/?{query.replace('=16', '=0')}").content.decode())
    assert "0 is too small: at least 1 is accepted." in refused
    text = client.get(f"/plans/draft/export.csv?{query}").content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["gpus_exact"] for row in rows} == {"16"}
    answer = client.post(
        "/api/v1/size",
        {"kind": "lora", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "gpus_exact": 16},
        content_type="application/json",
    ).json()
    assert {one["figures"]["gpu_count"]["value"] for one in answer["candidates"]} == {16}
