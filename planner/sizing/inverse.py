"""The questions turned round: the longest context, the most users, the largest models for a card × count.

Each is answered by a search over the same functions that size a workload: memory never falls with length or
requests, so halving finds the border exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from planner.sizing import divisibility, memory, split_support, support, tried_layouts
from planner.sizing.architecture import Architecture, parameter_count
from planner.sizing.devices import Layout, Machine
from planner.sizing.formats import FORMATS
from planner.sizing.memory import Need
from planner.sizing.quantities import Frozen
from planner.sizing.results import MemorySplit, Verdict
from planner.sizing.runtime import Runtime
from planner.sizing.workload import TOKENS_MAXIMUM

LimitedBy = Literal["memory", "model_length", "engine_sequences", "searched"]
"""What stops it: the memory, the model's longest position, the engine's cap on sequences, or the search's end."""
SEQUENCES_MAXIMUM = 65_536
"""No engine runs more sequences in one replica."""
CONVERTED = ("fp8", "int4_awq")
CONVERTED_LLAMA_CPP = ("gguf_q8_0", "gguf_q4_k_m")


class Reach(Frozen):
    """The most of something that fits, on the best split of the machine; ``value`` 0 where nothing does."""

    value: int
    limited_by: LimitedBy
    layout: Layout
    replicas: int
    """Replicas that share the users of the machine."""
    users_per_replica: int
    split: MemorySplit
    """Of one replica at this value; where nothing fits, of the least that was tried."""
    verdict: Verdict


class Fitting(Frozen):
    """A model that fits with a number of users at a context."""

    model: str
    parameters: int
    weights_format: str
    is_stored: bool
    """Whether the checkpoint is published in this format; else it would have to be made from it."""
    layout: Layout
    users: int
    """Most users at that context, all replicas together."""
    verdict: Verdict


@dataclass(frozen=True)
class Question:
    """One model on one machine, with the engine's options; lengths and requests are what is asked for."""

    arch: Architecture
    runtime: Runtime
    machine: Machine
    need: Need

    def refusal(self) -> dict[str, object] | None:
        """Why this engine cannot run it on this device at all; None where it can."""
        return support.refusal(
            self.runtime, self.machine.device, self.need.weights_format, self.need.kv_format, self.arch
        )

    def layouts(self) -> Iterator[tuple[Layout, int]]:
        """Splits that divide, with the replicas that fill the machine; fewest devices first.

        By layers or by tensors, as the runtime does; and otherwise where that can win.
        """
        count, ranks = self.machine.device_count, self.need.context_parallel
        for devices in (n for n in range(1, count + 1) if count % n == 0):
            layout = tried_layouts.plain(self.runtime, devices)
            divides = divisibility.violation(self.arch, self.need.weights_format, layout) is None
            divides = divides and divisibility.context_violation(self.arch, layout, ranks) is None
            if divides and split_support.refusal(self.runtime, layout, context_parallel=ranks) is None:
                yield layout, count // devices
            form = self.need.weights_format
            for other in tried_layouts.beside_plain(self.arch, form, self.runtime, devices, ranks):
                yield other, count // devices

    def split(self, layout: Layout, tokens: int, users: int) -> MemorySplit:
        """Memory with this many users at once, every one at this context."""
        own = ceil(users / layout.dp)
        asked = replace(self.need, typical_tokens=tokens, maximum_tokens=tokens, concurrency=own)
        return memory.split(self.arch, asked, self.runtime, self.machine.device, layout)

    def sequences(self, layout: Layout, tokens: int) -> int:
        """Sequences that the engine runs at once at most."""
        asked = replace(self.need, typical_tokens=tokens, maximum_tokens=tokens)
        over = memory.overheads(self.arch, asked, self.runtime, self.machine.device, layout)
        return over.sequences * layout.dp


def _fits(split: MemorySplit) -> bool:
    return memory.verdict(split) == "fits"


