"""How many replicas a load takes, and what the answer says of it."""

from __future__ import annotations

from typing import Any

import pytest

from planner.sizing.compare import compare
from planner.sizing.results import Comparison
from planner.sizing.workload import (
    BatchWorkload,
    Concurrency,
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
def test_ten_at_once_have_room_at_once_and_all_are_in_the_memory_shown(headroom_fraction: float) -> None:
    """One whose prompt is being read holds its cache, too."""
    asked = {
        "model": ModelReference(id="deepseek-ai/DeepSeek-R1"),
        "weights_format": "fp8",
        "output_tokens": OutputTokens(typical=400, maximum=400),
        "targets": Targets(ttft_s="none", tpot_s="none"),
        "headroom_fraction": headroom_fraction,
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
        memory = candidate.split
        fixed = memory.weights_bytes + memory.activation_bytes + memory.overhead_bytes
        one = compared(
            workload.model_copy(update={"concurrency": Concurrency(average=1, peak=1)}),
            Row("H200-SXM", count=8),
        ).candidates[0]
        request = one.split.kv_needed_bytes
        assert memory.kv_needed_bytes == pytest.approx(own * request, rel=1e-3)
        assert fixed + memory.kv_needed_bytes + memory.headroom_bytes <= memory.usable_bytes * 1.0001
        assert candidate.replicas == -(-10 // most)
        counted.add(candidate.replicas)
    assert len(counted) > 1
