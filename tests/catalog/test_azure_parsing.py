"""What is a price in Azure's list, and which of its twins are not."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from catalog.sources import azure
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure
from tests.catalog.stand_in import NC_A100, ND_H100, body, item

ON = date(2026, 11, 30)


def parse(*items: dict[str, Any]) -> list[Quote | Refused]:
    return list(azure.parse([Page(number=1, url="", body=body(list(items)))], ON))


def only(*items: dict[str, Any]) -> Quote:
    (one,) = parse(*items)
    assert isinstance(one, Quote), one
    return one


def test_a_linux_pay_as_you_go_row_is_a_quote_for_the_whole_machine() -> None:
    quote = only(item(ND_H100, 98.32))
    assert (quote.sku, quote.region, quote.tier) == (ND_H100, "westeurope", "on_demand")
    assert quote.amount == Decimal("98.32")
    assert (quote.accelerator, quote.gpu_count, quote.not_comparable) == ("H100-SXM5", 8, "")
    assert quote.effective_from == date(2026, 5, 1)


def test_a_price_keeps_the_digits_that_were_written() -> None:
    raw = body([item(price=1)]).replace(b'"retailPrice": 1,', b'"retailPrice": 0.1234567890123456789,')
    (quote,) = azure.parse([Page(number=1, url="", body=raw)], ON)
    assert isinstance(quote, Quote)
    assert str(quote.amount) == "0.1234567890123456789"


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("windows", {"productName": "Virtual Machines NDsrH100v5 Series Windows"}),
        ("windows", {"productName": "NCads H100 v5 Series Win"}),
        ("low_priority", {"skuName": "NC24ads A100 v4 Low Priority"}),
        ("low_priority", {"meterName": "NC24ads A100 v4 Low Priority"}),
        ("cloud_services", {"productName": "Cloud Services NVadsA10v5 Series"}),
        ("dedicated_host", {"productName": "NDsv2 Series Dedicated Host"}),
        ("other_service", {"serviceName": "Storage"}),
        ("no_sku", {"armSkuName": ""}),
        ("no_sku", {"armSkuName": "D14/DS14"}),
        ("reservation", {"type": "Reservation", "reservationTerm": "5 Years"}),
        ("reservation", {"type": "Reservation"}),
        (
            "reservation_without_gpu",
            {"type": "Reservation", "reservationTerm": "1 Year", "armSkuName": "Standard_D2s_v3"},
        ),
        ("other_terms", {"type": "DevTestConsumption"}),
        ("not_primary", {"isPrimaryMeterRegion": False}),
        ("promo", {"armSkuName": "Standard_NC6_Promo"}),
        ("volume_tier", {"tierMinimumUnits": 100.0}),
        ("ended", {"effectiveEndDate": "2026-09-30T23:59:00Z"}),
        ("not_yet", {"effectiveStartDate": "2027-02-01T00:00:00Z"}),
        ("no_gpu", {"armSkuName": "Standard_D2s_v3", "skuName": "D2s v3 Spot"}),
        ("zero_price", {"retailPrice": 0.0}),
        ("zero_price", {"retailPrice": 0}),
    ],
)
def test_twins_of_the_price_are_refused_by_name(reason: str, changes: dict[str, Any]) -> None:
    assert parse(item(**changes)) == [Refused(reason=reason)]


@pytest.mark.parametrize("price", [None, -1, -0.5, "N/A", "3.5", True, [], {}, 1e308, 10**12])
def test_what_is_no_price_is_a_broken_row(price: Any) -> None:
    assert parse(item(price=price)) == [Refused(reason="bad_price", broken=True)]


@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"-Infinity"])
def test_numbers_that_json_does_not_have_make_the_page_unreadable(literal: bytes) -> None:
    raw = body([item(price=7)]).replace(b'"retailPrice": 7', b'"retailPrice": ' + literal)
    with pytest.raises(SourceFailure, match="unreadable"):
        list(azure.parse([Page(number=1, url="", body=raw)], ON))


def test_a_price_per_month_is_not_taken_for_one_per_hour() -> None:
    assert parse(item(unitOfMeasure="1/Month")) == [Refused(reason="other_unit", broken=True)]


def test_another_currency_ends_the_run() -> None:
    with pytest.raises(SourceFailure, match="wrong_currency"):
        parse(item(currencyCode="JPY"))


def test_a_renamed_price_field_ends_the_run() -> None:
    row = item()
    del row["retailPrice"]
    with pytest.raises(SourceFailure, match="schema_changed: retailPrice"):
        parse(row | {"price_v2": 3.5})


def test_spot_is_a_tier_of_its_own() -> None:
    quote = only(item(skuName="NC24ads A100 v4 Spot", meterName="NC24ads A100 v4 Spot", price=0.9))
    assert (quote.tier, quote.amount) == ("spot", Decimal("0.9"))


def test_savings_plans_are_reserved_prices_with_their_term() -> None:
    plans = [
        {"retailPrice": 2.5, "unitPrice": 2.5, "term": "1 Year"},
        {"retailPrice": 1.5, "unitPrice": 1.5, "term": "3 Years"},
        {"retailPrice": 0, "unitPrice": 0, "term": "1 Year"},
        {"retailPrice": 9, "term": "5 Years"},
        "not a plan",
    ]
    found = [one for one in parse(item(savingsPlan=plans)) if isinstance(one, Quote)]
    assert [(one.tier, one.tier_detail, str(one.amount)) for one in found] == [
        ("on_demand", "", "3.5"),
        ("reserved", "savings_1y", "2.5"),
        ("reserved", "savings_3y", "1.5"),
    ]


def test_a_slice_is_listed_and_not_compared() -> None:
    quote = only(item("Standard_NV6ads_A10_v5", 0.454))
    assert (quote.accelerator, quote.gpu_count, quote.not_comparable) == ("A10", 1, "slice_memory_unknown")
    assert quote.gpu_fraction == Decimal("0.1667")


def test_a_size_nobody_knows_is_listed_and_never_guessed() -> None:
    quote = only(item("Standard_ND96xsr_H900_v9", 500))
    assert (quote.accelerator, quote.gpu_count, quote.not_comparable) == (None, None, "size_unknown")


def test_parsing_twice_gives_the_same() -> None:
    rows = [item(ND_H100, 98.32), item(NC_A100, 3.5), item(price=0)]
    assert parse(*rows) == parse(*rows)


def test_machines_without_gpus_are_kept_at_their_plain_price_and_never_compared() -> None:
    (quote,) = parse(item("Standard_D2s_v3", 0.096, savingsPlan=[{"term": "1 Year", "retailPrice": 0.066}]))
    assert isinstance(quote, Quote)
    assert (quote.amount, quote.tier, quote.not_comparable) == (
        Decimal("0.096"),
        "on_demand",
        "no_accelerator",
    )
    assert quote.gpu_count == 0
