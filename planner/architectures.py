"""The shipped model architectures: found by name, searched as one types, or read from a pasted config."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from pydantic import ConfigDict

from planner.model_names import Spellings
from planner.sizing import config_reader
from planner.sizing.architecture import Architecture, ModelError, NotSized, parameter_count
from planner.sizing.quantities import Frozen
from planner.sizing.workload import ModelReference

SEED = Path(__file__).with_name("seeds") / "architectures.json"


class UnknownModel(ModelError):
    """No shipped model has this name; ``params["suggestions"]`` are the nearest."""

    code = "unknown_model"

    def __init__(self, name: str) -> None:
        suggestions = tuple(entry.id for entry in search(name, 3))
        super().__init__(f"unknown model: {name}", name=name, suggestions=suggestions)


class Entry(Frozen):
    """One shipped model, sized or not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    attention_kind: str
    not_sized: str | None
    """Why it cannot be sized yet: its attention kind, or what is not known of it."""
    parameters: int | None
    parameters_active: int | None
    parameters_published_source: str | None
    max_position: int | None
    licence: str | None
    source: str
    architecture: Architecture | None
    """Its tensors, where they are known: of every sized model and of many that are not sized yet."""


class _Shelf(Frozen):
    models: tuple[Entry, ...]
    spellings: dict[str, str]


@lru_cache(maxsize=1)
def _shelf() -> tuple[dict[str, Entry], dict[str, str], Spellings]:
    shelf = _Shelf.model_validate_json(SEED.read_text(encoding="utf-8"))
    by_name = {entry.id.lower(): entry for entry in shelf.models}
    spellings = {name.lower(): target.lower() for name, target in shelf.spellings.items()}
    looser = Spellings([*((entry.id, entry.id.lower()) for entry in shelf.models), *spellings.items()])
    for key in list(by_name):
        spellings.setdefault(key.rpartition("/")[2], key)
    return by_name, spellings, looser


def entries() -> tuple[Entry, ...]:
    """Every shipped model, in the order of the seed."""
    return tuple(_shelf()[0].values())


def find(name: str) -> Entry | None:
    """The entry of this id or known spelling; letter case, separators and a left-out organisation aside.

    Never a guess: every word and number of the name must be there, in order.
    """
    by_name, spellings, looser = _shelf()
    key = name.strip().lower()
    entry = by_name.get(key)
    if entry is None and key in spellings:
        entry = by_name.get(spellings[key])
    if entry is None and (found := looser.find(key)) is not None:
        entry = by_name.get(found)
    return entry


def resolve(model: ModelReference) -> Architecture:
    """The architecture a workload means: its pasted config, else the shipped model of that name.

    Raises ``UnknownModel``, ``NotSized`` or ``config_reader.ConfigError``, all of them ``ModelError``.
    """
    if model.config is not None:
        return config_reader.read(model.config, name="config.json", source="config.json as pasted")
    return resolve_name(model.id)


@lru_cache(maxsize=1024)
def resolve_name(name: str) -> Architecture:
    """The shipped architecture of that name. Raises ``UnknownModel`` or ``NotSized``."""
    entry = find(name)
    if entry is None:
        raise UnknownModel(name)
    if entry.architecture is None or entry.not_sized is not None:
        raise NotSized(entry.id, entry.not_sized or entry.attention_kind)
    return entry.architecture


def _words(text: str) -> list[str]:
    """Letters and numbers apart: ``Qwen2.5-7B`` → ``qwen2.5 7b``."""
    return [word for word in re.split(r"[\s/_\-:,()]+", text.lower()[:200]) if word]


@lru_cache(maxsize=1)
def _index() -> tuple[tuple[Entry, str, tuple[str, ...]], ...]:
    return tuple((entry, entry.id.lower(), tuple(_words(entry.id))) for entry in entries())


def search(text: str, limit: int = 10) -> tuple[Entry, ...]:
    """Models that match what is being typed, best first; sized ones before the others at equal rank.

    Every word must be found: as the name's start, as a word, as a word's start, or inside a word. ``70b``
    finds a size of 70 billion in the name. An empty text gives the first models of the list.
    """
    words = _words(text)
    whole = "-".join(words)
    found: list[tuple[int, bool, int, str, Entry]] = []
    for entry, name, parts in _index():
        tail = name.rpartition("/")[2]
        rank = 0
        for word in words:
            if word in parts:
                rank += 1
            elif any(part.startswith(word) for part in parts):
                rank += 2
            elif word in name:
                rank += 4
            else:
                rank = -1
                break
        if rank < 0:
            continue
        if tail == text.lower().strip() or name == text.lower().strip():
            rank = -3
        elif whole and (tail.startswith(whole) or name.startswith(text.lower().strip())):
            rank -= 1
        found.append((rank, entry.not_sized is not None, len(name), name, entry))
    found.sort(key=lambda item: item[:4])
    return tuple(item[4] for item in found[: max(0, limit)])


def counted_parameters(entry: Entry) -> int | None:
    """Parameters counted tensor by tensor where the model is sized, else the figure the facts give, else
    None."""
    return parameter_count(entry.architecture) if entry.architecture else entry.parameters
