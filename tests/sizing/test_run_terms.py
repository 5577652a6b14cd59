"""One run on each term of sale of its machine: on demand, committed, by the month, spot; here and elsewhere."""

from __future__ import annotations

from decimal import Decimal
from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.sizing.results import Candidate, TermCost
from planner.sizing.run_terms import advice
from planner.sizing.training.workload import Checkpoints, PretrainingWorkload
from planner.sizing.workload import ServingWorkload
from tests.sizing.markets import Row, setting
from tests.sizing.training.test_setting import answer

HERE = Row("H100-SXM5", 8, "20", vcpu=192, ram_gib=2048)
YEAR = Row("H100-SXM5", 8, "10", tier="reserved", term_months=12, vcpu=192, ram_gib=2048)
MONTH = Row("H100-SXM5", 8, "12", tier="reserved", term_months=1, vcpu=192, ram_gib=2048)
SPOT = Row("H100-SXM5", 8, "8", tier="spot", vcpu=192, ram_gib=2048)


def run_on(*rows: Row, **changes: Any) -> Candidate:
    asked = {"parameters_billion": 1, "tokens_billion": 20, "machines_maximum": 1, "deadline_hours": "none"}
    return answer(PretrainingWorkload(**(asked | changes)), *rows).candidates[0]


def by_tier(candidate: Candidate) -> dict[tuple[str, int | None], TermCost]:
    return {(cost.tier, cost.term_months): cost for cost in candidate.terms}


def test_on_demand_is_the_run_and_a_commitment_is_its_whole_term() -> None:
    found = run_on(HERE, YEAR, MONTH)
    hours = found.figures["run_hours"].value
    costs = by_tier(found)
    assert float(costs["on_demand", None].total) == pytest.approx(20 * hours, rel=0.001)
    assert costs["reserved", 12].total == Decimal(10 * 730 * 12)
    assert costs["reserved", 1].total == Decimal(12 * 730)
    assert costs["reserved", 12].hours_paid == 8760
    assert [cost.total for cost in found.terms] == sorted(cost.total for cost in found.terms)


def test_the_days_from_which_a_commitment_pays_are_its_cost_over_a_day_on_demand() -> None:
    costs = by_tier(run_on(HERE, YEAR, MONTH))
    assert costs["reserved", 12].pays_from_days == pytest.approx(10 * 8760 / (20 * 24), rel=0.001)
    assert costs["reserved", 1].pays_from_days == pytest.approx(12 * 730 / (20 * 24), rel=0.001)
    assert costs["on_demand", None].pays_from_days is None
    dear = by_tier(run_on(HERE, Row("H100-SXM5", 8, "21", tier="reserved", term_months=1, ram_gib=2048)))
    assert dear["reserved", 1].pays_from_days is None


def test_what_is_paid_upfront_is_part_of_a_term() -> None:
    upfront = Row("H100-SXM5", 8, "4", tier="reserved", term_months=12, upfront="40000", ram_gib=2048)
    costs = by_tier(run_on(HERE, upfront))
    assert float(costs["reserved", 12].total) == pytest.approx(4 * 8760 + 40_000, abs=0.1)


def test_a_run_longer_than_a_term_pays_the_next_one_too() -> None:
    found = run_on(HERE, MONTH, tokens_billion=8_000)
    hours = found.figures["run_hours"].value
    assert hours > 730
    assert by_tier(found)["reserved", 1].total == Decimal(12 * 730 * ceil(hours / 730))


def test_spot_repeats_what_interruptions_cost_and_is_left_out_without_checkpoints() -> None:
    found = run_on(HERE, SPOT)
    spot = by_tier(found)["spot", None]
    again = found.figures["rework_fraction"].value
    assert again > 0
    assert spot.hours_paid == pytest.approx(found.figures["run_hours"].value * (1 + again), rel=0.001)
    assert ("spot", None) not in by_tier(run_on(HERE, SPOT, checkpoints=Checkpoints(omitted=True)))


def test_another_provider_stands_there_only_where_it_costs_less() -> None:
    cheap = Row("H100-SXM5", 8, "15", provider="other", region="x", ram_gib=2048)
    dear = Row("H100-SXM5", 8, "30", provider="dear", region="y", ram_gib=2048)
    other_card = Row("A100-SXM4-80GB", 8, "1", provider="other", ram_gib=2048)
    terms = run_on(HERE, cheap, dear, other_card).terms
    assert [cost.provider for cost in terms][:1] == ["Other"]
    assert "Dear" not in {cost.provider for cost in terms}
    assert all(cost.total > 1 for cost in terms)


def test_the_advice_names_the_least_and_when_a_commitment_would_pay() -> None:
    codes = dict(advice(run_on(HERE, YEAR).terms))
    assert codes["cheapest"].tier == "on_demand"
    assert codes["pays_from"].term_months == 12
    dear = Row("H100-SXM5", 8, "21", tier="reserved", term_months=1, ram_gib=2048)
    assert set(dict(advice(run_on(HERE, dear).terms))) == {"cheapest", "never_pays"}
    assert set(dict(advice(run_on(HERE, MONTH, tokens_billion=8_000).terms))) == {"cheapest"}
    assert not dict(advice(()))


@given(st.floats(1, 2_000), st.floats(1, 20_000))
@settings(max_examples=25, deadline=None)
def test_a_longer_run_never_costs_less_on_any_term(billions: float, more: float) -> None:
    short = by_tier(run_on(HERE, YEAR, MONTH, SPOT, tokens_billion=billions))
    long = by_tier(run_on(HERE, YEAR, MONTH, SPOT, tokens_billion=billions + more))
    assert set(short) == set(long)
    for term, cost in short.items():
        assert cost.total <= long[term].total
        assert cost.hours_paid <= long[term].hours_paid


def test_a_service_has_no_run_to_compare() -> None:
    found = setting(ServingWorkload(), [Row()])
    placed = found.place()[0]
    assert found.run_hours(placed) is None  # type: ignore[arg-type]
