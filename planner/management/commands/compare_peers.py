"""``manage.py compare_peers FILE… --python PATH``: other tools and ours on the same measured rows.

The tools are no dependency: install them into an environment of their own, e.g.
``python -m venv peers && peers/bin/pip install aiconfigurator==0.12.0 genz-llm==0.0.16``.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from planner import speed_constants
from planner.evaluation.peers.comparing import PEERS, ask, own_errors
from planner.evaluation.rows import UnreadableFile, read


class Command(BaseCommand):
    help = "Errors of other tools and ours on the measured rows that both answer."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path)
        parser.add_argument("--python", required=True, help="interpreter of the environment with the tools")
        parser.add_argument(
            "--tool", action="append", choices=sorted(PEERS), help="only this tool (default all)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            rows = [row for row in read(options["files"]) if row.kind == "throughput"]
        except UnreadableFile as error:
            raise CommandError(str(error), returncode=2) from error
        own, seconds = own_errors(rows, speed_constants.constants(), speed_constants.fold_constants())
        self.stdout.write(f"ours: {len(own)} rows answered, {seconds * 1e6:.0f} µs a row, out of fold")
        for tool in options["tool"] or sorted(PEERS):
            try:
                found = ask(tool, options["python"], rows, own)
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                raise CommandError(f"{tool} did not answer: {error}") from error
            self.stdout.write(
                f"\n{tool}: {found.answered} of {found.asked} rows answered, {found.seconds_a_row:.2f} s a row"
            )
            self.stdout.write(
                "| metric | rows | theirs: median / 80 % / in 2× | ours: median / 80 % / in 2× |"
            )
            self.stdout.write("|---|---|---|---|")
            for line in found.lines:
                self.stdout.write(
                    f"| {line.metric} | {line.rows} | {line.median_ape:.0%} / {line.p80_ape:.0%} /"
                    f" {line.within_2x:.0%} | {line.own_median_ape:.0%} / {line.own_p80_ape:.0%} /"
                    f" {line.own_within_2x:.0%} |"
                )
            for code, count in found.refusals:
                self.stdout.write(f"not answered: {count} × {code}")
