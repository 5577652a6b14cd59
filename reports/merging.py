"""Two people changed the same plan: which of their texts stand in each other's way. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Merged:
    """``texts`` has every change that only one of the two made; ``torn`` are the fields both changed differently,
    in which mine stands."""

    texts: dict[str, str]
    theirs: tuple[str, ...]
    """Fields taken over from them."""
    torn: tuple[str, ...]


def merge(base: Mapping[str, str], theirs: Mapping[str, str], mine: Mapping[str, str]) -> Merged:
    """Three-way, field by field, over the fields of ``mine``; one that is missing elsewhere reads empty there."""
    texts: dict[str, str] = {}
    taken, torn = [], []
    for name, own in mine.items():
        before, other = base.get(name, ""), theirs.get(name, "")
        if own == before and other != before:
            texts[name] = other
            taken.append(name)
        else:
            texts[name] = own
            if other not in (before, own):
                torn.append(name)
    return Merged(texts, tuple(taken), tuple(torn))
