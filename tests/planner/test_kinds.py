"""Kinds of workload: what every declaration must hold, and what a newcomer gets from one."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

from planner import documents, kinds, services
from planner.explore.subjects import SUBJECTS
from planner.fields import SheetField
from planner.form_layout import BoundFold, BoundRow
from planner.forms import WorkbenchForm
from planner.kinds.frame import Kind
from planner.sizing.results import Candidate, MemoryParts
from tests.planner.factories import make_offer, make_small_catalog
from tests.planner.made_up_kind import WEAVING, WeavingWorkload

pytestmark = pytest.mark.django_db
ALL = [pytest.param(kind, id=kind.key) for kind in (*kinds.KINDS, WEAVING)]


def form_of(query: str) -> WorkbenchForm:
    return WorkbenchForm.from_query(QueryDict(query))


@pytest.fixture
def weaving(monkeypatch: pytest.MonkeyPatch) -> Kind:
    """The made-up kind among the others, as if it stood in the list."""
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, WEAVING))
    monkeypatch.setattr(kinds, "BY_NAME", {name: kind for kind in kinds.KINDS for name in kind.names})
    monkeypatch.setattr(kinds, "WORKLOAD", kinds._adapter())
    return WEAVING


def in_schema(schema: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Whether the schema of a document has a property at this path."""
    node = schema
    for step in path:
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
        if step not in node.get("properties", {}):
            return False
        node = node["properties"][step]
    return True


@pytest.mark.parametrize("kind", ALL)
def test_every_field_names_a_key_of_the_document(kind: Kind) -> None:
    schema = kind.workload.model_json_schema()
    lost = [name for name, field in kind.fields.items() if field.path and not in_schema(schema, field.path)]
    assert not lost


@pytest.mark.parametrize("kind", ALL)
def test_every_field_is_drawn_once(kind: Kind) -> None:
    drawn = []
    for group in WorkbenchForm({}, kind=kind).groups():
        for part in group.parts:
            rows = part.rows if isinstance(part, BoundFold) else (part,)
            assert all(isinstance(row, BoundRow) for row in rows)
            drawn += [field.name for row in rows for field in row.fields]
    hidden = [name for name, field in kind.fields.items() if field.widget.is_hidden]
    assert sorted(drawn + hidden) == sorted(kind.fields)


@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.key)
def test_an_empty_form_is_the_default_document(kind: Kind) -> None:
    for name in kind.names:
        form = form_of(f"kind={name}")
        assert form.is_valid(), form.errors
        assert form.workload() == kind.workload(kind=name)


@pytest.mark.parametrize("kind", ALL)
def test_measures_and_costs_have_their_columns(kind: Kind) -> None:
    keys = [column.key for column in kind.columns]
    assert len(keys) == len(set(keys))
    assert {measure.key for measure in kind.measures} <= set(keys)
    assert {cost.key for cost in kind.costs} <= set(keys)
    assert set(kind.carrying) <= set(kind.fields)
    assert set(kind.levers) <= set(kind.fields)
    assert set(kind.explorations) <= set(SUBJECTS)
    assert all(small in kind.fields and large in kind.fields for small, large in kind.ordered)


def test_names_on_the_wire_are_those_that_were_agreed() -> None:
    names = [name for kind in kinds.KINDS for name in kind.names]
    assert len(names) == len(set(names))
    assert set(names) <= {"llm_serving", "llm_batch", *kinds.PLANNED}
    schema = documents.schema("workload")
    assert set(schema["discriminator"]["mapping"]) == set(names)


def test_a_kind_that_nobody_declared_is_refused_by_name() -> None:
    for name in kinds.NOT_YET:
        with pytest.raises(documents.WorkloadInvalid, match="is not sized yet"):
            documents.validate({"kind": name})


def test_columns_of_several_kinds_keep_the_order_of_each() -> None:
    both = [column.key for column in kinds.columns_of(["llm_serving", "llm_batch"])]
    for name in ("llm_serving", "llm_batch"):
        own = [column.key for column in kinds.of(name).columns]
        assert [key for key in both if key in own] == own


def test_what_was_typed_for_one_kind_waits_while_another_is_looked_at() -> None:
    form = form_of("kind=llm_batch&ttft=3&users_peak=&requests=5&in=700")
    assert form.is_valid(), form.errors
    assert form.parked == {"ttft": "3", "users_peak": ""}
    again = form_of(form.query_string(kind=None))
    assert again.is_valid(), again.errors
    assert (again.data["ttft"], again.data["in"], again.parked["requests"]) == ("3", "700", "5")


def test_what_equals_the_other_kinds_default_is_not_parked() -> None:
    assert form_of("kind=llm_batch&ttft=1&users=8").parked == {}
    assert form_of("kind=llm_batch&ttft=" + "1" * 500).parked == {}, "nothing without end is carried along"


@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.key)
def test_the_page_of_a_kind_has_its_chooser_and_its_fields(client: Client, kind: Kind) -> None:
    make_small_catalog()
    page = client.get("/workbench/", {"kind": kind.key}).content.decode()
    assert f'<option value="{kind.key}" selected>' in page
    for name, field in kind.fields.items():
        assert isinstance(field, SheetField)
        assert f'name="{name.rstrip("_")}"' in page


