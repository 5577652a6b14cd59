"""An old or incomplete price that ranks first has the defensible one beside it, as large; jobs say how often."""

from __future__ import annotations

import html
import re
from datetime import date

import pytest
import time_machine
from django.http import QueryDict
from django.test import Client

from planner import presenters, services
from planner.forms import WorkbenchForm
from planner.sizing.results import Comparison
from tests.factories import AT
from tests.planner.factories import make_offer, make_small_catalog

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _market(db: None) -> None:
    with time_machine.travel(AT, tick=False):
        make_small_catalog()


def compared(query: str) -> Comparison:
    form = WorkbenchForm.from_query(QueryDict(query), at=AT)
    assert form.is_valid(), form.errors
    return services.compare(form.workload(), at=AT)


def aged(found: Comparison) -> Comparison:
    """The same answer with an old price first, another offer than the lowest complete one."""
    first = found.candidates[0]
    offer = first.offer.model_copy(update={"stale": True, "price_age_days": 882, "offer_id": 999_999})
    return found.model_copy(
        update={"candidates": (first.model_copy(update={"offer": offer}), *found.candidates[1:])}
    )


def test_an_old_price_that_comes_first_has_the_lowest_complete_one_beside_it() -> None:
    found = compared("")
    assert found.cheapest is not None
    plain = presenters.answer(found, language="en")
    assert plain.defensible is None, "nothing is doubtful where the first is itself complete and recent"
    shown = presenters.answer(aged(found), language="en").defensible
    assert shown is not None
    assert shown.amount == f"${found.cheapest.total:,.2f}"
    assert found.cheapest.offer.accelerator in shown.what
    without = aged(found).model_copy(update={"cheapest": None})
    assert presenters.answer(without, language="en").defensible is None


def test_the_cost_of_one_job_is_carried_to_the_lowest_complete_price() -> None:
    found = compared("kind=llm_batch")
    assert found.cheapest is not None
    candidate = next(
        each for each in found.candidates if each.offer.offer_id == found.cheapest.offer.offer_id
    )
    assert candidate.batch is not None
    assert found.cheapest.job_cost == candidate.batch.cost
    answer = presenters.answer(aged(found), language="en")
    assert answer.jobs == "30.4 jobs a month"
    assert answer.defensible is not None
    assert answer.defensible.amount == f"${candidate.batch.cost:,.2f}"
    assert answer.defensible.besides == f"${found.cheapest.total:,.2f} a month"
    assert f"${candidate.batch.cost:,.2f} a time, ${found.cheapest.total:,.2f} a month" in answer.cheapest


def test_a_run_of_training_has_its_own_cost_beside_the_month() -> None:
    found = compared("kind=lora")
    assert found.cheapest is not None
    candidate = next(
        each for each in found.candidates if each.offer.offer_id == found.cheapest.offer.offer_id
    )
    assert found.cheapest.unit_costs == candidate.unit_costs
    shown = presenters.answer(aged(found), language="en").defensible
    assert shown is not None
    assert shown.besides == f"${candidate.unit_costs['run']:,.2f} for one run"
    assert presenters.answer(compared(""), language="en").jobs == "", "a service is no job"


def test_the_page_shows_both_amounts_as_figures_and_a_link_that_leaves_old_prices_out(client: Client) -> None:
    with time_machine.travel(AT, tick=False):
        make_offer("H100-SXM5", "0.50", sku="of-2024", observed_on=date(2024, 7, 1))
        page = html.unescape(client.get("/workbench/").content.decode())
        recent = html.unescape(client.get("/workbench/?age=180").content.decode())
    lowest = compared("").cheapest
    assert lowest is not None
    figures = re.findall(r'<p class="figure">(?:<a[^>]*>)?([^<]+)', page.partition('id="strip"')[2])
    assert f"${lowest.total:,.2f}" in [text.strip() for text in figures]
    assert "$373.00" in page, "0.50 × 730 h and 100 GB at 0.08"
    assert re.search(r'<a href="/workbench/\?age=180">Rank only prices of the last 180 days</a>', page)
    assert "of-2024" not in recent.partition('id="h-rejected"')[0]
    assert "Rank only prices" not in recent
