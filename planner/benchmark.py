"""The speed figures that were promised, measured in this process beside a bare view of the same run."""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from io import StringIO
from itertools import count
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import NoReverseMatch, reverse

from planner import benchmark_lists, benchmark_refresh, benchmark_weight, calibration, market, speed_constants
from planner.benchmark_apart import new_database
from planner.evaluation.rows import read
from planner.evaluation.throughput_answers import predictions

LARGE_MARKET = 250_000
AT_ONCE = 100
PROCESSES, THREADS = 2, 4
EVALUATE_FILES = ("throughput_full.csv", "memory.csv", "memory_more.csv", "memory_extra.csv")
PAPERS_PRINTED = 20
_lengths = count(1_001)


@dataclass(frozen=True)
class Figure:
    """One measured line: milliseconds unless ``unit`` says otherwise; ``limit`` is what was promised."""

    name: str
    limit: float | None
    measured: float | None
    statistic: str
    runs: int
    unit: str = "ms"
    note: str = ""
    cpu: float | None = None
    """Processor time of the same runs, median: what other programs on the machine do not change."""

    @property
    def is_kept(self) -> bool | None:
        return None if self.limit is None or self.measured is None else self.measured <= self.limit


def _cpu_s() -> float:
    """Processor time of this process and of the programs it ran to their end, such as the typesetter."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def bare_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@dataclass
class Taken:
    """Milliseconds of the runs of one thing, by the clock and of the processor."""

    clock: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def run(self, work: Callable[[], object], times: int = 1) -> Taken:
        for _ in range(times):
            clock, cpu = time.perf_counter(), _cpu_s()
            work()
            self.clock.append((time.perf_counter() - clock) * 1000)
            self.cpu.append((_cpu_s() - cpu) * 1000)
        return self

    def figure(self, name: str, limit: float | None, share: float = 0.5, note: str = "") -> Figure:
        statistic = "median" if share == 0.5 else f"{share:.0%} quantile"
        return Figure(
            name, limit, percentile(self.clock, share), statistic, len(self.clock), note=note,
            cpu=statistics.median(self.cpu),
        )  # fmt: skip


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 100) * len(ordered) // 100) - 1)]


def _client(*, fragment: bool = False) -> Client:
    hosts = [host for host in settings.ALLOWED_HOSTS if not host.startswith(("*", "."))]
    return Client(
        headers={"host": hosts[0] if hosts else "localhost"} | ({"hx-request": "true"} if fragment else {})
    )


def _get(client: Client, path: str) -> bytes:
    response = client.get(path)
    if response.status_code != 200:
        raise RuntimeError(f"{path} answered {response.status_code}")
    return b"".join(response) if response.streaming else response.content


def fresh(path: str) -> str:
    """The path with a workload that was not asked for before, so that nothing kept can answer it."""
    return f"{path}?in={next(_lengths)}"


def figures(
    at: datetime, *, runs: int = 20, large: bool = True, evaluate: bool = True, refresh: bool = True,
    lists: bool = True,
) -> Iterator[Figure]:  # fmt: skip
    """Every figure, as it is measured."""
    factory = RequestFactory()
    yield Taken().run(lambda: bare_view(factory.get("/")).content, runs).figure("bare view", None)
    workbench = reverse("planner:workbench")
    client, fragment = _client(), _client(fragment=True)
    _get(client, reverse("healthz"))
    yield (
        Taken()
        .run(partial(_get, client, reverse("healthz")), runs)
        .figure("bare page through all middleware (/healthz)", None)
    )
    _get(client, workbench)
    note = f"{len(market.current(at))} offers"
    yield (
        Taken()
        .run(lambda: _get(client, fresh(workbench)), runs)
        .figure("comparison, shipped catalog, whole page", 150, note=note)
    )
    yield (
        Taken()
        .run(lambda: _get(fragment, fresh(workbench)), runs * 2)
        .figure("refine fragment, one user", 150, 0.95)
    )
    yield (
        Taken()
        .run(lambda: _get(fragment, f"{workbench}?egress={next(_lengths)}"), runs * 2)
        .figure("refine fragment, only money or filters changed", 150, 0.95)
    )
    yield from _catalog_lists(client, runs)
    yield from _at_once(workbench)
    yield from _weights(client, workbench)
    yield from _exports(client, runs)
    if large:
        yield from _large(at, client, workbench, runs)
    if evaluate:
        yield _evaluate()
        yield _predictions(runs)
    if refresh:
        yield from _refresh()
    if lists:
        yield from _long_lists(runs)


def _long_lists(runs: int) -> Iterator[Figure]:
    """Lists over a quarter of a million offers: kept until the catalog changes; the first after that stands apart."""
    found = benchmark_lists.measured(max(5, runs // 2))
    for one in found:
        yield Figure(
            f"list of {one.name}", 100, one.again_ms, "median", max(5, runs // 2), note=f"{one.offers} offers",
            cpu=one.again_cpu_ms,
        )  # fmt: skip
    slowest = max(found, key=lambda one: one.first_ms)
    note = f"{slowest.name}, {slowest.offers} offers"
    yield Figure("slowest of them, first after a change", None, slowest.first_ms, "once", 1, note=note)


def _weights(client: Client, workbench: str) -> Iterator[Figure]:
    """What a first visit fetches, compressed."""
    ask = asking(client)
    for name, path in (("workbench", workbench), ("start page", reverse("planner:start"))):
        for charts, limit in ((False, 150), (True, 700)):
            size = benchmark_weight.bytes_of(ask, path, charts=charts) / 1000
            yield Figure(
                f"{name}, compressed, {'with' if charts else 'without'} charts", limit, size, "once", 1, "kB"
            )


def asking(client: Client | None = None) -> Callable[[str], bytes]:
    """Asks for a path; an answer other than 200 is an error."""
    return partial(_get, client or _client())


def _refresh() -> Iterator[Figure]:
    """The longest price list, read anew over the shipped catalog: time, and memory of the whole process."""
    time_name, memory_name = "refresh of Azure's whole list", "memory of that process at most"
    if benchmark_refresh.rows_file() is None:
        note = "no measurement files (MITSUMORI_MEASUREMENTS)"
        yield Figure(time_name, 60, None, "once", 0, "s", note)
        yield Figure(memory_name, 400, None, "once", 0, "MB", note)
        return
    took = benchmark_refresh.measured()
    yield Figure(time_name, 60, took.seconds, "once", 1, "s", f"{took.rows} rows", took.cpu_s)
    yield Figure(memory_name, 400, took.peak_bytes / 1e6, "once", 1, "MB")


def _catalog_lists(client: Client, runs: int) -> Iterator[Figure]:
    everything = f"{reverse('catalog:offers')}?kind=all&sort=price"
    for name, path in (
        ("offers, all machines by price", everything),
        ("accelerators", reverse("catalog:accelerators")),
    ):
        _get(client, path)
        yield Taken().run(partial(_get, client, path), runs).figure(f"list of {name}", 100)
    yield _whole_catalog()


def _whole_catalog() -> Figure:
    """Loads the whole catalog, machines without GPUs too, into a new database of its own."""
    with new_database() as command:
        taken = Taken().run(lambda: command("load_seeds"))
    return Figure("loading the whole catalog into SQLite", 30, taken.clock[0] / 1000, "once", 1, "s")


def _exports(client: Client, runs: int) -> Iterator[Figure]:
    for fmt, limit in (("pdf", 1000), ("csv", 300)):
        name = f"{fmt.upper()} of 200 candidates"
        try:
            path = reverse("reports:draft_export", args=[fmt])
        except NoReverseMatch:
            yield Figure(name, limit, None, "median", 0, note="no such export")
            continue
        _get(client, path)
        yield _export(client, path, max(3, runs // 4)).figure(name, limit)
    yield _memory_of_papers(client)


def _memory_of_papers(client: Client) -> Figure:
    """How much a process that prints is larger after twenty papers, no two alike."""
    path = reverse("reports:draft_export", args=["pdf"])
    _get(client, fresh(path))
    before = _resident_mb()
    _export(client, path, PAPERS_PRINTED)
    return Figure(
        f"memory grown by {PAPERS_PRINTED} more PDFs", 100, max(0.0, _resident_mb() - before), "once", PAPERS_PRINTED,
        "MB",
    )  # fmt: skip


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _export(client: Client, path: str, runs: int) -> Taken:
    return Taken().run(lambda: _get(client, fresh(path)), runs)


def _large(at: datetime, client: Client, workbench: str, runs: int) -> Iterator[Figure]:
    try:
        offers = len(market.enlarged(LARGE_MARKET, at))
        _get(client, fresh(workbench))
        yield (
            Taken()
            .run(lambda: _get(client, fresh(workbench)), max(5, runs // 2))
            .figure(f"comparison, {LARGE_MARKET:,} offers, whole page", 200, note=f"{offers} offers")
        )
    finally:
        market.forget()


def _worker(addresses: list[str], answers: multiprocessing.SimpleQueue[list[float]]) -> None:
    def one(address: str) -> float:
        client = _client(fragment=True)
        return Taken().run(lambda: _get(client, address)).clock[0]

    with ThreadPoolExecutor(THREADS) as pool:
        answers.put(list(pool.map(one, addresses)))


def _at_once(path: str) -> Iterator[Figure]:
    """Different questions at once, and one question of all."""
    each = AT_ONCE // PROCESSES
    note = f"{PROCESSES} processes x {THREADS} threads, from view entry"
    for name, addresses in (
        ("refine fragment, 100 at once, each another", [f"{path}?in={3_000 + n}" for n in range(AT_ONCE)]),
        ("refine fragment, 100 at once, all the same", [f"{path}?in=2999"] * AT_ONCE),
    ):
        taken = _worked_off([addresses[start : start + each] for start in range(0, AT_ONCE, each)])
        yield Figure(name, 500, percentile(taken, 0.95), "95% quantile", len(taken), note=note)


def _worked_off(shares: list[list[str]]) -> list[float]:
    """Requests that all wait from the start, worked off by as many processes and threads as the server has."""
    connections.close_all()
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.SimpleQueue[list[float]] = context.SimpleQueue()
    workers = [context.Process(target=_worker, args=(share, answers)) for share in shares]
    for worker in workers:
        worker.start()
    taken = [value for _worker_ in workers for value in answers.get()]
    for worker in workers:
        worker.join()
    return taken


def _evaluate() -> Figure:
    name = "evaluate of the measurement files"
    folder = Path(settings.MEASUREMENTS_DIR) / "accuracy"
    files = [str(folder / file) for file in EVALUATE_FILES if (folder / file).is_file()]
    if not files:
        return Figure(name, 20, None, "once", 0, "s", "no measurement files (MITSUMORI_MEASUREMENTS)")
    out = StringIO()
    taken = Taken().run(lambda: call_command("evaluate", *files, json=True, stdout=out))
    rows = json.loads(out.getvalue())["summary"]["rows"]
    return Figure(name, 20, taken.clock[0] / 1000, "once", 1, "s", f"{rows} rows", taken.cpu[0] / 1000)


def _predictions(runs: int) -> Figure:
    """One prediction, amortised over all that are worked out in one vectorised pass."""
    name = "prediction in the vectorised pass"
    file = Path(settings.MEASUREMENTS_DIR) / "accuracy" / EVALUATE_FILES[0]
    if not file.is_file():
        return Figure(name, 50, None, "median", 0, "µs", "no measurement files (MITSUMORI_MEASUREMENTS)")
    cases = calibration.data(read([file])).cases
    fitted = speed_constants.constants()
    predictions(cases, fitted)
    taken = Taken().run(lambda: predictions(cases, fitted), max(3, runs // 4))
    each = 1000 / len(cases)
    return Figure(
        name, 50, percentile(taken.clock, 0.5) * each, "median", len(taken.clock), "µs", f"{len(cases)} at once",
        statistics.median(taken.cpu) * each,
    )  # fmt: skip


def as_document(found: list[Figure]) -> list[dict[str, object]]:
    return [asdict(figure) | {"kept": figure.is_kept} for figure in found]
