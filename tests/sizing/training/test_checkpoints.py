"""Checkpoints: sizes by content, the best interval, what interruptions cost."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.training import checkpoints
from planner.sizing.training.checkpoints import best_interval_s, wasted_fraction
from tests.sizing.training.jobs import job


def test_young_and_daly_by_hand() -> None:
    """δ = 5 min, M = 24 h: Young √(2 δ M) = 7200 s; Daly 7200 × (1 + ⅓ √(δ ÷ 2M) + ⅑ δ ÷ 2M) − 300."""
    write, between = 300.0, 86_400.0
    assert sqrt(2 * write * between) == 7200
    ratio = write / (2 * between)
    assert best_interval_s(write, between) == pytest.approx(7200 * (1 + sqrt(ratio) / 3 + ratio / 9) - 300)
    assert best_interval_s(write, between) == pytest.approx(7001, abs=1)


def test_an_interval_is_never_longer_than_it_takes_to_fail() -> None:
    assert best_interval_s(1000.0, 400.0) == 400.0


@given(st.floats(1.0, 600.0), st.floats(7200.0, 1e7))
def test_no_other_interval_loses_much_less_than_the_best(write: float, between: float) -> None:
    best = best_interval_s(write, between)
    least = wasted_fraction(write, best, 0.0, between)
    for factor in (0.25, 0.5, 2.0, 4.0):
        assert wasted_fraction(write, best * factor, 0.0, between) >= least * 0.99


def test_a_full_state_is_fourteen_bytes_a_parameter_and_weights_are_two() -> None:
    """BF16 weights, FP32 master and two FP32 moments; gradients are made again."""
    found = job(state="mixed")
    assert checkpoints.content_bytes(found, 10**9, 0, "full_state") == 14e9
    assert checkpoints.content_bytes(found, 10**9, 0, "weights") == 2e9


def test_adapters_alone_are_saved_of_a_lora() -> None:
    found = job(method="lora", rank=8, state="fp32")
    assert checkpoints.content_bytes(found, 10**9, 10**6, "weights") == 2e6


def test_failures_grow_with_the_gpus() -> None:
    """Llama 3: 16,384 GPUs failed every three hours."""
    found = checkpoints.mean_time_between_failures_s(16_384)
    assert found / 3600 == pytest.approx(3.1, abs=0.1)
    assert checkpoints.mean_time_between_failures_s(8) == pytest.approx(found * 2048)
