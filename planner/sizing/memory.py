"""What is in the memory of one device of a replica, whether it fits, and what would make it fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor
from operator import attrgetter
from typing import Any

from planner.sizing import kv_cache, memory_ranges, offload, weights
from planner.sizing.architecture import Architecture
from planner.sizing.devices import Device, Layout
from planner.sizing.drafting import drafting
from planner.sizing.formats import FORMATS, compute_rate
from planner.sizing.overheads import (
    DeviceKind,
    Need,
    Overheads,
    device_kind,
    forward_bytes,
    overheads,
    overheads_of,
)
from planner.sizing.quantities import GIB
from planner.sizing.results import MemorySplit, Verdict
from planner.sizing.runtime import Runtime
from planner.sizing.workload import Offload

__all__ = ["Need", "Overheads", "device_bytes", "forward_bytes", "gib", "longest_context", "overheads", "split",
           "verdict", "what_would_help", "with_ranges"]  # fmt: skip


SHORT_TOKENS = 64
"""A request of few blocks of the cache: one token takes as much of it as all."""


def device_bytes(device: Device, fraction: float = 1.0) -> int:
    """Memory the engine sees on the device, or on a slice of it."""
    return floor(device.engine_total_bytes * fraction)


@dataclass(frozen=True, slots=True)
class Pools:
    """A room that is split between states and cache in a fixed ratio, whatever is asked for.

    A request takes of the room as much as the pool it fills first says: the larger of states ÷ their share and
    cache ÷ its share.
    """

    states: float = 0.0
    cache_share: float = 1.0

    @staticmethod
    def of(runtime: Runtime, states: float) -> Pools:
        ratio = runtime.state_pool_ratio
        return Pools(states, 1.0 / (1.0 + ratio)) if ratio and states else Pools()

    def request(self, cache_bytes: int) -> int:
        """Bytes of the whole room that one request with this much cache takes."""
        if self.cache_share == 1.0:
            return cache_bytes
        return ceil(max(cache_bytes / self.cache_share, self.states / (1.0 - self.cache_share)))


def states_apart(kv: kv_cache.KvFootprint, runtime: Runtime) -> float:
    """Bytes of one sequence's states where the engine keeps them apart from the cache; 0 where it does not."""
    apart = runtime.states_upfront or runtime.state_pool_ratio
    return kv.sequence_states_bytes if apart else 0.0


def device_cache_fraction(need: Need, moved: offload.Offloaded) -> float:
    """Share of a request's cache on each of the ranks that would else hold all of it: without the layers that the
    host computes, and without the tokens that other ranks hold."""
    return (1.0 - moved.kv_fraction) / need.context_parallel


@dataclass(frozen=True, slots=True)
class _Parts:
    """What does not depend on how large the device is, on the load and on the budget: equal for all of a family."""

    over: Overheads
    moved: offload.Offloaded
    resident: int
    inside: int
    fixed: int
    cache_share: float
    here: float
    """Share of a request's cache that is on the device (``device_cache_fraction``)."""
    per_token: int
    typical: int
    """Bytes of a request of typical length."""
    longest: int
    """Bytes that must be free before the longest request is admitted."""
    whole: int
    """Bytes of the longest request, wherever they are."""
    outside_at_most: int


_SHAPE = (
    "weights_format", "kv_format", "typical_tokens", "maximum_tokens", "batched_tokens", "sequences", "eager",
    "flash_attention", "context_tokens", "drafts", "offload", "context_parallel",
)  # fmt: skip
"""All of a need that ``_Parts`` depend on."""
_shape = attrgetter(*_SHAPE)


@lru_cache(maxsize=4096)
def _parts(arch: Architecture, runtime: Runtime, layout: Layout, kind: DeviceKind, *shape: Any) -> _Parts:
    """Worked out once: a comparison asks for hundreds of splits of a few kinds of devices."""
    need = Need(**dict(zip(_SHAPE, shape, strict=True)))
    arch = drafting(arch) if need.drafts else arch
    moved = offload.of(arch, need.weights_format, layout, runtime, need.offload)
    resident = weights.footprint(arch, need.weights_format, layout).resident_bytes - moved.device_bytes
    over = overheads_of(arch, need, runtime, kind, layout)
    kv = kv_cache.footprint(arch, need.kv_format, need.weights_format, layout, runtime, over.batched_tokens)
    states = states_apart(kv, runtime)
    if states:
        kv = kv.without_states()
    inside = over.inside + (round(states * over.sequences) if runtime.states_upfront else 0)
    here = device_cache_fraction(need, moved)
    pools = Pools.of(runtime, states)
    return _Parts(
        over=over,
        moved=moved,
        resident=resident,
        inside=inside,
        fixed=resident + over.activation + inside,
        cache_share=pools.cache_share,
        here=here,
        per_token=max(1, round(kv.bytes_per_token(need.typical_tokens) * here)) if kv.layers else 1,
        typical=pools.request(max(1, round(kv.bytes_for(need.typical_tokens) * here))),
        longest=pools.request(max(1, round(kv.reserved_bytes_for(need.maximum_tokens) * here))),
        whole=kv.bytes_for(need.maximum_tokens),
        outside_at_most=memory_ranges.outside_at_most(over, runtime),
    )


