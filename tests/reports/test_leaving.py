"""Deleting an account: what happens to plans is said first, and then happens."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts import teams
from accounts.models import Role, Team, User
from accounts.services import personal_team, role_in
from reports import content, leaving
from reports.models import Plan
from tests.factories import AT, PASSWORD
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan, sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]
PATH = "/accounts/delete/"


def test_the_page_says_what_happens_to_each_team(plan: Plan, crew: Crew) -> None:
    personal_team(crew.editor, at=AT)
    save_plan(personal_team(crew.editor, at=AT), crew.editor, "My own")
    page = sign_in(crew.editor).get(PATH).content.decode()
    assert "deleted with its 1 plan and all links" in page
    assert "it stays, with the 0 plans that you made" in page
    assert User.objects.filter(pk=crew.editor.pk).exists()


def test_an_account_is_deleted_and_its_plans_in_a_team_read_the_same(plan: Plan, crew: Crew) -> None:
    own = save_plan(personal_team(crew.editor, at=AT), crew.editor, "My own").plan
    shared = save_plan(crew.team, crew.editor, "Of the team")
    before = crew.client("viewer").get(f"/plans/{shared.plan.slug}/export.json").content
    gone = sign_in(crew.editor)
    assert gone.post(PATH, {"password": PASSWORD}).status_code == 200
    assert not User.objects.filter(pk=crew.editor.pk).exists()
    assert not Plan.objects.filter(pk=own.pk).exists()
    assert crew.client("viewer").get(f"/plans/{shared.plan.slug}/export.json").content == before
    shared.refresh_from_db()
    assert content.is_whole(shared)
    assert gone.get("/accounts/").status_code == 302


def test_the_last_owner_of_a_shared_team_must_hand_it_over_first(plan: Plan, crew: Crew) -> None:
    client = sign_in(crew.owner)
    assert "hand it over first" in client.get(PATH).content.decode()
    assert client.post(PATH, {"password": PASSWORD}).status_code == 422
    assert User.objects.filter(pk=crew.owner.pk).exists()
    teams.hand_over(crew.team, giver=crew.owner, taker=crew.editor)
    assert client.post(PATH, {"password": PASSWORD}).status_code == 200
    assert Plan.objects.filter(pk=plan.pk).exists()
    assert role_in(crew.editor, crew.team) is Role.OWNER


@pytest.mark.parametrize("password", ["", "wrong-horse-battery", "x" * 5000])
def test_a_wrong_password_deletes_nothing(crew: Crew, password: str) -> None:
    answer = sign_in(crew.viewer).post(PATH, {"password": password})
    assert answer.status_code == 422
    assert User.objects.filter(pk=crew.viewer.pk).exists()


def test_looking_at_the_page_deletes_nothing_and_visitors_sign_in_first(crew: Crew) -> None:
    assert Client().get(PATH).status_code == 302
    assert Client().post(PATH, {"password": PASSWORD}).status_code == 302
    assert User.objects.count() == 4


def test_a_blocked_team_stops_the_whole_deletion(plan: Plan, crew: Crew) -> None:
    own = personal_team(crew.owner, at=AT)
    with pytest.raises(leaving.BlockedError):
        leaving.delete_account(crew.owner)
    assert Team.objects.filter(pk=own.pk).exists()
