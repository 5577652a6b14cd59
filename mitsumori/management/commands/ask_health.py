"""Asks the web server of this machine whether it is well; for container health checks."""

from __future__ import annotations

import http.client
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

TIMEOUT_S = 4.0


def _own_name() -> str:
    name = settings.ALLOWED_HOSTS[0].lstrip(".")
    return "localhost" if name == "*" else str(name)


class Command(BaseCommand):
    help = "Asks /healthz of the web server on this machine; fails unless the answer is 200."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", settings.ENVIRONMENT.port, timeout=TIMEOUT_S)
        try:
            connection.request("GET", "/healthz", headers={"Host": _own_name()})
            response = connection.getresponse()
            body = response.read().decode("utf-8", "replace")
        except OSError as error:
            raise CommandError(f"no answer: {error}") from None
        finally:
            connection.close()
        self.stdout.write(body)
        if response.status != 200:
            raise CommandError(f"status {response.status}")
