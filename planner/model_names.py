"""Spellings of model names: what may differ between two spellings of one model, and what never may.

Letter case, separators and a left-out organisation may differ. Words, numbers and their order may not: a
number is never joined to or cut from another, so a name never becomes that of a model of another size.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

NAME_LENGTH_MAXIMUM = 200
WORD = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+")
SIZE = re.compile(r"(?<![a-z0-9.])(\d+x)?(\d+(?:\.\d+)?)\s?([bm])(?![a-z0-9])")
"""A number of parameters in a name: 8B, 1.1b, 8x7B, 335M."""

Words = tuple[str, ...]


def words(name: str) -> Words:
    """The words and numbers of a name in order: ``Llama-3_3 70B`` → llama, 3.3, 70, b."""
    text = unicodedata.normalize("NFKC", name[:NAME_LENGTH_MAXIMUM]).casefold()
    return tuple(WORD.findall(re.sub(r"(?<=\d)_(?=\d)", ".", text)))


def sizes(name: str) -> frozenset[str]:
    """Numbers of parameters that a name states, as written: ``Qwen3-30B-A3B`` → 30b (and a3b apart)."""
    text = re.sub(r"(?<=\d)_(?=\d)", ".", name.casefold())
    found = {f"{times}{number}{unit}" for times, number, unit in SIZE.findall(text)}
    found |= {f"a{number}b" for number in re.findall(r"(?<![a-z0-9])a(\d+(?:\.\d+)?)b(?![a-z0-9])", text)}
    return frozenset(found)


def same_size(one: str, other: str) -> bool:
    """Whether two names may be of one size: they state the same, or one of them states nothing."""
    left, right = sizes(one), sizes(other)
    return not left or not right or left == right


class Spellings:
    """Names by their words. A spelling that could be two models is none."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        """``names``: spelling and the key it stands for."""
        whole: dict[Words, set[str]] = {}
        short: dict[Words, set[str]] = {}
        for name, key in names:
            whole.setdefault(words(name), set()).add(key)
            organisation, slash, tail = name.partition("/")
            if slash and organisation:
                short.setdefault(words(tail), set()).add(key)
        self._whole = {key: found.pop() for key, found in whole.items() if key and len(found) == 1}
        self._short = {key: found.pop() for key, found in short.items() if key and len(found) == 1}

    def find(self, name: str) -> str | None:
        """The key of the one model that is spelled so; a name with an organisation needs that organisation."""
        if len(name) > NAME_LENGTH_MAXIMUM:
            return None
        asked = words(name)
        if asked in self._whole:
            return self._whole[asked]
        return None if "/" in name else self._short.get(asked)
