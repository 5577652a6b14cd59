"""The bench measures what it says."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from catalog.models import CatalogVersion, Offer, Provider
from planner import benchmark, benchmark_lists, benchmark_refresh, benchmark_weight, market, services
from planner.benchmark import Figure, Taken, percentile
from planner.sizing.workload import ServingWorkload
from tests.planner.factories import make_small_catalog


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert percentile(values, 0.5) == 50
    assert percentile(values, 0.95) == 95
    assert percentile([7.0], 0.95) == 7


def test_a_limit_is_kept_or_not_or_unknown() -> None:
    assert Figure("x", 10, 9.9, "median", 1).is_kept is True
    assert Figure("x", 10, 10.1, "median", 1).is_kept is False
    assert Figure("x", 10, None, "median", 0).is_kept is None
    assert Figure("x", None, 3, "median", 1).is_kept is None


def test_runs_are_timed_by_the_clock_and_by_the_processor() -> None:
    taken = Taken().run(lambda: sum(range(20_000)), 3)
    assert len(taken.clock) == len(taken.cpu) == 3
    assert min(taken.clock) > 0
    document = benchmark.as_document([taken.figure("sum", 1_000)])
    assert document[0]["kept"] is True
    assert document[0]["runs"] == 3


def test_every_asked_page_is_a_fresh_question() -> None:
    assert benchmark.fresh("/x") != benchmark.fresh("/x")


@pytest.mark.django_db
def test_an_enlarged_market_is_compared_like_the_real_one(at: datetime) -> None:
    make_small_catalog()
    small = services.compare(ServingWorkload(), at=at)
    assert len(market.enlarged(1_000, at)) == 1_000
    large = services.compare(ServingWorkload(), at=at)
    assert large.candidates_total == 250 * small.candidates_total
    assert large.candidates[0].monthly.total == small.candidates[0].monthly.total
    services.forget()
    assert services.compare(ServingWorkload(), at=at).candidates_total == small.candidates_total


@pytest.mark.django_db(transaction=True)
def test_a_refresh_in_the_shape_of_the_source_takes_every_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    file = tmp_path / "prices" / benchmark_refresh.ROWS_FILE
    file.parent.mkdir()
    rows = [f"region{number},Standard_D{number}s_v5,0.{number + 1:03}" for number in range(25)]
    file.write_text("\n".join(["region,sku,usd_per_hour", *rows]), encoding="utf-8")
    settings.MEASUREMENTS_DIR = tmp_path
    monkeypatch.setattr(benchmark_refresh, "ROWS_PER_PAGE", 10)
    Provider.objects.create(slug="azure", name="Microsoft Azure")
    took = benchmark_refresh.here()
    assert took.rows == 25
    assert Offer.objects.filter(provider="azure").count() == 25
    assert took.peak_bytes > 10e6
    assert took.seconds > 0


@pytest.mark.django_db
def test_an_enlarged_catalog_is_listed_like_the_real_one(client: Client, at: datetime) -> None:
    offers = make_small_catalog()
    version = CatalogVersion.current()
    assert benchmark_lists.enlarge(4 * len(offers)) == 4 * len(offers)
    assert CatalogVersion.current() == version + 1
    assert (
        Offer.objects.current().count() == 4 * Offer.objects.filter(pk__lte=offers[-1].pk).current().count()
    )
    for offer in Offer.objects.select_related("current_price"):
        assert offer.current_price is None or offer.current_price.offer_id == offer.pk
    page = client.get("/catalog/offers/?kind=all&sort=price").content.decode()
    assert f"{offers[0].sku}-3" in page


@pytest.mark.django_db
def test_a_page_weighs_what_it_names(client: Client) -> None:
    def ask(path: str) -> bytes:
        return client.get(path).content

    plain = benchmark_weight.bytes_of(ask, "/workbench/", charts=False)
    charted = benchmark_weight.bytes_of(ask, "/workbench/", charts=True)
    assert 30_000 < plain < 150_000
    assert plain + 300_000 < charted < 700_000
    with pytest.raises(FileNotFoundError):
        benchmark_weight.bytes_of(lambda path: b'<script src="/static/js/nowhere.js">', "/", charts=False)
