"""What sources, notes and origins of figures say, in the reader's language.

Facts, prices and constants carry where they were read, and remarks, as data in English: they are stored with plans
and handed out by the API as they are. Words for them are looked up here, in gettext's context ``source``, when a page
or paper is made. Whole texts are looked for first, then their parts between semicolons, then texts with a gap. Names,
titles and addresses are translated by themselves and stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from django.utils.translation import get_language, pgettext

CONTEXT = "source"
ENGLISH = "en"
"""The language of the data."""
BETWEEN = "; "
_BETWEEN = re.compile(r"; (?![^(]*\))")
"""Not within brackets."""
PATTERNS = (
    "{source}, {day}",
    "second-hand transcription of {source}",
    "api-evangelist of {source}",
    "{source} (second-hand)",
    "second-hand: {source}",
    "{day} (stored copy)",
    "{name} (memory not stated)",
    "{name} (variant not stated)",
    "{name} (SXM not stated)",
    "{source} (undated)",
    "{source} (effective {day})",
    "{source} (price before {day})",
    "{source} (prices read {day})",
    "{source} (reconciled {day})",
    "HF config preset {name} in {place}",
    "config.json in {place}",
    "config.json of {name} at {commit}",
    "{kind} header",
    "general knowledge, not read ({source})",
    "{keys}=general knowledge, not read",
    "{source}: {rows} row of {publishers} publisher",
    "{source}: {rows} row of {publishers} publishers",
    "{source}: {rows} rows of {publishers} publisher",
    "{source}: {rows} rows of {publishers} publishers",
    "{engine} release notes {version}",
    "assumed: 0.994 x what {name} reports, the ratio seen on H100-SXM5",
    "private offer {name}",
    "listed as {name}",
    "{name} (through {router})",
    "derived: constrained-vCPU size of {name}, same RAM",
    "billed by size step ({name})",
    "EFA, {count} interfaces",
    "config.json as pasted",
    "header of a GGUF file",
    "numbers typed by hand",
)
"""Texts that the code makes, most with gaps, as it makes them. What fills ``source`` is put into words itself."""
SAID_TOO = "source"
GAPS = {
    "day": r"\d{4}-\d\d-\d\d",
    "rows": r"[\d,]+",
    "publishers": r"[\d,]+",
    "version": r"[\d.]+",
    "count": r"\d+",
    "commit": r"\S+",
    "kind": r"\S+",
    "keys": r"[\w/, ]+?",
}
_GAP = re.compile(r"\{(\w+)\}")


def _compiled(pattern: str) -> re.Pattern[str]:
    pieces = _GAP.split(pattern)
    written = [
        re.escape(piece) if at % 2 == 0 else f"(?P<{piece}>{GAPS.get(piece, '.+')})"
        for at, piece in enumerate(pieces)
    ]
    return re.compile("".join(written))


_PATTERNS = tuple((pattern, _compiled(pattern)) for pattern in PATTERNS)


class Part(NamedTuple):
    """What stands between two semicolons. ``is_quoted``: as the data have it, in English, on a page that is not."""

    text: str
    is_quoted: bool


def said(text: str) -> str:
    """The text in the reader's language, as far as there are words for it."""
    return BETWEEN.join(part.text for part in parts(text))


def parts(text: str) -> tuple[Part, ...]:
    return _parts(get_language() or ENGLISH, text)


@lru_cache(maxsize=8192)
def _parts(language: str, text: str) -> tuple[Part, ...]:
    if language.startswith(ENGLISH):
        return (Part(text, False),) if text else ()
    pieces = [text] if _word(text) is not None else [part for part in _BETWEEN.split(text) if part]
    found = ((piece, _part(piece)) for piece in pieces)
    return tuple(Part(word, word == piece) for piece, word in found)


def _part(text: str) -> str:
    known = _word(text)
    if known is not None:
        return known
    for pattern, compiled in _PATTERNS:
        found = compiled.fullmatch(text)
        if found:
            filling = found.groupdict()
            if SAID_TOO in filling:
                filling[SAID_TOO] = _part(filling[SAID_TOO])
            return pgettext(CONTEXT, pattern).format(**filling)
    name, colon, rest = text.partition(": ")
    return f"{name}: {_part(rest)}" if colon else text


def _word(text: str) -> str | None:
    word = pgettext(CONTEXT, text)
    return None if word == text else word


def shortened(text: str, length: int) -> str:
    """As many whole parts as have room; what is longer at once is cut."""
    if len(text) <= length:
        return text
    return text[: length + len(BETWEEN)].rpartition(BETWEEN)[0] or text[:length]


def wanted(text: str, whole: bool = False) -> Iterator[str]:
    """The texts that need words for this one to be said; ``whole``: not part by part."""
    for part in [text] if whole else _BETWEEN.split(text):
        found = next((match for _pattern, each in _PATTERNS if (match := each.fullmatch(part))), None)
        if found is None:
            if " " in part or part.islower():
                yield part
        elif SAID_TOO in found.groupdict():
            yield from wanted(found[SAID_TOO], whole=True)
