"""Reads the JSON body of an API request, and refuses what is not one plain, bounded document."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn, cast

from django.http import HttpRequest
from ninja.parser import Parser

BODY_MAX_BYTES = 1024 * 1024
DEPTH_MAX = 64
KEYS_MAX = 20_000
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class BodyRefused(ValueError):
    """Why a body is not read: HTTP status, a sentence for the developer, and the key if one is to blame."""

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.field = field


def read_json(
    body: bytes, content_type: str, *, bytes_max: int = BODY_MAX_BYTES, entries_max: int = KEYS_MAX
) -> Any:
    """The document in `body`; raises `BodyRefused`.

    Refused: another content type (415), more than 1 MiB (413), other encodings than UTF-8, duplicate keys,
    NaN and Infinity, control characters and lone surrogates, more than 64 levels or 20,000 keys (400).
    """
    kind, _, parameters = content_type.partition(";")
    if kind.strip().lower() != "application/json":
        raise BodyRefused(415, "The body must be application/json.")
    charset = re.search(r"charset=\"?([^\";\s]+)", parameters, re.IGNORECASE)
    if charset and charset[1].lower() not in {"utf-8", "utf8"}:
        raise BodyRefused(415, "The body must be UTF-8.")
    if len(body) > bytes_max:
        raise BodyRefused(413, f"The body is larger than {bytes_max // 2**20} MiB.")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BodyRefused(400, "The body is not UTF-8.") from None
    if text.startswith("\ufeff"):
        raise BodyRefused(400, "The body begins with a byte-order mark; send plain UTF-8.")
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except BodyRefused:
        raise
    except RecursionError:
        raise BodyRefused(400, "The body is nested too deeply.") from None
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "a number is too long"
        raise BodyRefused(400, f"The body is not JSON: {reason}.") from None
    _check(document, entries_max)
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise BodyRefused(400, "A key stands twice in one object.", key[:100])
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise BodyRefused(400, f"{name} is not a JSON number.")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise BodyRefused(400, "A number is too large.")
    return value


def _check(document: Any, entries_max: int) -> None:
    keys = 0
    level = [("", document)]
    for _ in range(DEPTH_MAX):
        below: list[tuple[str, Any]] = []
        for name, value in level:
            if isinstance(value, str):
                if _CONTROL.search(value):
                    raise BodyRefused(400, "A text holds control characters or broken Unicode.", name or None)
            elif isinstance(value, dict):
                keys += len(value)
                for key, inner in value.items():
                    if _CONTROL.search(key):
                        raise BodyRefused(400, "A key holds control characters or broken Unicode.")
                    below.append((key[:100], inner))
            elif isinstance(value, list):
                keys += len(value)
                below.extend((name, inner) for inner in value)
        if keys > entries_max:
            raise BodyRefused(400, "The body has too many entries.")
        if not below:
            return
        level = below
    raise BodyRefused(400, "The body is nested too deeply.")


class StrictParser(Parser):
    """Lets django-ninja read bodies through `read_json`."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        return cast("dict[str, Any]", read_json(request.body, request.headers.get("Content-Type", "")))
