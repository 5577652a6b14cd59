"""Predicts the rows of throughput files, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from planner.evaluation.throughput_cases import Case
from planner.sizing.serving import State, Steady
from planner.sizing.speed import Array, decode_step, prefill_s

MILLISECONDS = 1000.0
DRAIN_SHARE = 0.5
"""Share of a request's decode time that a finite run is longer than its requests ÷ steady rate."""
SETTLINGS = 3
"""Times the crowding of a short run is worked out from the length of its requests."""


@dataclass(frozen=True, slots=True)
class Cases:
    """Cases as arrays over their alternatives, so that one evaluation answers all."""

    starts: NDArray[np.intp]
    """The first alternative of each case."""
    fastest: NDArray[np.bool_]
    """Alternatives are layouts to choose the fastest of; else cards, between which the answer lies."""
    lower: NDArray[np.bool_]
    """The metric is a time."""
    weight: Array
    steady: Steady
    fixed: NDArray[np.bool_]
    """Alternatives whose requests start together."""
    load: Array
    replicas: Array
    requests: Array
    """Requests of the run at one replica; infinite where not known."""
    gpus: Array
    input_tokens: Array
    output_tokens: Array
    by_rate: NDArray[np.bool_]
    decode_only: NDArray[np.bool_]
    served: NDArray[np.bool_]
    metric: NDArray[np.str_]

    def chosen(self, cases: NDArray[np.intp]) -> Cases:
        """These cases in this order; one may come several times."""
        counts = np.diff(np.append(self.starts, len(self.weight)))[cases]
        points = self.points_of(cases)
        columns = {
            field.name: getattr(self, field.name)[points]
            for field in fields(self)
            if field.name not in ("starts", "steady")
        }
        return Cases(starts=np.cumsum(counts) - counts, steady=self.steady.chosen(points), **columns)

    def points_of(self, cases: NDArray[np.intp]) -> NDArray[np.intp]:
        """The alternatives of these cases, in order."""
        counts = np.diff(np.append(self.starts, len(self.weight)))[cases]
        starts = np.cumsum(counts) - counts
        return np.arange(counts.sum()) - np.repeat(starts - self.starts[cases], counts)


@dataclass(frozen=True, slots=True)
class Run:
    """Mean rate (requests/s of one replica), TTFT and TPOT of each alternative's run."""

    rate: Array
    ttft_s: Array
    tpot_s: Array


def gather(cases: Sequence[Case], constants: Array) -> Cases:
    """Cases with the constants (constant, alternative) of their points."""
    pairs = [(item, case) for case in cases for item in case.alternatives]

    def column(values: list[float]) -> Array:
        return np.array(values, dtype=np.float64)

    def flags(values: list[bool]) -> NDArray[np.bool_]:
        return np.array(values, dtype=bool)

    counts = np.array([len(case.alternatives) for case in cases], dtype=np.intp)
    return Cases(
        starts=np.cumsum(counts) - counts,
        fastest=flags([case.best_layout for _, case in pairs]),
        lower=flags([case.metric in ("ttft_ms", "tpot_ms") for _, case in pairs]),
        weight=column([item.weight for item, _ in pairs]),
        steady=Steady([item.point for item, _ in pairs], constants),
        fixed=flags([case.kind == "fixed_batch" and item.point.load == "saturated" for item, case in pairs]),
        load=column([(case.batch or np.inf) / item.replicas for item, case in pairs]),
        replicas=column([item.replicas for item, _ in pairs]),
        requests=column([(case.request_count or np.inf) / item.replicas for item, case in pairs]),
        gpus=column([case.gpus for _, case in pairs]),
        input_tokens=column([case.input_tokens for _, case in pairs]),
        output_tokens=column([case.output_tokens for _, case in pairs]),
        by_rate=flags([case.by_rate for _, case in pairs]),
        decode_only=flags([case.decode_only for _, case in pairs]),
        served=flags([case.served for _, case in pairs]),
        metric=np.array([case.metric for _, case in pairs]),
    )