def _most(fits: Callable[[int], bool], most: int) -> int:
    """The largest value up to ``most`` for which ``fits`` holds; 0 where it holds for none. It must be monotone."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high < most and fits(high):
        low, high = high, high * 2
    high = min(high, most)
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def longest_context(question: Question, users: int) -> Reach | None:
    """Most tokens (input + output) that each of ``users`` requests at once may have, the headroom kept free.

    The best of all splits of the machine; users are spread evenly over replicas. None where no split divides.
    Never above the model's longest position. An engine that runs fewer sequences at once than users are asked
    for cannot serve them together: such a split is passed over.
    """
    longest = min(question.arch.max_position or TOKENS_MAXIMUM, TOKENS_MAXIMUM)
    best: Reach | None = None
    for layout, replicas in question.layouts():
        own = ceil(users / replicas)
        tokens = 0
        if own <= question.sequences(layout, 1):
            tokens = _most(lambda n, at=layout, own=own: _fits(question.split(at, n, own)), longest)  # type: ignore[misc]
        limit: LimitedBy = "memory"
        if tokens == longest:
            limit = "searched" if question.arch.max_position is None else "model_length"
        elif own > question.sequences(layout, 1):
            limit = "engine_sequences"
        split = question.split(layout, max(1, tokens), own)
        found = Reach(
            value=tokens, limited_by=limit, layout=layout, replicas=replicas, users_per_replica=own,
            split=memory.with_ranges(split, question.runtime), verdict=memory.verdict(split),
        )  # fmt: skip
        if best is None or found.value > best.value:
            best = found
    return best


def most_users(question: Question, tokens: int) -> Reach | None:
    """Most requests at once of ``tokens`` (input + output) on the whole machine, the headroom kept free.

    The best of all splits; None where no split divides. 0 with ``model_length`` where the model cannot attend that
    far.
    """
    best: Reach | None = None
    too_long = question.arch.max_position is not None and tokens > question.arch.max_position
    for layout, replicas in question.layouts():
        cap = min(question.sequences(layout, tokens), SEQUENCES_MAXIMUM)
        own = 0 if too_long else _most(lambda n, at=layout: _fits(question.split(at, tokens, n)), cap)  # type: ignore[misc]
        limit: LimitedBy = "model_length" if too_long else "engine_sequences" if own == cap else "memory"
        split = question.split(layout, tokens, max(1, own))
        found = Reach(
            value=own * replicas, limited_by=limit, layout=layout, replicas=replicas, users_per_replica=own,
            split=memory.with_ranges(split, question.runtime), verdict=memory.verdict(split),
        )  # fmt: skip
        if best is None or found.value > best.value:
            best = found
    return best


def formats_of(arch: Architecture, runtime: Runtime) -> tuple[str, ...]:
    """Formats to try a model in, widest first: the checkpoint's own, and what 16 bits are usually made into."""
    stored = arch.stored_format if arch.stored_format in FORMATS else "bf16"
    if runtime.name in ("llama_cpp", "ollama"):
        return tuple(
            dict.fromkeys((*(("bf16",) if stored in ("bf16", "fp16") else ()), *CONVERTED_LLAMA_CPP))
        )
    return (stored, *CONVERTED) if stored in ("bf16", "fp16") else (stored,)


def largest_models(
    models: Iterable[Architecture],
    runtime: Runtime,
    machine: Machine,
    need: Need,
    *,
    tokens: int,
    users: int,
    limit: int = 10,
) -> tuple[Fitting, ...]:
    """Models with most parameters that fit ``users`` requests at once of ``tokens``, each in its widest format.

    Only formats that the engine runs on the device; a model that cannot attend that far is left out.
    """
    found: list[Fitting] = []
    have = machine.device.engine_total_bytes * machine.device_count
    ordered = sorted(models, key=lambda one: (-parameter_count(one), one.id))
    for arch in ordered:
        if len(found) >= limit:
            break
        if arch.not_sized or (arch.max_position is not None and tokens > arch.max_position):
            continue
        for name in formats_of(arch, runtime):
            if parameter_count(arch) * min(FORMATS[name].linear_bits, 16) / 8 * 0.9 > have:
                continue
            question = Question(arch, runtime, machine, replace(need, weights_format=name))
            if question.refusal() is not None:
                continue
            reach = most_users(question, tokens)
            if reach is not None and reach.value >= users:
                _add(found, Fitting(
                    model=arch.id, parameters=parameter_count(arch), weights_format=name,
                    is_stored=name == arch.stored_format, layout=reach.layout, users=reach.value,
                    verdict=reach.verdict,
                ))  # fmt: skip
                break
    return tuple(found)


def _add(found: list[Fitting], one: Fitting) -> None:
    """The same model in the same format stands once: as the checkpoint that is published in it, where there is one."""
    for position, other in enumerate(found):
        if (other.parameters, other.weights_format) == (one.parameters, one.weights_format):
            if one.is_stored and not other.is_stored:
                found[position] = one
            return
    found.append(one)
