"""Assumptions of a training run that a user may set by hand."""

from __future__ import annotations

from math import isfinite

from planner.sizing.settable import HOST, LEAST_SHARE, REWORK, Settable, around
from planner.sizing.training.checkpoints import GPU_HOURS_PER_FAILURE, REPAIR_HOURS
from planner.sizing.training.constants import MEMORY, SPEED, Prior

DIVISORS = frozenset({"linear_fraction", "expert_fraction", "attention_fraction"})
FAR = 100.0
"""So many times what the fit starts from is still accepted, where a constant has no maximum of its own."""


def _of(name: str, prior: Prior) -> Settable:
    maximum = prior.maximum if isfinite(prior.maximum) else FAR * prior.value
    return Settable(prior.unit, LEAST_SHARE if name in DIVISORS else 0.0, maximum)


TRAINING: dict[str, Settable] = {
    **{name: _of(name, prior) for name, prior in (MEMORY | SPEED).items()},
    **HOST,
    **REWORK,
    "fabric_link_bytes_per_s": Settable("byte/s", 1e6, 1e13),
    GPU_HOURS_PER_FAILURE.name: around(GPU_HOURS_PER_FAILURE, least=1.0),
    REPAIR_HOURS.name: around(REPAIR_HOURS),
}
