"""The question of a plan reads as it was asked: places as they are written, assumptions by their names."""

from __future__ import annotations

import csv
import io

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from planner import services
from planner.forms import WorkbenchForm
from planner.kinds import KINDS
from reports.presenters import assumption, question
from tests.planner.factories import make_offer, make_small_catalog

pytestmark = pytest.mark.django_db


def asked(query: str) -> dict[str, str]:
    form = WorkbenchForm.from_query(QueryDict(query))
    assert form.is_valid(), form.errors
    return {fact.label: fact.text for fact in question(form.workload().model_dump(mode="json"))}


@pytest.mark.parametrize("kind", [kind.key for kind in KINDS])
def test_nothing_is_said_of_assumptions_that_nobody_set(kind: str) -> None:
    told = asked(f"kind={kind}")
    assert "Assumptions set by hand" not in told
    assert not {text for text in told.values() if text in ("{}", "[]", "None")}


def test_assumptions_that_were_set_are_told_by_name_value_and_unit() -> None:
    told = asked("assume=engine_bytes:3000000000,weight_read_fraction:0.5")["Assumptions set by hand"]
    assert told == "Memory of the engine itself = 3,000,000,000 byte, Bandwidth reached reading weights = 0.5"
    told = asked("kind=lora&assume=linear_fraction:0.5")["Assumptions set by hand"]
    assert told == "Compute rate reached in matrix products = 0.5"


def test_a_paper_names_no_model_that_a_number_of_parameters_stands_for() -> None:
    assert "Model" in asked("kind=pretraining&tokens=140")
    told = asked("kind=pretraining&tokens=140&parameters=7")
    assert told["Parameters"] == "7 billion"
    assert "Model" not in told


def test_places_are_written_as_places_are() -> None:
    assert asked("regions=tokyo,osaka,jp,us-east-1")["Regions"] == "Tokyo, Osaka, JP, us-east-1"


def test_what_was_set_by_hand_is_marked_in_the_table_of_a_paper() -> None:
    services.forget()
    make_small_catalog()
    make_offer("H200-SXM", "3.80")
    form = WorkbenchForm.from_query(QueryDict("assume=engine_bytes:3000000000"))
    assert form.is_valid()
    found = services.compare(form.workload(), at=timezone.now(), limit=1).assumptions
    names = [assumption(each).name for each in found]
    assert "vLLM · Memory of the engine itself (set by hand)" in names
    assert sum("set by hand" in name for name in names) == 1
    services.forget()


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_table_for_programs_holds_what_was_set_by_hand_in_codes(language: str, client: Client) -> None:
    services.forget()
    make_small_catalog()
    make_offer("H200-SXM", "3.80")
    query = "assume=engine_bytes:3000000000,weight_read_fraction:0.5"
    answer = client.get(f"/plans/draft/export.csv?{query}", headers={"accept-language": language})
    assert answer.status_code == 200
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))
    assert {row["assumed"] for row in rows} == {"engine_bytes=3e+09, weight_read_fraction=0.5"}
    services.forget()
