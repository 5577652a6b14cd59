"""The comparison as one tidy table, for every file that holds tables: the same rows, the same figures.

For people codes are in words of their language; for programs (``coded``) they are codes that no language changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from planner import kinds, wording
from planner.columns import Column, Value
from planner.fields import Path, SheetField
from planner.file_figures import ends, figure, header
from planner.kinds import by_rate
from planner.sizing.quantities import GIB
from planner.sizing.results import Candidate, Rejection
from planner.sizing.token_prices import ServicesMonth
from reports import words
from reports.sheets import Sheet, SheetWorkload

OFFER_KEYS = frozenset(
    (
        "provider", "sku", "region", "tier", "accelerator", "gpu_count", "gpu_fraction", "memory", "bandwidth", "link",
        "vcpu", "ram", "price", "price_currency", "price_unit", "price_date", "price_age", "stale", "floor",
        "estimated", "valid_until", "expired", "source", "terms", "upfront", "price_over_term", "term_months", "stock",
        "stock_on",
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
ASKED = (
    Head("kind", _("Kind")),
    Head("model", _("Model")),
    Head("runtime", _("Runtime")),
    Head("weights_format", _("Weights format")),
    Head("kv_format", _("KV cache format")),
    Head("input_tokens_typical", _("Input, typical"), "tokens"),
    Head("input_tokens_maximum", _("Input, longest"), "tokens"),
    Head("output_tokens_typical", _("Output, typical"), "tokens"),
    Head("output_tokens_maximum", _("Output, longest"), "tokens"),
    Head("concurrency_average", _("At once, average")),
    Head("concurrency_peak", _("At once, peak")),
    Head("request_rate_per_s", _("Requests per second")),
    Head("request_rate_peak_per_s", _("Requests per second at peak")),
    Head("request_count", _("Requests in the job")),
    Head("deadline_hours", _("Done within"), "h"),
    Head("ttft_target_s", _("First token within"), "s"),
    Head("tpot_target_s", _("Then one token every"), "s"),
    Head("headroom_fraction", _("Memory headroom")),
)
"""What was asked, the same in every row of a workload; empty where it does not apply or no target was set."""
ASKED_PATHS = {
    ("kind",), ("model", "id"), ("runtime", "name"), ("weights_format",), ("kv_format",), ("concurrency", "peak"),
    ("input_tokens", "typical"), ("output_tokens", "typical"), ("request_rate_per_s",), ("request_count",),
    ("deadline_hours",), ("schedule", "hours_per_day"), ("schedule", "days_per_month"),
}  # fmt: skip
"""Paths of the question that stand among ``ASKED`` already, or in the hours of the bill."""
BOUNDS = {"exact": "=", "at_least": "\u2265"}
"""Whether money is a whole amount, or at least that much because a price is unknown."""
LAST = (
    Head("monthly_bound", BOUNDS["at_least"]),
    Head("service", _("Service by the token with the least month")),
    Head("service_monthly", _("Its price for the same month")),
    Head("break_even_millions", _("Break-even with it, million tokens a month")),
    Head("reason", _("Reason for rejection")),
    Head("needed_gib", _("Memory needed per GPU"), "GiB"),
    Head("available_gib", _("Memory available per GPU"), "GiB"),
    Head("what_would_help", _("What would help")),
    Head("source_url", _("Address of the source")),
    Head("priced_at", _("Prices as of"), "UTC"),
    Head("plan_address", _("Address of the plan")),
    Head("fingerprint", _("Fingerprint")),
)


def _kinds(sheet: Sheet) -> list[str]:
    return list(dict.fromkeys(workload.kind for workload in sheet.workloads))


def columns(sheet: Sheet) -> tuple[Column, ...]:
    """The comparison's columns for the kinds of workload on this sheet."""
    return kinds.columns_of(_kinds(sheet))


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
    return [*FIRST, *ASKED, *(_own_head(field) for field in own_fields(sheet)), *middle, *LAST]


def own_fields(sheet: Sheet) -> list[SheetField]:
    """Fields that an answer leans on and that not every kind of workload has, each path once."""
    found: dict[Path, SheetField] = {}
    for name in _kinds(sheet):
        kind = kinds.of(name)
        for key in kind.carrying:
            field = kind.fields[key]
            if field.path and field.path not in ASKED_PATHS:
                found.setdefault(field.path, field)
    return list(found.values())


def _own_head(field: SheetField) -> Head:
    return Head("_".join(field.path), str(field.label))


def _own_values(workload: SheetWorkload, fields: list[SheetField]) -> list[Value]:
    """As they stand in the document, in its units."""
    values: list[Value] = []
    for field in fields:
        value: Any = workload.comparison.workload
        for step in field.path:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, dict):
            value = ", ".join(f"{name}={number:.6g}" for name, number in value.items()) or None
        values.append(value if isinstance(value, str | int | float) else None)
    return values


