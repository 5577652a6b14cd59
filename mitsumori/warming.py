"""What a server process reads once: modules, templates, the market. Asked for beside its start, not by a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.util import setup_testing_defaults

from django.conf import settings
from django.db import connections
from django.urls import reverse

FIRST_PAGES = ("planner:start", "planner:workbench")


def warm_apart(application: Callable[..., Iterable[bytes]]) -> None:
    """The same in a thread of its own, whose connections nobody takes over."""
    try:
        warm(application)
    finally:
        connections.close_all()


def warm(application: Callable[..., Iterable[bytes]]) -> None:
    """Asks for the pages that are asked for first. What fails there is told as any request that fails."""
    for name in FIRST_PAGES:
        answer = application(_environ(reverse(name)), _started)
        for _part in answer:
            pass
        close = getattr(answer, "close", None)
        if close is not None:
            close()


def _environ(path: str) -> dict[str, Any]:
    """A request of this machine's own, by a name that is allowed, and not sent on to TLS."""
    host = settings.ALLOWED_HOSTS[0].lstrip(".*") or "localhost"
    environ = {"PATH_INFO": path, "HTTP_HOST": host, "REMOTE_ADDR": "127.0.0.1", "wsgi.url_scheme": "https"}
    setup_testing_defaults(environ)
    return environ


def _started(
    status: str, headers: list[tuple[str, str]], exc_info: object = None
) -> Callable[[bytes], object]:
    return lambda _data: None
