"""From the bytes of a file to numbered rows of cells, in bounded memory; what is no table is refused by name."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import BinaryIO

from django.utils.translation import gettext as _

LINE_BYTES_MAXIMUM = 20_000

OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
WORKBOOK = b"PK\x03\x04"


class FileFault(Exception):
    """The file as a whole cannot be read; ``line`` says where it ended, 0 where that is nowhere in particular."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(_("line %(line)s: %(what)s") % {"line": line, "what": what} if line else what)
        self.line = line
        self.what = what


def is_workbook(name: str, head: bytes) -> bool:
    """Whether it is to be read as a workbook, by its content; a name that promises another thing is refused."""
    if head.startswith(OLD_WORKBOOK):
        raise FileFault(0, _("an old Excel workbook; save it as .xlsx or as CSV"))
    if head.startswith(WORKBOOK):
        return True
    if name.casefold().endswith((".xlsx", ".xls")):
        raise FileFault(
            0, _("the name says workbook, the content does not; save it again as .xlsx or as CSV")
        )
    return False


def csv_rows(file: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    """Each row of a CSV in UTF-8 with the line that it ends on."""
    reader = csv.reader(_lines(file), strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FileFault(
                reader.line_num, _("cannot be read as CSV (%(error)s)") % {"error": error}
            ) from None
        yield reader.line_num, cells


def _lines(file: BinaryIO) -> Iterator[str]:
    number = 0
    while raw := file.readline(LINE_BYTES_MAXIMUM + 1):
        number += 1
        if len(raw) > LINE_BYTES_MAXIMUM:
            longest = f"{LINE_BYTES_MAXIMUM:,}"
            raise FileFault(
                number, _("longer than %(longest)s bytes; is this a CSV file?") % {"longest": longest}
            )
        if b"\0" in raw or raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise FileFault(number, _("holds a zero byte; is this a CSV file in UTF-8?"))
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise FileFault(number, _not_utf8(raw)) from None


def _not_utf8(raw: bytes) -> str:
    """The fault, with the encoding that it looks like where that is plain."""
    try:
        text = raw.decode("cp932")
    except UnicodeDecodeError:
        text = ""
    if re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", text):
        return _("not UTF-8 (it looks like Shift_JIS); save the file as UTF-8")
    return _("not UTF-8; save the file as UTF-8")
