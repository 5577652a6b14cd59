"""Figures that rest on constants fitted on published measurements are marked so, for every kind of work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from planner import services
from planner.fitted import FITTED, is_fitted
from planner.forms import WorkbenchForm
from planner.sizing.llm_derivations import BORNE, TYPICAL
from planner.sizing.quantities import Derivation
from planner.sizing.results import Candidate
from planner.sizing.speed_terms import BY_LOAD
from tests.planner.factories import make_offer, make_small_catalog

pytestmark = pytest.mark.django_db

SOLVED = (BY_LOAD, BORNE)
"""Found by a solver from the fitted speeds, so that no formula leads on to their constants."""
QUERIES = (
    "m_in=2000", "kind=llm_batch", "kind=llm_batch&tiers=on_demand,spot", "kind=lora", "kind=qlora",
    "kind=full_finetune", "kind=pretraining&params=1&tokens=1",
)  # fmt: skip


@pytest.fixture(autouse=True)
def catalog(db: None) -> Iterator[None]:
    services.forget()
    make_small_catalog()
    make_offer("H100-SXM5", "20", count=8, ram_gib=2000, at=timezone.now())
    yield
    services.forget()


def made(query: str) -> dict[str, Derivation]:
    form = WorkbenchForm.from_query(QueryDict(query))
    assert form.is_valid(), form.errors
    workload, at = form.workload(), timezone.now()
    first = services.compare(workload, at=at, limit=1).candidates[0]
    found = services.candidate(workload, at=at, offer_id=first.offer.offer_id)
    assert isinstance(found, Candidate)
    return found.derivations


def resting(found: dict[str, Derivation]) -> set[str]:
    """Figures in whose formula, or in one that it leads to, a fitted constant stands."""

    def leads_to(key: str, symbol: str) -> str:
        before = TYPICAL if key.startswith(TYPICAL) else ""
        return next((name for name in (f"{before}{symbol}", symbol) if name in found and name != key), "")

    rest = {
        key
        for key, each in found.items()
        if any((term.source or "").startswith("fitted on ") or term.source in SOLVED for term in each.terms)
    }
    while True:
        more = {
            key
            for key, each in found.items()
            if any(leads_to(key, term.symbol) in rest for term in each.terms)
        } - rest
        if not more:
            return rest
        rest |= more


@pytest.mark.parametrize("query", QUERIES)
def test_the_marks_are_those_that_the_derivations_bear_out(query: str) -> None:
    found = made(query)
    rest = resting(found)
    missing = sorted(key for key in rest if not is_fitted(key))
    assert missing == []
    only_sometimes = {"replicas", "host_cores"}
    wrong = sorted(
        key
        for key in found
        if is_fitted(key) and key not in rest and key.removeprefix(TYPICAL) not in only_sometimes
    )
    assert wrong == []


def test_speeds_are_dotted_and_bills_are_not(client: Client) -> None:
    for query, speed in (("", "tpot_s"), ("kind=llm_batch", "tpot_s"), ("kind=qlora", "run_hours")):
        context = client.get(f"/workbench/?{query}")
        best = context.context["view"].best
        page = client.get(
            f"{reverse('planner:candidate', args=[best.it.offer.offer_id])}?{query}"
        ).content.decode()
        strip = context.content.decode()
        measure = best.kind.measures[0].derivation
        assert f'class="why-figure fitted" href="#d-{speed}"' in page
        assert f'#d-{measure}" title="How this figure comes about: it rests on constants fitted' in strip
        assert 'class="why-figure" href="#d-monthly_total"' in page
        assert "Dotted</span>: rests on constants fitted on published measurements." in page
    assert "monthly_total" not in FITTED
