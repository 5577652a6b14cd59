"""Cells of CSV files: numbers stay numbers, and no text is taken for a formula by a spreadsheet program."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal

Value = str | int | float | Decimal | date | bool | None

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
        return f"{value:f}"
    if isinstance(value, int | float):
        return f"{Decimal(str(value)):f}"
    if isinstance(value, date):
        return value.isoformat()
    return guarded(value)


def table(heads: Iterable[str], rows: Iterable[Iterable[Value]]) -> bytes:
    """UTF-8 with a byte-order mark and CRLF, so that spreadsheet programs read Japanese."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([guarded(head) for head in heads])
    for row in rows:
        writer.writerow([cell(value) for value in row])
    return (BOM + out.getvalue()).encode("utf-8", "replace")
