"""Rows of a workbook's first sheet (XLSX), read piece by piece: a hostile one ends early and in little memory."""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any
from xml.parsers import expat

from django.utils.translation import gettext as _

from catalog.price_tables import FileFault

PARTS_MAXIMUM = 500
EXPANDED_BYTES_MAXIMUM = 40_000_000
"""Of one part after decompression; an honest sheet of 100,000 rows has about 30 MB."""
SMALL_PART_BYTES_MAXIMUM = 1_000_000
STRINGS_MAXIMUM = 500_000
COLUMNS_MAXIMUM = 60
TEXT_MAXIMUM = 2_000
PIECE_BYTES = 64 * 1024

DAY_ZERO = date(1899, 12, 30)
"""Spreadsheets count days from here (and believe that 1900 was a leap year, which matters before March 1900 only)."""
DAYS_PLAUSIBLE = range(36_526, 73_051)
"""2000-01-01 to 2099-12-31."""


@dataclass
class Sheet:
    """What the parser has gathered of a sheet; rows are taken out as they become complete."""

    strings: list[str]
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    number: int = 0
    cells: dict[int, str] = field(default_factory=dict)
    column: int = 0
    kind: str = ""
    text: str = ""
    formula: str | None = None
    inside: str = ""


def rows(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Each row of the first sheet with its number; raises ``FileFault`` where it is no workbook that one can read."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as book:
            if len(book.infolist()) > PARTS_MAXIMUM:
                raise FileFault(0, _("the workbook has too many parts"))
            names = set(book.namelist())
            sheet = Sheet(_strings(book) if "xl/sharedStrings.xml" in names else [])
            for _piece in _parsed(
                book, _first_sheet(book, names), _sheet_events(sheet), EXPANDED_BYTES_MAXIMUM
            ):
                yield from sheet.rows
                sheet.rows.clear()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError, OSError):
        raise FileFault(
            0, _("the workbook is damaged or not one; save it again as .xlsx or as CSV")
        ) from None


def day_of(text: str) -> str:
    """A day that a spreadsheet keeps as a number, in the form that files use; anything else as it is."""
    if re.fullmatch(r"\d{5}", text, re.ASCII) and int(text) in DAYS_PLAUSIBLE:
        return (DAY_ZERO + timedelta(days=int(text))).isoformat()
    return text


# --- Parts of the package ----------------------------------------------------------------------------------


def _first_sheet(book: zipfile.ZipFile, names: set[str]) -> str:
    """The part that holds the sheet which the workbook lists first."""
    ids: list[str] = []
    targets: dict[str, str] = {}

    def sheet(name: str, attributes: dict[str, str]) -> None:
        if _local(name) == "sheet":
            ids.extend(value for key, value in attributes.items() if _local(key) == "id")

    def relation(name: str, attributes: dict[str, str]) -> None:
        if _local(name) == "Relationship":
            targets[attributes.get("Id", "")] = attributes.get("Target", "")

    for part, start in (("xl/workbook.xml", sheet), ("xl/_rels/workbook.xml.rels", relation)):
        for _piece in _parsed(book, part, {"start": start}, SMALL_PART_BYTES_MAXIMUM):
            pass
    target = targets.get(ids[0] if ids else "", "")
    part = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"xl/{target}")
    if part not in names:
        raise FileFault(0, _("the workbook has no sheet"))
    return part


def _strings(book: zipfile.ZipFile) -> list[str]:
    """Texts that cells refer to by number."""
    found: list[str] = []
    current: list[str] = []
    inside = [""]

    def start(name: str, _attributes: dict[str, str]) -> None:
        inside[0] = _local(name)
        if inside[0] == "si":
            current.clear()

    def end(name: str) -> None:
        inside[0] = ""
        if _local(name) == "si":
            if len(found) >= STRINGS_MAXIMUM:
                raise FileFault(0, _("the workbook holds too many texts"))
            found.append("".join(current)[:TEXT_MAXIMUM])

    def text(piece: str) -> None:
        if inside[0] == "t" and sum(map(len, current)) < TEXT_MAXIMUM:
            current.append(piece)

    events: dict[str, Callable[..., None]] = {"start": start, "end": end, "text": text}
    for _piece in _parsed(book, "xl/sharedStrings.xml", events, EXPANDED_BYTES_MAXIMUM):
        pass
    return found


