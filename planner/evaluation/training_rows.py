"""Predicts the rows of training files: peak memory, and speed in whatever unit a row has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.evaluation.predictions import Prediction, refused
from planner.evaluation.rows import Row
from planner.evaluation.training_cases import TrainingCase, Unsupported, case
from planner.sizing.quantities import GIB
from planner.sizing.training import memory, speed
from planner.sizing.training.constants import Classes, TrainingConstants, classes
from planner.sizing.training.speed import NoRate

Array = NDArray[np.float64]
MEMORY_METRIC = "peak_mem_gib_per_gpu"


@lru_cache(maxsize=8192)
def parsed(items: tuple[tuple[str, str], ...]) -> TrainingCase | str:
    try:
        return case(dict(items))
    except (Unsupported, NoRate) as reason:
        return str(reason)


def case_of(row: Row) -> TrainingCase | str:
    return parsed(tuple(sorted({**row.inputs, "metric": row.metric}.items())))


def in_unit(found: TrainingCase, step_s: Array | float) -> Array | float:
    """The figure a row asks for, from the time of one step.

    A step's tokens are those of the whole run's GPUs; ranks beyond the split repeat it.
    """
    rate = found.step_tokens / step_s
    per_gpu = rate / found.gpu_count
    metric = found.metric
    if metric == "step_time_s":
        return step_s
    if metric == "tokens_per_s_total":
        return rate
    if metric == "tokens_per_s_per_gpu":
        return per_gpu
    if metric == "tflops_per_gpu":
        return per_gpu * found.mfu_flops / 1e12
    if metric == "mfu":
        return per_gpu * found.mfu_flops / found.mfu_peak
    if metric == "gpu_hours":
        return found.tokens_total / per_gpu / 3600
    if metric == "minutes_to_train":
        return found.tokens_total / rate / 60
    raise Unsupported(f"unit not known: {metric}")


def amounts_of(found: TrainingCase) -> memory.Amounts:
    usable = None if found.device is None else float(found.device.engine_total_bytes)
    return memory.amounts(found.job, found.measure, usable)


def work_of(found: TrainingCase) -> speed.Work:
    if found.device is None or found.links is None:
        raise Unsupported("accelerator not known")
    return speed.work(found.job, found.device, found.links)


def classes_of(found: TrainingCase) -> Classes:
    return classes(found.job, found.device)


def exact_gib(found: TrainingCase, value: float) -> float:
    """Of a row of memory, what follows from counts alone; the rest is what the range is about."""
    amounts = amounts_of(found)
    exact = float(amounts.frozen) + float(amounts.weights) + float(amounts.optimizer)
    return min(exact / GIB, EXACT_MAXIMUM * value)


EXACT_MAXIMUM = 0.9
"""Some of the peak is never exact."""


def predict(found: TrainingCase, constants: TrainingConstants) -> float:
    """The row's figure in its own unit. Raises ``Unsupported`` or ``NoRate``."""
    values: Mapping[str, float] = constants.resolve(classes_of(found))
    if found.metric == MEMORY_METRIC:
        amounts = amounts_of(found)
        # What was measured did fit: no more than the card has.
        return min(float(memory.peak(amounts, values).total), float(amounts.usable)) / GIB
    return float(in_unit(found, float(speed.step(work_of(found), values).total_s)))


def predict_training_rows(
    rows: Sequence[Row], constants: TrainingConstants, by_fold: Mapping[int, TrainingConstants] | None = None
) -> list[Prediction]:
    """One prediction a row, in order; with ``by_fold`` each by constants that did not see its fold."""
    found: list[Prediction] = []
    for row in rows:
        one = case_of(row)
        if isinstance(one, str):
            found.append(refused(one, "training"))
            continue
        chosen = constants
        if by_fold is not None and row.fold is not None:
            chosen = by_fold.get(row.fold, constants)
        try:
            value = predict(one, chosen)
        except (Unsupported, NoRate) as reason:
            found.append(refused(str(reason), one.regime))
            continue
        if one.metric == MEMORY_METRIC:
            low, high = chosen.range_of(one.regime)
            exact = exact_gib(one, value)
        else:
            low, high = chosen.range_of(one.regime, classes_of(one))
            exact = 0.0
        ends = (exact + (value - exact) * low, exact + (value - exact) * high)
        found.append(Prediction(value, *ends, "ok", None, one.regime))
    return found
