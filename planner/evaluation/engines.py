"""Which engine, and which version of it, the labels of a measurement file mean."""

from __future__ import annotations

import re
from typing import NamedTuple

from planner.sizing.constants import UNSTATED, engine_era
from planner.sizing.points import Software

VERSION = re.compile(r"(?<![\w.])v?(\d+)\.(\d+)(?:\.(\d+))?")
BUILD = re.compile(r"(?<![\w.])b?(\d{4,5})(?![\w.])")
MONTH = re.compile(r"(?i)\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* (20\d\d)|(20\d\d)-(\d\d)")
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

RELEASES: dict[str, tuple[tuple[int, str], ...]] = {
    "vllm": ((202306, "0.1.0"), (202401, "0.3.0"), (202405, "0.4.3"), (202407, "0.5.3"), (202409, "0.6.1"),
             (202501, "0.7.0"), (202503, "0.8.0"), (202506, "0.9.1"), (202508, "0.10.1"), (202510, "0.11.0"),
             (202512, "0.12.0"), (202602, "0.16.0")),
    "tensorrt_llm": ((202310, "0.5.0"), (202401, "0.7.1"), (202404, "0.9.0"), (202407, "0.11.0"),
                     (202411, "0.14.0"), (202502, "0.17.0"), (202509, "1.0.0")),
    "sglang": ((202401, "0.1.0"), (202407, "0.2.0"), (202412, "0.4.0"), (202508, "0.5.0")),
    "llama_cpp": ((202307, "800"), (202401, "1800"), (202405, "2800"), (202501, "4500"), (202508, "6100"),
                  (202602, "8000")),
}  # fmt: skip
"""The version that was current from a month on, for labels that give only a date (release pages)."""

TENSORRT: tuple[tuple[tuple[int, int], str], ...] = (
    ((9, 0), "0.7.0"), ((10, 0), "0.11.0"), ((10, 3), "0.14.0"), ((10, 8), "0.18.0"), ((10, 11), "1.0.0"),
    ((10, 13), "1.1.0"),
)  # fmt: skip
"""The TensorRT-LLM release that goes with a TensorRT release (support matrices of TensorRT-LLM)."""

NIM: tuple[tuple[tuple[int, int], str], ...] = (((1, 0), "0.10.0"), ((1, 4), "0.14.0"), ((1, 8), "0.18.0"))
"""The TensorRT-LLM release inside a NIM release (release notes of NIM for LLMs)."""

NAMES: tuple[tuple[str, str], ...] = (
    ("nim", "tensorrt_llm"), ("tensorrt", "tensorrt_llm"), ("trt", "tensorrt_llm"), ("sglang", "sglang"),
    ("llama.cpp", "llama_cpp"), ("llama-cpp", "llama_cpp"), ("vllm", "vllm"), ("qserve", "tensorrt_llm"),
)  # fmt: skip

CURRENT = (9000,)
"""A version beyond all that are known: it falls into the last era."""

COMPILED = ("gpt-fast", "mlc", "exllama")
"""Engines for one stream with compiled kernels. They are not in the product; memory is sized as for llama.cpp."""


PAPERS = {"splitwise": "0.2.0", "qserve": "0.9.0"}
"""Releases that papers of a known date are built on."""


class Engine(NamedTuple):
    """``name`` and ``version`` as the product knows them; ``software`` the classes of its speed constants."""

    name: str
    version: str | None
    software: Software
    known: bool
    """False where the product does not have this engine and takes the nearest."""


def engine(label: str, version: str) -> Engine | None:
    """The engine a label means; None for one that resembles none of the product's."""
    text = label.casefold()
    if any(word in text for word in COMPILED):
        return Engine("llama_cpp", None, Software("compiled", "compiled_unstated", UNSTATED), False)
    name = next((ours for word, ours in NAMES if word in text), None)
    if name is None and "vllm" in version.casefold():
        name, label = "vllm", "based on vllm"
    if name is None:
        return None
    number = _number(name, text, version)
    if number is None:
        number = next((release for word, release in PAPERS.items() if word in text), None)
    known = not any(
        word in label.casefold() for word in ("nm-vllm", "nim", "paper", "llcuda", "qserve", "based on")
    )
    parts = tuple(int(part) for part in number.split(".")) if number else ()
    return Engine(name, number, Software(name, *engine_era(name, parts)), known)


def current(name: str) -> Software:
    """The classes of an engine's current generation."""
    return Software(name, *engine_era(name, CURRENT))


def _number(name: str, label: str, version: str) -> str | None:
    text = version.casefold()
    date = MONTH.search(text)
    if name == "llama_cpp":
        build = BUILD.search(text)
        if build and not date:
            return build.group(1)
    found = VERSION.search(text.partition("vllm")[2] if "vllm" in text and name == "vllm" else text)
    if found and name != "llama_cpp":
        pair = (int(found.group(1)), int(found.group(2)))
        if "nim" in label:
            return _at(NIM, pair)
        if name == "tensorrt_llm" and text.startswith("tensorrt "):
            return _at(TENSORRT, pair)
        return ".".join(part for part in found.groups() if part is not None)
    if date:
        month = MONTHS.index(date.group(1)[:3]) + 1 if date.group(1) else int(date.group(4))
        stamp = int(date.group(2) or date.group(3)) * 100 + month
        fitting = [release for since, release in RELEASES[name] if since <= stamp]
        return fitting[-1] if fitting else RELEASES[name][0][1]
    return None


def _at(table: tuple[tuple[tuple[int, int], str], ...], pair: tuple[int, int]) -> str:
    fitting = [release for since, release in table if since <= pair]
    return fitting[-1] if fitting else table[0][1]
