"""Reads measurement files and recognises what they hold by their header."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["throughput", "memory", "training", "verdicts"]

MARKS: tuple[tuple[Kind, frozenset[str]], ...] = (
    ("throughput", frozenset({"isl", "osl", "concurrency_or_batch", "metric", "value"})),
    ("verdicts", frozenset({"verdict"})),
    ("training", frozenset({"method", "metric", "value"})),
    ("memory", frozenset({"metric", "value", "max_model_len_or_ctx"})),
)
"""The first whose columns are all there."""

KEPT_FROM_PREDICTORS = frozenset(
    {"value", "verdict", "id", "notes", "fold", "weight", "scored", "unscored_reason"}
)
"""Answers, and columns about the file itself. So is everything that starts with ``source``."""


class UnreadableFile(Exception):
    """Not a measurement file; ``code`` and ``params`` say why."""

    def __init__(self, path: str, code: str, **params: str) -> None:
        self.code = code
        self.params = {"path": path, **params}
        super().__init__(f"{path}: {code} {params or ''}".strip())


class Row(NamedTuple):
    """One measurement. ``inputs`` is all that a predictor may see."""

    kind: Kind
    id: str
    metric: str
    measured: float | str
    scored: bool
    fold: int | None
    weight: float
    inputs: dict[str, str]
    source_group: str
    """For weighting and grouping of results; never handed to a predictor."""
    source: str


def kind_of(header: Iterable[str], path: str) -> Kind:
    """What a file with this header holds. Raises ``UnreadableFile``."""
    columns = set(header)
    for kind, marks in MARKS:
        if marks <= columns:
            return kind
    raise UnreadableFile(path, "header_not_known")


def read(paths: Iterable[Path]) -> list[Row]:
    """The rows of all files; a row that stands in several (by id) counts once. Raises ``UnreadableFile``."""
    found: dict[tuple[str, str], Row] = {}
    for path in paths:
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.DictReader(file)
                kind = kind_of(reader.fieldnames or (), str(path))
                for number, cells in enumerate(reader, 2):
                    row = _row(kind, cells, path, number)
                    found.setdefault((kind, row.id), row)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise UnreadableFile(str(path), "cannot_read", error=type(error).__name__) from error
    return list(found.values())


def _row(kind: Kind, cells: dict[str, str], path: Path, number: int) -> Row:
    text = {key: (value or "").strip() for key, value in cells.items() if key is not None}
    answer = text.get("verdict" if kind == "verdicts" else "value", "")
    try:
        measured = answer if kind == "verdicts" else float(answer)
        fold = int(text["fold"]) if text.get("fold") else None
        weight = float(text.get("weight") or 1)
    except ValueError as error:
        raise UnreadableFile(str(path), "bad_number", line=str(number)) from error
    inputs = {
        key: value
        for key, value in text.items()
        if value and key not in KEPT_FROM_PREDICTORS and not key.startswith("source")
    }
    parts = (text.get("source_repo", ""), text.get("source_path", ""))
    source = "/".join(part for part in parts if part) or text.get("source", "")
    return Row(
        kind=kind,
        id=text.get("id") or f"{path.name}:{number}",
        metric=text.get("metric") or kind,
        measured=measured,
        scored=text.get("scored", "1") != "0",
        fold=fold,
        weight=weight,
        inputs=inputs,
        source_group=text.get("source_group", ""),
        source=source,
    )


def options(text: str) -> dict[str, str]:
    """``key=value;key=value`` as a dictionary."""
    pairs = (part.partition("=") for part in text.split(";"))
    return {key.strip(): value.strip() for key, _, value in pairs if key.strip()}
