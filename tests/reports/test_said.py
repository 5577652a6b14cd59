"""Decisions and comments in files: only where a member asks for them, and never through a link."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pdfua
import pytest
from django.core.management import call_command
from pypdf import PdfReader

from accounts.models import Role
from accounts.services import issue_token
from mitsumori import addresses
from reports import importing, notes, services
from reports.models import Plan
from tests.factories import AT
from tests.reports.conftest import Crew

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

CHOSEN, REMARK, WITHDRAWN = "the L40S of known", "=1+1 Ask Sato-san first. 見積", "never mind this"


@pytest.fixture
def discussed(plan: Plan, crew: Crew) -> Plan:
    newest = services.newest(plan)
    notes.decide(
        newest, notes.Subject(), chosen=CHOSEN, because="it is enough", decided_by="Ono", decided_on=AT.date(),
        user=crew.owner, at=AT,
    )  # fmt: skip
    notes.comment(newest, notes.subject(newest, "1-1"), REMARK, user=crew.editor, at=AT)
    gone = notes.comment(newest, notes.Subject(), WITHDRAWN, user=crew.editor, at=AT)
    notes.withdraw(gone, user=crew.editor, at=AT)
    return plan


def text_of(fmt: str, data: bytes) -> str:
    """Everything that a file says, as text."""
    if fmt == "pdf":
        return " ".join(" ".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages).split())
    if fmt == "xlsx":
        book = openpyxl.load_workbook(io.BytesIO(data))
        return "\n".join(
            str(cell) for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row if cell
        )
    return data.decode("utf-8-sig")


def get(crew: Crew, who: str, path: str) -> bytes:
    answer = crew.client(who).get(path)
    assert answer.status_code == 200
    return bytes(answer.content)


@pytest.mark.parametrize("fmt", ["pdf", "xlsx", "json", "csv"])
def test_a_file_holds_what_was_said_only_where_it_is_asked_for(discussed: Plan, crew: Crew, fmt: str) -> None:
    path = f"/plans/{discussed.slug}/export.{fmt}"
    plain, decided, everything = (
        text_of(fmt, get(crew, "viewer", path + query)) for query in ("", "?notes=decisions", "?notes=all")
    )
    holds = fmt != "csv"
    expected = ((plain, False, False), (decided, holds, False), (everything, holds, holds))
    for text, has_decision, has_comment in expected:
        assert ("it is enough" in text) is has_decision
        assert ("Ask Sato-san first" in text) is has_comment
        assert WITHDRAWN not in text


@pytest.mark.parametrize("fmt", ["pdf", "xlsx", "json", "csv"])
@pytest.mark.parametrize("asked", ["decisions", "all"])
def test_a_links_file_never_holds_it(discussed: Plan, crew: Crew, fmt: str, asked: str) -> None:
    _link, secret = services.share(services.newest(discussed), user=crew.owner, at=AT)
    get(
        crew, "owner", f"/plans/{discussed.slug}/export.{fmt}?notes={asked}"
    )  # kept for members: not for the link
    text = text_of(fmt, get(crew, "anonymous", f"/s/{secret}/export.{fmt}?notes={asked}"))
    assert "it is enough" not in text
    assert "Ask Sato-san first" not in text


def test_a_comment_that_follows_is_in_the_next_file_and_later_versions_stay_out(
    discussed: Plan, crew: Crew
) -> None:
    path = f"/plans/{discussed.slug}/v/1/export.json?notes=all"
    assert len(json.loads(get(crew, "editor", path))["envelope"]["comments"]) == 1
    notes.comment(services.newest(discussed), notes.Subject(), "second", user=crew.editor, at=AT)
    services.reword(discussed, user=crew.owner, base_number=1, words=services.Words("Two"), at=AT)
    discussed.refresh_from_db()
    notes.comment(services.newest(discussed), notes.Subject(), "of version two", user=crew.editor, at=AT)
    said = json.loads(get(crew, "editor", path))["envelope"]["comments"]
    assert [each["text"] for each in said] == [REMARK, "second"]
    said = json.loads(get(crew, "editor", f"/plans/{discussed.slug}/export.json?notes=all"))["envelope"][
        "comments"
    ]
    assert [each["version"] for each in said] == [1, 1, 2]


def test_the_content_and_its_fingerprint_stay_and_the_file_can_be_read_back(
    discussed: Plan, crew: Crew
) -> None:
    path = f"/plans/{discussed.slug}/export.json"
    plain, told = get(crew, "owner", path), get(crew, "owner", f"{path}?notes=all")
    assert json.loads(plain)["content"] == json.loads(told)["content"]
    (decision,) = json.loads(told)["envelope"]["decisions"]
    assert decision == {
        "version": 1, "chosen": CHOSEN, "because": "it is enough", "decided_by": "Ono", "decided_on": "2026-11-30",
    }  # fmt: skip
    version = importing.import_plan(told, team=crew.team, user=crew.owner, at=AT)
    assert version.fingerprint == discussed.versions.get().fingerprint
    assert not version.decisions.exists()  # another installation's people are not this one's


def test_a_remark_is_no_formula_in_the_workbook(discussed: Plan, crew: Crew) -> None:
    data = get(crew, "owner", f"/plans/{discussed.slug}/export.xlsx?notes=all")
    page = openpyxl.load_workbook(io.BytesIO(data))["Decisions and comments"]
    (cell,) = [cell for row in page.iter_rows() for cell in row if cell.value == REMARK]
    assert cell.data_type == "s"


def test_the_api_and_the_command_line_give_the_same_bytes(
    discussed: Plan, crew: Crew, tmp_path: Path
) -> None:
    shown = get(crew, "owner", f"/plans/{discussed.slug}/export.json?notes=all")
    _token, secret = issue_token(crew.team, crew.viewer, "t", Role.VIEWER, at=AT, lifetime=timedelta(days=1))
    headers = {"Authorization": f"Bearer {secret}"}
    api = crew.client("anonymous").get(
        f"/api/v1/plans/{discussed.slug}/export.json?notes=all", headers=headers
    )
    assert api.content == shown
    call_command("export", discussed.slug, "--format", "json", "-o", str(tmp_path / "f"), "--notes", "all")
    assert (tmp_path / "f").read_bytes() == shown
    refused = crew.client("anonymous").get(
        f"/api/v1/plans/{discussed.slug}/export.json?notes=secret", headers=headers
    )
    assert refused.status_code == 422


def test_the_plan_offers_such_files_once_there_is_something_to_hold(
    plan: Plan, crew: Crew, settings: Any
) -> None:
    path = f"/plans/{plan.slug}/"
    assert b"notes=decisions" not in get(crew, "viewer", path)
    notes.comment(services.newest(plan), notes.Subject(), "x", user=crew.editor, at=AT)
    assert b"notes=decisions" in get(crew, "viewer", path)


# What tables hold, and where a plan is found ----------------------------------------------------------------------


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_a_table_of_candidates_alone_has_the_same_candidates_and_nothing_else(plan: Plan, crew: Crew) -> None:
    path = f"/plans/{plan.slug}/export.csv"
    everything = rows_of(get(crew, "viewer", path))
    alone = rows_of(get(crew, "viewer", f"{path}?rows=candidates"))
    assert {row["status"] for row in everything} == {"candidate", "rejected"}
    assert alone == [row for row in everything if row["status"] == "candidate"]


def test_the_table_names_its_workload_in_words_that_no_language_changes(plan: Plan, crew: Crew) -> None:
    english, japanese = (
        crew.client("viewer").get(f"/plans/{plan.slug}/export.csv", headers={"accept-language": language})
        for language in ("en", "ja")
    )
    assert english.content == japanese.content
    name = rows_of(english.content)[0]["workload"]
    assert name.startswith("1. ")
    assert "_" not in name
    assert name.isascii()


@pytest.mark.parametrize("fmt", ["pdf", "csv", "xlsx"])
def test_a_file_says_at_which_host_its_plan_is_found(plan: Plan, crew: Crew, fmt: str, settings: Any) -> None:
    settings.PUBLIC_ADDRESS = "https://sizing.example.com"
    text = text_of(fmt, get(crew, "viewer", f"/plans/{plan.slug}/export.{fmt}"))
    whole = f"https://sizing.example.com/plans/{plan.slug}/v/1/"
    assert whole.replace(" ", "") in text.replace(" ", "")


def test_without_a_setting_the_address_is_where_the_server_was_last_started(
    settings: Any, tmp_path: Path
) -> None:
    settings.PUBLIC_ADDRESS, settings.DATA_DIR = "", tmp_path
    assert addresses.public_address("/x/") == "http://localhost:8000/x/"
    (tmp_path / "address").write_text("http://localhost:9123\n", encoding="ascii")
    assert addresses.public_address("/x/") == "http://localhost:9123/x/"


def test_the_paper_with_decisions_and_comments_is_accessible_too(
    discussed: Plan, crew: Crew, tmp_path: Path
) -> None:
    file = tmp_path / "plan.pdf"
    file.write_bytes(get(crew, "owner", f"/plans/{discussed.slug}/export.pdf?notes=all"))
    assert [f"{each.rule_id}: {each.message}" for each in pdfua.validate(str(file)).findings] == []
