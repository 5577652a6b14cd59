"""The current market: a columnar copy of the comparable offers, one per process and catalog version."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from threading import Lock

from catalog.models import CatalogVersion, Offer
from planner import host_facts
from planner.market_columns import assemble
from planner.market_rows import Row, current_rows, past_rows, places, rates_on, terms_by_provider
from planner.sizing.offers import MICRO_UNIT, Market

PAST_KEPT = 4
"""Past markets kept in memory: a screen may be saved after the prices it was opened with have changed."""


@dataclass
class Kept:
    """The markets of this process. Guarded: two threads must not build the same one at once."""

    current: Market | None = None
    past: OrderedDict[tuple[str, datetime], Market] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)


_kept = Kept()


def current(at: datetime) -> Market:
    """The market as it stood at ``at``: one query where it is unchanged since the last call.

    Prices are append-only, so a moment before the last change is built from the history and is the same
    whenever it is asked for.
    """
    number, changed_at = _version()
    version = str(number)
    with _kept.lock:
        if changed_at is None or at >= changed_at:
            if _kept.current is None or _kept.current.version != version:
                _kept.current = build(version, at, past=False)
            return _kept.current
        key = (version, at)
        if key not in _kept.past:
            _kept.past[key] = build(f"{version}@{at.isoformat()}", at, past=True)
            while len(_kept.past) > PAST_KEPT:
                _kept.past.popitem(last=False)
        return _kept.past[key]


def forget() -> None:
    """Drop what is kept: tests that roll their database back need it."""
    with _kept.lock:
        _kept.current = None
        _kept.past.clear()


def enlarged(count: int, at: datetime) -> Market:
    """The current offers repeated to ``count`` rows with prices a little apart: how speed grows with the catalog.

    It is kept as the current market of this process until the catalog changes or ``forget`` is called.
    """
    shipped = current_rows()
    rows: list[Row] = []
    while shipped and len(rows) < count:
        turn = len(rows) // len(shipped)
        step = Decimal(1) + Decimal(turn) / 997
        rows += [
            row._replace(
                offer_id=row.offer_id + turn * 1_000_000, amount=(row.amount * step).quantize(MICRO_UNIT)
            )
            for row in shipped[: count - len(rows)]
        ]
    version = str(_version()[0])
    found = assemble(version, rows, terms=terms_by_provider(), rates=rates_on(at.date()), places=places())
    with _kept.lock:
        _kept.current = found
    return found


def _version() -> tuple[int, datetime | None]:
    found = CatalogVersion.objects.filter(pk=CatalogVersion.ONLY).values_list("number", "changed_at").first()
    return found or (0, None)


def build(version: str, at: datetime, *, past: bool) -> Market:
    """Read all comparable offers with their prices, terms and rates: a constant number of queries."""
    rows = past_rows(at) if past else current_rows()
    left_out = Offer.objects.with_accelerator().exclude(not_comparable="").count()
    return assemble(
        version,
        rows,
        terms=terms_by_provider(at if past else None),
        rates=rates_on(at.date()),
        places=places(),
        hosts=host_facts.hosts(),
        not_comparable_count=left_out,
    )


def assemble_private(version: str, rows: list[Row], at: datetime) -> Market:
    """A market of a team's own rows alone, with the terms and rates that the public one has."""
    return assemble(version, rows, terms=terms_by_provider(at), rates=rates_on(at.date()), places=places())
