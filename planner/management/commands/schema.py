"""``manage.py schema workload|comparison``: the JSON Schema of a document."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from planner import documents


class Command(BaseCommand):
    help = "Print the JSON Schema of the workload document, or of its answer."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", choices=documents.SCHEMAS)

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        self.stdout.write(json.dumps(documents.schema(name), indent=2, ensure_ascii=False))
