"""``manage.py calibrate``: fits the constants of speed and memory and writes their data files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from planner.calibration_files import calibrate, constants_table, fold_table, write
from planner.evaluation import memory_fit, training_fit
from planner.evaluation.rows import UnreadableFile, read
from planner.speed_constants import SEED

TRAINING_FILE = "training.csv"
MEMORY_FILES = ("memory.csv", "memory_more.csv", "memory_extra.csv")


class Command(BaseCommand):
    help = "Fit the constants of speed and memory on measurement files and write their data files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--from", dest="folder", type=Path, default=Path(settings.MEASUREMENTS_DIR) / "accuracy",
            help="folder with throughput.csv, throughput_full.csv, training.csv and the memory files",
        )  # fmt: skip
        parser.add_argument("--to", type=Path, default=SEED.parent, help="folder for the data files")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            files = calibrate(options["folder"])
            path = options["folder"] / TRAINING_FILE
            trained = training_fit.calibrate(read([path])) if path.exists() else {}
            measured = [
                options["folder"] / name for name in MEMORY_FILES if (options["folder"] / name).exists()
            ]
            rows = read(measured)
        except UnreadableFile as error:
            raise CommandError(str(error), returncode=2) from error
        write(files | trained, options["to"])
        self.stdout.write(constants_table(files["calibration.json"]))
        self.stdout.write("")
        self.stdout.write(fold_table(files["calibration.json"]["fold_errors"]))
        if rows:
            own = memory_fit.fit(rows)
            content = memory_fit.document(rows, own=own)
            (options["to"] / "runtimes.json").write_text(memory_fit.text(content), encoding="utf-8")
            self.stdout.write("\n" + memory_fit.table(content, own))
