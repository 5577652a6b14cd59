"""``manage.py calibrate``: fits the constants of the speed model and writes their data files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from planner.calibration_files import calibrate, fold_table, write
from planner.evaluation import training_fit
from planner.evaluation.rows import UnreadableFile, read
from planner.speed_constants import SEED

TRAINING_FILE = "training.csv"


class Command(BaseCommand):
    help = "Fit the constants of the speed models on measurement files and write their data files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--from", dest="folder", type=Path, default=Path(settings.MEASUREMENTS_DIR) / "accuracy",
            help="folder with throughput.csv, throughput_full.csv and training.csv",
        )  # fmt: skip
        parser.add_argument("--to", type=Path, default=SEED.parent, help="folder for the data files")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            files = calibrate(options["folder"])
            path = options["folder"] / TRAINING_FILE
            trained = training_fit.calibrate(read([path])) if path.exists() else {}
        except UnreadableFile as error:
            raise CommandError(str(error), returncode=2) from error
        write(files | trained, options["to"])
        self.stdout.write(fold_table(files["calibration.json"]["fold_errors"]))
