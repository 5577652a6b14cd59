"""Commitments that are paid upfront in part or whole: term, fee and hourly part are kept, and none reads as free."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.test import Client

from accounts.models import User
from catalog import services
from catalog.commitments import price_per_hour, term_months
from catalog.models import KeptBack, Offer, Price, Provider, Refresh
from catalog.price_files import ImportReport, import_prices
from catalog.sources import azure
from catalog.sources.quotes import Page, Quote
from tests.catalog.source_bodies import BASE, AnySource
from tests.catalog.stand_in import ND_H100, body, item
from tests.catalog.test_sources import QUICK
from tests.factories import AT

pytestmark = pytest.mark.django_db

Ask = Callable[..., Refresh]


@pytest.fixture
def ask(settings: Any) -> Ask:
    Provider.objects.create(slug="aws", name="AWS")
    settings.SOURCE_BASE_URLS = {"aws": BASE}

    def refresh(change: Callable[[bytes], bytes] | None = None, day: int = 0) -> Refresh:
        stand_in = AnySource("aws")
        if change is not None:
            stand_in.bodies = {path: change(made) for path, made in stand_in.bodies.items()}
        return services.refresh("aws", AT + timedelta(days=day), client=stand_in.client(), limits=QUICK)

    return refresh


def price_of(detail: str) -> Price:
    offer = Offer.objects.select_related("current_price").get(tier="reserved", tier_detail=detail)
    assert offer.current_price is not None
    return offer.current_price


def parts(price: Price) -> list[float | None]:
    """What an hour comes to, the fee, the hourly part, and the months of the term."""
    found = (price.amount, price.upfront, price.recurring, price.term_months)
    return [None if part is None else float(part) for part in found]


@pytest.mark.parametrize(
    ("code", "months"),
    [
        ("savings_1y", 12), ("savings_3y", 36), ("reserved_1y_partial_upfront", 12), ("reserved_3y", 36),
        ("reserved_3y_partial_upfront_convertible", 36), ("commit_6m", 6), ("from", None),
        ("", None), ("secure", None), ("us-east-1a", None), ("m", None),
    ],
)  # fmt: skip
def test_a_term_is_read_from_its_code(code: str, months: int | None) -> None:
    assert term_months(code) == months


def test_the_hours_of_a_term_carry_what_is_paid_at_once() -> None:
    assert price_per_hour(Decimal(8760), Decimal(0), 12) == 1
    assert price_per_hour(Decimal(26280), Decimal("0.5"), 36) == Decimal("1.5")


def test_fee_hourly_part_and_term_of_a_reservation_are_kept(ask: Ask) -> None:
    ask()
    partly = price_of("reserved_1y_partial_upfront")
    assert parts(partly) == [45, 131_400, 30, 12]
    whole = price_of("reserved_3y_all_upfront")
    assert parts(whole) == [30, 788_400, 0, 36]
    nothing = price_of("reserved_1y_no_upfront")
    assert parts(nothing) == [50, 0, 50, 12]
    assert Offer.objects.get(tier_detail="reserved_3y_all_upfront").usd_per_hour == 30, (
        "never read as 0 an hour"
    )
    assert Offer.objects.get(tier_detail="reserved_3y_all_upfront").accelerator_id == "H100-SXM5"


def test_a_convertible_reservation_is_another_offer_with_parts_of_its_own(ask: Ask, client: Client) -> None:
    """Fee and hour of the two classes never make one price, and the page says which can be exchanged."""
    ask()
    convertible = price_of("reserved_3y_partial_upfront_convertible")
    assert parts(convertible) == [48, 946_080, 12, 36]
    assert parts(price_of("reserved_1y_no_upfront_convertible")) == [52, 0, 52, 12]
    assert parts(price_of("reserved_1y_no_upfront")) == [50, 0, 50, 12]
    assert not Offer.objects.filter(tier_detail__contains="flexible").exists(), "a class that nobody knows"
    page = client.get(f"/catalog/offers/{convertible.offer_id}/").content.decode()
    assert "3 years, partly upfront, convertible (exchangeable)" in page
    assert "1 year, nothing upfront</a>" in page
    assert "1 year, nothing upfront, convertible (exchangeable)</a>" in page


def test_a_fee_that_moved_is_a_new_price_even_where_the_hour_costs_the_same(ask: Ask) -> None:
    ask()
    count = Price.objects.count()

    def other_mix(made: bytes) -> bytes:
        return made.replace(b"131400.0000000000", b"87600.0000000000").replace(
            b'"30.0000000000"', b'"35.0000000000"'
        )

    run = ask(other_mix, day=1)
    assert (run.status, run.changed_count) == ("succeeded", 1)
    assert Price.objects.count() == count + 1
    moved = price_of("reserved_1y_partial_upfront")
    assert parts(moved) == [45, 87_600, 35, 12]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"131400.0000000000"', b'"0.0000000000"'),
        (b'"30.0000000000"', b'"0.0000000000"'),
    ],
    ids=["no fee", "no hourly part"],
)
def test_a_reservation_with_a_part_missing_is_no_price(ask: Ask, old: bytes, new: bytes) -> None:
    run = ask(lambda made: made.replace(old, new))
    assert run.refused["incomplete_terms"] == 2
    assert not Offer.objects.filter(tier_detail="reserved_1y_partial_upfront").exists()


def test_two_fees_of_one_reservation_are_no_price(ask: Ask) -> None:
    def twice(made: bytes) -> bytes:
        line = next(line for line in made.splitlines() if b"131400" in line)
        return made + line.replace(b"131400", b"131500") + b"\n"

    assert ask(twice).refused["incomplete_terms"] == 2
    assert not Offer.objects.filter(tier_detail="reserved_1y_partial_upfront").exists()


def test_a_fee_that_cannot_be_read_is_a_broken_row(ask: Ask) -> None:
    run = ask(lambda made: made.replace(b'"131400.0000000000"', b'"call us"'))
    assert (run.status, run.reason) == ("failed", "broken_rows")


def test_a_kept_back_reservation_is_taken_with_its_fee(ask: Ask, staff: User) -> None:
    ask()
    offer = Offer.objects.get(tier_detail="reserved_1y_partial_upfront")
    run = Refresh.objects.get()
    held = KeptBack.objects.create(
        offer=offer, refresh=run, amount=Decimal(120), currency="USD", unit="hour", upfront=Decimal(963_600),
        recurring=Decimal(10), term_months=12, observed_on=AT.date() + timedelta(days=1),
    )  # fmt: skip
    services.take_kept_back(held, staff, AT + timedelta(days=1))
    taken = price_of("reserved_1y_partial_upfront")
    assert parts(taken) == [120, 963_600, 10, 12]


def test_azures_reservation_is_the_price_of_its_term_and_not_of_an_hour() -> None:
    row = item(ND_H100, 560_640.0, type="Reservation", reservationTerm="1 Year")
    three = item(ND_H100, 1_051_200.0, type="Reservation", reservationTerm="3 Years")
    first, second = azure.parse([Page(number=1, url="", body=body([row, three]))], AT.date())
    assert isinstance(first, Quote)
    assert isinstance(second, Quote)
    assert (first.tier, first.tier_detail, float(first.amount), first.term_months) == (
        "reserved",
        "reserved_1y",
        64,
        12,
    )
    assert (second.tier_detail, int(second.amount), second.term_months) == ("reserved_3y", 40, 36)
    assert first.upfront is None, "the list does not say that it must be paid at once"


def test_pages_and_api_show_fee_hour_and_term(ask: Ask, client: Client) -> None:
    ask()
    offer = Offer.objects.get(tier_detail="reserved_1y_partial_upfront")
    page = client.get(f"/catalog/offers/{offer.pk}/").content.decode()
    assert "131400 USD upfront for 12 months + 30 USD/h" in page
    assert "1 year, partly upfront" in page
    on_demand = Offer.objects.get(sku="p5.48xlarge", tier="on_demand")
    others = (
        client.get(f"/catalog/offers/{on_demand.pk}/")
        .content.decode()
        .split("on other terms")[1]
        .split("</table>")[0]
    )
    assert [
        cell in others for cell in ("131,400.00", "45.00 USD", "30.00", ">12<", "788,400.00", ">36<")
    ] == [True] * 6
    assert "131400 USD upfront" in client.get("/catalog/offers/?q=p5.48xlarge").content.decode()
    rows = client.get("/api/v1/prices?tier=reserved").json()["items"]
    row = next(row for row in rows if row["id"] == offer.pk)
    assert [Decimal(row[name]) for name in ("amount", "upfront", "recurring")] == [45, 131_400, 30]
    assert row["term_months"] == 12


HEAD = "provider,sku,price,currency,observed_on,source,accelerator,gpu_count,tier,upfront,term_months\n"


def taken(tmp_path: Path, row: str) -> ImportReport:
    Provider.objects.get_or_create(slug="aws", defaults={"name": "AWS"})
    file = tmp_path / "prices.csv"
    file.write_text(HEAD + f"aws,box,{row}\n", encoding="utf-8")
    return import_prices(file, AT)


def test_a_kept_file_tells_fee_and_term(tmp_path: Path) -> None:
    report = taken(tmp_path, "0,USD,2026-11-01,quote,H100 SXM5,8,reserved,87600,12")
    assert report.faults == []
    price = Price.objects.get()
    assert parts(price) == [10, 87_600, 0, 12]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("0,USD,2026-11-01,quote,H100 SXM5,8,reserved,0,12", "zero is not a price"),
        ("0,USD,2026-11-01,quote,H100 SXM5,8,reserved,0.000001,120", "zero is not a price"),
        ("0,USD,2026-11-01,quote,H100 SXM5,8,reserved,,12", "zero is not a price"),
        ("1,USD,2026-11-01,quote,H100 SXM5,8,reserved,500,", "give the term"),
        ("1,USD,2026-11-01,quote,H100 SXM5,8,on_demand,500,12", "only a reserved price has a term"),
        ("1,USD,2026-11-01,quote,H100 SXM5,8,reserved,500,121", "more than 120 months"),
        ("1,USD,2026-11-01,quote,H100 SXM5,8,reserved,-5,12", "is not a number"),
    ],
)
def test_a_fee_that_makes_no_sense_is_told_with_its_line(tmp_path: Path, row: str, fault: str) -> None:
    report = taken(tmp_path, row)
    assert not report.taken
    assert any(fault in one and one.startswith("line 2") for one in report.faults), report.faults
    assert not Price.objects.exists()


def test_the_database_still_refuses_to_rewrite_a_price(ask: Ask) -> None:
    ask()
    with pytest.raises(DatabaseError), transaction.atomic():
        Price.objects.update(upfront=Decimal(1))
