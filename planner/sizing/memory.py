"""What is in the memory of one device of a replica, whether it fits, and what would make it fit."""

from __future__ import annotations

from dataclasses import replace
from math import floor
from typing import Any

from planner.sizing import kv_cache, memory_ranges, weights
from planner.sizing.architecture import Architecture
from planner.sizing.devices import Device, Layout
from planner.sizing.drafting import drafting
from planner.sizing.formats import FORMATS, compute_rate
from planner.sizing.overheads import HALF_BYTES, Need, Overheads, forward_bytes, mlp_width, overheads
from planner.sizing.quantities import GIB, Assumption, Derivation, Term
from planner.sizing.results import MemorySplit, Verdict
from planner.sizing.runtime import Runtime

__all__ = ["Need", "Overheads", "assumptions", "derive", "device_bytes", "forward_bytes", "gib",
    "longest_context",
           "overheads", "split", "verdict", "what_would_help"]  # fmt: skip


def device_bytes(device: Device, fraction: float = 1.0) -> int:
    """Memory the engine sees on the device, or on a slice of it."""
    return floor(device.engine_total_bytes * fraction)


def split(
    arch: Architecture, need: Need, runtime: Runtime, device: Device, layout: Layout, fraction: float = 1.0
) -> MemorySplit:
    """Bytes on the fullest device of one replica."""
    arch = drafting(arch) if need.drafts else arch
    held = weights.footprint(arch, need.weights_format, layout)
    over = overheads(arch, need, runtime, device, layout)
    kv = kv_cache.footprint(arch, need.kv_format, need.weights_format, layout, runtime, over.batched_tokens)
    total = device_bytes(device, fraction)
    share = need.utilization or runtime.fraction
    fixed = held.resident_bytes + over.activation + over.inside
    overcommitted, fraction_maximum = 0, None
    if runtime.budget == "fraction_of_total":
        usable = min(floor(share * total), max(0, total - over.outside))
        at_most = memory_ranges.outside_at_most(over, runtime)
        fraction_maximum = max(0, floor((total - at_most) / total * 100)) / 100 if total else 0.0
        if need.utilization is not None:
            overcommitted = max(0, floor(share * total) + at_most - total)
    elif runtime.budget == "static_fraction":
        # The static part holds weights and cache, of what is free after the engine set itself up; what is
        # left must hold the rest.
        free = total - over.non_torch - over.context
        static = min(floor(share * max(0, free)), max(0, total - over.activation - over.inside))
        usable = static + over.activation + over.inside
    elif runtime.budget == "fraction_of_free":
        usable = min(total, fixed) + floor(share * max(0, total - fixed))
    else:
        usable = floor(share * total)
    room = max(0, usable - fixed)
    per_token = kv.bytes_per_token(need.typical_tokens)
    typical = kv.bytes_for(need.typical_tokens)
    longest = kv.reserved_bytes_for(need.maximum_tokens)
    if runtime.preallocates:
        kv_needed = round(need.concurrency * kv.bytes_for(need.maximum_tokens))
    else:
        kv_needed = max(longest, round(need.concurrency * typical))
    return MemorySplit(
        device_bytes=total,
        usable_bytes=usable,
        weights_bytes=held.resident_bytes,
        kv_bytes_per_token=per_token,
        kv_room_bytes=room,
        kv_room_tokens=room // per_token,
        kv_needed_bytes=kv_needed,
        activation_bytes=over.activation,
        overhead_bytes=over.inside,
        headroom_bytes=round(need.headroom_fraction * usable),
        needed_bytes=fixed + kv_needed,
        concurrency_at_typical=room // typical,
        concurrency_at_maximum=room // longest,
        outside_bytes=over.outside,
        overcommitted_bytes=overcommitted,
        fraction_maximum=fraction_maximum,
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
    for name in kv_formats:
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
    return tuple(found)


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


def derive(
    arch: Architecture, need: Need, runtime: Runtime, device: Device, layout: Layout, fraction: float = 1.0
) -> dict[str, Derivation]:
    """How the figures of the split come about, to be read and evaluated again."""
    arch, need = (drafting(arch), replace(need, drafts=False)) if need.drafts else (arch, need)
    found = split(arch, need, runtime, device, layout, fraction)
    over = overheads(arch, need, runtime, device, layout)
    kv = kv_cache.footprint(arch, need.kv_format, need.weights_format, layout, runtime, over.batched_tokens)
    typical, longest = kv.bytes_for(need.typical_tokens), kv.reserved_bytes_for(need.maximum_tokens)

    def term(symbol: str, value: float, unit: str = "byte", source: str | None = None) -> Term:
        return Term(symbol=symbol, value=value, unit=unit, source=source)

    parts = (
        term("weights_bytes", found.weights_bytes, source=arch.source),
        term("activation_bytes", found.activation_bytes, source=runtime.source),
        term("overhead_bytes", found.overhead_bytes, source=runtime.source),
    )
    share = term("memory_fraction", need.utilization or runtime.fraction, "1", runtime.source)
    device_term = term("device_bytes", found.device_bytes, source=device.source)
    fixed = "weights_bytes + activation_bytes + overhead_bytes"
    usable_terms: tuple[Term, ...] = (device_term, share)
    if runtime.budget == "fraction_of_total":
        usable = "min(floor(memory_fraction * device_bytes), max(0, device_bytes - outside_bytes))"
        usable_terms += (term("outside_bytes", over.outside, source=runtime.source),)
    elif runtime.budget == "static_fraction":
        usable = (
            "min(floor(memory_fraction * max(0, device_bytes - engine_bytes)), "
            "max(0, device_bytes - activation_bytes - overhead_bytes))"
            " + activation_bytes + overhead_bytes"
        )
        usable_terms += (term("engine_bytes", over.non_torch + over.context, source=runtime.source),)
        usable_terms += parts[1:]
    elif runtime.budget == "fraction_of_free":
        usable = f"min(device_bytes, {fixed}) + floor(memory_fraction * max(0, device_bytes - ({fixed})))"
        usable_terms += parts
    else:
        usable = "floor(memory_fraction * device_bytes)"
    usable_term = term("usable_bytes", found.usable_bytes)
    room = term("kv_room_bytes", found.kv_room_bytes)
    if runtime.preallocates:
        needed_kv = "round(concurrency * longest_request_bytes)"
        kv_terms: tuple[Term, ...] = (term("longest_request_bytes", kv.bytes_for(need.maximum_tokens)),)
    else:
        needed_kv = "max(longest_request_bytes, concurrency * typical_request_bytes)"
        kv_terms = (term("longest_request_bytes", longest), term("typical_request_bytes", typical))
    kv_terms += (term("concurrency", need.concurrency, "request"),)

    def derivation(
        figure: str, formula: str, terms: tuple[Term, ...], value: float, unit: str = "byte"
    ) -> Derivation:
        return Derivation(figure=figure, formula=formula, terms=terms, value=value, unit=unit)

    if runtime.preallocates:
        needed_kv = needed_kv.replace("round(", "(")
    return {
        "weights_bytes": weights.derive(arch, need.weights_format, layout),
        "kv_bytes_per_token": kv_cache.derive(kv, need.typical_tokens),
        "activation_bytes": _derive_activation(arch, need, runtime, layout, over),
        "usable_bytes": derivation("usable_bytes", usable, usable_terms, found.usable_bytes),
        "kv_room_bytes": derivation(
            "kv_room_bytes", f"max(0, usable_bytes - ({fixed}))", (usable_term, *parts), found.kv_room_bytes
        ),
        "kv_room_tokens": derivation(
            "kv_room_tokens",
            "floor(kv_room_bytes / kv_bytes_per_token)",
            (room, term("kv_bytes_per_token", found.kv_bytes_per_token, "byte/token")),
            found.kv_room_tokens,
            "token",
        ),
        "concurrency_at_typical": derivation(
            "concurrency_at_typical",
            "floor(kv_room_bytes / typical_request_bytes)",
            (room, term("typical_request_bytes", typical)),
            found.concurrency_at_typical,
            "request",
        ),
        "concurrency_at_maximum": derivation(
            "concurrency_at_maximum",
            "floor(kv_room_bytes / longest_request_bytes)",
            (room, term("longest_request_bytes", longest)),
            found.concurrency_at_maximum,
            "request",
        ),
        "kv_needed_bytes": derivation("kv_needed_bytes", needed_kv, kv_terms, found.kv_needed_bytes),
        "needed_bytes": derivation(
            "needed_bytes",
            f"{fixed} + kv_needed_bytes",
            (*parts, term("kv_needed_bytes", found.kv_needed_bytes)),
            found.needed_bytes,
        ),
    }


def _derive_activation(
    arch: Architecture, need: Need, runtime: Runtime, layout: Layout, over: Overheads
) -> Derivation:
    width = 4 if need.weights_format == "fp32" else HALF_BYTES
    values = {
        "batched_tokens": (over.batched_tokens, "token"),
        "sequences": (min(over.sequences, over.batched_tokens), "request"),
        "value_bytes": (width, "byte"),
        "mlp_width": (mlp_width(arch, layout), "1"),
        "hidden": (arch.hidden, "1"),
        "hidden_copies": (runtime.constant("hidden_copies"), "1"),
        "vocabulary": (arch.vocab, "token"),
        "logit_bytes": (runtime.constant("logit_bytes"), "byte"),
        "prompt_value_bytes": (runtime.constant("prompt_value_bytes"), "byte"),
        "score_positions": (0 if need.flash_attention else arch.heads * need.maximum_tokens, "1"),
        "base_bytes": (runtime.constant("activation_base_bytes"), "byte"),
    }
    return Derivation(
        figure="activation_bytes",
        formula=(
            "max(batched_tokens * value_bytes * (mlp_width + hidden_copies * hidden), "
            "sequences * vocabulary * logit_bytes + base_bytes, "
            "batched_tokens * max(vocabulary + 2 * hidden, score_positions) * prompt_value_bytes)"
        ),
        terms=tuple(
            Term(symbol=name, value=value, unit=unit, source=runtime.source)
            for name, (value, unit) in values.items()
        ),
        value=over.activation,
        unit="byte",
    )


def assumptions(
    runtime: Runtime, device: Device | None = None, need: Need | None = None
) -> tuple[Assumption, ...]:
    """The numbers behind every split with this runtime: its options, the user's where given, and its constants."""
    given = need or Need()
    options: list[tuple[str, float | None, float, str]] = [
        ("memory_fraction", given.utilization, runtime.fraction, "1"),
    ]
    if device is not None:
        default = runtime.device_default(device)
        options += [
            ("max_num_batched_tokens", given.batched_tokens, default.batched_tokens, "token"),
            ("max_num_seqs", given.sequences, default.sequences, "request"),
        ]
    listed = [
        Assumption(
            name=name,
            value=usual if own is None else own,
            unit=unit,
            source=runtime.source if own is None else "as entered",
            user_set=own is not None,
        )
        for name, own, usual, unit in options
    ]
    return (*listed, *runtime.constants.values())


def gib(size: float) -> float:
    """Bytes as GiB (2^30)."""
    return size / GIB
