"""How many replicas a load takes, and what the answer says of it."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest

from planner.sizing.compare import compare
from planner.sizing.results import Comparison
from planner.sizing.workload import (
    BatchWorkload,
    Concurrency,
    Filters,
    InputTokens,
    ModelReference,
    OutputTokens,
    ServingWorkload,
    Targets,
)
from tests.sizing.markets import Row, setting


def compared(workload: ServingWorkload | BatchWorkload, *rows: Row, **options: Any) -> Comparison:
    return compare(made := setting(workload, rows), made.place(), engine_version="test", **options)


def test_a_target_out_of_reach_sells_no_replicas_and_says_what_one_request_alone_gets() -> None:
    untargeted = ServingWorkload(
        concurrency=Concurrency(average=50, peak=500), targets=Targets(ttft_s="none", tpot_s=0.05)
    )
    asked = untargeted.model_copy(update={"targets": Targets(ttft_s=0.01, tpot_s=0.05)})
    least = compared(untargeted, Row("L40S")).candidates[0]
    found = compared(asked, Row("L40S")).candidates[0]
    assert (found.replicas, found.replicas_set_by) == (least.replicas, least.replicas_set_by)
    (miss,) = found.misses
    assert (miss.target, miss.asked) == ("ttft_s", 0.01)
    assert miss.best is not None
    assert miss.got is not None
    assert 0.01 < miss.best < miss.got
    alone = compared(
        asked.model_copy(update={"concurrency": Concurrency(average=1, peak=1)}), Row("L40S")
    ).candidates[0]
    assert alone.misses[0].got == pytest.approx(miss.best)


@pytest.mark.parametrize("headroom_fraction", [0.0, 0.1])
@pytest.mark.parametrize("objective", ["cost", "tpot"])
def test_ten_at_once_have_room_at_once_and_all_are_in_the_memory_shown(
    headroom_fraction: float, objective: str
) -> None:
    """One whose prompt is being read holds its cache, too. Of attention by requests, the fullest rank is shown."""
    asked = {
        "model": ModelReference(id="deepseek-ai/DeepSeek-R1"),
        "weights_format": "fp8",
        "output_tokens": OutputTokens(typical=400, maximum=400),
        "targets": Targets(ttft_s="none", tpot_s="none"),
        "headroom_fraction": headroom_fraction,
        "objective": objective,
    }
    counted = set()
    for tokens in range(30_000, 110_000, 10_000):
        lengths = InputTokens(typical=tokens, maximum=tokens)
        workload = ServingWorkload(
            **asked, input_tokens=lengths, concurrency=Concurrency(average=10, peak=10)
        )
        candidate = compared(workload, Row("H200-SXM", count=8)).candidates[0]
        most = candidate.requests_per_replica_maximum
        assert most is not None
        assert candidate.speed is not None
        own = candidate.speed.peak.concurrency / candidate.replicas
        assert own <= most + 1e-3
        groups = candidate.layout.dp
        assert groups == 1 or objective == "cost"
        each = own if groups == 1 else ceil(own / groups - 1e-3)
        memory = candidate.split
        fixed = memory.weights_bytes + memory.activation_bytes + memory.overhead_bytes
        request = (tokens + 400) * memory.kv_bytes_per_token
        assert memory.kv_needed_bytes == pytest.approx(each * request, rel=1e-3)
        assert fixed + memory.kv_needed_bytes + memory.headroom_bytes <= memory.usable_bytes * 1.0001
        assert candidate.replicas == -(-10 // most)
        counted.add((candidate.replicas, candidate.layout))
    assert len(counted) > 1


BEYOND = ServingWorkload(
    model=ModelReference(id="Qwen/Qwen3-32B"),
    input_tokens=InputTokens(typical=8000, maximum=8000),
    concurrency=Concurrency(average=20, peak=40),
    filters=Filters(regions=("tokyo",)),
)
TOKYO = (Row("H100-NVL", price="10"), Row("A100-SXM4-80GB", price="4"))
ELSEWHERE = Row("H200-SXM", price="6", places=("r2", "us"), count=8, ram_gib=512)
"""Two machines where it was asked for, neither of which gives the first token in time, and one elsewhere."""


def test_remedies_of_different_kinds_each_stand_with_the_month_that_asking_so_gives() -> None:
    found = compared(BEYOND, *TOKYO, ELSEWHERE)
    assert found.class_counts["1"] == 0
    assert [one.change for one in found.remedies] == ["weights_format", "ttft_s", "regions"]
    fp8, relaxed, elsewhere = found.remedies
    asked = (
        (fp8, BEYOND.model_copy(update={"weights_format": fp8.value})),
        (relaxed, BEYOND.model_copy(update={"targets": Targets(ttft_s=float(relaxed.value))})),
        (elsewhere, BEYOND.model_copy(update={"filters": Filters()})),
    )
    for remedy, workload in asked:
        answer = compared(workload, *TOKYO, ELSEWHERE)
        first = answer.candidates[0]
        assert answer.class_counts["1"] == remedy.candidates > 0
        assert (first.offer, first.layout, first.replicas, first.machines) == (
            remedy.offer, remedy.layout, remedy.replicas, remedy.machines
        )  # fmt: skip
        assert (first.monthly.total, first.monthly.complete) == (remedy.total, remedy.complete)
    assert found.smallest_change is not None
    assert found.smallest_change.change == "weights_format"


def test_each_filter_that_alone_hides_what_would_do_is_offered() -> None:
    asked = ServingWorkload(filters=Filters(regions=("tokyo",), price_per_month_maximum=100))
    dear_here, cheap_there = Row("H100-NVL", price="10"), Row("H200-SXM", price="0.05", places=("r2", "us"))
    found = compared(asked, dear_here, cheap_there, cheap_there)
    assert not found.candidates
    assert [(one.change, one.candidates) for one in found.remedies] == [
        ("regions", 2),
        ("price_per_month_maximum", 1),
    ]


def test_a_target_moved_by_little_comes_before_another_format() -> None:
    few = BEYOND.model_copy(update={"concurrency": Concurrency(average=1, peak=2)})
    best = compared(few, TOKYO[0]).candidates[0].misses[0].best
    assert best is not None
    missed = few.model_copy(update={"targets": Targets(ttft_s=best * 0.98)})
    first, second = compared(missed, TOKYO[0]).remedies
    assert (first.change, second.change) == ("ttft_s", "weights_format")
    assert best < float(first.value) <= 1.25 * best * 0.98


def test_where_nothing_runs_a_change_that_fits_without_headroom_is_better_than_none() -> None:
    model = ModelReference(id="meta-llama/Llama-3.1-70B-Instruct")
    workload = ServingWorkload(
        model=model, headroom_fraction=0.6, targets=Targets(ttft_s="none", tpot_s="none")
    )
    found = compared(workload, Row("H100-SXM5"))
    assert not found.candidates
    assert found.remedies
    assert found.remedies[0].candidates == 0
    assert found.smallest_change is None


def test_what_headroom_and_targets_cost_is_the_month_of_asking_without_them() -> None:
    workload = ServingWorkload(
        model=ModelReference(id="Qwen/Qwen3-32B"),
        input_tokens=InputTokens(typical=8000, maximum=8000),
        concurrency=Concurrency(average=20, peak=40),
        targets=Targets(ttft_s=2.5, tpot_s=0.05),
    )
    row = Row("H100-NVL", price="10")
    first = compared(workload, row).candidates[0]
    assert first.class_ == 1
    without: dict[str, dict[str, Any]] = {
        "headroom_fraction": {"headroom_fraction": 0.0},
        "ttft_s": {"targets": Targets(ttft_s="none", tpot_s=0.05)},
        "tpot_s": {"targets": Targets(ttft_s=2.5, tpot_s="none")},
    }
    expected = {}
    for target, update in without.items():
        other = compared(workload.model_copy(update=update), row).candidates[0]
        if other.machines < first.machines:
            expected[target] = (other.replicas, other.machines, other.monthly.total)
    assert expected, "the test must have something to hold"
    assert {one.given_up: (one.replicas, one.machines, one.total) for one in first.reliefs} == expected


def test_a_condition_that_costs_nothing_is_not_named() -> None:
    assert compared(ServingWorkload(), Row()).candidates[0].reliefs == ()
    sure = compared(ServingWorkload(replicas_minimum=3), Row()).candidates[0]
    assert (sure.machines, sure.reliefs) == (3, ())


LONG = ServingWorkload(
    model=ModelReference(id="Qwen/Qwen3-32B"),
    input_tokens=InputTokens(typical=7000, maximum=8000),
    concurrency=Concurrency(average=20, peak=40),
    targets=Targets(ttft_s=1.6, tpot_s=0.05),
)


def test_where_headroom_given_up_would_still_miss_a_target_the_target_is_the_reason() -> None:
    found = compared(LONG, Row("H100-NVL")).candidates[0]
    assert (found.replicas, found.replicas_set_by) == (7, "ttft_s")
    assert found.fewer_replicas is None, "one fewer misses the target and uses the headroom"
    bare = compared(LONG.model_copy(update={"headroom_fraction": 0.0}), Row("H100-NVL")).candidates[0]
    assert (bare.replicas, bare.replicas_set_by) == (7, "ttft_s")
    untargeted = LONG.model_copy(update={"targets": Targets(ttft_s="none", tpot_s="none")})
    assert compared(untargeted, Row("H100-NVL")).candidates[0].replicas_set_by == "headroom"


def test_one_replica_fewer_is_offered_only_where_it_takes_fewer_machines() -> None:
    alone, together = (compared(LONG, Row("H200-SXM", count=count)).candidates[0] for count in (1, 8))
    assert (alone.replicas_set_by, together.replicas_set_by) == ("ttft_s", "ttft_s")
    assert alone.fewer_replicas is not None
    assert alone.fewer_replicas.total < alone.monthly.total
    assert together.machines == 1
    assert together.fewer_replicas is None
