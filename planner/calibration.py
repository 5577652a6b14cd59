"""Fits the constants of the speed model on measurement files. ``docs/methods.md`` tells the method.

The fit minimises a robust loss of ln(predicted ÷ measured) plus a pull of every constant toward its starting
value and of every class toward the global value. A class gets a factor of its own only where at least two
publishers measured it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planner.evaluation.rows import Row
from planner.evaluation.throughput_cases import Case, Unsupported, case
from planner.evaluation.throughput_rows import gather, predict
from planner.sizing.constants import (
    AXES,
    CONSTANTS,
    MAXIMUM,
    NAMES,
    Axis,
    Constant,
    Constants,
    PointClasses,
)

Array = NDArray[np.float64]

PRIORS: dict[str, float] = {
    "weight_read_fraction": 0.78,
    "kv_read_fraction": 0.6,
    "decode_compute_fraction": 0.5,
    "prefill_compute_fraction": 0.55,
    "block_compute_fraction": 0.15,
    "prefill_attention_fraction": 0.3,
    "roof_exponent": 3.0,
    "routing_spread": 0.8,
    "expert_read_fraction": 0.97,
    "step_fixed_s": 1.5e-3,
    "step_layer_s": 4e-5,
    "step_sequence_s": 1e-5,
    "prefill_step_share": 0.3,
    "prefill_half_tokens": 64.0,
    "hop_s": 8e-6,
    "hop_growth": 0.6,
    "link_fraction": 0.6,
    "stage_s": 5e-5,
    "stage_overlap": 0.3,
    "request_fixed_s": 2e-2,
    "synchrony_fraction": 0.4,
    "kv_residency_fraction": 0.8,
    "preempted_share": 0.4,
    "latency_limit_fraction": 0.8,
}
"""Where the fit starts and what it is pulled toward."""

PRIOR_FACTORS: dict[str, dict[Axis, dict[str, float]]] = {
    "hop_s": {"link": {"pcie": 3.0}},
    "kv_residency_fraction": {"engine": {"tensorrt_llm": 1.25}},
    "preempted_share": {"engine": {"tensorrt_llm": 0.1, "llama_cpp": 0.1}},
    "step_layer_s": {"launch": {"eager": 2.0}},
}

FREEDOM: dict[str, float] = {
    "roof_exponent": 0.3,
    "kv_residency_fraction": 0.2,
    "preempted_share": 0.5,
    "latency_limit_fraction": 0.15,
    "prefill_step_share": 0.7,
    "prefill_half_tokens": 0.7,
    "step_fixed_s": 0.8,
    "step_layer_s": 0.8,
    "step_sequence_s": 0.8,
    "hop_s": 0.7,
    "request_fixed_s": 0.8,
    "stage_s": 0.5,
    "synchrony_fraction": 0.5,
    "expert_read_fraction": 0.02,
}
"""Standard deviation of ln(base ÷ start) that the pull allows; others ``FREEDOM_BASE``."""
FREEDOM_BASE = 0.3
FREEDOM_FACTOR: dict[str, float] = {
    "step_fixed_s": 0.7, "step_layer_s": 0.7, "step_sequence_s": 0.7, "request_fixed_s": 0.7, "hop_s": 0.5,
    "synchrony_fraction": 0.4, "expert_read_fraction": 0.3, "prefill_step_share": 0.4, "prefill_compute_fraction": 0.25,
}  # fmt: skip
FREEDOM_CLASS = 0.15
"""Standard deviation of ln(factor) of a class."""

NOISE = 0.18
"""Scale of a residual: ln(predicted ÷ measured) of a good prediction."""
ROBUST = 1.5
"""Scaled errors beyond this count linearly instead of squared."""
ROUNDS = 12
DAMPINGS = 6
COST_TOLERANCE = 2e-4
SOURCES_MINIMUM = 2
FOLDS = 12


@dataclass(frozen=True, slots=True)
class Factor:
    """One unknown of the fit: the base of a constant (``axis`` None) or the factor of a class."""

    constant: str
    axis: Axis | None
    name: str

    @property
    def freedom(self) -> float:
        if self.axis is None:
            return FREEDOM.get(self.constant, FREEDOM_BASE)
        return FREEDOM_FACTOR.get(self.constant, FREEDOM_CLASS)


@dataclass(slots=True)
class Data:
    """Measurements with their cases, ready to be fitted."""

    rows: list[Row]
    cases: list[Case]
    weights: Array
    classes: list[PointClasses] = field(init=False)
    owners: NDArray[np.intp] = field(init=False)
    measured: Array = field(init=False)

    def __post_init__(self) -> None:
        pairs = [(n, item.point.classes) for n, one in enumerate(self.cases) for item in one.alternatives]
        self.owners = np.array([n for n, _ in pairs], dtype=np.intp)
        self.classes = [classes for _, classes in pairs]
        self.measured = np.array([float(row.measured) for row in self.rows])

    def subset(self, keep: NDArray[np.bool_]) -> Data:
        chosen = np.flatnonzero(keep)
        return Data([self.rows[n] for n in chosen], [self.cases[n] for n in chosen], self.weights[chosen])


def data(rows: Sequence[Row], most_per_group: float = 30.0) -> Data:
    """The rows that count and can be answered. Of a publisher, family and metric with more than
    ``most_per_group`` rows each weighs √(``most_per_group`` ÷ rows)."""
    kept: list[Row] = []
    cases: list[Case] = []
    for row in rows:
        if not row.scored or row.kind != "throughput" or not float(row.measured) > 0:
            continue
        try:
            cases.append(case(row.inputs))
        except Unsupported:
            continue
        kept.append(row)
    groups: dict[tuple[str, str, str], int] = {}
    keys = [(row.source_group, row.inputs.get("family", ""), row.metric) for row in kept]
    for key in keys:
        groups[key] = groups.get(key, 0) + 1
    return Data(kept, cases, np.array([min(1.0, (most_per_group / groups[key]) ** 0.5) for key in keys]))


def publishers(found: Data) -> dict[tuple[Axis, str], set[str]]:
    """Who measured something of each class."""
    names: dict[tuple[Axis, str], set[str]] = {}
    for owner, classes in zip(found.owners, found.classes, strict=True):
        for axis in AXES:
            names.setdefault((axis, getattr(classes, axis)), set()).add(found.rows[owner].source_group)
    return names


def informed_by(found: Data) -> list[dict[str, str | int]]:
    """Each class with its rows and publishers, and whether it may have factors of its own."""
    rows: dict[tuple[Axis, str], set[int]] = {}
    for owner, classes in zip(found.owners.tolist(), found.classes, strict=True):
        for axis in AXES:
            rows.setdefault((axis, getattr(classes, axis)), set()).add(owner)
    return [
        {"axis": key[0], "class": key[1], "rows": len(rows[key]), "publishers": len(names)}
        for key, names in sorted(publishers(found).items())
    ]


def unknowns(found: Data) -> list[Factor]:
    """Bases of all constants, and factors of classes that at least two publishers measured."""
    result = [Factor(name, None, "") for name in NAMES]
    informed = sorted(key for key, names in publishers(found).items() if len(names) >= SOURCES_MINIMUM)
    for constant, (_, axes) in CONSTANTS.items():
        result += [Factor(constant, axis, name) for axis, name in informed if axis in axes]
    return result


class Problem:
    """One fit: the residuals and their Jacobian as functions of the unknowns."""

    def __init__(self, found: Data, factors: list[Factor]) -> None:
        self.found = found
        self.factors = factors
        self.design = design(found.classes, factors)
        self.start = start(found.classes)
        self.cases = gather(found.cases, np.exp(self.start))
        self.scale = np.sqrt(found.weights) / NOISE
        touched = [np.unique(self.found.owners[mask]) for _, mask in self.design]
        self.touched = np.concatenate(touched)
        self.mover = np.repeat(np.arange(len(factors)), [len(cases) for cases in touched])
        self.moved = self.cases.chosen(self.touched)
        self.points = self.cases.points_of(self.touched)
        sizes = np.diff(np.append(self.cases.starts, len(self.found.owners)))[self.touched]
        mover = np.repeat(self.mover, sizes)
        rows = np.array([row for row, _ in self.design])[mover]
        moves = np.stack([mask for _, mask in self.design])[mover, self.points]
        self.cells = (rows[moves], np.flatnonzero(moves))

    def constants(self, theta: Array) -> Array:
        logs = self.start.copy()
        for value, (row, mask) in zip(theta, self.design, strict=True):
            logs[row, mask] += value
        return bounded(logs)

    def errors(self, theta: Array) -> Array:
        return np.log(np.maximum(predict(self.cases, self.constants(theta)), 1e-12) / self.found.measured)

    def cost(self, theta: Array) -> float:
        errors = self.errors(theta) * self.scale
        pull = theta / np.array([factor.freedom for factor in self.factors])
        loss = 2.0 * ROBUST**2 * (np.sqrt(1.0 + (errors / ROBUST) ** 2) - 1.0)
        return float(np.sum(loss) + np.sum(pull**2))

    def jacobian(self, theta: Array) -> Array:
        """Change of the scaled errors with each unknown."""
        base = self.errors(theta)
        result = np.zeros((len(self.found.cases), len(theta)))
        step = 5e-3
        constants = self.constants(theta)[:, self.points]
        constants[self.cells] *= np.exp(step)
        for name, limit in MAXIMUM.items():
            row = NAMES.index(name)
            constants[row] = np.minimum(constants[row], limit)
        predicted = np.log(
            np.maximum(predict(self.moved, constants), 1e-12) / self.found.measured[self.touched]
        )
        slopes = (predicted - base[self.touched]) / step * self.scale[self.touched]
        result[self.touched, self.mover] = slopes
        return result


def design(classes: Sequence[PointClasses], factors: Sequence[Factor]) -> list[tuple[int, NDArray[np.bool_]]]:
    """For each unknown: which constant it moves and for which points."""
    everywhere = np.ones(len(classes), dtype=bool)
    result = []
    columns = {axis: np.array([getattr(item, axis) for item in classes]) for axis in AXES}
    for factor in factors:
        mask = everywhere if factor.axis is None else columns[factor.axis] == factor.name
        result.append((NAMES.index(factor.constant), mask))
    return result


def start(classes: Sequence[PointClasses]) -> Array:
    """Logarithms of the starting constants for each point."""
    prior = first_constants()
    return np.log(np.stack([prior.resolve(item) for item in classes], axis=1))


def bounded(logs: Array) -> Array:
    values = np.exp(logs)
    for name, limit in MAXIMUM.items():
        row = NAMES.index(name)
        values[row] = np.minimum(values[row], limit)
    return values


def fit(found: Data, factors: list[Factor] | None = None, rounds: int = ROUNDS) -> tuple[list[Factor], Array]:
    """The unknowns that explain the measurements best.

    Damped Gauss–Newton on a Huber-like loss (soft L1) of the errors plus the squared pull; each round keeps the
    best of a few dampings, so that the result does not depend on how fast the machine is.
    """
    chosen = unknowns(found) if factors is None else factors
    problem = Problem(found, chosen)
    freedom = np.array([factor.freedom for factor in chosen])
    theta = np.zeros(len(chosen))
    damping = 0.1
    cost = problem.cost(theta)
    for _ in range(rounds):
        errors = problem.errors(theta) * problem.scale
        slopes = problem.jacobian(theta)
        weight = 1.0 / np.sqrt(1.0 + (errors / ROBUST) ** 2)
        scaled = slopes * freedom
        normal = (scaled.T * weight) @ scaled
        gradient = (scaled.T * weight) @ errors + theta / freedom
        gained = False
        for _ in range(DAMPINGS):
            step = np.linalg.solve(normal + (1.0 + damping) * np.eye(len(theta)), -gradient) * freedom
            moved = problem.cost(theta + step)
            if moved < cost:
                gained = cost - moved > COST_TOLERANCE * cost
                theta, cost, damping = theta + step, moved, damping / 5
                break
            damping *= 5
        if not gained:
            break
    return chosen, theta


def to_constants(factors: Sequence[Factor], theta: Array, version: str, origin: str) -> Constants:
    """The fitted unknowns as a set of constants."""
    moved = {(f.constant, f.axis, f.name): float(np.exp(t)) for f, t in zip(factors, theta, strict=True)}
    made = []
    for name, (unit, axes) in CONSTANTS.items():
        by: dict[Axis, dict[str, float]] = {}
        for axis in axes:
            prior = PRIOR_FACTORS.get(name, {}).get(axis, {})
            classes = {f.name for f in factors if f.constant == name and f.axis == axis} | set(prior)
            values = {
                item: round(prior.get(item, 1.0) * moved.get((name, axis, item), 1.0), 4)
                for item in sorted(classes)
            }
            if values:
                by[axis] = values
        base = PRIORS[name] * moved.get((name, None, ""), 1.0)
        made.append(Constant(name=name, base=float(f"{base:.4g}"), unit=unit, by=by, origin=origin))
    return Constants(version=version, origin=origin, constants=tuple(made))


def first_constants() -> Constants:
    """The starting values as a set of constants, before any fit."""
    return to_constants((), np.zeros(0), "start", "starting value")
