"""Notes beside prices: ours are translated, a source's own words are marked as English and escaped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.utils import translation

from catalog.note_words import NOTES
from catalog.templatetags.price_notes import noted

SEEDS = Path(__file__).parents[2] / "catalog" / "seeds"


def test_a_note_of_ours_is_no_quotation() -> None:
    assert noted("GPU count by series name") == "GPU count by series name"
    assert noted("first step, worldwide") == "first step, worldwide"
    assert noted("GPU count by series name; fractional") == "GPU count by series name; a share of a GPU"


def test_what_a_source_wrote_is_marked_and_escaped() -> None:
    assert noted("Price <b>fluctuates</b>") == '<span lang="en">Price &lt;b&gt;fluctuates&lt;/b&gt;</span>'
    assert noted("") == ""


def test_another_name_is_told_in_a_sentence_of_ours() -> None:
    text = noted("vCPU extra; listed as h100-on-demand (a list)")
    assert (
        text == '<span lang="en">vCPU extra</span>; listed as <span lang="en">h100-on-demand (a list)</span>'
    )
    with translation.override("ja"):
        assert '<span lang="en">h100-on-demand (a list)</span>' in noted("listed as h100-on-demand (a list)")


@pytest.mark.parametrize(("name", "ours"), [("storage", 6), ("egress", 5), ("storage_speeds", 11)])
def test_the_shipped_notes_of_ours_have_words(name: str, ours: int) -> None:
    notes = [row["note"] for row in json.loads((SEEDS / f"{name}.json").read_text())[name] if row.get("note")]
    known = [note for note in notes if note in NOTES]
    assert len(known) >= ours - 1
    assert all(any(letter.isdigit() for letter in note) for note in set(notes) - set(known))
