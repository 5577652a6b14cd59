"""The comparison as a workbook: real numbers and dates, frozen headers, no formulas, no links."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import xlsxwriter
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from xlsxwriter.worksheet import Worksheet

from catalog.source_words import said
from planner import assumption_words, service_words, wording
from planner.columns import Value
from reports import checklist_words, presenters, words
from reports.checklist_words import ChecklistView
from reports.said import Said
from reports.sheets import Sheet
from reports.table import Head, heads, rows, workload_name

# The document's own time stamp must not make two exports of one draft differ.
STAMP = datetime(2000, 1, 1, tzinfo=UTC)
CELL_LENGTH = 32_000
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def text(value: str) -> str:
    """A text that a workbook can hold."""
    return _UNPRINTABLE.sub("", value)[:CELL_LENGTH]


class _Page(Worksheet):  # type: ignore[misc]
    """A worksheet that writes 0.0986 as 0.0986: the library's sixteen digits make 0.09859999999999999 of it."""

    def _xml_number_element(self, number: float, attributes: Sequence[tuple[str, object]] = ()) -> None:
        written = "".join(f' {key}="{self._escape_attributes(value)}"' for key, value in attributes)
        self.fh.write(f"<c{written}><v>{number!r}</v></c>")


class _Book:
    """A workbook and the few formats it uses."""

    def __init__(self, out: io.BytesIO, sheet: Sheet) -> None:
        options = {
            "in_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "strings_to_numbers": False,
        }
        self.book: Any = xlsxwriter.Workbook(out, options)
        made_at = (sheet.created_at or STAMP).astimezone(UTC).replace(tzinfo=None)
        self.book.set_properties({"title": text(sheet.title), "created": made_at})
        self.head = self.book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        self.date = self.book.add_format({"num_format": "yyyy-mm-dd"})
        self.text = self.book.add_format({"num_format": "@"})
        self.moment = self.book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self.numbers: dict[int, Any] = {}

    def number(self, value: Decimal | int | float) -> Any:
        """The number format with as many decimals as the figure has."""
        exponent = value.as_tuple().exponent if isinstance(value, Decimal) else 0
        decimals = max(0, -exponent) if isinstance(exponent, int) else 0
        if decimals not in self.numbers:
            code = "#,##0" + ("." + "0" * decimals if decimals else "")
            self.numbers[decimals] = self.book.add_format({"num_format": code})
        return self.numbers[decimals]

    def page(self, name: str, titles: Sequence[str], table: Sequence[Sequence[Value]]) -> None:
        page = self.book.add_worksheet(re.sub(r"[\[\]:*?/\\']", "", name)[:31], _Page)
        for column, title in enumerate(titles):
            page.write_string(0, column, text(title), self.head)
            page.set_column(column, column, min(40, max(9, len(title) * 0.7)))
        for row, values in enumerate(table, start=1):
            for column, value in enumerate(values):
                self.write(page, row, column, value)
        page.freeze_panes(1, 0)
        if table:
            page.autofilter(0, 0, len(table), len(titles) - 1)

    def write(self, page: Any, row: int, column: int, value: Value) -> None:
        if value is None:
            return
        if isinstance(value, bool):
            page.write_boolean(row, column, value)
        elif isinstance(value, Decimal | int | float):
            page.write_number(row, column, float(value), self.number(value))
        elif isinstance(value, datetime):  # in UTC, which its column says: a workbook knows no zones
            page.write_datetime(
                row, column, value.astimezone(UTC).replace(tzinfo=None, microsecond=0), self.moment
            )
        elif isinstance(value, date):
            page.write_datetime(row, column, datetime(value.year, value.month, value.day), self.date)  # noqa: DTZ001
        else:
            page.write_string(row, column, text(value), self.text)


def _title(head: Head) -> str:
    return f"{head.title} [{head.unit}]" if head.unit else str(head.title)


def render(sheet: Sheet) -> bytes:
    out = io.BytesIO()
    book = _Book(out, sheet)
    book.page(_("Comparison"), [_title(head) for head in heads(sheet)], list(rows(sheet)))
    book.page(_("Bill"), [_("Workload"), _("Rank"), _("Machine"), _("What"), _("Amount"), _("Currency"), _("Source")],
              _bill(sheet))  # fmt: skip
    by_token = _by_token(sheet)
    if by_token:
        heads_of_services = [
            _("Workload"), _("Service"), _("1M tokens in"), _("1M tokens out"), _("per month"), _("Currency"),
            _("Million tokens in, a month"), _("Million tokens out, a month"), _("First candidate, per month"),
            _("All prices known"), _("Break-even, million tokens a month"), _("Read on"), _("Source"),
        ]  # fmt: skip
        book.page(_("By the token"), heads_of_services, by_token)
    book.page(_("Assumptions"), [_("Workload"), _("Assumption"), _("Value"), _("Unit"), _("Source")],
              _assumptions(sheet))  # fmt: skip
    listed = presenters.checklist(sheet)
    if listed is not None:
        book.page(_("Checklist"), [_("Section"), _("What"), _("Settled"), _("Value")], _checklist(listed))
    if sheet.said is not None:
        heads_of_said = [
            _("What"),
            pgettext("of a plan", "Version"),
            _("About"),
            _("Text"),
            _("Who"),
            _("When"),
        ]
        book.page(_("Decisions and comments"), heads_of_said, _said(sheet.said))
    book.page(pgettext("sheet of a workbook", "Plan"), [_("What"), _("Value")], _about(sheet))
    book.book.close()
    return out.getvalue()


