"""A sheet as a file: which formats there are, what the file is called, and how many are made at once."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.parse import quote

from django.utils import translation

from reports import csv_export, currencies, json_export, pdf_export, said, sheets, xlsx_export
from reports.kept import Kept, identity
from reports.models import PlanVersion
from reports.sheets import Sheet
from reports.typesetting import TooSlowError

CONTENT_TYPES = {
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
}
FORMATS = tuple(CONTENT_TYPES)
_RENDERERS: dict[str, Callable[[Sheet], bytes]] = {
    "csv": csv_export.render,
    "xlsx": xlsx_export.render,
    "json": json_export.render,
}
FILENAME_LENGTH = 80
PAPERS = pdf_export.PAPERS

RENDERS_AT_ONCE = 2
RENDER_WAIT_S = 20.0


@dataclass(frozen=True)
class Export:
    content: bytes
    content_type: str
    filename: str

    @property
    def disposition(self) -> str:
        """An attachment with one safe ASCII name, and the real one for clients that can read it (RFC 6266)."""
        ascii_name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.filename).strip("-.") or "plan"
        return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(self.filename, safe='')}"


FILES_KEPT = 12
_kept: Kept[Export] = Kept(FILES_KEPT)
_places = threading.BoundedSemaphore(RENDERS_AT_ONCE)


class BusyError(RuntimeError):
    """Too many files are being made in this process."""


def of_version(
    version: PlanVersion,
    fmt: str,
    language: str,
    *,
    is_shared: bool = False,
    paper: str = PAPERS[0],
    currency: str = "",
    notes: str = "",
    with_rejected: bool = True,
) -> Export:
    """The file of a saved version; the last few are kept, as they can never change. Raises `BusyError`.

    ``notes`` is one of ``said.CHOICES``, for members of the team; a link's file never holds what the team said.
    """
    told = None if is_shared or fmt == "csv" else said.of_version(version, notes)
    own_paper = paper if fmt == "pdf" else ""
    key = (*identity(version), fmt, language, is_shared, own_paper, currency, told, with_rejected)

    def sheet() -> Sheet:
        shown = sheets.of_version(version, is_shared=is_shared)
        shown = replace(shown, said=told, with_rejected=with_rejected)
        if not currency or fmt == "json":  # the document is what was stored
            return shown
        return currencies.shown_in(shown, currency, currencies.rates(shown.priced_at.date()))

    found = _kept.find(key)
    if found is not None:
        return found
    with translation.override(language), _place():
        # Who waited for a place may find that somebody made the same file meanwhile.
        return _kept.get(key, lambda: _made(sheet(), fmt, paper))


def make(sheet: Sheet, fmt: str, language: str, *, paper: str = PAPERS[0]) -> Export:
    """The file, in one of the product's languages; the same sheet gives the same bytes. Raises `BusyError`."""
    with translation.override(language), _place():
        return _made(sheet, fmt, paper)


def _made(sheet: Sheet, fmt: str, paper: str) -> Export:
    try:
        content = pdf_export.render(sheet, paper) if fmt == "pdf" else _RENDERERS[fmt](sheet)
    except TooSlowError:
        raise BusyError from None
    return Export(content, CONTENT_TYPES[fmt], _filename(sheet, fmt))


@contextmanager
def _place() -> Iterator[None]:
    if not _places.acquire(timeout=RENDER_WAIT_S):
        raise BusyError
    try:
        yield
    finally:
        _places.release()


def _filename(sheet: Sheet, fmt: str) -> str:
    """``mitsumori-<address>-v<number>-<title>.<format>``, with letters and digits of the title only."""
    title = unicodedata.normalize("NFC", sheet.title)
    words = re.sub(r"[^\w]+", "-", title, flags=re.UNICODE).strip("-_")[:FILENAME_LENGTH].strip("-_")
    parts = ["mitsumori", sheet.slug, f"v{sheet.number}"] if sheet.slug else ["mitsumori", "draft"]
    return "-".join([*(part for part in parts if part), *([words] if words else [])]) + f".{fmt}"
