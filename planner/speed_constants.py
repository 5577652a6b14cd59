"""The shipped constants of the speed model: read once, handed to the sizing core."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from planner.sizing.constants import Constants

SEED = Path(__file__).parent / "seeds" / "calibration.json"
FOLDS_SEED = Path(__file__).parent / "seeds" / "calibration_folds.json"


@cache
def constants() -> Constants:
    """The constants fitted on all measurements."""
    return Constants.model_validate(json.loads(SEED.read_text(encoding="utf-8"))["constants"])


@cache
def fold_constants() -> dict[int, Constants]:
    """For each fold of the measurement files: constants fitted without its rows."""
    folds = json.loads(FOLDS_SEED.read_text(encoding="utf-8"))["folds"]
    return {int(fold): Constants.model_validate(values) for fold, values in folds.items()}
