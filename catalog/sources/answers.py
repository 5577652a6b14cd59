"""What several sources share: JSON without surprises, prices that may be none, cards by the names they write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import httpx2

from catalog.facts import accelerators
from catalog.identify import identify
from catalog.sources.fetching import PLAIN, Deadline, Limits, Question, read
from catalog.sources.quotes import Page, Refused, SourceFailure

PRICE_MAXIMUM = Decimal(1_000_000)
"""No machine costs this an hour; more is a broken row."""
CURSOR_LENGTH_MAXIMUM = 500
GPU_COUNT_MAXIMUM = 1024
MIB_OF_GIB = Decimal(1024)


def document(body: bytes) -> dict[str, Any]:
    """A JSON object; numbers stay exact, and NaN is no number."""
    try:
        found = json.loads(body, parse_float=Decimal, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise SourceFailure("unreadable", "not JSON") from None
    if not isinstance(found, dict):
        raise SourceFailure("schema_changed", "no object")
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def rows(found: Any, *path: str) -> list[dict[str, Any]]:
    """The list of objects at a path; anything else there means that the shape has changed."""
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise SourceFailure("schema_changed", f"no {'.'.join(path)}")
    return found


def texts(found: Any, what: str) -> list[str]:
    """A list of names; anything else there means that the shape has changed."""
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise SourceFailure("schema_changed", f"no list of {what}")
    return found


def needed(row: dict[str, Any], *names: str) -> None:
    missing = [name for name in names if name not in row]
    if missing:
        raise SourceFailure("schema_changed", ", ".join(missing)[:100])


def amount(value: Any, *, text: bool = False, hours: int = 1) -> Decimal | Refused:
    """A price as a number (or as a text of digits, where the source writes so); zero is not a price.

    ``hours`` is how many of a machine's hours it pays for.
    """
    if text and isinstance(value, str):
        try:
            value = Decimal(value) if value.isascii() else None
        except ArithmeticError:
            value = None
    if isinstance(value, bool) or not isinstance(value, Decimal | int):
        return Refused(reason="bad_price", broken=True)
    found = Decimal(value)
    if not found.is_finite() or found < 0 or found > PRICE_MAXIMUM * hours:
        return Refused(reason="bad_price", broken=True)
    return found if found else Refused(reason="zero_price")


def figure(value: Any) -> Decimal | None:
    """A figure of the machine; what is none or makes no sense is unknown."""
    if isinstance(value, bool) or not isinstance(value, Decimal | int):
        return None
    found = Decimal(value)
    return found if found.is_finite() and 0 < found < 10**7 else None


def volume(value: Any) -> Decimal | None:
    """Where a step of a volume begins; nothing said is zero."""
    return Decimal(0) if value in (None, 0, "", "0") else figure(value)


def whole(value: Any) -> int | None:
    found = figure(value)
    return int(found) if found is not None and found == int(found) else None


def gib(mebibytes: Any) -> Decimal | None:
    found = figure(mebibytes)
    return None if found is None else (found / MIB_OF_GIB).quantize(Decimal("0.01"))


def card(written: str, provider: str, memory_gib: Decimal | None = None) -> dict[str, Any]:
    """The accelerator that is meant, as fields of a quote; where it is not certain, why it is not compared."""
    answer = identify(written, provider, None if memory_gib is None else float(memory_gib))
    found: dict[str, Any] = {
        "accelerator": answer.canonical, "as_written": written[:120], "gpu_memory_gib": memory_gib,
    }  # fmt: skip
    if answer.canonical is None or answer.canonical not in accelerators():
        ambiguous = answer.status == "ambiguous"
        return found | {
            "accelerator": None,
            "not_comparable": "ambiguous_accelerator" if ambiguous else "unknown_accelerator",
            "not_comparable_detail": "|".join(answer.candidates)[:160],
        }
    if answer.fraction < 1:
        return found | {"not_comparable": "slice_memory_unknown"}
    return found


def paged(
    client: httpx2.Client, url: str, limits: Limits, run: Deadline, first: int = 1, question: Question = PLAIN,
    *, cursor_at: tuple[str, ...], parameter: str,
) -> Iterator[Page]:  # fmt: skip
    """Walk pages that name the next by a cursor, to the end; a cursor that comes back is a circle."""
    seen: set[str] = set()
    cursor = ""
    for number in range(first, first + limits.pages):
        address = f"{url}&{parameter}={httpx2.QueryParams({'c': cursor})['c']}" if cursor else url
        body = read(client, str(httpx2.URL(address)), limits, run, question)
        found: Any = document(body)
        yield Page(number=number, url=url, body=body)
        for name in cursor_at:
            found = found.get(name) if isinstance(found, dict) else None
        if not found:
            return
        cursor = str(found)
        if not cursor.isprintable():
            raise SourceFailure("schema_changed", "a cursor that is no text")
        if cursor in seen or len(cursor) > CURSOR_LENGTH_MAXIMUM:
            raise SourceFailure("paging_loop", f"page {number}")
        seen.add(cursor)
    raise SourceFailure("too_many_pages", str(limits.pages))
