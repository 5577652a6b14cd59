"""Who belongs to a team: inviting, joining, roles, leaving, handing over and taking out.

A team that others share always keeps an owner. Everything that could take the last one away holds the team's row,
so that two who leave at the same moment cannot both go.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction

from accounts.models import Invitation, Membership, Role, Team, User, new_secret, secret_digest
from accounts.services import SECRET_MAX_LENGTH, add_member

INVITATION_LIFETIME_MAX = timedelta(days=30)
INVITATIONS_OPEN_MAXIMUM = 100


class LastOwnerError(ValueError):
    """The team would be left without an owner."""


class PersonalTeamError(ValueError):
    """A personal team has one member for ever."""


class InvitationClosedError(ValueError):
    """The invitation is unknown, used, revoked or too old."""


class TooManyInvitationsError(ValueError):
    """The team has as many open invitations as it may."""


@contextmanager
def held(team: Team) -> Iterator[Team]:
    """The team's row, locked until the end: what is read inside is still so when it is written.

    Raises `Team.DoesNotExist` where it was deleted meanwhile.
    """
    with transaction.atomic():
        yield Team.objects.select_for_update().get(pk=team.pk)


def _demand_other_owner(team: Team, user: User) -> None:
    if not team.memberships.filter(role=Role.OWNER).exclude(user=user).exists():
        raise LastOwnerError(team.pk)


def _demand_shared(team: Team) -> None:
    if team.is_personal:
        raise PersonalTeamError(team.pk)


def settle(team: Team, *, name: str, allow_share_links: bool, price_alert_percent: Decimal | None) -> None:
    """The team's name; whether its plans may be shown by public links, which stop and come back with it; and from
    which move of a price on its plans tell of it (None: never)."""
    Team.objects.filter(pk=team.pk).update(
        name=name, allow_share_links=allow_share_links, price_alert_percent=price_alert_percent
    )


def invite(
    team: Team, *, email: str, role: Role, invited_by: User, at: datetime, lifetime: timedelta
) -> tuple[Invitation, str]:
    """An open invitation and its secret, which is shown once and never stored.

    An earlier open one to the same address is revoked: one person holds one way in.
    """
    _demand_shared(team)
    secret = new_secret()
    address = email.strip().lower()
    with held(team):
        still_open = Invitation.objects.open(at).filter(team=team)
        still_open.filter(email=address).update(revoked_at=at)
        if still_open.count() >= INVITATIONS_OPEN_MAXIMUM:
            raise TooManyInvitationsError(team.pk)
        invitation = Invitation.objects.create(
            team=team,
            email=address,
            role=role,
            secret_sha256=secret_digest(secret),
            invited_by=invited_by,
            created_at=at,
            expires_at=at + min(lifetime, INVITATION_LIFETIME_MAX),
        )
    return invitation, secret


def revoke_invitation(invitation: Invitation, *, at: datetime) -> None:
    Invitation.objects.filter(pk=invitation.pk, accepted_at__isnull=True, revoked_at__isnull=True).update(
        revoked_at=at
    )


def invitation_of(secret: str, *, at: datetime) -> Invitation | None:
    """The invitation a secret opens now, or None."""
    if len(secret) > SECRET_MAX_LENGTH:
        return None
    return (
        Invitation.objects.open(at)
        .filter(secret_sha256=secret_digest(secret))
        .select_related("team", "invited_by")
        .first()
    )


def accept(secret: str, user: User, *, at: datetime) -> Membership:
    """Joins the team; an invitation works once. A member keeps the larger of both roles."""
    found = invitation_of(secret, at=at)
    if found is None:
        raise InvitationClosedError
    try:
        return _join(found, user, at)
    except Team.DoesNotExist:  # deleted with the account of its last member, a moment ago
        raise InvitationClosedError from None


def _join(found: Invitation, user: User, at: datetime) -> Membership:
    with held(found.team):
        if not _take(found, at):
            raise InvitationClosedError
        before = Membership.objects.filter(team=found.team, user=user).first()
        role = Role(found.role)
        if before is not None and Role(before.role).includes(role):
            return before
        return add_member(found.team, user, role, at=at)


def _take(invitation: Invitation, at: datetime) -> bool:
    """Marks it used; False where somebody else was faster."""
    return bool(Invitation.objects.open(at).filter(pk=invitation.pk).update(accepted_at=at))


def change_role(team: Team, user: User, role: Role) -> None:
    _demand_shared(team)
    with held(team):
        if role is not Role.OWNER:
            _demand_other_owner(team, user)
        Membership.objects.filter(team=team, user=user).update(role=role)


def leave(team: Team, user: User) -> None:
    """Ends the membership of oneself or of another; the tokens for this team stop with it."""
    _demand_shared(team)
    with held(team):
        _demand_other_owner(team, user)
        Membership.objects.filter(team=team, user=user).delete()


def hand_over(team: Team, *, giver: User, taker: User) -> None:
    """Makes another member the owner; who hands over stays as an editor."""
    _demand_shared(team)
    with held(team):
        taken = Membership.objects.filter(team=team, user=taker).update(role=Role.OWNER)
        if not taken:
            raise LastOwnerError(team.pk)
        Membership.objects.filter(team=team, user=giver).exclude(user=taker).update(role=Role.EDITOR)
