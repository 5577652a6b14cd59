"""Predicts the rows of throughput files, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.evaluation.throughput_cases import Case
from planner.sizing.serving import Steady
from planner.sizing.speed import Array, decode_step, prefill_s

MILLISECONDS = 1000.0
DRAIN_SHARE = 0.5
"""Share of a request's decode time that a finite run is longer than its requests ÷ steady rate."""


@dataclass(frozen=True, slots=True)
class Cases:
    """Cases as arrays over their alternatives, so that one evaluation answers all."""

    cases: tuple[Case, ...]
    owner: np.ndarray
    """The case of each alternative."""
    steady: Steady
    fixed: np.ndarray
    """Alternatives whose requests start together."""
    load: Array
    replicas: Array
    requests: Array
    """Requests of the run at one replica; infinite where not known."""
    gpus: Array
    input_tokens: Array
    output_tokens: Array
    by_rate: np.ndarray
    decode_only: np.ndarray
    served: np.ndarray
    metric: np.ndarray


def gather(cases: Sequence[Case], constants: Array) -> Cases:
    """Cases with the constants (constant, alternative) of their points."""
    pairs = [(number, item, case) for number, case in enumerate(cases) for item in case.alternatives]

    def column(values: list[float]) -> Array:
        return np.array(values, dtype=np.float64)

    return Cases(
        cases=tuple(cases),
        owner=np.array([number for number, _, _ in pairs], dtype=np.intp),
        steady=Steady([item.point for _, item, _ in pairs], constants),
        fixed=np.array([case.kind == "fixed_batch" and item.point.load == "saturated" for _, item, case in pairs]),
        load=column([(case.batch or np.inf) / item.replicas for _, item, case in pairs]),
        replicas=column([item.replicas for _, item, _ in pairs]),
        requests=column([(case.request_count or np.inf) / item.replicas for _, item, case in pairs]),
        gpus=column([case.gpus for _, _, case in pairs]),
        input_tokens=column([case.input_tokens for _, _, case in pairs]),
        output_tokens=column([case.output_tokens for _, _, case in pairs]),
        by_rate=np.array([case.by_rate for _, _, case in pairs]),
        decode_only=np.array([case.decode_only for _, _, case in pairs]),
        served=np.array([case.served for _, _, case in pairs]),
        metric=np.array([case.metric for _, _, case in pairs]),
    )


def predict(cases: Cases, constants: Array) -> Array:
    """The metric of every case in the unit of its file.

    Requests that start together: all prompts, then all tokens; more of them than fit at once, and runs of few
    requests at a rate, are the steady rate and the time to fill and empty the engine.
    """
    steady = cases.steady.with_constants(constants)
    state, cap, beyond = steady.solve()
    output = np.maximum(cases.output_tokens, 1.0)
    replicas = steady.replicas

    together = np.where(np.isfinite(cases.load), np.maximum(cases.load, 1.0), np.maximum(steady.most, 1.0))
    fits = together <= np.maximum(steady.most, 1.0) * 1.001
    batch = np.minimum(together, np.maximum(steady.most, 1.0))
    step = decode_step(replicas, batch).total_s
    # Prompts that start together share steps; a lone pipeline stage waits for the one before it.
    prompts = prefill_s(replicas, batch * steady.prompt_tokens, batch, steady.chunk_tokens)
    fixed_s = np.where(cases.served, replicas.constant("request_fixed_s"), 0.0)
    whole = prompts + fixed_s + np.maximum(output - 1.0, 0.0) * step
    one_by_one = batch / whole
    emptied = cap.request_rate_per_s * together / (
        together + DRAIN_SHARE * cap.request_rate_per_s * cap.decode_s
    )
    fixed_rate = np.where(np.isfinite(cases.load), np.where(fits, one_by_one, emptied), one_by_one)
    fixed_ttft = fixed_s + prompts * np.where(cases.served, 0.5 * (1.0 + 1.0 / batch), 1.0)

    rate = state.request_rate_per_s
    tpot = state.tpot_s
    ttft = state.ttft_s
    queued = beyond & ~steady.by_rate & ~steady.saturated
    ttft = np.where(queued, np.maximum(cases.load / np.maximum(rate, 1e-30) - state.decode_s, ttft), ttft)
    finite = np.isfinite(cases.requests)
    requests = np.where(finite, cases.requests, 1e12)
    offered = steady.load_value
    over = cases.by_rate & beyond
    with np.errstate(divide="ignore", invalid="ignore"):
        lasting = np.where(
            over,
            requests / rate + DRAIN_SHARE * state.decode_s,
            requests / offered + state.ttft_s + state.decode_s,
        )
        backlog = np.maximum(requests / 2.0 * (1.0 / rate - 1.0 / offered), 0.0)
        ttft = np.where(over & finite, ttft + backlog, ttft)
        rate = np.where(cases.by_rate & finite, requests / lasting, rate)

    rate = np.where(cases.fixed, fixed_rate, rate) * cases.replicas
    ttft = np.where(cases.fixed, fixed_ttft, ttft)
    tpot = np.where(cases.fixed, step, tpot)
    decoding = np.where(cases.decode_only, batch / step * cases.replicas, rate * output)
    values = np.select(
        [
            cases.metric == "tpot_ms", cases.metric == "ttft_ms", cases.metric == "prefill_tok_s",
            cases.metric == "decode_tok_s_single", cases.metric == "output_tok_s_total",
            cases.metric == "per_gpu_output_tok_s", cases.metric == "total_tok_s",
        ],
        [
            tpot * MILLISECONDS, ttft * MILLISECONDS,
            batch * steady.prompt_tokens / prompts * cases.replicas,
            1.0 / np.where(cases.fixed, step, tpot), decoding, rate * output / cases.gpus,
            rate * (output + cases.input_tokens),
        ],
        np.nan,
    )  # fmt: skip
    return _join(cases, values)


def _join(cases: Cases, values: Array) -> Array:
    """One value a case: of layouts the fastest, of cards the middle (geometric mean)."""
    joined = np.empty(len(cases.cases))
    start = 0
    for number, case in enumerate(cases.cases):
        own = values[start : start + len(case.alternatives)]
        start += len(case.alternatives)
        if len(own) == 1:
            joined[number] = own[0]
        elif case.best_layout:
            joined[number] = own.min() if case.metric in ("ttft_ms", "tpot_ms") else own.max()
        else:
            weights = [item.weight for item in case.alternatives]
            joined[number] = float(np.exp(np.average(np.log(own), weights=weights)))
    return joined
