"""What people type on plans: kept as it is, or refused at its field."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from reports import services
from reports.forms import AddForm, EditForm, MomentField, RepriceForm, WordsForm, WorkloadsForm
from reports.models import Plan

KEPT = (
    "𠮷髙﨑①㈱", "a\u202egnp", "a\u200bb", "👩\u200d👩\u200d👧", "e\u0301" * 100, "=1+1", "<script>", "' OR 1=1 --",
    "%_\\", "x" * 200,
)  # fmt: skip
REFUSED = (
    "a\x00b",
    "a\x1bb",
    "a\x7fb",
    "a\x85b",
    "a\ud800b",
    "a\ufffdb",
    "a\uffffb",
    "a\tb",
    "a\nb",
    "a\u2028b",
)


@pytest.mark.parametrize("title", KEPT)
def test_a_title_is_kept_as_it_was_typed(title: str) -> None:
    form = WordsForm({"title": title})
    assert form.is_valid(), form.errors
    assert form.words().title == title


@pytest.mark.parametrize("title", [*REFUSED, "", " " * 1000, "x" * 201])
def test_a_title_that_no_database_or_paper_can_hold_is_refused(title: str) -> None:
    form = WordsForm({"title": title})
    assert not form.is_valid()
    assert list(form.errors) == ["title"]


def test_a_note_has_lines_and_nothing_unprintable() -> None:
    form = WordsForm({"title": "t", "note": "one\r\n\ttwo"})
    assert form.is_valid()
    assert form.words().note == "one\n\ttwo"
    for bad in ("a\x00b", "a\ud800b", "n" * 4001):
        assert "note" in WordsForm({"title": "t", "note": bad}).errors


def test_an_error_is_tied_to_its_field() -> None:
    shown = str(WordsForm({"title": ""})["title"])
    assert 'aria-invalid="true"' in shown
    assert 'aria-describedby="id_title_error"' in shown


@pytest.mark.parametrize(
    "number",
    ["", "0", "-1", "1.5", "x", "²", "99999999999999999999", "9" * 5000, "NaN", "1e3", "0x1", "None"],
)
def test_a_version_number_that_is_none_is_refused(plan: Plan, number: str) -> None:
    newest = services.newest(plan)
    for form in (
        EditForm({"title": "t", "base_number": number}),
        AddForm({"title": "t", "base_number": number}, version=newest),
        WorkloadsForm({"base_number": number, "place_1": "1"}, version=newest),
        RepriceForm({"base_number": number}),
    ):
        assert "base_number" in form.errors


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-30T09:00:00+00:00", datetime(2026, 11, 30, 9, tzinfo=UTC)),
        ("2026-11-30T18:00:00+09:00", datetime(2026, 11, 30, 9, tzinfo=UTC)),
        ("2026-11-30T09:00:00", datetime(2026, 11, 30, 9, tzinfo=UTC)),
        ("", None),
    ],
)
def test_a_moment_is_read_in_utc(text: str, moment: datetime | None) -> None:
    assert MomentField(required=False).clean(text) == moment
