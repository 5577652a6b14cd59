"""``manage.py size WORKLOAD.json``: size a workload, rank the offers; exit 2 with one line if it is bad."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from planner import documents, services
from planner.sizing.architecture import ModelError
from planner.sizing.results import Candidate, Comparison, Rejection, Remedy
from planner.sizing.runtime import UnknownRuntime

BYTES_MAXIMUM = 1024 * 1024


class Command(BaseCommand):
    help = "Size a workload document and rank the offers of the catalog. - reads standard input."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("workload", help="a JSON file, or - for standard input")
        parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
        parser.add_argument("--limit", type=int, default=50, help="candidates to list (default 50)")
        parser.add_argument("--rejected", type=int, default=200, help="rejected offers to list (default 200)")
        parser.add_argument("--at", help="an ISO time: use the prices as they were known then (default: now)")

    def handle(self, *args: Any, workload: str, **options: Any) -> None:
        if options["limit"] < 0 or options["rejected"] < 0:
            raise CommandError("--limit and --rejected are not negative.", returncode=2)
        at = _moment(options["at"])
        try:
            asked = documents.read(_content(workload))
            found = services.compare(asked, at=at, limit=options["limit"], rejected_limit=options["rejected"])
        except documents.WorkloadInvalid as invalid:
            raise CommandError(str(invalid), returncode=2) from None
        except ModelError as error:
            raise CommandError(f"model: {error}", returncode=2) from None
        except UnknownRuntime as error:
            raise CommandError(f"runtime: {error}", returncode=2) from None
        if options["json"]:
            self.stdout.write(found.model_dump_json(by_alias=True))
        else:
            self.stdout.write("\n".join(_lines(found)))


def _moment(text: str | None) -> datetime:
    if text is None:
        return timezone.now()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"--at: no ISO time: {text[:60]}", returncode=2) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _content(name: str) -> bytes:
    """At most a little more than the limit is read, so that a huge file costs nothing."""
    if name == "-":
        return sys.stdin.buffer.read(BYTES_MAXIMUM + 1)
    try:
        with Path(name).open("rb") as file:
            return file.read(BYTES_MAXIMUM + 1)
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}", returncode=2) from None


def _lines(found: Comparison) -> list[str]:
    counts = found.class_counts
    lines = [
        f"{found.model['name']}: {counts['1']} candidates meet every target, {counts['2']} miss a target, "
        f"{counts['3']} are tight; {sum(found.rejected_counts.values())} offers rejected "
        f"(prices as of {found.priced_at:%Y-%m-%d %H:%M} UTC)"
    ]
    if found.smallest_change is not None:
        change = found.smallest_change
        lines.append(
            f"Smallest change: {change.change} {change.value} gives {change.candidates} candidates".replace(
                "  ", " "
            )
        )
    lines += [_remedy(remedy) for remedy in found.remedies]
    lines += [_candidate(candidate) for candidate in found.candidates]
    lines += [f"rejected: {reason}: {count}" for reason, count in found.rejected_counts.items()]
    lines += [_rejection(rejection) for rejection in found.rejected[:10] if rejection.needed_bytes]
    return lines


def _remedy(it: Remedy) -> str:
    total = f"{'' if it.complete else '≥ '}{it.total} {it.currency}/month"
    return (
        f"  with {it.change} {it.value}: {it.replicas} × {it.layout.device_count} GPU on {it.machines} machines, "
        f"{it.offer.provider} {it.offer.sku} {it.offer.region}, {total}".replace("  ", " ")
    )


def _candidate(it: Candidate) -> str:
    peak = it.speed.peak if it.speed else None
    ttft = f"TTFT {peak.ttft_s.value:.2f} s" if peak and peak.ttft_s else ""
    tpot = f"TPOT {peak.tpot_s.value * 1000:.1f} ms" if peak and peak.tpot_s else ""
    total = f"{'' if it.monthly.complete else '≥ '}{it.monthly.total} {it.monthly.currency}/month"
    return "  ".join(
        part
        for part in (
            f"{it.rank:>3}. class {it.class_}",
            f"{it.offer.provider} {it.offer.sku} {it.offer.region}".strip(),
            f"{it.offer.gpu_count} × {it.offer.accelerator}",
            f"{it.replicas} × {it.gpus_per_replica} GPU on {it.machines} machines",
            ttft,
            tpot,
            total,
        )
        if part
    )


def _rejection(it: Rejection) -> str:
    short = ((it.needed_bytes or 0) - (it.available_bytes or 0)) / 1024**3
    return f"     {it.offer.provider} {it.offer.sku} {it.offer.region}: {it.reason}, short of {short:.1f} GiB"
