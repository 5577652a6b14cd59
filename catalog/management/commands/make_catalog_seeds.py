"""Make the shipped seeds of the catalog from the folder of research tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from catalog import seed_making
from catalog.facts import SEED


class Command(BaseCommand):
    help = "Make catalog/seeds/ from a folder with facts/ and prices/; the same tables give the same bytes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--from", dest="folder", type=Path, required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        if not (folder / "facts" / "accelerators.csv").is_file():
            raise CommandError(f"No facts/accelerators.csv under {folder}.")
        rows = seed_making.accelerator_rows(seed_making.read_rows(folder / "facts" / "accelerators.csv"))
        SEED.parent.mkdir(exist_ok=True)
        seed_making.write_json(SEED, {"about": "Accelerators, per device", "accelerators": rows}, "accelerators")
        self.stdout.write(f"accelerators {len(rows)}")
