"""People and teams for tests; each app's own objects are made beside its tests."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count

from accounts.models import Role, Team, User
from accounts.services import add_member, create_team

AT = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
PASSWORD = "correct-horse-battery"
_numbers = count(1)


def make_user(email: str = "", **fields: object) -> User:
    return User.objects.create_user(email or f"user{next(_numbers)}@example.com", PASSWORD, **fields)


def make_team(name: str = "Team", owner: User | None = None) -> Team:
    return create_team(name, owner or make_user(), at=AT)


def make_member(team: Team, role: Role) -> User:
    user = make_user()
    add_member(team, user, role, at=AT)
    return user
