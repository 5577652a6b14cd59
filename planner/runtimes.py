"""The shipped engines: reads the seed once and finds the era of a version."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from planner.sizing.quantities import Assumption
from planner.sizing.runtime import Runtime, choose

SEED = Path(__file__).with_name("seeds") / "runtimes.json"


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """The seed as it stands: ``constants`` by name, and ``runtimes`` that refer to them."""
    found: dict[str, Any] = json.loads(SEED.read_text(encoding="utf-8"))
    return found


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def build(values: Mapping[str, float] | None = None) -> tuple[Runtime, ...]:
    """Every engine and era; ``values`` stand in for constants of the seed (to judge them out of fold)."""
    constants: dict[str, Assumption] = {}
    for row in document()["constants"]:
        source = row["source"]
        if "publishers" in row:
            source = f"{source}: {_counted(row['rows'], 'row')} of {_counted(row['publishers'], 'publisher')}"
        constants[row["name"]] = Assumption(
            name=row["name"],
            value=(values or {}).get(row["name"], row["value"]),
            unit=row["unit"],
            source=source,
            low=row["low"],
            high=row["high"],
        )
    ranges = {metric: tuple(found[:2]) for metric, found in document()["spreads"].items()}
    return tuple(
        Runtime.model_validate(
            {
                **row,
                "constants": {name: constants[target] for name, target in row["constants"].items()},
                "ranges": ranges,
            }
        )
        for row in document()["runtimes"]
    )


@lru_cache(maxsize=1)
def eras() -> tuple[Runtime, ...]:
    """Every engine and era that is shipped."""
    return build()


@lru_cache(maxsize=512)
def resolve(name: str, version: str | None = None) -> Runtime:
    """The engine's parameters at this version; the newest era where none is given. Raises
    ``UnknownRuntime``."""
    return choose(eras(), name, version)


def versions(name: str) -> tuple[str, ...]:
    """Versions to offer for an engine, newest first."""
    return tuple(era.version for era in reversed(eras()) if era.name == name)
