"""A reader switches the currency: the same figures times one rate on page and files, and the plan stays as it is."""

from __future__ import annotations

import csv
import io
from decimal import ROUND_HALF_UP, Decimal

import openpyxl
import pytest
from django.test import Client

from planner.sizing.bill import rounded, share
from reports import currencies, services, sheets
from reports.models import Plan
from tests.factories import AT
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan
from tests.reports.test_exports import candidates, page_figures, paper_text, table

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]
YEN = Decimal("157.25")


def whole(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal(1), ROUND_HALF_UP)


def test_every_line_is_converted_and_rounded_and_the_total_is_their_sum(plan: Plan) -> None:
    sheet = sheets.of_version(services.newest(plan))
    shown = currencies.shown_in(sheet, "JPY", currencies.rates(AT.date()))
    pairs = zip(
        sheet.workloads[0].comparison.candidates, shown.workloads[0].comparison.candidates, strict=True
    )
    for before, after in pairs:
        assert after.monthly.currency == "JPY"
        for old, new in zip(before.monthly.lines, after.monthly.lines, strict=True):
            assert new.amount == (None if old.amount is None else whole(old.amount * YEN))
            assert new.unit_price == old.unit_price
        known = [line.amount for line in after.monthly.lines if line.amount is not None]
        assert after.monthly.total == sum(known, Decimal(0))
        assert (after.rank, after.class_, after.monthly.complete) == (
            before.rank,
            before.class_,
            before.monthly.complete,
        )
    assert shown.fingerprint == sheet.fingerprint
    assert shown.content_text == sheet.content_text


def test_its_own_currency_and_a_missing_rate_change_nothing(plan: Plan) -> None:
    sheet = sheets.of_version(services.newest(plan))
    assert currencies.shown_in(sheet, "USD", currencies.rates(AT.date())) is sheet
    assert currencies.shown_in(sheet, "JPY", None) is sheet
    only_euro = currencies.Rates(AT.date(), {"USD": Decimal(1), "EUR": Decimal("0.9")})
    assert currencies.shown_in(sheet, "JPY", only_euro) is sheet


def test_the_reader_of_a_link_switches_currency_and_downloads_the_same_figures(
    plan: Plan, crew: Crew
) -> None:
    _link, secret = services.share(services.newest(plan), user=crew.owner, at=AT)
    reader = Client()
    own = reader.get(f"/s/{secret}/").content.decode()
    assert 'href="?currency=JPY"' in own
    page = reader.get(f"/s/{secret}/?currency=JPY").content.decode()
    assert "1 USD = 157.25 JPY" in page
    assert "2026-10-30" in page
    assert f'/s/{secret}/export.csv?currency=JPY"' in page
    rows = candidates(table(reader.get(f"/s/{secret}/export.csv?currency=JPY").content))
    shown = page_figures(page)
    assert [row["monthly"].replace("≥ ", "").replace(",", "") for row in shown] == [
        row["monthly"] for row in rows
    ]
    assert {row["currency"] for row in rows} == {"JPY"}
    book = openpyxl.load_workbook(io.BytesIO(reader.get(f"/s/{secret}/export.xlsx?currency=JPY").content))
    heads = [cell.value for cell in next(book.worksheets[0].iter_rows())]
    column = next(number for number, head in enumerate(heads) if str(head).startswith("Monthly total"))
    first = next(iter(book.worksheets[0].iter_rows(min_row=2, values_only=True)))
    assert first[column] == float(rows[0]["monthly"])
    paper = paper_text(reader.get(f"/s/{secret}/export.pdf?currency=JPY").content)
    assert f"¥{Decimal(rows[0]['monthly']):,}" in paper
    same = [reader.get(f"/s/{secret}/export.json{query}").content for query in ("", "?currency=JPY")]
    assert same[0] == same[1]


@pytest.mark.parametrize("asked", ["XXX", "jpy", "=1+1", "<script>", "JPY&currency=EUR"[:3] + "x"])
def test_an_unknown_currency_shows_the_plans_own(plan: Plan, crew: Crew, asked: str) -> None:
    viewer = crew.client("viewer")
    path = f"/plans/{plan.slug}/"
    shown = viewer.get(path, {"currency": asked})
    assert shown.status_code == 200
    assert page_figures(shown.content.decode()) == page_figures(viewer.get(path).content.decode())
    files = [viewer.get(f"{path}export.csv", query).content for query in ({}, {"currency": asked})]
    assert files[0] == files[1]


def test_a_plan_in_yen_is_shown_in_dollars(catalog: None, crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner, currency="JPY")
    text = (
        crew.client("viewer")
        .get(f"/plans/{version.plan.slug}/export.csv?currency=USD")
        .content.decode("utf-8-sig")
    )
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["rank"]]
    own = candidates(table(crew.client("viewer").get(f"/plans/{version.plan.slug}/export.csv").content))
    assert {row["currency"] for row in rows} == {"USD"}
    for row, before in zip(rows, own, strict=True):
        lines = [
            before[name] for name in before if name in ("monthly_gpu", "monthly_storage", "monthly_egress")
        ]
        expected = sum(
            (Decimal(line) / YEN).quantize(Decimal("0.01"), ROUND_HALF_UP) for line in lines if line
        )
        assert Decimal(row["monthly"]) == expected


def test_nothing_becomes_nothing_in_another_currency() -> None:
    assert share(Decimal("0.00033") * Decimal("157.25"), "JPY") == Decimal("0.052")
    assert rounded(Decimal("0.0001"), "EUR") == Decimal("0.01")
    assert currencies._small(Decimal("0.0001"), Decimal("0.4")) == Decimal("0.000040")
    assert currencies._small(Decimal(0), Decimal("0.4")) == 0
