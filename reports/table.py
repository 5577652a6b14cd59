"""The comparison as one tidy table, for every file that holds tables: the same rows, the same figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace
from typing import cast

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from planner import wording
from planner.columns import COLUMNS, Column, Value
from planner.sizing.quantities import GIB
from planner.sizing.results import Candidate, Rejection
from reports import words
from reports.figures import ends, figure, header
from reports.sheets import Sheet, SheetWorkload

OFFER_KEYS = frozenset(
    (
        "provider", "sku", "region", "tier", "accelerator", "gpu_count", "gpu_fraction", "memory", "bandwidth", "link",
        "vcpu", "ram", "price", "price_currency", "price_unit", "price_date", "price_age", "stale", "floor",
        "estimated", "source",
    )
)  # fmt: skip
"""Columns that speak of the offer alone, so that a rejected one has them too."""


@dataclass(frozen=True)
class Head:
    """A column of the table: its stable name, and what it is called for people."""

    name: str
    title: str | Promise
    unit: str = ""


FIRST = (
    Head("plan", _("Plan")),
    Head("version", pgettext_lazy("of a plan", "Version")),
    Head("title", _("Title")),
    Head("workload", _("Workload")),
    Head("status", _("Status")),
)
LAST = (
    Head("reason", _("Reason for rejection")),
    Head("needed_gib", _("Memory needed per GPU"), "GiB"),
    Head("available_gib", _("Memory available per GPU"), "GiB"),
    Head("what_would_help", _("What would help")),
    Head("source_url", _("Address of the source")),
    Head("priced_at", _("Prices as of")),
    Head("fingerprint", _("Fingerprint")),
)


def _kinds(sheet: Sheet) -> set[str]:
    return {workload.kind for workload in sheet.workloads}


def columns(sheet: Sheet) -> tuple[Column, ...]:
    """The comparison's columns for the kinds of workload on this sheet."""
    return tuple(column for column in COLUMNS if _kinds(sheet) & set(column.kinds))


def heads(sheet: Sheet) -> list[Head]:
    middle: list[Head] = []
    for column in columns(sheet):
        name = header(column)
        middle.append(Head(name, column.title, column.unit))
        if column.estimate is not None:
            # xgettext:no-python-format
            middle.append(Head(f"{name}_low", _("low end (80 % range)"), column.unit))
            # xgettext:no-python-format
            middle.append(Head(f"{name}_high", _("high end (80 % range)"), column.unit))
    return [*FIRST, *middle, *LAST]


def rows(sheet: Sheet) -> Iterator[list[Value]]:
    """Values in the order of ``heads``: every candidate, then every rejected offer, workload by workload."""
    middle = columns(sheet)
    for workload in sheet.workloads:
        first = [sheet.slug or "", sheet.number, sheet.title, workload.name or workload_name(workload)]
        for candidate in workload.comparison.candidates:
            yield [
                *first,
                words.status("candidate"),
                *_candidate(middle, candidate),
                *_last(sheet, candidate),
            ]
        for rejection in workload.comparison.rejected:
            yield [*first, words.status("rejected"), *_rejection(middle, rejection), *_last(sheet, rejection)]


def workload_name(workload: SheetWorkload) -> str:
    return f"{workload.position}. {wording.word('kind', workload.kind)}"


def _candidate(middle: tuple[Column, ...], candidate: Candidate) -> Iterator[Value]:
    for column in middle:
        yield figure(column, candidate)
        if column.estimate is not None:
            yield from ends(column, candidate)


def _rejection(middle: tuple[Column, ...], rejection: Rejection) -> Iterator[Value]:
    offer_only = cast(Candidate, SimpleNamespace(offer=rejection.offer))
    for column in middle:
        yield figure(column, offer_only) if column.key in OFFER_KEYS else None
        if column.estimate is not None:
            yield from (None, None)


def _last(sheet: Sheet, row: Candidate | Rejection) -> list[Value]:
    rejected = row if isinstance(row, Rejection) else None
    return [
        words.rejection(rejected) if rejected else None,
        _gib(rejected.needed_bytes) if rejected else None,
        _gib(rejected.available_bytes) if rejected else None,
        words.remedies(rejected) if rejected else None,
        row.offer.source_url,
        sheet.priced_at.isoformat(timespec="seconds"),
        sheet.fingerprint or words.status("draft"),
    ]


def _gib(count: int | None) -> Decimal | None:
    return None if count is None else (Decimal(count) / GIB).quantize(Decimal("0.01"))
