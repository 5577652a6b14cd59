"""The columnar copy of the catalog, and the whole shipped catalog through bill and ranking."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from pytest_django import DjangoAssertNumQueries

from catalog import recording
from catalog.models import CatalogVersion, Offer, Price
from catalog.places import COUNTRIES, words_for
from catalog.seed_loading import SEEDS
from planner import kinds, market, services
from planner.candidate_views import candidate_view
from planner.figures import cell
from planner.sizing.bill import MINOR_UNITS
from planner.sizing.compare import bill_of
from planner.sizing.offers import Market
from planner.sizing.placement import Placement
from planner.sizing.weighing import weigh
from planner.sizing.workload import BatchWorkload, Filters, ServingWorkload
from tests.planner.factories import make_offer, make_small_catalog, set_price
from tests.sizing.markets import setting


@pytest.mark.django_db
def test_the_market_holds_the_comparable_offers_with_terms_places_and_rates(at: datetime) -> None:
    h100, _l40s, a100, _spot = make_small_catalog()
    make_offer(not_comparable="ambiguous_accelerator", sku="unsure")
    found = market.current(at)
    assert len(found) == 4
    assert found.not_comparable_count == 1
    row = found.position(h100.pk)
    assert row is not None
    facts = found.facts(row, at.date())
    assert (facts.price_amount, facts.region_name_ja, facts.price_age_days) == (Decimal("2.49"), "東京", 29)
    assert {"jp", "tokyo", "tokyo-1", "known:tokyo-1", "東京"} <= found.regions[found.region_index[row]]
    terms = found.terms[found.terms_index[row]]
    assert terms.unit_s == 1
    assert terms.storage is not None
    assert terms.storage.observed_on == date(2026, 10, 1)
    assert terms.egress is not None
    assert [step.from_gb for step in terms.egress.steps] == [0, 100]
    assert terms.egress.observed_on is None
    other = found.position(a100.pk)
    assert other is not None
    assert found.terms[found.terms_index[other]].storage is None
    assert found.regions[found.region_index[other]] == frozenset()
    assert found.rates.factor("USD", "JPY") == Decimal("157.25")


@pytest.mark.django_db
def test_a_filter_may_name_a_country_or_a_part_of_the_world(at: datetime) -> None:
    tokyo, *_others = make_small_catalog()
    virginia = make_offer(provider="known", sku="somewhere", region="Virginia, US")
    unsaid = make_offer(provider="known", sku="nowhere", region="Atlantis")

    def named(*words: str) -> set[int]:
        workload = ServingWorkload(filters=Filters(regions=words))
        kept = services.compare(workload, at=at, limit=200).candidates
        return {candidate.offer.offer_id for candidate in kept}

    for word in ("Asia", "アジア", "Japan", "日本", "jp"):
        assert tokyo.pk in named(word)
        assert not {virginia.pk, unsaid.pk} & named(word)
    assert named("North America") == named("usa") == {virginia.pk}
    assert named("EU") == set()
    assert named("Asia", "usa") == named("Asia") | {virginia.pk}


def test_every_country_of_a_region_has_names_and_a_part_of_the_world() -> None:
    shipped = json.loads((SEEDS / "regions.json").read_text(encoding="utf-8"))["regions"]
    countries = {region["country"] for region in shipped if region.get("country")}
    assert len(countries) > 20
    for country in countries:
        assert country in COUNTRIES
        assert len(words_for(country)) > 1 + len(COUNTRIES[country]), country


@pytest.mark.django_db
def test_an_unchanged_market_costs_one_query(
    at: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_small_catalog()
    first = market.current(at)
    with django_assert_num_queries(1):
        assert market.current(at + timedelta(hours=1)) is first


@pytest.mark.django_db
def test_building_takes_as_many_queries_for_many_offers_as_for_few(
    at: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_small_catalog()
    with django_assert_num_queries(9):
        market.current(at)
    for number in range(20):
        make_offer("L4", "0.8", sku=f"l4-{number}", provider=f"p{number}")
    with django_assert_num_queries(9):
        assert len(market.current(at)) == 24


RESERVED = (
    # price of an hour of the term, fee, hourly part, months
    ("45", "131400", "30", 12), ("30", "788400", "0", 36), ("50", "0", "50", 12), ("7.777733", "10001", "6.636066", 12),
)  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("currency", ["USD", "JPY"])
def test_commitments_paid_upfront_are_ranked_and_billed_alike(at: datetime, currency: Any) -> None:
    make_small_catalog()
    for number, (amount, fee, hourly, months) in enumerate(RESERVED):
        Price.objects.create(
            offer=make_offer("H100-SXM5", amount, sku=f"r{number}", tier="reserved"), amount=Decimal(amount),
            currency="USD", upfront=Decimal(fee), recurring=Decimal(hourly), term_months=months, recorded_at=at,
            observed_on=at.date(), source="page",
        )  # fmt: skip
    recording.point_at_newest(list(Offer.objects.values_list("pk", flat=True)), at)
    CatalogVersion.bump(at)
    found = market.current(at)
    assert found.upfront_micro is not None
    assert int(np.count_nonzero(found.upfront_micro)) == 3
    workload = ServingWorkload(currency=currency, request_rate_per_s=40, filters=Filters(tiers=("reserved",)))
    made = setting(workload, found)
    weighed = weigh(made, made.place())
    assert len(weighed.rows) == 4
    for row in weighed.rows:
        placement = weighed.placements[found.machine_index[row]]
        assert isinstance(placement, Placement)
        bill = bill_of(made, weighed, int(row), placement)
        facts = found.facts(int(row), at.date())
        lines = {line.what: line for line in bill.lines}
        assert int(bill.total * MINOR_UNITS[currency]) == weighed.total_minor[row]
        assert facts.price_amount > 0
        assert ("upfront" in lines) is bool(facts.upfront)
        if facts.upfront is not None and currency == "USD":
            assert facts.recurring is not None
            assert lines["gpu"].amount == (placement.machines * 730 * facts.recurring).quantize(
                Decimal("0.01")
            )
            share = facts.upfront / (facts.term_months or 0) * placement.machines
            assert abs((lines["upfront"].amount or 0) - share) < 1
            whole = facts.price_amount * 730 * placement.machines
            assert abs(whole - (lines["gpu"].amount or 0) - (lines["upfront"].amount or 0)) < Decimal("0.05")


@pytest.mark.django_db
def test_the_price_of_a_commitment_is_told_with_its_parts(at: datetime) -> None:
    make_small_catalog()
    offer = make_offer("H100-SXM5", "45", sku="part", tier="reserved")
    Price.objects.create(
        offer=offer, amount=Decimal(44), currency="USD", upfront=Decimal(131_400), recurring=Decimal(29),
        term_months=12, recorded_at=at, observed_on=at.date(), source="page",
    )  # fmt: skip
    recording.point_at_newest([offer.pk], at)
    CatalogVersion.bump(at)
    found = services.compare(ServingWorkload(filters=Filters(tiers=("reserved",))), at=at)
    view = candidate_view(kinds.of("llm_serving"), found.candidates[0], (), language="en")
    assert (
        view.price == "44 USD per hour over its term: 131,400 USD upfront for 12 months, and 29 USD per hour"
    )
    assert [line.what for line in view.bill][:2] == ["Machines", "Paid upfront"]
    assert view.bill[1].note == "a month's share of what is paid upfront for the term"


@pytest.mark.django_db
def test_stock_stands_in_the_comparison_as_last_seen_and_not_in_the_past(at: datetime) -> None:
    make_small_catalog()
    offer = make_offer("H100-SXM5", "0.5", sku="few")
    Offer.objects.filter(pk=offer.pk).update(availability="low", availability_on=at.date())
    CatalogVersion.bump(at)
    found = services.compare(ServingWorkload(), at=at)
    first = found.candidates[0]
    assert (first.offer.sku, first.offer.stock, first.offer.stock_on) == ("few", "low", at.date())
    assert candidate_view(kinds.of("llm_serving"), first, (), language="en").stock == "few left"
    assert found.candidates[1].offer.stock is None
    cells = {column.key: cell(column, first).text for column in kinds.of("llm_serving").columns}
    assert (cells["stock"], cells["stock_on"]) == ("few left", at.date().isoformat())
    CatalogVersion.bump(at + timedelta(days=2))
    past = market.current(at)
    row = past.position(offer.pk)
    assert row is not None
    assert past.facts(row, at.date()).stock is None


@pytest.mark.django_db
def test_a_changed_catalog_is_seen_at_once(at: datetime) -> None:
    make_small_catalog()
    market.current(at)
    make_offer("L4", "0.8")
    assert len(market.current(at)) == 5


@pytest.mark.django_db
def test_a_past_moment_has_the_prices_of_then(at: datetime) -> None:
    h100 = make_small_catalog(at - timedelta(days=2))[0]
    before = at - timedelta(days=1)
    set_price(h100, "9.99", at=at, observed_on=at.date())
    make_offer("L4", "0.8", at=at)

    def price(found: Market) -> Decimal:
        row = found.position(h100.pk)
        assert row is not None
        return found.facts(row, at.date()).price_amount

    assert price(market.current(at)) == Decimal("9.99")
    assert price(market.current(before)) == Decimal("2.49")
    assert len(market.current(before)) == 4
    assert len(market.current(at)) == 5


@pytest.mark.django_db
def test_before_anything_was_known_the_market_is_empty(at: datetime) -> None:
    make_small_catalog(at)
    assert len(market.current(at - timedelta(days=1))) == 0


@pytest.mark.django_db
def test_an_empty_catalog_is_an_empty_market(at: datetime) -> None:
    assert CatalogVersion.current() == 0
    assert len(market.current(at)) == 0


WORKLOADS = [
    ServingWorkload(),
    ServingWorkload(request_rate_per_s=40, currency="JPY"),
    ServingWorkload(
        currency="EUR",
        interruptible=True,
        filters=Filters(tiers=("on_demand", "spot", "reserved", "community")),
    ),
    BatchWorkload(interruptible=True, filters=Filters(tiers=("on_demand", "spot"))),
    BatchWorkload(request_count=10_000_000, currency="JPY"),
]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_integers_of_the_ranking_equal_the_bills_to_the_cent_over_the_shipped_catalog(
    shipped_market: Market, workload: ServingWorkload | BatchWorkload
) -> None:
    made = setting(workload, shipped_market)
    weighed = weigh(made, made.place())
    rows = weighed.rows
    assert len(rows) > 300
    for row in rows:
        placement = weighed.placements[shipped_market.machine_index[row]]
        assert isinstance(placement, Placement)
        bill = bill_of(made, weighed, int(row), placement)
        assert int(bill.total * MINOR_UNITS[workload.currency]) == weighed.total_minor[row]
        assert bill.complete == weighed.complete[row]
        assert bill.total == sum((line.amount for line in bill.lines if line.amount is not None), Decimal(0))


def test_the_shipped_market_s_prices_are_positive_and_in_micro_units(shipped_market: Market) -> None:
    assert len(shipped_market) > 1_400
    assert int(shipped_market.price_micro.min()) > 0
    for row in range(0, len(shipped_market), 97):
        facts = shipped_market.facts(row, date(2026, 11, 30))
        assert int(facts.price_amount * 1_000_000) == shipped_market.price_micro[row]


def test_tie_order_is_by_bandwidth_then_memory_then_host(shipped_market: Market) -> None:
    order = np.argsort(shipped_market.tie_rank())
    bandwidth = [
        shipped_market.machines[shipped_market.machine_index[row]].device.bandwidth_bytes_per_s
        for row in order
    ]
    assert bandwidth == sorted(bandwidth, reverse=True)
