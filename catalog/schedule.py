"""The nightly refreshes of beat; an operator's own times are left alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from catalog.sources import SOURCES

NIGHT_HOUR_UTC = 3
TASK = "catalog.tasks.refresh_source"


@dataclass(frozen=True)
class Nightly:
    """Which sources a schedule reads by itself."""

    on: frozenset[str]
    off: frozenset[str]
    ran_at: datetime | None
    """When the schedule last started any of them; None: never on this installation."""


def nightly() -> Nightly:
    """What the schedule says of each source; one query."""
    rows = PeriodicTask.objects.filter(task=TASK).values_list("args", "enabled", "last_run_at")
    on = {source for args, enabled, _at in rows if enabled for source in json.loads(args)}
    ran = [ran_at for _args, _enabled, ran_at in rows if ran_at is not None]
    return Nightly(frozenset(on), frozenset(SOURCES) - on, max(ran, default=None))


def ensure_schedule() -> None:
    """Create what is missing: one refresh a night for each source, a few minutes apart."""
    for place, name in enumerate(sorted(SOURCES)):
        task_name = f"refresh prices: {name}"
        if PeriodicTask.objects.filter(name=task_name).exists():
            continue
        night, _ = CrontabSchedule.objects.get_or_create(
            minute=str((7 + 5 * place) % 60),
            hour=str(NIGHT_HOUR_UTC),
            day_of_week="*",
            day_of_month="*",
            month_of_year="*",
            timezone=settings.TIME_ZONE,
        )
        PeriodicTask.objects.create(name=task_name, task=TASK, crontab=night, args=json.dumps([name]))
