"""What differs between two versions: question, prices, results, assumptions."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from planner.sizing.results import Comparison
from reports.diff import Change, Side, WorkloadDiff, compare_workloads
from reports.totals import common_totals
from tests.reports.factories import many_candidates, small_comparison

pytestmark = pytest.mark.django_db


def one(a: Comparison, b: Comparison) -> WorkloadDiff:
    (found,) = compare_workloads([Side(1, "", a.kind, a)], [Side(1, "", b.kind, b)])
    return found


def repriced(comparison: Comparison, factor: str, on: date) -> Comparison:
    def dearer(candidate: Any) -> Any:
        amount = candidate.offer.price_amount * Decimal(factor)
        offer = candidate.offer.model_copy(update={"price_amount": amount, "price_observed_on": on})
        monthly = candidate.monthly.model_copy(update={"total": candidate.monthly.total * Decimal(factor)})
        return candidate.model_copy(update={"offer": offer, "monthly": monthly})

    return comparison.model_copy(update={"candidates": tuple(map(dearer, comparison.candidates))})


def test_the_same_answer_differs_in_nothing(catalog: None) -> None:
    comparison = small_comparison()
    assert one(comparison, comparison).state == "same"


def test_a_changed_question_is_told_by_its_path(catalog: None) -> None:
    diff = one(small_comparison(), small_comparison(headroom_fraction=0.2))
    assert Change("question", ("headroom_fraction",), 0.1, 0.2) in diff.of("question")
    assert len(diff.of("question")) == 1


def test_a_changed_price_is_told_with_its_machine_day_and_ratio(catalog: None) -> None:
    before = small_comparison()
    diff = one(before, repriced(before, "1.25", date(2026, 11, 29)))
    prices = [each for each in diff.of("price") if each.path == ("price_amount",)]
    assert len(prices) == len(before.candidates)
    assert all(each.ratio == pytest.approx(1.25) for each in prices)
    assert {each.after for each in diff.of("price") if each.path == ("price_observed_on",)} == {"2026-11-29"}
    totals = [each for each in diff.of("result") if each.path == ("monthly",)]
    assert len(totals) == len(before.candidates)
    assert diff.of("question") == ()


def test_machines_that_appear_and_vanish_are_named(catalog: None) -> None:
    before = small_comparison()
    diff = one(before, many_candidates(before, 3))
    assert len(diff.appeared) == 3
    assert len(diff.vanished) == len(before.candidates)
    assert one(many_candidates(before, 3), before).appeared == diff.vanished


def test_added_and_removed_workloads_are_told(catalog: None) -> None:
    side = Side(1, "a", "llm_serving", small_comparison())
    other = Side(2, "b", "llm_serving", side.comparison)
    assert [each.state for each in compare_workloads([side], [side, other])] == ["same", "added"]
    assert [each.state for each in compare_workloads([side, other], [side])] == ["same", "removed"]


def test_every_difference_vanishes_when_sides_are_equal_and_turns_when_they_are_swapped(
    catalog: None,
) -> None:
    a, b = small_comparison(), small_comparison(weights_format="fp8")
    there = {(c.area, c.path, c.subject): (c.before, c.after) for c in one(a, b).changes}
    back = {(c.area, c.path, c.subject): (c.after, c.before) for c in one(b, a).changes}
    assert there == back
    assert there


def test_totals_of_several_workloads_are_added_within_one_currency_only(catalog: None) -> None:
    dollars, yen = small_comparison(), small_comparison(currency="JPY")
    nothing = dollars.model_copy(update={"candidates": ()})
    found = common_totals([dollars, yen, dollars])
    assert [(each.currency, each.amount) for each in found] == [
        ("USD", dollars.candidates[0].monthly.total * 2),
        ("JPY", yen.candidates[0].monthly.total),
    ]
    assert common_totals([dollars, nothing])[0].complete is False
    assert common_totals([]) == ()
