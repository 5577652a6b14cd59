"""The data files of a calibration: constants, constants without each fold, and the ratios left out of fold.

They hold nothing that was measured: constants, ranges, counts, and predicted ÷ measured by row id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from planner.calibration import SOURCES_MINIMUM, Array, Data, data, fit, informed_by, to_constants, unknowns
from planner.evaluation.cards import cards
from planner.evaluation.rows import read
from planner.evaluation.scoring import FACTOR_OF_TWO
from planner.evaluation.spreads import spreads
from planner.evaluation.throughput_answers import predictions
from planner.sizing.constants import Constants

ORIGIN = "fitted on published measurements, see docs/methods.md"
FITTED_FILE, WHOLE_FILE = "throughput.csv", "throughput_full.csv"


def training(folder: Path) -> Data:
    """The balanced sample, and the prefill rows of the whole collection, which the sample has few of.

    Rows weigh by how many of their publisher, family and metric the whole collection has, so that a sweep of
    hundreds does not outweigh a table of five.
    """
    sample = {row.id for row in read([folder / FITTED_FILE])}
    whole = data(read([folder / FITTED_FILE, folder / WHOLE_FILE]))
    return whole.subset(np.array([row.id in sample or row.metric == "prefill_tok_s" for row in whole.rows]))


def calibrate(folder: Path) -> dict[str, dict[str, Any]]:
    """Content by file name: the same measurements give the same content."""
    found = training(folder)
    folds = np.array([NO_FOLD if row.fold is None else row.fold for row in found.rows])
    version = _digest(found)
    without: dict[int, Constants] = {}
    errors = np.zeros(len(found.rows))
    for fold in sorted(set(folds.tolist())):
        kept = found.subset(folds != fold)
        without[fold] = to_constants(*fit(kept), f"{version}-{fold}", ORIGIN)
        own = found.subset(folds == fold)
        errors[folds == fold] = np.log(predictions(own.cases, without[fold]) / own.measured)
    fitted = to_constants(*fit(found), version, ORIGIN)
    whole = fitted.model_copy(update={"spreads": spreads(found.cases, errors)})
    for fold, constants in without.items():
        others = found.subset(folds != fold)
        ranges = spreads(others.cases, errors[folds != fold])
        without[fold] = constants.model_copy(update={"spreads": ranges})
    return {
        "calibration.json": {
            "about": "Constants of the speed model. Written by manage.py calibrate; do not edit.",
            "fitted_on": _fitted_on(found),
            "fold_errors": [
                {"fold": fold, **_errors(errors[folds == fold])} for fold in sorted(without)
            ],
            "constants": whole.model_dump(mode="json"),
        },
        "calibration_folds.json": {
            "about": "The same, each fitted without the rows of one fold: for evaluate --folds.",
            "folds": {str(fold): constants.model_dump(mode="json") for fold, constants in without.items()},
        },
        "calibration_ratios.json": _ratios(folder, {row.id for row in found.rows}, without),
    }  # fmt: skip


NO_FOLD = -1


def write(files: dict[str, dict[str, Any]], folder: Path) -> None:
    for name, content in files.items():
        text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
        if "rows" in content:  # one row a line
            rows = content["rows"]
            head = json.dumps(content | {"rows": []}, indent=1, sort_keys=True, ensure_ascii=False)
            lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
            text = head.replace('"rows": []', f'"rows": [\n{lines}\n ]')
        (folder / name).write_text(text + "\n", encoding="utf-8")


def _digest(found: Data) -> str:
    """Names the measurements a set was fitted on."""
    text = "\n".join(f"{row.id} {row.measured!r}" for row in sorted(found.rows, key=lambda row: row.id))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _fitted_on(found: Data) -> dict[str, Any]:
    publishers = sorted({row.source_group for row in found.rows})
    return {
        "rows": len(found.rows),
        "publishers": publishers,
        "sources_minimum": SOURCES_MINIMUM,
        "unknowns": len(unknowns(found)),
        "classes": informed_by(found),
    }


def _errors(errors: Array) -> dict[str, Any]:
    ape = np.abs(np.expm1(errors))
    return {
        "n": len(errors),
        "median_ape": round(float(np.median(ape)), 4),
        "p80_ape": round(float(np.quantile(ape, 0.8)), 4),
        "within_2x": round(float(np.mean(np.abs(errors) <= FACTOR_OF_TWO)), 4),
    }


RATIO_COLUMNS = (
    "id", "ratio", "metric", "regime", "engine", "family", "shape", "source", "fitted", "assumed", "gpu",
)  # fmt: skip


def _ratios(folder: Path, fitted: set[str], without: dict[int, Constants]) -> dict[str, Any]:
    """Predicted ÷ measured of every row of the collection that counts, by the constants without its fold."""
    whole = data(read([folder / FITTED_FILE, folder / WHOLE_FILE]))
    folds = np.array([NO_FOLD if row.fold is None else row.fold for row in whole.rows])
    errors = np.zeros(len(whole.rows))
    for fold in sorted(set(folds.tolist()) & without.keys()):
        own = whole.subset(folds == fold)
        errors[folds == fold] = np.log(predictions(own.cases, without[fold]) / own.measured)
    known = np.isin(folds, sorted(without))
    sources: dict[str, int] = {}
    shapes: dict[tuple[int, int, int], int] = {}
    accelerators: dict[str, list[str]] = {}
    rows = []
    for row, case, error, fold_known in zip(whole.rows, whole.cases, errors.tolist(), known, strict=True):
        if not fold_known:
            continue
        point, label = case.alternatives[0].point, row.inputs.get("gpu", "")
        memory = float(row.inputs["gpu_memory_gb"]) if row.inputs.get("gpu_memory_gb") else None
        named = set(accelerators.get(label, [])) | {device.name for device in cards(label, memory)}
        accelerators[label] = sorted(named)
        cells = {
            "id": row.id, "ratio": round(float(np.exp(error)), 3), "metric": row.metric, "regime": case.regime,
            "engine": point.classes.engine, "family": row.inputs.get("family", ""),
            "shape": shapes.setdefault((point.hidden, point.layers, point.experts), len(shapes)),
            "source": sources.setdefault(row.source.split("/raw/")[0], len(sources)),
            "fitted": row.id in fitted, "assumed": case.assumed, "gpu": label,
        }  # fmt: skip
        rows.append([cells[name] for name in RATIO_COLUMNS])
    return {
        "about": "Predicted ÷ measured of published measurements, each by constants fitted without its fold.",
        "accelerators": accelerators,
        "columns": list(RATIO_COLUMNS),
        "rows": rows,
        "shapes": [list(shape) for shape in shapes],
        "sources": list(sources),
    }


def fold_table(errors: Sequence[dict[str, Any]]) -> str:
    """Errors by fold, for people."""
    lines = [f"{'fold':>4} {'n':>5} {'median':>8} {'p80':>8} {'in 2x':>8}"]
    lines += [
        f"{line['fold']:>4} {line['n']:>5} {line['median_ape']:>8.1%} {line['p80_ape']:>8.1%}"
        f" {line['within_2x']:>8.1%}"
        for line in errors
    ]
    return "\n".join(lines)


def constants_table(made: dict[str, Any]) -> str:
    """Every constant and factor with the rows and publishers that inform it, for people."""
    fitted = made["fitted_on"]
    counted = {(item["axis"], item["class"]): item for item in fitted["classes"]}
    lines = [f"{'constant':28} {'class':28} {'value':>10} {'rows':>6} {'publishers':>10}"]
    everything = f"{fitted['rows']:>6} {len(fitted['publishers']):>10}"
    for constant in made["constants"]["constants"]:
        lines.append(f"{constant['name']:28} {'':28} {constant['base']:>10.4g} {everything}")
        for axis, factors in sorted(constant["by"].items()):
            for name, factor in sorted(factors.items()):
                held = counted.get((axis, name))
                known = f"{held['rows']:>6} {held['publishers']:>10}" if held else f"{0:>6} {0:>10}"
                lines.append(f"{'':28} {f'{axis} {name}':28} {f'× {factor:.3f}':>10} {known}")
    return "\n".join(lines)
