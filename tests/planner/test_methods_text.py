"""The methods' documents as pages: what they use is set, nothing of them is taken for markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client

from planner.methods_text import html


def written(document: str) -> str:
    return html(document, lambda target: "/there/" if target == "methods.md" else None)


def test_headings_paragraphs_and_lists_are_set() -> None:
    page = written("# One\n\nfirst\nline\n\n- a\n  goes on\n- b\n\n## Two\n\n1. x\n2. y\n")
    assert page == (
        "<h2>One</h2><p>first line</p><ul><li>a goes on</li><li>b</li></ul><h3>Two</h3><ol><li>x</li><li>y</li></ol>"
    )


def test_formulas_keep_their_lines() -> None:
    for document in ("a:\n\n    x = 1\n      + 2\n\nb", "a:\n\n```\nx = 1\n  + 2\n```\nb"):
        assert "x = 1\n  + 2</pre>" in written(document)


def test_tables_align_columns_of_numbers() -> None:
    page = written("| a | n |\n|---|---|\n| x | 1.5 % |\n| y | 20 % |\n")
    assert page.count('<td class="num">') == 2
    assert "<td>x</td>" in page
    assert page.count("<tr>") == 3


def test_inline_code_bold_and_links_are_set_and_unknown_links_are_text() -> None:
    page = written("`a<b` **c** [d](methods.md) [e](javascript:alert)")
    assert page == '<p><code>a&lt;b</code> <b>c</b> <a href="/there/">d</a> e</p>'


@pytest.mark.parametrize(
    "text", ["<script>x</script>", "- <b>x</b>", "| <i> |\n|---|\n| <u> |", "    <pre>", "# <h>"]
)
def test_no_text_becomes_markup(text: str) -> None:
    assert not re.search(r"<(script|b|i|u|h)>", written(text))


@pytest.mark.parametrize("name", ["methods.md", "methods-memory.md", "methods-training.md"])
def test_a_shipped_document_loses_no_word(name: str) -> None:
    document = (Path(__file__).parents[2] / "docs" / name).read_text(encoding="utf-8")
    page = re.sub(r"<[^>]+>", " ", written(document))
    told = set(re.findall(r"[A-Za-z]{4,}", page))
    assert set(re.findall(r"[A-Za-z]{4,}", re.sub(r"\]\([^)]*\)", "]", document))) - told == set()


@pytest.mark.django_db
def test_the_page_shows_tables_and_no_raw_markup(client: Client) -> None:
    page = client.get("/methods/memory/").content.decode()
    assert '<table class="ruled">' in page
    assert "|---|" not in page
    assert client.get("/methods/speed/").content.decode().count('href="/methods/memory/"') == 2
