"""What the header of a checkpoint file says: its tensors, their formats and parameters. The bytes may be anything.

Reads GGUF (version 2 and 3) and safetensors. Every length is checked against what is there before it is used,
and against a limit, so that no header makes this code read, loop or keep more than a bounded amount.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from math import prod
from typing import Any

from planner.sizing.architecture import ModelError
from planner.sizing.checkpoint_shapes import shapes_of
from planner.sizing.config_text import printable
from planner.sizing.quantities import Frozen

HEADER_BYTES_MAXIMUM = 32 * 1024 * 1024
JSON_BYTES_MAXIMUM = 16 * 1024 * 1024
TENSORS_MAXIMUM = 200_000
VALUES_MAXIMUM = 10_000
ELEMENTS_MAXIMUM = 3_000_000
"""Elements of all arrays of a GGUF header together: vocabularies have some hundred thousand."""
NAME_BYTES_MAXIMUM = 65_535
DIMENSIONS_MAXIMUM = 8
PARAMETERS_MAXIMUM = 10**14

GGUF_TYPES: dict[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36), 10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8),
    28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
}  # fmt: skip
"""GGUF tensor types: name, weights in a block, bytes of a block (ggml's type table)."""

SAFETENSORS_BITS: dict[str, int] = {
    "F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16,
    "U16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I8": 8, "U8": 8, "BOOL": 8, "F4": 4, "F6_E2M3": 6,
    "F6_E3M2": 6, "C64": 64,
}  # fmt: skip
"""Bits an element of safetensors' types."""


class HeaderError(ModelError):
    """A header that cannot be read: ``code`` says why."""

    def __init__(self, code: str, message: str, **params: object) -> None:
        self.code = code
        super().__init__(message, **params)


class FormatCount(Frozen):
    """All tensors of one format in a file."""

    format: str
    tensors: int
    elements: int
    bytes: int


class CheckpointHeader(Frozen):
    """What a header says. ``elements`` are numbers stored: of packed formats fewer than parameters."""

    kind: str
    architecture: str | None
    name: str | None
    elements: int
    bytes: int
    formats: tuple[FormatCount, ...]
    config: dict[str, Any] | None
    """The same shapes as a ``config.json`` would give them, where the file holds them."""
    shapes: dict[str, int] = {}
    """What the tensors alone show of a safetensors file (see ``checkpoint_shapes``): not enough for a model."""


def read_header(data: bytes) -> CheckpointHeader:
    """The header at the start of a checkpoint file. Raises ``HeaderError`` for anything else."""
    if data[:4] == b"GGUF":
        return _gguf(data[:HEADER_BYTES_MAXIMUM])
    return _safetensors(data)


class _Formats:
    def __init__(self) -> None:
        self.counts: dict[str, list[int]] = {}
        self.elements = 0

    def add(self, form: str, elements: int, size: int) -> None:
        self.elements += elements
        if self.elements > PARAMETERS_MAXIMUM:
            raise HeaderError("header_out_of_range", f"more than {PARAMETERS_MAXIMUM} parameters")
        count = self.counts.setdefault(form, [0, 0, 0])
        for index, more in enumerate((1, elements, size)):
            count[index] += more

    def found(self) -> tuple[FormatCount, ...]:
        rows = [
            FormatCount(format=form, tensors=n, elements=e, bytes=b)
            for form, (n, e, b) in self.counts.items()
        ]
        return tuple(sorted(rows, key=lambda row: -row.bytes))


def _elements(shape: list[Any] | tuple[int, ...]) -> int:
    if len(shape) > DIMENSIONS_MAXIMUM:
        raise HeaderError("header_out_of_range", f"a tensor of more than {DIMENSIONS_MAXIMUM} dimensions")
    for size in shape:
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= PARAMETERS_MAXIMUM:
            raise HeaderError("header_out_of_range", "a tensor's shape is not of whole numbers in range")
    found = prod(shape)
    if found > PARAMETERS_MAXIMUM:
        raise HeaderError("header_out_of_range", f"a tensor of more than {PARAMETERS_MAXIMUM} parameters")
    return found


def _safetensors(data: bytes) -> CheckpointHeader:
    """Eight bytes of length, then a JSON object: name → dtype, shape, offsets."""
    if len(data) < 8:
        raise HeaderError("header_truncated", "no checkpoint: shorter than a header's length")
    (length,) = struct.unpack_from("<Q", data)
    if length > JSON_BYTES_MAXIMUM or length < 2:
        raise HeaderError("header_unknown", "neither GGUF nor safetensors: no sensible length of a header")
    text = data[8 : 8 + length]
    if len(text) < length:
        raise HeaderError("header_truncated", f"the header has {length} bytes, {len(text)} are here",
                          needed=8 + length)  # fmt: skip
    if text[:1] != b"{" or text.count(b"[") + text.count(b"{") > 4 * TENSORS_MAXIMUM:
        raise HeaderError("header_unknown", "neither GGUF nor safetensors: no JSON object")
    try:
        document = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise HeaderError("header_not_json", "the header is no valid JSON") from None
    if not isinstance(document, dict) or len(document) > TENSORS_MAXIMUM:
        raise HeaderError("header_out_of_range", f"no object of at most {TENSORS_MAXIMUM} tensors")
    formats = _Formats()
    tensors: dict[str, tuple[int, ...]] = {}
    for name, entry in document.items():
        if name == "__metadata__":
            continue
        if not isinstance(entry, dict):
            raise HeaderError("header_wrong_type", f"{printable(name)} is no tensor")
        form, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
        if not isinstance(form, str) or form not in SAFETENSORS_BITS or not isinstance(shape, list):
            raise HeaderError("header_wrong_type", f"{printable(name)} has no known format or shape")
        elements = _elements(shape)
        size = -(-elements * SAFETENSORS_BITS[form] // 8)
        if (
            not isinstance(offsets, list)
            or len(offsets) != 2
            or not all(type(offset) is int and offset >= 0 for offset in offsets)
            or offsets[1] - offsets[0] != size
        ):
            raise HeaderError("header_wrong_type", f"{printable(name)} is not as long as its shape")
        formats.add(form, elements, size)
        tensors[name] = tuple(shape)
    header = _header("safetensors", None, None, formats, None)
    return header.model_copy(update={"shapes": shapes_of(tensors)})


def _header(
    kind: str, architecture: str | None, name: str | None, formats: _Formats, config: dict[str, Any] | None
) -> CheckpointHeader:
    found = formats.found()
    if not found:
        raise HeaderError("header_empty", "the file holds no tensors")
    return CheckpointHeader(
        kind=kind, architecture=architecture, name=name, elements=formats.elements,
        bytes=sum(row.bytes for row in found), formats=found, config=config,
    )  # fmt: skip


class _Bytes:
    """Little-endian values one after the other, never beyond the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.elements = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise HeaderError("header_truncated", "the header goes on beyond the bytes that are here",
                              needed=self.at + max(size, 0))  # fmt: skip
        piece = self.data[self.at : self.at + size]
        self.at += size
        return piece

    def number(self, form: str) -> Any:
        (value,) = struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))
        return value

    def text(self) -> str:
        length = self.number("Q")
        if length > NAME_BYTES_MAXIMUM:
            # Chat templates are long; nothing that is read here is.
            self.take(length)
            return ""
        return self.take(length).decode("utf-8", errors="replace")

    def values(self, kind: int) -> Any:
        """One value of a GGUF type; of an array only its first elements are kept."""
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind == 8:
            return self.text()
        if kind != 9:
            raise HeaderError("header_wrong_type", f"a value of the unknown type {kind}")
        inner, count = self.number("I"), self.number("Q")
        self.elements += count
        if self.elements > ELEMENTS_MAXIMUM:
            raise HeaderError("header_out_of_range", f"arrays of more than {ELEMENTS_MAXIMUM} elements")
        if inner in SCALARS:
            size = struct.calcsize("<" + SCALARS[inner])
            piece = self.take(size * count)
            kept = min(count, 2_000)
            return list(struct.unpack(f"<{kept}{SCALARS[inner]}", piece[: kept * size]))
        if inner != 8:
            raise HeaderError("header_wrong_type", "an array of neither numbers nor texts")
        for _ in range(count):
            self.take(self.number("Q"))
        return count


SCALARS: dict[int, str] = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip


def _gguf(data: bytes) -> CheckpointHeader:
    reader = _Bytes(data)
    reader.take(4)
    version = reader.number("I")
    if version not in (2, 3):
        raise HeaderError("header_version", f"GGUF version {version} is not read", version=version)
    tensor_count, value_count = reader.number("Q"), reader.number("Q")
    if tensor_count > TENSORS_MAXIMUM or value_count > VALUES_MAXIMUM:
        raise HeaderError("header_out_of_range", "more tensors or values than any model has")
    values: dict[str, Any] = {}
    for _ in range(value_count):
        key = reader.text()
        found = reader.values(reader.number("I"))
        if key in values:
            raise HeaderError("header_wrong_type", f"{printable(key)} is there twice")
        values[key] = found
    formats = _Formats()
    names: dict[str, tuple[int, ...]] = {}
    for _ in range(tensor_count):
        name = reader.text()
        dimensions = reader.number("I")
        if dimensions > DIMENSIONS_MAXIMUM:
            raise HeaderError("header_out_of_range", f"a tensor of more than {DIMENSIONS_MAXIMUM} dimensions")
        shape = tuple(reader.number("Q") for _ in range(dimensions))
        kind = reader.number("I")
        reader.number("Q")
        if kind not in GGUF_TYPES:
            raise HeaderError("header_wrong_type", f"a tensor of the unknown type {kind}", type=kind)
        form, block, size = GGUF_TYPES[kind]
        elements = _elements(shape)
        formats.add(form, elements, -(-elements // block) * size)
        names[name] = shape
    architecture = values.get("general.architecture")
    label = values.get("general.name")
    known = printable(architecture) if isinstance(architecture, str) and architecture else None
    return _header(
        "gguf", known, printable(label) if isinstance(label, str) and label else None, formats,
        _config(str(architecture), values.get, names),
    )  # fmt: skip


FAMILY_OF = {"llama": "llama", "qwen2": "qwen2", "qwen2moe": "qwen2_moe", "qwen3": "qwen3", "qwen3moe": "qwen3_moe",
             "gemma": "gemma", "gemma2": "gemma2", "gemma3": "gemma3_text", "phi3": "phi3", "granite": "granite",
             "starcoder2": "starcoder2", "olmo2": "olmo2", "falcon": "falcon", "command-r": "cohere"}  # fmt: skip
KEYS = {
    "num_hidden_layers": "block_count", "hidden_size": "embedding_length", "num_attention_heads":
    "attention.head_count", "num_key_value_heads": "attention.head_count_kv", "head_dim": "attention.key_length",
    "intermediate_size": "feed_forward_length", "max_position_embeddings": "context_length",
    "sliding_window": "attention.sliding_window", "num_experts": "expert_count",
    "num_experts_per_tok": "expert_used_count", "moe_intermediate_size": "expert_feed_forward_length",
    "shared_expert_intermediate_size": "expert_shared_feed_forward_length",
}  # fmt: skip


def _config(
    architecture: str, value: Callable[[str], Any], tensors: dict[str, tuple[int, ...]]
) -> dict[str, Any] | None:
    """The keys of a ``config.json`` from those of a GGUF file; None for architectures not known here."""
    family = FAMILY_OF.get(architecture)
    embedding = tensors.get("token_embd.weight")
    if family is None or embedding is None or len(embedding) != 2:
        return None
    config: dict[str, Any] = {"model_type": family, "vocab_size": embedding[1],
                              "tie_word_embeddings": "output.weight" not in tensors}  # fmt: skip
    for key, name in KEYS.items():
        found = value(f"{architecture}.{name}")
        if isinstance(found, list) and len(set(found)) == 1:
            found = found[0]
        if isinstance(found, int) and not isinstance(found, bool) and found > 0:
            config[key] = found
    if family == "llama" and "num_experts" in config:
        config["model_type"] = "mixtral"
    return config
