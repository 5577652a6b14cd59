"""Headers of checkpoint files: what they say is counted; whatever else they are is one kind of error, soon."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.architecture import parameter_count
from planner.sizing.checkpoint_headers import (
    ELEMENTS_MAXIMUM,
    JSON_BYTES_MAXIMUM,
    CheckpointHeader,
    HeaderError,
    read_header,
)
from planner.sizing.config_reader import understand


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def value(key: str, kind: int, packed: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + packed


def tensor(name: str, shape: tuple[int, ...], kind: int) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, 0)


def gguf(values: list[bytes], tensors: list[bytes], version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values)) + b"".join(values + tensors)


def number(key: str, size: int) -> bytes:
    return value(key, 4, struct.pack("<I", size))


def small_llama(kind: int = 12) -> bytes:
    values = [
        value("general.architecture", 8, text("llama")),
        value("general.name", 8, text("Tiny <b>")),
        number("llama.block_count", 1), number("llama.embedding_length", 256),
        number("llama.attention.head_count", 4), number("llama.attention.head_count_kv", 2),
        number("llama.feed_forward_length", 512), number("llama.context_length", 2048),
        value("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 3) + text("a") + text("b") + text("c")),
        value("tokenizer.ggml.scores", 9, struct.pack("<IQ3f", 6, 3, 1.0, 2.0, 3.0)),
    ]  # fmt: skip
    shapes = {"attn_q": (256, 256), "attn_k": (256, 128), "attn_v": (256, 128), "attn_output": (256, 256),
              "ffn_gate": (256, 512), "ffn_up": (256, 512), "ffn_down": (512, 256)}  # fmt: skip
    tensors = [
        tensor("token_embd.weight", (256, 1000), kind),
        tensor("output_norm.weight", (256,), 0),
        tensor("blk.0.attn_norm.weight", (256,), 0),
        tensor("blk.0.ffn_norm.weight", (256,), 0),
        *(tensor(f"blk.0.{name}.weight", shape, kind) for name, shape in shapes.items()),
    ]
    return gguf(values, tensors)


def safetensors(entries: dict[str, Any], length: int | None = None) -> bytes:
    body = json.dumps(entries).encode()
    return struct.pack("<Q", len(body) if length is None else length) + body


def entry(dtype: str, shape: list[Any], size: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}


def refused(data: bytes) -> str:
    with pytest.raises(HeaderError) as caught:
        read_header(data)
    assert "<" not in str(caught.value)
    return caught.value.code


def test_a_gguf_header_gives_formats_bytes_and_the_same_shapes_as_a_config() -> None:
    found = read_header(small_llama())
    matrices = 256_000 + 2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 512
    assert found.elements == matrices + 3 * 256
    assert found.bytes == matrices * 144 // 256 + 3 * 256 * 4
    assert [(row.format, row.tensors) for row in found.formats] == [("Q4_K", 8), ("F32", 3)]
    assert found.architecture == "llama"
    assert found.name == "Tiny ?b?"
    assert found.config is not None
    arch = understand(found.config).architecture
    assert arch.tied
    assert parameter_count(arch) == found.elements


def test_a_safetensors_header_gives_formats_and_bytes() -> None:
    found = read_header(
        safetensors(
            {
                "__metadata__": {"format": "pt"},
                "a": entry("BF16", [4, 6], 48),
                "b": entry("F8_E4M3", [10], 10),
                "c": entry("BF16", [], 2),
            }
        )
    )
    assert (found.kind, found.elements, found.bytes) == ("safetensors", 35, 60)
    assert [(row.format, row.tensors, row.elements) for row in found.formats] == [
        ("BF16", 2, 25), ("F8_E4M3", 1, 10)]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "header_truncated"),
        (b"GGU", "header_truncated"),
        (b"GGUF", "header_truncated"),
        (b"PK\x03\x04" + bytes(100), "header_unknown"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "header_version"),
        (gguf([], []), "header_empty"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0), "header_out_of_range"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**64 - 1), "header_out_of_range"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**63), "header_truncated"),
        (gguf([value("k", 9, struct.pack("<IQ", 8, ELEMENTS_MAXIMUM + 1))], []), "header_out_of_range"),
        (gguf([value("k", 9, struct.pack("<IQ", 0, ELEMENTS_MAXIMUM))], []), "header_truncated"),
        (gguf([value("k", 9, struct.pack("<IQ", 9, 5))], []), "header_wrong_type"),
        (gguf([value("k", 99, b"")], []), "header_wrong_type"),
        (gguf([number("k", 1), number("k", 1)], []), "header_wrong_type"),
        (gguf([], [tensor("t", (1, 2, 3, 4, 5, 6, 7, 8, 9), 0)]), "header_out_of_range"),
        (gguf([], [tensor("t", (2**40, 2**40), 0)]), "header_out_of_range"),
        (gguf([], [tensor("t", (2,), 77)]), "header_wrong_type"),
        (struct.pack("<Q", JSON_BYTES_MAXIMUM + 1) + b"{}", "header_unknown"),
        (safetensors({"a": entry("BF16", [1], 2)}, length=10_000), "header_truncated"),
        (struct.pack("<Q", 4) + b"[[[[", "header_unknown"),
        (struct.pack("<Q", 200_001) + b"{" + b"[" * 200_000, "header_not_json"),
        (struct.pack("<Q", 2_000_001) + b"{" + b"[" * 2_000_000, "header_unknown"),
        (struct.pack("<Q", 4) + b"{]}}", "header_not_json"),
        (safetensors({}), "header_empty"),
        (safetensors({"<script>": 3}), "header_wrong_type"),
        (safetensors({"a": entry("BF17", [1], 2)}), "header_wrong_type"),
        (safetensors({"a": entry("BF16", [1.5], 3)}), "header_out_of_range"),
        (safetensors({"a": entry("BF16", [True], 2)}), "header_out_of_range"),
        (safetensors({"a": entry("BF16", [-1], -2)}), "header_out_of_range"),
        (safetensors({"a": entry("BF16", [10**60], 2)}), "header_out_of_range"),
        (safetensors({"a": entry("BF16", [4], 7)}), "header_wrong_type"),
        (safetensors({"a": {"dtype": "BF16", "shape": [1]}}), "header_wrong_type"),
    ],
)  # fmt: skip
def test_a_hostile_header_is_refused_by_its_kind(data: bytes, code: str) -> None:
    assert refused(data) == code


def test_a_cut_header_says_that_more_is_needed() -> None:
    whole = small_llama()
    for end in range(4, len(whole), 37):
        with pytest.raises(HeaderError) as caught:
            read_header(whole[:end])
        assert caught.value.code == "header_truncated"


@given(st.integers(0, 1200), st.binary(min_size=1, max_size=12))
def test_any_changed_bytes_give_a_header_or_one_kind_of_error(at: int, changed: bytes) -> None:
    whole = small_llama()
    at %= len(whole)
    try:
        found = read_header(whole[:at] + changed + whole[at + len(changed) :])
    except HeaderError:
        return
    assert isinstance(found, CheckpointHeader)
    assert found.elements >= 0


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    for start in (b"", b"GGUF\x03\x00\x00\x00", struct.pack("<Q", len(data))):
        try:
            assert read_header(start + data).elements >= 0
        except HeaderError:
            continue