def predict(cases: Cases, constants: Array) -> Array:
    """The metric of every case in the unit of its file."""
    steady = cases.steady.with_constants(constants)
    output = np.maximum(cases.output_tokens, 1.0)
    most = np.maximum(steady.most_together, 1.0)
    together = np.where(np.isfinite(cases.load), np.maximum(cases.load, 1.0), most)
    batch = np.minimum(together, most)
    step = decode_step(steady.replicas, batch).total_s
    prompts = prefill_s(steady.replicas, batch * steady.prompt_tokens, batch, steady.chunk_tokens)
    run = _together(cases, steady, together, batch, step, prompts)
    lasting = ~cases.fixed
    if lasting.any():
        other = _lasting(cases, steady, lasting)
        run.rate[lasting], run.ttft_s[lasting], run.tpot_s[lasting] = other.rate, other.ttft_s, other.tpot_s
    rate = run.rate * cases.replicas
    tokens = np.where(cases.decode_only, batch / step * cases.replicas, rate * output)
    values = np.select(
        [
            cases.metric == "tpot_ms", cases.metric == "ttft_ms", cases.metric == "prefill_tok_s",
            cases.metric == "decode_tok_s_single", cases.metric == "output_tok_s_total",
            cases.metric == "per_gpu_output_tok_s", cases.metric == "total_tok_s",
        ],
        [
            run.tpot_s * MILLISECONDS, run.ttft_s * MILLISECONDS,
            batch * steady.prompt_tokens / prompts * cases.replicas,
            1.0 / run.tpot_s, tokens, rate * output / cases.gpus, rate * (output + cases.input_tokens),
        ],
        np.nan,
    )  # fmt: skip
    return _join(cases, values)


def _together(
    cases: Cases, steady: Steady, together: Array, batch: Array, step: Array, prompts: Array
) -> Run:
    """Requests that start together: all prompts, then all tokens. More than fit: the steady rate, and a drain."""
    fixed_s = np.where(cases.served, steady.replicas.constant("request_fixed_s"), 0.0)
    whole = prompts + fixed_s + np.maximum(cases.output_tokens - 1.0, 0.0) * step
    cap = steady.at(steady.top)
    drained = together / (together / cap.request_rate_per_s + DRAIN_SHARE * cap.decode_s)
    ttft = fixed_s + prompts * np.where(cases.served, 0.5 * (1.0 + 1.0 / batch), 1.0)
    return Run(np.where(together <= batch * 1.001, batch / whole, drained), ttft, step.copy())


def _lasting(cases: Cases, steady: Steady, which: NDArray[np.bool_]) -> Run:
    """Loads that go on: closed loops, arrivals at a rate, and what the engine bears at most.

    A short run at a rate is less crowded than the steady state: two requests of length e that arrive within a
    window W overlap by (e/W)(1 − e/3W) of their length, or 1 − W/3e where the window is the shorter.
    """
    points = steady.chosen(which)
    load, requests = cases.load[which], cases.requests[which]
    arriving = cases.by_rate[which] & np.isfinite(requests)
    state, _, beyond = points.solve()
    queued = beyond & ~points.by_rate & ~points.saturated
    rate, ttft, tpot = state.request_rate_per_s.copy(), state.ttft_s.copy(), state.tpot_s.copy()
    with np.errstate(invalid="ignore"):
        waiting = load / np.maximum(rate, 1e-30) - state.decode_s
    ttft = np.where(queued, np.maximum(waiting, ttft), ttft)
    if arriving.any():
        some = _arriving(points.chosen(arriving), requests[arriving])
        rate[arriving], ttft[arriving], tpot[arriving] = some.rate, some.ttft_s, some.tpot_s
    return Run(rate, ttft, tpot)


def _arriving(points: Steady, requests: Array) -> Run:
    offered = points.load_value
    window = requests / offered
    crowded = offered
    state: State
    for _ in range(SETTLINGS):
        state, cap, _ = points.offered(crowded).solve()
        length = state.ttft_s + state.decode_s
        crowded = np.where(
            window >= length,
            offered * (1.0 - length / (3.0 * np.maximum(window, 1e-12))),
            requests / length * (1.0 - window / (3.0 * length)),
        )
    over = offered > cap.request_rate_per_s
    lasting = np.where(
        over,
        requests / cap.request_rate_per_s + DRAIN_SHARE * cap.decode_s,
        window + state.ttft_s + state.decode_s,
    )
    backlog = np.maximum(requests / 2.0 * (1.0 / cap.request_rate_per_s - 1.0 / offered), 0.0)
    # Only what does not fit at once waits.
    waits = over & (requests > points.most)
    return Run(requests / lasting, np.where(waits, state.ttft_s + backlog, state.ttft_s), state.tpot_s)


def _join(cases: Cases, values: Array) -> Array:
    """One value a case: of layouts the fastest, of cards the middle (weighted geometric mean)."""
    logs = np.log(np.maximum(values, 1e-30))
    middle = np.add.reduceat(logs * cases.weight, cases.starts) / np.add.reduceat(cases.weight, cases.starts)
    fastest = np.where(
        cases.lower[cases.starts],
        np.minimum.reduceat(logs, cases.starts),
        np.maximum.reduceat(logs, cases.starts),
    )
    joined: Array = np.exp(np.where(cases.fastest[cases.starts], fastest, middle))
    return joined
