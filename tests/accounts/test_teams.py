"""Inviting, joining, roles, leaving and handing over: a shared team always keeps an owner."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts import teams
from accounts.models import Invitation, Membership, Role, Team, User
from accounts.services import bearer_of, issue_token, personal_team, role_in
from tests.factories import AT, make_member, make_team, make_user
from tests.races import met_after, together, unlocked

DAY = timedelta(days=1)


def invite(team: Team, owner: User, email: str = "new@example.com", **more: object) -> tuple[Invitation, str]:
    given = {"role": Role.EDITOR, "lifetime": 7 * DAY, "at": AT} | more
    return teams.invite(team, email=email, invited_by=owner, **given)  # type: ignore[arg-type]


@pytest.fixture
def owner(db: None) -> User:
    return make_user()


@pytest.fixture
def shared(owner: User) -> Team:
    return make_team("Shared", owner)


def test_an_invitation_lets_one_person_in_once_and_is_stored_as_a_hash_only(
    shared: Team, owner: User
) -> None:
    _invitation, secret = invite(shared, owner)
    assert secret not in str(Invitation.objects.values().get())
    first, second = make_user(), make_user()
    assert teams.accept(secret, first, at=AT + DAY).role == Role.EDITOR
    with pytest.raises(teams.InvitationClosedError):
        teams.accept(secret, second, at=AT + DAY)
    assert role_in(first, shared) is Role.EDITOR
    assert role_in(second, shared) is None


@pytest.mark.parametrize("late", [timedelta(0), DAY])
def test_an_invitation_ends_at_its_instant(shared: Team, owner: User, late: timedelta) -> None:
    _invitation, secret = invite(shared, owner)
    end = AT + 7 * DAY
    assert teams.invitation_of(secret, at=end - timedelta(seconds=1)) is not None
    assert teams.invitation_of(secret, at=end + late) is None


def test_an_invitation_lives_for_thirty_days_at_most(shared: Team, owner: User) -> None:
    invitation, _secret = invite(shared, owner, lifetime=900 * DAY)
    assert invitation.expires_at == AT + 30 * DAY


def test_a_revoked_or_unknown_invitation_lets_nobody_in(shared: Team, owner: User) -> None:
    invitation, secret = invite(shared, owner)
    teams.revoke_invitation(invitation, at=AT)
    for given in (secret, "mit_guessed", "x" * 10_000):
        with pytest.raises(teams.InvitationClosedError):
            teams.accept(given, make_user(), at=AT)


def test_a_second_invitation_to_one_address_replaces_the_first(shared: Team, owner: User) -> None:
    _first, old = invite(shared, owner, email="A@example.com")
    _second, new = invite(shared, owner, email="a@EXAMPLE.com")
    assert teams.invitation_of(old, at=AT) is None
    assert teams.invitation_of(new, at=AT) is not None


def test_joining_again_never_lowers_a_role(shared: Team, owner: User) -> None:
    _invitation, secret = invite(shared, owner, role=Role.VIEWER)
    teams.accept(secret, owner, at=AT)
    assert role_in(owner, shared) is Role.OWNER


def test_a_team_has_a_bounded_number_of_open_invitations(
    shared: Team, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teams, "INVITATIONS_OPEN_MAXIMUM", 2)
    invite(shared, owner, email="a@example.com")
    invite(shared, owner, email="b@example.com")
    with pytest.raises(teams.TooManyInvitationsError):
        invite(shared, owner, email="c@example.com")
    invite(shared, owner, email="c@example.com", at=AT + 30 * DAY)  # the others are over by then


def test_the_last_owner_neither_leaves_nor_steps_down(shared: Team, owner: User) -> None:
    make_member(shared, Role.EDITOR)
    with pytest.raises(teams.LastOwnerError):
        teams.leave(shared, owner)
    with pytest.raises(teams.LastOwnerError):
        teams.change_role(shared, owner, Role.VIEWER)
    assert role_in(owner, shared) is Role.OWNER


def test_who_leaves_loses_access_and_tokens_at_once(shared: Team) -> None:
    member = make_member(shared, Role.EDITOR)
    _token, secret = issue_token(shared, member, "CI", Role.EDITOR, at=AT)
    teams.leave(shared, member)
    assert role_in(member, shared) is None
    assert bearer_of(secret, at=AT) is None


def test_handing_over_makes_the_other_the_owner_and_oneself_an_editor(shared: Team, owner: User) -> None:
    member = make_member(shared, Role.VIEWER)
    teams.hand_over(shared, giver=owner, taker=member)
    assert role_in(member, shared) is Role.OWNER
    assert role_in(owner, shared) is Role.EDITOR
    teams.leave(shared, owner)
    assert Membership.objects.filter(team=shared).count() == 1


def test_a_team_is_handed_to_members_only(shared: Team, owner: User) -> None:
    with pytest.raises(teams.LastOwnerError):
        teams.hand_over(shared, giver=owner, taker=make_user())
    teams.hand_over(shared, giver=owner, taker=owner)
    assert role_in(owner, shared) is Role.OWNER


def test_a_personal_team_stays_of_one_person(owner: User) -> None:
    own = personal_team(owner, at=AT)
    with pytest.raises(teams.PersonalTeamError):
        invite(own, owner)
    with pytest.raises(teams.PersonalTeamError):
        teams.leave(own, owner)
    with pytest.raises(teams.PersonalTeamError):
        teams.change_role(own, owner, Role.VIEWER)


def two_owners() -> tuple[Team, User, User]:
    first = make_user()
    team = make_team("Two owners", first)
    return team, first, make_member(team, Role.OWNER)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_locked", [False, True])
def test_of_two_owners_who_leave_at_once_one_must_stay(
    monkeypatch: pytest.MonkeyPatch, is_locked: bool
) -> None:
    """With the lock taken out both go, and the team is left without an owner: the race is real."""
    team, first, second = two_owners()
    monkeypatch.setattr(teams, "_demand_other_owner", met_after(teams._demand_other_owner))
    if not is_locked:
        monkeypatch.setattr(teams, "held", unlocked)
    raised = together(lambda: teams.leave(team, first), lambda: teams.leave(team, second))
    left = Membership.objects.filter(team=team, role=Role.OWNER).count()
    if is_locked:
        assert [type(error) for error in raised] == [teams.LastOwnerError]
        assert left == 1
    else:
        assert (raised, left) == ([], 0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_locked", [False, True])
def test_two_who_hold_one_invitation_do_not_both_get_in(
    monkeypatch: pytest.MonkeyPatch, is_locked: bool
) -> None:
    """With a mark that does not look before it writes, both get in: the race is real."""
    owner = make_user()
    team = make_team("Team", owner)
    _invitation, secret = invite(team, owner)
    first, second = make_user(), make_user()
    monkeypatch.setattr(teams, "invitation_of", met_after(teams.invitation_of))
    if not is_locked:
        monkeypatch.setattr(teams, "held", unlocked)
        monkeypatch.setattr(
            teams,
            "_take",
            lambda row, at: Invitation.objects.filter(pk=row.pk).update(accepted_at=at),
        )
    raised = together(lambda: teams.accept(secret, first, at=AT), lambda: teams.accept(secret, second, at=AT))
    joined = team.memberships.exclude(user=owner).count()
    if is_locked:
        assert [type(error) for error in raised] == [teams.InvitationClosedError]
        assert joined == 1
    else:
        assert (raised, joined) == ([], 2)
