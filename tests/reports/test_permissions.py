"""Who may do what: every route of the product, tried as everybody in the examiner's matrix.

Anonymous, another team, a removed member, viewer, editor, owner, staff, tokens, and links that are open, expired,
revoked, archived or guessed. A route that no row speaks of fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from zeal import zeal_ignore

from reports.trust import configuration, rows, world
from tests.factories import AT
from tests.reports.factories import sign_in

pytestmark = pytest.mark.django_db

LOGINS = ("/accounts/login/", "/admin/login/")
ABSENT = {"/catalog/runs/{one}/decide/"}
"""Addresses of what the made-up world does not have: no run of a price source is held in it."""


@dataclass
class Stage:
    """The world, its configuration, and a client for everybody in it."""

    document: dict[str, Any]
    clients: dict[str, Client]

    def path(self, template: str, who: str) -> str:
        names = {**self.document["vars"], **self.document["principals"][who].get("vars", {})}
        return re.sub(r"\{(\w+)\}", lambda found: str(names.get(found[1], found[0])), template)

    def send(self, row: dict[str, Any], who: str) -> Any:
        body = row.get("body") or {}
        options: dict[str, Any] = {"data": body.get("form", {})}
        if "json" in body:
            options = {"data": json.dumps(body["json"]), "content_type": "application/json"}
        client = self.clients[who]
        headers = self.document["principals"][who].get("headers")
        path = self.path(row["path"], who)
        # The page for a new password asks for two people: who is signed in, and whom the address names.
        with zeal_ignore() if "/password/reset/key/" in path else nullcontext():
            return getattr(client, row["method"].lower())(path, headers=headers, **options)


@pytest.fixture
def stage(clock: None, catalog: None) -> Stage:
    listed = StringIO()
    call_command("show_routes", "--json", stdout=listed)
    made = world.make(AT)
    document = configuration.write(
        made, base_url="http://127.0.0.1:1", server_pid=0, manage="true", routes=json.loads(listed.getvalue())
    )
    clients = {
        name: sign_in(made.people[name].user) if name in made.people else Client()
        for name in document["principals"]
    }
    return Stage(document, clients)


def refused(response: Any) -> bool:
    if response.status_code in (301, 302, 303):
        return any(login in response.headers["Location"] for login in LOGINS)
    return response.status_code in (401, 403, 404, 405)


def ours(stage: Stage, method: str) -> list[dict[str, Any]]:
    return [row for row in stage.document["matrix"]["rows"] if row["method"] == method]


@contextmanager
def undone() -> Iterator[None]:
    """Whatever happens inside is taken back, so that each try finds the same world."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def tries(stage: Stage, row: dict[str, Any]) -> list[str]:
    named = [name for name in row.get("only") or stage.clients if "{" not in stage.path(row["path"], name)]
    assert named, row["path"]
    return named


@pytest.mark.one_database(
    reason="every page is asked for on both by its own tests; who asks is no question of SQL"
)
def test_reading_is_for_those_of_the_matrix_alone(stage: Stage) -> None:
    reading = ours(stage, "GET")
    assert len(reading) > 30
    for row in reading:
        for who in tries(stage, row):
            response = stage.send(row, who)
            may = row["allow"] == rows.EVERYBODY or who in row["allow"]
            where = f"{row['path']} as {who}: {response.status_code}"
            assert refused(response) is not may, where
            assert response.status_code < 500, where
            if who in row.get("expect", {}):
                assert response.status_code in row["expect"][who], where
            for canary, allowed in stage.document["canaries"].items():
                assert who in allowed or canary.encode() not in response.content, f"{where} shows {canary}"


def test_writing_is_refused_to_everybody_else_and_leaves_no_trace(stage: Stage) -> None:
    writing = [row for method in ("POST", "PATCH", "DELETE") for row in ours(stage, method)]
    assert len(writing) > 20
    for row in writing:
        seen = row.get("verify")
        before = stage.clients[seen["as"]].get(stage.path(seen["path"], seen["as"])).content if seen else b""
        for who in tries(stage, row):
            if row["allow"] == rows.EVERYBODY or who in row["allow"]:
                continue
            response = stage.send(row, who)
            where = f"{row['method']} {row['path']} as {who}: {response.status_code}"
            assert refused(response), where
            if who in row.get("expect", {}):
                assert response.status_code in row["expect"][who], where
        if seen:
            after = stage.clients[seen["as"]].get(stage.path(seen["path"], seen["as"])).content
            assert without_tokens(after) == without_tokens(before), row["path"]


def test_writing_is_granted_to_those_of_the_matrix(stage: Stage) -> None:
    """The positive twin: each allowed write is taken, or refused for a reason that is not who asks."""
    for row in (row for method in ("POST", "PATCH", "DELETE") for row in ours(stage, method)):
        for who in tries(stage, row):
            if row["allow"] != rows.EVERYBODY and who in row["allow"]:
                with undone():
                    response = stage.send(row, who)
                if row["path"] in ABSENT:  # nobody else gets past the door, and behind it nothing is found
                    assert response.status_code == 404
                    continue
                assert not refused(response), (
                    f"{row['method']} {row['path']} as {who}: {response.status_code}"
                )


def test_a_foreign_plan_looks_like_a_missing_one(stage: Stage) -> None:
    pairs = [row for row in ours(stage, "GET") if row.get("same_as_missing")]
    assert pairs
    for row in pairs:
        for who in ("other_owner", "removed", "staff"):
            if who in row["allow"] or who not in (row.get("only") or [who]):
                continue
            foreign = stage.send(row, who)
            missing = stage.clients[who].get(stage.path(row["same_as_missing"], who))
            assert foreign.status_code == missing.status_code == 404
            asked = [stage.path(row[key], who) for key in ("path", "same_as_missing")]
            shown = [
                without_tokens(answer.content).replace(path, "")
                for answer, path in zip((foreign, missing), asked, strict=True)
            ]
            assert shown[0] == shown[1]


def without_tokens(body: bytes) -> str:
    return re.sub(r'(csrfmiddlewaretoken" value="|X-CSRFToken": ")[^"]*', "", body.decode("utf-8", "replace"))


def test_every_route_has_a_row(stage: Stage) -> None:
    listed = StringIO()
    call_command("show_routes", "--json", stdout=listed)
    known = [*(row["path"] for row in stage.document["matrix"]["rows"]), "/api/v1/"]
    patterns = [re.compile("^" + re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) + "$") for path in known]
    for route in json.loads(listed.getvalue()):
        probe = re.sub(r"<[^>]+>", "x1", route)
        assert any(pattern.match(probe) for pattern in patterns), f"no row says who may ask for {route}"


def test_a_revoked_link_is_closed_and_its_neighbour_stays_open(stage: Stage) -> None:
    (step,) = stage.document["matrix"]["revocations"]
    probe = {"path": step["probe"]["path"], "method": "GET"}
    assert stage.send(probe, "link_torevoke").status_code == 200
    stage.send({**step["revoke"]}, step["revoke"]["as"])
    assert stage.send(probe, "link_torevoke").status_code == 404
    assert stage.send(probe, "link_ok").status_code == 200


def test_the_examiners_data_are_refused_in_production(settings: Any, tmp_path: Any) -> None:
    settings.PRODUCTION = True
    with pytest.raises(CommandError):
        call_command("seed_trust", "--out", str(tmp_path / "config.json"))
    assert not (tmp_path / "config.json").exists()
