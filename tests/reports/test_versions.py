"""Versions compared, repriced, copied, forked; workloads added, named and taken out; two editors who merge."""

from __future__ import annotations

import json
import re
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from accounts.services import personal_team
from catalog.models import Offer
from reports import content, notes, services
from reports.models import Plan, PlanVersion
from tests.factories import AT
from tests.planner.factories import set_price
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan, sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def test_a_second_workload_is_added_and_the_common_total_shown(plan: Plan, crew: Crew, at: datetime) -> None:
    editor = crew.client("editor")
    form = {"title": "Two", "query": "weights=fp8", "base_number": 1, "place": "new", "name": "Search",
            "priced_at": at.isoformat()}  # fmt: skip
    assert editor.post(f"/plans/{plan.slug}/add/", form).status_code == 302
    newest = services.newest(Plan.objects.get())
    rows = list(newest.answers)
    assert [row.name for row in rows] == ["", "Search"]
    total = sum(Decimal(json.loads(row.comparison_text)["candidates"][0]["monthly"]["total"]) for row in rows)
    page = editor.get(f"/plans/{plan.slug}/").content.decode()
    assert f'data-total="USD">${total:,.2f}' in page
    replaced = form | {"base_number": 2, "place": "2", "name": "", "query": "weights=bf16", "title": "Three"}
    assert editor.post(f"/plans/{plan.slug}/add/", replaced).status_code == 302
    third = services.newest(Plan.objects.get())
    assert [row.name for row in third.answers] == ["", "Search"]  # a name that was given before stays
    assert editor.post(f"/plans/{plan.slug}/add/", form | {"base_number": 3, "place": "9"}).status_code == 422


def test_workloads_are_renamed_reordered_and_taken_out_over_the_same_answers(
    plan: Plan, crew: Crew, at: datetime
) -> None:
    editor = crew.client("editor")
    editor.post(
        f"/plans/{plan.slug}/add/", {"title": "T", "query": "weights=fp8", "base_number": 1, "place": "new"}
    )
    before = {row.position: row.comparison_text for row in services.newest(Plan.objects.get()).answers}
    path = f"/plans/{plan.slug}/workloads/"
    given = {"base_number": 2, "name_1": "Chat", "place_1": 2, "name_2": "検索", "place_2": 1}
    assert editor.post(path, given).status_code == 302
    third = services.newest(Plan.objects.get())
    assert [(row.name, row.comparison_text) for row in third.answers] == [
        ("検索", before[2]),
        ("Chat", before[1]),
    ]
    assert content.is_whole(third)
    assert editor.post(path, given).status_code == 409
    nothing = {"base_number": 3, "name_1": "", "place_1": 0, "name_2": "", "place_2": 0}
    assert editor.post(path, nothing).status_code == 422
    assert editor.post(path, nothing | {"place_1": 1}).status_code == 302
    assert services.newest(Plan.objects.get()).answers.count() == 1


def test_repricing_makes_a_version_at_the_prices_of_now_and_shows_what_changed(
    plan: Plan, crew: Crew, at: datetime
) -> None:
    first = services.newest(plan)
    stored = first.answers.get().comparison_text
    offer = Offer.objects.get(pk=json.loads(stored)["candidates"][0]["offer"]["offer_id"])
    assert offer.current_price is not None
    set_price(offer, str(offer.current_price.amount * 2), at=at, observed_on=date(2026, 11, 29))
    answer = crew.client("editor").post(f"/plans/{plan.slug}/reprice/", {"base_number": 1})
    assert answer.headers["Location"] == f"/plans/{plan.slug}/compare/?from=1&to=2"
    page = crew.client("viewer").get(answer.headers["Location"]).content.decode()
    assert "+100 %" in page
    assert PlanVersion.objects.get(number=1).answers.get().comparison_text == stored
    assert crew.client("editor").post(f"/plans/{plan.slug}/reprice/", {"base_number": 1}).status_code == 409
    assert crew.client("editor").post(f"/plans/{plan.slug}/reprice/", {}).status_code == 422


@pytest.mark.parametrize("pair", ["from=1&to=9", "from=0&to=1", "from=99999999&to=1"])
def test_versions_that_do_not_exist_are_not_compared(plan: Plan, crew: Crew, pair: str) -> None:
    assert crew.client("viewer").get(f"/plans/{plan.slug}/compare/?{pair}").status_code == 404


@pytest.mark.parametrize("pair", ["", "from=x&to=y", "from=1&to=1"])
def test_a_plan_with_one_version_compares_it_with_itself(plan: Plan, crew: Crew, pair: str) -> None:
    page = crew.client("viewer").get(f"/plans/{plan.slug}/compare/?{pair}")
    assert "Nothing differs" in page.content.decode()


