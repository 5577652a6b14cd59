"""The shipped constants of the speed model: read once, handed to the sizing core."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from planner.sizing.constants import Constants
from planner.sizing.evidence import Ratio

SEED = Path(__file__).parent / "seeds" / "calibration.json"
RATIOS_SEED = Path(__file__).parent / "seeds" / "calibration_ratios.json"
FOLDS_SEED = Path(__file__).parent / "seeds" / "calibration_folds.json"


@cache
def constants() -> Constants:
    """The constants fitted on all measurements, with what they missed out of fold."""
    fitted = Constants.model_validate(json.loads(SEED.read_text(encoding="utf-8"))["constants"])
    return fitted.model_copy(update={"ratios": ratios()})


@cache
def fold_constants() -> dict[int, Constants]:
    """For each fold of the measurement files: constants fitted without its rows."""
    folds = json.loads(FOLDS_SEED.read_text(encoding="utf-8"))["folds"]
    return {int(fold): Constants.model_validate(values) for fold, values in folds.items()}


@cache
def ratios() -> tuple[Ratio, ...]:
    """Predicted ÷ measured of published measurements, each by constants that had not seen its fold."""
    held = json.loads(RATIOS_SEED.read_text(encoding="utf-8"))
    sources, shapes = held["sources"], [tuple(shape) for shape in held["shapes"]]
    accelerators = {label: tuple(names) for label, names in held["accelerators"].items()}
    place = {name: held["columns"].index(name) for name in held["columns"]}
    shape, source, gpu = place["shape"], place["source"], place["gpu"]
    plain = [name for name in held["columns"] if name not in ("shape", "source")]
    cells = [place[name] for name in plain]
    return tuple(
        Ratio(
            shape=shapes[row[shape]],
            source=sources[row[source]],
            accelerators=accelerators[row[gpu]],
            **dict(zip(plain, [row[cell] for cell in cells], strict=True)),
        )
        for row in held["rows"]
    )
