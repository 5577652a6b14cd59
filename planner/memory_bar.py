"""The memory of the fullest GPU as a bar: fixed roles in a fixed order, on the screen and on paper."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from planner import figures
from planner.sizing.results import MemoryParts, MemorySplit
from planner.wording import listed, memory_part

ROLES = {
    "weights": "weights", "frozen": "weights", "kv": "kv", "trainable": "own1", "gradients": "own2",
    "optimizer": "own3", "activations": "activations", "logits": "own4", "overhead": "overhead",
}  # fmt: skip
"""Colours of parts that are the same wherever they stand; a part that is not named here takes the next one free."""
OWN = ("own1", "own2", "own3", "own4")


@dataclass(frozen=True)
class Segment:
    role: str
    """A colour: that of its part, or headroom, free, over."""
    label: str
    size_bytes: int
    start_percent: str
    width_percent: str
    range: str = ""
    """The 80 % range of what is predicted, GiB."""
    opens: str = ""
    """Name of its derivation."""

    @property
    def gib(self) -> str:
        return figures.gib(self.size_bytes)


@dataclass(frozen=True)
class MemoryBar:
    """The fullest GPU of one replica. The bar is as long as the larger of usable and needed."""

    needed: str
    usable: str
    segments: tuple[Segment, ...]
    needed_range: str
    limit_percent: str | None
    """Where usable memory ends, if more is needed."""

    @property
    def spoken(self) -> str:
        return listed(f"{segment.label} {segment.gib} GiB" for segment in self.segments)


def _parts(split: MemorySplit | MemoryParts) -> list[tuple[str, int]]:
    if isinstance(split, MemoryParts):
        return [(part.name, part.size_bytes) for part in split.parts]
    return [
        ("weights", split.weights_bytes),
        ("kv", split.kv_needed_bytes),
        ("activations", split.activation_bytes),
        ("overhead", split.overhead_bytes),
    ]


def _roles(parts: list[tuple[str, int]]) -> list[str]:
    taken = {ROLES[name] for name, _size in parts if name in ROLES}
    free = [own for own in OWN if own not in taken]
    unnamed = [name for name, _size in parts if name not in ROLES]
    given = {name: (free or list(OWN))[number % len(free or OWN)] for number, name in enumerate(unnamed)}
    return [ROLES.get(name) or given[name] for name, _size in parts]


def memory_bar(split: MemorySplit | MemoryParts) -> MemoryBar:
    named, ranges = _parts(split), _ranges(split)
    is_split = isinstance(split, MemorySplit)
    parts = [
        (role, memory_part(name), size, ranges.get(name, ""), FIELDS[name] if is_split else f"{name}_bytes")
        for role, (name, size) in zip(_roles(named), named, strict=True)
    ]
    total = max(split.usable_bytes, split.needed_bytes, 1)
    over = max(0, split.needed_bytes - split.usable_bytes)
    spare = max(0, split.usable_bytes - split.needed_bytes)
    headroom = min(split.headroom_bytes, spare)
    segments: list[Segment] = []
    start = 0
    room = split.usable_bytes
    for role, label, size, ends, opens in parts:
        inside = max(0, min(size, room)) if over else size
        segments.append(replace(_segment(role, label, size, start, inside, total, ends), opens=opens))
        start += inside
        room -= inside
    if over:
        segments.append(_segment("over", _("over the limit"), over, split.usable_bytes, over, total))
    else:
        segments.append(_segment("free", _("free"), spare - headroom, start, spare - headroom, total))
        segments.append(
            _segment("headroom", _("headroom"), headroom, start + spare - headroom, headroom, total)
        )
    return MemoryBar(
        needed=figures.gib(split.needed_bytes),
        usable=figures.gib(split.usable_bytes),
        needed_range=ranges.get("needed", ""),
        segments=tuple(segment for segment in segments if segment.size_bytes > 0),
        limit_percent=f"{split.usable_bytes / total * 100:.3f}%" if over else None,
    )


def _segment(role: str, label: str, size: int, start: int, drawn: int, total: int, ends: str = "") -> Segment:
    there, wide = f"{start / total * 100:.3f}%", f"{drawn / total * 100:.3f}%"
    return Segment(role, label, size, there, wide, ends, f"{role}_bytes")


FIELDS = {
    "weights": "weights_bytes", "kv": "kv_needed_bytes", "activations": "activation_bytes",
    "overhead": "overhead_bytes",
}  # fmt: skip


def _ranges(split: MemorySplit | MemoryParts) -> dict[str, str]:
    """Ranges by part, and of the whole under ``needed``; of exact figures there are none."""
    if isinstance(split, MemoryParts):
        return {
            part.name: _ends(part.low_bytes, part.high_bytes)
            for part in split.parts
            if part.low_bytes is not None and part.high_bytes is not None
        }
    found = {name: split.ranges.get(field) for name, field in (*FIELDS.items(), ("needed", "needed_bytes"))}
    return {name: _ends(ends.low, ends.high) for name, ends in found.items() if ends is not None}


def _ends(low: float, high: float) -> str:
    first, last = figures.gib(low), figures.gib(high)
    return "" if first == last else f"{first}–{last}"
