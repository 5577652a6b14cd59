"""What people and programs may do in which team: the only writers of teams, roles and tokens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from accounts.models import (
    SHOWN_PREFIX_LENGTH,
    ApiToken,
    Membership,
    Role,
    Team,
    User,
    new_secret,
    secret_digest,
)

TOKEN_LIFETIME_DAYS_DEFAULT = 365
SECRET_MAX_LENGTH = 200


@dataclass(frozen=True)
class Bearer:
    """Who acts through an API token: the member, the team, and the smaller of both roles."""

    user: User
    team: Team
    role: Role


def create_team(name: str, owner: User, *, at: datetime, is_personal: bool = False) -> Team:
    with transaction.atomic():
        team = Team.objects.create(name=name, is_personal=is_personal, created_at=at)
        Membership.objects.create(team=team, user=owner, role=Role.OWNER, created_at=at)
    return team


def personal_team(user: User, *, at: datetime) -> Team:
    """The team that everybody has for themselves; made now for a user who came in without signing up."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # two first requests at once make one team
        team = Team.objects.filter(is_personal=True, memberships__user=user).order_by("pk").first()
        return team or create_team(user.get_short_name()[:120], user, at=at, is_personal=True)


def add_member(team: Team, user: User, role: Role, *, at: datetime) -> Membership:
    membership, _ = Membership.objects.update_or_create(
        team=team, user=user, defaults={"role": role}, create_defaults={"role": role, "created_at": at}
    )
    return membership


def remove_member(team: Team, user: User) -> None:
    """Ends the membership; tokens of that member for this team stop working, as they ask for it each time."""
    Membership.objects.filter(team=team, user=user).delete()


def role_in(user: User | AnonymousUser, team: Team) -> Role | None:
    """The user's role in the team, or None for who does not belong to it."""
    if not user.is_authenticated or not user.is_active:
        return None
    role = Membership.objects.filter(team=team, user_id=user.pk).values_list("role", flat=True).first()
    return Role(role) if role else None


def issue_token(
    team: Team,
    user: User,
    name: str,
    role: Role,
    *,
    at: datetime,
    lifetime: timedelta | None = timedelta(days=TOKEN_LIFETIME_DAYS_DEFAULT),
) -> tuple[ApiToken, str]:
    """A new token and its secret, which is shown once and never stored."""
    secret = new_secret()
    token = ApiToken.objects.create(
        team=team,
        user=user,
        name=name,
        role=role,
        shown_prefix=secret[:SHOWN_PREFIX_LENGTH],
        secret_sha256=secret_digest(secret),
        created_at=at,
        expires_at=at + lifetime if lifetime else None,
    )
    return token, secret


def revoke_token(token: ApiToken, *, at: datetime) -> None:
    ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=at)


def bearer_of(secret: str, *, at: datetime) -> Bearer | None:
    """Who a token speaks for now, or None: unknown, expired, revoked, disabled, or no member any more."""
    token = (
        ApiToken.objects.valid(at)
        .filter(secret_sha256=secret_digest(secret), user__is_active=True)
        .select_related("user", "team")
        .first()
    )
    if token is None:
        return None
    member_role = role_in(token.user, token.team)
    if member_role is None:
        return None
    if token.last_used_on != at.date():
        ApiToken.objects.filter(pk=token.pk).update(last_used_on=at.date())
    role = Role(token.role)
    return Bearer(token.user, token.team, role if member_role.includes(role) else member_role)
