"""The life of a run: one at a time for each source, its pages kept, a dead one closed by the next."""

from __future__ import annotations

import gzip
import os
import socket
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.models import User
from catalog.models import Refresh, RefreshPage, RefreshStatus
from catalog.sources.quotes import Page

LEASE = timedelta(seconds=120)
"""A run that shows no sign of life for this long has died."""
RUNS_WITH_PAGES = 3
"""Pages are kept of this many good and this many other runs of a source."""

Clock = Callable[[], datetime]


class LostLease(Exception):
    """Another process took this run for dead and closed it; it must not write any more."""


def open_run(
    source: str, at: datetime, asked_by: User | None = None, asked_at: datetime | None = None
) -> tuple[Refresh, bool]:
    """A new run and True; or the run that already does what is asked, and False.

    That is one which is alive, or one that began after ``asked_at`` and has ended.
    """
    for running in Refresh.objects.filter(source=source, status=RefreshStatus.RUNNING):
        if is_alive(running, at):
            return running, False
        close(running, RefreshStatus.FAILED, at, "worker_died", "")
    try:
        with transaction.atomic():
            if asked_at is not None:
                ended = Refresh.objects.filter(
                    source=source, started_at__gte=asked_at, finished_at__isnull=False
                )
                if (latest := ended.first()) is not None:
                    return latest, False
            run = Refresh.objects.create(
                source=source, started_at=at, lease_until=at + LEASE, worker=_worker(), asked_by=asked_by
            )
            return run, True
    except IntegrityError:
        # Someone else opened one between the look and the insertion.
        return Refresh.objects.filter(source=source)[0], False


def is_alive(run: Refresh, at: datetime) -> bool:
    """Whether whoever runs it still does: its lease holds, and on this host its process is there."""
    host, _, rest = run.worker.partition(" ")
    pid, _, began = rest.partition(" ")
    if host == socket.gethostname()[:60] and pid.isdigit() and began and _process_start(int(pid)) != began:
        return False
    return run.lease_until > at


def _worker() -> str:
    return f"{socket.gethostname()[:60]} {os.getpid()} {_process_start(os.getpid())}"


def _process_start(pid: int) -> str:
    """When a process began, in ticks since boot (Linux); empty where that cannot be read."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return text.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def close(run: Refresh, status: RefreshStatus, at: datetime, reason: str, detail: str) -> None:
    """End a run that is still open; one that someone else closed stays as it was closed."""
    Refresh.objects.filter(pk=run.pk, status=RefreshStatus.RUNNING).update(
        status=status, finished_at=at, reason=reason, reason_detail=detail[:300]
    )
    forget_pages(run.source)


def locked(run: Refresh) -> Refresh:
    """The row of a run that is still ours, locked until the transaction ends."""
    row = Refresh.objects.select_for_update().get(pk=run.pk)
    if row.status != RefreshStatus.RUNNING:
        raise LostLease
    return row


def keep_page(run: Refresh, page: Page, at: datetime) -> None:
    """Store a page as it arrived, and show a sign of life."""
    with transaction.atomic():
        ours = Refresh.objects.filter(pk=run.pk, status=RefreshStatus.RUNNING)
        if not ours.update(page_count=page.number, lease_until=at + LEASE):
            raise LostLease
        RefreshPage.objects.create(
            refresh=run,
            number=page.number,
            url=page.url[:2000],
            body_gzip=gzip.compress(page.body, compresslevel=6, mtime=0),
            size_bytes=len(page.body),
            fetched_at=at,
        )


def kept_pages(run: Refresh) -> Iterable[Page]:
    for page in run.pages.order_by("number").iterator(chunk_size=4):
        yield Page(number=page.number, url=page.url, body=gzip.decompress(bytes(page.body_gzip)))


def forget_pages(source: str) -> None:
    """Drop the pages of older runs; the rows of the runs stay."""
    good = Q(status=RefreshStatus.SUCCEEDED)
    kept: list[int] = []
    for which in (good, ~good):
        kept += Refresh.objects.filter(which, source=source).values_list("pk", flat=True)[:RUNS_WITH_PAGES]
    RefreshPage.objects.filter(refresh__source=source).exclude(refresh__in=kept).delete()
