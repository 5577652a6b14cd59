"""``manage.py backup FILE``: a consistent copy of the whole database, while everything goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from mitsumori import backups


class Command(BaseCommand):
    help = "Write a consistent copy of the whole database to one file, readable by its owner alone; nothing stops."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the file to write, such as mitsumori-2026-11-30.zip")

    def handle(self, *args: Any, **options: Any) -> None:
        target = Path(options["file"]).resolve()
        try:
            manifest = backups.write(target, timezone.now())
        except OSError as error:
            raise CommandError(f"{target}: {error.strerror}.", returncode=2) from None
        rows = manifest["rows"]
        self.stdout.write(
            f"{sum(rows.values()):,} rows of {len(rows)} tables, {rows.get('reports_plan', 0):,} plans, "
            f"{target.stat().st_size:,} bytes"
        )
