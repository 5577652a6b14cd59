"""Two at the same moment, each in a thread and database connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

WAIT_S = 2.0
"""Long enough for the other thread on a busy machine; where a lock works, the whole of it is waited."""


def together(*works: Callable[[], Any]) -> list[BaseException]:
    """Runs all at once; what they raised."""
    gate = threading.Barrier(len(works))
    raised: list[BaseException] = []

    def run(work: Callable[[], Any]) -> None:
        try:
            gate.wait(10)
            work()
        except BaseException as error:
            raised.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return raised


def met_after(function: Callable[..., Any], count: int = 2) -> Callable[..., Any]:
    """The function, and then a wait until as many threads have passed it: between a check and its write.

    Where a lock keeps the others out, nobody comes, and the wait ends by itself.
    """
    gate = threading.Barrier(count)

    def checked(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        with suppress(threading.BrokenBarrierError):
            gate.wait(WAIT_S)
        return found

    return checked


@contextmanager
def unlocked(row: Any) -> Iterator[Any]:
    """What a lock would be if it were taken out: no transaction, no row held."""
    yield type(row).objects.get(pk=row.pk)


def met_before(function: Callable[..., Any], count: int = 2) -> Callable[..., Any]:
    """A wait until as many threads have come here, and then the function: what was read before is old by then."""
    gate = threading.Barrier(count)

    def late(*args: Any, **kwargs: Any) -> Any:
        with suppress(threading.BrokenBarrierError):
            gate.wait(WAIT_S)
        return function(*args, **kwargs)

    return late


def take_out_locks(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """No row is held anywhere, and in these modules no transaction is open: each statement stands for itself."""
    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, *_args, **_options: rows.all())
    for module in modules:
        monkeypatch.setattr(f"{module}.transaction", SimpleNamespace(atomic=nullcontext))
