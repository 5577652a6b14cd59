"""The steady state of replicas under continuous batching, as functions of how many sequences decode.

Everything is a function of the mean number ``b`` of decoding sequences; the load that keeps it there follows
from Little's law, so the state at a given load is found by bisection, for all points at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from planner.sizing.constants import PointClasses
from planner.sizing.roots import rising_root
from planner.sizing.speed import Array, Replicas, StepParts, decode_step, lone, prefill_s, prompt_share_s

Load = Literal["concurrency", "rate", "saturated", "within_limits"]
LEAST_LOAD = 1e-3
LEAST_STEPS = 1e-3
LEAST_BUSY = 1e-6
UNLIMITED = 1e30
OVERLAP_ROUNDS = 4
"""After so many the share of a prompt moves by less than a hundredth (a test holds it)."""


@dataclass(frozen=True)
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
    attention_dp: int = 1
    """Groups of ranks that each keep the attention of their own requests."""
    attended_fraction: float = 1.0
    """Of ``linear_flops_per_token``: what only the group with a request's attention works on (no routed experts)."""
    drafted: float = 0.0
    """Tokens that speculative decoding drafts for each step."""
    accepted: float = 1.0
    """Tokens a step yields: 1, or more with a draft (``speculation.accepted``)."""
    accepted_spread: tuple[float, float] = (1.0, 1.0)
    """The ends of what is assumed of ``accepted``, as shares of it."""
    load_value: float = 0.0
    """Requests in flight, or requests per second, at this replica."""
    ttft_limit_s: float = UNLIMITED
    tpot_limit_s: float = UNLIMITED


_REPLICA_FIELDS = tuple(field.name for field in fields(Replicas) if field.name != "constants")
_NUMBERS = (
    *_REPLICA_FIELDS, "kv_room_bytes", "kv_prompt_bytes", "kv_full_bytes", "batch_cap", "chunk_tokens",
    "prompt_tokens", "output_tokens", "accepted", "load_value", "ttft_limit_s", "tpot_limit_s",
)  # fmt: skip
"""Fields of a point that are worked with as columns."""
_numbers_of = attrgetter(*_NUMBERS)


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
    prompt_share_s: Array
    """What one prompt takes from the decoding of the others."""


def apart(busy: Array, groups: Array) -> Array:
    """How far prompts of different groups miss each other: 1 where none coincide, 0 where all groups have one.

    Of busy time u each group, prompts hold the replica up for 1 − (1 − u)^groups instead of u (all at once) or
    groups × u (one after another).
    """
    used = np.clip(busy, LEAST_BUSY, 1.0)
    longer = (1.0 - (1.0 - used) ** groups) / (groups * used)
    least = 1.0 / groups
    return (longer - least) / np.maximum(1.0 - least, LEAST_BUSY)


