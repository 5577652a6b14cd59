"""Speed of replicas at their load: what they reach, what limits them, and how many a load needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, floor, hypot, log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from planner.sizing.constants import UNFAMILIAR, Constants
from planner.sizing.quantities import Estimate
from planner.sizing.results import Limit, LoadPoint
from planner.sizing.roots import rising_root
from planner.sizing.speed import Array
from planner.sizing.steady import UNLIMITED, Load, ServingPoint, State, Steady

__all__ = [
    "UNLIMITED", "Load", "OperatingPoint", "ServingPoint", "State", "Steady", "operate", "replicas_for",
]  # fmt: skip

REPLICAS_MAXIMUM = 10_000
WORTH_MORE = 0.1
"""Twice the sequences must serve at least a tenth more, or the batch's end is not what limits."""
ROUNDING = 1e-9
ALONE = 1.5
"""Below this mean batch a request is taken to run alone: its range is the narrower one of single streams."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Speed of one replica at its load; means. Overloaded: no latency, only what it can bear."""

    batch: float
    request_rate_per_s: float
    requests_in_flight: float
    ttft_s: Estimate | None
    tpot_s: Estimate | None
    output_tokens_per_s: Estimate
    limit: Limit
    """The longest part of a step; the end of the batch, where more sequences at once would serve more."""
    longest_part: Limit
    batch_limit: Literal["offered_load", "kv_room", "batch_cap"]
    overloaded: bool
    bearable_rate_per_s: float
    step_s: float
    memory_s: float
    compute_s: float
    link_s: float
    overhead_s: float
    prefill_s: float
    """Of one prompt alone."""
    prompt_share_s: float
    """What one prompt takes from the decoding of the others."""

    def load_point(self, replicas: int) -> LoadPoint:
        """The same for ``replicas`` equal replicas, as the comparison shows it."""
        per_user = None
        if self.tpot_s is not None:
            per_user = Estimate(
                value=1 / self.tpot_s.value, low=1 / self.tpot_s.high, high=1 / self.tpot_s.low
            )
        rate = self.output_tokens_per_s
        total = Estimate(value=rate.value * replicas, low=rate.low * replicas, high=rate.high * replicas)
        return LoadPoint(
            concurrency=self.requests_in_flight * replicas,
            request_rate_per_s=self.request_rate_per_s * replicas,
            batch_per_replica=self.batch,
            ttft_s=self.ttft_s,
            tpot_s=self.tpot_s,
            output_tokens_per_s=total,
            output_tokens_per_s_per_user=per_user,
            output_tokens_per_s_per_replica=rate,
            overloaded=self.overloaded,
            limit=self.limit,
            bearable_rate_per_s=self.bearable_rate_per_s * replicas if self.overloaded else None,
        )


def _columns(points: Sequence[ServingPoint], constants: Constants) -> Array:
    return np.stack([constants.resolve(point.classes) for point in points], axis=1)


def operate(points: Sequence[ServingPoint], constants: Constants) -> list[OperatingPoint]:
    """Speed of every point at its load.

    A closed loop with more requests than run at once waits outside: TTFT = in flight ÷ rate − decode time.
    A rate above what the cap serves is overload: no latency is given.
    """
    if not points:
        return []
    steady = Steady(points, _columns(points, constants))
    state, cap, beyond = steady.solve()
    overloaded = (beyond & steady.by_rate & ~steady.within_limits) | (steady.room < 1.0)
    queued = beyond & ~steady.by_rate & ~steady.saturated
    in_flight = np.where(queued, steady.load_value, state.in_flight)
    ttft = np.where(
        queued, in_flight / np.maximum(state.request_rate_per_s, 1e-30) - state.decode_s, state.ttft_s
    )
    ttft = np.maximum(ttft, state.ttft_s)
    interrupted = state.tpot_s * steady.accepted - state.step.total_s
    at_cap = beyond | steady.saturated
    columns = [
        a.tolist()
        for a in (
            state.seen, state.request_rate_per_s, in_flight, ttft, state.tpot_s, cap.request_rate_per_s,
            state.step.total_s, state.step.memory_s, state.step.compute_s, state.step.link_s,
            state.step.overhead_s, interrupted, steady.prefill_alone_s, state.prompt_share_s, steady.room,
            steady.gain_of_twice,
        )
    ]  # fmt: skip
    found = []
    for position, point in enumerate(points):
        (batch, rate, flight, ttft_s, tpot_s, bearable, step_s, memory_s, compute_s, link_s, overhead_s,
         interrupted_s, alone_s, share_s, room, gain) = (column[position] for column in columns)  # fmt: skip
        over = bool(overloaded[position])
        batch_limit: Literal["offered_load", "kv_room", "batch_cap"] = "offered_load"
        if at_cap[position] or room < 1.0:
            # Whole requests only: a cap that is the room rounded down is the room's.
            batch_limit = "kv_room" if floor(room) <= point.batch_cap else "batch_cap"
        parts: dict[Limit, float] = {
            "memory_bandwidth": memory_s, "compute": compute_s, "interconnect": link_s,
            "step_overhead": overhead_s, "prefill": interrupted_s,
        }  # fmt: skip
        longest: Limit = max(parts, key=lambda name: parts[name])
        limit = longest
        if batch_limit != "offered_load" and (gain >= WORTH_MORE or room < 1.0):
            limit = batch_limit
        alone = batch < ALONE
        # One publisher alone measured attention by requests, and no latency of it.
        wider = UNFAMILIAR if point.attention_dp > 1 and constants.familiar(point.classes) else 1.0
        fewest, most = point.accepted_spread
        ttft_estimate = tpot_estimate = None
        if not over:
            regime = "ttft_alone" if alone else "ttft_loaded"
            ttft_estimate = _ranged(ttft_s, constants.range_of(regime, point.classes), wider)
        if not over and point.output_tokens > 1:
            regime = "decode_alone" if alone else "decode_batched"
            tpot_estimate = _ranged(tpot_s, constants.range_of(regime, point.classes), wider)
            tpot_estimate = widened(tpot_estimate, 1 / most, 1 / fewest)
        served = bearable if over else rate
        regime = "decode_alone" if alone else "saturated" if point.load == "saturated" else "throughput"
        output = _ranged(served * point.output_tokens, constants.range_of(regime, point.classes), wider)
        found.append(
            OperatingPoint(
                batch=batch,
                request_rate_per_s=served,
                requests_in_flight=flight,
                ttft_s=ttft_estimate,
                tpot_s=tpot_estimate,
                output_tokens_per_s=widened(output, fewest, most),
                limit=limit,
                longest_part=longest,
                batch_limit=batch_limit,
                overloaded=over,
                bearable_rate_per_s=bearable,
                step_s=step_s,
                memory_s=memory_s,
                compute_s=compute_s,
                link_s=link_s,
                overhead_s=overhead_s,
                prefill_s=alone_s,
                prompt_share_s=share_s,
            )
        )  # fmt: skip
    return found


