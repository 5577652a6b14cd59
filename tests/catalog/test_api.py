"""Prices over HTTP: every offer once, page by page, with the figures of the database."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.test import Client

from catalog.models import Offer
from catalog.seed_loading import SeedReport


def walk(client: Client, address: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while address:
        page = client.get(address).json()
        rows += page["items"]
        address = page["next"]
    return rows


def test_all_pages_together_list_every_current_offer_once(client: Client, report: SeedReport) -> None:
    rows = walk(client, "/api/v1/prices?limit=400")
    assert len(rows) == len({row["id"] for row in rows}) == Offer.objects.current().count()
    assert all(Decimal(row["amount"]) > 0 for row in rows)


def test_a_filter_stays_on_the_next_page(client: Client, report: SeedReport) -> None:
    rows = walk(client, "/api/v1/prices?source=azure&tier=on_demand&comparable=true&limit=100")
    assert len(rows) > 200
    assert {(row["provider"], row["tier"], row["not_comparable"]) for row in rows} == {
        ("azure", "on_demand", "")
    }


def test_a_price_in_yuan_has_its_own_currency_and_its_worth_in_dollars(
    client: Client, report: SeedReport
) -> None:
    row = walk(client, "/api/v1/prices?source=aws&region=cn-north-1&limit=1")[0]
    assert row["currency"] == "CNY"
    assert Decimal(row["usd_per_hour"]) == (Decimal(row["amount"]) / Decimal("6.65288")).quantize(
        Decimal("0.000001")
    )


def test_a_bad_parameter_is_refused_as_json_at_its_field(client: Client, db: None) -> None:
    for query, field in (
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("after=-1", "after"),
        ("tier=free", "tier"),
    ):
        answer = client.get(f"/api/v1/prices?{query}")
        assert answer.status_code == 422
        assert field in (answer.json()["field"] or "")
        assert answer.json()["error"]
