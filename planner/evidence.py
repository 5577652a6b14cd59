"""How well predictions hold against published measurements that the constants had not seen, by group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from planner import speed_constants
from planner.sizing.constants import Constants
from planner.sizing.evidence import Ratio

ASSUMED = "_assumed"
FACTOR_OF_TWO = np.log(2.0)
WORST_MEDIAN = 0.4
WORST_ROWS = 8
"""A group is named as one not to trust from this median error and this many measurements on."""
GROUP_ROWS = 5
POOLED_WITHOUT = ("ttft_ms", "prefill_tok_s")
GROUPS: dict[str, Callable[[Ratio], str]] = {
    "regime": lambda row: row.regime,
    "engine": lambda row: row.engine,
    "gpu": lambda row: row.gpu,
    "family": lambda row: row.family,
}


@dataclass(frozen=True)
class Errors:
    """Errors over some measurements; |predicted − measured| ÷ measured."""

    name: str
    metric: str
    count: int
    median: float
    p80: float
    within_2x: float
    bias: float
    """Median of ln(predicted ÷ measured): above 0 the predictions lie high."""
    in_range: float
    """Share of measurements inside the 80 % range."""


@dataclass(frozen=True)
class Evidence:
    """Everything the page says."""

    count: int
    sources: tuple[str, ...]
    pooled: Errors
    """The balanced sample without TTFT and prefill."""
    sample: tuple[Errors, ...]
    """The balanced sample by metric."""
    whole: tuple[Errors, ...]
    """The whole collection by metric."""
    groups: dict[str, tuple[Errors, ...]]
    """The whole collection by metric and group."""
    worst: tuple[tuple[str, Errors], ...]
    """Groups with a large error: which grouping, and the errors."""


@cache
def evidence() -> Evidence:
    """The evidence shipped with the constants in use."""
    return summed_up(speed_constants.ratios(), speed_constants.constants())


def summed_up(ratios: Sequence[Ratio], constants: Constants) -> Evidence:
    """Errors of the balanced sample and of the whole collection, by metric and by group."""
    sample = [row for row in ratios if row.fitted]
    metrics = sorted({row.metric for row in ratios})
    groups = {kind: tuple(_grouped(ratios, metrics, key, constants)) for kind, key in GROUPS.items()}
    worst = [
        (kind, errors)
        for kind, found in groups.items()
        for errors in found
        if kind != "regime" and errors.count >= WORST_ROWS and errors.median > WORST_MEDIAN
    ]
    return Evidence(
        count=len(ratios),
        sources=tuple(sorted({_repository(row.source) for row in ratios})),
        pooled=_errors("", "", [row for row in sample if row.metric not in POOLED_WITHOUT], constants),
        sample=tuple(_by_metric(sample, metrics, constants)),
        whole=tuple(_by_metric(ratios, metrics, constants)),
        groups=groups,
        worst=tuple(sorted(worst, key=lambda pair: -pair[1].median)),
    )


def _by_metric(rows: Iterable[Ratio], metrics: Sequence[str], constants: Constants) -> Iterable[Errors]:
    held = list(rows)
    for metric in metrics:
        own = [row for row in held if row.metric == metric]
        if own:
            yield _errors("", metric, own, constants)


def _grouped(
    rows: Sequence[Ratio], metrics: Sequence[str], key: Callable[[Ratio], str], constants: Constants
) -> Iterable[Errors]:
    for metric in metrics:
        found: dict[str, list[Ratio]] = {}
        for row in rows:
            if row.metric == metric:
                found.setdefault(key(row), []).append(row)
        for name, own in sorted(found.items()):
            if len(own) >= GROUP_ROWS:
                yield _errors(name, metric, own, constants)


def _errors(name: str, metric: str, rows: Sequence[Ratio], constants: Constants) -> Errors:
    ratio = np.array([row.ratio for row in rows])
    missed = np.abs(ratio - 1.0)
    logs = np.log(ratio)
    inside = [_is_inside(row, constants) for row in rows]
    return Errors(
        name=name,
        metric=metric,
        count=len(rows),
        median=float(np.median(missed)),
        p80=float(np.quantile(missed, 0.8)),
        within_2x=float(np.mean(np.abs(logs) <= FACTOR_OF_TWO)),
        bias=float(np.median(logs)),
        in_range=float(np.mean(inside)),
    )


def _is_inside(row: Ratio, constants: Constants) -> bool:
    spread = constants.spreads.get(row.regime + (ASSUMED if row.assumed else ""))
    return spread is not None and spread.low <= 1.0 / row.ratio <= spread.high


def _repository(source: str) -> str:
    """Owner and repository, or the site, of an address or path; how it was kept is left out."""
    plain = source.removeprefix("https://").removeprefix("http://").partition(" (")[0]
    return "/".join(plain.split("/")[:2])
