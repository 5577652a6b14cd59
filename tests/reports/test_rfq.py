"""A request for quotation: what a provider must know and nothing that others quoted; answers come back as offers."""

from __future__ import annotations

import csv
import io
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from catalog import private_offers, quote_tables
from catalog.models import PrivateOffer, QuoteTable
from catalog.quote_forms import QuoteForm
from reports import rfq, services
from reports.models import Plan, PlanVersion
from tests.catalog.test_quote_tables import GOOD
from tests.factories import AT
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan, small_comparison

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


@pytest.fixture
def version(catalog: None, crew: Crew) -> PlanVersion:
    form = QuoteForm(GOOD | {"provider_name": "OFFER-CANARY", "accelerator_as_written": "H100-SXM5", "gpu_count": "1",
                             "amount": "0.10", "currency": "USD", "unit": "hour"})  # fmt: skip
    assert form.is_valid()
    private_offers.add(crew.team, form.values(), user=crew.owner, at=AT)
    return save_plan(crew.team, crew.owner, budget_per_month=123456)


def ask(version: PlanVersion, crew: Crew, part: str = "", who: str = "viewer", **more: Any) -> Any:
    machines = [f"1*{each.key}" for each in rfq.machines(small_comparison())][:2]
    given = {"contact": "Ono, ono@a.example", "answer_by": "2026-12-14", "start_on": "2027-01-04", "term_months": "12",
             "regions": "=日本", "machine": machines} | more  # fmt: skip
    path = f"/plans/{version.plan.slug}/v/1/request/{part}?{urlencode(given, doseq=True)}"
    return crew.client(who).get(path)


def test_a_request_tells_the_question_and_the_machines_and_no_offer(version: PlanVersion, crew: Crew) -> None:
    answer = ask(version, crew)
    page = answer.content.decode()
    assert answer.status_code == 200
    for text in (
        "2026-12-14",
        "ono@a.example",
        "H100-SXM5",
        "Llama-3.1-8B",
        f"{version.plan.slug}-v1",
        "vLLM",
    ):
        assert text in page
    comparison = small_comparison()
    article = page.partition("<article")[2].partition("</article>")[0]
    assert article
    for text in (
        "OFFER-CANARY",
        "123456",
        "123,456",
        *(each.offer.provider_name for each in comparison.candidates),
    ):
        assert text not in article, text
    for candidate in comparison.candidates:
        assert f"{candidate.monthly.total:,.2f}" not in page
        assert candidate.offer.sku not in article or candidate.offer.sku in candidate.offer.accelerator


def test_the_answer_sheet_comes_back_as_private_offers(version: PlanVersion, crew: Crew) -> None:
    sent = ask(version, crew, "answers.csv")
    assert sent.headers["Content-Disposition"].startswith("attachment;")
    rows = list(csv.reader(io.StringIO(sent.content.decode("utf-8-sig"), newline="")))
    assert rows[0] == list(rfq.ANSWER_HEADS)
    assert len(rows) == 3
    assert all(quote_tables.guesses(rows[0]))  # each head is known, so nothing must be mapped by hand
    assert rows[1][rows[0].index("region")] == "'=日本"
    for row in rows[1:]:
        filled = {"provider": "Sakura", "machine": "VRT", "price": "3.20", "currency": "USD", "unit": "hour",
                  "date": "2026-12-01", "survives restart": "yes", "region": "石狩"}  # fmt: skip
        for head, value in filled.items():
            row[rows[0].index(head)] = value
    text = "\n".join(",".join(row) for row in rows) + "\n"
    owner = crew.client("owner")
    owner.post(f"/accounts/teams/{crew.team.pk}/choose/")
    owner.post("/catalog/quotes/upload/", {"file": SimpleUploadedFile("a.csv", text.encode())})
    table = QuoteTable.objects.get()
    columns = {f"column_{number}": name for number, name in enumerate(quote_tables.guesses(table.rows[0]))}
    assert owner.post(f"/catalog/quotes/upload/{table.pk}/", columns).status_code == 302
    back = PrivateOffer.objects.filter(provider_name="Sakura")
    assert back.count() == 2
    assert all(each.accelerator_id and each.survives_restart == "yes" for each in back)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("contact", ""), ("answer_by", ""), ("answer_by", "soon"), ("start_on", "2026-12-01"), ("term_months", "0"),
        ("term_months", "x"), ("machine", []), ("machine", ["nonsense"]), ("note", "x" * 2001),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said_and_no_request_made(
    version: PlanVersion, crew: Crew, field: str, value: object
) -> None:
    changed: dict[str, Any] = {field: value}
    answer = ask(version, crew, **changed)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert 'class="errorlist' in page
    assert "<article" not in page


def test_machines_are_named_once_in_order_and_only_those_that_meet_the_targets(catalog: None) -> None:
    comparison = small_comparison()
    wanted = rfq.machines(comparison)
    assert len({each.key for each in wanted}) == len(wanted) <= rfq.MACHINES_OFFERED
    met = [each for each in comparison.candidates if each.class_ == 1]
    assert wanted[0].accelerator == (met or comparison.candidates)[0].offer.accelerator
    assert rfq.machines(comparison.model_copy(update={"candidates": ()})) == ()


def test_a_plan_without_candidates_can_still_be_opened_here(catalog: None, crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner, filters={"providers": ("nobody",)})
    path = f"/plans/{version.plan.slug}/v/1/request/"
    assert crew.client("viewer").get(path).status_code == 200
    assert crew.client("viewer").get(f"{path}answers.csv").status_code == 200
    assert services.newest(Plan.objects.get()).answers.count() == 1
