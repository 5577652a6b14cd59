"""``manage.py reach WORKLOAD.json --accelerator H200-SXM --count 8``: what one machine holds of a model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from planner import documents, reach
from planner.sizing.architecture import ModelError
from planner.sizing.inverse import Reach
from planner.sizing.runtime import UnknownRuntime

BYTES_MAXIMUM = 1024 * 1024


class Command(BaseCommand):
    help = "The longest context, most users and largest models for a card and a number of them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("workload", help="a JSON file with model, runtime and formats, or -")
        parser.add_argument("--accelerator", required=True)
        parser.add_argument("--count", type=int, default=1)
        parser.add_argument("--users", type=int, help="requests at once (default: the workload's peak)")
        parser.add_argument("--context", type=int, help="input + output tokens (default: the longest)")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, workload: str, **options: Any) -> None:
        if not 1 <= options["count"] <= reach.COUNT_MAXIMUM:
            raise CommandError(f"--count is from 1 to {reach.COUNT_MAXIMUM}.", returncode=2)
        if any(value is not None and not 1 <= value <= 10_000_000 for value in
               (options["users"], options["context"])):  # fmt: skip
            raise CommandError("--users and --context are from 1 to 10,000,000.", returncode=2)
        try:
            text = (
                sys.stdin.buffer.read(BYTES_MAXIMUM + 1) if workload == "-" else Path(workload).read_bytes()
            )
            found = reach.answer(
                documents.read(text), accelerator=options["accelerator"], count=options["count"],
                users=options["users"], tokens=options["context"],
            )  # fmt: skip
        except OSError as error:
            raise CommandError(f"{workload}: {error.strerror}", returncode=2) from None
        except documents.WorkloadInvalid as invalid:
            raise CommandError(str(invalid), returncode=2) from None
        except ModelError as error:
            raise CommandError(f"model: {error}", returncode=2) from None
        except (UnknownRuntime, reach.UnknownAccelerator, reach.NotServed) as error:
            raise CommandError(str(error), returncode=2) from None
        self.stdout.write(found.model_dump_json() if options["json"] else "\n".join(_lines(found)))


def _lines(found: reach.Answer) -> list[str]:
    lines = [f"{found.model} in {found.weights_format}, {found.runtime} {found.version}, "
             f"{found.count} × {found.accelerator}"]  # fmt: skip
    if found.refused:
        lines.append(f"refused: {found.refused['rule']} ({found.refused['source']})")
    for name, one, unit in (
        (f"longest context for {found.users} at once", found.longest_context, "tokens"),
        (f"most at once of {found.tokens} tokens", found.most_users, "requests"),
    ):
        lines.append(f"{name}: {_reach(one, unit)}")
    lines.append(f"largest models for {found.users} at once of {found.tokens} tokens:")
    lines += [
        f"  {one.parameters / 1e9:8.1f}B  {one.model}  {one.weights_format}  {one.users} at once"
        for one in found.largest_models
    ]
    return lines


def _reach(one: Reach | None, unit: str) -> str:
    if one is None:
        return "no split divides"
    layout = f"TP{one.layout.tp} PP{one.layout.pp} DP{one.layout.dp} EP{one.layout.ep} × {one.replicas}"
    return f"{one.value} {unit} ({layout}, limited by {one.limited_by})"
