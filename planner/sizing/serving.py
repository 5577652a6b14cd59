"""Steady state of a replica under continuous batching: batch, TTFT, TPOT and throughput for a load.

Everything is a function of the mean number ``b`` of decoding sequences; the load that keeps it there follows
from Little's law, so the state at a given load is found by bisection, for all points at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from planner.sizing.constants import Constants, PointClasses
from planner.sizing.quantities import Estimate
from planner.sizing.results import Limit, LoadPoint
from planner.sizing.speed import (
    Array,
    Replicas,
    StepParts,
    decode_step,
    prefill_s,
    prompt_share_s,
)

Load = Literal["concurrency", "rate", "saturated", "within_limits"]
BISECTIONS = 24
LEAST_LOAD = 1e-3
LEAST_STEPS = 1e-3
REPLICAS_MAXIMUM = 10_000
UNLIMITED = 1e30


@dataclass(frozen=True, slots=True)
class ServingPoint:
    """One replica on one kind of device under one load. Fields of memory are of one rank (see ``Replicas``)."""

    classes: PointClasses
    bandwidth_bytes_per_s: float
    matrix_flops_per_s: float
    block_kernels: float
    attention_flops_per_s: float
    link_bytes_per_s: float
    link_tokens_share: float
    tp: int
    pp: int
    layers: int
    hidden: int
    always_read_bytes: float
    experts_read_bytes: float
    experts: int
    experts_per_token: int
    linear_flops_per_token: float
    kv_read_bytes: float
    decode_attention_flops: float
    prompt_attention_flops: float
    kv_room_bytes: float
    kv_prompt_bytes: float
    """KV of one request when its prompt is in."""
    kv_full_bytes: float
    """KV of one request at its last token."""
    batch_cap: float
    chunk_tokens: float
    prompt_tokens: float
    """Tokens to prefill: input less what the prefix cache holds."""
    output_tokens: float
    load: Load
    load_value: float = 0.0
    """Requests in flight, or requests per second, at this replica."""
    ttft_limit_s: float = UNLIMITED
    tpot_limit_s: float = UNLIMITED


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


_REPLICA_FIELDS = tuple(field.name for field in fields(Replicas) if field.name != "constants")


@dataclass(frozen=True, slots=True)
class State:
    """All points at a mean number ``batch`` of decoding sequences."""

    batch: Array
    seen: Array
    """The batch a request sees itself in: at least itself."""
    step: StepParts
    tpot_s: Array
    decode_s: Array
    ttft_s: Array
    request_rate_per_s: Array
    in_flight: Array


class Steady:
    """The points as arrays, with what does not depend on the batch worked out once."""

    def __init__(self, points: Sequence[ServingPoint], constants: Array) -> None:
        def column(name: str) -> Array:
            return np.array([getattr(point, name) for point in points], dtype=np.float64)

        self.replicas = Replicas(constants=constants, **{name: column(name) for name in _REPLICA_FIELDS})
        self.kv_room_bytes = column("kv_room_bytes")
        self.kv_prompt_bytes = column("kv_prompt_bytes")
        self.kv_full_bytes = column("kv_full_bytes")
        self.batch_cap = column("batch_cap")
        self.chunk_tokens = column("chunk_tokens")
        self.prompt_tokens = column("prompt_tokens")
        self.output_tokens = np.maximum(column("output_tokens"), 1.0)
        self.load_value = column("load_value")
        self.ttft_limit_s = column("ttft_limit_s")
        self.tpot_limit_s = column("tpot_limit_s")
        loads = np.array([point.load for point in points])
        self.by_rate = (loads == "rate") | (loads == "within_limits")
        self.saturated = loads == "saturated"
        self.within_limits = loads == "within_limits"

    def with_constants(self, constants: Array) -> Steady:
        """The same points under other constants (the fit asks for many)."""
        other = object.__new__(Steady)
        other.__dict__.update({k: v for k, v in self.__dict__.items() if k not in _WORKED_OUT})
        other.replicas = Replicas(
            constants=constants, **{name: getattr(self.replicas, name) for name in _REPLICA_FIELDS}
        )
        return other

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Steady:
        """Some of the points, by mask or position; one may come several times."""
        other = object.__new__(Steady)
        other.__dict__.update({k: v[which] for k, v in self.__dict__.items() if k not in _WORKED_OUT})
        other.replicas = Replicas(
            constants=self.replicas.constants[:, which],
            **{name: getattr(self.replicas, name)[which] for name in _REPLICA_FIELDS},
        )
        return other

    def offered(self, load_value: Array) -> Steady:
        """The same points under another load."""
        other = object.__new__(Steady)
        other.__dict__.update(self.__dict__)
        other.load_value = load_value
        return other

    @cached_property
    def prefill_alone_s(self) -> Array:
        return prefill_s(
            self.replicas, self.prompt_tokens, np.ones_like(self.prompt_tokens), self.chunk_tokens
        )

    @cached_property
    def prompt_share_s(self) -> Array:
        return prompt_share_s(self.replicas, self.prompt_tokens, self.chunk_tokens)

    @cached_property
    def room(self) -> Array:
        """Sequences whose KV fits, each holding its prompt and part of its output."""
        held = self.replicas.constant("kv_residency_fraction")
        request = self.kv_prompt_bytes + held * np.maximum(self.kv_full_bytes - self.kv_prompt_bytes, 0.0)
        return self.kv_room_bytes / np.maximum(request, 1e-9)

    @cached_property
    def most_together(self) -> Array:
        """The most sequences of a batch that starts together, which all reach their full length at once."""
        return np.minimum(self.kv_room_bytes / np.maximum(self.kv_full_bytes, 1e-9), self.batch_cap)

    @cached_property
    def most(self) -> Array:
        """The most sequences that decode at once."""
        return np.minimum(self.room, self.batch_cap)

    @cached_property
    def decode_steps(self) -> Array:
        """Steps after the first token; a trace of one for requests of a single token."""
        return np.maximum(self.output_tokens - 1.0, LEAST_STEPS)

    @cached_property
    def top(self) -> Array:
        """The most sequences that decode on average: a place is idle while its next prompt is processed."""
        most = np.maximum(self.most, 1.0)
        decode = (
            self.decode_steps * decode_step(self.replicas, most).total_s + (most - 1.0) * self.prompt_share_s
        )
        return most * decode / (decode + self.prompt_share_s)

    @cached_property
    def least_log(self) -> Array:
        """Where bisection starts: well below the load of one request at a time."""
        decode = self.decode_steps * decode_step(self.replicas, np.ones_like(self.most)).total_s
        logarithms: Array = np.log(LEAST_LOAD * decode / (decode + self.prefill_alone_s))
        return logarithms

    def at(self, batch: Array) -> State:
        """Speed with ``batch`` sequences decoding on average, and the load that goes with it.

        A request sees itself and ``others``: all that decode at Poisson arrivals, all but its own share in a
        closed loop. TPOT = step(1 + others) + others · prompt share ÷ (output tokens − 1): while a request
        gets its tokens, as many prompts are processed as others decode. TTFT = fixed + prefill + the decode
        steps its chunks share + queue: part of a synchronised start, or M/D/1 for Poisson arrivals.
        """
        alone = self.replicas.constant("request_fixed_s") + self.prefill_alone_s
        light = self.decode_steps * decode_step(self.replicas, np.maximum(batch, 1.0)).total_s
        clients = np.maximum(batch * (1.0 + alone / light), 1.0)
        others = np.where(self.by_rate, batch, batch * (1.0 - 1.0 / clients))
        seen = np.minimum(1.0 + others, np.maximum(self.most, 1.0))
        step = decode_step(self.replicas, seen)
        share = self.prompt_share_s
        decode = self.decode_steps * step.total_s + (seen - 1.0) * share
        tpot = decode / self.decode_steps
        chunks = np.ceil(np.maximum(self.prompt_tokens, 1.0) / self.chunk_tokens)
        alone = alone + (1.0 - 1.0 / seen) * step.total_s * (chunks + 0.5)
        rate = batch / decode
        used = np.minimum(rate * share, 0.98)
        waiting = share * used / (2.0 * (1.0 - used))
        spread = self.replicas.constant("synchrony_fraction") * share / 2.0
        closing = np.minimum(batch * spread / decode, 0.9)
        in_flight = batch * (1.0 + np.maximum(alone - spread, 0.0) / decode) / (1.0 - closing)
        synchronised = spread * np.maximum(in_flight - 1.0, 0.0)
        ttft = alone + np.where(self.by_rate, waiting, synchronised)
        in_flight = np.where(self.by_rate, rate * (ttft + decode), in_flight)
        return State(batch, seen, step, tpot, decode, ttft, rate, in_flight)

    def _largest(self, load: Array) -> Array:
        """The most sequences decoding whose load stays within ``load``; the cap where all do."""
        low = self.least_log.copy()
        high = np.log(self.top)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            over = self._load(self.at(np.exp(middle))) > load
            high = np.where(over, middle, high)
            low = np.where(over, low, middle)
        return np.exp(high)

    def _load(self, state: State) -> Array:
        load = np.where(self.by_rate, state.request_rate_per_s, state.in_flight)
        return np.where(self.within_limits, self._strain(state), load)

    def _strain(self, state: State) -> Array:
        """The larger share of a latency limit that is used up; limits are p99, predictions means."""
        share = self.replicas.constant("latency_limit_fraction")
        return np.maximum(
            state.tpot_s / (share * self.tpot_limit_s), state.ttft_s / (share * self.ttft_limit_s)
        )

    def solve(self) -> tuple[State, State, NDArray[np.bool_]]:
        """The state at the offered load, the state at the cap, and which points are offered more than that."""
        cap = self.at(self.top)
        target = np.where(self.within_limits, 1.0, np.where(self.saturated, np.inf, self.load_value))
        state = self.at(self._largest(target))
        beyond = self._load(cap) < target
        return state, cap, beyond


_WORKED_OUT = (
    "replicas", "prefill_alone_s", "prompt_share_s", "room", "most", "most_together", "top", "decode_steps",
    "least_log",
)  # fmt: skip


def _columns(points: Sequence[ServingPoint], constants: Constants) -> Array:
    return np.stack([constants.resolve(point.classes) for point in points], axis=1)


def _estimate(constants: Constants, regime: str, value: float) -> Estimate:
    spread = constants.spreads.get(regime)
    if spread is None:
        return Estimate(value=value, low=value, high=value)
    return Estimate(value=value, low=value * spread.low, high=value * spread.high)


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
    interrupted = state.tpot_s - state.step.total_s
    at_cap = beyond | steady.saturated
    columns = [
        a.tolist()
        for a in (
            state.seen, state.request_rate_per_s, in_flight, ttft, state.tpot_s, cap.request_rate_per_s,
            state.step.total_s, state.step.memory_s, state.step.compute_s, state.step.link_s,
            state.step.overhead_s, interrupted, steady.prefill_alone_s, steady.prompt_share_s, steady.room,
        )
    ]  # fmt: skip
    found = []
    for position, point in enumerate(points):
        (batch, rate, flight, ttft_s, tpot_s, bearable, step_s, memory_s, compute_s, link_s, overhead_s,
         interrupted_s, alone_s, share_s, room) = (column[position] for column in columns)  # fmt: skip
        over = bool(overloaded[position])
        batch_limit: Literal["offered_load", "kv_room", "batch_cap"] = "offered_load"
        if at_cap[position] or room < 1.0:
            batch_limit = "kv_room" if room <= point.batch_cap else "batch_cap"
        parts: dict[Limit, float] = {
            "memory_bandwidth": memory_s, "compute": compute_s, "interconnect": link_s,
            "step_overhead": overhead_s, "prefill": interrupted_s,
        }  # fmt: skip
        limit: Limit = max(parts, key=lambda name: parts[name])
        if batch_limit != "offered_load":
            limit = batch_limit
        single = batch < 1.5
        found.append(
            OperatingPoint(
                batch=batch,
                request_rate_per_s=bearable if over else rate,
                requests_in_flight=flight,
                ttft_s=None if over else _estimate(constants, "ttft_alone" if single else "ttft_loaded", ttft_s),
                tpot_s=None if over or point.output_tokens <= 1 else _estimate(
                    constants, "decode_alone" if single else "decode_batched", tpot_s
                ),
                output_tokens_per_s=_estimate(
                    constants,
                    "decode_alone" if single else "saturated" if point.load == "saturated" else "throughput",
                    (bearable if over else rate) * point.output_tokens,
                ),
                limit=limit,
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
    points is ignored. One replica's most is found by bisection over its batch, replicas = ceil(load ÷ most).
    """
    if not points:
        return []
    steady = Steady(points, _columns(points, constants))
    ttft_target = np.inf if ttft_s is None else ttft_s
    tpot_target = np.inf if tpot_s is None else tpot_s
    low = steady.least_log.copy()
    high = np.log(steady.top)

    def missed(batch: Array) -> tuple[np.ndarray, State]:
        state = steady.at(batch)
        return (state.ttft_s > ttft_target) | (state.tpot_s > tpot_target), state

    never, _lightest = missed(np.exp(low))
    always, _heaviest = missed(np.exp(high))
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        miss, _state = missed(np.exp(middle))
        high = np.where(miss, middle, high)
        low = np.where(miss, low, middle)
    best = np.where(always, np.exp(low), np.exp(high))
    state = steady.at(best)
    most_load = np.where(steady.by_rate, state.request_rate_per_s * 0.999, state.in_flight)
    wanted = np.asarray(loads, dtype=np.float64)
    count = np.maximum(np.ceil(wanted / np.maximum(most_load, 1e-30) - 1e-9), minimum)
    possible = ~never & (steady.room >= 1.0) & (count <= REPLICAS_MAXIMUM)
    possible &= steady.by_rate | (most_load >= 1.0 - 1e-6)
    return [int(n) if ok else None for n, ok in zip(count, possible, strict=True)]
