"""Ways to split one replica over the devices of a machine, and what the speed model sees of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor
from typing import Any

from planner.sizing import divisibility, memory, offload, split_support, support, tried_layouts
from planner.sizing.architecture import Architecture
from planner.sizing.devices import Layout, Machine
from planner.sizing.memory import Need
from planner.sizing.points import UnknownRate, serving_point
from planner.sizing.results import MemorySplit, Verdict
from planner.sizing.runtime import Runtime
from planner.sizing.serving import ServingPoint
from planner.sizing.setting import Refusal
from planner.sizing.speculation import draft_of
from planner.sizing.workload import BatchWorkload, Offload, ServingWorkload


def altered(point: ServingPoint, **changes: Any) -> ServingPoint:
    """The point with some fields changed. ``dataclasses.replace`` takes ten times as long, for hundreds of points."""
    made = object.__new__(ServingPoint)
    made.__dict__.update(point.__dict__)
    made.__dict__.update(changes)
    return made


@dataclass(frozen=True, eq=False)
class Option:
    """One way to split a replica over devices of a machine, what is in its memory, and its speed's inputs."""

    layout: Layout
    split: MemorySplit
    verdict: Verdict
    point: ServingPoint
    sequences: float
    """The engine's own cap on sequences that run together."""
    is_plain: bool
    """By tensors or by layers alone, as the engine does unasked."""