def test_a_copy_has_the_same_figures_and_is_a_plan_of_its_own(plan: Plan, crew: Crew) -> None:
    viewer = crew.client("viewer")
    own = personal_team(crew.viewer, at=AT)
    path = f"/plans/{plan.slug}/v/1/copy/"
    assert (
        viewer.post(path, {"title": "Mine", "team": crew.team.pk}).status_code == 422
    )  # viewers may not edit there
    assert viewer.post(path, {"title": "Mine", "team": own.pk}).status_code == 302
    made = Plan.objects.get(team=own)
    copy, original = services.newest(made), services.newest(plan)
    assert copy.answers.get().comparison_text == original.answers.get().comparison_text
    assert (copy.priced_at, copy.engine_version) == (original.priced_at, original.engine_version)
    assert content.is_whole(copy)
    assert (made.origin, plan.slug in made.origin_detail) == ("copy", True)
    assert "began as a copy" in viewer.get(f"/plans/{made.slug}/").content.decode()


def test_two_editors_who_changed_different_fields_are_merged(plan: Plan, crew: Crew) -> None:
    path = f"/plans/{plan.slug}/edit/"
    first, second = crew.client("owner"), crew.client("editor")
    first.post(path, {"title": "Theirs", "prepared_for": "", "note": "", "base_number": 1})
    late = second.post(
        path, {"title": "Chat assistant", "prepared_for": "", "note": "Mine", "base_number": 1}
    )
    assert late.status_code == 409
    page = late.content.decode()
    assert 'value="Theirs"' in page
    assert "Only they changed these" in page
    assert "Save my text as it was, without theirs" in page
    assert f"/plans/{plan.slug}/compare/?from=1&amp;to=2" in page
    second.post(path, {"title": "Theirs", "prepared_for": "", "note": "Mine", "base_number": 2})
    newest = services.newest(Plan.objects.get())
    assert (newest.number, newest.title, newest.note) == (3, "Theirs", "Mine")


def test_a_field_that_both_changed_is_shown_with_both_texts(plan: Plan, crew: Crew) -> None:
    path = f"/plans/{plan.slug}/edit/"
    crew.client("owner").post(path, {"title": "Theirs", "base_number": 1})
    page = crew.client("editor").post(path, {"title": "Mine", "base_number": 1}).content.decode()
    assert 'value="Mine"' in page
    assert "<bdi>Theirs</bdi>" in page
    assert "Both of you changed these" in page


def test_everything_that_is_done_stands_in_the_log_by_name(plan: Plan, crew: Crew) -> None:
    owner = crew.client("owner")
    owner.post(f"/plans/{plan.slug}/edit/", {"title": "New", "base_number": 1})
    owner.post(f"/plans/{plan.slug}/tags/", {"tags": "GPU, 東京"})
    owner.post(f"/plans/{plan.slug}/comments/", {"text": "Hm"})
    owner.post(f"/plans/{plan.slug}/links/", {"lifetime": "7"})
    owner.post(f"/plans/{plan.slug}/archive/")
    owner.post(f"/plans/{plan.slug}/archive/")  # a second time changes nothing, and is not told
    whats = list(Plan.objects.get().activity.order_by("pk").values_list("what", "who"))
    assert [what for what, _who in whats] == [
        "saved",
        "reworded",
        "tagged",
        "commented",
        "shared",
        "archived",
    ]
    assert {who for _what, who in whats} == {"Ono Owner"}


def test_tags_find_plans(plan: Plan, crew: Crew) -> None:
    editor = crew.client("editor")
    save_plan(crew.team, crew.owner, "Another")
    editor.post(f"/plans/{plan.slug}/tags/", {"tags": " GPU ,東京、gpu, , Big  Deal"})
    assert list(plan.tags.values_list("word", flat=True)) == ["big deal", "gpu", "東京"]
    for query in ("tag=gpu", "tag=GPU", "q=東京", "q=big+chat"):
        page = editor.get(f"/plans/?{query}").content.decode()
        assert plan.slug in page
        assert "Another" not in page
    editor.post(f"/plans/{plan.slug}/tags/", {"tags": ""})
    assert not plan.tags.exists()
    for bad in ("x" * 41, ",".join(f"t{number}" for number in range(21))):
        assert editor.post(f"/plans/{plan.slug}/tags/", {"tags": bad}).status_code == 422


def test_comments_stand_on_plan_and_candidate_and_are_withdrawn_by_their_author(
    plan: Plan, crew: Crew
) -> None:
    viewer, editor = crew.client("viewer"), crew.client("editor")
    path = f"/plans/{plan.slug}/comments/"
    assert viewer.post(path, {"text": "<b>Why</b> this one?", "subject": "1-1"}).status_code == 302
    for bad in (
        {"text": ""},
        {"text": "x", "subject": "1-999"},
        {"text": "x" * 4001},
        {"text": "x", "subject": "zz"},
    ):
        assert viewer.post(path, bad).status_code == 422
    page = editor.get(f"/plans/{plan.slug}/discussion/").content.decode()
    assert "&lt;b&gt;Why&lt;/b&gt; this one?" in page
    row = plan.versions.get().comments.get()
    assert "×" in row.subject
    assert editor.post(f"{path}{row.pk}/withdraw/").status_code == 404
    assert viewer.post(f"{path}{row.pk}/withdraw/").status_code == 302
    row.refresh_from_db()
    assert (row.text, row.withdrawn_at) == ("", AT)
    assert "This comment was withdrawn" in editor.get(f"/plans/{plan.slug}/discussion/").content.decode()


