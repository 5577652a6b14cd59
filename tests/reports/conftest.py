"""A small catalog, a saved plan, and everybody who may or may not see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pytest
import time_machine
from django.test import Client

from accounts.models import Role, Team, User
from planner import market
from reports.models import Plan
from tests.factories import AT, make_member, make_team, make_user
from tests.planner.factories import make_small_catalog
from tests.reports.factories import save_plan, sign_in


@pytest.fixture(autouse=True)
def no_market_of_another_test() -> Iterator[None]:
    """Markets are kept per process and catalog version; a rolled-back database repeats its versions."""
    market.forget()
    yield
    market.forget()


@pytest.fixture
def clock(at: datetime) -> Iterator[None]:
    """The clock stands at the moment of the test."""
    with time_machine.travel(at, tick=False):
        yield


@pytest.fixture
def catalog(db: None) -> None:
    make_small_catalog(AT)


@dataclass(frozen=True)
class Crew:
    """A team with one member of each role, and somebody of another team."""

    team: Team
    owner: User
    editor: User
    viewer: User
    stranger: User

    def client(self, name: str) -> Client:
        return Client() if name == "anonymous" else sign_in(getattr(self, name))


@pytest.fixture
def crew(db: None) -> Crew:
    owner, stranger = make_user("owner-a@example.com", name="Ono Owner"), make_user("owner-b@example.com")
    team = make_team("Team A", owner)
    make_team("Team B", stranger)
    return Crew(team, owner, make_member(team, Role.EDITOR), make_member(team, Role.VIEWER), stranger)


@pytest.fixture
def plan(catalog: None, crew: Crew) -> Plan:
    return save_plan(crew.team, crew.owner).plan
