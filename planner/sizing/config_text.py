"""From the text of a ``config.json`` to an object that is safe to walk. The text may be anything."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from planner.sizing.architecture import ModelError

TEXT_BYTES_MAXIMUM = 64 * 1024
"""Of a text that somebody pastes."""
FILE_BYTES_MAXIMUM = 4 * 1024 * 1024
"""Of a file: quantised checkpoints list every module in their config."""
DEPTH_MAXIMUM = 32
KEYS_MAXIMUM = 5_000
FILE_KEYS_MAXIMUM = 200_000
NOT_FINITE_ALLOWED = "time_step_limit"
"""Published configs of Mamba-2 models hold Infinity here: no limit, read as null."""


class ConfigError(ModelError):
    """What is wrong with a config: ``code`` and ``params`` (``key``, ``low``, ``high`` where a range was
    left)."""

    faults: tuple[ConfigError, ...] = ()
    """All that is wrong, this first, where it is more than one thing."""

    def __init__(self, code: str, message: str, **params: object) -> None:
        self.code = code
        super().__init__(message, **params)


class UnsupportedArchitecture(ConfigError):
    """The config was read, but this kind of model cannot be sized; ``params`` name it."""

    def __init__(self, name: str, kind: str | None = None) -> None:
        said = f"attention kind not sized yet: {kind}" if kind else "architecture not known"
        super().__init__("unsupported_architecture", f"{name}: {said}", name=name, kind=kind)


def parse(document: str | bytes, bytes_maximum: int = TEXT_BYTES_MAXIMUM) -> dict[str, Any]:
    """The JSON object in this text. Raises ``ConfigError`` where it is too large, too deep or no JSON
    object."""
    if len(document) > bytes_maximum:
        raise ConfigError("config_too_large", f"config.json is larger than {bytes_maximum} bytes",
                          bytes_maximum=bytes_maximum)  # fmt: skip
    if isinstance(document, bytes):
        try:
            document = document.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ConfigError("config_encoding", "config.json must be UTF-8") from None
    document = document.removeprefix("\ufeff")
    if _depth(document) > DEPTH_MAXIMUM:
        raise ConfigError("config_too_deep", f"config.json is nested deeper than {DEPTH_MAXIMUM} levels",
                          depth_maximum=DEPTH_MAXIMUM)  # fmt: skip
    try:
        found = json.loads(document, parse_constant=_Constant, object_pairs_hook=_without_doubles)
    except ConfigError:
        raise
    except (ValueError, RecursionError):
        raise ConfigError("config_not_json", "config.json is not valid JSON") from None
    if not isinstance(found, dict):
        raise ConfigError("config_not_object", "config.json must be a JSON object")
    _refuse_constants(found)
    return found


def _depth(text: str) -> int:
    """How deep brackets nest, strings left out; counted before anything recursive sees the text."""
    deepest = depth = 0
    for mark in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text):
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "]}":
            depth -= 1
    return deepest


class _Constant(str):
    """``NaN``, ``Infinity`` or ``-Infinity``, which JSON does not have."""

    __slots__ = ()


def _refuse_constants(document: object) -> None:
    stack = [document]
    while stack:
        value = stack.pop()
        if isinstance(value, _Constant):
            raise ConfigError(
                "config_not_finite", f"config.json holds {value}, which is no number", value=str(value)
            )
        if isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            repeated = printable(key)
            raise ConfigError(
                "config_duplicate_key", f"config.json has the key {repeated} twice", key=repeated
            )
        if key == NOT_FINITE_ALLOWED and isinstance(value, list):
            value = [None if isinstance(item, _Constant) else item for item in value]
        found[key] = value
    return found


def printable(text: str) -> str:
    """A piece of the input that is safe to repeat in a message."""
    return re.sub(r"[^\w.\-/ ]", "?", text[:60], flags=re.ASCII)


def check_shape(config: object, keys_maximum: int = KEYS_MAXIMUM) -> None:
    """Bound what may be walked: depth, number of keys, finite numbers. Raises ``ConfigError``."""
    if not isinstance(config, dict):
        raise ConfigError("config_not_object", "config.json must be a JSON object")
    stack: list[tuple[object, int]] = [(config, 1)]
    seen = 0
    while stack:
        value, depth = stack.pop()
        if depth > DEPTH_MAXIMUM:
            raise ConfigError("config_too_deep", f"config.json is nested deeper than {DEPTH_MAXIMUM} levels",
                              depth_maximum=DEPTH_MAXIMUM)  # fmt: skip
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(
                "config_not_finite", "config.json holds a number that is not finite", value=str(value)
            )
        children: list[object] = []
        if isinstance(value, dict):
            children = list(value.values())
        elif isinstance(value, list | tuple):
            children = list(value)
        seen += len(children)
        if seen > keys_maximum:
            raise ConfigError("config_too_large", f"config.json has more than {keys_maximum} values",
                              keys_maximum=keys_maximum)  # fmt: skip
        stack.extend((child, depth + 1) for child in children)
