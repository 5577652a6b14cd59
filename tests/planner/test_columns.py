"""The columns of kinds of workload."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils.translation import override

from planner import kinds
from planner.sizing.compare import compare
from planner.sizing.offers import Terms
from planner.sizing.results import Candidate
from planner.sizing.weighing import UnknownSort
from planner.sizing.workload import BatchWorkload, Filters, ServingWorkload
from tests.sizing.markets import Row, setting

ROWS = (
    Row("H100-SXM5", price="2.49"), Row("L40S", price="1.10", terms=Terms("unknown")), Row("L4", count=4, price="3"),
    Row("A100-SXM4-80GB", price="1.60", provider="another"), Row("B200-SXM", price="5"),
)  # fmt: skip
SERVING = ServingWorkload(filters=Filters())
COLUMNS = kinds.columns_of(kinds.BY_NAME)
BY_KEY = {column.key: column for column in COLUMNS}
SORTS = kinds.of("llm_serving").sorts


def candidates(
    workload: ServingWorkload | BatchWorkload = SERVING, sort: str | None = None
) -> tuple[Candidate, ...]:
    return compare(made := setting(workload, ROWS), made.place(), engine_version="test", sort=sort).candidates


def test_keys_are_unique_and_titles_are_words() -> None:
    keys = [column.key for column in COLUMNS]
    assert len(keys) == len(set(keys))
    with override("en"):
        assert all(str(column.title) for column in COLUMNS)


@pytest.mark.parametrize("workload", [ServingWorkload(), BatchWorkload()])
def test_every_column_of_a_kind_reads_every_candidate(workload: ServingWorkload | BatchWorkload) -> None:
    for candidate in candidates(workload):
        for column in kinds.of(workload.kind).columns:
            value = column.value(candidate)
            if column.kind == "number" and value is not None:
                assert isinstance(value, int | float | Decimal)
            if column.kind == "money" and value is not None:
                assert isinstance(value, Decimal)
            if column.estimate is not None and (estimate := column.estimate(candidate)) is not None:
                assert estimate.low <= estimate.value <= estimate.high


def test_an_unknown_amount_is_none_and_not_zero() -> None:
    incomplete = next(c for c in candidates() if not c.monthly.complete)
    assert BY_KEY["monthly_storage"].value(incomplete) is None
    assert BY_KEY["per_gib"].value(incomplete) is None
    assert BY_KEY["missing"].value(incomplete) == "storage, egress"


def test_lines_of_money_sum_to_the_total() -> None:
    keys = ("monthly_gpu", "monthly_rework", "monthly_storage", "monthly_egress")
    for candidate in candidates():
        lines = [BY_KEY[key].value(candidate) for key in keys]
        assert sum(line for line in lines if isinstance(line, Decimal)) == candidate.monthly.total


def test_chosen_columns_keep_the_list_s_order_and_unknown_ones_are_ignored() -> None:
    serving = kinds.of("llm_serving")
    found = serving.chosen(("monthly", "provider", "nonsense"))
    assert [column.key for column in found] == ["provider", "monthly"]
    assert serving.chosen(("nonsense",)) == serving.chosen()
    assert "job_hours" not in [column.key for column in serving.columns]


NOT_NUMBERS = {"provider", "region", "accelerator"}


@pytest.mark.parametrize("sort", sorted(SORTS))
def test_sorting_by_a_column_orders_its_figures_within_each_class(sort: str) -> None:
    column = next(column for column in COLUMNS if column.sort == sort)
    for direction in ("", "-"):
        found = candidates(sort=f"{direction}{sort}")
        for class_ in (1, 2, 3):
            values = [column.value(candidate) for candidate in found if candidate.class_ == class_]
            known = [str(v).casefold() if sort in NOT_NUMBERS else float(v) for v in values if v is not None]  # type: ignore[arg-type]
            assert known == sorted(known, reverse=bool(direction))


def test_jobs_that_keep_a_machine_for_months_are_sorted_by_what_they_cost() -> None:
    rows = (
        Row("L4", price="300", unit="month"), Row("L40S", price="1.10"), Row("H100-SXM5", price="2.49"),
        Row("L40S", price="0.40", tier="reserved", term_months=12, upfront="2000", provider="another"),
    )  # fmt: skip
    workload = BatchWorkload(
        request_count=40_000_000, filters=Filters(tiers=("on_demand", "reserved")), deadline_hours="none"
    )
    made = setting(workload, rows)
    found = compare(made, made.place(), engine_version="test", sort="job_cost").candidates
    costs = [cost for candidate in found if candidate.batch and (cost := candidate.batch.cost) is not None]
    assert len(costs) == len(found) > 2
    assert costs == sorted(costs)
    totals = [candidate.monthly.total for candidate in found]
    assert any(candidate.monthly.sets > 1 for candidate in found)
    assert totals == sorted(totals), "the month's bill is that of all sets, so that both order alike"


@pytest.mark.parametrize("sort", ["finish", "job_cost"])
def test_jobs_can_be_sorted_by_time_and_cost(sort: str) -> None:
    column = next(column for column in COLUMNS if column.sort == sort)
    values = [column.value(candidate) for candidate in candidates(BatchWorkload(), sort)]
    assert values == sorted(values)  # type: ignore[type-var]


def test_an_unknown_column_cannot_be_sorted_by() -> None:
    with pytest.raises(UnknownSort):
        candidates(sort="password")
