"""Small things that a plan's pages tell: who was faster, from when prices are, where a plan came from, one request."""

from __future__ import annotations

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.utils import timezone, translation

from catalog.quote_forms import QuoteForm
from planner.hosting_page import HostingForm
from reports import presenters, services, words
from reports.models import Plan
from tests.catalog.test_quote_tables import GOOD
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def test_a_conflict_names_the_person_who_was_faster_even_without_a_printed_name(
    plan: Plan, crew: Crew
) -> None:
    crew.owner.name = ""
    crew.owner.save()
    services.reword(plan, user=crew.owner, base_number=1, words=services.Words("Theirs"), at=timezone.now())
    plan.refresh_from_db()
    assert services.newest(plan).prepared_by == ""
    given = {"title": "Mine", "base_number": "1"}
    page = crew.client("editor").post(f"/plans/{plan.slug}/edit/", given)
    assert page.status_code == 409
    assert "Version 2 was saved by owner-a at" in page.content.decode()


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ("12", "12"),
        ("12@2026-11-30T21:34:17+00:00", "12, as of 2026-11-30 21:34:17 UTC"),
        ("12@2026-11-30T21:34:17.123456+09:00", "12, as of 2026-11-30 12:34:17 UTC"),
        ("made elsewhere@", "made elsewhere@"),
    ],
)
def test_the_catalogs_version_reads_as_a_number_and_a_moment(kept: str, told: str) -> None:
    assert words.catalog_version(kept) == told


def test_the_comparison_of_versions_tells_no_raw_moment(plan: Plan, crew: Crew) -> None:
    newest = services.reprice(plan, user=crew.owner, base_number=1, at=timezone.now())
    with connection.cursor() as cursor:  # past its own guard: versions never change
        past = "12@2026-11-30T21:34:17+00:00"
        cursor.execute("UPDATE reports_planversion SET catalog_version = %s WHERE id = %s", [past, newest.pk])
    for language in ("en", "ja"):
        page = crew.client("viewer").get(
            f"/plans/{plan.slug}/compare/", headers={"accept-language": language}
        )
        text = page.content.decode()
        assert "2026-11-30 21:34:17 UTC" in text
        assert "2026-11-30T21" not in text


def test_an_imported_plan_says_what_its_mark_is(plan: Plan, crew: Crew) -> None:
    editor = crew.client("editor")
    data = editor.get(f"/plans/{plan.slug}/export.json").content
    upload = {"file": SimpleUploadedFile("plan.json", data), "team": crew.team.pk}
    answer = editor.post("/plans/import/", upload)
    assert answer.status_code == 302
    page = editor.get(answer["Location"]).content.decode()
    mark = services.newest(plan).fingerprint[:12]
    assert f"The file&#x27;s fingerprint begins with {mark}." in page


def test_one_request_is_no_requests(catalog: None, crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner, concurrency={"average": 1, "peak": 1})
    with translation.override("en"):
        facts = {fact.label: fact.text for fact in presenters.question(version.answers[0].inputs)}
        assert facts["At once, peak"] == "1 request"
        many = save_plan(crew.team, crew.owner, concurrency={"average": 2, "peak": 30})
        facts = {fact.label: fact.text for fact in presenters.question(many.answers[0].inputs)}
        assert facts["At once, peak"] == "30 requests"


def test_digits_of_full_width_are_taken_where_numbers_are_typed() -> None:
    form = QuoteForm(
        GOOD | {"gpu_count": "８", "amount": "１，２００，０００．５", "startup_minutes": "１２"}
    )
    assert form.is_valid(), form.errors
    assert (form.cleaned_data["gpu_count"], str(form.cleaned_data["amount"])) == (8, "1200000.5")
    assert not QuoteForm(GOOD | {"gpu_count": "八"}).is_valid()
    assert not QuoteForm(GOOD | {"amount": "１，５"}).is_valid(), "as with a comma of half width"
    stated = HostingForm({"machines": "８", "purchase": "３００，０００"}, {}).stated()
    assert stated is not None
    assert (stated.machines, str(stated.purchase)) == (8, "300000")


def test_the_pages_sentence_matches_its_field(plan: Plan, crew: Crew) -> None:
    page = crew.client("editor").get("/workbench/?users_peak=1&users=1").content.decode()
    assert not re.search(r"\b1 requests", page)
