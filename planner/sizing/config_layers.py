"""What reads one layer of a config, and the values it may ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from planner.sizing.architecture import Dense, Grouped, Latent, LayerGroup, Moe
from planner.sizing.config_keys import Watched
from planner.sizing.families import Family


class Reader(Protocol):
    """What these functions need of the reader of a config: values within their ranges."""

    outer: Watched
    config: dict[str, Any]
    family: Family
    family_name: str

    def number(self, kind: str, *keys: str, default: int | None = None, required: bool = True) -> int: ...
    def optional(self, kind: str, *keys: str) -> int | None: ...
    def flag(self, key: str, default: bool) -> bool: ...
    def within(self, key: str) -> Reader: ...
    def over_tower(self, vision: dict[str, Any]) -> Reader: ...
    def attention(self, index: int, count: int, hidden: int, heads: int) -> Grouped | Latent: ...
    def mlp(self, index: int, hidden: int) -> Dense | Moe: ...
    def dense(self, hidden: int, width: int | None = None) -> Dense: ...
    def listed(self, key: str, count: int) -> list[Any] | None: ...


LayerOf = Callable[[Reader, int, int, int, int], LayerGroup]


def known(reader: Reader, *keys: str) -> None:
    """These keys say nothing that others of the same config do not say."""
    for key in keys:
        reader.config.get(key)
