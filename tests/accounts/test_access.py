from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings

from accounts.access import TEAM_KEY, client_address, current_team, demand_role, signed_in
from accounts.models import Role, Team, User
from accounts.services import add_member, remove_member
from tests.factories import AT, make_member, make_team, make_user

pytestmark = pytest.mark.django_db


@signed_in
def secret(request: HttpRequest) -> HttpResponse:
    return HttpResponse("inside")


def asked(method: str = "get", user: User | None = None, **headers: Any) -> HttpResponse:
    request = getattr(RequestFactory(), method)("/plans/?a=1", headers=headers)
    request.user = user or AnonymousUser()
    return secret(request)


def test_a_signed_in_person_gets_in(user: User) -> None:
    assert asked(user=user).content == b"inside"


def test_a_visitor_is_sent_to_the_log_in_and_comes_back() -> None:
    response = asked()
    assert response.status_code == 302
    assert response.headers["Location"] == "/accounts/login/?next=%2Fplans%2F%3Fa%3D1"


def test_a_fragment_asks_the_browser_to_go_to_the_log_in() -> None:
    response = asked(
        "get", None, **{"HX-Request": "true", "HX-Current-URL": "http://testserver/workbench/?x=1"}
    )
    assert response.status_code == 401
    assert response.headers["HX-Redirect"].startswith("/accounts/login/?next=http%3A%2F%2Ftestserver%2Fwork")
    foreign = asked("get", None, **{"HX-Request": "true", "HX-Current-URL": "http://evil.example/"})
    assert foreign.headers["HX-Redirect"] == "/accounts/login/"


def test_a_posted_form_comes_back_to_the_page_it_stood_on() -> None:
    response = asked("post", referer="http://testserver/workbench/")
    assert response.headers["Location"] == "/accounts/login/?next=http%3A%2F%2Ftestserver%2Fworkbench%2F"
    assert asked("post", referer="https://evil.example/").headers["Location"] == "/accounts/login/"


def test_foreign_is_missing_and_a_small_role_is_refused() -> None:
    team = make_team()
    viewer = make_member(team, Role.VIEWER)
    assert demand_role(viewer, team, Role.VIEWER) is Role.VIEWER
    with pytest.raises(PermissionDenied):
        demand_role(viewer, team, Role.EDITOR)
    with pytest.raises(Http404):
        demand_role(make_user(), team, Role.VIEWER)
    with pytest.raises(Http404):
        demand_role(AnonymousUser(), team, Role.VIEWER)
    remove_member(team, viewer)
    with pytest.raises(Http404):
        demand_role(viewer, team, Role.VIEWER)


def request_of(user: User) -> HttpRequest:
    request = RequestFactory().get("/")
    client = Client()
    request.user = user
    request.session = client.session
    return request


def test_one_works_in_the_personal_team_until_another_is_chosen(user: User, team: Team) -> None:
    other = make_team("Other")
    add_member(other, user, Role.VIEWER, at=AT)
    request = request_of(user)
    assert current_team(request) == team
    request.session[TEAM_KEY] = other.pk
    assert current_team(request) == other
    remove_member(other, user)
    assert current_team(request) == team


def test_a_person_without_a_team_gets_one() -> None:
    user = make_user()
    team = current_team(request_of(user))
    assert team.is_personal
    assert current_team(request_of(user)) == team


@pytest.mark.parametrize(
    ("count", "header", "address"),
    [
        (0, "", "10.0.0.1"),
        (0, "1.2.3.4", "10.0.0.1"),
        (1, "1.2.3.4", "1.2.3.4"),
        (1, "6.6.6.6, 1.2.3.4", "1.2.3.4"),
        (2, "6.6.6.6, 1.2.3.4, 10.0.0.9", "1.2.3.4"),
        (2, "1.2.3.4", "10.0.0.1"),
    ],
)
def test_the_visitors_address(settings: Settings, count: int, header: str, address: str) -> None:
    settings.TRUSTED_PROXY_COUNT = count
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", headers={"X-Forwarded-For": header})
    assert client_address(request) == address
