"""What a predictor answers for one row of a measurement file."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Prediction(NamedTuple):
    """``predicted`` within ``low``–``high`` (80 %), or why there is none; a verdict is text."""

    predicted: float | str | None
    low: float | None
    high: float | None
    status: Literal["ok", "unsupported", "error"]
    reason: str | None
    regime: str


def refused(reason: str, regime: str) -> Prediction:
    """The product does not answer this row, and says why."""
    return Prediction(None, None, None, "unsupported", reason, regime)
