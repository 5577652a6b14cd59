"""Every figure opens its derivation: what is printed can be worked out again, and what is assumed can be set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from math import floor, log10

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from planner import kinds, services
from planner.candidate_views import CandidateView, candidate_view
from planner.derivation_view import DerivationView
from planner.forms import WorkbenchForm
from planner.sizing.quantities import Derivation, Term
from planner.sizing.results import Candidate
from planner.sizing.workload import ServingWorkload
from tests.planner.factories import make_offer, make_small_catalog
from tests.sizing.formulas import evaluate

pytestmark = pytest.mark.django_db
NUMBER = re.compile(r"-?[\d,]+(?:\.\d+)?(?:e[+-]?\d+)?")
SIGNS = (("×", "*"), ("÷", "/"), ("^", "**"), ("−", "-"))


@pytest.fixture(autouse=True)
def catalog(db: None) -> Iterator[None]:
    services.forget()
    make_small_catalog()
    make_offer("H200-SXM", "3.80")
    make_offer("H100-SXM5", "20", count=8)
    yield
    services.forget()


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def explained(query: str, now: datetime) -> list[CandidateView]:
    form = WorkbenchForm.from_query(QueryDict(query))
    assert form.is_valid(), form.errors
    views = []
    for candidate in services.compare(form.workload(), at=now, limit=3).candidates:
        found = services.candidate(form.workload(), at=now, offer_id=candidate.offer.offer_id)
        assert isinstance(found, Candidate)
        views.append(candidate_view(form.kind, found, (), language="en"))
    assert views
    return views


def numbers(text: str) -> float:
    return float(text.replace(",", ""))


def shown_result(item: DerivationView) -> tuple[float, float]:
    """The printed figure in the unit of the formula, and what its last printed digit is worth."""
    text = NUMBER.search(item.result)
    assert text, item.result
    value = numbers(text[0])
    decimals = len(text[0].partition(".")[2])
    digits = len(text[0].replace(",", "").replace(".", "").lstrip("-0")) or 1
    step = 10.0**-decimals
    if decimals == 0 and digits > 3 and value and item.result.split()[-1] == "s":
        step = 10.0 ** (floor(log10(abs(value))) - 2)
    factor = 1e-3 if re.search(r"\bms\b", item.result) else 1.0
    return value * factor, step * factor


@pytest.mark.parametrize(
    "query",
    [
        *(f"kind={kind.key}" for kind in kinds.KINDS),
        "model=meta-llama/Llama-3.3-70B-Instruct&include=H100-SXM5&users_peak=64&hit=30",
        "rate=2&weights=fp8&currency=JPY",
    ],
)
def test_the_printed_formula_with_the_printed_numbers_gives_the_printed_figure(
    query: str, now: datetime
) -> None:
    checked = 0
    for view in explained(query, now):
        assert view.derivations
        for item in view.derivations:
            formula = item.formula
            for sign, plain in SIGNS:
                formula = formula.replace(sign, plain)
            terms = tuple(
                Term(symbol=term.symbol, value=numbers(term.value), unit="1") for term in item.terms
            )
            again = evaluate(Derivation(figure=item.key, formula=formula, terms=terms, value=0, unit="1"))
            figure, step = shown_result(item)
            # Printed terms have six digits: their own rounding may move the last of six digits of the figure.
            assert abs(again - figure) <= max(step, 3e-5 * abs(figure)), (item.key, again, item.result)
            checked += 1
    assert checked >= 3


def test_the_figures_of_the_answer_open_their_derivations(client: Client) -> None:
    page = client.get("/workbench/").content.decode()
    links = re.findall(r'class="why-figure" href="([^"]+)#(d-[a-z_]+)"', page)
    assert {anchor for _address, anchor in links} == {
        "d-needed_bytes", "d-tpot_s", "d-ttft_s", "d-monthly_total", "d-per_million_tokens",
    }  # fmt: skip
    detail = client.get(links[0][0].replace("&amp;", "&")).content.decode()
    for _address, anchor in links:
        assert f'id="{anchor}"' in detail


def test_symbols_are_glossed_where_they_stand(client: Client, now: datetime) -> None:
    offer = services.compare(ServingWorkload(), at=now, limit=1).candidates[0].offer.offer_id
    page = client.get(f"/workbench/candidate/{offer}/").content.decode()
    assert '<abbr title="Bandwidth reached reading weights"><code>weight_read_fraction</code></abbr>' in page
    assert "How far it is used at peak" in page


def test_an_assumption_that_is_set_moves_the_figure_and_is_marked(client: Client, now: datetime) -> None:
    workload = ServingWorkload()
    before = services.compare(workload, at=now, limit=1).candidates[0]
    set_ = ServingWorkload(assumed={"weight_read_fraction": 0.3})
    after = services.candidate(set_, at=now, offer_id=before.offer.offer_id)
    assert isinstance(after, Candidate)
    assert before.speed is not None and after.speed is not None  # noqa: PT018
    assert before.speed.typical.tpot_s is not None and after.speed.typical.tpot_s is not None  # noqa: PT018
    assert after.speed.typical.tpot_s.value > before.speed.typical.tpot_s.value * 1.1
    told = services.compare(set_, at=now, limit=1).assumptions
    marked = [item.name for item in told if item.user_set]
    assert marked == ["weight_read_fraction"]
    page = client.get("/workbench/?assume=weight_read_fraction:0.3").content.decode()
    assert "set by hand in this link" in page
    assert "set by you" in page


def test_setting_one_assumption_after_another_keeps_both() -> None:
    form = WorkbenchForm.from_query(QueryDict("assume=weight_read_fraction:0.5&assume-kv_read_fraction=0.6"))
    assert form.is_valid(), form.errors
    assert form.query_string() == "assume=weight_read_fraction%3A0.5,kv_read_fraction%3A0.6"
    assert form.cleaned_data["assume"] == {"weight_read_fraction": 0.5, "kv_read_fraction": 0.6}
    emptied = WorkbenchForm.from_query(QueryDict(f"{form.query_string()}&assume-kv_read_fraction="))
    assert emptied.query_string() == "assume=weight_read_fraction%3A0.5"


@pytest.mark.parametrize(
    "assumed",
    ["nonsense:1", "weight_read_fraction:x", "weight_read_fraction:0", "weight_read_fraction:-1", "x"],
)
def test_an_assumption_that_cannot_be_is_refused(client: Client, assumed: str) -> None:
    form = WorkbenchForm.from_query(QueryDict(f"assume={assumed}"))
    assert "assume" in form.errors
    assert client.get(f"/workbench/?assume={assumed}").status_code == 200
