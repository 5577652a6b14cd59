"""The comparison as one tidy table: a row for every candidate and every rejected offer of every workload.

UTF-8 with a byte-order mark and CRLF, so that spreadsheet programs read Japanese; names of columns are stable
and carry their unit; a text that a spreadsheet would run as a formula is led by an apostrophe; numbers stay
numbers, negative ones too. Codes stand as codes, so that the file is the same in every language. The columns are
described in ``docs/exports.md``.
"""

from __future__ import annotations

import csv
import io
import re
from datetime import date
from decimal import Decimal

from planner.columns import Value
from reports.figures import plain
from reports.sheets import Sheet
from reports.table import heads, rows

BOM = "\ufeff"
# What makes Excel, LibreOffice or Google Sheets take a cell for a formula or a command, full-width forms too,
# also behind spaces and invisible characters; line ends begin a new row in careless readers.
_FORMULA = re.compile("^[\\s\u200b\u200e\u200f\u2060\ufeff\u202a-\u202e]*[=+\\-@|%＝＋－＠\t\r\n\x00]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    clean = _CONTROL.sub("", text)
    return f"'{clean}" if _FORMULA.match(clean) or clean[:1] in {"\t", "\r", "\n"} else clean


def cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, int | float):
        return plain(Decimal(str(value)))
    if isinstance(value, date):
        return value.isoformat()
    return guarded(value)


def render(sheet: Sheet) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([head.name for head in heads(sheet)])
    for row in rows(sheet, coded=True):
        writer.writerow([cell(value) for value in row])
    return (BOM + out.getvalue()).encode("utf-8", "replace")
