"""Real Celery workers and beats, killed without warning, on the database of this run: prices end right, and once."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.catalog.stand_in import PATH, body, many
from tests.catalog.test_processes import ROOT, manage, own_environment, python, state

pytestmark = pytest.mark.every_database

ROWS = 3_000
"""Enough for a swap in several parts."""
WAIT_S = 90.0

WORKER = """
import os, signal, sys
import django
django.setup()
from catalog import recording, swapping
from mitsumori.celery import app
if sys.argv[1] == "dies_in_swap":
    real, calls = swapping.record, []
    swapping.PART = 1_000
    def dying(*args, **more):
        calls.append(1)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **more)
    swapping.record = dying
quiet = ["--loglevel", "WARNING", "--without-gossip", "--without-mingle"]
app.worker_main(["--quiet", "worker", "--pool", "solo", *quiet])
"""
ASK = "import django; django.setup(); from catalog.tasks import refresh_source; refresh_source.delay('azure')"
SCHEDULE = """
import django
django.setup()
from django_celery_beat.models import IntervalSchedule, PeriodicTask
every, _ = IntervalSchedule.objects.get_or_create(every=1, period="seconds")
PeriodicTask.objects.create(name="soon", task="catalog.tasks.refresh_source", interval=every, args='["azure"]')
"""


class SlowList(BaseHTTPRequestHandler):
    """Two pages; the second one waits until it is let go."""

    asked = 0
    may_end = threading.Event()
    second_asked = threading.Event()

    def do_GET(self) -> None:
        SlowList.asked += 1
        second = "skip=10" in self.path
        if second:
            SlowList.second_asked.set()
            SlowList.may_end.wait(WAIT_S)
        host = self.headers["Host"]
        rows, half = many(ROWS), ROWS // 2
        content = body(
            rows[half:] if second else rows[:half], None if second else f"http://{host}{PATH}?$skip=10"
        )
        try:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            pass  # who asked is dead

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def slow_list() -> Iterator[str]:
    SlowList.asked = 0
    SlowList.may_end.clear()
    SlowList.second_asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), SlowList)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    SlowList.may_end.set()
    server.shutdown()
    server.server_close()


@contextmanager
def database_of_its_own(server: str, template: str = "template1") -> Iterator[str]:
    """The name of a new database in the PostgreSQL of this run."""
    name = f"killed_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield name
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def on(server: str, name: str) -> dict[str, str]:
    return {"DATABASE_URL": f"{server.rpartition('/')[0]}/{name}"} if server else {}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A data folder, and a database of PostgreSQL where the run has one: with tables and the provider, to copy."""
    folder, server = tmp_path_factory.mktemp("prepared"), os.environ.get("DATABASE_URL", "")
    with database_of_its_own(server) if server else nullcontext("") as name:
        own = own_environment(folder) | on(server, name)
        manage(own, "migrate", "-v0")
        provider = "from catalog.models import Provider; Provider.objects.create(slug='azure', name='Azure')"
        made = python(own, f"import django; django.setup(); {provider}")
        assert made.returncode == 0, made.stderr
        yield folder, name


@pytest.fixture
def environment(tmp_path: Path, prepared: tuple[Path, str], slow_list: str) -> Iterator[dict[str, str]]:
    """A product of its own: on SQLite, or on a database of its own in the PostgreSQL of this run."""
    folder, template = prepared
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    server = os.environ.get("DATABASE_URL", "")
    with database_of_its_own(server, template) if server else nullcontext("") as name:
        yield own_environment(tmp_path) | on(server, name) | {"AZURE_BASE_URL": slow_list}


Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Starts a process of the product; whatever still runs at the end is killed."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str) -> subprocess.Popen[bytes]:
        with (tmp_path / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *arguments], cwd=ROOT, env=environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        running.append(process)
        return process

    yield begin
    for process in running:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)


def statuses(environment: dict[str, str]) -> list[str]:
    """How the runs stand, read beside the product: a program of its own for each look would take the workers' time."""
    asked = "SELECT status FROM catalog_refresh ORDER BY id"
    if "DATABASE_URL" in environment:
        with psycopg.connect(environment["DATABASE_URL"]) as connection:
            return [str(status) for (status,) in connection.execute(asked)]
    file = Path(environment["MITSUMORI_DATA_DIR"]) / "mitsumori.sqlite3"
    with closing(sqlite3.connect(file, timeout=10)) as read:
        return [str(status) for (status,) in read.execute(asked)]


def until(environment: dict[str, str], holds: Callable[[list[str]], bool]) -> dict[str, Any]:
    """The state as soon as the runs stand so."""
    end_s = time.monotonic() + WAIT_S
    while time.monotonic() < end_s:
        if holds(statuses(environment)):
            return state(environment)
        time.sleep(0.2)
    raise AssertionError(state(environment))


def has_succeeded(runs: list[str]) -> bool:
    return runs[-1:] == ["succeeded"]


def test_a_worker_killed_while_it_fetches_leaves_no_price_and_the_next_one_heals(
    environment: dict[str, str], start: Start
) -> None:
    worker = start("-c", WORKER, "lives")
    python(environment, ASK)
    assert SlowList.second_asked.wait(WAIT_S)
    kill(worker)
    left = state(environment)
    assert (left["prices"], left["runs"]) == (0, [["running", ""]])
    SlowList.may_end.set()
    start("-c", WORKER, "lives")
    python(environment, ASK)
    now = until(environment, has_succeeded)
    assert now["runs"] == [["failed", "worker_died"], ["succeeded", ""]]
    assert (now["offers"], now["prices"]) == (ROWS, ROWS)


def test_a_worker_killed_in_the_middle_of_a_swap_leaves_no_price_and_the_next_one_heals(
    environment: dict[str, str], start: Start
) -> None:
    SlowList.may_end.set()
    worker = start("-c", WORKER, "dies_in_swap")
    python(environment, ASK)
    assert worker.wait(WAIT_S) == -signal.SIGKILL
    left = state(environment)
    assert (left["offers"], left["prices"], left["runs"]) == (0, 0, [["running", ""]]), (
        "a part was written, and undone"
    )
    start("-c", WORKER, "lives")
    python(environment, ASK)
    now = until(environment, has_succeeded)
    assert now["runs"] == [["failed", "worker_died"], ["succeeded", ""]]
    assert (now["offers"], now["prices"]) == (ROWS, ROWS)


def test_two_beats_and_two_workers_at_once_double_nothing(environment: dict[str, str], start: Start) -> None:
    SlowList.may_end.set()
    assert python(environment, SCHEDULE).returncode == 0
    beat = (
        "-m", "celery", "--quiet", "--app", "mitsumori", "beat", "--scheduler",
        "django_celery_beat.schedulers:DatabaseScheduler", "--loglevel", "WARNING", "--max-interval", "1",
        "--pidfile", "",
    )  # fmt: skip
    for _ in range(2):
        start("-c", WORKER, "lives")
        start(*beat)
    now = until(environment, lambda runs: runs.count("succeeded") >= 2)
    assert (now["offers"], now["prices"]) == (ROWS, ROWS)
    assert {status for status, _why in now["runs"]} <= {"succeeded", "running"}
