"""Serving engines as parameter sets: how they budget memory, what they hold beside weights and KV, by
version."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Literal

from planner.sizing.devices import Device
from planner.sizing.quantities import GIB, SET_BY_HAND, Assumption, Frozen
from planner.sizing.settable import ENGINE

Budget = Literal["fraction_of_total", "static_fraction", "fraction_of_free", "whole_device"]


class UnknownRuntime(Exception):
    """No such engine, or no such version of it."""

    code = "unknown_runtime"

    def __init__(self, name: str, version: str | None, known: Sequence[str]) -> None:
        self.params = {"name": name, "version": version, "known": tuple(known)}
        super().__init__(f"unknown runtime {name} {version or ''}: known are {', '.join(known)}")


class DeviceDefault(Frozen):
    """An engine's default that depends on the card: the first row whose memory is reached holds."""

    memory_gib_minimum: float = 0
    architectures_excluded: tuple[str, ...] = ()
    batched_tokens: int
    sequences: int


class Runtime(Frozen):
    """One engine in one era. ``constants`` are named assumptions in bytes or counts, each with its source."""

    name: str
    label: str
    version: str
    era: str
    era_from: str
    budget: Budget
    fraction: float
    block_tokens: int
    frees_windows: bool
    unifies_pages: bool = False
    """Shares pages between layers with and without windows, so that each kind is filled up to whole
    groups."""
    frees_chunks: bool = True
    """Frees what lies in finished chunks, where attention stays within chunks."""
    pages_states: bool = False
    """Keeps states of layers without a cache in pages of the cache: its blocks grow until a state fits in one."""
    state_blocks: int = 1
    """Pages of states that one sequence takes in each layer."""
    states_upfront: bool = False
    """Keeps states of all sequences it may run at once beside the cache, from the start."""
    state_pool_ratio: float | None = None
    """Splits the room between a pool of states and one of cache, in this ratio."""
    splits_layers: bool = False
    """Spreads a model over devices by layers, not by tensors."""
    memory_only: bool = False
    """Its budget of memory is known here, its speed is not."""
    preallocates: bool = False
    """Takes the whole context of every sequence up front."""
    graphs_in_budget: bool = False
    embeds_on_host: bool = False
    """Looks tokens up in host memory: the embedding is not on the device unless it is the head as well."""
    defaults: tuple[DeviceDefault, ...]
    batched_tokens_cover_length: bool = False
    """The scheduled batch grows to the longest prompt (no chunked prefill)."""
    chunks_above_tokens: int | None = None
    """Longer models are prefilled in chunks after all, if they have neither windows nor towers."""
    chunk_tokens: int | None = None
    constants: dict[str, Assumption]
    ranges: dict[str, tuple[float, float]] = {}
    """80 % ranges of what was measured, as factors on a prediction, by metric (``memory_ranges``)."""
    source: str

    def with_assumed(self, assumed: Mapping[str, float]) -> Runtime:
        """The same engine with those of its constants that a user sets; names that are no engine's are passed over."""
        own = {
            name: self._constant_set(name, value)
            for name, value in assumed.items()
            if name in ENGINE and name != "memory_fraction"
        }
        if not own:
            return self
        # Made anew, not copied: a copy would keep the digest of the constants before.
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return Runtime(**fields | {"constants": self.constants | own})

    def _constant_set(self, name: str, value: float) -> Assumption:
        shipped = self.constants.get(name)
        known = shipped.name if shipped is not None else f"{self.name}.{name}"
        unit = ENGINE[name].unit
        return Assumption(name=known, value=value, unit=unit, source=SET_BY_HAND, user_set=True)

    @cached_property
    def digest(self) -> int:
        """Hash of what tells one engine from another, its constants too: a fit tries many values of them."""
        values = tuple((name, constant.value) for name, constant in self.constants.items())
        return hash((self.name, self.version, self.era, values))

    def __hash__(self) -> int:
        return self.digest

    def constant(self, name: str) -> float:
        """Value of a constant; 0 where this engine has no such buffer."""
        found = self.constants.get(name)
        return float(found.value) if found is not None else 0.0

    def device_default(self, device: Device | None) -> DeviceDefault:
        """What the engine would choose on this card."""
        if device is None:
            return self.defaults[-1]
        for row in self.defaults:
            if device.memory_bytes >= row.memory_gib_minimum * GIB * 0.98 and not any(
                device.architecture.lower().startswith(name.lower())
                or device.name.lower().startswith(name.lower())
                for name in row.architectures_excluded
            ):
                return row
        return self.defaults[-1]


@lru_cache(maxsize=1024)
def version_key(version: str) -> tuple[int, ...]:
    """``"0.10.1.post2"`` → ``(0, 10, 1)``; what is not a number ends it."""
    found: list[int] = []
    for part in re.split(r"[.\-+]", version.strip().lstrip("~vb")):
        digits = re.match(r"\d{1,9}", part)
        if digits is None:
            break
        found.append(int(digits.group()))
    return tuple(found)


def choose(eras: Sequence[Runtime], name: str, version: str | None) -> Runtime:
    """The era of engine ``name`` that this version belongs to; the newest without a version.

    Raises ``UnknownRuntime`` for an engine that is not known or a version that is no version.
    """
    own = sorted((era for era in eras if era.name == name), key=lambda era: version_key(era.era_from))
    if not own:
        raise UnknownRuntime(name, version, sorted({era.name for era in eras}))
    if version is None:
        return own[-1]
    key = version_key(version)
    if not key:
        raise UnknownRuntime(name, version, [era.version for era in own])
    fitting = [era for era in own if version_key(era.era_from) <= key]
    chosen = fitting[-1] if fitting else own[0]
    return _named(chosen, version)


@lru_cache(maxsize=256)
def _named(era: Runtime, version: str) -> Runtime:
    """The era under the version asked for: one object for each, so that what is kept for it is found at once."""
    return era.model_copy(update={"version": version})
