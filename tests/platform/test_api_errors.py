"""Whatever is sent to the API, the answer is JSON with an error and the field to blame."""

from __future__ import annotations

import contextlib
import gzip
import json
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from hypothesis import given
from hypothesis import strategies as st
from ninja import NinjaAPI, Schema

from accounts.api_auth import TokenAuth, demand_api_role
from accounts.models import Role, Team, User
from accounts.services import issue_token
from mitsumori import api as product_api
from mitsumori.json_bodies import BodyRefused, StrictParser, read_json
from tests.factories import AT, make_member, make_team


class Note(Schema):
    name: str
    hours: int


notes = NinjaAPI(
    parser=StrictParser(), urls_namespace="notes", docs_url=None, openapi_url=None, auth=TokenAuth()
)
for error, handler in product_api.api._exception_handlers.items():
    notes.add_exception_handler(error, handler)


@notes.post("/notes/")
def add_note(request: HttpRequest, note: Note) -> dict[str, Any]:
    demand_api_role(request.auth, Role.EDITOR)  # type: ignore[attr-defined]
    return {"hours": note.hours}


@notes.get("/broken/")
def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("secret detail")


urlpatterns = [path("api/v1/", notes.urls)]


@pytest.fixture
def editor(settings: Any, db: None, user: User, team: Team) -> Client:
    settings.ROOT_URLCONF = __name__
    _, secret = issue_token(team, user, "test", Role.EDITOR, at=AT, lifetime=None)
    return Client(headers={"Authorization": f"Bearer {secret}"}, raise_request_exception=False)


GOOD = b'{"name": "\xe8\xa6\x8b\xe7\xa9\x8d", "hours": 8}'


def post(client: Client, body: bytes, kind: str = "application/json", **extra: Any) -> Any:
    return client.generic("POST", "/api/v1/notes/", body, content_type=kind, **extra)


def test_a_good_body_is_taken(editor: Client) -> None:
    assert post(editor, GOOD).json() == {"hours": 8}
    assert post(editor, GOOD, "application/json; charset=utf-8").status_code == 200


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "application/json", 422),
        (b"null", "application/json", 422),
        (b"[]", "application/json", 422),
        (b'{"name": "a"', "application/json", 400),
        (GOOD + b"x", "application/json", 400),
        (b'{"name": "a", "name": "b", "hours": 8}', "application/json", 400),
        (b'{"name": "a", "hours": NaN}', "application/json", 400),
        (b'{"name": "a", "hours": -Infinity}', "application/json", 400),
        (b'{"name": "a", "hours": 1e400}', "application/json", 400),
        (b'{"name": "a", "hours": ' + b"9" * 5000 + b"}", "application/json", 400),
        (b'{"name": "a\\u0000b", "hours": 8}', "application/json", 400),
        (b'{"name": "\\ud800", "hours": 8}', "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"a":' * 100_000, "application/json", 400),
        (b"[" * 500 + b"]" * 500, "application/json", 400),
        (json.dumps({str(n): n for n in range(100_000)}).encode()[:1_000_000], "application/json", 400),
        (json.dumps({str(n): 0 for n in range(30_000)}).encode(), "application/json", 400),
        (b'{"name": "' + b"x" * 5_000_000 + b'", "hours": 8}', "application/json", 413),
        (b'{"name": "' + b"x" * 1_040_000 + b'", "hours": 8}', "application/json", 200),
        (b'{"name": "' + b"x" * 1_500_000 + b'", "hours": 8}', "application/json", 413),
        (GOOD.decode().encode("utf-16"), "application/json", 400),
        (GOOD.decode().encode("utf-16"), "application/json; charset=utf-16", 400),
        (b"\xef\xbb\xbf" + GOOD, "application/json", 400),
        (GOOD, "text/plain", 415),
        (GOOD, "", 415),
        (gzip.compress(GOOD, mtime=0), "application/json", 400),
    ],
)
def test_a_hostile_body_is_answered_in_json(editor: Client, body: bytes, kind: str, status: int) -> None:
    response = post(editor, body, kind)
    assert response.status_code == status, response.content[:300]
    if status >= 400:
        answer = response.json()
        assert set(answer) == {"error", "field"}
        assert answer["error"]


def test_the_field_to_blame_is_named(editor: Client) -> None:
    assert post(editor, b'{"name": "a", "hours": "x"}').json()["field"] == "hours"
    assert post(editor, b'{"hours": 3}').json()["field"] == "name"


def test_without_a_good_token_nothing_is_read(editor: Client) -> None:
    for header in ("", "Bearer ", "Bearer mit_wrong", "Basic eDp5", "Bearer " + "x" * 5000, "Bearer \x00"):
        response = Client().generic(
            "POST", "/api/v1/notes/", GOOD, content_type="application/json", HTTP_AUTHORIZATION=header
        )
        assert response.status_code == 401, header
        assert "Bearer" in response.headers["WWW-Authenticate"]
        assert response.json()["error"]


def test_a_small_role_is_refused(editor: Client) -> None:
    team = make_team()
    _, secret = issue_token(team, make_member(team, Role.VIEWER), "test", Role.OWNER, at=AT, lifetime=None)
    response = post(Client(headers={"Authorization": f"Bearer {secret}"}), GOOD)
    assert response.status_code == 403
    assert response.json()["field"] is None


def test_an_error_of_ours_tells_no_detail(editor: Client) -> None:
    response = editor.get("/api/v1/broken/")
    assert response.status_code == 500
    assert "secret" not in response.content.decode()


@pytest.mark.django_db
def test_the_description_is_served_and_an_unknown_address_is_json() -> None:
    client = Client()
    description = client.get("/api/v1/openapi.json").json()
    assert description["openapi"].startswith("3.1")
    missing = client.get("/api/v1/nothing")
    assert missing.status_code == 404
    assert set(missing.json()) == {"error", "field"}
    assert client.get("/api/v1/docs").status_code == 404


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_a_reason(body: bytes) -> None:
    with contextlib.suppress(BodyRefused):  # any other error fails
        read_json(body, "application/json")


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["C"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["C"])), inner),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_a_plain_document_is_read_as_it_is(document: Any) -> None:
    assert read_json(json.dumps(document).encode(), "application/json") == document