def rows(sheet: Sheet, *, coded: bool = False) -> Iterator[list[Value]]:
    """Values in the order of ``heads``: every candidate, then every rejected offer, workload by workload.

    Rejected offers are left out where the sheet says so.
    """
    middle, own = columns(sheet), own_fields(sheet)
    width, of_offers = _of_offers(middle)
    for workload in sheet.workloads:
        name = workload.name or (_english_name(workload) if coded else workload_name(workload))
        first = [sheet.slug or "", sheet.number, sheet.title, name]
        asked = [*_asked(workload, coded), *_own_values(workload, own)]
        for candidate in workload.comparison.candidates:
            yield [
                *first,
                _status("candidate", coded),
                *asked,
                *_candidate(middle, candidate, coded),
                *_last(sheet, candidate, coded, workload.comparison.services),
            ]
        for rejection in workload.comparison.rejected if sheet.with_rejected else ():
            yield [
                *first,
                _status("rejected", coded),
                *asked,
                *_rejection(width, of_offers, rejection, coded),
                *_last(sheet, rejection, coded),
            ]


def workload_name(workload: SheetWorkload) -> str:
    return f"{workload.position}. {kinds.of(workload.kind).title}"


def _english_name(workload: SheetWorkload) -> str:
    """The same in every language, as all of a file for programs."""
    with translation.override("en"):
        return workload_name(workload)


def _status(code: str, coded: bool) -> str:
    return code if coded else words.status(code)


def _asked(workload: SheetWorkload, coded: bool) -> list[Value]:
    """The question in the order of ``ASKED``."""
    asked = workload.comparison.workload
    runtime, targets = asked.get("runtime") or {}, asked.get("targets") or {}
    lengths, load = (
        (asked.get("input_tokens") or {}, asked.get("output_tokens") or {}),
        asked.get("concurrency") or {},
    )
    rate_per_s = by_rate.rate_per_s(asked) if load else None
    weights_format, kv_format = asked.get("weights_format"), asked.get("kv_format")
    return [
        workload.kind if coded else str(kinds.of(workload.kind).title),
        str(workload.comparison.model.get("name") or ""),
        f"{runtime.get('name', '')} {runtime.get('version') or ''}".strip(),
        weights_format if coded else wording.FORMATS.get(str(weights_format), weights_format),
        kv_format if coded else wording.FORMATS.get(str(kv_format), kv_format),
        *(length.get(part) for length in lengths for part in ("typical", "maximum")),
        load.get("average") if rate_per_s is None else None,
        load.get("peak") if rate_per_s is None else None,
        rate_per_s,
        None if rate_per_s is None else rate_per_s * load["peak"] / load["average"],
        asked.get("request_count"),
        _number(asked.get("deadline_hours")),
        _number(targets.get("ttft_s")),
        _number(targets.get("tpot_s")),
        asked.get("headroom_fraction"),
    ]


def _number(value: object) -> Value:
    """A target; "none" is an empty cell."""
    return value if isinstance(value, int | float) else None


def _candidate(middle: tuple[Column, ...], candidate: Candidate, coded: bool) -> Iterator[Value]:
    for column in middle:
        yield figure(column, candidate, coded=coded)
        if column.estimate is not None:
            yield from ends(column, candidate)


def _of_offers(middle: tuple[Column, ...]) -> tuple[int, list[tuple[int, Column]]]:
    """How many cells the columns take, and where those stand that speak of the offer alone."""
    place, found = 0, []
    for column in middle:
        if column.key in OFFER_KEYS:
            found.append((place, column))
        place += 1 if column.estimate is None else 3  # a figure, and the ends of its range
    return place, found


def _rejection(
    width: int, of_offers: list[tuple[int, Column]], rejection: Rejection, coded: bool
) -> list[Value]:
    offer_only = cast(Candidate, SimpleNamespace(offer=rejection.offer))
    cells: list[Value] = [None] * width
    for place, column in of_offers:
        cells[place] = figure(column, offer_only, coded=coded)
    return cells


def _beside_service(row: Candidate, found: ServicesMonth | None) -> list[Value]:
    """The least of the services' months, and the volume in that mix above which this candidate costs less."""
    if found is None:
        return [None, None, None]
    least = found.rows[0]
    even = least.break_even_millions
    if found.total and row.monthly.total != found.total:
        even = (even * row.monthly.total / found.total).quantize(Decimal("0.01"))
    return [least.price.service or "typed", least.month, even]


def _last(
    sheet: Sheet, row: Candidate | Rejection, coded: bool, services: ServicesMonth | None = None
) -> list[Value]:
    tail: list[Value] = [
        row.offer.source_url,
        sheet.priced_at.isoformat(timespec="seconds") if coded else sheet.priced_at,
        sheet.address or None,
        sheet.fingerprint or _status("draft", coded),
    ]
    if isinstance(row, Candidate):
        bound = "exact" if row.monthly.complete else "at_least"
        memory = row.memory
        return [
            bound if coded else BOUNDS[bound],
            *_beside_service(row, services),
            None,
            _gib(memory.needed_bytes),
            _gib(memory.usable_bytes),
            None,
            *tail,
        ]
    return [
        None,
        *[None] * 3,
        row.reason if coded else words.rejection(row),
        _gib(row.needed_bytes),
        _gib(row.available_bytes),
        _remedies(row) if coded else words.remedies(row),
        *tail,
    ]


def _remedies(row: Rejection) -> str | None:
    """What would help, each change as ``name=value``."""
    changes = (f"{change.get('change')}={change.get('to', '')}" for change in row.what_would_help)
    return "; ".join(changes) or None


def _gib(count: int | None) -> Decimal | None:
    return None if count is None else (Decimal(count) / GIB).quantize(Decimal("0.01"))
