"""Model architectures: shipped ones found by name and searched, others read from a config, a hub or a header."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from pydantic import ConfigDict

from planner import hub, model_names
from planner.model_facts import as_published
from planner.model_names import Spellings
from planner.models import HubConfig
from planner.sizing import checkpoint_headers, config_reader
from planner.sizing.architecture import Architecture, ModelError, NotSized, parameter_count
from planner.sizing.quantities import Frozen
from planner.sizing.workload import ModelReference

HUB_FRESH = timedelta(days=1)
"""So long the default branch's commit is not asked for again."""
PLAIN_NAME = re.compile(r"[A-Za-z0-9][\w.\-]*(?:/[\w.\-]+)?", re.ASCII)
CAME_FROM = "_came_from"
"""A key of configurations that were not given as a ``config.json``: ``gguf`` or ``numbers``."""
ORIGINS = {"gguf": "GGUF", "numbers": "numbers"}
SOURCES = {"gguf": "header of a GGUF file", "numbers": "numbers typed by hand"}
TUNED = frozenset({"instruct", "chat", "it"})
"""Words by which the model that answers requests is told from the one it was made of."""
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
    source_date: str
    """As the source states it; ``undated`` where it states none."""
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


def only_near(name: str) -> Entry | None:
    """The one shipped model whose name is this and a word for its tuning (``Instruct``), where there is one alone.

    A name with an organisation means that organisation's model, and a name without a number means a family.
    """
    asked = model_names.words(name)
    if "/" in name or not any(word[0].isdigit() for word in asked):
        return None
    found = [
        entry
        for entry in entries()
        if (tail := model_names.words(entry.id.rpartition("/")[2]))[: len(asked)] == asked
        and set(tail[len(asked) :]) <= TUNED
    ]
    return found[0] if len(found) == 1 else None


def resolve(model: ModelReference) -> Architecture:
    """The architecture a workload means: its pasted config, else the shipped model of that name, else what
    was read from the hub at that revision (see ``frozen``).

    Raises ``UnknownModel``, ``NotSized`` or ``config_reader.ConfigError``, all of them ``ModelError``.
    """
    if model.config is not None:
        return config_reader.read(
            model.config, name=pasted_name(model.config), source=pasted_source(model.config)
        )
    if find(model.id) is None and hub.is_hub_id(model.id):
        kept = HubConfig.find(model.id, model.revision)
        if kept is not None:
            return _sized(_read_hub(kept.name, kept.commit, kept.text).architecture)
    return resolve_name(model.id)


def pasted_name(config: Mapping[str, Any]) -> str:
    """What a pasted configuration is called: by its own name if it gives one, else by its kind.

    >>> pasted_name({"_name_or_path": "team/small"}), pasted_name({"_name_or_path": "/mnt/x", "model_type": "llama"})
    ('team/small', 'llama (config.json)')
    """
    origin = ORIGINS.get(str(config.get(CAME_FROM)), "config.json")
    for key, form in (("_name_or_path", "{}"), ("model_type", f"{{}} ({origin})")):
        value = config.get(key)
        if isinstance(value, str) and PLAIN_NAME.fullmatch(value):
            return form.format(value)
    return origin


def pasted_source(config: Mapping[str, Any]) -> str:
    """Where the figures of a model that somebody gave were read."""
    return SOURCES.get(str(config.get(CAME_FROM)), "config.json as pasted")


def reading(model: ModelReference) -> config_reader.Reading | None:
    """What was assumed and left aside of a config that was pasted or came from the hub; None for shipped models."""
    if model.config is not None:
        return config_reader.understand(
            model.config, name=pasted_name(model.config), source=pasted_source(model.config)
        )
    if find(model.id) is None and hub.is_hub_id(model.id):
        kept = HubConfig.find(model.id, model.revision)
        return None if kept is None else _read_hub(kept.name, kept.commit, kept.text)
    return None


def frozen(model: ModelReference, at: datetime) -> ModelReference:
    """The same model with the commit its configuration was read at, if it is one of the hub's.

    Shipped and pasted models are as they are; so is everything where the hub is switched off.
    Raises ``hub.HubError`` where the hub gives nothing.
    """
    if model.config is not None or not hub.is_hub_id(model.id) or find(model.id) is not None:
        return model
    revision = model.revision
    if revision and HubConfig.is_of_another(model.id, revision):
        revision = None  # Left over from the model that was chosen before.
    kept = HubConfig.find(model.id, revision, None if revision else at - HUB_FRESH)
    if kept is None:
        if not settings.HUB_ENABLED:
            return model
        kept = _fetched(model.id, revision, at)
    return model.model_copy(update={"revision": kept.commit})


def from_hub(name: str, revision: str | None, at: datetime) -> tuple[config_reader.Reading, str]:
    """What the hub's ``config.json`` says of a model, and the commit it was read at.

    Raises ``hub.HubError`` (``hub_off`` where it is switched off) or ``config_reader.ConfigError``.
    """
    kept = HubConfig.find(name, revision, None if revision else at - HUB_FRESH)
    if kept is None:
        if not settings.HUB_ENABLED:
            raise hub.HubError("hub_off", name)
        kept = _fetched(name, revision, at)
    return _read_hub(kept.name, kept.commit, kept.text), kept.commit


def _fetched(name: str, revision: str | None, at: datetime) -> HubConfig:
    found = hub.fetch(name, revision, settings.HUB_ENDPOINT)
    document = config_reader.parse(found.document, hub.BYTES_MAXIMUM)
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    _read_hub(name, found.commit, text)  # Nothing is kept that cannot be read.
    return HubConfig.keep(name, found.commit, text, at)


@lru_cache(maxsize=256)
def _read_hub(name: str, commit: str, text: str) -> config_reader.Reading:
    document = config_reader.parse(text, 4 * hub.BYTES_MAXIMUM)
    return config_reader.understand(document, name=name, source=f"config.json of {name} at {commit}")


def _sized(arch: Architecture) -> Architecture:
    if arch.not_sized is not None:
        raise NotSized(arch.id, arch.not_sized)
    return arch


class FromHeader(Frozen):
    """What the header of a checkpoint file says, and the architecture where it holds the shapes."""

    header: checkpoint_headers.CheckpointHeader
    reading: config_reader.Reading | None


def from_header(data: bytes) -> FromHeader:
    """The start of a GGUF or safetensors file. Raises ``checkpoint_headers.HeaderError``, ``ConfigError``."""
    header = checkpoint_headers.read_header(data)
    reading = None
    if header.config is not None:
        name = header.name or header.architecture or header.kind
        reading = config_reader.understand(header.config, name=name, source=f"{header.kind} header")
    return FromHeader(header=header, reading=reading)


@lru_cache(maxsize=1024)
def resolve_name(name: str) -> Architecture:
    """The shipped architecture of that name. Raises ``UnknownModel`` or ``NotSized``."""
    entry = find(name)
    if entry is None:
        raise UnknownModel(name)
    if entry.architecture is None or entry.not_sized is not None:
        raise NotSized(entry.id, entry.not_sized or entry.attention_kind)
    return entry.architecture if name == entry.id else as_published(entry.architecture, name.strip())


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
