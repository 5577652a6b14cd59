"""Refresh prices now, without waiting for the night."""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from catalog import services
from catalog.models import RefreshStatus
from catalog.sources import SOURCES


class Command(BaseCommand):
    help = (
        "Refresh each SOURCE (without one all that are set up). Exit 0: good, 1: failed or held, 2: unknown."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sources", nargs="*", metavar="SOURCE")

    def handle(self, *args: Any, **options: Any) -> None:
        names = options["sources"] or [name for name in SOURCES if services.is_set_up(name)]
        unknown = [name for name in names if name not in SOURCES]
        if unknown:
            known = ", ".join(SOURCES)
            raise CommandError(f"No source called {', '.join(unknown)}; there are: {known}.", returncode=2)
        asked_at = _process_started_at(timezone.now())
        good = True
        for name in names:
            run = services.refresh(name, timezone.now(), asked_at=asked_at)
            good &= run.status in (RefreshStatus.SUCCEEDED, RefreshStatus.RUNNING)
            why = (
                f" ({run.reason}{': ' if run.reason_detail else ''}{run.reason_detail})" if run.reason else ""
            )
            self.stdout.write(
                f"{name}: {run.status}{why}; {run.page_count} pages, {run.quote_count} prices, "
                f"{run.added_count} new, {run.changed_count} changed, {run.gone_count} gone"
            )
        if not good:
            raise CommandError(
                "Not every source gave prices that can be trusted; the old ones stay.", returncode=1
            )


def _process_started_at(now: datetime) -> datetime:
    """When this command was asked for: processes that start together share one run."""
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return now
    return now - timedelta(seconds=max(0.0, age_s))
