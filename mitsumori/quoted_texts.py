"""Texts of shipped data and of the sizing core that pages quote: what ``update_translations`` collects beside the code.

The core and the seeds know nothing of gettext. Which of their fields hold words for people is written down here.
"""

from __future__ import annotations

import ast
import csv
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from catalog.source_words import PATTERNS, shortened, wanted

Fields = tuple[str, ...]
"""Ways to a text: keys joined by dots, ``[]`` for every item of a list, ``*`` for every value."""

IN_PARTS: dict[str, Fields] = {
    "catalog/seeds/accelerators.json": ("accelerators.[].sources.*", "accelerators.[].source_date"),
    "catalog/seeds/drivers.json": (
        "toolkits.[].source", "toolkits.[].observed", "targets.[].source", "targets.[].note", "engines.[].source",
    ),
    "catalog/seeds/azure_sizes.json": ("gpu.[].source", "gpu.[].basis"),
    "catalog/seeds/billing.json": ("billing.[].source", "billing.[].observed"),
    "catalog/seeds/egress.json": ("egress.[].source", "egress.[].observed", "egress.[].note"),
    "catalog/seeds/storage.json": ("storage.[].source", "storage.[].observed", "storage.[].note"),
    "catalog/seeds/storage_speeds.json": ("storage_speeds.[].source", "storage_speeds.[].note"),
    "catalog/seeds/managed.json": ("managed.[].source",),
    "catalog/seeds/managed_services.json": ("facts.[].source", "facts.[].observed"),
    "catalog/seeds/market_days.json": ("market_days.[].source",),
    "catalog/seeds/exchange.json": ("exchange.[].source",),
    "catalog/seeds/offers.csv": ("source", "note", "spec_source", "observed_precision"),
    "catalog/seeds/machines/types.csv": ("source", "fabric"),
    "planner/seeds/architectures.json": (
        "models.[].source", "models.[].architecture.source", "models.[].architecture.towers.[].source",
        "models.[].licence", "models.[].not_sized", "models.[].attention_kind",
    ),
    "planner/seeds/runtimes.json": ("constants.[].source", "runtimes.[].source"),
    "planner/seeds/calibration.json": ("constants.origin",),
    "planner/seeds/training.json": ("constants.origin",),
}  # fmt: skip
WHOLE: dict[str, Fields] = {
    "catalog/seeds/accelerators.json": (
        "accelerators.[].note", "accelerators.[].mig", "accelerators.[].interconnect",
    ),
    "catalog/seeds/billing.json": tuple(
        f"billing.[].words.{name}" for name in ("spot", "spot_notice", "reserved", "fabric")
    ),
}  # fmt: skip
CODE = ("catalog/sources", "planner/sizing", "planner/architectures.py", "planner/model_facts.py")
PATTERNS_IN = "catalog/source_words.py"
SAYING = frozenset({"source", "origin", "note", "spec_source", "not_sized"})
"""Arguments of calls by which the code says where a figure is from."""
TELLING = frozenset({"plain", "_plain", "term", "amount", "_amount"})
"""Calls that take it last, without a name."""
STORED_LENGTH = 200
"""Notes of offers are shortened where they are stored."""


def quoted_texts(path: str) -> list[str]:
    """The texts of one file below the project, each once, in their order."""
    found: dict[str, None] = {}
    if path not in files():
        return []
    if path == PATTERNS_IN:
        found |= dict.fromkeys(PATTERNS)
    elif path.endswith(".py"):
        for text in _in_python(path):
            found |= dict.fromkeys(each for each in wanted(text) if " " in each)
    for fields, whole in ((IN_PARTS.get(path, ()), False), (WHOLE.get(path, ()), True)):
        for text in _in_data(path, fields):
            found |= dict.fromkeys(wanted(text, whole))
    return list(found)


@cache
def files() -> list[str]:
    """Every file that may hold such texts."""
    base = Path(settings.BASE_DIR)
    code = (
        str(file.relative_to(base))
        for place in CODE
        for file in ([base / place] if place.endswith(".py") else (base / place).rglob("*.py"))
    )
    return sorted({*IN_PARTS, *WHOLE, PATTERNS_IN, *code})


def _in_data(path: str, fields: Fields) -> Iterator[str]:
    if not fields:
        return
    file = Path(settings.BASE_DIR) / path
    if path.endswith(".csv"):
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                yield from (shortened(row[name], STORED_LENGTH) for name in fields if row[name])
        return
    document = json.loads(file.read_text(encoding="utf-8"))
    for way in fields:
        yield from (text for text in _walk(document, way.split(".")) if isinstance(text, str) and text)


def _walk(found: Any, keys: list[str]) -> Iterator[Any]:
    if not keys:
        yield found
        return
    key, rest = keys[0], keys[1:]
    if key == "[]":
        for each in found or ():
            yield from _walk(each, rest)
    elif key == "*":
        for each in (found or {}).values():
            yield from _walk(each, rest)
    elif isinstance(found, dict) and found.get(key) is not None:
        yield from _walk(found[key], rest)


def _in_python(path: str) -> Iterator[str]:
    tree = _tree(path)
    for value in _sources(tree):
        yield from _constants(value)
    names = _said_names() | _names(_sources(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _names(node.targets) & names:
            yield from _constants(node.value)


def _sources(tree: ast.Module) -> Iterator[ast.expr]:
    """What stands in the code where a source is asked for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in SAYING:
            yield node.value
        elif (
            isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in TELLING
        ):
            yield from node.args[-1:]
        elif isinstance(node, ast.FunctionDef) and "source" in node.name:
            returned = (each.value for each in ast.walk(node) if isinstance(each, ast.Return))
            yield from (value for value in returned if value is not None)


def _constants(value: ast.expr) -> Iterator[str]:
    """A text, or both of a choice."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.IfExp):
        yield from _constants(value.body)
        yield from _constants(value.orelse)


def _names(places: Iterable[ast.expr]) -> frozenset[str]:
    return frozenset(each.id for place in places for each in ast.walk(place) if isinstance(each, ast.Name))


@cache
def _said_names() -> frozenset[str]:
    """Constants that stand somewhere as where a figure is from; they may be written down in another module."""
    found = (_names(_sources(_tree(path))) for path in files() if path.endswith(".py"))
    return frozenset(name for names in found for name in names if name.isupper())


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse((Path(settings.BASE_DIR) / path).read_text(encoding="utf-8"))
