"""Plans over HTTP for programs: the same rules, errors as JSON."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import Role
from accounts.services import issue_token
from reports import content
from reports.models import Plan, PlanVersion
from tests.factories import AT
from tests.reports.conftest import Crew

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


class Program:
    """A client with a token of the crew's team."""

    def __init__(self, crew: Crew, who: str, role: Role) -> None:
        user = getattr(crew, who)
        team = crew.team if who != "stranger" else user.teams.get()
        _token, secret = issue_token(team, user, "test", role, at=AT, lifetime=timedelta(days=1))
        self.headers = {"Authorization": f"Bearer {secret}"}

    def get(self, path: str) -> Any:
        return Client().get(f"/api/v1{path}", headers=self.headers)

    def send(self, method: str, path: str, body: object = None) -> Any:
        data = "" if body is None else json.dumps(body)
        return getattr(Client(), method)(
            f"/api/v1{path}", data=data, content_type="application/json", headers=self.headers
        )


@pytest.fixture
def editor(crew: Crew) -> Program:
    return Program(crew, "editor", Role.EDITOR)


def test_a_program_saves_reads_and_exports_a_plan(catalog: None, crew: Crew, editor: Program) -> None:
    made = editor.send("post", "/plans", {"title": "By program", "workload": {"weights_format": "fp8"}})
    assert made.status_code == 201
    saved = made.json()
    version = PlanVersion.objects.get()
    assert saved == {"slug": version.plan.slug, "number": 1, "fingerprint": version.fingerprint}
    (listed,) = editor.get("/plans").json()["items"]
    assert (listed["title"], listed["latest_number"], listed["archived"]) == ("By program", 1, False)
    detail = editor.get(f"/plans/{saved['slug']}").json()
    assert detail["versions"][0]["fingerprint"] == version.fingerprint
    exported = editor.get(f"/plans/{saved['slug']}/export.json")
    assert exported["Content-Type"] == "application/json"
    assert exported.content == crew.client("owner").get(f"/plans/{saved['slug']}/export.json").content
    assert editor.get(f"/plans/{saved['slug']}/versions/1/export.csv").status_code == 200


def test_a_plan_of_a_program_opens_in_the_workbench_with_its_question(
    catalog: None, crew: Crew, editor: Program
) -> None:
    asked = {"weights_format": "fp8", "concurrency": {"average": 3, "peak": 7}}
    slug = editor.send("post", "/plans", {"title": "By program", "workload": asked}).json()["slug"]
    page = crew.client("owner").get(f"/plans/{slug}/").content.decode()
    (link,) = re.findall(r'href="/workbench/\?([^"]*)">Open this in the workbench', page)
    for part in ("weights=fp8", "users=3", "users_peak=7", f"into={slug}.1"):
        assert part in link


def test_a_program_adds_versions_and_is_told_of_conflicts(plan: Plan, editor: Program) -> None:
    path = f"/plans/{plan.slug}"
    added = editor.send("post", f"{path}/versions", {"title": "Two", "base_number": 1, "workload": {}})
    assert (added.status_code, added.json()["number"]) == (201, 2)
    assert editor.send("patch", path, {"title": "Three", "base_number": 2}).json()["number"] == 3
    for late in (
        editor.send("patch", path, {"title": "Late", "base_number": 2}),
        editor.send("post", f"{path}/versions", {"title": "Late", "base_number": 1, "workload": {}}),
    ):
        assert late.status_code == 409
        assert late.json() == {"error": "Version 3 was saved meanwhile.", "field": "base_number"}
    assert all(content.is_whole(version) for version in plan.versions.all())


def test_only_an_owners_token_archives(plan: Plan, crew: Crew, editor: Program) -> None:
    assert editor.send("delete", f"/plans/{plan.slug}").status_code == 403
    assert Program(crew, "owner", Role.OWNER).send("delete", f"/plans/{plan.slug}").status_code == 204
    plan.refresh_from_db()
    assert plan.is_archived
    assert editor.get("/plans").json()["count"] == 0
    assert editor.get("/plans?archived=true").json()["count"] == 1


def test_a_token_never_exceeds_its_members_role(plan: Plan, crew: Crew) -> None:
    program = Program(crew, "viewer", Role.OWNER)
    assert program.get(f"/plans/{plan.slug}").status_code == 200
    assert program.send("patch", f"/plans/{plan.slug}", {"title": "x", "base_number": 1}).status_code == 403