class Steady:
    """The points as arrays, with what does not depend on the batch worked out once."""

    def __init__(self, points: Sequence[ServingPoint], constants: Array) -> None:
        # One table for all: a comparison asks a dozen times, and a hundred attributes by name cost more than they say.
        table = np.array([_numbers_of(point) for point in points], dtype=np.float64).reshape(
            -1, len(_NUMBERS)
        )
        columns = dict(zip(_NUMBERS, np.ascontiguousarray(table.T), strict=True))

        def column(name: str) -> Array:
            found: Array = columns[name]
            return found

        self.replicas = Replicas(constants=constants, **{name: column(name) for name in _REPLICA_FIELDS})
        self.kv_room_bytes = column("kv_room_bytes")
        self.kv_prompt_bytes = column("kv_prompt_bytes")
        self.kv_full_bytes = column("kv_full_bytes")
        self.batch_cap = column("batch_cap")
        self.chunk_tokens = column("chunk_tokens")
        self.prompt_tokens = column("prompt_tokens")
        self.output_tokens = np.maximum(column("output_tokens"), 1.0)
        self.accepted = column("accepted")
        self.load_value = column("load_value")
        self.ttft_limit_s = column("ttft_limit_s")
        self.tpot_limit_s = column("tpot_limit_s")
        loads = np.array([point.load for point in points])
        self.by_rate = (loads == "rate") | (loads == "within_limits")
        self.saturated = loads == "saturated"
        self.within_limits = loads == "within_limits"
        self.by_requests = any(point.attention_dp > 1 for point in points)
        """Whether any replica keeps attention by requests."""

    def with_constants(self, constants: Array) -> Steady:
        """The same points under other constants (the fit asks for many)."""
        other = object.__new__(Steady)
        other.__dict__.update({k: v for k, v in self.__dict__.items() if k not in _WORKED_OUT})
        other.by_requests = self.by_requests
        other.replicas = Replicas(
            constants=constants, **{name: getattr(self.replicas, name) for name in _REPLICA_FIELDS}
        )
        return other

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Steady:
        """Some of the points, by mask or position; one may come several times."""
        other = object.__new__(Steady)
        other.__dict__.update({k: v[which] for k, v in self.__dict__.items() if k not in _WORKED_OUT})
        other.by_requests = self.by_requests
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
    def lone(self) -> Replicas:
        """The replicas as one prompt alone sees them."""
        return lone(self.replicas) if self.by_requests else self.replicas

    @cached_property
    def prefill_alone_s(self) -> Array:
        return prefill_s(self.lone, self.prompt_tokens, np.ones_like(self.prompt_tokens), self.chunk_tokens)

    @cached_property
    def shared_prompt_s(self) -> Array:
        """What one prompt takes from the decoding of others where all groups work on prompts at once."""
        alone_s = None if self.by_requests else self.prefill_alone_s
        return prompt_share_s(self.replicas, self.prompt_tokens, self.chunk_tokens, alone_s)

    @cached_property
    def lone_prompt_s(self) -> Array:
        """The same where no other group has one: all of them wait for the one that has."""
        return prompt_share_s(self.lone, self.prompt_tokens, self.chunk_tokens, self.prefill_alone_s)

    def prompt_share_s(self, batch: Array, others: Array, steps_s: Array) -> Array:
        """What one prompt takes from the decoding of the others, at this batch.

        Groups that keep attention by requests step together: while one works on a prompt, the others wait for it or
        work on prompts of their own. Of its time u each group has a prompt, so that prompts hold up the replica for
        1 − (1 − u)^dp, which is what is shared by dp × u of them. u depends on the rate, and the rate on u. At
        saturation prompts wait for every group, and all work on theirs at once: so the measured throughputs say.
        """
        shared = self.shared_prompt_s
        if not self.by_requests:
            return shared
        groups = self.replicas.attention_dp
        longest = self.lone_prompt_s
        taken = longest
        for _round in range(OVERLAP_ROUNDS):
            rate = batch / (steps_s + others * taken)
            taken = shared + (longest - shared) * apart(rate * longest / groups, groups)
        return np.where(self.saturated | (groups == 1.0), shared, taken)

    @cached_property
    def room(self) -> Array:
        """Sequences whose KV fits, each holding its prompt and part of its output."""
        held = self.replicas.constant("kv_residency_fraction")
        request = self.kv_prompt_bytes + held * np.maximum(self.kv_full_bytes - self.kv_prompt_bytes, 0.0)
        return self.kv_room_bytes / np.maximum(request, 1e-9)

    @property
    def preemption(self) -> Array:
        """How much longer a token takes where requests are put back because their cache outgrows the room.

        1 + preempted_share × growth × (1 − room ÷ admitted), growth being the output's share of a request's cache:
        an engine that admits requests by their prompts takes in more than the room holds at full length, and those
        put back wait for it between two of their tokens. Engines that keep the whole length free put none back.
        """
        asked = np.where(self.by_rate | self.saturated, UNLIMITED, self.load_value)
        admitted = np.maximum(np.minimum(asked, self.batch_cap), 1.0)
        growth = 1.0 - self.kv_prompt_bytes / np.maximum(self.kv_full_bytes, 1e-9)
        excess = 1.0 - np.minimum(self.room / admitted, 1.0)
        return 1.0 + self.replicas.constant("preempted_share") * growth * excess

    @cached_property
    def most_together(self) -> Array:
        """The most sequences of a batch that starts together, which all reach their full length at once."""
        return np.minimum(self.kv_room_bytes / np.maximum(self.kv_full_bytes, 1e-9), self.batch_cap)

    @cached_property
    def most(self) -> Array:
        """The most sequences that decode at once."""
        return np.minimum(self.room, self.batch_cap)

    @cached_property
    def most_or_one(self) -> Array:
        return np.maximum(self.most, 1.0)

    @cached_property
    def chunks(self) -> Array:
        """Steps in which a prompt is read."""
        return np.ceil(np.maximum(self.prompt_tokens, 1.0) / self.chunk_tokens)

    @cached_property
    def unhindered_s(self) -> Array:
        """Time to the first token of a request that nothing else slows."""
        return self.replicas.constant("request_fixed_s") + self.prefill_alone_s

    @cached_property
    def decode_steps(self) -> Array:
        """Steps after the first token; a trace of one for requests of a single token."""
        return self.later_tokens / self.accepted

    @cached_property
    def later_tokens(self) -> Array:
        """Tokens after the first; a trace of one for requests of a single token."""
        return np.maximum(self.output_tokens - 1.0, LEAST_STEPS)

    @cached_property
    def top(self) -> Array:
        """The most sequences that decode on average: a place is idle while its next prompt is processed."""
        most = self.most_or_one
        steps = self.decode_steps * decode_step(self.replicas, most).total_s
        share = self.prompt_share_s(most, most - 1.0, steps)
        decode = steps + (most - 1.0) * share
        return most * decode / (decode + share)

    @cached_property
    def gain_of_twice(self) -> Array:
        """By what share the rate at the cap would rise with twice as many sequences.

        rate(n) = n / ((output tokens - 1) * step(n) + n * prompt share): where prompts take most of the time, or
        computing does, a larger batch serves hardly more.
        """

        def rate(count: Array) -> Array:
            steps = self.decode_steps * decode_step(self.replicas, count).total_s
            return count / (steps + count * self.prompt_share_s(count, count, steps))

        most = self.most_or_one
        gain: Array = rate(2.0 * most) / rate(most) - 1.0
        return gain

    @cached_property
    def lone_step_s(self) -> Array:
        """A decode step of one sequence."""
        return decode_step(self.replicas, np.ones_like(self.most)).total_s

    @cached_property
    def least_log(self) -> Array:
        """Where the search starts: well below the load of one request at a time."""
        decode = self.decode_steps * self.lone_step_s
        logarithms: Array = np.log(LEAST_LOAD * decode / (decode + self.prefill_alone_s))
        return logarithms

    def at(self, batch: Array) -> State:
        """Speed with ``batch`` sequences decoding on average, and the load that goes with it.

        A request sees itself and ``others``: all that decode at Poisson arrivals, all but its own share in a
        closed loop. TPOT = step(1 + others) + others · prompt share ÷ (output tokens − 1): while a request
        gets its tokens, as many prompts are processed as others decode. TTFT = fixed + prefill + half a step
        until the engine takes it + what the others add to the step of each of its chunks (their step less that of
        one sequence: weights are read once for both) + queue: part of a synchronised start, or M/D/1 for Poisson
        arrivals.
        """
        alone = self.unhindered_s
        light = self.decode_steps * decode_step(self.replicas, np.maximum(batch, 1.0)).total_s
        clients = np.maximum(batch * (1.0 + alone / light), 1.0)
        others = np.where(self.by_rate, batch, batch * (1.0 - 1.0 / clients))
        seen = np.minimum(1.0 + others, self.most_or_one)
        step = decode_step(self.replicas, seen)
        step_s = step.total_s
        steps = self.decode_steps * step_s
        share = self.prompt_share_s(batch, seen - 1.0, steps)
        decode = steps + (seen - 1.0) * share
        tpot = decode / self.later_tokens
        joined = 0.5 * step_s + self.chunks * np.maximum(step_s - self.lone_step_s, 0.0)
        alone = alone + (1.0 - 1.0 / seen) * joined
        rate = batch / decode
        used = np.minimum(rate * share, 0.98)
        waiting = share * used / (2.0 * (1.0 - used))
        spread = self.replicas.constant("synchrony_fraction") * share / 2.0
        closing = np.minimum(batch * spread / decode, 0.9)
        in_flight = batch * (1.0 + np.maximum(alone - spread, 0.0) / decode) / (1.0 - closing)
        synchronised = spread * np.maximum(in_flight - 1.0, 0.0)
        ttft = alone + np.where(self.by_rate, waiting, synchronised)
        in_flight = np.where(self.by_rate, rate * (ttft + decode), in_flight)
        return State(batch, seen, step, tpot, decode, ttft, rate, in_flight, share)

    def _largest(self, load: Array) -> Array:
        """The most sequences decoding whose load stays within ``load``; the cap where all do."""
        with np.errstate(divide="ignore"):
            asked = np.log(load)
        logs = rising_root(
            lambda tried: np.log(self._load(self.at(np.exp(tried)))) - asked, self.least_log, np.log(self.top)
        )
        return np.exp(logs)

    def _load(self, state: State) -> Array:
        load = np.where(self.by_rate, state.request_rate_per_s, state.in_flight)
        if not self.within_limits.any():
            return load
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
        crowded = beyond & ~self.within_limits
        longer = state.tpot_s * np.where(crowded, self.preemption, 1.0)
        return replace(state, tpot_s=longer), cap, beyond


_WORKED_OUT = (
    "replicas", "by_requests", "lone", "prefill_alone_s", "shared_prompt_s", "lone_prompt_s", "room", "most",
    "most_or_one", "most_together", "top", "chunks", "unhindered_s", "decode_steps", "later_tokens", "lone_step_s",
    "least_log", "gain_of_twice",
)  # fmt: skip
