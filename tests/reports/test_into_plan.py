"""A sheet that was opened from a plan goes back into it: as its next version, in the place it came from."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from planner.forms import WorkbenchForm
from reports import asked, services
from reports.models import Plan
from reports.origin import origin_of
from tests.reports.conftest import Crew

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

BUTTON = "Save into plan “Chat assistant”"


def workbench_link(client: Client, plan: Plan) -> str:
    page = client.get(f"/plans/{plan.slug}/").content.decode()
    found = re.search(r'href="(/workbench/\?[^"]*)">Open this in the workbench', page)
    assert found
    return html.unescape(found[1])


def fields_of(page: str, action: str) -> dict[str, str]:
    """Hidden fields of the form that posts there."""
    form = re.search(rf'<form method="post" action="{re.escape(action)}".*?</form>', page, re.DOTALL)
    assert form, action
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0])
    return {name: html.unescape(value) for name, value in found if name != "csrfmiddlewaretoken"}


def test_a_changed_question_becomes_the_next_version_and_the_comparison_shows_it(
    plan: Plan, crew: Crew
) -> None:
    editor = crew.client("editor")
    link = workbench_link(editor, plan)
    assert f"into={plan.slug}.1" in link
    page = editor.get(f"{link}&users_peak=77").content.decode()
    assert "Opened from the plan" in page
    assert page.index(BUTTON) < page.index("Save as new plan")
    assert "As version 2, in the place of workload 1" in page
    action = f"/plans/{plan.slug}/add/"
    answer = editor.post(action, fields_of(page, action))
    assert (answer.status_code, answer["Location"]) == (302, f"/plans/{plan.slug}/")
    version = services.newest(Plan.objects.get(pk=plan.pk))
    assert (version.number, len(version.answers), version.title) == (2, 1, "Chat assistant")
    assert version.answers[0].inputs["concurrency"]["peak"] == 77
    assert "into" not in version.answers[0].query
    compared = " ".join(editor.get(f"/plans/{plan.slug}/compare/").content.decode().split())
    assert "At once, peak" in compared
    assert re.search(r"<bdi>77 request", compared)


def test_the_origin_survives_refinement_other_kinds_columns_and_a_post(plan: Plan, crew: Crew) -> None:
    editor, into = crew.client("editor"), f"{plan.slug}.1"
    htmx = {"HX-Request": "true", "HX-Current-URL": "http://testserver/workbench/"}
    refined = editor.get("/workbench/", {"into": into, "users_peak": "31"}, headers=htmx)
    assert BUTTON in refined.content.decode()
    assert f"into={into}" in refined["HX-Push-Url"]
    posted = editor.post("/workbench/", {"into": into, "users_peak": "31", "kind": "llm_serving"})
    assert posted.status_code == 303
    assert parse_qs(urlsplit(posted["Location"]).query)["into"] == [into]
    page = editor.get(f"/workbench/?into={into}&kind=llm_batch").content.decode()
    assert f'<input type="hidden" name="into" value="{into}"' in page
    assert BUTTON in page
    assert f"/workbench/?into={into}" in page, "starting again with the defaults keeps it"
    form = WorkbenchForm.from_query(QueryDict(f"into={into}&users_peak=31"))
    kept = asked.read(QueryDict(f"into={into}&users_peak=31"), at=timezone.now())
    assert form.query_string().endswith(f"into={into}")
    assert "into" not in kept.query, "a plan's own question does not lead to another plan"


def test_a_refinement_is_shared_with_nobody_who_may_not_write_the_plan(plan: Plan, crew: Crew) -> None:
    query = {"into": f"{plan.slug}.1", "users_peak": "31"}
    htmx = {"HX-Request": "true", "HX-Current-URL": "http://testserver/workbench/"}
    for who in ("editor", "viewer", "editor"):
        member = crew.client(who)
        member.post(f"/accounts/teams/{crew.team.pk}/choose/")
        text = member.get("/workbench/", query, headers=htmx).content.decode()
        assert (BUTTON in text) is (who == "editor"), who


@pytest.mark.parametrize("who", ["viewer", "stranger", "anonymous"])
def test_who_may_not_write_the_plan_saves_a_new_one_and_learns_nothing_of_it(
    plan: Plan, crew: Crew, who: str
) -> None:
    client = crew.client(who)
    page = client.get(f"/workbench/?into={plan.slug}.1").content.decode()
    assert "Chat assistant" not in page
    assert "Save into plan" not in page
    assert ">Save as plan<" in page
    told = "log in to save it into that plan" in page
    assert told is (who == "anonymous")
    expected = {"viewer": 403, "stranger": 404, "anonymous": 302}[who]
    assert client.post(f"/plans/{plan.slug}/add/", {"query": ""}).status_code == expected


def test_a_visitor_logs_in_and_comes_back_to_the_same_sheet(plan: Plan) -> None:
    page = Client().get(f"/workbench/?users_peak=31&into={plan.slug}.1").content.decode()
    found = re.search(r'href="(/accounts/login/\?next=[^"]*)">Log in</a></p>', page)
    assert found
    back = parse_qs(urlsplit(html.unescape(found[1])).query)["next"][0]
    assert parse_qs(urlsplit(back).query) == {"users_peak": ["31"], "into": [f"{plan.slug}.1"]}


def test_the_page_of_workloads_leads_to_another_one_for_the_same_plan(plan: Plan, crew: Crew) -> None:
    editor = crew.client("editor")
    assert (
        f'href="/workbench/?into={plan.slug}"'
        in editor.get(f"/plans/{plan.slug}/workloads/").content.decode()
    )
    page = editor.get(f"/workbench/?kind=llm_batch&into={plan.slug}").content.decode()
    assert "with this as another workload" in page
    action = f"/plans/{plan.slug}/add/"
    editor.post(action, fields_of(page, action))
    version = services.newest(Plan.objects.get(pk=plan.pk))
    assert [row.kind for row in version.answers] == ["llm_serving", "llm_batch"]


def test_other_words_or_another_place_are_asked_for_on_request(plan: Plan, crew: Crew) -> None:
    editor, action = crew.client("editor"), f"/plans/{plan.slug}/add/"
    page = editor.get(f"/workbench/?users_peak=31&into={plan.slug}.1").content.decode()
    asked_page = editor.post(action, fields_of(page, action) | {"ask": "1"})
    text = asked_page.content.decode()
    assert asked_page.status_code == 200
    assert 'value="Chat assistant"' in text
    assert re.search(r'<option value="1" selected>', text)
    assert f"into={plan.slug}.1" in text, "the way back keeps where it came from"
    assert Plan.objects.get(pk=plan.pk).latest_number == 1, "nothing is written yet"


def test_somebody_who_was_faster_is_not_overwritten(plan: Plan, crew: Crew) -> None:
    editor, action = crew.client("editor"), f"/plans/{plan.slug}/add/"
    page = editor.get(f"/workbench/?users_peak=31&into={plan.slug}.1").content.decode()
    services.reword(plan, user=crew.owner, base_number=1, words=services.Words("Theirs"), at=timezone.now())
    answer = editor.post(action, fields_of(page, action))
    assert answer.status_code == 409
    assert "Theirs" in answer.content.decode()
    assert Plan.objects.get(pk=plan.pk).latest_number == 2


def test_an_archived_or_unknown_plan_is_no_origin(plan: Plan, crew: Crew) -> None:
    assert origin_of(crew.editor, f"{plan.slug}.1") is not None
    beyond = origin_of(crew.editor, f"{plan.slug}.7")
    assert beyond is not None
    assert beyond.place == "new"
    assert origin_of(crew.editor, "aaaaaaaaaaaa.1") is None
    services.archive(plan, at=timezone.now(), user=crew.owner)
    assert origin_of(crew.editor, f"{plan.slug}.1") is None
    assert WorkbenchForm.from_query(QueryDict("into=../../x")).is_valid() is False
