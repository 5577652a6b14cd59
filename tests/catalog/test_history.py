"""Prices over time: of an offer, of a market, and of everything as it stood on a day."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.test import Client

from catalog import history, price_charts
from catalog.models import ExchangeRate, MarketDay, Offer, Provider
from catalog.recording import Observation, record
from catalog.seed_loading import SeedReport
from tests.factories import AT

pytestmark = pytest.mark.django_db

DAY = date(2026, 11, 1)


@pytest.fixture(autouse=True)
def lambda_cloud(db: None) -> None:
    Provider.objects.get_or_create(slug="lambda", defaults={"name": "Lambda"})
    Provider.objects.get_or_create(slug="sakura", defaults={"name": "Sakura"})


def seen(amount: str, day: date, sku: str = "gpu_8x_h100", **more: object) -> None:
    facts = {
        "provider": "lambda", "sku": sku, "amount": Decimal(amount), "currency": "USD", "observed_on": day,
        "source": "page", "accelerator": "H100-SXM5", "gpu_count": 8,
    } | more  # fmt: skip
    record([Observation(**facts)], AT)  # type: ignore[arg-type]


def test_a_price_holds_from_the_day_it_was_seen_to_the_next(client: Client) -> None:
    seen("24", DAY)
    seen("24", DAY + timedelta(days=5))
    seen("16", DAY + timedelta(days=10))
    seen("16", DAY + timedelta(days=20))
    offer = Offer.objects.get()
    steps = history.steps_of(offer)
    assert [(step.begins, step.ends, step.amount) for step in steps] == [
        (DAY, DAY + timedelta(days=10), Decimal(24)),
        (DAY + timedelta(days=10), DAY + timedelta(days=20), Decimal(16)),
    ]
    chart = price_charts.of_offer(steps)
    assert chart is not None
    assert len(chart.dots) == 2
    assert chart.dots[0][1] < chart.dots[1][1], "a higher price stands higher"
    page = client.get(f"/catalog/offers/{offer.pk}/").content.decode()
    assert '<svg viewBox="0 0 720 220"' in page
    assert chart.line in page


def test_a_price_seen_on_one_day_is_no_chart() -> None:
    seen("24", DAY)
    assert price_charts.of_offer(history.steps_of(Offer.objects.get())) is None


def test_lists_show_prices_as_they_stood_on_a_day(client: Client) -> None:
    seen("24", DAY)
    seen("16", DAY + timedelta(days=10))
    seen("40", DAY + timedelta(days=12), sku="newer")

    def page(query: str) -> str:
        return client.get(f"/catalog/offers/?{query}").content.decode()

    then = page(f"on={DAY + timedelta(days=3)}&sort=price")
    assert "24.00" in then
    assert "16.00" not in then
    assert "newer" not in then, "nobody had seen it yet"
    now = page("sort=price")
    assert "16.00" in now
    assert "newer" in now
    assert "gpu_8x_h100" not in page(f"on={DAY - timedelta(days=1)}")
    assert "has not come yet" in page("on=2199-01-01")
    assert "errorlist" in page("on=yesterday")


def test_an_offer_that_was_gone_is_not_listed_for_a_day_after() -> None:
    seen("24", DAY)
    Offer.objects.update(gone_since=AT.replace(year=2026, month=11, day=10))
    everything = Offer.objects.all()
    assert history.as_of(everything, DAY).count() == 1
    assert history.as_of(everything, DAY + timedelta(days=15)).count() == 0


def test_a_market_is_the_median_and_range_of_each_providers_cheapest_gpu() -> None:
    ExchangeRate.objects.create(on=DAY, currency="JPY", per_usd=150, source="ECB")
    seen("16", DAY, sku="a")
    seen("24", DAY, sku="b")
    seen("2400", DAY, sku="c", provider="sakura", currency="JPY", gpu_count=4)
    seen("28", DAY + timedelta(days=1), sku="a")
    seen("0.8", DAY + timedelta(days=1), sku="floor", floor=True)
    seen("0.8", DAY + timedelta(days=1), sku="unsure", not_comparable="count_unknown")
    seen("0.8", DAY + timedelta(days=1), sku="bid", tier="spot")
    points = history.market_of("H100-SXM5", DAY + timedelta(days=30))
    assert [(p.on, int(p.low), int(p.median), int(p.high), p.listed) for p in points] == [
        (DAY, 2, 3, 4, 2),
        (DAY + timedelta(days=1), 3, 3, 4, 2),
    ]


def test_a_price_older_than_half_a_year_is_in_no_market() -> None:
    seen("16", DAY - timedelta(days=181), sku="old")
    seen("24", DAY, sku="new")
    assert [point.listed for point in history.market_of("H100-SXM5", DAY)] == [1, 1]
    assert history.market_of("H100-SXM5", DAY)[-1].low == 3


def test_shipped_days_of_a_market_are_drawn_with_what_was_available(
    client: Client, report: SeedReport
) -> None:
    assert MarketDay.objects.filter(accelerator="H100-SXM5").count() == 29
    page = client.get("/catalog/accelerators/H100-SXM5/").content.decode()
    assert "Median and range over time" in page
    assert "2025-10-19" in page
    assert "half-hourly snapshots" in page


def test_what_a_source_says_of_the_stock_is_kept_with_its_day(client: Client) -> None:
    seen("24", DAY, "stocked", availability="low")
    offer = Offer.objects.get(sku="stocked")
    assert (offer.availability, offer.availability_on) == ("low", DAY)
    seen("24", DAY + timedelta(days=1), "stocked")
    offer.refresh_from_db()
    assert (offer.availability, offer.availability_on) == ("low", DAY), "silence takes nothing away"
    seen("24", DAY + timedelta(days=2), "stocked", availability="none")
    offer.refresh_from_db()
    assert (offer.availability, offer.availability_on) == ("none", DAY + timedelta(days=2))
    assert "none at the moment (2026-11-03)" in client.get(f"/catalog/offers/{offer.pk}/").content.decode()
