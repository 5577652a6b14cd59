"""Brings database, catalog and static files to the state of this release; doing it twice changes nothing."""

from __future__ import annotations

from typing import Any

from django.core.management import call_command, get_commands
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Migrates, loads the shipped catalog and collects static files."

    def handle(self, *args: Any, **options: Any) -> None:
        quiet = {"verbosity": 0, "interactive": False}
        call_command("migrate", **quiet)
        if "load_seeds" in get_commands():
            call_command("load_seeds", machines_later=True, verbosity=0)
        call_command("collectstatic", **quiet)
