"""Load the shipped catalog."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from catalog.schedule import ensure_schedule
from catalog.seed_loading import load_seeds


class Command(BaseCommand):
    help = "Load the shipped facts and prices. Loading them again changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        for line in load_seeds(timezone.now()).lines():
            self.stdout.write(line)
        ensure_schedule()
