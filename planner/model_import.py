"""A model from outside: a ``config.json``, a checkpoint's header, or numbers typed by hand, as one configuration.

Whatever the way in, what leaves is a configuration that was fully read, so that a link's digest stands for it.
Keys that begin with ``_`` say how it came here; they shape no tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mitsumori.uploads import Upload
from planner import architectures, config_files
from planner.architectures import CAME_FROM
from planner.sizing import checkpoint_headers, config_reader
from planner.sizing.architecture import ModelError
from planner.sizing.checkpoint_headers import CheckpointHeader
from planner.sizing.config_reader import Reading
from planner.sizing.config_text import ConfigError, UnsupportedArchitecture, check_shape, printable
from planner.sizing.formats import FORMATS

FILE_FIELD = "model_file"
FILE_BYTES_MAXIMUM = 16 * 1024 * 1024
"""Of a checkpoint only its beginning is needed: the largest vocabularies take about 10 MB of a GGUF header."""
FILE_FORMAT = "_file_format"
"""The type most bytes of a GGUF file are in, as the file calls it."""

STORED_TYPES: dict[str, str] = {
    **{form.file_type: name for name, form in FORMATS.items() if form.file_type},
    "F32": "fp32", "F16": "fp16", "BF16": "bf16", "MXFP4": "mxfp4", "F8_E4M3": "fp8",
}  # fmt: skip
"""Types in checkpoint files and the weights format each stands for."""
WEIGHTLESS = ("F32",)
"""Norms are kept in it beside a quantised model; it decides nothing unless all is in it."""


class Refused(ModelError):
    """What was given is no model that can be sized: why, and as much of it as was understood."""

    def __init__(
        self, cause: ModelError, config: Mapping[str, Any] | None = None, reading: Reading | None = None
    ) -> None:
        self.code = cause.code
        self.config = config
        self.reading = reading
        self.faults = getattr(cause, "faults", ())
        super().__init__(str(cause), **cause.params)


@dataclass(frozen=True)
class Imported:
    """A configuration that can be sized, and the fields of the workbench that follow from the file."""

    config: dict[str, Any]
    changes: dict[str, str | None] = field(default_factory=dict)


OTHER_FILES: dict[str, str] = {
    "weight_map": "config_is_index", "peft_type": "config_is_adapter", "_diffusers_version": "config_is_diffusion",
    "tokenizer_class": "config_is_tokenizer",
}  # fmt: skip
"""Keys of the other JSON files that lie beside a ``config.json`` and are taken for it."""


def _refuse_other_files(config: Mapping[str, Any]) -> None:
    if "model_type" in config or "architectures" in config:
        return
    for key, code in OTHER_FILES.items():
        if key in config:
            base = config.get("base_model_name_or_path")
            name = printable(base) if isinstance(base, str) else ""
            raise ConfigError(code, "another file than the model's config.json", name=name)


def from_config(config: dict[str, Any]) -> Imported:
    """Read a configuration whole. Raises ``Refused`` for what cannot be sized."""
    try:
        check_shape(config)
        _refuse_other_files(config)
        reading = config_reader.understand(
            config, name=architectures.pasted_name(config), source=architectures.pasted_source(config)
        )
    except ModelError as cause:
        raise Refused(cause, config) from cause
    kind = reading.architecture.not_sized
    if kind is not None:
        raise Refused(UnsupportedArchitecture(reading.architecture.family, kind), config, reading)
    return Imported(config)


def from_text(text: str) -> Imported:
    """The text of a ``config.json``. Raises ``ModelError``."""
    return from_config(config_reader.parse(text))


def from_file(upload: Upload) -> Imported:
    """A chosen file: a ``config.json``, or the beginning of a GGUF or safetensors file. Raises ``ModelError``."""
    if not upload.data.strip():
        raise ConfigError("config_empty", "the file is empty")
    if not _is_checkpoint(upload.data):
        if upload.is_cut:
            raise ConfigError("config_too_large", "neither a checkpoint nor a config.json of 64 kB at most")
        return from_text(config_files.text_of(upload.data))
    header = checkpoint_headers.read_header(upload.data)
    if header.config is None:
        raise HeaderOnly(header)
    return from_gguf(header)


def _is_checkpoint(data: bytes) -> bool:
    return data.startswith(b"GGUF") or config_files.is_safetensors(data)


class HeaderOnly(ModelError):
    """A checkpoint's header that counts its tensors but does not say how they make a model."""

    def __init__(self, header: CheckpointHeader) -> None:
        self.code = "header_no_shapes" if header.kind == "safetensors" else "header_unknown_architecture"
        self.header = header
        super().__init__("the header does not describe the model", name=header.architecture or header.kind)


def from_gguf(header: CheckpointHeader) -> Imported:
    """The configuration that a GGUF header holds, with its name, and the format its weights are in."""
    stored = stored_type(header)
    config = {**(header.config or {}), CAME_FROM: "gguf", FILE_FORMAT: stored}
    name = (header.name or "").strip().replace(" ", "-")
    if name and architectures.PLAIN_NAME.fullmatch(name):
        config["_name_or_path"] = name
    changes: dict[str, str | None] = {}
    weights = STORED_TYPES.get(stored)
    if weights is not None:
        changes["weights"] = weights
    if weights is not None and weights.startswith("gguf"):
        changes |= {"runtime": "llama_cpp", "version": None}
    return Imported(from_config(config).config, changes)


def stored_type(header: CheckpointHeader) -> str:
    """The type that holds most bytes of a file, norms left out where anything else is there."""
    heavy = [row for row in header.formats if row.format not in WEIGHTLESS] or list(header.formats)
    return max(heavy, key=lambda row: row.bytes).format
