"""Ways to pay and to host: totals as by hand, messages at their fields, prices taken from an offer."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from catalog.managed import managed_prices
from catalog.models import Offer, Provider
from catalog.recording import Observation, record
from planner.hosting_page import LABELS
from planner.sizing.hosting import Stated
from tests.factories import AT

pytestmark = pytest.mark.django_db


def page(client: Client, query: str = "", status: int = 200) -> str:
    answer = client.get(f"/hosting/?{query}")
    assert answer.status_code == status
    return answer.content.decode()


def test_the_page_without_figures_says_that_none_is_given(client: Client) -> None:
    text = page(client)
    assert text.count("Left out: its price is not given.") == 5
    assert "USD" in text


def test_totals_and_break_even_are_those_worked_out_by_hand(client: Client) -> None:
    text = page(
        client,
        "on_demand_per_hour=5.50&reserved_per_hour=3.00&reserved_upfront=10000&reserved_term_months=12&months=12",
    )
    assert "48,180.00" in text
    assert "36,280.00" in text
    assert "549.70 hours a month" in text
    assert "month 6" in text
    assert "1 payments × 10000 = 10,000.00" in text


def test_a_second_term_is_paid_to_its_end(client: Client) -> None:
    text = page(client, "reserved_per_hour=3&reserved_upfront=10000&reserved_term_months=12&months=18")
    assert "72,560.00" in text
    assert "paid to the end of its term: 24 months" in text


def test_spot_is_refused_with_its_reason_until_the_work_bears_interruptions(client: Client) -> None:
    assert "not said to bear an interruption" in page(client, "spot_per_hour=1&months=1")
    allowed = page(client, "spot_per_hour=1&months=1&interruptible=on&rework_fraction=0.1")
    assert "803.00" in allowed


def test_a_shipped_managed_price_fills_what_is_left_blank(client: Client) -> None:
    one = next(iter(managed_prices().values()))
    volume = "months=1&input_millions_per_month=1000&output_millions_per_month=0"
    text = page(client, f"{volume}&service={one.key.replace('@', '%40')}&on_demand_per_hour=2")
    assert f"{one.input_per_million * 1000:,.2f}" in text
    assert "costs less than managed above" in text
    own = page(client, f"{volume}&service={one.key}&managed_input_per_million=7&managed_output_per_million=1")
    assert "7,000.00" in own


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("machines=0", "At least 1."),
        ("machines=1.5", "Write a number"),
        ("hours_per_month=0", "More than 0."),
        ("hours_per_month=745", "At most 744."),
        ("on_demand_per_hour=free", "Write a number"),
        ("on_demand_per_hour=NaN", "Write a number"),
        ("on_demand_per_hour=-1", "At least 0."),
        ("purchase=1e99", "At most"),
        ("pue=0.5", "At least 1."),
        ("service=nobody", "Select a valid choice"),
    ],
)
def test_a_refused_field_has_its_message_and_loses_nothing(client: Client, query: str, message: str) -> None:
    text = page(client, f"{query}&staff_per_month=4321", 422)
    assert message in text
    assert 'value="4321"' in text


def test_an_offer_brings_its_prices_and_those_of_its_other_tiers(client: Client) -> None:
    Provider.objects.create(slug="azure", name="Azure")
    same: dict[str, Any] = {
        "provider": "azure", "sku": "ND96", "region": "japaneast", "currency": "USD", "source": "page",
        "observed_on": date(2026, 11, 1), "accelerator": "H100-SXM5", "gpu_count": 8,
    }  # fmt: skip
    record(
        [
            Observation(amount=Decimal(98), **same),
            Observation(amount=Decimal(40), tier="spot", **same),
            Observation(amount=Decimal(72), tier="reserved", tier_detail="savings_1y", **same),
            Observation(amount=Decimal(44), tier="reserved", tier_detail="savings_3y", **same),
        ],
        AT,
    )
    offer = Offer.objects.get(tier="on_demand")
    text = page(client, f"offer={offer.pk}")
    for name, value in {
        "on_demand_per_hour": "98", "spot_per_hour": "40", "reserved_per_hour": "44", "reserved_term_months": "36",
    }.items():  # fmt: skip
        assert f'name="{name}" value="{value}"' in text, name
    assert "327.76 hours a month" in text
    assert "Azure: ND96" in text
    assert page(client, "offer=999999")


def test_every_figure_has_a_label_and_the_page_asks_no_more(client: Client) -> None:
    assert set(LABELS) == set(Stated.model_fields)
    text = page(client)
    for name in Stated.model_fields:
        assert f'name="{name}"' in text


def test_every_shipped_managed_price_has_model_service_day_and_source() -> None:
    assert len(managed_prices()) == 56
    for one in managed_prices().values():
        assert one.source
        assert one.observed
        assert one.input_per_million < 100
