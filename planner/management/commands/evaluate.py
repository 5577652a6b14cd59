"""``manage.py evaluate FILE…``: predictions of the product for published measurements, and their errors."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from planner import speed_constants, training_constants
from planner.evaluation.memory_fit import predict_out_of_fold
from planner.evaluation.memory_rows import predict_memory_rows
from planner.evaluation.predictions import Prediction
from planner.evaluation.rows import Row, UnreadableFile, read
from planner.evaluation.scoring import report
from planner.evaluation.throughput_answers import predict_throughput_rows
from planner.evaluation.training_rows import predict_training_rows

COLUMNS = (
    ("n", "n"), ("asked", "asked"), ("median_ape", "median"), ("p80_ape", "p80"), ("p90_ape", "p90"),
    ("within_2x", "in 2x"), ("bias", "bias"), ("within_range", "in range"), ("median_high_over_low", "high/low"),
    ("right", "right"),
)  # fmt: skip


class Command(BaseCommand):
    help = "Predict each row of measurement files and sum up the errors."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path)
        parser.add_argument(
            "--folds", action="store_true", help="answer each row by constants fitted without its fold"
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        begun = time.perf_counter()
        try:
            rows = read(options["files"])
        except UnreadableFile as error:
            raise CommandError(str(error), returncode=2) from error
        answers = answer(rows, folds=options["folds"])
        found = report(rows, answers, time.perf_counter() - begun)
        if options["json"]:
            self.stdout.write(json.dumps(found, ensure_ascii=False))
        else:
            self.stdout.write(table(found["summary"]))


def answer(rows: list[Row], *, folds: bool) -> list[Prediction]:
    """One prediction a row, in order."""
    found: dict[int, Prediction] = {}
    by_kind: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        by_kind.setdefault(row.kind, []).append(position)
    for kind, positions in by_kind.items():
        own = [rows[position] for position in positions]
        if kind == "throughput":
            by_fold = speed_constants.fold_constants() if folds else None
            answers = predict_throughput_rows(own, speed_constants.constants(), by_fold)
        elif kind in ("memory", "verdicts"):
            answers = predict_out_of_fold(own) if folds else predict_memory_rows(own)
        else:
            unseen = training_constants.fold_constants() if folds else None
            answers = predict_training_rows(own, training_constants.constants(), unseen)
        found.update(zip(positions, answers, strict=True))
    return [found[position] for position in range(len(rows))]


def table(summary: dict[str, Any]) -> str:
    """The summary for people: a line for each metric and group."""
    lines = [
        f"{summary['rows']} rows, {summary['scored']} scored, {summary['answered']} answered"
        f" in {summary['seconds']} s",
        "",
        f"{'metric':26}{'group':42}" + "".join(f"{title:>9}" for _, title in COLUMNS),
    ]
    for line in summary["by"]:
        cells = "".join(f"{_cell(name, line.get(name)):>9}" for name, _ in COLUMNS)
        lines.append(f"{line['metric']:26}{line['group'][:40]:42}{cells}")
    return "\n".join(lines)


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name in ("n", "asked"):
        return str(value)
    if name == "median_high_over_low":
        return f"{value:.2f}"
    return f"{value:+.2f}" if name == "bias" else f"{value:.0%}"
