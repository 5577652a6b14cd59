"""Pages that a server process asks itself for, beside its start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.urls import reverse

from mitsumori.warming import warm
from mitsumori.wsgi import application


@pytest.fixture
def still_connected() -> Iterator[None]:
    """The end of a request does not end the test's connection: so does Django's own test client."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)
    request_finished.connect(close_old_connections)


@pytest.mark.usefixtures("db", "still_connected")
@pytest.mark.parametrize("tls", [False, True])
def test_a_process_asks_for_its_first_pages_and_is_answered(settings: Any, tls: bool) -> None:
    settings.ALLOWED_HOSTS = ["sizing.example.com"]
    settings.SECURE_SSL_REDIRECT = tls
    answered: list[tuple[str, str]] = []

    def noting(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        def started(status: str, *rest: Any) -> Any:
            answered.append((environ["PATH_INFO"], status))
            return start(status, *rest)

        found: Iterable[bytes] = application(environ, started)
        return found

    warm(noting)
    assert answered == [(reverse("planner:start"), "200 OK"), (reverse("planner:workbench"), "200 OK")]
