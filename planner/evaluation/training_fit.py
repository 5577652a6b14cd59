"""Fits the constants of the training model, whole and without each fold. ``docs/methods-training.md`` tells how."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.evaluation.rows import Row
from planner.evaluation.training_cases import TrainingCase, Unsupported
from planner.evaluation.training_rows import (
    MEMORY_METRIC,
    amounts_of,
    case_of,
    classes_of,
    exact_gib,
    in_unit,
    work_of,
)
from planner.sizing.quantities import GIB
from planner.sizing.training import memory, speed
from planner.sizing.training.constants import (
    AXES,
    FACTORS,
    MEMORY,
    SPEED,
    Axis,
    Classes,
    Constant,
    Prior,
    Spread,
    TrainingConstants,
)
from planner.sizing.training.speed import NoRate

Array = NDArray[np.float64]
NOISE = 0.1
ROBUST = 1.5
ROUNDS = 40
SOURCES_MINIMUM = 2
WHOLE_RUN = ("gpu_hours", "minutes_to_train")
"""Metrics of whole runs: reported, not fitted, since start-up, restarts and evaluation are in them."""
ORIGIN = "fitted on published training measurements, see docs/methods-training.md"
INSIDE = {"memory": 0.8, "speed": 0.89}
"""More than 80 % of what speeds missed: of publishers and families that a fit did not see, fewer lie inside."""
SPREAD_ROWS_MINIMUM = 20


@dataclass(frozen=True, slots=True)
class Unknown:
    constant: str
    axis: Axis | None
    name: str
    freedom: float


@dataclass(slots=True)
class Side:
    """All rows of memory, or all of speed, ready to be fitted."""

    priors: dict[str, Prior]
    rows: list[Row]
    cases: list[TrainingCase]
    classes: list[Classes]
    weights: Array
    measured: Array
    predict: Callable[[Mapping[str, Array], NDArray[np.intp]], Array]

    @property
    def folds(self) -> NDArray[np.int_]:
        return np.array([-1 if row.fold is None else row.fold for row in self.rows])


def sides(rows: Sequence[Row]) -> tuple[Side, Side]:
    """Rows that count and can be answered: memory and speed."""
    kept: tuple[list[tuple[Row, TrainingCase]], list[tuple[Row, TrainingCase]]] = ([], [])
    for row in rows:
        if not row.scored or row.kind != "training" or not float(row.measured) > 0:
            continue
        found = case_of(row)
        if isinstance(found, str):
            continue
        try:
            if row.metric == MEMORY_METRIC:
                amounts_of(found)
            else:
                work_of(found)
        except (Unsupported, NoRate):
            continue
        kept[row.metric != MEMORY_METRIC].append((row, found))
    return _memory_side(kept[0]), _speed_side(kept[1])


def _side(
    pairs: list[tuple[Row, TrainingCase]], priors: dict[str, Prior],
    predict: Callable[[Mapping[str, Array], NDArray[np.intp]], Array],
) -> Side:  # fmt: skip
    rows = [row for row, _ in pairs]
    # A whole run is predicted and shown, but says too little about a step to be fitted.
    weights = np.array([0.0 if row.metric in WHOLE_RUN else row.weight for row in rows])
    return Side(priors, rows, [one for _, one in pairs], [classes_of(one) for _, one in pairs], weights,
                np.array([float(row.measured) for row in rows]), predict)  # fmt: skip


def _memory_side(pairs: list[tuple[Row, TrainingCase]]) -> Side:
    table = memory.columns([amounts_of(one) for _, one in pairs])

    def predict(c: Mapping[str, Array], keep: NDArray[np.intp]) -> Array:
        chosen = memory.Amounts(*(getattr(table, name)[keep] for name in table.__slots__))
        return np.asarray(np.minimum(memory.peak(chosen, c).total, chosen.usable) / GIB)

    return _side(pairs, MEMORY, predict)


def _speed_side(pairs: list[tuple[Row, TrainingCase]]) -> Side:
    table = speed.columns([work_of(one) for _, one in pairs])
    scale = np.array([float(in_unit(one, 1.0)) for _, one in pairs])
    power = np.array([1.0 if one.metric in ("step_time_s", *WHOLE_RUN) else -1.0 for _, one in pairs])

    def predict(c: Mapping[str, Array], keep: NDArray[np.intp]) -> Array:
        chosen = speed.Work(*(getattr(table, name)[keep] for name in table.__slots__))
        return np.asarray(scale[keep] * np.asarray(speed.step(chosen, c).total_s) ** power[keep])

    return _side(pairs, SPEED, predict)


def unknowns(side: Side, keep: NDArray[np.intp]) -> list[Unknown]:
    """Bases of all constants, and factors of classes that at least two publishers measured."""
    found = [Unknown(name, None, "", prior.freedom) for name, prior in side.priors.items()]
    publishers: dict[tuple[Axis, str], set[str]] = {}
    for n in keep:
        if side.weights[n] > 0:
            for axis in AXES:
                publishers.setdefault((axis, getattr(side.classes[n], axis)), set()).add(
                    side.rows[n].source_group
                )
    informed = sorted(key for key, names in publishers.items() if len(names) >= SOURCES_MINIMUM)
    for name, prior in side.priors.items():
        found += [
            Unknown(name, axis, item, prior.class_freedom) for axis, item in informed if axis in prior.axes
        ]
    return found


def _start(side: Side, keep: NDArray[np.intp]) -> dict[str, Array]:
    values = {}
    for name, prior in side.priors.items():
        column = np.full(len(keep), np.log(prior.value))
        for axis, factors in FACTORS.get(name, {}).items():
            column += np.array([np.log(factors.get(getattr(side.classes[n], axis), 1.0)) for n in keep])
        values[name] = column
    return values


def fit(side: Side, keep: NDArray[np.intp]) -> tuple[list[Unknown], Array]:
    """The unknowns that explain the kept rows best: damped Gauss–Newton on a soft-L1 loss of ln(predicted ÷
    measured), with a pull of every constant toward its prior and of every class toward the rest."""
    chosen = unknowns(side, keep)
    start = _start(side, keep)
    masks = [
        np.ones(len(keep), dtype=bool) if one.axis is None
        else np.array([getattr(side.classes[n], one.axis) == one.name for n in keep]) for one in chosen
    ]  # fmt: skip
    freedom = np.array([one.freedom for one in chosen])
    scale = np.sqrt(side.weights[keep]) / NOISE
    measured = np.log(side.measured[keep])

    def errors(theta: Array) -> Array:
        logs = {name: column.copy() for name, column in start.items()}
        for value, one, mask in zip(theta, chosen, masks, strict=True):
            logs[one.constant][mask] += value
        c = {name: np.minimum(np.exp(column), side.priors[name].maximum) for name, column in logs.items()}
        return np.log(np.maximum(side.predict(c, keep), 1e-12)) - measured

    def cost(found: Array, theta: Array) -> float:
        loss = 2 * ROBUST**2 * (np.sqrt(1 + (found * scale / ROBUST) ** 2) - 1)
        return float(loss.sum() + ((theta / freedom) ** 2).sum())

    theta = np.zeros(len(chosen))
    now = errors(theta)
    best, damping = cost(now, theta), 0.1
    for _ in range(ROUNDS):
        slopes = np.stack([(errors(theta + 5e-3 * unit) - now) / 5e-3 for unit in np.eye(len(theta))], axis=1)
        slopes = slopes * scale[:, None] * freedom
        scaled = now * scale
        weight = 1 / np.sqrt(1 + (scaled / ROBUST) ** 2)
        normal, gradient = (slopes.T * weight) @ slopes, (slopes.T * weight) @ scaled + theta / freedom
        gained = False
        for _ in range(6):
            move = np.linalg.solve(normal + (1 + damping) * np.eye(len(theta)), -gradient) * freedom
            tried = errors(theta + move)
            if (value := cost(tried, theta + move)) < best:
                gained = best - value > 1e-6 * best
                theta, now, best, damping = theta + move, tried, value, damping / 5
                break
            damping *= 5
        if not gained:
            break
    return chosen, theta


def constants_of(side: Side, chosen: Sequence[Unknown], theta: Array) -> list[Constant]:
    moved = {
        (one.constant, one.axis, one.name): float(np.exp(t)) for one, t in zip(chosen, theta, strict=True)
    }
    made = []
    for name, prior in side.priors.items():
        by: dict[Axis, dict[str, float]] = {}
        for axis in prior.axes:
            first = FACTORS.get(name, {}).get(axis, {})
            names = set(first) | {one.name for one in chosen if one.constant == name and one.axis == axis}
            factors = {
                item: round(first.get(item, 1.0) * moved.get((name, axis, item), 1.0), 4)
                for item in sorted(names)
            }
            if factors:
                by[axis] = factors
        made.append(Constant(
            name=name, base=float(f"{prior.value * moved.get((name, None, ''), 1.0):.4g}"), unit=prior.unit, by=by,
            maximum=None if np.isinf(prior.maximum) else prior.maximum,
        ))  # fmt: skip
    return made


def predicted(side: Side, constants: TrainingConstants, keep: NDArray[np.intp]) -> Array:
    values = [constants.resolve(side.classes[n]) for n in keep]
    c = {name: np.array([one[name] for one in values]) for name in side.priors}
    return side.predict(c, keep)


def spreads(side: Side, errors: Array, keep: NDArray[np.intp]) -> dict[str, Spread]:
    """Ranges by regime from ln(predicted ÷ measured) out of fold, weighted as the rows are; of memory from what is
    not exact in it."""
    found = {}
    if side.priors is MEMORY:
        errors = _of_the_rest(side, errors)
    regimes = sorted({side.cases[n].regime for n in keep})
    for regime in regimes:
        own = np.array([n for n in keep if side.cases[n].regime == regime])
        if len(own) < SPREAD_ROWS_MINIMUM:
            own = np.array([n for n in keep if side.weights[n] > 0 or regime == "whole run"])
        weights = np.array([side.rows[n].weight for n in own])
        inside = INSIDE["memory" if side.priors is MEMORY else "speed"]
        low, high = _quantiles(-errors[own], weights, (1 - inside) / 2)
        found[regime] = Spread(low=round(float(np.exp(min(0.0, low))), 3), high=round(float(np.exp(max(0.0, high))), 3),
                               count=len(own))  # fmt: skip
    return found


def _of_the_rest(side: Side, errors: Array) -> Array:
    """ln(predicted ÷ measured) of what is left when the exact part is taken off both."""
    predicted = side.measured * np.exp(errors)
    exact = np.array([exact_gib(one, value) for one, value in zip(side.cases, predicted, strict=True)])
    rest = np.maximum(side.measured - exact, LEAST_REST * (predicted - exact))
    return np.asarray(np.log((predicted - exact) / rest))


LEAST_REST = 0.05


def _quantiles(values: Array, weights: Array, tail: float) -> tuple[float, float]:
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) - 0.5 * weights[order]
    total = weights.sum()
    return (
        float(np.interp(tail * total, below, values[order])),
        float(np.interp((1 - tail) * total, below, values[order])),
    )


def calibrate(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Content of the data files by name: the same measurements give the same content."""
    both = sides(rows)
    text = "\n".join(sorted(f"{row.id} {row.measured!r}" for side in both for row in side.rows))
    version = hashlib.sha256(text.encode()).hexdigest()[:12]
    folds = sorted({int(fold) for side in both for fold in side.folds})
    parts: dict[int | None, list[Constant]] = {}
    errors = [np.zeros(len(side.rows)) for side in both]
    for fold in (*folds, None):
        made: list[Constant] = []
        for side in both:
            keep = np.flatnonzero(side.folds != fold) if fold is not None else np.arange(len(side.rows))
            made += constants_of(side, *fit(side, keep))
        parts[fold] = made
        constants = TrainingConstants(version=version, origin=ORIGIN, constants=tuple(made))
        if fold is not None:
            for side, error in zip(both, errors, strict=True):
                own = np.flatnonzero(side.folds == fold)
                if len(own):
                    error[own] = np.log(predicted(side, constants, own) / side.measured[own])

    def finished(fold: int | None) -> TrainingConstants:
        ranges: dict[str, Spread] = {}
        for side, error in zip(both, errors, strict=True):
            keep = np.arange(len(side.rows)) if fold is None else np.flatnonzero(side.folds != fold)
            ranges |= spreads(side, error, keep)
        return TrainingConstants(
            version=version if fold is None else f"{version}-{fold}", origin=ORIGIN, constants=tuple(parts[fold] or ()),
            spreads=ranges,
        )  # fmt: skip

    return {
        "training.json": {
            "about": "Constants of the training model. Written by manage.py calibrate; do not edit.",
            "constants": finished(None).model_dump(mode="json"),
        },
        "training_folds.json": {
            "about": "The same, each fitted without the rows of one fold: for evaluate --folds.",
            "folds": {str(fold): finished(fold).model_dump(mode="json") for fold in folds},
        },
    }
