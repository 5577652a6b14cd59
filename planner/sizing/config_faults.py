"""Every fault of a ``config.json`` at once: what is wrong is set aside, and the rest is read again.

A reader stops at the first value it cannot take. Whoever mends a config by hand wants the whole list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.sizing.config_text import ConfigError

FAULTS_MAXIMUM = 12
FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "num_attention_heads": ("num_key_value_heads",),
    "num_experts": ("num_experts_per_tok",),
    "num_local_experts": ("num_experts_per_tok",),
    "n_routed_experts": ("num_experts_per_tok",),
}
"""Keys that are judged by another one: while that has a stand-in, nothing can be said of them."""
STAND_IN = 1
"""Inside the accepted range of every number that is read."""

Read = Callable[[dict[str, Any]], object]


def complete(first: ConfigError, config: Mapping[str, Any], inner_key: str | None, read: Read) -> ConfigError:
    """The same refusal with all faults in ``faults``, the first one first.

    ``read`` reads a config or raises; ``inner_key`` names the object in it that describes the language model.
    """
    faults = [first]
    mended = _copied(config, inner_key)
    tried: dict[str, int] = {}
    doubtful: set[str] = set()
    now = first
    while len(tried) < FAULTS_MAXIMUM and _set_aside(now, mended, inner_key, tried):
        doubtful |= set(FOLLOWS.get(str(now.params.get("key")), ()))
        try:
            read(mended)
        except ConfigError as found:
            now = found
        else:
            break
        key = str(now.params.get("key", ""))
        if key not in tried and key not in doubtful:
            faults.append(now)
    return first if len(faults) == 1 else _of(faults)


def _copied(config: Mapping[str, Any], inner_key: str | None) -> dict[str, Any]:
    copied = dict(config)
    if inner_key is not None:
        copied[inner_key] = dict(copied[inner_key])
    return copied


def _set_aside(
    fault: ConfigError, config: dict[str, Any], inner_key: str | None, tried: dict[str, int]
) -> bool:
    """Take a refused value out; where it is needed, put a stand-in. False where neither can help."""
    key = fault.params.get("key")
    if not isinstance(key, str) or key == "model_type" or tried.get(key, 0) > 1:
        return False
    levels = [config] if inner_key is None else [config, config[inner_key]]
    is_there = any(level.get(key) is not None for level in levels)
    tried[key] = tried.get(key, 0) + 1
    if is_there and tried[key] == 1:
        for level in levels:
            level.pop(key, None)
    else:
        levels[-1][key] = STAND_IN
    return True


def _of(faults: list[ConfigError]) -> ConfigError:
    first = faults[0]
    together = ConfigError(first.code, "; ".join(str(fault) for fault in faults), **first.params)
    together.faults = tuple(faults)
    return together
