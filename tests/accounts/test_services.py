from __future__ import annotations

from datetime import timedelta

import pytest

from accounts import services
from accounts.models import ApiToken, Membership, Role, Team, User
from accounts.services import (
    add_member,
    bearer_of,
    issue_token,
    personal_team,
    remove_member,
    revoke_token,
    role_in,
)
from tests.factories import AT, make_member, make_team, make_user
from tests.races import met_before, take_out_locks, together

pytestmark = pytest.mark.django_db


def test_a_personal_team_is_made_once_and_owned_by_its_person(user: User) -> None:
    first = personal_team(user, at=AT)
    assert personal_team(user, at=AT) == first
    assert role_in(user, first) is Role.OWNER
    assert Team.objects.count() == 1


@pytest.mark.parametrize("role", list(Role))
def test_a_role_includes_itself_and_the_smaller_ones(role: Role) -> None:
    assert [other for other in Role if role.includes(other)] == list(Role)[: list(Role).index(role) + 1]


def test_a_stranger_has_no_role(team: Team) -> None:
    assert role_in(make_user(), team) is None


def test_a_disabled_member_has_no_role(team: Team) -> None:
    assert role_in(make_member(team, Role.EDITOR), team) is Role.EDITOR
    disabled = make_member(team, Role.EDITOR)
    disabled.is_active = False
    disabled.save()
    assert role_in(disabled, team) is None


def test_a_second_membership_changes_the_role_of_the_first(team: Team) -> None:
    member = make_member(team, Role.VIEWER)
    add_member(team, member, Role.EDITOR, at=AT)
    assert Membership.objects.filter(team=team, user=member).count() == 1
    assert role_in(member, team) is Role.EDITOR


def test_a_token_acts_for_its_member_and_is_stored_as_a_hash_only(user: User, team: Team) -> None:
    token, secret = issue_token(team, user, "CI", Role.EDITOR, at=AT)
    assert secret.startswith("mit_")
    assert len(secret) >= 43
    stored = ApiToken.objects.values().get()
    assert secret not in str(stored)
    bearer = bearer_of(secret, at=AT)
    assert bearer is not None
    assert (bearer.user, bearer.team, bearer.role) == (user, team, Role.EDITOR)
    token.refresh_from_db()
    assert token.last_used_on == AT.date()


def test_a_token_never_exceeds_the_role_its_member_has_now() -> None:
    team = make_team()
    member = make_member(team, Role.EDITOR)
    _, secret = issue_token(team, member, "CI", Role.OWNER, at=AT)
    add_member(team, member, Role.VIEWER, at=AT)
    bearer = bearer_of(secret, at=AT)
    assert bearer is not None
    assert bearer.role is Role.VIEWER


def test_a_token_stops_when_it_is_revoked_expired_or_its_member_is_gone() -> None:
    team = make_team()
    member = make_member(team, Role.EDITOR)
    revoked, revoked_secret = issue_token(team, member, "a", Role.EDITOR, at=AT)
    _, short_secret = issue_token(team, member, "b", Role.EDITOR, at=AT, lifetime=timedelta(days=1))
    _, long_secret = issue_token(team, member, "c", Role.EDITOR, at=AT)
    assert bearer_of(revoked_secret, at=AT) is not None
    revoke_token(revoked, at=AT)
    assert bearer_of(revoked_secret, at=AT) is None
    end = AT + timedelta(days=1)
    assert bearer_of(short_secret, at=end - timedelta(seconds=1)) is not None
    assert bearer_of(short_secret, at=end) is None
    assert bearer_of(long_secret, at=AT) is not None
    remove_member(team, member)
    assert bearer_of(long_secret, at=AT) is None


@pytest.mark.parametrize("secret", ["", "mit_", "mit_wrong", "x" * 5000, "\ud800"])
def test_a_guessed_token_is_nobody(secret: str) -> None:
    assert bearer_of(secret, at=AT) is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_locked", [False, True])
def test_two_first_requests_at_once_make_one_personal_team(
    monkeypatch: pytest.MonkeyPatch, is_locked: bool
) -> None:
    """With the lock taken out each finds none and makes one: the race is real."""
    somebody = make_user()
    monkeypatch.setattr(services, "create_team", met_before(services.create_team))
    if not is_locked:
        take_out_locks(monkeypatch, "accounts.services")
    raised = together(*[lambda: services.personal_team(somebody, at=AT)] * 2)
    assert raised == []
    assert somebody.teams.filter(is_personal=True).count() == (1 if is_locked else 2)
