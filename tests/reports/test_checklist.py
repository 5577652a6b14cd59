"""The operations checklist: filled in from the plan, part of its content, carried by every file, computed right."""

from __future__ import annotations

import io
import itertools
import json
from decimal import Decimal
from pathlib import Path

import openpyxl
import pdfua
import pytest
from pydantic import ValidationError

from reports import checklist as lists
from reports import content, exports, services
from reports.checklist import Checklist, Service, availability
from reports.models import Plan
from tests.reports.conftest import Crew
from tests.reports.factories import small_comparison
from tests.reports.test_exports import paper_text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


@pytest.mark.parametrize(
    ("machines", "needed", "one"), [(1, 1, 0.99), (2, 1, 0.99), (3, 2, 0.9), (5, 3, 0.995)]
)
def test_availability_is_that_of_counting_every_case(machines: int, needed: int, one: float) -> None:
    """An oracle of plain loops: every pattern of machines up and down, with its chance."""
    total = 0.0
    for pattern in itertools.product((True, False), repeat=machines):
        if sum(pattern) >= needed:
            chance = 1.0
            for up in pattern:
                chance *= one if up else 1 - one
            total += chance
    assert availability(machines, needed, one) == pytest.approx(total, abs=1e-12)


def test_a_spare_never_makes_it_worse_and_a_need_never_better() -> None:
    for needed in range(1, 5):
        series = [availability(machines, needed, 0.97) for machines in range(needed, needed + 6)]
        assert series == sorted(series)
    assert availability(4, 2, 0.97) > availability(4, 3, 0.97) > availability(4, 4, 0.97)


def test_one_server_is_compared_with_the_layout_that_keeps_the_target(catalog: None) -> None:
    comparison = small_comparison()
    checklist = Checklist(availability_target=0.9999, machine_availability=0.99)
    one, redundant = lists.layouts(comparison, checklist)
    first = comparison.candidates[0]
    assert (one.machines, one.availability, one.monthly) == (1, 0.99, first.monthly.total)
    assert redundant.machines == 2
    assert redundant.availability == pytest.approx(0.9999)
    rent = next(line.amount for line in first.monthly.lines if line.what == "gpu")
    assert rent is not None
    assert redundant.monthly == first.monthly.total + rent
    assert one.downtime_hours == pytest.approx(7.3)
    assert lists.availability_verdict((one, redundant), checklist) == "redundant"
    assert lists.layouts(comparison, Checklist(availability_target=0.999)) == ()
    none = comparison.model_copy(update={"candidates": ()})
    assert lists.layouts(none, checklist) == ()


def test_restore_and_loss_are_held_against_their_targets() -> None:
    tested = {"restore_tested_on": "2026-11-01", "restore_hours": 3}
    for hours, verdict in ((4, "kept"), (3, "kept"), (2, "missed")):
        assert lists.restore_verdict(Checklist.model_validate(tested | {"recovery_hours": hours})) == verdict
    assert lists.restore_verdict(Checklist(recovery_hours=4)) == "not_tested"
    assert lists.restore_verdict(Checklist(restore_hours=4)) == "no_target"
    assert lists.loss_verdict(Checklist(tolerated_loss_hours=1, backup_interval_hours=24)) == "missed"


def test_it_is_filled_in_from_what_the_plan_knows_and_nothing_else(catalog: None) -> None:
    filled = lists.prefilled([small_comparison()])
    assert "vllm" in filled.entries["runtime"]
    assert "Llama-3.1-8B" in filled.entries["checkpoint_serving"]
    assert {each.name for each in filled.services} == {"@requests", "@weights", "@logs"}
    assert filled.done == ()
    assert "verified_where" not in filled.entries
    training = small_comparison().model_copy(update={"kind": "lora"})
    assert "@checkpoints" in {each.name for each in lists.prefilled([training]).services}


@pytest.mark.parametrize(
    "document",
    [{"recovery_hours": -1}, {"availability_target": 1}, {"machine_availability": 0}, {"x": 1},
     {"questions": ["q"] * 41}, {"services": [{}]}, {"recovery_hours": float("nan")}],
)  # fmt: skip
def test_a_checklist_that_makes_no_sense_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Checklist.model_validate(document)


POSTED = {
    "base_number": "1", "entry_driver": "580.95 on H100", "done_driver": "on",
    "entry_roll_back": "=1+1 image of last week",
    "availability_target": "99.99", "machine_availability": "99", "recovery_hours": "4", "restore_hours": "6",
    "restore_tested_on": "2026-11-01", "service_0_name": "Gateway", "service_0_data_class": "personal",
    "service_0_place": "東京", "questions": "Who pays?\n\nWho is on call?",
}  # fmt: skip


