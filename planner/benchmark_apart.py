"""Commands of this program in a database of their own, so that a measurement touches nobody's."""

from __future__ import annotations

import os
import subprocess  # nosec B404
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings

Command = Callable[..., bytes]
"""Runs ``manage.py`` with these words and gives what it printed. Raises ``CalledProcessError`` where it failed."""


@contextmanager
def new_database() -> Iterator[Command]:
    """An empty database with its tables, gone at the end."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"MITSUMORI_DATA_DIR": folder}
        environment.pop("DATABASE_URL", None)

        def command(*words: str) -> bytes:
            program = [sys.executable, str(settings.BASE_DIR / "manage.py"), *words]
            return subprocess.run(  # nosec B603
                program, env=environment, stdout=subprocess.PIPE, check=True
            ).stdout

        command("migrate", "--verbosity", "0")
        yield command
