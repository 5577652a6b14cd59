"""Prepares the process before Django reads its settings; loaded by `-p tests.environment` (pyproject.toml).

Every test process has a data folder of its own, reaches nothing but this machine, and uses SQLite, or a real
PostgreSQL started for the run when `TEST_DATABASE=postgres`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Any

from tests.services import PostgresServer

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")


def _prepare() -> None:
    if not WORKER:
        folder = tempfile.mkdtemp(prefix="mitsumori-test-")
        os.environ["MITSUMORI_TEST_DIR"] = folder
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        for name in ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "MITSUMORI_DATABASE_URL"):
            os.environ.pop(name, None)
        if os.environ.get("TEST_DATABASE", "sqlite") == "postgres":
            server = PostgresServer()
            atexit.register(server.stop)
            os.environ["DATABASE_URL"] = server.start()
    data_dir = Path(os.environ["MITSUMORI_TEST_DIR"]) / (WORKER or "main")
    os.environ |= {
        "MITSUMORI_MODE": "test",
        "MITSUMORI_DATA_DIR": str(data_dir),
        "MITSUMORI_HUB_ENABLED": "0",
        "DJANGO_ALLOW_ASYNC_UNSAFE": "true",  # the browser's driver runs an event loop in the test's thread
    }


def _close_sockets() -> None:
    """Only this machine can be reached: a test that asks the world fails with a sentence that says so."""
    real_connect = socket.socket.connect
    real_connect_ex = socket.socket.connect_ex

    def allowed(self: socket.socket, address: Any) -> bool:
        if self.family not in {socket.AF_INET, socket.AF_INET6}:
            return True
        host = str(address[0])
        return host in {"localhost", "::1", ""} or host.startswith("127.")

    def connect(self: Any, address: Any) -> None:
        if not allowed(self, address):
            raise OSError(f"tests may not reach {address!r}")
        real_connect(self, address)

    def connect_ex(self: Any, address: Any) -> int:
        if not allowed(self, address):
            raise OSError(f"tests may not reach {address!r}")
        return real_connect_ex(self, address)

    socket.socket.connect = connect  # type: ignore[method-assign]
    socket.socket.connect_ex = connect_ex  # type: ignore[method-assign]


_prepare()
_close_sockets()
