"""``manage.py restore FILE [--replace]``: the database as it was when the backup was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from mitsumori import backups


class Command(BaseCommand):
    help = (
        "Put a backup in the place of what the database holds, whole or not at all. Stop the servers before."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="a file that manage.py backup wrote")
        parser.add_argument(
            "--replace", action="store_true", help="people and plans that are there now may be lost"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        source = Path(options["file"])
        try:
            manifest = backups.restore(source, replace=options["replace"])
        except backups.BackupError as error:
            raise CommandError(str(error), returncode=2) from None
        except OSError as error:
            raise CommandError(f"{source}: {error.strerror}.", returncode=2) from None
        call_command("migrate", interactive=False, verbosity=0)
        rows = manifest["rows"]
        self.stdout.write(
            f"{sum(rows.values()):,} rows of {len(rows)} tables, {rows.get('reports_plan', 0):,} plans, as of "
            f"{manifest['made_at']}"
        )
