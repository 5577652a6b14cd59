"""The smallest machine first: the least GPU memory that is rented, whatever it costs."""

from __future__ import annotations

from planner.sizing.compare import compare
from planner.sizing.workload import BatchWorkload, Concurrency, ServingWorkload, Targets
from tests.sizing.markets import Row, setting

ROWS = (
    Row("H100-SXM5", price="0.10"),
    Row("L4", price="9"),
    Row("L4", count=4, price="1"),
    Row("L40S", price="2"),
)


def order(workload: ServingWorkload | BatchWorkload) -> list[tuple[str, int]]:
    made = setting(workload, ROWS)
    found = compare(made, made.place(), engine_version="test")
    assert all(candidate.class_ == 1 for candidate in found.candidates)
    return [(candidate.offer.accelerator, candidate.offer.gpu_count) for candidate in found.candidates]


def test_the_least_memory_comes_first_whatever_it_costs() -> None:
    few = ServingWorkload(
        concurrency=Concurrency(average=1, peak=2),
        targets=Targets(ttft_s="none", tpot_s="none"),
        objective="smallest",
    )
    assert order(few) == [("L4", 1), ("L40S", 1), ("H100-SXM5", 1), ("L4", 4)]
    assert order(few.model_copy(update={"objective": "cost"}))[0] == ("H100-SXM5", 1)


def test_machines_that_are_needed_count_all_together() -> None:
    many = BatchWorkload(request_count=400_000, deadline_hours=6, objective="smallest")
    made = setting(many, ROWS)
    found = compare(made, made.place(), engine_version="test").candidates
    rented = [
        each.machines * each.offer.gpu_count * each.offer.gpu_memory_bytes
        for each in found
        if each.class_ == 1
    ]
    assert rented == sorted(rented)
    assert max(each.machines for each in found) > 1
