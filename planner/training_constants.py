"""Reads the fitted constants of the training model."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from planner.sizing.training.constants import TrainingConstants

SEED = Path(__file__).with_name("seeds") / "training.json"
FOLDS = SEED.with_name("training_folds.json")


@lru_cache(maxsize=1)
def constants() -> TrainingConstants:
    """The constants the product uses."""
    return TrainingConstants.model_validate(json.loads(SEED.read_text(encoding="utf-8"))["constants"])


@lru_cache(maxsize=1)
def fold_constants() -> dict[int, TrainingConstants]:
    """By fold, constants fitted without it."""
    found = json.loads(FOLDS.read_text(encoding="utf-8"))["folds"]
    return {int(fold): TrainingConstants.model_validate(content) for fold, content in found.items()}
