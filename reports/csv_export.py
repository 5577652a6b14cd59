"""The comparison as one tidy table: a row for every candidate and every rejected offer of every workload.

UTF-8 with a byte-order mark and CRLF, so that spreadsheet programs read Japanese; names of columns are stable
and carry their unit; a text that a spreadsheet would run as a formula is led by an apostrophe; numbers stay
numbers, negative ones too. Codes stand as codes, so that the file is the same in every language. The columns are
described in ``docs/exports.md``.
"""

from __future__ import annotations

import csv
import io

from planner.csv_cells import BOM, cell
from reports.sheets import Sheet
from reports.table import heads, rows


def render(sheet: Sheet) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([head.name for head in heads(sheet)])
    for row in rows(sheet, coded=True):
        writer.writerow(["" if value is None else cell(value) for value in row])  # most cells are empty
    return (BOM + out.getvalue()).encode("utf-8", "replace")
