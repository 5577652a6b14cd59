"""Load the shipped catalog."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone
from kombu.exceptions import OperationalError

from catalog.machine_loading import load_machines, machines_are_loaded
from catalog.schedule import ensure_schedule
from catalog.seed_loading import load_seeds
from catalog.tasks import load_price_lists


class Command(BaseCommand):
    help = "Load the shipped facts and prices. Loading them again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--machines-later",
            action="store_true",
            help="leave the long price lists of machines without GPUs to the worker",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        at = timezone.now()
        reports = [load_seeds(at)]
        if not (options["machines_later"] and _left_to_the_worker()):
            reports.append(load_machines(at))
        for report in reports:
            for line in report.lines():
                self.stdout.write(line)
        ensure_schedule()


def _left_to_the_worker() -> bool:
    """Whether there is nothing to load, or the queue took the job."""
    if machines_are_loaded():
        return True
    try:
        load_price_lists.delay()
    except (OperationalError, OSError):
        return False
    return True
