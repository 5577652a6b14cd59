"""Celery's door to the services: one call each, nothing else."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from reports import price_mail, prices


@shared_task(name="reports.tasks.look_at_prices")  # type: ignore[untyped-decorator]
def look_at_prices() -> int:
    """Finds what moved since the last look, if any price changed, and mails what nobody was told of yet."""
    found = prices.look_at_all(timezone.now())
    price_mail.send_waiting(timezone.now())
    return found
