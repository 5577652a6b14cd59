"""Reading the research tables and writing seeds: the same tables give the same bytes."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

Row = dict[str, str]


def read_rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return list(csv.DictReader(lines))


def number(cell: str) -> float | None:
    return None if cell in ("", "n/a") else float(cell)


def without_unknowns(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value not in (None, "", (), [], {})}


def write_json(path: Path, about: str, rows_key: str, rows: list[dict[str, Any]], **more: Any) -> None:
    """One row a line, so that a change of one fact is a change of one line."""
    head = json.dumps({"about": about, **more}, ensure_ascii=False, sort_keys=True, indent=1)[:-2]
    lines = [json.dumps(row, ensure_ascii=False, sort_keys=True) for row in rows]
    path.write_text(f'{head},\n "{rows_key}": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")


def write_csv(path: Path, columns: tuple[str, ...], rows: list[Row]) -> None:
    """Compressed where the name ends in ``.gz``."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore", restval="")
    writer.writeheader()
    writer.writerows(rows)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content, 9, mtime=0) if path.suffix == ".gz" else content)
