"""How gunicorn serves the product; read by run.py and by the container alike."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path
from threading import Thread
from typing import Any

bind = f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ.get('PORT', '8000')}"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
worker_class = "gthread"
threads = 4
preload_app = True  # read once, shared by all workers; a start takes one import instead of one per worker
timeout = 60
graceful_timeout = 4
keepalive = 5
control_socket_disable = True
# The product refuses oversized lines and headers itself, with its own page (mitsumori/middleware.py).
limit_request_line = 0
limit_request_fields = 100
limit_request_field_size = 65536
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  # nosec B108
errorlog = "-"
accesslog = None  # each request is logged by the product, without the secrets in its address
loglevel = "warning"

# Counters of all workers are added up through files in this folder, which must begin empty. The client library
# looks at the variable when it is imported, so it is imported below.
_data_dir = os.environ.get("MITSUMORI_DATA_DIR") or Path(__file__).resolve().parent / "var"
_metrics_dir = Path(_data_dir).resolve() / "metrics"
shutil.rmtree(_metrics_dir, ignore_errors=True)
_metrics_dir.mkdir(parents=True, exist_ok=True)
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(_metrics_dir)


def when_ready(server: Any) -> None:
    """Before the workers are forked: what is loaded by now is never garbage, and its pages stay shared."""
    _note_address()
    gc.collect()
    gc.freeze()


def _note_address() -> None:
    """For what is made elsewhere on this machine, such as a file that the command line exports."""
    host = os.environ.get("HOST", "127.0.0.1")
    if host in ("127.0.0.1", "0.0.0.0", "[::]", "::"):  # noqa: S104  # nosec B104
        host = "localhost"
    file = Path(_data_dir).resolve() / "address"
    file.write_text(f"http://{host}:{os.environ.get('PORT', '8000')}\n", encoding="ascii")


def post_worker_init(worker: Any) -> None:
    """A worker answers at once; what its first pages need is read beside that."""
    from mitsumori.warming import warm_apart

    Thread(target=warm_apart, args=(worker.wsgi,), name="warming", daemon=True).start()


def child_exit(server: Any, worker: Any) -> None:
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
