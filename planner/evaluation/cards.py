"""Which cards a label of a measurement file can mean."""

from __future__ import annotations

import re
from functools import cache

from catalog.facts import accelerators
from catalog.identify import identify
from planner.inputs import device
from planner.sizing.devices import Device

ASIDE = re.compile(r"\([^)]*\)|\bdual\b|\bdgx spark\b|\b480 ?gb\b", re.IGNORECASE)
"""Remarks beside the name: what is not stated, host memory, how many sit on one board."""

MEMORY = re.compile(r"\s+\d+\s*gb$", re.IGNORECASE)

SPELLINGS = {
    "intel max 1550": "GPUMax1550",
    "apple m1 max 32-core": "AppleM1Max-32core",
    "apple m3 max 40-core": "AppleM3Max-40core",
}
"""Names of whole computers or boards that no shop lists."""

BOARD_GPUS = 2
"""GPUs (or dies that the runtime counts apart) on one board, where the stated memory is that of two."""


@cache
def cards(label: str, memory_gb: float | None) -> tuple[Device, ...]:
    """Every card that ``label`` can mean with that memory of one card; empty where none is known.

    A board of two GPUs is found by half of its memory.
    """
    name = " ".join(ASIDE.sub(" ", label).split())
    for memory in (memory_gb, memory_gb / BOARD_GPUS if memory_gb else None):
        found = _named(name, memory)
        if found:
            return found
    return _named(MEMORY.sub("", name), None)


def _named(name: str, memory_gb: float | None) -> tuple[Device, ...]:
    facts = accelerators()
    plain = MEMORY.sub("", name).casefold()
    if plain in SPELLINGS:
        names: tuple[str, ...] = (SPELLINGS[plain],)
    else:
        meant = identify(name, None, memory_gb)
        names = (
            (meant.canonical,) if meant.canonical else meant.candidates if meant.status == "ambiguous" else ()
        )
    devices = (device(facts[item]) for item in names if item in facts)
    return tuple(item for item in devices if item is not None)
