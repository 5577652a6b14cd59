"""Celery's door to the services: fetch ids, call one service, nothing else."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from accounts.models import User
from catalog import services
from catalog.machine_loading import load_machines


@shared_task(name="catalog.tasks.refresh_source")  # type: ignore[untyped-decorator]
def refresh_source(name: str, asked_by_id: int | None = None) -> str:
    if asked_by_id is None and not services.is_set_up(name):
        return "not_set_up"
    asked_by = None if asked_by_id is None else User.objects.filter(pk=asked_by_id).first()
    return services.refresh(name, timezone.now(), asked_by=asked_by).status


@shared_task(name="catalog.tasks.load_price_lists")  # type: ignore[untyped-decorator]
def load_price_lists() -> bool:
    return load_machines(timezone.now()).anything