def test_a_checklist_is_saved_as_the_next_version_over_the_same_figures(plan: Plan, crew: Crew) -> None:
    editor = crew.client("editor")
    path = f"/plans/{plan.slug}/checklist/"
    page = editor.get(path).content.decode()
    assert "What the plan knows itself is filled in" in page
    assert "Requests and answers" in page
    assert editor.post(path, POSTED).status_code == 302
    first, second = plan.versions.order_by("number")
    assert first.checklist_text == ""
    assert second.answered_by == first
    kept = Checklist.model_validate_json(second.checklist_text)
    assert kept.services == (Service(name="Gateway", data_class="personal", place="東京"),)
    assert kept.questions == ("Who pays?", "Who is on call?")
    assert kept.availability_target == pytest.approx(0.9999)
    assert kept.done == ("driver",)
    assert content.is_whole(first)
    assert content.is_whole(second)
    again = editor.get(path).content.decode()
    assert 'value="99.99"' in again
    assert "580.95 on H100" in again
    assert editor.post(path, POSTED).status_code == 409
    shown = crew.client("viewer").get(f"/plans/{plan.slug}/").content.decode()
    assert "takes longer than the recovery time" in shown
    assert "the redundant layout keeps it" in shown


def test_every_file_carries_the_checklist(plan: Plan, crew: Crew) -> None:
    editor = crew.client("editor")
    editor.post(f"/plans/{plan.slug}/checklist/", POSTED)
    path = f"/plans/{plan.slug}/export"
    document = json.loads(editor.get(f"{path}.json").content)
    assert document["content"]["checklist"]["entries"]["driver"] == "580.95 on H100"
    paper = paper_text(editor.get(f"{path}.pdf").content)
    for text in ("580.95 on H100", "Who is on call?", "99.99 %", "Gateway"):
        assert text in paper
    book = openpyxl.load_workbook(io.BytesIO(editor.get(f"{path}.xlsx").content))
    rows = list(book["Checklist"].iter_rows(values_only=True))
    assert ("Driver, framework and runtime", "GPU and driver", True, "580.95 on H100") in rows
    assert any(row[3] == "=1+1 image of last week" for row in rows)
    assert all(cell.data_type != "f" for line in book["Checklist"].iter_rows() for cell in line)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_paper_with_a_checklist_and_several_workloads_is_accessible(
    plan: Plan, crew: Crew, tmp_path: Path, language: str
) -> None:
    editor = crew.client("editor")
    editor.post(f"/plans/{plan.slug}/checklist/", POSTED)
    second = {
        "title": "Two 見積",
        "query": "kind=llm_batch",
        "name": "夜間",
        "base_number": 2,
        "place": "new",
    }
    assert editor.post(f"/plans/{plan.slug}/add/", second).status_code == 302
    version = services.newest(Plan.objects.get(pk=plan.pk))
    for paper in exports.PAPERS:
        target = tmp_path / f"{paper}.pdf"
        target.write_bytes(exports.of_version(version, "pdf", language, paper=paper).content)
        report = pdfua.validate(str(target))
        assert [f"{finding.rule_id}: {finding.message}" for finding in report.findings] == []


def test_a_version_keeps_its_checklist_when_figures_are_computed_anew(plan: Plan, crew: Crew) -> None:
    editor = crew.client("editor")
    editor.post(f"/plans/{plan.slug}/checklist/", POSTED)
    editor.post(f"/plans/{plan.slug}/reprice/", {"base_number": 2})
    editor.post(f"/plans/{plan.slug}/edit/", {"title": "Renamed", "base_number": 3})
    texts = list(plan.versions.order_by("number").values_list("checklist_text", flat=True))
    assert texts[0] == ""
    assert len(set(texts[1:])) == 1
    assert len(texts) == 4


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("recovery_hours", "-1"), ("recovery_hours", "1e9"), ("availability_target", "100"),
        ("availability_target", "0"),
        ("machine_availability", "x"), ("restore_tested_on", "2026-02-30"), ("service_0_name", ""),
        ("entry_driver", "x" * 1001), ("questions", "\n".join(["q"] * 41)), ("base_number", ""),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said_at_its_field_and_nothing_is_lost(
    plan: Plan, crew: Crew, field: str, value: str
) -> None:
    answer = crew.client("editor").post(f"/plans/{plan.slug}/checklist/", POSTED | {field: value})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert 'class="errorlist"' in page
    assert "image of last week" in page
    assert plan.versions.count() == 1


def test_the_total_of_a_redundant_layout_is_unknown_where_the_rent_is(catalog: None) -> None:
    comparison = small_comparison()
    first = comparison.candidates[0]
    lines = tuple(
        line.model_copy(update={"amount": None}) if line.what == "gpu" else line
        for line in first.monthly.lines
    )
    bill = first.monthly.model_copy(update={"lines": lines, "total": Decimal(1), "complete": False})
    unknown = comparison.model_copy(update={"candidates": (first.model_copy(update={"monthly": bill}),)})
    assert [each.monthly for each in lists.layouts(unknown, Checklist(machine_availability=0.9))] == [
        None,
        None,
    ]