def _parsed(
    book: zipfile.ZipFile, part: str, events: dict[str, Callable[..., None]], limit_bytes: int
) -> Iterator[None]:
    """Parse a part piece by piece; declarations of document types, which can grow or lead elsewhere, end it."""
    parser = expat.ParserCreate()
    parser.StartElementHandler = events.get("start")
    parser.EndElementHandler = events.get("end")
    parser.CharacterDataHandler = events.get("text")

    def refuse(*_declaration: Any) -> None:
        raise FileFault(0, _("the workbook declares document types, which no spreadsheet needs"))

    parser.StartDoctypeDeclHandler = refuse
    seen_bytes = 0
    try:
        with book.open(part) as stream:
            while piece := stream.read(PIECE_BYTES):
                seen_bytes += len(piece)
                if seen_bytes > limit_bytes:
                    raise FileFault(0, _("the workbook becomes too large when it is unpacked"))
                parser.Parse(piece, False)
                yield
        parser.Parse(b"", True)
        yield
    except expat.ExpatError:
        raise FileFault(
            0, _("the workbook is damaged or not one; save it again as .xlsx or as CSV")
        ) from None


def _local(name: str) -> str:
    return name.rpartition(":")[2]


# --- Cells -------------------------------------------------------------------------------------------------


def _sheet_events(sheet: Sheet) -> dict[str, Callable[..., None]]:
    def start(name: str, attributes: dict[str, str]) -> None:
        tag = _local(name)
        sheet.inside = tag
        if tag == "row":
            number = attributes.get("r", "")
            sheet.number = int(number) if re.fullmatch(r"\d{1,7}", number, re.ASCII) else sheet.number + 1
            sheet.cells, sheet.column = {}, 0
        elif tag == "c":
            sheet.column = _column(attributes.get("r", "")) or sheet.column + 1
            if sheet.column > COLUMNS_MAXIMUM:
                raise FileFault(sheet.number, _("more columns than a price file can have"))
            sheet.kind, sheet.text, sheet.formula = attributes.get("t", ""), "", None
        elif tag == "f":
            sheet.formula = ""

    def text(piece: str) -> None:
        if sheet.inside in ("v", "t"):
            sheet.text += piece[: TEXT_MAXIMUM - len(sheet.text)]
        elif sheet.inside == "f" and sheet.formula is not None:
            sheet.formula += piece[: 40 - len(sheet.formula)]

    def end(name: str) -> None:
        tag = _local(name)
        sheet.inside = ""
        if tag == "c":
            sheet.cells[sheet.column] = _value(sheet)
        elif tag == "row":
            width = max(sheet.cells, default=0)
            sheet.rows.append((sheet.number, [sheet.cells.get(place, "") for place in range(1, width + 1)]))

    return {"start": start, "end": end, "text": text}


def _column(reference: str) -> int:
    """1 for A5, 27 for AA1; 0 where the cell does not say."""
    letters = re.match(r"[A-Z]{1,3}", reference)
    place = 0
    for letter in letters[0] if letters else "":
        place = place * 26 + ord(letter) - ord("A") + 1
    return place


def _value(sheet: Sheet) -> str:
    if sheet.formula is not None:
        return f"={sheet.formula}"
    if sheet.kind == "s":
        place = int(sheet.text) if re.fullmatch(r"\d{1,7}", sheet.text, re.ASCII) else -1
        return sheet.strings[place] if 0 <= place < len(sheet.strings) else ""
    if sheet.kind in ("", "n"):
        return _plain(sheet.text)
    return sheet.text


def _plain(text: str) -> str:
    """A number without exponent and without the dust of binary fractions; what is none stays as it is."""
    try:
        number = Decimal(f"{float(text):.15g}")
    except (ValueError, ArithmeticError):
        return text
    return f"{number:f}" if number.is_finite() and abs(number) < 10**15 else text