def test_a_foreign_plan_and_a_missing_one_answer_alike(plan: Plan, crew: Crew) -> None:
    stranger = Program(crew, "stranger", Role.OWNER)
    for method, part, body in (
        ("get", "", None), ("get", "/export.csv", None), ("get", "/versions/1/export.csv", None),
        ("patch", "", {"title": "x", "base_number": 1}), ("delete", "", None),
        ("post", "/versions", {"title": "x", "base_number": 1, "workload": {}}),
    ):  # fmt: skip
        answers = []
        for slug in (plan.slug, "zzzzzzzzzzz9"):
            path = f"/plans/{slug}{part}"
            answer = stranger.get(path) if method == "get" else stranger.send(method, path, body)
            answers.append((answer.status_code, answer.content))
        assert answers[0] == answers[1]
        assert answers[0][0] == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "title"), ({"title": ""}, "title"), ({"title": "  ", "workload": {}}, "title"),
        ({"title": "a" * 201, "workload": {}}, "title"), ({"title": "a\nb", "workload": {}}, "title"),
        ({"title": 5, "workload": {}}, "title"), ({"title": None, "workload": {}}, "title"),
        ({"title": "x"}, "workload"), ({"title": "x", "workload": []}, "workload"),
        ({"title": "x", "workload": {"zz": 1}}, "zz"),
        ({"title": "x", "workload": {"storage_gb": -1}}, "storage_gb"),
        ({"title": "x", "workload": {"model": {"id": "nobody/nothing"}}}, "workload"),
        ({"title": "x", "workload": {}, "team": 1}, "team"),
        ({"title": "x", "workloads": [{}] * 21}, "workloads"),
    ],
)  # fmt: skip
def test_a_body_that_makes_no_sense_is_refused_by_name(
    catalog: None, editor: Program, body: dict[str, Any], field: str
) -> None:
    answer = editor.send("post", "/plans", body)
    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert len(answer.json()["error"]) > 3
    assert not Plan.objects.exists()


@pytest.mark.parametrize(
    "body", ["", "null", "[]", "{", '{"title": NaN}', '{"title":"x","title":"y"}', '"\\ud800"']
)
def test_a_broken_body_is_answered_as_json(catalog: None, editor: Program, body: str) -> None:
    answer = Client().post("/api/v1/plans", body, content_type="application/json", headers=editor.headers)
    assert answer.status_code in (400, 422)
    assert len(answer.json()["error"]) > 3


@pytest.mark.parametrize("number", ["0", "2", "99999999999999999999", "x"])
def test_a_version_that_does_not_exist_is_missing(plan: Plan, editor: Program, number: str) -> None:
    answer = editor.get(f"/plans/{plan.slug}/versions/{number}/export.csv")
    assert answer.status_code in (404, 422)
    assert "error" in answer.json()


def test_several_workloads_stand_in_one_plan(catalog: None, crew: Crew, editor: Program) -> None:
    made = editor.send("post", "/plans", {"title": "Two", "workloads": [{}, {"kind": "llm_batch"}]}).json()
    page = crew.client("viewer").get(f"/plans/{made['slug']}/").content.decode()
    assert "Interactive serving" in page
    assert "Batch generation" in page
    for fmt in ("csv", "pdf", "xlsx", "json"):
        assert editor.get(f"/plans/{made['slug']}/export.{fmt}").status_code == 200


def send_plan(program: Program, data: bytes) -> Any:
    file = SimpleUploadedFile("plan.json", data, "application/json")
    return Client().post("/api/v1/plans/import", {"file": file}, headers=program.headers)


def test_a_program_reads_a_plan_back_with_the_same_content(plan: Plan, editor: Program) -> None:
    exported = editor.get(f"/plans/{plan.slug}/export.json").content
    made = send_plan(editor, exported)
    assert made.status_code == 201
    saved = made.json()
    assert saved["fingerprint"] == plan.versions.get().fingerprint
    again = editor.get(f"/plans/{saved['slug']}/export.json").content
    assert content_of(again) == content_of(exported)


def content_of(data: bytes) -> bytes:
    return data[: data.rindex(b',"envelope":')]


def test_a_file_larger_than_a_json_body_may_be_is_read_and_one_beyond_its_own_limit_refused(
    plan: Plan, editor: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = editor.get(f"/plans/{plan.slug}/export.json").content
    padded = exported + b" " * 2 * 1024 * 1024
    assert send_plan(editor, padded).status_code == 201
    refused = send_plan(editor, b" " * (20 * 2**20 + 1))
    assert (refused.status_code, refused.json()["field"]) == (413, "file")


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b"\xff", b'{"content": {"format": "mitsumori-plan"}}'])
def test_a_file_that_is_no_plan_is_refused_with_a_sentence(plan: Plan, editor: Program, data: bytes) -> None:
    answer = send_plan(editor, data)
    assert (answer.status_code, answer.json()["field"]) == (422, "file")
    assert answer.json()["error"]
    assert Plan.objects.count() == 1


def test_a_viewer_reads_no_plan_back_and_a_strangers_goes_to_their_own_team(
    plan: Plan, crew: Crew, editor: Program
) -> None:
    exported = editor.get(f"/plans/{plan.slug}/export.json").content
    assert send_plan(Program(crew, "viewer", Role.VIEWER), exported).status_code == 403
    assert Plan.objects.count() == 1
    saved = send_plan(Program(crew, "stranger", Role.OWNER), exported).json()
    assert Plan.objects.get(slug=saved["slug"]).team == crew.stranger.teams.get()
    assert editor.get(f"/plans/{saved['slug']}").status_code == 404
