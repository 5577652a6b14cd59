"""Real Celery workers and beats, killed without warning, on the database of this run: prices end right, and once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
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


@pytest.fixture
def environment(tmp_path: Path, slow_list: str) -> Iterator[dict[str, str]]:
    """A product of its own: on SQLite, or on a database of its own in the PostgreSQL of this run."""
    own = own_environment(tmp_path) | {"AZURE_BASE_URL": slow_list}
    server = os.environ.get("DATABASE_URL", "")
    name = f"killed_{uuid.uuid4().hex[:12]}"
    if server:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        own |= {"DATABASE_URL": f"{server.rpartition('/')[0]}/{name}"}
    manage(own, "migrate", "-v0")
    provider = "from catalog.models import Provider; Provider.objects.create(slug='azure', name='Azure')"
    made = python(own, f"import django; django.setup(); {provider}")
    assert made.returncode == 0, made.stderr
    yield own
    if server:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


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


def until(environment: dict[str, str], holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    end_s = time.monotonic() + WAIT_S
    now: dict[str, Any] = {}
    while time.monotonic() < end_s:
        now = state(environment)
        if holds(now):
            return now
        time.sleep(0.5)
    raise AssertionError(now)


def has_succeeded(now: dict[str, Any]) -> bool:
    return bool(now["runs"]) and now["runs"][-1][0] == "succeeded"


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
    now = until(environment, lambda now: sum(status == "succeeded" for status, _why in now["runs"]) >= 2)
    assert (now["offers"], now["prices"]) == (ROWS, ROWS)
    assert {status for status, _why in now["runs"]} <= {"succeeded", "running"}
