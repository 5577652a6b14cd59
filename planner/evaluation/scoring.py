"""Errors of predictions, and their summary by metric and group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.evaluation.predictions import Prediction
from planner.evaluation.rows import Row

Array = NDArray[np.float64]

GROUPS = (("engine", "engine"), ("gpu", "gpu"), ("family", "family"))
"""Groups of the summary beside all and regime: prefix and column."""
FACTOR_OF_TWO = np.log(2.0)


def report(rows: Sequence[Row], answers: Sequence[Prediction], seconds: float) -> dict[str, Any]:
    """Rows and summary as the command prints them."""
    scored = [(row, answer) for row, answer in zip(rows, answers, strict=True) if row.scored]
    return {
        "rows": [
            {
                "id": row.id,
                "metric": row.metric,
                "measured": row.measured,
                "predicted": _short(answer.predicted),
                "low": _short(answer.low),
                "high": _short(answer.high),
                "status": answer.status,
                "reason": answer.reason,
                "regime": answer.regime,
            }
            for row, answer in zip(rows, answers, strict=True)
        ],
        "summary": {
            "rows": len(rows),
            "scored": len(scored),
            "answered": sum(answer.status == "ok" for _, answer in scored),
            "seconds": round(seconds, 2),
            "by": _by(scored),
        },
    }


def _short(value: float | str | None) -> float | str | None:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _by(scored: Sequence[tuple[Row, Prediction]]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str], list[tuple[Row, Prediction]]] = {}
    for row, answer in scored:
        names = ["all", f"regime: {answer.regime}"]
        names += [f"{label}: {row.inputs[column]}" for label, column in GROUPS if row.inputs.get(column)]
        for name in names:
            groups.setdefault((row.metric, name), []).append((row, answer))
    ordered = sorted(groups, key=lambda item: (item[0], item[1] != "all", item[1]))
    lines = []
    for metric, name in ordered:
        pairs = groups[metric, name]
        figures = verdict_figures(pairs) if pairs[0][0].kind == "verdicts" else error_figures(pairs)
        answered = sum(answer.status == "ok" for _, answer in pairs)
        lines.append({"metric": metric, "group": name, "n": answered, "asked": len(pairs), **figures})
    return lines


def verdict_figures(pairs: Sequence[tuple[Row, Prediction]]) -> dict[str, float | None]:
    """The share of verdicts that were right."""
    right = [answer.predicted == row.measured for row, answer in pairs if answer.status == "ok"]
    return {"right": round(sum(right) / len(right), 4) if right else None}


def error_figures(pairs: Sequence[tuple[Row, Prediction]]) -> dict[str, float | None]:
    """Weighted quantiles of |predicted − measured| ÷ measured, bias and coverage over the answered rows."""
    names = (
        "median_ape", "p80_ape", "p90_ape", "within_2x", "bias", "within_range", "median_high_over_low"
    )  # fmt: skip
    values, weights = [], []
    for row, answer in pairs:
        if answer.status != "ok" or answer.low is None or answer.high is None:
            continue
        predicted, measured = float(answer.predicted or 0.0), float(row.measured)
        if predicted <= 0 or measured <= 0:
            continue
        values.append((predicted, measured, answer.low, answer.high))
        weights.append(row.weight)
    if not values:
        return dict.fromkeys(names)
    predicted_all, measured_all, low, high = (np.array(column) for column in zip(*values, strict=True))
    weight = np.array(weights)
    ape = np.abs(predicted_all - measured_all) / measured_all
    logs = np.log(predicted_all / measured_all)
    inside = (low <= measured_all) & (measured_all <= high)
    figures = (
        quantile(ape, weight, 0.5),
        quantile(ape, weight, 0.8),
        quantile(ape, weight, 0.9),
        float(np.average(np.abs(logs) <= FACTOR_OF_TWO, weights=weight)),
        quantile(logs, weight, 0.5),
        float(np.average(inside, weights=weight)),
        quantile(high / np.maximum(low, 1e-12), weight, 0.5),
    )
    return {name: round(figure, 4) for name, figure in zip(names, figures, strict=True)}


def quantile(values: Array, weights: Array, share: float) -> float:
    """The value below which ``share`` of the weight lies; with equal weights the usual interpolated quantile."""
    if np.all(weights == weights[0]):
        return float(np.quantile(values, share))
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) - 0.5 * weights[order]
    return float(np.interp(share * weights.sum(), below, values[order]))
