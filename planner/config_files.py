"""A ``config.json`` as somebody pastes or sends it: from its bytes to a digest that a link carries."""

from __future__ import annotations

import codecs
from datetime import datetime
from typing import Any

from planner.models import PastedConfig
from planner.sizing.config_text import TEXT_BYTES_MAXIMUM, ConfigError

FIELD = "config_file"
BYTES_MAXIMUM = TEXT_BYTES_MAXIMUM

ARCHIVES = (
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!",
)
"""First bytes of zip, gzip, bzip2, xz, zstd, 7z and rar."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
"""Byte order marks, the longer before those they begin with; some editors and shells write UTF-16."""


def is_safetensors(data: bytes) -> bool:
    """Whether a file begins as safetensors do: the length of a header in eight bytes, and its JSON object."""
    return data[4:8] == bytes(4) and data[8:9] == b"{"


def text_of(data: bytes) -> str:
    """The text of a file. Raises ``ConfigError`` where it is none, or of no encoding that says what it is."""
    if data.startswith(ARCHIVES):
        raise ConfigError("config_archive", "the file is an archive or compressed")
    if data.startswith(b"GGUF") or is_safetensors(data):
        raise ConfigError("config_is_checkpoint", "the file is a checkpoint, not its config.json")
    encoding = next((name for mark, name in MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise ConfigError("config_encoding", "config.json must be UTF-8") from None
    if "\x00" in text:
        raise ConfigError("config_encoding", "config.json must be UTF-8")
    return text


def keep(config: dict[str, Any], at: datetime) -> PastedConfig:
    """Store a configuration that was fully read. Raises ``ConfigError`` where it is too large for that."""
    try:
        return PastedConfig.keep(config, at)
    except ValueError:
        raise ConfigError(
            "config_too_large",
            f"config.json is larger than {BYTES_MAXIMUM} bytes",
            bytes_maximum=BYTES_MAXIMUM,
        ) from None
