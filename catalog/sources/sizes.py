"""What the shipped lists of sizes say of a machine that its provider's price list names by size alone."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

TYPES = Path(__file__).parents[1] / "seeds" / "machines" / "types.csv"

REASONS = {"cpu": "no_accelerator", "host": "dedicated_host", "other": "other_accelerator"}
"""Why a size of this kind is listed and not sized."""


@cache
def kinds(provider: str) -> dict[str, str]:
    """Each known size of a provider: ``gpu``, ``cpu``, ``host``, or ``other`` for accelerators that are no GPUs."""
    with TYPES.open(encoding="utf-8", newline="") as lines:
        return {row["sku"]: row["kind"] for row in csv.DictReader(lines) if row["provider"] == provider}
