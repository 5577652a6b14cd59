"""Export, import, export: equal content bytes and equal figures; what is no plan is refused with a reason."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from pypdf import PdfReader

from accounts.services import personal_team
from reports import content, exports, importing, services
from reports.models import Plan, PlanVersion
from tests.factories import AT
from tests.reports.conftest import Crew
from tests.reports.factories import HOSTILE, save_plan
from tests.reports.test_checklist import POSTED

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def exported(version: PlanVersion) -> bytes:
    return exports.of_version(version, "json", "en").content


def content_of(document: bytes) -> bytes:
    found = re.fullmatch(rb'\{"content":(.*),"envelope":.*\}\n', document, re.DOTALL)
    assert found
    return found[1]


def imported(data: bytes, crew: Crew) -> PlanVersion:
    return importing.import_plan(data, team=crew.stranger.teams.get(), user=crew.stranger, at=AT)


@pytest.fixture
def rich(plan: Plan, crew: Crew) -> PlanVersion:
    """Two workloads in yen, a checklist, Japanese and hostile words."""
    save_plan(crew.team, crew.owner, currency="JPY")
    editor = crew.client("editor")
    second = {"title": HOSTILE, "note": "見積\n2", "query": "currency=JPY&kind=llm_batch", "name": "夜間"}
    assert (
        editor.post(f"/plans/{plan.slug}/add/", second | {"base_number": 1, "place": "new"}).status_code
        == 302
    )
    editor.post(f"/plans/{plan.slug}/checklist/", POSTED | {"base_number": "2"})
    return services.newest(Plan.objects.get(pk=plan.pk))


def test_export_import_export_gives_equal_content_and_equal_figures(rich: PlanVersion, crew: Crew) -> None:
    first = exported(rich)
    again = imported(first, crew)
    assert content_of(exported(again)) == content_of(first)
    assert again.fingerprint == rich.fingerprint
    assert content.is_whole(again)
    tables = [exports.of_version(each, "csv", "en").content.decode() for each in (rich, again)]
    # The address is the envelope's: where the plan stands, and as which version.
    slugs = [re.escape(each.plan.slug) + rf"(,{each.number},|/v/{each.number}/)" for each in (rich, again)]
    same = [re.sub(slug, "", table) for slug, table in zip(slugs, tables, strict=True)]
    assert same[0] == same[1]
    assert len(same[0]) > 1000
    third = imported(exported(again), crew)
    assert content_of(exported(third)) == content_of(first)


def test_an_imported_plan_says_so_on_page_and_paper_until_it_is_computed_here(
    rich: PlanVersion, crew: Crew
) -> None:
    again = imported(exported(rich), crew)
    stranger = crew.client("stranger")
    page = stranger.get(f"/plans/{again.plan.slug}/").content.decode()
    assert "was read from a file" in page
    assert rich.fingerprint[:12] in page
    assert services.newest(again.plan).number == 1
    assert [line.what for line in again.plan.activity.all()] == ["imported"]
    stranger.post(f"/plans/{again.plan.slug}/reprice/", {"base_number": 1})
    assert services.newest(Plan.objects.get(pk=again.plan_id)).number == 2


def changed(change: Callable[[dict[str, Any]], None], *, sealed: bool = True) -> Callable[[bytes], bytes]:
    """A file with one thing changed; ``sealed``: with a fingerprint that fits, as a forger would make it."""

    def apply(data: bytes) -> bytes:
        document = json.loads(data)
        change(document["content"])
        if sealed:
            document["envelope"]["fingerprint"] = content.sha256(content.canonical(document["content"]))
        return json.dumps(document).encode()

    return apply


def put(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        place: Any = document
        *parents, last = path.split(".")
        for key in parents:
            place = place[int(key) if key.isdigit() else key]
        place[last] = value

    return change


ANSWER = "workloads.0.comparison"
FIRST = f"{ANSWER}.candidates.0"
BAD: list[Callable[[bytes], bytes]] = [
    lambda data: b"",
    lambda data: b"null",
    lambda data: b"[]",
    lambda data: b"{}",
    lambda data: data[:-20],
    lambda data: data + b"{}",
    lambda data: b"\xff\xfe" + data,
    lambda data: data.decode().encode("utf-16"),
    lambda data: b"[" * 100_000,
    lambda data: data.replace(b'"content":', b'"content":{},"content":', 1),
    changed(put("title", "Another"), sealed=False),
    changed(put("title", "")),
    changed(put("title", "a\nb")),
    changed(put("title", "x" * 201)),
    changed(put("title", 5)),
    changed(put("note", "a\u0000b")),
    changed(put("format", "other")),
    changed(put("format_version", 2)),
    changed(put("extra", 1)),
    changed(put("priced_at", "yesterday")),
    changed(put("priced_at", "2099-01-01T00:00:00+00:00")),
    changed(put("priced_at", "2026-11-30T09:00:00")),
    changed(put("workloads", [])),
    changed(put("workloads", [1])),
    changed(put("workloads.0.kind", "nonsense")),
    changed(put("workloads.0.kind", "llm_batch")),
    changed(put("workloads.0.extra", 1)),
    changed(put("workloads.0.inputs", [])),
    changed(put(f"{ANSWER}.candidates", "x")),
    changed(put(f"{ANSWER}.unknown", 1)),
    changed(put(f"{FIRST}.monthly.total", "NaN")),
    changed(put(f"{FIRST}.monthly.total", "abc")),
    changed(put(f"{FIRST}.class", 9)),
    changed(put(f"{FIRST}.memory.usable_bytes", 10**400)),
    changed(put("checklist", {"x": 1})),
    changed(put("checklist", {"recovery_hours": -5})),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_what_is_no_plan_is_refused_with_a_reason_and_leaves_nothing(
    plan: Plan, crew: Crew, number: int
) -> None:
    data = BAD[number](exported(services.newest(plan)))
    with pytest.raises(importing.NotAPlanError) as refused:
        imported(data, crew)
    assert len(str(refused.value)) > 10
    assert Plan.objects.count() == 1
    assert PlanVersion.objects.count() == 1


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{FIRST}.memory.usable_bytes", 0), (f"{FIRST}.machines", 0), (f"{FIRST}.offer.gpu_memory_bytes", 0),
        (f"{FIRST}.monthly.currency", "<b>"), (f"{FIRST}.monthly.total", "1e30"), (f"{FIRST}.rank", -5),
        (f"{FIRST}.offer.source_url", "javascript:alert(1)"), (f"{FIRST}.offer.sku", "=cmd|' /C calc'!A0"),
        (f"{ANSWER}.workload", {}), (f"{ANSWER}.model", {}), (f"{FIRST}.offer.bandwidth_bytes_per_s", 0),
        (f"{ANSWER}.candidates", []),
    ],
)  # fmt: skip
def test_figures_that_fit_the_form_are_either_drawn_everywhere_or_refused(
    plan: Plan, crew: Crew, path: str, value: object
) -> None:
    data = changed(put(path, value))(exported(services.newest(plan)))
    try:
        version = imported(data, crew)
    except importing.NotAPlanError:
        assert Plan.objects.count() == 1
        return
    client = crew.client("stranger")
    address = f"/plans/{version.plan.slug}/"
    page = client.get(address)
    assert page.status_code == 200
    assert b'href="javascript:' not in page.content
    for fmt in exports.FORMATS:
        assert client.get(f"{address}export.{fmt}").status_code == 200
    table = client.get(f"{address}export.csv").content.decode()
    assert ",=cmd" not in table


def test_a_plan_is_imported_in_the_browser_into_a_team_where_one_may_edit(plan: Plan, crew: Crew) -> None:
    data = exported(services.newest(plan))
    stranger = crew.client("stranger")
    team = crew.stranger.teams.get()

    def send(body: bytes, **fields: Any) -> Any:
        file = SimpleUploadedFile("../../<b>plan.json", body, "application/json")
        return stranger.post("/plans/import/", {"file": file} | fields)

    assert stranger.get("/plans/import/").status_code == 200
    for answer in (
        send(b"", team=team.pk),
        send(b"{}", team=team.pk),
        send(data, team=crew.team.pk),
        send(data),
    ):
        assert answer.status_code == 422
        assert 'class="errorlist"' in answer.content.decode()
    assert stranger.post("/plans/import/", {"team": team.pk}).status_code == 422
    made = send(data, team=team.pk)
    assert made.headers["Location"] == f"/plans/{Plan.objects.get(team=team).slug}/"


def test_a_plan_is_imported_on_the_command_line(plan: Plan, crew: Crew, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(exported(services.newest(plan)))
    out = StringIO()
    call_command("import_plan", str(file), "--user", crew.editor.email, "--team", "Team A", stdout=out)
    made = Plan.objects.get(slug=out.getvalue().strip())
    assert made.team == crew.team
    call_command("import_plan", str(file), "--user", crew.viewer.email, stdout=StringIO())
    assert Plan.objects.filter(team=personal_team(crew.viewer, at=AT)).count() == 1
    for arguments in (
        [str(file), "--user", "nobody@example.com"],
        [str(file), "--user", crew.viewer.email, "--team", "Team A"],
        [str(tmp_path / "none.json"), "--user", crew.viewer.email],
    ):
        with pytest.raises(CommandError):
            call_command("import_plan", *arguments, stdout=StringIO())


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_the_paper_has_the_size_that_was_asked_for(plan: Plan, crew: Crew, paper: str) -> None:
    pdf = crew.client("viewer").get(f"/plans/{plan.slug}/export.pdf?paper={paper}").content
    width = {"a4": 595.2, "letter": 612}[paper]
    assert float(PdfReader(io.BytesIO(pdf)).pages[0].mediabox.width) == pytest.approx(width, abs=1)


def test_an_unknown_paper_is_a4(plan: Plan, crew: Crew) -> None:
    viewer = crew.client("viewer")
    path = f"/plans/{plan.slug}/export.pdf"
    assert viewer.get(f"{path}?paper=napkin").content == viewer.get(path).content
