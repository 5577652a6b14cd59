"""Jobs and constants for the tests of training."""

from __future__ import annotations

from typing import Any

from planner.sizing.training import memory, speed
from planner.sizing.training.constants import (
    FACTORS,
    MEMORY,
    SPEED,
    Classes,
    Constant,
    TrainingConstants,
    classes,
)
from planner.sizing.training.fabric import fabric
from planner.sizing.training.job import Job
from planner.sizing.training.memory import Peak
from planner.sizing.training.speed import Step
from tests.sizing.machines import A100, grouped, model

SMALL = grouped(layers=8, heads=8, kv_heads=2, head_dim=64, hidden=512, intermediate=1024, vocab=32_000)
CLASSES = Classes("torch", "ampere", "half", "eager")


def priors() -> TrainingConstants:
    """The constants before any fit: tests of laws do not depend on measurements."""
    made = tuple(
        Constant(
            name=name, base=prior.value, unit=prior.unit, by=FACTORS.get(name, {}),
            maximum=None if prior.maximum == float("inf") else prior.maximum,
        )
        for name, prior in {**MEMORY, **SPEED}.items()
    )  # fmt: skip
    return TrainingConstants(version="priors", origin="starting values", constants=made)


def job(**changed: Any) -> Job:
    return Job(**{"arch": SMALL, "method": "full", "sequence": 1024, **changed})


def peak(found: Job, measure: str = "device") -> Peak:
    values = priors().resolve(classes(found, A100))
    return memory.peak(memory.amounts(found, measure), values)


def total(found: Job, measure: str = "device") -> float:
    return float(peak(found, measure).total)


def step(found: Job, device: Any = A100) -> Step:
    values = priors().resolve(classes(found, device))
    return speed.step(speed.work(found, device, fabric(device)), values)


__all__ = ["CLASSES", "SMALL", "job", "model", "peak", "priors", "step", "total"]
