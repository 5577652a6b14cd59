"""Answers of the product to rows of throughput files, each with its range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from planner.evaluation.predictions import Prediction, refused
from planner.evaluation.rows import Row
from planner.evaluation.spreads import key
from planner.evaluation.throughput_cases import Case, Unsupported, case
from planner.evaluation.throughput_rows import gather, predict
from planner.sizing.constants import Constants

NO_FOLD = -1


def predict_throughput_rows(
    rows: Sequence[Row], constants: Constants, by_fold: Mapping[int, Constants] | None = None
) -> list[Prediction]:
    """One prediction a row, in order; with ``by_fold`` each by the constants that saw nothing of its fold."""
    found: list[Prediction | None] = [None] * len(rows)
    cases: dict[int, list[tuple[int, Case]]] = {}
    for position, row in enumerate(rows):
        try:
            one = case(row.inputs)
        except Unsupported as reason:
            found[position] = refused(str(reason), "unsupported")
            continue
        except (ValueError, ArithmeticError, LookupError) as error:
            reason_text = f"{type(error).__name__}: {error}"
            found[position] = Prediction(None, None, None, "error", reason_text, "error")
            continue
        fold = row.fold if by_fold is not None and row.fold in by_fold else NO_FOLD
        cases.setdefault(NO_FOLD if fold is None else fold, []).append((position, one))
    for fold, own in cases.items():
        used = constants if by_fold is None or fold == NO_FOLD else by_fold[fold]
        values = predictions([one for _, one in own], used)
        for (position, one), value in zip(own, values.tolist(), strict=True):
            found[position] = _answer(one, value, used)
    return [item for item in found if item is not None]


def predictions(cases: Sequence[Case], constants: Constants) -> NDArray[np.float64]:
    """The metric of every case by one set of constants."""
    if not cases:
        return np.zeros(0)
    columns = np.stack(
        [constants.resolve(item.point.classes) for one in cases for item in one.alternatives], axis=1
    )
    return predict(gather(cases, columns), columns)


def _answer(one: Case, value: float, constants: Constants) -> Prediction:
    regime = one.regime.replace("_", " ")
    if not np.isfinite(value) or value <= 0:
        return refused(f"metric not predicted: {one.metric}", regime)
    low, high = constants.range_of(key(one), one.alternatives[0].point.classes)
    return Prediction(value, value * low, value * high, "ok", None, regime)
