"""One call of the planner: its queries, its memory of prices, its refusals."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from pytest_django import DjangoAssertNumQueries

from planner import services
from planner.architectures import UnknownModel
from planner.sizing.architecture import ModelError
from planner.sizing.llm import LlmSetting
from planner.sizing.placement import Placement
from planner.sizing.results import Candidate, Rejection
from planner.sizing.runtime import UnknownRuntime
from planner.sizing.setting import Refusal
from planner.sizing.workload import (
    BatchWorkload,
    Concurrency,
    Filters,
    ModelReference,
    RuntimeChoice,
    ServingWorkload,
)
from tests.planner.factories import make_offer, make_small_catalog, set_price

pytestmark = pytest.mark.django_db


def test_a_comparison_ranks_the_offers_of_the_database(at: datetime) -> None:
    offers = make_small_catalog()
    found = services.compare(ServingWorkload(), at=at)
    assert {candidate.offer.offer_id for candidate in found.candidates} == {offer.pk for offer in offers[:3]}
    assert found.rejected_counts == {"tier": 1}
    assert found.cheapest_offer_id == offers[1].pk
    assert found.priced_at == at
    # By hand: 730 h × 1.10 + 100 GB × 0.08 + nothing for 50 GB out = 803.00 + 8.00.
    assert found.candidates[0].monthly.total == Decimal("811.00")


@pytest.mark.parametrize("offers", [0, 40])
def test_a_comparison_asks_the_database_once(
    at: datetime, offers: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_small_catalog()
    for number in range(offers):
        make_offer("L4", "0.80", sku=f"l4-{number}", provider=f"p{number}")
    services.compare(ServingWorkload(), at=at)
    with django_assert_num_queries(1):
        services.compare(ServingWorkload(request_rate_per_s=3), at=at)
    with django_assert_num_queries(1):
        services.compare(BatchWorkload(), at=at, limit=200, rejected_limit=None)


def test_the_same_moment_gives_the_same_answer_after_prices_changed(at: datetime) -> None:
    offers = make_small_catalog(at - timedelta(days=1))
    before = services.compare(ServingWorkload(), at=at)
    set_price(offers[1], "0.50", at=at + timedelta(hours=1), observed_on=at.date())
    make_offer("L4", "0.30", at=at + timedelta(hours=1))
    again = services.compare(ServingWorkload(), at=at)
    later = services.compare(ServingWorkload(), at=at + timedelta(hours=2))
    assert again.candidates == before.candidates
    assert again.rejected == before.rejected
    assert later.candidates[0].monthly.total < before.candidates[0].monthly.total


def test_the_answer_names_the_workload_as_it_was_computed(at: datetime) -> None:
    found = services.compare(ServingWorkload(), at=at)
    assert found.workload["runtime"]["version"]
    assert found.workload["concurrency"] == {"average": 8, "peak": 32}
    assert found.model["parameters"] == 8_030_261_248


def test_every_assumption_has_a_name_a_unit_and_a_source(at: datetime) -> None:
    make_small_catalog()
    found = services.compare(ServingWorkload(currency="JPY"), at=at)
    names = [assumption.name for assumption in found.assumptions]
    assert "exchange_rate" in names
    assert len(names) == len(set(names))
    assert all(assumption.unit and assumption.source for assumption in found.assumptions)


def test_one_offer_is_explained_or_its_rejection_is(at: datetime) -> None:
    offers = make_small_catalog()
    candidate = services.candidate(ServingWorkload(), at=at, offer_id=offers[0].pk)
    rejection = services.candidate(ServingWorkload(), at=at, offer_id=offers[3].pk)
    assert isinstance(candidate, Candidate)
    assert candidate.derivations
    assert isinstance(rejection, Rejection)
    assert rejection.reason == "tier"


def test_an_unknown_offer_is_said_to_be_unknown(at: datetime) -> None:
    with pytest.raises(services.UnknownOffer):
        services.candidate(ServingWorkload(), at=at, offer_id=10**9)


def test_an_unknown_model_is_named_with_the_nearest(at: datetime) -> None:
    with pytest.raises(UnknownModel) as caught:
        services.compare(ServingWorkload(model=ModelReference(id="meta-llama/Llama-9-8B")), at=at)
    assert caught.value.params["name"] == "meta-llama/Llama-9-8B"


def test_a_model_of_an_uncovered_kind_is_refused_by_name(at: datetime) -> None:
    with pytest.raises(ModelError) as caught:
        services.compare(ServingWorkload(model=ModelReference(id="BAAI/bge-m3")), at=at)
    assert "bge-m3" in str(caught.value)


def test_an_unknown_engine_version_is_refused_by_name(at: datetime) -> None:
    with pytest.raises(UnknownRuntime):
        services.compare(ServingWorkload(runtime=RuntimeChoice(version="latest")), at=at)


@pytest.mark.parametrize(
    "document",
    [
        {"request_rate_per_s": 1e6},
        {"concurrency": {"average": 1e6, "peak": 1e6}},
        {"concurrency": {"average": 0.001, "peak": 0.001}},
        {"input_tokens": {"typical": 10_000_000, "maximum": 10_000_000}},
        {"output_tokens": {"typical": 1, "maximum": 1}, "input_tokens": {"typical": 1, "maximum": 1}},
        {"storage_gb": 1e9, "egress_gb_per_month": 1e9, "replicas_minimum": 10_000},
        {"headroom_fraction": 0.9},
        {"schedule": {"hours_per_day": 1e-9, "days_per_month": 1e-9, "starts_per_day": 1440}},
        {"targets": {"ttft_s": 1e-9, "tpot_s": 1e-9}},
        {
            "runtime": {
                "options": {"max_num_batched_tokens": 1, "max_num_seqs": 1, "gpu_memory_utilization": 0.06}
            }
        },
        {"prefix_hit_fraction": 0.999999},
        {"budget_per_month": 0.001, "filters": {"price_per_month_maximum": 1e12}},
        {"kind": "llm_batch", "request_count": 10**12},
        {"kind": "llm_batch", "request_count": 1, "deadline_hours": 1e-6, "schedule": {"starts_per_day": 0}},
        {"kind": "llm_batch", "deadline_hours": "none", "objective": "finish"},
    ],
)
def test_extreme_workloads_have_an_answer(at: datetime, document: dict[str, object]) -> None:
    from planner import documents

    make_small_catalog()
    found = services.compare(documents.validate(document), at=at)
    assert found.candidates_total + sum(found.rejected_counts.values()) == 4
    for candidate in found.candidates:
        assert candidate.replicas >= 1
        assert candidate.machines >= 1
        assert candidate.idle_gpus >= 0
        assert candidate.monthly.total >= 0


def test_filters_currency_and_order_are_answered_from_kept_placements(
    at: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_small_catalog()
    calls: list[LlmSetting] = []
    place = LlmSetting.place

    def noted(setting: LlmSetting) -> list[Placement | Refusal]:
        calls.append(setting)
        return place(setting)

    monkeypatch.setattr(LlmSetting, "place", noted)
    first = services.compare(ServingWorkload(), at=at)
    yen = services.compare(ServingWorkload(currency="JPY", filters=Filters(include=("L40S",))), at=at)
    assert len(calls) == 1
    assert yen.candidates_total == 1
    assert yen.candidates[0].speed == first.candidates[0].speed
    services.compare(ServingWorkload(concurrency=Concurrency(average=8, peak=33)), at=at)
    assert len(calls) == 2
    make_offer("L4", "0.8")
    assert services.compare(ServingWorkload(), at=at).candidates_total == first.candidates_total + 1


def test_no_answer_lists_more_rejected_offers_than_anyone_reads(
    at: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_small_catalog()
    for number in range(6):
        make_offer("RTX3070", "0.1", sku=f"small-{number}")
    monkeypatch.setattr(services, "REJECTED_MAXIMUM", 3)
    found = services.compare(ServingWorkload(), at=at, rejected_limit=None)
    assert len(found.rejected) == 3
    assert found.rejected_counts == {"memory": 6, "tier": 1}
