"""A plan keeps what services by the token ask for its month, and every file of it tells the break-even."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import openpyxl
import pytest
from pypdf import PdfReader

from planner.sizing.results import Comparison
from planner.sizing.token_prices import ServicesMonth
from reports import asked, currencies, presenters, public, services, sheets
from reports.models import PlanVersion
from reports.rfq_views import NOT_TOLD
from tests.factories import AT
from tests.reports.conftest import Crew

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalog", "clock")]

QUERY = "model=meta-llama/Llama-3.1-8B-Instruct&m_in=2000&m_out=500&managed_in=0.1&managed_out=0.4"


def saved(crew: Crew, query: str = QUERY) -> PlanVersion:
    question = asked.read_text(query, at=AT)
    return services.save_plan(
        team=crew.team, user=crew.owner, words=services.Words("By the token"), workloads=[question],
        priced_at=AT, at=AT,
    )  # fmt: skip


def kept(version: PlanVersion) -> tuple[Comparison, ServicesMonth]:
    comparison = Comparison.model_validate_json(version.answers[0].comparison_text)
    assert comparison.services is not None
    return comparison, comparison.services


def test_the_typed_price_stays_with_the_plan_and_its_break_even_is_worked_out(crew: Crew) -> None:
    version = saved(crew)
    inputs = version.answers[0].inputs
    assert (inputs["managed_input_per_million"], inputs["managed_output_per_million"]) == (0.1, 0.4)
    comparison, found = kept(version)
    assert (found.input_millions, found.output_millions) == (2000, 500)
    typed = next(row for row in found.rows if not row.price.service)
    assert typed.month == Decimal("400.00"), "2,000 × 0.1 + 500 × 0.4"
    total = comparison.candidates[0].monthly.total
    assert typed.break_even_millions == (total / Decimal("0.16")).quantize(Decimal("0.01")), (
        "400 ÷ 2,500 each"
    )
    months = [row.month for row in found.rows]
    assert months == sorted(months)
    assert any(row.price.service for row in found.rows), "shipped prices of this very model stand beside it"
    again = services.reprice(version.plan, user=crew.owner, base_number=1, at=AT + timedelta(minutes=1))
    assert again.answers[0].inputs == inputs
    question = {fact.label: fact.text for fact in presenters.question(inputs)}
    assert (question["1M tokens in"], question["1M tokens out"]) == ("0.1 per 1M", "0.4 per 1M")


def test_page_and_files_tell_the_month_the_break_even_and_its_formula(crew: Crew) -> None:
    version = saved(crew)
    _comparison, found = kept(version)
    typed = next(row for row in found.rows if not row.price.service)
    even = f"{typed.break_even_millions:,.2f}"
    viewer, path = crew.client("viewer"), f"/plans/{version.plan.slug}/"
    page = " ".join(viewer.get(path).content.decode().split())
    pdf = PdfReader(io.BytesIO(viewer.get(f"{path}export.pdf").content))
    paper = " ".join(" ".join(each.extract_text() for each in pdf.pages).split())
    for text in (page, paper):
        for told in ("The same month by the token", "the price typed with the question", "$400.00", even,
                     "For 2,000 million tokens in and 500 million out a month. Break-even ="):  # fmt: skip
            assert told in text, told
    book = openpyxl.load_workbook(io.BytesIO(viewer.get(f"{path}export.xlsx").content))
    rows = list(book["By the token"].iter_rows(min_row=2, values_only=True))
    assert len(rows) == len(found.rows)
    own = next(row for row in rows if row[1] == "the price typed with the question")
    assert (own[2], own[3], own[4], own[10]) == (0.1, 0.4, 400, float(typed.break_even_millions))
    (first, second, *_rest) = csv.DictReader(
        io.StringIO(viewer.get(f"{path}export.csv").content.decode("utf-8-sig"))
    )
    least = found.rows[0]
    assert first["service"] == (least.price.service or "typed")
    assert Decimal(first["service_monthly"]) == least.month
    each = least.month / Decimal(2500)
    for row in (first, second):
        expected = Decimal(row["monthly"]) / each
        assert Decimal(row["break_even_millions"]) == pytest.approx(expected, rel=Decimal("0.001"))
    document = json.loads(viewer.get(f"{path}export.json").content)
    stored = document["content"]["workloads"][0]["comparison"]["services"]
    assert [row["month"] for row in stored["rows"]] == [str(row.month) for row in found.rows]


def test_an_incomplete_total_gives_a_break_even_that_is_at_least_so_much(crew: Crew) -> None:
    version = saved(crew)
    (item,) = sheets.of_version(version).workloads
    found = item.comparison.services
    assert found is not None
    half = item.comparison.model_copy(update={"services": found.model_copy(update={"complete": False})})
    block = presenters.workload(replace(item, comparison=half)).services
    assert block is not None
    assert all(str(getattr(cells[3], "text", "")).startswith("≥ ") for _label, cells in block.rows)
    assert f"Break-even = ≥ ${found.total:,.2f}" in str(block.note)


def test_in_another_currency_amounts_change_and_the_volume_stays(crew: Crew) -> None:
    comparison, found = kept(saved(crew))
    rates = currencies.Rates(on=AT.date(), per_usd={"USD": Decimal(1), "JPY": Decimal(150)})
    other = currencies._converted(comparison, "JPY", Decimal(150), rates)
    assert other.services is not None
    assert other.services.currency == "JPY"
    assert [row.month for row in other.services.rows] == [(row.month * 150).quantize(1) for row in found.rows]
    assert [row.break_even_millions for row in other.services.rows] == [
        row.break_even_millions for row in found.rows
    ]
    assert other.workload["managed_input_per_million"] == 15


def test_a_question_in_yen_has_the_services_prices_in_yen(crew: Crew) -> None:
    dollars, yen = kept(saved(crew))[1], kept(saved(crew, f"{QUERY}&currency=JPY"))[1]
    one = next(row for row in dollars.rows if row.price.service)
    other = next(row for row in yen.rows if row.price.service == one.price.service)
    assert yen.currency == other.price.currency == "JPY"
    assert float(other.month) == pytest.approx(float(one.month) * 157.25, abs=1)
    assert other.break_even_millions == pytest.approx(one.break_even_millions, rel=Decimal("0.001"))


def test_no_link_tells_a_break_even_of_a_private_total_and_no_provider_is_told_a_price(crew: Crew) -> None:
    comparison, _found = kept(saved(crew))
    first = comparison.candidates[0]
    private = first.model_copy(update={"offer": first.offer.model_copy(update={"offer_id": -7})})
    hidden = comparison.model_copy(update={"candidates": (private, *comparison.candidates[1:])})
    assert public.without_private(hidden).services is None
    assert public.without_private(comparison).services == comparison.services
    assert {"managed_input_per_million", "managed_output_per_million"} <= NOT_TOLD


def test_what_has_no_tokens_or_no_price_has_no_table(crew: Crew) -> None:
    for query in ("kind=lora", "model=mistralai/Mistral-7B-v0.1&m_in=1&m_out=1"):
        row = saved(crew, query).answers[0]
        assert Comparison.model_validate_json(row.comparison_text).services is None