def test_choosing_another_kind_by_post_leads_to_its_link(client: Client) -> None:
    make_small_catalog()
    answer = client.post("/workbench/", {"kind": "llm_batch", "in": "700", "ttft": "3", "switch": "1"})
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/workbench/?kind=llm_batch&in=700&ttft=3"


# What one declaration gives ---------------------------------------------------------------------------------


def test_a_declared_kind_is_sized_ranked_and_billed(weaving: Kind, at: datetime) -> None:
    make_small_catalog()
    found = services.compare(WeavingWorkload(), at=at, sort="finish")
    assert found.kind == "weaving"
    assert found.candidates_total > 1
    hours = [candidate.figures["weaving_hours"].value for candidate in found.candidates]
    assert hours == sorted(hours)
    first = found.candidates[0]
    assert isinstance(first.memory, MemoryParts)
    assert first.monthly.hours > 0
    carpet = first.unit_costs["carpet"]
    assert carpet is not None
    assert float(carpet) == pytest.approx(float(first.monthly.total) / 20 / 30.4167, abs=0.01)
    costly = services.compare(WeavingWorkload(), at=at, sort="-per_unit").candidates
    totals = [candidate.monthly.total for candidate in costly if candidate.class_ == 1]
    assert totals == sorted(totals, reverse=True)


def test_a_declared_kind_says_what_does_not_fit_and_what_is_late(weaving: Kind, at: datetime) -> None:
    make_small_catalog()
    make_offer("L4", "0.80", at=at)
    large = services.compare(WeavingWorkload(knots_million=500), at=at)
    assert large.rejected_counts["memory"] >= 1
    assert large.rejected[0].needed_bytes is not None
    late = services.compare(WeavingWorkload(deadline_hours=0.001), at=at)
    assert late.class_counts["1"] == 0
    assert late.smallest_change is not None
    assert late.smallest_change.change == "deadline_hours"


def test_a_declared_kind_has_page_fragment_details_chart_and_files(weaving: Kind, client: Client) -> None:
    make_small_catalog()
    make_offer("H200-SXM", "3.80")
    page = client.get("/workbench/?kind=weaving&deadline=").content.decode()
    for text in (
        "weaves it in",
        "Weaving, all carpets",
        "Per carpet",
        "pattern",
        "Handicraft",
        "Knots of one",
    ):
        assert text in page
    fragment = client.get(
        "/workbench/?kind=weaving&deadline=", headers={"hx-request": "true"}
    ).content.decode()
    assert "Per carpet" in fragment
    assert "<html" not in fragment
    offer = services.compare(WeavingWorkload(), at=_now(), limit=1).candidates[0].offer.offer_id
    detail = client.get(f"/workbench/candidate/{offer}/?kind=weaving").content.decode()
    assert "carpets × knots ÷ rate ÷ 3600" in detail
    assert "Hours of weaving" not in detail
    assert "hours of weaving" in client.get("/workbench/chart/?kind=weaving").content.decode()
    text = client.get("/plans/draft/export.csv?kind=weaving").content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows[0]["kind"] == "weaving"
    assert float(rows[0]["weaving_hours_h"]) > 0
    assert rows[0]["per_carpet"]
    pdf = client.get("/plans/draft/export.pdf?kind=weaving")
    assert pdf.status_code == 200
    assert b"".join(pdf).startswith(b"%PDF") if pdf.streaming else pdf.content.startswith(b"%PDF")


def test_a_link_with_any_name_of_a_kind_opens_it(weaving: Kind) -> None:
    form = form_of("kind=knotting&carpets=3")
    assert form.is_valid(), form.errors
    assert form.kind is weaving
    assert form.workload() == WeavingWorkload(kind="knotting", carpets=3)
    assert form.query_string() == "kind=weaving&craft=knotting&carpets=3"


def test_a_declared_kind_refuses_bad_input_at_its_field(weaving: Kind) -> None:
    form = form_of("kind=weaving&carpets=0&knots=many")
    assert set(form.errors) == {"carpets", "knots"}
    assert "at least 1" in form.errors["carpets"][0]


def test_a_declared_kind_stands_in_schema_api_and_start_page(weaving: Kind, client: Client) -> None:
    make_small_catalog()
    assert {"weaving", "knotting"} <= set(documents.schema("workload")["discriminator"]["mapping"])
    answer = client.post("/api/v1/size", json.dumps({"kind": "knotting"}), content_type="application/json")
    assert answer.status_code == 200, answer.content
    assert answer.json()["kind"] == "knotting"
    assert "kind=weaving&amp;carpets=1" in client.get("/").content.decode()


def test_every_candidate_of_a_kind_fills_its_columns(weaving: Kind, at: datetime) -> None:
    make_small_catalog()
    for kind in kinds.KINDS:
        for candidate in services.compare(kind.workload(kind=kind.key), at=at).candidates:
            shown = [column.value(candidate) for column in kind.columns if column.shown]
            assert len(shown) > 5
            assert isinstance(candidate, Candidate)


def _now() -> datetime:
    from django.utils import timezone

    return timezone.now()
