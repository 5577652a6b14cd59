"""Laws of step times and steady state, pins, and a plain loop beside the arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.sizing.constants import Spread
from planner.sizing.quantities import Estimate
from planner.sizing.serving import OperatingPoint, ServingPoint, Steady, operate, replicas_for
from planner.sizing.speed import decode_step, experts_touched, prefill_s
from tests.sizing.points import EIGHT_BILLION, constants, points

CONSTANTS = constants()
ALMOST = 1.0 + 1e-5
few = settings(max_examples=40)


def at(point: ServingPoint) -> OperatingPoint:
    return operate([point], CONSTANTS)[0]


def steady(point: ServingPoint) -> Steady:
    return Steady([point], CONSTANTS.resolve(point.classes)[:, np.newaxis])


def value(estimate: Estimate | None) -> float:
    assert estimate is not None
    return estimate.value


def test_one_stream_reads_every_weight_once_a_token() -> None:
    found = at(replace(EIGHT_BILLION, load_value=1.0))
    weights_s = 15.0e9 / (3.35e12 * 0.8)
    kv_s = 1150 * 131072 / (3.35e12 * 0.7)
    overhead_s = 1e-3 + 32 * 4e-5 + 1e-5
    assert value(found.tpot_s) == pytest.approx(weights_s + kv_s + overhead_s, rel=2e-3)
    assert found.limit == "memory_bandwidth"


def test_a_plain_loop_gives_the_same_step_and_load() -> None:
    k = {item.name: item.base for item in CONSTANTS.constants}
    p = replace(EIGHT_BILLION, tp=4, experts=8, experts_per_token=2, experts_read_bytes=1e9, load_value=40.0)
    found = at(p)
    b = found.batch
    touched = 8 * (1 - (1 - 2 / 8) ** (1 + (b - 1) * k["routing_spread"]))
    read = 1 - (1 - k["expert_read_fraction"]) * (touched - 2) / (8 - 2)
    memory_s = (
        (p.always_read_bytes + touched * p.experts_read_bytes / read) / k["weight_read_fraction"]
        + b * p.kv_read_bytes / k["kv_read_fraction"]
    ) / p.bandwidth_bytes_per_s
    compute_s = (
        b
        / k["decode_compute_fraction"]
        * (
            p.linear_flops_per_token / p.matrix_flops_per_s
            + p.decode_attention_flops / p.attention_flops_per_s
        )
    )
    n = k["roof_exponent"]
    size = 2 * 3 / 4 * b * p.hidden * 2
    link_s = (
        2 * p.layers * (k["hop_s"] * 2 ** k["hop_growth"] + size / (p.link_bytes_per_s * k["link_fraction"]))
    )
    overhead_s = k["step_fixed_s"] + p.layers * k["step_layer_s"] + b * k["step_sequence_s"]
    step_s = (memory_s**n + compute_s**n) ** (1 / n) + link_s + overhead_s
    assert found.step_s == pytest.approx(step_s, rel=1e-9)
    tpot_s = step_s + (b - 1) * found.prompt_share_s / (p.output_tokens - 1)
    assert value(found.tpot_s) == pytest.approx(tpot_s, rel=1e-9)
    # Little: what is in flight is the rate times the time a request stays.
    stay_s = value(found.ttft_s) + (p.output_tokens - 1) * tpot_s
    assert found.request_rate_per_s * stay_s == pytest.approx(40.0, rel=1e-3)


def test_many_points_at_once_are_answered_as_one_by_one() -> None:
    many = [replace(EIGHT_BILLION, load_value=float(n), tp=tp) for n in (1, 7, 300) for tp in (1, 2, 8)]
    together = operate(many, CONSTANTS)
    assert together == [at(point) for point in many]


def test_experts_touched_follow_the_coverage_formula() -> None:
    point = replace(EIGHT_BILLION, experts=128, experts_per_token=8)
    spread_out = Steady([point], constants(routing_spread=1.0).resolve(point.classes)[:, np.newaxis])
    touched = experts_touched(spread_out.replicas, np.array([32.0]))
    assert touched[0] == pytest.approx(128 * (1 - (1 - 8 / 128) ** 32))


@few
@given(points(), st.floats(1, 2000))
def test_a_step_is_never_faster_than_bandwidth_and_compute_allow(point: ServingPoint, batch: float) -> None:
    replicas = steady(point).replicas
    step = decode_step(replicas, np.array([batch]))
    share = max(batch / point.pp, 1.0)
    least_read = point.always_read_bytes + share * point.kv_read_bytes
    assert step.total_s[0] >= least_read / point.bandwidth_bytes_per_s
    assert step.total_s[0] >= share * point.linear_flops_per_token / point.matrix_flops_per_s
    whole = prefill_s(replicas, np.array([point.prompt_tokens]), np.ones(1), np.array([point.chunk_tokens]))
    work = point.prompt_tokens * point.linear_flops_per_token / point.matrix_flops_per_s
    assert whole[0] >= work / point.pp


@few
@given(points(), st.floats(1.01, 50))
def test_more_concurrency_never_raises_the_speed_of_a_user(point: ServingPoint, more: float) -> None:
    calm = at(replace(point, load="concurrency", load_value=max(1.0, point.load_value)))
    busy = at(replace(point, load="concurrency", load_value=max(1.0, point.load_value) * more))
    if calm.tpot_s is None or busy.tpot_s is None:
        assert busy.tpot_s is None or calm.tpot_s is not None
        return
    assert value(busy.tpot_s) * ALMOST >= value(calm.tpot_s)
    assert value(busy.ttft_s) * ALMOST >= value(calm.ttft_s)
    # Where prompts alone fill the engine, tokens stay level as the crowd grows.
    assert value(busy.output_tokens_per_s) * 1.02 >= value(calm.output_tokens_per_s)


@few
@given(points(), st.floats(1.01, 20))
def test_a_higher_rate_never_raises_the_speed_of_a_user(point: ServingPoint, more: float) -> None:
    calm = at(replace(point, load="rate"))
    busy = at(replace(point, load="rate", load_value=point.load_value * more))
    if busy.tpot_s is None:
        return
    assert value(busy.tpot_s) * ALMOST >= value(calm.tpot_s)
    assert value(busy.ttft_s) * ALMOST >= value(calm.ttft_s)


@few
@given(
    points(),
    st.sampled_from(
        ["bandwidth_bytes_per_s", "matrix_flops_per_s", "attention_flops_per_s", "link_bytes_per_s"]
    ),
    st.floats(1.01, 20),
)
def test_a_better_device_never_slows(point: ServingPoint, what: str, more: float) -> None:
    before = at(point)
    after = at(replace(point, **{what: getattr(point, what) * more}))
    assert before.overloaded or not after.overloaded
    if before.tpot_s is None or after.tpot_s is None:
        return
    assert after.step_s <= before.step_s * ALMOST or point.load == "concurrency"
    assert value(after.output_tokens_per_s) * ALMOST >= value(before.output_tokens_per_s)
    if point.load == "rate":
        assert value(after.tpot_s) <= value(before.tpot_s) * ALMOST
        assert value(after.ttft_s) <= value(before.ttft_s) * ALMOST


@few
@given(points())
def test_overload_gets_no_latency_but_what_it_bears(point: ServingPoint) -> None:
    found = at(replace(point, load="rate"))
    if found.overloaded:
        assert found.ttft_s is None
        assert found.tpot_s is None
        assert found.batch_limit in ("kv_room", "batch_cap")
        assert found.bearable_rate_per_s > 0
    else:
        assert found.bearable_rate_per_s * ALMOST >= point.load_value


def test_a_rate_just_under_the_bearable_one_is_served_and_just_above_is_not() -> None:
    most = at(replace(EIGHT_BILLION, load="rate", load_value=1e6)).bearable_rate_per_s
    assert not at(replace(EIGHT_BILLION, load="rate", load_value=most * 0.99)).overloaded
    assert at(replace(EIGHT_BILLION, load="rate", load_value=most * 1.01)).overloaded


def test_a_replica_without_room_for_one_request_is_overloaded() -> None:
    found = at(replace(EIGHT_BILLION, kv_room_bytes=1e6))
    assert found.overloaded
    assert found.limit == "kv_room"


@few
@given(points(), st.floats(1, 1000), st.floats(0.05, 20), st.floats(0.005, 2))
def test_the_replicas_counted_meet_the_targets(
    point: ServingPoint, load: float, ttft_s: float, tpot_s: float
) -> None:
    (count,) = replicas_for([point], [load], ttft_s, tpot_s, CONSTANTS)
    if count is None:
        return
    found = at(
        replace(point, load_value=max(load / count, 1.0) if point.load == "concurrency" else load / count)
    )
    assert not found.overloaded
    assert value(found.ttft_s) <= ttft_s * 1.001
    assert value(found.tpot_s) <= tpot_s * 1.001


def test_one_replica_fewer_would_miss_the_target() -> None:
    point = EIGHT_BILLION
    (count,) = replicas_for([point], [500.0], None, 0.012, CONSTANTS)
    assert count is not None
    assert count > 1
    assert value(at(replace(point, load_value=500.0 / count)).tpot_s) <= 0.012
    assert value(at(replace(point, load_value=500.0 / (count - 1))).tpot_s) > 0.012


def test_a_target_below_one_stream_needs_no_count_of_replicas() -> None:
    assert replicas_for([EIGHT_BILLION], [8.0], None, 0.001, CONSTANTS) == [None]


def test_pipeline_stages_do_not_speed_up_one_stream() -> None:
    one = value(at(replace(EIGHT_BILLION, load_value=1.0)).tpot_s)
    four = value(at(replace(EIGHT_BILLION, load_value=1.0, pp=4)).tpot_s)
    assert four >= one


def test_a_range_is_wider_where_nobody_measured_the_engine_or_the_device() -> None:
    one = constants().model_copy(update={"spreads": {"decode_batched": Spread(low=0.8, high=1.25, count=50)}})
    known = one.constants[0].model_copy(
        update={"by": {"engine": {"vllm": 1.0}, "device": {"hopper_hbm": 1.0}}}
    )
    measured = one.model_copy(update={"constants": (known, *one.constants[1:])})
    near = operate([EIGHT_BILLION], measured)[0].tpot_s
    far = operate([EIGHT_BILLION], one)[0].tpot_s
    assert near is not None
    assert far is not None
    assert near.value == far.value
    assert near.high / near.low == pytest.approx(1.25 / 0.8)
    assert far.high / far.low == pytest.approx((1.25 / 0.8) ** 1.5)


def test_requests_put_back_for_want_of_cache_wait_between_tokens_and_planned_ones_are_not() -> None:
    crowded = replace(
        EIGHT_BILLION, kv_room_bytes=20 * 1300 * 131072.0, kv_prompt_bytes=500 * 131072.0, load_value=200.0
    )
    whole = replace(crowded, kv_prompt_bytes=crowded.kv_full_bytes)
    never = constants(preempted_share=1e-9)
    for point, longer in ((crowded, True), (whole, False)):
        (waits,), (plain,) = operate([point], CONSTANTS), operate([point], never)
        assert (value(waits.tpot_s) > 1.05 * value(plain.tpot_s)) == longer
        assert waits.request_rate_per_s == plain.request_rate_per_s
