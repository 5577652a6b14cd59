"""Fits the memory constants of engines on measurement files, and their ranges out of fold.

Least squares of ln(predicted ÷ measured) with a robust loss and a pull toward the value the seed starts from.
Rows of one publisher and model family weigh together as one. A constant that fewer than two publishers inform
takes the value of the constant it would otherwise share (``pooled_with`` in the seed), or stays as it is.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from planner import runtimes
from planner.evaluation.memory_rows import WIDENING, predict_memory_rows, spread_of
from planner.evaluation.predictions import Prediction
from planner.evaluation.rows import Row
from planner.sizing.runtime import Runtime

Array = NDArray[np.float64]

METRICS = ("activation_peak_gib", "non_torch_gib", "cuda_graph_gib", "cuda_context_gib", "available_kv_gib",
           "kv_tokens")  # fmt: skip
"""Metrics that the constants act on."""
NOISE = {"activation_peak_gib": 0.1, "non_torch_gib": 0.25, "cuda_graph_gib": 0.2, "cuda_context_gib": 0.2,
         "available_kv_gib": 0.03, "kv_tokens": 0.03}  # fmt: skip
"""ln(predicted ÷ measured) of a good prediction."""
FREEDOM = 0.5
"""Standard deviation of ln(value ÷ start) that the pull allows, where the seed gives none (``freedom``)."""
PUBLISHERS_MINIMUM = 2
NUDGE = 0.1
OWNER = re.compile(r"(?:repo|issue|pr):(?:https://github\.com/)?([\w.-]+)/")
COVERAGE = 0.8
FLOOR = 0.004
"""Half-width no range goes below: logs are printed to two decimals."""
SPREAD_ROWS_MINIMUM = 8


class Fit(NamedTuple):
    """Fitted values by constant, and which publishers and how many rows inform each."""

    values: dict[str, float]
    groups: dict[str, tuple[str, ...]]
    rows: dict[str, int]

    @property
    def publishers(self) -> dict[str, int]:
        return {name: len(groups) for name, groups in self.groups.items()}


def usable(rows: Sequence[Row]) -> list[Row]:
    """Scored memory rows of language models that a fit may use: those that state the engine's version."""
    return [
        row
        for row in rows
        if row.kind == "memory" and row.scored and row.metric in METRICS
        and row.inputs.get("kind", "llm") in ("llm", "vision") and float(row.measured) > 0
        and row.inputs.get("engine_version")
    ]  # fmt: skip


def _predictions(rows: Sequence[Row], values: Mapping[str, float]) -> Array:
    found = predict_memory_rows(rows, runtimes.build(values))
    return np.array([item.predicted if isinstance(item.predicted, float) else np.nan for item in found])


def _weights(rows: Sequence[Row]) -> Array:
    counts: dict[tuple[str, str, str], int] = defaultdict(int)
    keys = [(row.source_group, row.inputs.get("family", ""), row.metric) for row in rows]
    for key in keys:
        counts[key] += 1
    return np.array([counts[key] ** -0.5 for key in keys])


def fit(rows: Sequence[Row]) -> Fit:
    """Constants from these rows; the same rows give the same values."""
    constants: list[dict[str, Any]] = [row for row in runtimes.document()["constants"] if row["fitted"]]
    start = {row["name"]: float(row["start"]) for row in constants}
    chosen = usable(rows)
    base = _predictions(chosen, start)
    keep = np.isfinite(base) & (base > 0)
    chosen = [row for row, good in zip(chosen, keep, strict=True) if good]
    base = base[keep]
    moved = {
        name: np.abs(
            np.log(np.maximum(_predictions(chosen, {**start, name: value * (1 + NUDGE)}), 1e-9) / base)
        )
        > 1e-4
        for name, value in start.items()
    }
    groups = {
        name: tuple(sorted({row.source_group for row, hit in zip(chosen, hits, strict=True) if hit}))
        for name, hits in moved.items()
    }
    publishers = {name: len(found) for name, found in groups.items()}
    counts = {name: int(hits.sum()) for name, hits in moved.items()}
    pooled = {
        row["name"]: row["pooled_with"]
        for row in constants
        if publishers[row["name"]] < PUBLISHERS_MINIMUM and row.get("pooled_with")
    }
    shared = set(pooled.values())
    free = [
        name
        for name in start
        if name not in pooled and (publishers[name] >= PUBLISHERS_MINIMUM or name in shared)
    ]
    freedom = np.array([float(row.get("freedom", FREEDOM)) for row in constants if row["name"] in free])
    measured = np.array([float(row.measured) for row in chosen])
    noise = np.array([NOISE[row.metric] for row in chosen])
    weights = _weights(chosen)

    def values_of(point: Array) -> dict[str, float]:
        found = {**start, **{name: start[name] * exp(shift) for name, shift in zip(free, point, strict=True)}}
        return {**found, **{name: found[target] for name, target in pooled.items()}}

    def residuals(point: Array) -> Array:
        predicted = np.maximum(_predictions(chosen, values_of(point)), measured * 0.01)
        own: Array = np.concatenate([weights * np.log(predicted / measured) / noise, point / freedom])
        return own

    answer = least_squares(residuals, np.zeros(len(free)), loss="soft_l1", diff_step=1e-3, max_nfev=30)
    return Fit(values_of(answer.x), groups, counts)


