"""Pages of plans: saving without losing anything, finding again, two editors, hostile words."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role, Team
from accounts.services import personal_team
from reports import services
from reports.models import Plan, PlanVersion
from tests.factories import AT, PASSWORD, make_member, make_team, make_user
from tests.reports.conftest import Crew
from tests.reports.factories import HOSTILE, save_plan, sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

QUERY = "weights=fp8&users=9&users_peak=40"


def errors(body: bytes) -> list[str]:
    lists = re.findall(r'<ul class="errorlist[^>]*>(.*?)</ul>', body.decode(), re.DOTALL)
    return [re.sub(r"<[^>]+>", "", text).strip() for text in lists]


def test_a_screen_becomes_a_plan_in_one_post(catalog: None, crew: Crew, at: datetime) -> None:
    owner = crew.client("owner")
    seen = (at - timedelta(minutes=3)).isoformat()
    response = owner.post("/plans/new/", {"title": "Chat", "query": QUERY, "priced_at": seen})
    plan = Plan.objects.get()
    assert response.headers["Location"] == f"/plans/{plan.slug}/"
    assert plan.team == personal_team(crew.owner, at=AT)
    version = services.newest(plan)
    assert version.priced_at == at - timedelta(minutes=3)
    stored = version.answers.get()
    assert stored.inputs["concurrency"] == {"average": 9, "peak": 40}
    assert stored.inputs["weights_format"] == "fp8"
    assert stored.query == QUERY
    page = owner.get(f"/plans/{plan.slug}/").content.decode()
    assert f"/workbench/?{QUERY.replace('&', '&amp;')}" in page


def test_a_visitor_signs_up_and_finds_the_screen_again(catalog: None, at: datetime) -> None:
    visitor = Client()
    typed = {"title": "Chat 見積", "query": QUERY, "priced_at": at.isoformat()}
    response = visitor.post("/plans/new/", typed)
    login = urlsplit(response.headers["Location"])
    assert login.path == "/accounts/login/"
    back = parse_qs(login.query)["next"][0]
    page = visitor.get(response.headers["Location"]).content.decode()
    assert "/accounts/signup/?next=" in page
    signed_up = visitor.post(
        "/accounts/signup/",
        {"email": "new@example.com", "password1": "a long enough pass-phrase", "next": back},
    )
    assert signed_up.headers["Location"] == back
    shown = visitor.get(back)
    assert shown.status_code == 200
    assert 'value="Chat 見積"' in shown.content.decode()
    fields = dict(re.findall(r'name="(query|priced_at|team)"[^>]*value="([^"]*)"', shown.content.decode()))
    saved = visitor.post(
        "/plans/new/", {"title": "Chat 見積", "query": QUERY, "priced_at": fields["priced_at"]}
    )
    assert saved.status_code == 302
    plan = Plan.objects.get()
    assert plan.team.memberships.get().user == get_user_model().objects.get(email="new@example.com")
    assert services.newest(plan).answers.get().inputs["weights_format"] == "fp8"


def test_asking_for_the_save_page_leads_through_the_log_in_and_back(catalog: None, crew: Crew) -> None:
    address = f"/plans/new/?query={quote(QUERY)}"
    visitor = Client()
    login = visitor.get(address).headers["Location"]
    back = parse_qs(urlsplit(login).query)["next"][0]
    assert back == address
    made = make_user("later@example.com")
    response = visitor.post("/accounts/login/", {"login": made.email, "password": PASSWORD, "next": back})
    assert response.headers["Location"] == back


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", ""), ("title", "   "), ("title", "a" * 201), ("title", "a\x01b"),
        ("title", "two\nlines"), ("title", "a\u2028b"), ("prepared_for", "x" * 201), ("note", "n" * 4001),
        ("note", "a\x00b"), ("priced_at", "yesterday"), ("priced_at", "9999-99-99"), ("priced_at", "1" * 5000),
        ("priced_at", "2026-08-01T00:00:00+00:00"), ("priced_at", "2027-01-01T00:00:00+00:00"),
        ("query", "users=-1"), ("query", "model=nobody/nothing"), ("query", "q" * 8001), ("query", "users=abc"),
        ("query", "&".join(["a=1"] * 600)),
        ("team", "999999"), ("team", "x"),
    ],
)  # fmt: skip
def test_what_cannot_be_saved_is_said_and_nothing_typed_is_lost(
    catalog: None, crew: Crew, at: datetime, field: str, value: str
) -> None:
    typed = {
        "title": "My title",
        "prepared_for": "Buyer",
        "note": "Kept note",
        "query": QUERY,
        "priced_at": at.isoformat(),
    }
    response = crew.client("owner").post("/plans/new/", typed | {field: value})
    assert response.status_code in (400, 422)
    assert not Plan.objects.exists()
    if response.status_code == 400:  # control characters are refused before any form reads them
        return
    assert errors(response.content)
    page = response.content.decode()
    for name, text in (("title", "My title"), ("prepared_for", "Buyer"), ("note", "Kept note")):
        assert text in page or name == field


def test_a_plan_is_saved_only_into_a_team_where_one_may_edit(catalog: None, crew: Crew) -> None:
    foreign = Team.objects.exclude(memberships__user=crew.owner).first()
    for who, team in (("owner", foreign), ("viewer", crew.team)):
        assert team is not None
        response = crew.client(who).post("/plans/new/", {"title": "x", "query": "", "team": str(team.pk)})
        assert response.status_code == 422
        assert errors(response.content) == ["Choose one of your teams in which you may edit."]
    assert not Plan.objects.exists()


def test_unexpected_fields_change_nothing(catalog: None, crew: Crew) -> None:
    crew.client("owner").post(
        "/plans/new/",
        {"title": "x", "query": "", "id": "7", "slug": "aaaaaaaaaaaa", "total": "1", "created_by": "1", "number": "9",
         "fingerprint": "0", "archived_at": "2020-01-01"},
    )  # fmt: skip
    plan = Plan.objects.get()
    assert plan.slug != "aaaaaaaaaaaa"
    assert (plan.latest_number, plan.archived_at, plan.created_by) == (1, None, crew.owner)


def test_plans_are_found_by_words_of_their_title_and_by_address(catalog: None, crew: Crew) -> None:
    for title in ("Chat assistant 見積", "Night batch", "100% _sure\\"):
        save_plan(crew.team, crew.owner, title)
    client = crew.client("viewer")

    def found(text: str) -> list[str]:
        page = client.get("/plans/", {"q": text}).content.decode()
        return re.findall(r"/plans/[a-z0-9]{12}/\"><bdi>([^<]*)</bdi>", page)

    assert found("chat") == ["Chat assistant 見積"]
    assert found("見積") == ["Chat assistant 見積"]
    assert found("batch night") == ["Night batch"]
    assert found("%") == ["100% _sure\\"]
    assert found("_") == ["100% _sure\\"]
    assert found("\\") == ["100% _sure\\"]
    assert found(Plan.objects.get(title="Night batch").slug) == ["Night batch"]
    assert found("nothing like it") == []
    assert len(found("")) == 3


@pytest.mark.parametrize("page", ["-1", "0", "abc", "99999999999999999999", "²", ""])
def test_a_page_number_that_makes_no_sense_shows_a_page(plan: Plan, crew: Crew, page: str) -> None:
    client = crew.client("owner")
    assert client.get("/plans/", {"page": page}).status_code == 200
    assert client.get(f"/plans/{plan.slug}/", {"page": page}).status_code == 200


def test_the_list_asks_a_constant_number_of_queries(
    catalog: None, crew: Crew, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        save_plan(crew.team, crew.owner, f"Plan {number}")
    client = crew.client("viewer")
    with django_assert_max_num_queries(7):
        assert client.get("/plans/").status_code == 200


def test_a_plan_page_asks_a_constant_number_of_queries_and_computes_nothing(
    plan: Plan,
    crew: Crew,
    django_assert_max_num_queries: DjangoAssertNumQueries,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError("a stored plan was computed again")

    monkeypatch.setattr("planner.services.compare", never)
    client = crew.client("viewer")
    with django_assert_max_num_queries(12):
        assert client.get(f"/plans/{plan.slug}/").status_code == 200
    assert client.get(f"/plans/{plan.slug}/export.csv").status_code == 200


def test_what_people_type_is_shown_as_text(catalog: None, crew: Crew) -> None:
    version = save_plan(
        crew.team,
        crew.owner,
        HOSTILE,
        prepared_for="<img src=x onerror=a()>",
        note="</bdi><script>x</script>",
    )
    slug = version.plan.slug
    client = crew.client("editor")
    for address in (
        "/plans/",
        f"/plans/{slug}/",
        f"/plans/{slug}/history/",
        f"/plans/{slug}/edit/",
        f"/plans/{slug}/links/",
    ):
        page = client.get(address).content.decode()
        assert "<script>x" not in page
        assert "<img src=x" not in page
        assert "<b>太字" not in page
        assert "&lt;b&gt;太字" in page


def test_two_editors_both_keep_their_words(plan: Plan, crew: Crew) -> None:
    owner, editor = crew.client("owner"), crew.client("editor")
    address = f"/plans/{plan.slug}/edit/"
    assert 'name="base_number" value="1"' in owner.get(address).content.decode()
    assert owner.post(address, {"title": "Mine", "base_number": "1"}).status_code == 302
    late = editor.post(address, {"title": "Later words", "note": "kept", "base_number": "1"})
    page = late.content.decode()
    assert late.status_code == 409
    assert "Version 2 was saved by Ono Owner at 2026-11-30 09:00" in " ".join(page.split())
    assert "Mine" in page
    assert 'value="Later words"' in page
    assert "kept" in page
    assert 'name="base_number" value="2"' in page
    assert (
        editor.post(address, {"title": "Later words", "note": "kept", "base_number": "2"}).status_code == 302
    )
    history = editor.get(f"/plans/{plan.slug}/history/").content.decode()
    assert re.findall(r'data-version="(\d+)"', history) == ["3", "2", "1"]
    assert "Mine" in history
    assert "Later words" in history


def test_a_screen_becomes_the_next_version_of_a_plan(plan: Plan, crew: Crew, at: datetime) -> None:
    editor = crew.client("editor")
    address = f"/plans/{plan.slug}/add/"
    page = editor.get(f"{address}?query={quote(QUERY)}").content.decode()
    assert 'value="Chat assistant"' in page
    typed = {"title": "Chat assistant", "query": QUERY, "priced_at": at.isoformat(), "base_number": "1"}
    assert editor.post(address, typed).status_code == 302
    assert services.newest(Plan.objects.get()).answers.get().inputs["weights_format"] == "fp8"
    late = editor.post(address, typed)
    assert late.status_code == 409
    assert QUERY.replace("&", "&amp;") in late.content.decode()
    assert PlanVersion.objects.count() == 2


def test_an_old_version_reads_the_same_after_later_saves(plan: Plan, crew: Crew, at: datetime) -> None:
    services.reword(plan, user=crew.owner, base_number=1, words=services.Words("Second"), at=at)
    client = crew.client("viewer")
    address = f"/plans/{plan.slug}/v/1/"
    before = client.get(address).content
    services.reword(plan, user=crew.owner, base_number=2, words=services.Words("Third"), at=at)

    def plain(body: bytes) -> str:
        return re.sub(r'(csrfmiddlewaretoken" value="|X-CSRFToken": ")[^"]*', "", body.decode())

    assert plain(client.get(address).content) == plain(before)


@pytest.mark.parametrize("number", ["0", "2", "99999999999999999999"])
def test_a_version_that_does_not_exist_is_missing(plan: Plan, crew: Crew, number: str) -> None:
    client = crew.client("owner")
    assert client.get(f"/plans/{plan.slug}/v/{number}/").status_code == 404
    assert client.get(f"/plans/{plan.slug}/v/{number}/export.csv").status_code == 404


def test_an_owner_archives_and_restores(plan: Plan, crew: Crew) -> None:
    owner = crew.client("owner")
    assert owner.post(f"/plans/{plan.slug}/archive/").status_code == 302
    assert plan.title not in owner.get("/plans/").content.decode()
    assert plan.title in owner.get("/plans/?archived=1").content.decode()
    assert owner.get(f"/plans/{plan.slug}/").status_code == 200
    assert owner.post(f"/plans/{plan.slug}/links/", {"lifetime": "7"}).status_code == 422
    owner.post(f"/plans/{plan.slug}/restore/")
    assert plan.title in owner.get("/plans/").content.decode()


def test_a_removed_member_sees_nothing_at_the_next_request(plan: Plan, crew: Crew) -> None:
    viewer = crew.client("viewer")
    assert viewer.get(f"/plans/{plan.slug}/").status_code == 200
    crew.team.memberships.filter(user=crew.viewer).delete()
    assert viewer.get(f"/plans/{plan.slug}/").status_code == 404
    assert viewer.get(f"/plans/{plan.slug}/export.csv").status_code == 404
    assert plan.title not in viewer.get("/plans/").content.decode()


def test_a_member_of_two_teams_chooses_where_to_save(catalog: None) -> None:
    user = make_user("two@example.com")
    client = sign_in(user)
    other = make_team("Second team", user)
    make_member(other, Role.VIEWER)
    page = client.get("/plans/new/").content.decode()
    assert "Second team" in page
    client.post("/plans/new/", {"title": "There", "query": "", "team": str(other.pk)})
    assert Plan.objects.get().team == other


def test_every_page_of_plans_is_for_no_cache(plan: Plan, crew: Crew) -> None:
    client = crew.client("owner")
    for part in ("", "edit/", "history/", "links/", "export.csv", "v/1/"):
        assert "no-store" in client.get(f"/plans/{plan.slug}/{part}").headers["Cache-Control"]


def test_a_plans_page_says_at_once_which_assumptions_were_set_by_hand(plan: Plan, crew: Crew) -> None:
    """They stand above the figures, not only in the folded tables."""
    own = save_plan(crew.team, crew.owner, "By hand", assumed={"weight_read_fraction": 0.5}).plan
    page = crew.client("viewer").get(f"/plans/{own.slug}/").content.decode()
    said = "Assumptions of the method are set by hand: Bandwidth reached reading weights = 0.5."
    assert 0 < page.find(said) < page.index('class="answer-strip"')
    plain = crew.client("viewer").get(f"/plans/{plan.slug}/").content.decode()
    assert "set by hand" not in plain
