"""The start program, asked as a program."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.services import free_port

HERE = Path(__file__).resolve().parents[2]


@pytest.fixture
def run() -> Iterator[ModuleType]:
    sys.path.insert(0, str(HERE))
    import run as module

    yield module
    sys.path.remove(str(HERE))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """As a newcomer's shell: nothing set but where the data goes; the environment of this run is used."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MITSUMORI_DATA_DIR": str(tmp_path / "data")}


def test_what_it_does_not_know_it_explains(environment: dict[str, str]) -> None:
    asked = subprocess.run(
        [sys.executable, "run.py", "fly"],
        cwd=HERE,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 2
    assert "run.py test" in asked.stdout


@pytest.mark.parametrize(("port", "told"), [("http", "must be a number"), ("99999", "must be a number")])
def test_a_port_that_is_none_is_refused_in_a_sentence(
    environment: dict[str, str], port: str, told: str
) -> None:
    asked = subprocess.run(
        [sys.executable, "run.py"],
        cwd=HERE,
        env=environment | {"PORT": port},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert asked.returncode == 1
    assert told in asked.stderr
    assert "Traceback" not in asked.stderr


def test_the_digest_follows_names_and_contents(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "HERE", tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("1")
    first = run.digest_of(tmp_path / "a")
    assert run.digest_of(tmp_path / "a") == first
    (tmp_path / "a" / "x").write_text("2")
    second = run.digest_of(tmp_path / "a")
    (tmp_path / "a" / "x").rename(tmp_path / "a" / "y")
    assert len({first, second, run.digest_of(tmp_path / "a")}) == 3


def test_a_python_that_cannot_make_environments_is_told_what_to_install(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = tmp_path / "python3"
    bare.write_text("#!/bin/sh\necho 'Error: ensurepip is not available'\nexit 1\n")
    bare.chmod(0o755)
    monkeypatch.setattr(run.sys, "executable", str(bare))
    monkeypatch.setattr(run, "VENV", tmp_path / "venv")
    with pytest.raises(SystemExit) as ended:
        run.make_venv()
    assert ended.value.code == 1
    assert "apt-get install -y python3-venv" in capsys.readouterr().err
    assert not (tmp_path / "venv").exists()


def group_members(leaders: set[int]) -> set[int]:
    """Processes that are alive in the process groups of `leaders`."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) in leaders and fields[0] != "Z":
                found.add(int(entry.name))
    return found


def children_of(pid: int) -> dict[int, str]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found[int(entry.name)] = command
    return found


def until(condition: object, limit_s: float) -> bool:
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_it_serves_restarts_a_worker_that_died_and_leaves_nothing_behind(
    environment: dict[str, str], tmp_path: Path
) -> None:
    port = free_port()
    log = (tmp_path / "log").open("w")
    program = subprocess.Popen(
        [sys.executable, "run.py"], cwd=HERE, env=environment | {"PORT": str(port)}, stdout=log, stderr=log
    )
    seen: set[int] = set()
    try:

        def told() -> str:
            return (tmp_path / "log").read_text()

        assert until(lambda: f"http://localhost:{port}/" in told() or program.poll() is not None, 90), told()
        assert program.poll() is None, told()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/healthz")
        health = json.loads(connection.getresponse().read())
        connection.close()
        assert (health["database"], health["broker"]) == ("ok", "ok")

        def workers() -> list[int]:
            return [pid for pid, command in children_of(program.pid).items() if "celery" in command]

        assert until(workers, 20), told()
        first = workers()[0]
        seen |= set(children_of(program.pid))
        os.kill(first, signal.SIGKILL)
        assert until(lambda: workers()[:1] not in ([], [first]), 20), told()
        seen |= set(children_of(program.pid))
        assert len(group_members(seen)) >= 3
    finally:
        program.terminate()
        program.wait(20)
        log.close()
    assert program.returncode == 0
    assert group_members(seen) == set()
