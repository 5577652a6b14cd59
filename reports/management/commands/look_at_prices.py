"""``manage.py look_at_prices``: what the schedule does every quarter of an hour, by hand."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from reports import price_mail, prices


class Command(BaseCommand):
    help = "Find prices of saved plans that moved, and mail those who want to know; a move is told once."

    def handle(self, *args: Any, **options: Any) -> None:
        found = prices.look_at_all(timezone.now())
        sent = price_mail.send_waiting(timezone.now())
        self.stdout.write(f"{found} moves found, {sent} mails sent")
