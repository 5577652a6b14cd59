"""``manage.py bench``: the speed figures beside a bare view, as a table or as JSON."""

from __future__ import annotations

import json
from argparse import SUPPRESS
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from planner import benchmark, benchmark_lists, benchmark_refresh
from planner.benchmark import Figure


class Command(BaseCommand):
    help = "Measure the speed figures of the product on this machine and catalog."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")
        parser.add_argument("--runs", type=int, default=20, help="repetitions of each page (default 20)")
        parser.add_argument(
            "--skip-large", action="store_true", help="leave out the market of 250,000 offers"
        )
        parser.add_argument("--skip-evaluate", action="store_true", help="leave out the measurement files")

        parser.add_argument(
            "--skip-refresh", action="store_true", help="leave out the refresh of a price list"
        )
        parser.add_argument("--skip-lists", action="store_true", help="leave out lists of 250,000 offers")
        parser.add_argument("--refresh-alone", action="store_true", help=SUPPRESS)
        parser.add_argument("--lists-alone", action="store_true", help=SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["refresh_alone"]:
            self.stdout.write(benchmark_refresh.here().model_dump_json())
            return
        if options["lists_alone"]:
            listed = benchmark_lists.here(benchmark.asking(), options["runs"])
            self.stdout.write(json.dumps([one.model_dump() for one in listed]))
            return
        found: list[Figure] = []
        for figure in benchmark.figures(
            timezone.now(),
            runs=max(5, options["runs"]),
            large=not options["skip_large"],
            evaluate=not options["skip_evaluate"],
            refresh=not options["skip_refresh"],
            lists=not options["skip_lists"],
        ):
            found.append(figure)
            if not options["json"]:
                self.stdout.write(_line(figure))
        if options["json"]:
            self.stdout.write(json.dumps(benchmark.as_document(found), indent=2, ensure_ascii=False))


def _line(it: Figure) -> str:
    measured = "not measured" if it.measured is None else f"{it.measured:,.4g} {it.unit}"
    cpu = "" if it.cpu is None else f"cpu {it.cpu:,.4g} {it.unit}"
    limit = "" if it.limit is None else f"limit {it.limit:g} {it.unit}"
    verdict = {None: "", True: "kept", False: "NOT KEPT"}[it.is_kept]
    notes = ", ".join(part for part in (f"{it.statistic} of {it.runs}" if it.runs else "", it.note) if part)
    return f"{it.name:<48} {measured:>14}  {cpu:<14} {limit:<14} {verdict:<9} {notes}"
