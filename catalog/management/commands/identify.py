"""Say which accelerator a spelling means."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from catalog.identify import identify


class Command(BaseCommand):
    help = (
        "Which accelerator each NAME means: resolved, ambiguous (with candidates) or unknown. Never a guess."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", nargs="+", metavar="NAME")
        parser.add_argument("--provider", help="who sells it: narrows to what that provider is known to rent")
        parser.add_argument("--memory-gib", type=float, help="stated memory of one device, GiB")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        answers = [identify(name, options["provider"], options["memory_gib"]) for name in options["names"]]
        if options["as_json"]:
            documents = [answer.model_dump(mode="json") for answer in answers]
            self.stdout.write(json.dumps(documents, ensure_ascii=False, indent=2))
            return
        for answer in answers:
            meaning = answer.canonical or " | ".join(answer.candidates) or "-"
            self.stdout.write(f"{answer.name}\t{answer.status}\t{meaning}\t{answer.reason}")
