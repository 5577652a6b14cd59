"""What is in the memory of one device, as it is shown and stored."""

from __future__ import annotations

from pydantic import Field

from planner.sizing.quantities import Estimate, Frozen


class MemorySplit(Frozen):
    """Bytes on the fullest device of one replica.

    ``usable_bytes`` is what the runtime may take; ``device_bytes`` what the engine sees. ``needed_bytes``
    is weights + KV at the load asked for + activations + overhead.
    """

    device_bytes: int
    usable_bytes: int
    weights_bytes: int
    kv_bytes_per_token: int
    """On one device; the KV of sliding-window layers makes it depend on length: this is at typical length."""
    kv_room_bytes: int
    kv_room_tokens: int
    """Of the whole replica, as requests that fit are: of all groups that keep attention by requests together."""
    kv_needed_bytes: int
    activation_bytes: int
    overhead_bytes: int
    headroom_bytes: int
    needed_bytes: int
    concurrency_at_typical: int
    concurrency_at_maximum: int
    outside_bytes: int = 0
    """What the engine holds beside its budget: device context, and graphs and warm-up where they are not in it."""
    overcommitted_bytes: int = 0
    """By how much a budget that was asked for and what lies outside it exceed the device: the engine would fail
    to start however little the load needs. Judged by the upper end of what lies outside, which no engine checks."""
    fraction_maximum: float | None = None
    """Of an engine that takes a fraction of the device: the largest that leaves room for what lies outside."""
    groups: int = 1
    """Groups of devices of which each holds requests of its own; 1: every device holds a part of each request."""
    host_bytes: int = 0
    """Host memory of one replica for weights and cache that were moved there."""
    ranges: dict[str, Estimate] = Field(default_factory=dict)
    """80 % ranges by the field's name, for candidates that are shown: ``weights_bytes``, ``kv_needed_bytes``,
    ``kv_bytes_per_token``, ``activation_bytes``, ``overhead_bytes``, ``needed_bytes``, ``kv_room_bytes``,
    ``kv_room_tokens``."""


class MemoryPart(Frozen):
    """One named part of the memory of a device, with its 80 % range where it is predicted."""

    name: str
    size_bytes: int
    low_bytes: int | None = None
    high_bytes: int | None = None


class MemoryParts(Frozen):
    """Bytes on the fullest device, by parts that the kind of workload names.

    ``usable_bytes`` is what the work may take; ``device_bytes`` what its software sees. ``needed_bytes`` is the sum
    of the parts.
    """

    device_bytes: int
    usable_bytes: int
    headroom_bytes: int
    needed_bytes: int
    parts: tuple[MemoryPart, ...]
