"""The nightly refreshes of beat; an operator's own times are left alone."""

from __future__ import annotations

import json

from django.conf import settings
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from catalog.sources import SOURCES

NIGHT_HOUR_UTC = 3


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
        PeriodicTask.objects.create(
            name=task_name, task="catalog.tasks.refresh_source", crontab=night, args=json.dumps([name])
        )
