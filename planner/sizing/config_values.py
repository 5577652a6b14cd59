"""Values of a ``config.json``, each within a stated range: numbers, switches, lists and the family's name."""

from __future__ import annotations

import re
from copy import copy
from typing import Any, Self

from planner.sizing.config_keys import Watched
from planner.sizing.config_text import ConfigError, UnsupportedArchitecture, printable
from planner.sizing.families import FAMILIES, NOT_COVERED, WRAPPERS, Family

LIMITS: dict[str, tuple[int, int]] = {
    "layers": (1, 2_000),
    "hidden": (1, 200_000),
    "heads": (1, 8_192),
    "head_dim": (1, 8_192),
    "intermediate": (1, 2_000_000),
    "vocab": (1, 5_000_000),
    "experts": (1, 10_000),
    "rank": (1, 100_000),
    "window": (1, 100_000_000),
    "positions": (1, 1_000_000_000),
    "index": (0, 2_000),
    "shared": (0, 2_000_000),
}
"""The accepted range of each kind of number."""
TEXT_KEYS = ("text_config", "llm_config", "language_config")
NESTED = frozenset({*TEXT_KEYS, "vision_config"})
NOTED = frozenset({
    "head_dim", "num_key_value_heads", "intermediate_size", "hidden_size", "num_hidden_layers", "patch_size",
    "image_size", "projector_input_dim", "projector_output_dim", "vision_output_dim", "intermediate_size_mlp",
    "type_vocab_size", "step_rank", "max_position_embeddings",
})  # fmt: skip
"""Keys whose default is worth telling: it decides how many parameters there are."""


class ConfigValues:
    """The values of one config, each checked as it is asked for, and what was asked for, assumed and left unread."""

    def __init__(self, config: dict[str, Any], name: str, source: str) -> None:
        self.name = name
        self.source = source
        inner = next((config[key] for key in TEXT_KEYS if key in config), None)
        if inner is not None and not isinstance(inner, dict):
            raise ConfigError("config_wrong_type", "text_config must be an object", key="text_config")
        self.outer = Watched(config)
        self.config: dict[str, Any] = Watched({**config, **inner} if inner else config)
        self.vision = Watched({})
        self.within_: dict[str, Self] = {}
        self.assumed: dict[str, int] = {}
        self.unread: tuple[str, ...] = ()
        self.family_name = self._family_name(inner)
        self.family: Family = FAMILIES[self.family_name]

    def _family_name(self, inner: dict[str, Any] | None) -> str:
        names = [source.get("model_type") for source in (inner or {}, self.outer)]
        architectures = self.outer.get("architectures")
        listed = architectures if isinstance(architectures, list) else []
        for name in names:
            if name is None:
                continue
            if not isinstance(name, str):
                raise ConfigError("config_wrong_type", "model_type must be text", key="model_type")
            if name in NOT_COVERED:
                raise UnsupportedArchitecture(printable(name), NOT_COVERED[name])
        for name in names:
            found = WRAPPERS.get(name, name) if name else None
            if found in FAMILIES:
                return str(found)
        for text in listed:
            if isinstance(text, str):
                plain = re.sub(r"(ForCausalLM|ForConditionalGeneration|LMHeadModel)$", "", text[:100]).lower()
                for family in FAMILIES:
                    if plain == family.replace("_", ""):
                        return family
        named = next((str(name) for name in [*names, *listed] if isinstance(name, str) and name), "")
        if not named:
            raise ConfigError("config_missing_key", "model_type is missing", key="model_type")
        raise UnsupportedArchitecture(printable(named))

    # Reading one key, each with its range.

    def number(self, kind: str, *keys: str, default: int | None = None, required: bool = True) -> int:
        values = [(key, self.config.get(key)) for key in keys]
        for key, value in values:
            if value is None:
                continue
            low, high = LIMITS[kind]
            if isinstance(value, bool) or not isinstance(value, int):
                raise ConfigError("config_wrong_type", f"{key} must be a whole number from {low} to {high}",
                                  key=key, low=low, high=high)  # fmt: skip
            if not low <= value <= high:
                raise ConfigError("config_out_of_range", f"{key} must be from {low} to {high}",
                                  key=key, low=low, high=high)  # fmt: skip
            return value
        if default is None and required:
            raise ConfigError("config_missing_key", f"{keys[0]} is missing", key=keys[0])
        if default and keys[0] in NOTED:
            self.assumed.setdefault(keys[0], default)
        return default if default is not None else 0

    def optional(self, kind: str, *keys: str) -> int | None:
        found = self.number(kind, *keys, required=False)
        return found or None

    def flag(self, key: str, default: bool) -> bool:
        value = self.config.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ConfigError("config_wrong_type", f"{key} must be true or false", key=key)
        return value

    def listed(self, key: str, count: int) -> list[Any] | None:
        """A list with a value for each of ``count`` layers; None without such a key."""
        found = self.config.get(key)
        if found is None:
            return None
        if not isinstance(found, list) or len(found) < count:
            raise ConfigError("config_too_short", f"{key} must name {count} layers", key=key, count=count)
        return found

    def within(self, key: str) -> Self:
        """The same reader over the object under one key."""
        if key not in self.within_:
            found = self.config.get(key)
            if not isinstance(found, dict):
                raise ConfigError("config_missing_key", f"{key} is missing", key=key)
            inner = copy(self)
            inner.config = Watched(found)
            self.within_[key] = inner
        return self.within_[key]

    def over_tower(self, vision: dict[str, Any]) -> Self:
        """The same reader over the config of an encoder beside the language model."""
        self.vision = Watched(vision)
        inner = copy(self)
        inner.config = self.vision
        return inner

    def levels(self) -> list[Watched]:
        """Every object that was read, each remembering what of it was."""
        inner = self.config if isinstance(self.config, Watched) else Watched(self.config)
        inner.seen |= self.outer.seen | NESTED
        return [inner, self.vision, *(Watched.of(each.config) for each in self.within_.values())]
