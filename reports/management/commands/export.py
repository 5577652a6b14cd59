"""``manage.py export PLAN --format pdf|csv|xlsx|json -o FILE``: the same bytes the browser gets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from reports import exports, said
from reports.models import Plan


class Command(BaseCommand):
    help = "Write a saved plan as a file: the same bytes the browser gets."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("plan", help="the plan's address (12 characters)")
        parser.add_argument("--format", dest="fmt", choices=exports.FORMATS, required=True)
        parser.add_argument("-o", "--output", required=True, help="the file to write; - is standard output")
        parser.add_argument("--plan-version", type=int, dest="number", help="the newest by default")
        parser.add_argument("--language", choices=[code for code, _name in settings.LANGUAGES], default="en")
        parser.add_argument("--paper", choices=exports.PAPERS, default=exports.PAPERS[0], help="of a PDF")

        parser.add_argument(
            "--notes",
            choices=said.CHOICES,
            default="",
            help="with what the team decided, or decided and said",
        )
        parser.add_argument(
            "--candidates-only", action="store_true", help="tables without the rejected offers"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        plan = Plan.objects.filter(slug=options["plan"]).first()
        if plan is None:
            raise CommandError(f"There is no plan {options['plan']}.", returncode=2)
        number = options["number"] or plan.latest_number
        version = plan.versions.select_related("plan").filter(number=number).first()
        if version is None:
            raise CommandError(
                f"The plan has no version {number}; its newest is {plan.latest_number}.", returncode=2
            )
        made = exports.of_version(
            version,
            options["fmt"],
            options["language"],
            paper=options["paper"],
            notes=options["notes"],
            with_rejected=not options["candidates_only"],
        )
        if options["output"] == "-":
            sys.stdout.buffer.write(made.content)
        else:
            Path(options["output"]).write_bytes(made.content)
