"""Private offers over HTTP: a program of a team reads, enters, changes and withdraws them; nobody else's does."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.models import Role, Team, User
from accounts.services import issue_token
from catalog.models import PrivateOffer
from planner.sizing.workload import ServingWorkload
from reports import services
from tests.factories import AT, make_member, make_team, make_user

pytestmark = pytest.mark.django_db

QUOTE: dict[str, Any] = {
    "provider_name": "Provider 見積", "sku": "m-8", "accelerator_as_written": "H100 SXM 80GB", "gpu_count": 8,
    "amount": 24.5, "currency": "USD", "received_on": "2026-11-02", "valid_until": "2026-12-31",
    "survives_restart": "yes", "startup_minutes": 7.5, "tax_included": False, "vcpu": 96, "ram_gib": "960",
}  # fmt: skip


class Program:
    def __init__(self, team: Team, user: User, role: Role) -> None:
        _token, secret = issue_token(team, user, "test", role, at=AT, lifetime=timedelta(days=1))
        self.headers = {"Authorization": f"Bearer {secret}"}

    def send(self, method: str, path: str = "", body: object = None) -> Any:
        with time_machine.travel(AT, tick=False):
            data = "" if body is None else json.dumps(body)
            return getattr(Client(), method)(
                f"/api/v1/quotes{path}", data=data, content_type="application/json", headers=self.headers
            )

    def get(self, path: str = "") -> Any:
        with time_machine.travel(AT, tick=False):
            return Client().get(f"/api/v1/quotes{path}", headers=self.headers)


@pytest.fixture
def crew() -> dict[str, Program]:
    owner, stranger = make_user(), make_user()
    team, other = make_team("A", owner), make_team("B", stranger)
    return {
        "owner": Program(team, owner, Role.OWNER),
        "editor": Program(team, make_member(team, Role.EDITOR), Role.EDITOR),
        "viewer": Program(team, make_member(team, Role.VIEWER), Role.VIEWER),
        "stranger": Program(other, stranger, Role.OWNER),
    }


def test_an_editor_enters_reads_changes_and_withdraws(crew: dict[str, Program]) -> None:
    editor = crew["editor"]
    made = editor.send("post", body=QUOTE)
    assert made.status_code == 201
    row = made.json()
    assert (row["accelerator"], row["amount"], row["tax_included"]) == ("H100-SXM5", "24.500000", False)
    assert (row["valid_until"], row["expired"], row["startup_minutes"]) == ("2026-12-31", False, "7.5")
    listed = crew["viewer"].get().json()
    assert (listed["count"], listed["items"][0]["id"]) == (1, row["id"])
    changed = editor.send("put", f"/{row['id']}", QUOTE | {"amount": "30.25"})
    assert changed.status_code == 200
    assert changed.json()["amount"] == "30.250000"
    assert changed.json()["id"] != row["id"]
    assert editor.send("put", f"/{row['id']}", QUOTE).status_code == 404  # that row ended
    assert editor.send("delete", f"/{changed.json()['id']}").status_code == 204
    assert editor.get().json() == {"items": [], "count": 0}
    assert PrivateOffer.objects.count() == 2  # past comparisons stay as they were


def test_what_a_program_enters_takes_part_in_its_teams_plans_alone(crew: dict[str, Program]) -> None:
    crew["editor"].send("post", body=QUOTE)
    teams = {"A": 1, "B": 0}
    for name, count in teams.items():
        team = Team.objects.get(name=name)
        found = services.answer_of(services.NamedWorkload(ServingWorkload()), at=AT, team_id=team.pk)
        offers = [each.offer for each in found.candidates] + [each.offer for each in found.rejected]
        assert sum(offer.offer_id < 0 for offer in offers) == count


def test_a_program_says_what_is_paid_upfront(crew: dict[str, Program]) -> None:
    committed = QUOTE | {"tier": "reserved", "upfront": 5000.5, "term_months": 12, "amount": 0}
    made = crew["editor"].send("post", body=committed)
    assert made.status_code == 201
    row = crew["viewer"].get(f"/{made.json()['id']}").json()
    assert (row["upfront"], row["term_months"], row["amount"]) == ("5000.500000", 12, "0.000000")
    plain = crew["editor"].send("post", body=QUOTE).json()
    assert (plain["upfront"], plain["term_months"]) == (None, None)


def test_the_same_offer_sent_twice_is_one(crew: dict[str, Program]) -> None:
    first, second = (crew["editor"].send("post", body=QUOTE).json() for _time in range(2))
    assert first == second
    assert PrivateOffer.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"gpu_count": 0}, "gpu_count"),
        ({"gpu_count": "8"}, "gpu_count"),
        ({"gpu_count": True}, "gpu_count"),
        ({"amount": 0}, "amount"),
        ({"amount": True}, "amount"),
        ({"amount": "1,5"}, "amount"),
        ({"amount": 0.0000001}, "amount"),
        ({"currency": "usd"}, "currency"),
        ({"received_on": "2026-02-30"}, "received_on"),
        ({"received_on": 20261102}, "received_on"),
        ({"valid_until": "2026-11-01"}, "valid_until"),
        ({"accelerator_as_written": "A100"}, "accelerator_as_written"),
        ({"tier": "cheap"}, "tier"),
        ({"survives_restart": "perhaps"}, "survives_restart"),
        ({"tax_included": "no"}, "tax_included"),
        ({"sku": ""}, "sku"),
        ({"sku": "two\nlines"}, "sku"),
        ({"colour": "red"}, "colour"),
        ({"upfront": 5000}, "upfront"),
        ({"term_months": 12}, "term_months"),
        ({"tier": "reserved", "upfront": 5000}, "term_months"),
        ({"tier": "reserved", "upfront": -1, "term_months": 12}, "upfront"),
        ({"tier": "reserved", "upfront": 5000, "term_months": "12"}, "term_months"),
        ({"tier": "reserved", "upfront": 5000, "term_months": 121}, "term_months"),
    ],
)
def test_what_the_form_would_refuse_is_refused_with_its_field(
    crew: dict[str, Program], change: dict[str, Any], field: str
) -> None:
    answer = crew["editor"].send("post", body=QUOTE | change)
    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert answer.json()["error"]
    assert not PrivateOffer.objects.exists()


def test_a_table_is_taken_whole_or_not_at_all(crew: dict[str, Program]) -> None:
    rows = [QUOTE, QUOTE | {"sku": "m-9", "amount": -1}, QUOTE | {"sku": "m-10"}]
    refused = crew["editor"].send("post", "/import", {"rows": rows})
    assert (refused.status_code, refused.json()["field"]) == (422, "rows.1.amount")
    assert not PrivateOffer.objects.exists()
    taken = crew["editor"].send("post", "/import", {"rows": rows, "take_good": True})
    assert taken.status_code == 200
    answer = taken.json()
    assert (answer["taken"], answer["known"], answer["left_out"], len(answer["ids"])) == (2, 0, 1, 2)
    assert [(each["row"], each["field"]) for each in answer["faults"]] == [(1, "amount")]
    again = crew["editor"].send("post", "/import", {"rows": [rows[0], rows[2]]}).json()
    assert (again["taken"], again["known"]) == (0, 2)


@pytest.mark.parametrize("body", [{"rows": []}, {"rows": {}}, {"rows": [1]}, {}, {"rows": [QUOTE] * 501}])
def test_a_table_that_is_none_is_refused(crew: dict[str, Program], body: dict[str, Any]) -> None:
    answer = crew["editor"].send("post", "/import", body)
    assert answer.status_code == 422
    assert answer.json()["field"].startswith("rows")


def test_viewers_read_and_others_find_nothing(crew: dict[str, Program]) -> None:
    number = crew["editor"].send("post", body=QUOTE).json()["id"]
    assert crew["viewer"].get(f"/{number}").status_code == 200
    for method, path, body in (
        ("post", "", QUOTE), ("post", "/import", {"rows": [QUOTE]}), ("put", f"/{number}", QUOTE),
        ("delete", f"/{number}", None),
    ):  # fmt: skip
        assert crew["viewer"].send(method, path, body).status_code == 403
    stranger = crew["stranger"]
    assert stranger.get().json()["count"] == 0
    missing = stranger.get("/999999")
    for method, body in (("get", None), ("put", QUOTE), ("delete", None)):
        answer = stranger.get(f"/{number}") if method == "get" else stranger.send(method, f"/{number}", body)
        assert answer.status_code == 404
        assert answer.content == missing.content
    assert Client().get("/api/v1/quotes").status_code == 401
    assert PrivateOffer.objects.get(ended_at=None).pk == number


def test_the_description_of_the_api_tells_of_private_offers(client: Client) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    assert set(paths["/api/v1/quotes"]) == {"get", "post"}
    assert set(paths["/api/v1/quotes/{number}"]) == {"get", "put", "delete"}
    assert set(paths["/api/v1/quotes/import"]) == {"post"}
    assert "multipart/form-data" in json.dumps(paths["/api/v1/plans/import"])
