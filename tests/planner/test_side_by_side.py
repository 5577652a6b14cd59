"""Candidates side by side, and variants of a workload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from planner import kinds, services, side_by_side
from planner.candidate_views import CandidateView, candidate_view
from planner.forms import WorkbenchForm
from planner.kinds.frame import Kind
from planner.sizing.results import Candidate
from planner.sizing.workload import ServingWorkload
from planner.tray import TRAY_MAXIMUM, chosen, toggled
from tests.planner.factories import make_offer, make_small_catalog

pytestmark = pytest.mark.django_db
SERVING = kinds.of("llm_serving")


@pytest.fixture(autouse=True)
def catalog(db: None) -> Iterator[None]:
    services.forget()
    make_small_catalog()
    make_offer("H200-SXM", "3.80")
    yield
    services.forget()


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def candidates(now: datetime) -> tuple[Candidate, ...]:
    return services.compare(ServingWorkload(), at=now).candidates


def views(found: tuple[Candidate, ...]) -> list[CandidateView]:
    return [candidate_view(SERVING, candidate, (), language="en") for candidate in found]


def form_of(query: str) -> WorkbenchForm:
    return WorkbenchForm.from_query(QueryDict(query))


@pytest.mark.parametrize(
    ("text", "tray"),
    [
        ("", []),
        ("3,1,3", [3, 1]),
        ("-7", [-7]),
        ("x", []),
        ("1," * 40, [1]),
        ("1,2,3,4,5,6,7,8", [1, 2, 3, 4, 5, 6]),
    ],
)
def test_the_tray_is_a_list_of_offers_each_once(text: str, tray: list[int]) -> None:
    assert chosen(form_of(f"tray={text}")) == tray


def test_an_offer_goes_into_the_tray_and_out_again() -> None:
    assert toggled([], 5) == "5"
    assert toggled([5, 6], 5) == "6"
    full = list(range(1, TRAY_MAXIMUM + 1))
    assert toggled(full, 99) == ",".join(str(number) for number in [*full[1:], 99])


def test_a_bad_tray_is_refused_and_the_screen_says_so() -> None:
    assert "tray" in form_of("tray=1;drop").errors
    assert form_of("tray=4,5").query_string() == "tray=4,5"


def test_rows_that_differ_are_told_from_those_that_do_not(now: datetime) -> None:
    found = candidates(now)[:3]
    rows = {row.column.key: row for row in side_by_side.rows(SERVING, found)}
    assert rows["accelerator"].differs
    assert not rows["hours"].differs
    assert len(rows["monthly"].cells) == 3
    assert "rank" not in rows


def test_a_dearer_candidate_is_explained_by_what_it_does_better(now: datetime) -> None:
    found = sorted(candidates(now), key=lambda c: c.monthly.total)
    cheap, dear = found[0], next(c for c in found if c.offer.accelerator == "H200-SXM")
    (said,) = side_by_side.why_dearer(SERVING, views((cheap, dear)))
    assert said.startswith("H200-SXM")
    assert "more than" in said
    assert re.search(r"TPOT [\d.]+ ms instead of", said)
    assert "GB/s of memory bandwidth" in said


def test_what_costs_more_and_does_nothing_better_is_called_so(now: datetime) -> None:
    cheap = candidates(now)[0]
    dear = cheap.model_copy(
        update={"monthly": cheap.monthly.model_copy(update={"total": cheap.monthly.total * 2})}
    )
    (said,) = side_by_side.why_dearer(SERVING, views((cheap, dear)))
    assert "nothing that is sized here speaks for it" in said
    assert side_by_side.why_dearer(SERVING, views((cheap,))) == []


def test_the_page_shows_the_tray_and_passes_over_what_is_gone(client: Client, now: datetime) -> None:
    first, second = (candidate.offer.offer_id for candidate in candidates(now)[:2])
    page = client.get(f"/workbench/compare/?tray={first},{second},999999").content.decode()
    assert page.count('<th scope="col"><a') == 2
    assert '<tr class="differs">' in page
    empty = client.get("/workbench/compare/")
    assert empty.status_code == 200
    assert "at least two candidates" in empty.content.decode()


def test_a_candidate_is_put_aside_in_the_table(client: Client, now: datetime) -> None:
    first = candidates(now)[0].offer.offer_id
    page = client.get("/workbench/").content.decode()
    assert f"?tray={first}#h-candidates" in page
    put = client.get(f"/workbench/?tray={first}").content.decode()
    assert "1 candidate put aside" in put
    assert "✓ compared" in put
    assert 'name="tray" value=' in put


@pytest.mark.parametrize("kind", [kind for kind in kinds.KINDS if kind.variants], ids=lambda kind: kind.key)
def test_every_variant_of_a_kind_is_an_accepted_question(kind: Kind) -> None:
    form = form_of(f"kind={kind.key}")
    assert form.is_valid()
    texts = {key: text for _name, key, _default, text in form.state}
    for variant in kind.variants:
        changes: dict[str, str | None] = dict(variant.changes(texts))
        assert changes, variant.key
        other = form_of(form.query_string(**changes))  # type: ignore[arg-type]
        assert other.is_valid(), (variant.key, other.errors)
        assert other.workload() != form.workload() or variant.key == "bf16"


def test_a_variant_that_changes_nothing_is_not_offered(client: Client) -> None:
    page = client.get("/workbench/variants/").content.decode()
    assert "weights in FP8" in page
    assert "weights in BF16" not in page, "the checkpoint is stored so"


def test_variants_are_sized_again_here_and_on_the_market(client: Client, now: datetime) -> None:
    page = client.get("/workbench/variants/?variants=fp8,double").content.decode()
    assert page.count('<th scope="col"><a') == 3
    for text in ("as asked", "weights in FP8", "double load", "On the machine that is first then"):
        assert text in page
    assert re.search(r"−\d+ %", page), "narrower weights need less memory"
    assert "users_peak=64" in page


def test_a_question_that_nothing_answers_has_no_variants(client: Client) -> None:
    assert client.get("/workbench/variants/?include=H100-SXM5&in_max=100000000").status_code == 302
    nothing = client.get("/workbench/variants/?price_max=0.01")
    assert (nothing.status_code, nothing.headers["Location"]) == (302, "/workbench/?price_max=0.01")