@dataclass(eq=False)
class Desk:
    """One workload, tried on machine after machine; equal devices are worked out once."""

    workload: ServingWorkload | BatchWorkload
    arch: Architecture
    runtime: Runtime
    need: Need = field(init=False)
    offloads: bool = field(init=False)
    """Whether weights are kept in host memory."""
    _tried: dict[tuple[str, float, str, int, int, int, int, float | None], Option | MemorySplit] = field(
        default_factory=dict
    )
    _split_as: dict[int, tuple[tuple[Layout, dict[str, Any] | None], ...]] = field(default_factory=dict)
    _lacking: dict[str, dict[str, Any] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.need = Need.of(self.workload)
        self.offloads = self.need.offload != Offload()

    def layouts(self, machine: Machine) -> list[tuple[Layout, dict[str, Any] | None]]:
        """Splits within one machine, fewest devices first, each with the rule it breaks.

        By layers or by tensors, as the runtime does; and otherwise where that can win.
        """
        counts = [n for n in range(1, machine.device_count + 1) if machine.device_count % n == 0]
        return [split for n in (counts if machine.fraction == 1 else [1]) for split in self._layouts(n)]

    def _layouts(self, devices: int) -> tuple[tuple[Layout, dict[str, Any] | None], ...]:
        if devices not in self._split_as:
            layout = tried_layouts.plain(self.runtime, devices)
            ranks, form = self.need.context_parallel, self.workload.weights_format
            broken = (
                split_support.refusal(self.runtime, layout, context_parallel=ranks)
                or divisibility.violation(self.arch, form, layout)
                or divisibility.context_violation(self.arch, layout, ranks)
            )
            found: tuple[tuple[Layout, dict[str, Any] | None], ...] = ((layout, broken),)
            others = tried_layouts.beside_plain(self.arch, form, self.runtime, devices, ranks)
            found += tuple((other, None) for other in others if not self.offloads)
            self._split_as[devices] = found
        return self._split_as[devices]

    def _unsupported(self, machine: Machine) -> dict[str, Any] | None:
        if self.runtime.memory_only:
            return {"rule": "memory_only", "runtime": self.runtime.name, "source": self.runtime.source}
        name = machine.device.name
        if name not in self._lacking:
            self._lacking[name] = support.refusal(
                self.runtime, machine.device, self.workload.weights_format, self.workload.kv_format, self.arch
            ) or offload.refusal(self.runtime, self.need.offload, self.arch)
        return self._lacking[name]

    def options(self, machine: Machine) -> list[Option] | Refusal:
        """Layouts that fit, fewest devices first, or the first rule none passes: support, memory, division.

        A layout that fits only without headroom counts where none fits with it.
        """
        arch = self.arch
        lacking = self._unsupported(machine)
        if lacking is not None:
            return Refusal("support", lacking)
        if arch.max_position is not None and self.need.maximum_tokens > arch.max_position:
            asked = {"asked": self.need.maximum_tokens, "maximum": arch.max_position}
            return Refusal("context", {"rule": "context_length"} | asked)
        found: list[Option] = []
        worst: tuple[Layout, MemorySplit] | None = None
        broken: tuple[Layout, dict[str, Any]] | None = None
        for layout, violation in self.layouts(machine):
            if violation is not None:
                broken = broken or (layout, violation)
                continue
            try:
                outcome = self.option(machine, layout)
            except UnknownRate as unknown:
                return Refusal("support", {"rule": unknown.code} | unknown.params)
            if isinstance(outcome, Option):
                found.append(outcome)
            elif layout == tried_layouts.plain(self.runtime, layout.device_count):
                worst = (layout, outcome)
        if found:
            fits = [option for option in found if option.verdict == "fits"]
            return fits or found[:1]
        if broken is not None:
            return Refusal("divisibility", broken[1], worst[1] if worst else None, broken[0])
        if worst is None:
            raise ValueError("a machine without devices")
        layout, split = worst
        if split.overcommitted_bytes and split.needed_bytes <= split.usable_bytes:
            # Enough room, but a budget so large that the engine has none beside it.
            shares = {"asked": self.need.utilization, "maximum": split.fraction_maximum}
            return Refusal("memory", {"rule": "overcommitted"} | shares, layout=layout)
        return Refusal("memory", {"devices": layout.device_count}, split, layout)

    def option(self, machine: Machine, layout: Layout) -> Option | MemorySplit:
        """The option of this layout, or only its memory where it does not fit. Raises ``UnknownRate``."""
        # What lies in host memory is as fast as the machine's cores.
        cores = machine.vcpu if self.offloads else None
        # Numbers, not the layout: hashing that for a thousand splits costs more than a tenth of a comparison.
        degrees = layout.tp, layout.pp, layout.ep, layout.dp
        key = (machine.device.name, machine.fraction, machine.link, *degrees, cores)
        if key not in self._tried:
            split = memory.split(self.arch, self.need, self.runtime, machine.device, layout)
            verdict = memory.verdict(split)
            self._tried[key] = (
                split if verdict == "does_not_fit" else self._sized(machine, layout, split, verdict)
            )
        return self._tried[key]

    def _sized(self, machine: Machine, layout: Layout, split: MemorySplit, verdict: Verdict) -> Option:
        """The replica as the speed model sees it. The headroom asked for is kept free of KV cache, too."""
        workload = self.workload
        room_bytes = split.kv_room_bytes - (split.headroom_bytes if verdict == "fits" else 0)
        over = memory.overheads(self.arch, self.need, self.runtime, machine.device, layout)
        point = serving_point(
            self.arch,
            machine.device,
            self.runtime,
            layout,
            link=machine.link,
            weights_format=workload.weights_format,
            kv_format=workload.kv_format,
            input_tokens=workload.input_tokens.typical,
            output_tokens=workload.output_tokens.typical,
            kv_room_bytes=max(0, room_bytes),
            batch_cap=over.sequences,
            chunk_tokens=over.batched_tokens,
            load="saturated",
            prefix_hit_fraction=workload.prefix_hit_fraction,
            draft=draft_of(workload.runtime.options),
            eager=bool(workload.runtime.options.enforce_eager),
        )
        if self.offloads:
            point = self._slowed(point, machine, layout)
        if self.need.context_parallel > 1:
            point = _shared(point, self.need.context_parallel)
        # Planned is what is shown as fitting: every request at its full length, whole requests only in each group.
        per_request = float(split.kv_needed_bytes) if self.runtime.preallocates else point.kv_full_bytes
        room_each = point.kv_room_bytes / max(per_request, 1.0) / layout.dp
        most = min(point.batch_cap, floor(room_each) * layout.dp)
        if isinstance(workload, BatchWorkload):
            most = min(most, workload.request_count)
        planned = altered(
            point, batch_cap=float(max(1, most)), kv_prompt_bytes=per_request, kv_full_bytes=per_request
        )
        is_plain = layout == tried_layouts.plain(self.runtime, layout.device_count)
        return Option(layout, split, verdict, planned, point.batch_cap, is_plain)

    def _slowed(self, point: ServingPoint, machine: Machine, layout: Layout) -> ServingPoint:
        """The point with weights that lie in host memory counted as the bytes of the device's own memory that are
        read in the same time: over the bus, or by the cores that replicas of the machine share."""
        moved = offload.of(self.arch, self.need.weights_format, layout, self.runtime, self.need.offload)
        replicas = max(1, machine.device_count // layout.device_count)
        times = offload.slowdown(machine.device, offload.bytes_per_s(machine, moved.way, replicas))
        return altered(
            point,
            always_read_bytes=point.always_read_bytes * (1 + moved.always_fraction * (times - 1)),
            experts_read_bytes=point.experts_read_bytes * (1 + moved.experts_fraction * (times - 1)),
        )


def _shared(point: ServingPoint, ranks: int) -> ServingPoint:
    """The point with the tokens of the cache shared by so many ranks: held, read and attended to by each its part."""
    return altered(
        point,
        kv_read_bytes=point.kv_read_bytes / ranks,
        decode_attention_flops=point.decode_attention_flops / ranks,
        kv_prompt_bytes=point.kv_prompt_bytes / ranks,
        kv_full_bytes=point.kv_full_bytes / ranks,
    )
