"""What an alert asks: which prices moved since a moment, by how much, and which offers are gone."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from catalog.models import ExchangeRate, Offer, Provider
from catalog.price_moves import moved_since
from catalog.recording import Observation, record
from tests.factories import AT

pytestmark = pytest.mark.django_db

LATER = AT + timedelta(days=3)


def seen(sku: str, amount: str, *, days: int = 0, **more: Any) -> Offer:
    fields: dict[str, Any] = {"currency": "USD", "accelerator": "H100-SXM5", "gpu_count": 8} | more
    observation = Observation(
        provider="azure", sku=sku, region="eastus", amount=Decimal(amount), source="page",
        observed_on=AT.date() + timedelta(days=days), **fields,
    )  # fmt: skip
    record([observation], AT + timedelta(days=days))
    return Offer.objects.get(sku=sku)


@pytest.fixture(autouse=True)
def provider() -> None:
    Provider.objects.create(slug="azure", name="Azure")


def test_a_price_that_moved_by_the_share_or_more_is_told_with_both_prices() -> None:
    offer = seen("a", "100")
    seen("a", "110", days=2)
    (move,) = moved_since([offer.pk], AT, Decimal("0.10"))
    assert (move.offer_id, move.change_fraction) == (offer.pk, Decimal("0.1"))
    assert move.now is not None
    assert (move.before.amount, move.now.amount) == (Decimal(100), Decimal(110))
    assert (move.before.observed_on, move.now.observed_on) == (AT.date(), AT.date() + timedelta(days=2))
    assert moved_since([offer.pk], AT, Decimal("0.11")) == []


def test_a_price_that_fell_counts_as_well_and_one_that_came_back_has_not_moved() -> None:
    fell, back = seen("fell", "100"), seen("back", "100")
    seen("fell", "75", days=1)
    seen("back", "180", days=1)
    seen("back", "100", days=2)
    (move,) = moved_since([back.pk, fell.pk], AT, Decimal(0))
    assert (move.offer_id, move.change_fraction) == (fell.pk, Decimal("-0.25"))


def test_the_price_then_is_the_one_that_was_recorded_by_that_moment() -> None:
    offer = seen("a", "100")
    seen("a", "200", days=1)
    seen("a", "210", days=2)
    (move,) = moved_since([offer.pk], AT + timedelta(days=1), Decimal("0.01"))
    assert move.before.amount == 200
    assert move.change_fraction == Decimal("0.05")


def test_an_offer_that_is_gone_is_told_and_one_gone_before_or_new_is_not() -> None:
    gone, before = seen("gone", "100"), seen("before", "100")
    Offer.objects.filter(pk=gone.pk).update(gone_since=LATER)
    Offer.objects.filter(pk=before.pk).update(gone_since=AT - timedelta(days=1))
    new = seen("new", "5", days=2)
    (move,) = moved_since([gone.pk, before.pk, new.pk, 999_999], AT, Decimal("0.05"))
    assert (move.offer_id, move.now, move.change_fraction, move.gone_since) == (gone.pk, None, None, LATER)


def test_prices_in_two_currencies_are_compared_by_the_rates_of_their_days() -> None:
    ExchangeRate.objects.create(on=date(2026, 1, 1), currency="JPY", per_usd=Decimal(150), source="bank")
    offer = seen("a", "1500", currency="JPY")
    seen("a", "12", days=1)
    (move,) = moved_since([offer.pk], AT, Decimal("0.1"))
    assert move.change_fraction == Decimal("0.2")
    ExchangeRate.objects.all().delete()
    (move,) = moved_since([offer.pk], AT, Decimal("0.1"))
    assert move.change_fraction is None, "without a rate it is told, and no share is invented"


def test_another_unit_is_told_without_a_share() -> None:
    offer = seen("a", "1")
    seen("a", "500", days=1, unit="month")
    (move,) = moved_since([offer.pk], AT, Decimal("0.1"))
    assert move.change_fraction is None


def test_many_offers_take_three_queries_for_five_hundred(django_assert_num_queries: Any) -> None:
    offers = [seen(f"m{number}", "1").pk for number in range(20)]
    with django_assert_num_queries(3):
        assert moved_since(offers, AT, Decimal(0)) == []


def test_a_share_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="below zero"):
        moved_since([], AT, Decimal("-0.1"))
