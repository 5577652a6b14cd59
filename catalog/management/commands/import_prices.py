"""Take prices from a file that is kept by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from catalog.price_files import OPTIONAL, REQUIRED, import_prices


class Command(BaseCommand):
    help = (
        f"Take the prices of FILE, a CSV in UTF-8 with the columns {', '.join(REQUIRED)} and, where known, "
        f"{', '.join(OPTIONAL)}. One row is one whole machine; price is for an hour unless unit says month. "
        "A file with a fault changes nothing, and each fault is named with its line."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--take-good", action="store_true", help="take the rows that have no fault")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = import_prices(options["file"], timezone.now(), take_good=options["take_good"])
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from None
        for fault in report.faults:
            self.stderr.write(fault)
        if report.faulty_rows > len(report.faults):
            self.stderr.write(f"… {report.faulty_rows} rows have faults.")
        self.stdout.write(
            f"{report.rows_read} rows read, {report.faulty_rows} with faults; {report.offers_added} new offers, "
            f"{report.prices_added} prices added, {report.prices_older} older than what is known"
        )
        for reason, count in sorted(report.not_comparable.items()):
            self.stdout.write(f"listed, not compared: {reason} ({count})")
        if report.faulty_rows:
            done = "the other rows were taken" if report.taken else "nothing was taken"
            raise CommandError(f"The file has faults; {done}.", returncode=1)