def _ranged(value: float, ends: tuple[float, float], wider: float) -> Estimate:
    """An estimate with its 80 % range, whose ends are factors, so many times as wide in logarithms."""
    low, high = ends if wider == 1.0 else (ends[0] ** wider, ends[1] ** wider)
    return Estimate(value=value, low=value * low, high=value * high)


def widened(found: Estimate, low: float, high: float) -> Estimate:
    """The range with its ends moved out by these factors, the logarithms added as independent ones are."""
    if low == high == 1.0:
        return found
    down = exp(-hypot(log(found.value / found.low), log(low)))
    up = exp(hypot(log(found.high / found.value), log(high)))
    return Estimate(value=found.value, low=found.value * down, high=found.value * up)


def replicas_for(
    points: Sequence[ServingPoint],
    loads: Sequence[float],
    ttft_s: float | Array | None,
    tpot_s: float | Array | None,
    constants: Constants,
    *,
    minimum: int = 1,
) -> list[int | None]:
    """How many equal replicas bear the whole ``loads`` within the targets (means); None where none can.

    A load is requests in flight or requests per second, as the point's ``load`` says; ``load_value`` of the
    points is ignored. One replica's most is found as a root over its batch, replicas = ceil(load ÷ most).
    Of requests in flight a replica bears no more than have room in it at once: one whose prompt is being read holds
    its cache as one that decodes does.
    """
    if not points:
        return []
    most_load, possible = most_borne(points, ttft_s, tpot_s, constants)
    wanted = np.asarray(loads, dtype=np.float64)
    count = np.maximum(np.ceil(wanted / np.maximum(most_load, 1e-30) - 1e-9), minimum)
    possible &= count <= REPLICAS_MAXIMUM
    return [int(n) if ok else None for n, ok in zip(count, possible, strict=True)]


def most_borne(
    points: Sequence[ServingPoint],
    ttft_s: float | Array | None,
    tpot_s: float | Array | None,
    constants: Constants,
) -> tuple[Array, NDArray[np.bool_]]:
    """The most load that one replica bears within the targets, and whether it bears any at all."""
    steady = Steady(points, _columns(points, constants))
    ttft_target = UNLIMITED if ttft_s is None else np.minimum(ttft_s, UNLIMITED)
    tpot_target = UNLIMITED if tpot_s is None else np.minimum(tpot_s, UNLIMITED)

    def strain(logs: Array) -> Array:
        state = steady.at(np.exp(logs))
        return np.log(np.maximum(state.ttft_s / ttft_target, state.tpot_s / tpot_target))

    never = strain(steady.least_log) > 0.0
    best = np.exp(rising_root(strain, steady.least_log, np.log(steady.top)))
    state = steady.at(best)
    together = np.minimum(state.in_flight, np.maximum(np.floor(steady.most + ROUNDING), 1.0))
    most_load = np.where(steady.by_rate, state.request_rate_per_s * 0.999, together)
    possible = ~never & (steady.room >= 1.0)
    possible &= steady.by_rate | (most_load >= 1.0 - 1e-6)
    return most_load, possible
