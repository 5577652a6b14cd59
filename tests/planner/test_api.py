"""The planner over HTTP."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from django.test import Client

from planner import documents, kinds
from planner.sizing.results import Comparison
from tests.planner.factories import make_small_catalog

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, at: object) -> None:
    monkeypatch.setattr("planner.api.timezone.now", lambda: at)


def post(client: Client, body: str | bytes, path: str = "/api/v1/size", **options: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    answer = client.post(path, body, content_type=options.get("content_type", "application/json"))
    return answer.status_code, json.loads(answer.content)


def test_an_empty_object_is_the_default_workload(client: Client, clock: None) -> None:
    make_small_catalog()
    status, answer = post(client, "{}")
    assert status == 200
    found = Comparison.model_validate(answer)
    assert found.candidates[0].monthly.total == Decimal("811.00")
    assert answer["candidates"][0]["class"] == 1


def test_a_page_and_an_order_can_be_asked_for(client: Client, clock: None) -> None:
    make_small_catalog()
    _status, answer = post(client, "{}", "/api/v1/size?limit=1&offset=1&sort=-bandwidth")
    assert [candidate["rank"] for candidate in answer["candidates"]] == [2]
    assert answer["candidates"][0]["offer"]["accelerator"] == "A100-SXM4-80GB"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"colour": 1}', "colour"),
        ('{"model": {"id": "nobody/nothing"}}', "model"),
        ('{"runtime": {"version": "latest"}}', "runtime"),
        ('{"storage_gb": -1}', "storage_gb"),
    ],
)
def test_a_bad_workload_is_refused_at_its_field(client: Client, body: str, field: str) -> None:
    status, answer = post(client, body)
    assert status == 422
    assert answer["field"] == field
    assert answer["error"]


@pytest.mark.parametrize("body", ["", "[]", "null", "{", '{"storage_gb": NaN}', "[" * 100_000])
def test_a_broken_body_is_refused_as_json(client: Client, body: str) -> None:
    status, answer = post(client, body)
    assert status in (400, 422)
    assert answer["error"]


@pytest.mark.parametrize(
    "query", ["limit=-1", "limit=201", "limit=x", "offset=-1", "sort=password", "sort=--ttft"]
)
def test_a_wrong_page_is_refused(client: Client, query: str) -> None:
    status, answer = post(client, "{}", f"/api/v1/size?{query}")
    assert status == 422
    assert answer["error"]


def test_schemas_are_served(client: Client) -> None:
    assert client.get("/api/v1/schema/workload").json()["title"] == "Workload"
    assert client.get("/api/v1/schema/comparison").json()["title"] == "Comparison"
    assert client.get("/api/v1/schema/secrets").status_code == 404


def test_models_are_found_as_one_types(client: Client) -> None:
    found = client.get("/api/v1/models", {"q": "llama 3.1 8b"}).json()
    assert found[0]["id"].startswith("meta-llama/Llama-3.1-8B")
    assert client.get("/api/v1/models", {"q": "zzzz"}).json() == []
    assert client.get("/api/v1/models", {"q": "x" * 300}).status_code == 422


def test_the_description_of_the_api_covers_the_answer(client: Client) -> None:
    description = client.get("/api/v1/openapi.json").json()
    assert {"/api/v1/size", "/api/v1/schema/{name}", "/api/v1/models"} <= set(description["paths"])
    assert "Comparison" in description["components"]["schemas"]


def test_what_one_machine_holds_is_answered(client: Client) -> None:
    body = json.dumps({"model": {"id": "deepseek-ai/DeepSeek-R1"}, "weights_format": "fp8"})
    status, answer = post(client, body, "/api/v1/reach?accelerator=H200-SXM&count=8&users=10")
    assert status == 200
    assert answer["longest_context"]["value"] > 32_768
    assert answer["most_users"]["layout"] == {"tp": 1, "pp": 1, "ep": 8, "dp": 8}
    assert answer["largest_models"][0]["parameters"] > 10**12


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("accelerator=nothing", "{}"),
        ("accelerator=L4&count=0", "{}"),
        ("accelerator=L4", '{"kind": "lora"}'),
        ("accelerator=L4", '{"model": {"id": "no/such"}}'),
        ("accelerator=L4", '{"runtime": {"version": "zzz"}}'),
        ("accelerator=", "{}"),
    ],
)
def test_a_question_about_a_machine_that_cannot_be_answered_is_refused(
    client: Client, query: str, body: str
) -> None:
    status, answer = post(client, body, f"/api/v1/reach?{query}")
    assert status == 422
    assert answer


@pytest.mark.parametrize("path", ["/api/v1/size", "/api/v1/reach"])
def test_the_description_says_what_a_workload_is_made_of(path: str, client: Client) -> None:
    description = client.get("/api/v1/openapi.json").json()
    body = description["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["discriminator"]["mapping"].keys() == kinds.BY_NAME.keys()
    known = description["components"]["schemas"]
    shown = documents.schema("workload")["$defs"]
    for name, reference in body["discriminator"]["mapping"].items():
        described = known[reference.rpartition("/")[2]]
        assert described["properties"].keys() == shown[kinds.of(name).workload.__name__]["properties"].keys()
    assert "#/$defs/" not in json.dumps(description)