def test_a_decision_is_recorded_shown_and_replaced_by_a_later_one(plan: Plan, crew: Crew) -> None:
    editor = crew.client("editor")
    path = f"/plans/{plan.slug}/decisions/"
    good = {"subject": "1-1", "because": "enough KV room", "decided_by": "Board", "decided_on": "2026-11-30"}
    assert editor.post(path, good).status_code == 302
    page = editor.get(f"/plans/{plan.slug}/").content.decode()
    assert "because enough KV room, by Board, on 2026-11-30." in page
    bads = [{"because": ""}, {"decided_on": "2026-02-30"}, {"decided_on": "99999-01-01"}, {"subject": ""},
            {"decided_on": "0001-01-01"}]  # fmt: skip
    for bad in bads:
        assert editor.post(path, good | bad).status_code == 422
    editor.post(path, good | {"subject": "", "chosen": "Own hardware"})
    page = editor.get(f"/plans/{plan.slug}/discussion/").content.decode()
    assert page.index("Own hardware") < page.index("replaced by a later decision")
    assert "enough KV room" in page


def test_readers_of_a_link_see_neither_comments_nor_decisions_nor_tags(
    plan: Plan, crew: Crew, at: datetime
) -> None:
    editor = crew.client("editor")
    editor.post(f"/plans/{plan.slug}/comments/", {"text": "INTERNAL-1"})
    editor.post(f"/plans/{plan.slug}/tags/", {"tags": "internal-2"})
    editor.post(
        f"/plans/{plan.slug}/decisions/",
        {"chosen": "INTERNAL-3", "because": "x", "decided_by": "y", "decided_on": "2026-11-30"},
    )
    _link, secret = services.share(services.newest(plan), user=crew.owner, at=at, lifetime=timedelta(days=1))
    page = sign_in(crew.stranger).get(f"/s/{secret}/").content.decode()
    assert "internal-" not in page.lower()


def test_a_long_discussion_and_log_come_in_pages_and_the_newest_comments_first(
    clock: None, plan: Plan, crew: Crew
) -> None:
    newest = services.newest(plan)
    for number in range(1, 121):
        notes.comment(newest, notes.Subject(), f"remark-{number}.", user=crew.editor, at=AT)
    path = f"/plans/{plan.slug}/discussion/"
    pages = {
        query: crew.client("viewer").get(f"{path}{query}").content.decode()
        for query in ("", "?comments=1", "?comments=2", "?comments=99", "?comments=x", "?page=3")
    }
    shown = {
        query: {int(each) for each in re.findall(r"remark-(\d+)\.", page)} for query, page in pages.items()
    }
    assert shown["?comments=1"] == set(range(1, 51))
    assert shown["?comments=2"] == set(range(51, 101))
    assert shown[""] == shown["?comments=99"] == set(range(101, 121))
    assert "page 3 of 3" in pages[""]
    assert "page 3 of 3" in pages["?page=3"]
    assert "saved the plan" in pages["?page=3"]
    assert "saved the plan" not in pages[""]


def test_the_log_names_who_did_it_also_without_a_name_and_never_by_address(
    clock: None, plan: Plan, crew: Crew
) -> None:
    assert crew.editor.name == ""
    notes.set_tags(plan, ["x"], user=crew.editor, at=AT)
    notes.comment(services.newest(plan), notes.Subject(), "hello", user=crew.editor, at=AT)
    page = crew.client("viewer").get(f"/plans/{plan.slug}/discussion/").content.decode()
    assert f"<bdi>{crew.editor.get_short_name()}</bdi>" in page
    assert crew.editor.email not in page


def test_the_history_names_who_saved_and_shows_no_address(clock: None, plan: Plan, crew: Crew) -> None:
    services.reword(plan, user=crew.editor, base_number=1, words=services.Words("Two"), at=AT)
    page = crew.client("viewer").get(f"/plans/{plan.slug}/history/").content.decode()
    assert f"<bdi>{crew.editor.get_short_name()}</bdi>" in page
    assert crew.editor.email not in page


def test_a_plan_page_leads_with_its_paper_and_keeps_the_rest_in_one_menu(
    clock: None, plan: Plan, crew: Crew
) -> None:
    for who, most in (("owner", 4), ("viewer", 3)):
        page = crew.client(who).get(f"/plans/{plan.slug}/").content.decode()
        actions = page[page.index('<div class="row actions plan-actions') :]
        before_menu = actions[: actions.index('<details class="menu">')]
        assert before_menu.count('class="button"') == 1
        assert before_menu.count("button quiet") <= most
        menu = actions[: actions.index("</details>")]
        for part in ("export.csv", "export.xlsx", "export.json", "/copy/", "/request/", "/prices/"):
            assert part in menu
        assert ("/checklist/" in menu) is (who == "owner")