def _bill(sheet: Sheet) -> list[list[Value]]:
    return [
        [
            workload.name or workload_name(workload),
            candidate.rank,
            f"{candidate.offer.provider_name} {candidate.offer.sku}",
            wording.word("line", line.what),
            line.amount,
            candidate.monthly.currency,
            said(line.source or "") or None,
        ]
        for workload in sheet.workloads
        for candidate in workload.comparison.candidates
        for line in candidate.monthly.lines
    ]


def _by_token(sheet: Sheet) -> list[list[Value]]:
    """A row for each price by the token beside a workload's first candidate."""
    return [
        [
            workload.name or workload_name(workload),
            service_words.named(row.price),
            row.price.input_per_million,
            row.price.output_per_million,
            row.month,
            found.currency,
            found.input_millions,
            found.output_millions,
            found.total,
            found.complete,
            row.break_even_millions,
            row.price.observed or None,
            said(row.price.source) or None,
        ]
        for workload in sheet.workloads
        if (found := workload.comparison.services) is not None
        for row in found.rows
    ]


def _assumptions(sheet: Sheet) -> list[list[Value]]:
    return [
        [
            workload.name or workload_name(workload),
            assumption_words.named(item),
            _assumed(item.value),
            item.unit,
            said(item.source or ""),
        ]
        for workload in sheet.workloads
        for item in workload.comparison.assumptions
    ]


def _assumed(value: float | int | str | bool) -> Value:
    """A constant with six digits, which is more than anybody knows it to."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _said(said: Said) -> list[list[Value]]:
    """A row for each decision, the newest first, and for each comment."""
    rows: list[list[Value]] = [
        [_("Decision"), each.number, each.chosen, each.because, each.by, each.on] for each in said.decisions
    ]
    rows += [
        [_("Comment"), each.number, each.subject or _("the whole plan"), each.text, each.author, each.at]
        for each in said.comments or ()
    ]
    return rows


def _about(sheet: Sheet) -> list[list[Value]]:
    currencies = dict.fromkeys(total.currency for total in sheet.totals)
    return [
        [_("Title"), sheet.title],
        [_("Prepared for"), sheet.prepared_for],
        [_("Prepared by"), sheet.prepared_by],
        [_("Note"), sheet.note],
        [_("Plan"), sheet.slug or words.status("draft")],
        [_("Address"), sheet.address],
        [_("Origin"), words.origin(sheet.origin) if sheet.origin else None],
        [pgettext("of a plan", "Version"), sheet.number],
        *_together(sheet),
        [_("Currency"), wording.listed(currencies)],
        [_("Conversion"), words.converted(sheet.converted) if sheet.converted else None],
        [f"{_('Saved on')} [UTC]", sheet.created_at],
        [f"{_('Prices as of')} [UTC]", sheet.priced_at],
        [_("To be checked again after"), sheet.valid_until.date()],
        [_("Engine version"), sheet.engine_version],
        [_("Catalog version"), words.catalog_version(sheet.catalog_version)],
        [_("Fingerprint"), sheet.fingerprint or words.status("draft")],
    ]


def _together(sheet: Sheet) -> list[list[Value]]:
    """The common totals of a plan with several workloads, as numbers."""
    if len(sheet.workloads) < 2:
        return []
    title = _("All workloads together, per month")
    return [
        [f"{title} [{total.currency}]" + ("" if total.complete else " ≥"), total.amount]
        for total in sheet.totals
    ]


def _checklist(listed: ChecklistView) -> list[list[Value]]:
    """Every point of the checklist as a row; the layouts and services beneath, one row for each."""
    rows: list[list[Value]] = [
        [section.title, entry.label, entry.done, entry.text]
        for section in listed.sections
        for entry in section.entries
    ]
    target = _("Availability, recovery and loss")
    rows += [[target, label, None, text] for label, text in listed.targets]
    rows += [[target, None, None, sentence] for sentence in listed.verdicts]
    heads = checklist_words.layout_heads()
    rows += [
        [_("One server and a redundant layout"), f"{row.workload}: {row.name}", None,
         "; ".join(f"{head}: {cell}" for head, cell in zip(heads[2:], row.cells[2:], strict=True))]
        for row in listed.layouts
    ]  # fmt: skip
    heads = checklist_words.service_heads()
    rows += [
        [_("Services and data"), row.name, None,
         "; ".join(f"{head}: {cell}" for head, cell in zip(heads[1:], row.cells[1:], strict=True) if cell)]
        for row in listed.services
    ]  # fmt: skip
    rows += [[_("Open questions"), None, None, question] for question in listed.questions]
    return rows
