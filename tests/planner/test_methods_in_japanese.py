"""The methods in Japanese: a summary before each document, whose formulas are those of the document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from planner.methods_page import DOCUMENTS

DOCS = Path(settings.BASE_DIR) / "docs"
NAMES = [name for name, _title in DOCUMENTS.values()]
JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def formulas(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("    ") and line.strip()]


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_tells_no_formula_that_the_document_does_not(name: str) -> None:
    told = formulas((DOCS / "ja" / name).read_text(encoding="utf-8"))
    assert len(told) >= 5
    assert set(told) - set(formulas((DOCS / name).read_text(encoding="utf-8"))) == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_is_japanese_without_english_paragraphs(name: str) -> None:
    lines = (DOCS / "ja" / name).read_text(encoding="utf-8").splitlines()
    prose = [line for line in lines if line.strip() and not line.startswith("    ")]
    assert [line for line in prose if not JAPANESE.search(line)] == []


@pytest.mark.parametrize("subject", DOCUMENTS)
def test_a_japanese_reader_gets_the_summary_first_and_is_told_that_the_rest_is_english(
    client: Client, subject: str
) -> None:
    page = client.get(f"/methods/{subject}/", headers={"Accept-Language": "ja"}).content.decode()
    assert page.index("(要約)") < page.index('<div class="written" lang="en" id="whole">')
    assert 'href="#whole"' in page
    assert '<div class="written" lang="en" id="whole"><h2>How ' in page


@pytest.mark.parametrize("subject", DOCUMENTS)
def test_an_english_reader_gets_the_document_alone(client: Client, subject: str) -> None:
    page = client.get(f"/methods/{subject}/", headers={"Accept-Language": "en"}).content.decode()
    assert page.count('class="written"') == 1
    assert not JAPANESE.search(page.replace("日本語", ""))
