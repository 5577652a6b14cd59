"""Speculative decoding: what a draft yields, what it costs, and how unsure it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.serving import ServingPoint, operate
from planner.sizing.speculation import Draft, accepted, draft_of
from planner.sizing.workload import RuntimeChoice, RuntimeOptions, ServingWorkload
from tests.sizing.markets import Row, setting
from tests.sizing.points import EIGHT_BILLION, constants


def with_draft(point: ServingPoint, tokens: int, acceptance: float) -> ServingPoint:
    return replace(point, drafted=float(tokens), accepted=accepted(tokens, acceptance))


@given(st.integers(1, 8), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_step_yields_one_token_at_least_and_all_drafted_and_one_at_most(
    tokens: int, less: float, more: float
) -> None:
    low, high = sorted((less, more))
    assert 1.0 <= accepted(tokens, low) <= accepted(tokens, high) <= tokens + 1 + 1e-9


def test_the_mean_is_that_of_a_loop_over_where_the_draft_ends() -> None:
    chance = 0.7
    ends = sum(n * chance ** (n - 1) * (1 - chance) for n in range(1, 4)) + 4 * chance**3
    assert accepted(3, chance) == pytest.approx(ends)


def test_a_lone_stream_gains_nearly_what_is_accepted_and_a_crowd_that_computes_loses() -> None:
    lone = replace(EIGHT_BILLION, load_value=1.0)
    plain, drafted = operate([lone, with_draft(lone, 3, 0.7)], constants())
    assert plain.tpot_s is not None
    assert drafted.tpot_s is not None
    gain = plain.tpot_s.value / drafted.tpot_s.value
    assert 1.8 < gain < accepted(3, 0.7)
    full = replace(
        EIGHT_BILLION, load="saturated", batch_cap=4000.0, kv_room_bytes=1e13, kv_read_bytes=1e4,
        matrix_flops_per_s=1e14, attention_flops_per_s=1e14,
    )  # fmt: skip
    plain, drafted = operate([full, with_draft(full, 3, 0.3)], constants())
    assert drafted.request_rate_per_s < plain.request_rate_per_s


def test_an_assumed_acceptance_widens_the_range_and_a_stated_one_does_not() -> None:
    assumed = draft_of(RuntimeOptions(speculative_tokens=3))
    stated = draft_of(RuntimeOptions(speculative_tokens=3, speculative_acceptance=0.7))
    assert assumed is not None
    assert stated is not None
    assert assumed.accepted == stated.accepted
    assert assumed.spread[0] < 1.0 < assumed.spread[1]
    assert stated.spread == (1.0, 1.0)
    assert assumed.assumption.low == 0.5
    assert stated.assumption.user_set


def test_the_comparison_is_faster_with_a_draft_and_names_the_assumption() -> None:
    def first(options: RuntimeOptions) -> tuple[float, set[str]]:
        made = setting(ServingWorkload(runtime=RuntimeChoice(options=options)), [Row()])
        (placed,) = made.place()
        names = {item.name for item in made.assumptions(placed)}  # type: ignore[arg-type]
        return placed.typical.tpot_s.value, names  # type: ignore[union-attr]

    plain, without = first(RuntimeOptions())
    drafted, named = first(RuntimeOptions(speculative_tokens=3))
    assert drafted < plain
    assert "speculative_acceptance" in named - without


def test_drafts_are_part_of_the_document_and_a_wrong_one_is_refused() -> None:
    with pytest.raises(ValueError, match="less than or equal to 16"):
        RuntimeOptions(speculative_tokens=17)
    with pytest.raises(ValueError, match="less than or equal to 1"):
        Draft(tokens=1, acceptance=1.5)
