"""The published measurements nearest to a predicted figure, from what the model missed on them out of fold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.sizing.quantities import Likeness, Near, NearRow

FIGURES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ttft_s": (("ttft_ms",), ()),
    "tpot_s": (("tpot_ms",), ("decode_tok_s_single",)),
    "output_tokens_per_s": (("output_tok_s_total", "per_gpu_output_tok_s", "total_tok_s"), ()),
    "prefill_s": ((), ("prefill_tok_s",)),
}
"""Metrics that measure a figure, and metrics that measure its inverse."""
REGIMES: dict[str, tuple[str, ...]] = {
    "ttft_alone": ("ttft_alone",), "ttft_loaded": ("ttft_loaded",), "decode_alone": ("decode_alone",),
    "decode_batched": ("decode_batched",), "throughput": ("throughput", "saturated"),
    "saturated": ("saturated", "throughput"), "prefill": ("prefill",),
}  # fmt: skip
"""Regimes whose errors say something of one another's, the own one first."""
WEIGHTS: dict[Likeness, float] = {"engine": 4.0, "accelerator": 3.0, "model": 2.0}
ENOUGH = 5
"""Measurements that are worth a middle and a range; with fewer the next likeness is taken in."""
SHOWN = 6


@dataclass(frozen=True, slots=True)
class Ratio:
    """Predicted ÷ measured of one published measurement, by constants that had not seen its publisher and family."""

    id: str
    ratio: float
    metric: str
    regime: str
    engine: str
    """As the product names it; the label where it has none."""
    accelerators: tuple[str, ...]
    """Those that the measurement's label can mean."""
    family: str
    shape: tuple[int, int, int]
    """Hidden size, layers, experts: models of one shape run alike."""
    source: str
    fitted: bool
    """Whether it is in the balanced sample that constants are fitted on."""
    assumed: bool
    """Whether something that matters was not stated."""
    gpu: str
    """The measurement's own label."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a figure was predicted for."""

    regime: str
    engine: str
    accelerator: str
    shape: tuple[int, int, int]


def near(ratios: Iterable[Ratio], figure: str, asked: Asked) -> Near | None:
    """The measurements of this figure's regime that share most with it; None where there is none at all.

    Engine counts before accelerator, and that before the model's shape. Rows that share as much as the nearest one
    are taken whole; where these are fewer than ``ENOUGH``, those that share less join them.
    """
    direct, inverse = FIGURES.get(figure, ((), ()))
    regimes = REGIMES.get(asked.regime, (asked.regime,))
    scored: list[tuple[float, Ratio]] = []
    for row in ratios:
        if row.regime in regimes and row.metric in (*direct, *inverse):
            scored.append((sum(WEIGHTS[item] for item in _shared(row, asked)), row))
    if not scored:
        return None
    scored.sort(key=lambda pair: (-pair[0], regimes.index(pair[1].regime), pair[1].id))
    taken = [pair for pair in scored if pair[0] == scored[0][0]]
    while len(taken) < min(ENOUGH, len(scored)):
        level = scored[len(taken)][0]
        taken = [pair for pair in scored if pair[0] >= level]
    rows = [row for _score, row in taken]
    values = np.array([1.0 / row.ratio if row.metric in inverse else row.ratio for row in rows])
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    shares: tuple[Likeness, ...] = tuple(
        item for item in WEIGHTS if all(item in _shared(row, asked) for row in rows)
    )
    return Near(
        shares=shares,
        count=len(rows),
        median_ratio=round(float(middle), 3),
        low=round(float(low), 3),
        high=round(float(high), 3),
        rows=_shown(rows, values),
    )


def _shared(row: Ratio, asked: Asked) -> tuple[Likeness, ...]:
    found: list[Likeness] = []
    if row.engine == asked.engine:
        found.append("engine")
    if asked.accelerator in row.accelerators:
        found.append("accelerator")
    if row.shape == asked.shape:
        found.append("model")
    return tuple(found)


def _shown(rows: Sequence[Ratio], values: np.ndarray) -> tuple[NearRow, ...]:
    """The first of each source before its second, so that one sweep does not fill the list."""
    seen: dict[str, int] = {}
    order = []
    for position, row in enumerate(rows):
        turn = seen[row.source] = seen.get(row.source, 0) + 1
        order.append((turn, position))
    return tuple(
        NearRow(
            id=rows[position].id,
            ratio=round(float(values[position]), 3),
            metric=rows[position].metric,
            engine=rows[position].engine,
            accelerator=rows[position].gpu,
            family=rows[position].family,
            source=rows[position].source,
        )
        for _turn, position in sorted(order)[:SHOWN]
    )
