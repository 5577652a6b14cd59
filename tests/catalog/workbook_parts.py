"""Workbooks made part by part, so that tests can make hostile ones."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from io import BytesIO
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORKBOOK = (
    f'<?xml version="1.0"?><workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}">'
    '<sheets><sheet name="Prices" sheetId="1" r:id="rId1"/></sheets></workbook>'
)
LINKS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="t" Target="worksheets/sheet1.xml"/></Relationships>'
)


def sheet(rows: Sequence[Sequence[str | float]], head: str = "") -> str:
    lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    return f'<?xml version="1.0"?>{head}<worksheet xmlns="{MAIN}"><sheetData>{lines}</sheetData></worksheet>'


def cell(value: str | float) -> str:
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value}</v></c>"


def book(content: str | bytes, **more: str) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/workbook.xml", WORKBOOK)
        parts.writestr("xl/_rels/workbook.xml.rels", LINKS)
        parts.writestr("xl/worksheets/sheet1.xml", content)
        for name, text in more.items():
            parts.writestr(name, text)
    return file.getvalue()
