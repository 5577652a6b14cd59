"""Real processes on a database file: killed at the worst moments, several at once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.catalog.stand_in import PATH, body, many

ROOT = Path(__file__).resolve().parents[2]

KILLED_AT = """
import os, signal, sys
import django
django.setup()
from django.utils import timezone
from catalog import services, swapping
def die(*args, **more):
    os.kill(os.getpid(), signal.SIGKILL)
setattr({"services": services, "swapping": swapping}[sys.argv[1]], sys.argv[2], die)
services.refresh("azure", timezone.now())
"""

COUNT = """
import json
import django
django.setup()
from catalog.models import Offer, Price, Refresh
print(json.dumps({
    "offers": Offer.objects.current().filter(confirmed_by__isnull=False).count(),
    "prices": Price.objects.count(),
    "amounts": sorted({str(p.amount.normalize()) for p in Price.objects.all()})[:1],
    "runs": [[r.status, r.reason] for r in Refresh.objects.order_by("pk")],
}))
"""


class PriceList(BaseHTTPRequestHandler):
    """Two pages of prices; counts who asks."""

    asked = 0
    lock = threading.Lock()

    def do_GET(self) -> None:
        with PriceList.lock:
            PriceList.asked += 1
        second = "skip=10" in self.path
        host = self.headers["Host"]
        rows = many(20)
        content = body(
            rows[10:] if second else rows[:10], None if second else f"http://{host}{PATH}?$skip=10"
        )
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def price_list() -> Iterator[str]:
    PriceList.asked = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), PriceList)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def own_environment(folder: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "TEST_DATABASE")}
    return own | {
        "MITSUMORI_DATA_DIR": str(folder),
        "MITSUMORI_MODE": "development",
        "DJANGO_SETTINGS_MODULE": "mitsumori.settings",
        "PYTHONPATH": str(ROOT),
    }


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with tables and the provider in place."""
    folder = tmp_path_factory.mktemp("prepared")
    own = own_environment(folder)
    manage(own, "migrate", "-v0")
    provider = "from catalog.models import Provider; Provider.objects.create(slug='azure', name='Azure')"
    python(own, f"import django; django.setup(); {provider}")
    return folder


@pytest.fixture
def environment(tmp_path: Path, prepared: Path, price_list: str) -> dict[str, str]:
    """A product of its own, with Azure at the stand-in."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    return own_environment(tmp_path) | {"AZURE_BASE_URL": price_list}


def manage(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(environment, "manage.py", *arguments)


def python(environment: dict[str, str], code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(environment, "-c", code, *arguments)


def _run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=120
    )


def state(environment: dict[str, str]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(python(environment, COUNT).stdout)
    return answer


def test_a_worker_killed_at_any_moment_leaves_nothing_half_done_and_the_next_run_heals(
    environment: dict[str, str],
) -> None:
    for moment in (("services", "read_pages"), ("swapping", "_mark_gone")):
        killed = python(environment, KILLED_AT, *moment)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = state(environment)
    assert left["prices"] == left["offers"] == 0
    assert [status for status, _reason in left["runs"]] == ["failed", "running"]

    healed = manage(environment, "refresh_prices", "azure")
    assert healed.returncode == 0, healed.stdout + healed.stderr
    now = state(environment)
    assert now["offers"] == now["prices"] == 20
    assert now["runs"] == [["failed", "worker_died"], ["failed", "worker_died"], ["succeeded", ""]]


def test_refreshes_started_together_ask_once_and_double_nothing(environment: dict[str, str]) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "manage.py", "refresh_prices", "azure"], cwd=ROOT, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for _ in range(4)
    ]  # fmt: skip
    for process in started:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    assert PriceList.asked == 2
    now = state(environment)
    assert (now["offers"], now["prices"]) == (20, 20)


def test_the_command_says_how_it_went_by_its_exit_code(environment: dict[str, str]) -> None:
    unknown = manage(environment, "refresh_prices", "nowhere")
    assert (unknown.returncode, "azure" in unknown.stderr) == (2, True)
    failed = manage(environment | {"AZURE_BASE_URL": "http://127.0.0.1:9"}, "refresh_prices")
    assert failed.returncode == 1
    assert "azure: failed (no_answer" in failed.stdout