def out_of_fold(rows: Sequence[Row]) -> dict[str, float | None]:
    """The memory rows' figures by constants that saw no row of their fold, by row id."""
    memory = [row for row in rows if row.kind == "memory"]
    answers = predict_out_of_fold(memory)
    return {
        row.id: item.predicted if isinstance(item.predicted, float) else None
        for row, item in zip(memory, answers, strict=True)
    }


def publisher(row: Row) -> str:
    """Who published a row: its group, or the owner in its source where the file has no groups."""
    found = OWNER.search(row.source)
    return row.source_group or (found.group(1) if found else row.source)


def predict_out_of_fold(rows: Sequence[Row], training: Sequence[Row] | None = None) -> list[Prediction]:
    """One prediction a row, in order, by constants that saw nothing of its fold; of its publisher for verdicts.

    ``training`` are the memory rows to fit on; those among ``rows`` by default.
    """
    known = [row for row in (training if training is not None else rows) if row.kind == "memory"]
    publishers = {row.source_group for row in known}
    fitted: dict[tuple[str, object], tuple[Runtime, ...]] = {}

    def eras_without(row: Row) -> tuple[Runtime, ...]:
        own: object = row.fold
        if row.kind == "verdicts":
            own = publisher(row) if publisher(row) in publishers else None
        key = (row.kind if own is not None else "all", own)
        if key not in fitted:
            left = [
                item
                for item in known
                if own is None or (item.source_group if row.kind == "verdicts" else item.fold) != own
            ]
            fitted[key] = runtimes.build(fit(left).values) if usable(left) else runtimes.eras()
        return fitted[key]

    return [predict_memory_rows([row], eras_without(row))[0] for row in rows]


def spreads(rows: Sequence[Row], predictions: Mapping[str, float | None]) -> dict[str, list[float]]:
    """The 80 % range of each metric as factors on the prediction, from ratios measured ÷ predicted out of
    fold. Where a range will be widened for a version that is not stated, the ratio counts as much less."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        predicted = predictions.get(row.id)
        if row.kind == "memory" and row.scored and predicted and float(row.measured) > 0 and predicted > 0:
            key, stated = spread_of(row)
            ratios[key].append(log(float(row.measured) / predicted) / (1 if stated else WIDENING))
    found: dict[str, list[float]] = {}
    for metric, own in sorted(ratios.items()):
        if len(own) < SPREAD_ROWS_MINIMUM:
            continue
        # So few residuals show less than the whole spread: their tails are cut a little less.
        tail = max(0.0, (1 - COVERAGE * (len(own) + 1) / len(own)) / 2)
        low, high = np.quantile(own, [tail, 1 - tail])
        found[metric] = [round(exp(min(low, -FLOOR)), 4), round(exp(max(high, FLOOR)), 4), float(len(own))]
    return found


def document(
    rows: Sequence[Row], predictions: Mapping[str, float | None] | None = None, own: Fit | None = None
) -> dict[str, Any]:
    """The content of the runtimes' seed with constants and ranges fitted on these rows.

    ``predictions`` out of fold and the fit on all rows, where they are known already.
    """
    own = own or fit(rows)
    content = dict(runtimes.document())
    constants: list[dict[str, Any]] = []
    for row in content["constants"]:
        if not row["fitted"]:
            constants.append(row)
            continue
        name = row["name"]
        value = own.values[name]
        shown = round(value, 3) if value < 1000 else round(value / 2**20) * 2**20
        if value == float(row["start"]):
            shown = row["start"]
        constants.append(
            {
                **row,
                "value": shown,
                "low": min(row["low"], shown),
                "high": max(row["high"], shown),
                "publishers": own.publishers[name],
                "rows": own.rows[name],
            }
        )
    return {**content, "constants": constants, "spreads": spreads(rows, predictions or out_of_fold(rows))}


def table(content: Mapping[str, Any], own: Fit) -> str:
    """Each constant for people: its value, how it came about, and the rows and publishers behind it."""
    lines = [f"{'constant':28}{'value':>15} {'unit':5}{'rows':>5}  from"]
    for row in content["constants"]:
        name = row["name"]
        groups = own.groups.get(name, ())
        how = row["source"]
        if row["fitted"]:
            how = f"fitted: {', '.join(groups)}" if len(groups) >= PUBLISHERS_MINIMUM else (
                f"global value, as one publisher informs it: {', '.join(groups) or 'none'}"
            )  # fmt: skip
        value = f"{row['value']:,}" if isinstance(row["value"], int) else f"{row['value']:g}"
        lines.append(f"{name:28}{value:>15} {row['unit']:5}{own.rows.get(name, '') or '':>5}  {how[:110]}")
    return "\n".join(lines)


def text(content: Mapping[str, Any]) -> str:
    """The seed file of runtimes: one constant a line."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in content["constants"])
    ranges = json.dumps(content["spreads"], ensure_ascii=False)
    engines = ",\n".join(json.dumps(row, ensure_ascii=False, indent=1) for row in content["runtimes"])
    return f'{{"constants": [\n{lines}\n],\n"spreads": {ranges},\n"runtimes": [\n{engines}\n]}}\n'
