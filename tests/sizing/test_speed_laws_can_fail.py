"""Each law of speed, shown to fail once under a planted fault; and that half of what the laws see is served."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from planner.sizing import serving, speed
from planner.sizing.serving import ServingPoint, operate
from planner.sizing.speed import Replicas, StepParts
from planner.sizing.steady import Steady
from tests.sizing import test_speed
from tests.sizing.points import EIGHT_BILLION, constants, points

SIXTEEN_AT_A_RATE = replace(EIGHT_BILLION, load="rate", load_value=4.0)
SEVENTY_BILLION = replace(
    EIGHT_BILLION, always_read_bytes=140e9, prompt_tokens=10.0, prompt_attention_flops=0.0
)
PCIE_PAIR = replace(EIGHT_BILLION, tp=2, link_bytes_per_s=26e9)


def broken(law: Any, *arguments: Any) -> None:
    with pytest.raises(AssertionError):
        law.hypothesis.inner_test(*arguments)


def holds(law: Any, *arguments: Any) -> None:
    law.hypothesis.inner_test(*arguments)


def test_half_of_the_examples_are_served() -> None:
    served: list[bool] = []

    @settings(max_examples=300, derandomize=True, database=None)
    @given(points())
    def count(point: ServingPoint) -> None:
        served.append(not operate([point], constants())[0].overloaded)

    count()
    assert 0.4 < float(np.mean(served)) < 0.95


def test_reading_half_of_the_weights_breaks_never_faster_than_bandwidth_allows(monkeypatch: Any) -> None:
    law = test_speed.test_a_step_is_never_faster_than_bandwidth_and_compute_allow
    holds(law, SEVENTY_BILLION, 1.0)
    monkeypatch.setattr(speed, "weights_read_bytes", lambda replicas, tokens: replicas.always_read_bytes / 2)
    broken(law, SEVENTY_BILLION, 1.0)


def test_computing_at_twice_the_peak_breaks_never_faster_than_compute_allows(monkeypatch: Any) -> None:
    law = test_speed.test_a_step_is_never_faster_than_bandwidth_and_compute_allow
    slow = replace(EIGHT_BILLION, matrix_flops_per_s=5e13, attention_flops_per_s=5e13, kv_read_bytes=1e4)
    holds(law, slow, 2000.0)
    monkeypatch.setattr("planner.sizing.constants.MAXIMUM", {})
    monkeypatch.setattr(
        test_speed, "CONSTANTS", constants(decode_compute_fraction=2.0, prefill_compute_fraction=2.0)
    )
    broken(law, slow, 2000.0)


def test_a_step_that_shrinks_with_the_batch_breaks_more_concurrency_never_helps_a_user(
    monkeypatch: Any,
) -> None:
    law = test_speed.test_more_concurrency_never_raises_the_speed_of_a_user
    whole = speed.decode_step
    holds(law, SEVENTY_BILLION, 4.0)

    def shrinking(replicas: Replicas, batch: Any) -> StepParts:
        found = whole(replicas, batch)
        return StepParts(
            found.memory_s, found.compute_s, found.roof_s / batch**0.5, found.link_s, found.overhead_s
        )

    monkeypatch.setattr("planner.sizing.steady.decode_step", shrinking)
    broken(law, SEVENTY_BILLION, 4.0)


def test_prompts_that_cost_nothing_in_a_crowd_break_a_higher_rate_never_helps_a_user(
    monkeypatch: Any,
) -> None:
    law = test_speed.test_a_higher_rate_never_raises_the_speed_of_a_user
    holds(law, SIXTEEN_AT_A_RATE, 3.0)
    whole = Steady.at

    def forgiving(self: Steady, batch: Any) -> Any:
        state = whole(self, batch)
        return replace(state, ttft_s=state.ttft_s / (1.0 + state.batch))

    monkeypatch.setattr(Steady, "at", forgiving)
    broken(law, SIXTEEN_AT_A_RATE, 3.0)


@pytest.mark.parametrize(
    ("what", "point"),
    [
        ("bandwidth_bytes_per_s", SIXTEEN_AT_A_RATE),
        ("matrix_flops_per_s", SIXTEEN_AT_A_RATE),
        ("link_bytes_per_s", replace(PCIE_PAIR, load="rate", load_value=1.0)),
    ],
)
def test_a_rate_used_upside_down_breaks_a_better_device_never_slows(
    what: str, point: ServingPoint, monkeypatch: Any
) -> None:
    law = test_speed.test_a_better_device_never_slows
    holds(law, point, what, 2.0)
    start = float(getattr(point, what))
    whole = serving.operate

    def upside_down(asked: Any, known: Any) -> Any:
        return whole([replace(one, **{what: start * start / getattr(one, what)}) for one in asked], known)

    monkeypatch.setattr(test_speed, "operate", upside_down)
    broken(law, point, what, 2.0)


def test_a_latency_under_overload_breaks_overload_gets_none(monkeypatch: Any) -> None:
    law = test_speed.test_overload_gets_no_latency_but_what_it_bears
    crowded = replace(EIGHT_BILLION, load="rate", load_value=1e4)
    holds(law, crowded)
    calm = operate([replace(crowded, load_value=1.0)], test_speed.CONSTANTS)[0]
    whole = serving.operate

    def with_a_latency(asked: Any, known: Any) -> Any:
        return [replace(one, ttft_s=calm.ttft_s, tpot_s=calm.tpot_s) for one in whole(asked, known)]

    monkeypatch.setattr(test_speed, "operate", with_a_latency)
    broken(law, crowded)


def test_counting_one_replica_too_few_breaks_the_replicas_meet_the_targets(monkeypatch: Any) -> None:
    law = test_speed.test_the_replicas_counted_meet_the_targets
    holds(law, EIGHT_BILLION, 500.0, 20.0, 0.012)
    whole = serving.replicas_for

    def one_less(*arguments: Any, **options: Any) -> Any:
        return [count - 1 if count else count for count in whole(*arguments, **options)]

    monkeypatch.setattr(test_speed, "replicas_for", one_less)
    broken(law, EIGHT_BILLION, 500.0, 20.0, 0.012)
