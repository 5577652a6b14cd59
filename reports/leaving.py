"""Deleting an account: what happens to its teams and plans is worked out first, shown, and then done."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from accounts.models import Membership, Role, Team, User
from reports.models import Plan


@dataclass(frozen=True)
class TeamFate:
    """What becomes of one team: ``deleted`` with its plans, ``kept``, or ``blocked`` until somebody else owns it."""

    team: Team
    fate: str
    plan_count: int
    own_plan_count: int
    """Plans of it that the person made; in a team that stays they stay, and read the same."""


class BlockedError(ValueError):
    """A team with other members would be left without an owner."""


def fates(user: User) -> list[TeamFate]:
    return [_fate(team, user) for team in Team.objects.filter(memberships__user=user).order_by("name", "pk")]


def _fate(team: Team, user: User) -> TeamFate:
    others = team.memberships.exclude(user=user)
    if not others.exists():
        fate = "deleted"
    elif others.filter(role=Role.OWNER).exists() or not _owns(team, user):
        fate = "kept"
    else:
        fate = "blocked"
    plans = Plan.objects.filter(team=team)
    return TeamFate(team, fate, plans.count(), plans.filter(created_by=user).count())


def _owns(team: Team, user: User) -> bool:
    return team.memberships.filter(user=user, role=Role.OWNER).exists()


def delete_account(user: User) -> None:
    """Deletes the person, and the teams in which nobody else is, with their plans and links.

    What stays in other teams keeps its text: a version names its author as it was printed, without an account.
    Raises `BlockedError`, and then nothing was deleted.
    """
    with transaction.atomic():
        ids = Membership.objects.filter(user=user).values_list("team_id", flat=True)
        # Held, so that nobody joins or leaves between what was found and what is done.
        held = list(Team.objects.select_for_update().filter(pk__in=list(ids)).order_by("pk"))
        found = [_fate(team, user) for team in held]
        if any(each.fate == "blocked" for each in found):
            raise BlockedError
        for each in found:
            if each.fate == "deleted":
                each.team.delete()
        user.delete()
