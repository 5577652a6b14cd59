"""Two classes of one commitment stand beside each other in the comparison, each by its name."""

from __future__ import annotations

from html import unescape

import pytest
from django.test import Client

from planner import market
from tests.factories import AT
from tests.planner.factories import make_offer, make_small_catalog

pytestmark = pytest.mark.django_db

WORDS = "1 year, nothing upfront, convertible (exchangeable)"


def test_a_convertible_reservation_is_told_from_a_standard_one(client: Client) -> None:
    make_small_catalog()
    for price, detail in (("1.80", "reserved_1y_no_upfront"), ("1.90", "reserved_1y_no_upfront_convertible")):
        offer = make_offer("H100-SXM5", price, sku="kept", tier="reserved", tier_detail=detail)
    found = market.current(AT)
    row = found.position(offer.pk)
    assert row is not None
    assert found.facts(row, AT.date()).tier_detail == "reserved_1y_no_upfront_convertible"
    page = unescape(client.get(f"/workbench/candidate/{offer.pk}/?tiers=reserved").content.decode())
    assert f"reserved · {WORDS}" in page


def test_the_api_names_the_terms_of_every_candidate_and_none_where_there_are_none(client: Client) -> None:
    make_small_catalog()
    make_offer("H100-SXM5", "1.80", sku="kept", tier="reserved", tier_detail="reserved_3y")
    asked = {
        "model": {"id": "meta-llama/Llama-3.1-8B-Instruct"},
        "filters": {"tiers": ["on_demand", "reserved"]},
    }
    answer = client.post("/api/v1/size", asked, content_type="application/json").json()
    told = {one["offer"]["sku"]: one["offer"]["tier_detail"] for one in answer["candidates"]}
    assert told["kept"] == "reserved_3y"
    assert {detail for sku, detail in told.items() if sku != "kept"} == {None}