def split(
    arch: Architecture, need: Need, runtime: Runtime, device: Device, layout: Layout, fraction: float = 1.0
) -> MemorySplit:
    """Bytes on the fullest device of one replica."""
    parts = _parts(arch, runtime, layout, device_kind(runtime, device), *_shape(need))
    over, resident, inside, fixed = parts.over, parts.resident, parts.inside, parts.fixed
    total = device_bytes(device, fraction)
    share = need.utilization or runtime.fraction
    overcommitted, fraction_maximum = 0, None
    if runtime.budget == "fraction_of_total":
        usable = min(floor(share * total), max(0, total - over.outside))
        at_most = parts.outside_at_most
        fraction_maximum = max(0, floor((total - at_most) / total * 100)) / 100 if total else 0.0
        if need.utilization is not None:
            overcommitted = max(0, floor(share * total) + at_most - total)
    elif runtime.budget == "static_fraction":
        # The static part holds weights and cache, of what is free after the engine set itself up; what is
        # left must hold the rest.
        free = total - over.non_torch - over.context
        static = min(floor(share * max(0, free)), max(0, total - over.activation - inside))
        usable = static + over.activation + inside
        fraction_maximum = max(0, floor((total - over.activation - inside) / max(1, free) * 100)) / 100
        if need.utilization is not None:
            overcommitted = max(0, floor(share * max(0, free)) + over.activation + inside - total)
    elif runtime.budget == "fraction_of_free":
        usable = min(total, fixed) + floor(share * max(0, total - fixed))
    else:
        usable = floor(share * total)
    room = max(0, usable - fixed)
    host = parts.moved.host_bytes + round(need.kv_offload_bytes)
    if runtime.preallocates:
        kv_needed = round(need.concurrency * parts.whole * parts.here)
        host += round(need.concurrency * parts.whole * parts.moved.kv_fraction) * layout.device_count
    else:
        kv_needed = max(parts.longest, round(need.concurrency * parts.typical))
    return MemorySplit(
        device_bytes=total,
        usable_bytes=usable,
        weights_bytes=resident,
        kv_bytes_per_token=parts.per_token,
        kv_room_bytes=room,
        kv_room_tokens=layout.dp * floor(room * parts.cache_share / parts.per_token),
        kv_needed_bytes=kv_needed,
        activation_bytes=over.activation,
        overhead_bytes=inside,
        headroom_bytes=round(need.headroom_fraction * usable),
        needed_bytes=fixed + kv_needed,
        concurrency_at_typical=layout.dp * (room // parts.typical),
        concurrency_at_maximum=layout.dp * (room // parts.longest),
        outside_bytes=over.outside,
        overcommitted_bytes=overcommitted,
        fraction_maximum=fraction_maximum,
        groups=layout.dp,
        host_bytes=host,
    )


def with_ranges(found: MemorySplit, runtime: Runtime) -> MemorySplit:
    """The same split with the 80 % range of each block."""
    return found.model_copy(update={"ranges": memory_ranges.of(found, runtime)})


def verdict(found: MemorySplit) -> Verdict:
    """``fits`` with the headroom asked for, ``tight`` only without it, else ``does_not_fit``.

    A budget so large that what lies outside it has no room does not fit either: the engine fails to start.
    """
    if found.overcommitted_bytes:
        return "does_not_fit"
    if found.needed_bytes + found.headroom_bytes <= found.usable_bytes:
        return "fits"
    if found.needed_bytes <= found.usable_bytes:
        return "tight"
    return "does_not_fit"


def what_would_help(
    arch: Architecture, need: Need, runtime: Runtime, device: Device, layout: Layout, *,
    device_count: int = 1,
    weights_formats: tuple[str, ...] = (), kv_formats: tuple[str, ...] = (), fraction: float = 1.0,
) -> tuple[dict[str, Any], ...]:  # fmt: skip
    """Changes that would make it fit, computed one at a time, smallest first.

    ``weights_formats`` and ``kv_formats`` are what this runtime can run on this device. Each change
    carries the bytes it would need and have, and the verdict it would give.
    """
    found: list[dict[str, Any]] = []

    def tried(change: str, to: Any, other: Need, split_as: Layout = layout) -> None:
        result = split(arch, other, runtime, device, split_as, fraction)
        outcome = verdict(result)
        if outcome != "does_not_fit":
            found.append(
                {
                    "change": change,
                    "to": to,
                    "needed_bytes": result.needed_bytes,
                    "usable_bytes": result.usable_bytes,
                    "verdict": outcome,
                }
            )

    if need.utilization is not None:
        found_now = split(arch, need, runtime, device, layout, fraction)
        if found_now.overcommitted_bytes and found_now.fraction_maximum:
            share = found_now.fraction_maximum
            tried("gpu_memory_utilization", share, replace(need, utilization=share))
    length = longest_context(arch, need, runtime, device, layout, fraction)
    if need.typical_tokens <= length < need.maximum_tokens:
        tried("maximum_tokens", length, replace(need, maximum_tokens=length))
    # Where not even one token fits, no format of the cache makes a whole request fit.
    for name in kv_formats if length or need.maximum_tokens <= SHORT_TOKENS else ():
        if name != need.kv_format:
            tried("kv_format", name, replace(need, kv_format=name))
    for doubled in (2, 4, 8):
        if layout.tp * doubled <= device_count:
            before = len(found)
            tried("tp", layout.tp * doubled, need, Layout(tp=layout.tp * doubled, pp=layout.pp))
            if len(found) > before:
                break
    now = FORMATS[need.weights_format].linear_bits

    def gentlest(name: str) -> tuple[float, bool]:
        """Widest first; of equal width the one that the matrix units run."""
        rate = compute_rate(device, name)
        return -round(FORMATS[name].linear_bits, 1), rate is None or rate.saves_memory_only

    narrower = sorted((name for name in weights_formats if FORMATS[name].linear_bits < now), key=gentlest)
    for name in narrower:
        before = len(found)
        tried("weights_format", name, replace(need, weights_format=name))
        if len(found) > before:
            break
    for change, value, other in _offloads(arch, need, runtime, device, layout, fraction):
        tried(change, value, other)
        if found and found[-1]["change"] == change:
            found[-1]["host_bytes"] = split(arch, other, runtime, device, layout, fraction).host_bytes
    return tuple(found)


def _offloads(
    arch: Architecture, need: Need, runtime: Runtime, device: Device, layout: Layout, fraction: float
) -> Iterator[tuple[str, Any, Need]]:
    """The least that must be kept in host memory for it to fit, by each option that this engine has."""
    now = split(arch, need, runtime, device, layout, fraction)
    kept = offload.of(arch, need.weights_format, layout, runtime, need.offload).device_bytes
    for name in offload.options(runtime, arch):
        most = arch.layer_count
        if name == "weights_gib":
            most = ceil(weights.footprint(arch, need.weights_format, layout).resident_bytes / GIB)

        def asked(count: int, name: str = name) -> Offload:
            return need.offload.model_copy(update={name: count})

        def fits(count: int, asked: Callable[[int], Offload] = asked) -> bool:
            moved = replace(need, offload=asked(count))
            return verdict(split(arch, moved, runtime, device, layout, fraction)) != "does_not_fit"

        # Most often the weights alone are too much: what must leave is known, and one try beside it confirms.
        short = now.needed_bytes - now.usable_bytes
        lacking, guess = 0, most
        while guess - lacking > 1:
            middle = (lacking + guess) // 2
            gone = offload.of(arch, need.weights_format, layout, runtime, asked(middle)).device_bytes - kept
            lacking, guess = (lacking, middle) if gone >= short else (middle, guess)
        if guess < 1:
            continue
        if fits(guess):
            low, high = (guess - 1, guess) if guess > 1 and not fits(guess - 1) else (0, guess)
        elif guess < most and fits(most):
            low, high = guess, most
        else:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fits(middle) else (middle, high)
        yield f"offload_{name}", high, replace(need, offload=asked(high))


def longest_context(
    arch: Architecture, need: Need, runtime: Runtime, device: Device, layout: Layout, fraction: float = 1.0
) -> int:
    """The most tokens one request may have and still fit beside the load; 0 where none does.

    Found by halving: memory never falls with length.
    """

    def fits(length: int) -> bool:
        shorter = replace(need, maximum_tokens=length, typical_tokens=min(need.typical_tokens, length))
        return verdict(split(arch, shorter, runtime, device, layout, fraction)) != "does_not_fit"

    # Where the weights alone are too much, as on most rejected machines, one try tells.
    if not fits(1):
        return 0
    low, high = 1, need.maximum_tokens
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def gib(size: float) -> float:
    """Bytes as GiB (2^30)."""
    return size / GIB
