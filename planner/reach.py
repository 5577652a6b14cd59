"""The questions turned round, for pages and commands: one call each."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from catalog.facts import accelerators
from catalog.identify import identify
from planner import architectures, inputs, runtimes
from planner.sizing import inverse
from planner.sizing.architecture import Architecture
from planner.sizing.devices import Machine
from planner.sizing.inverse import Fitting, Question, Reach
from planner.sizing.memory import Need
from planner.sizing.quantities import Frozen
from planner.sizing.workload import BatchWorkload, CommonWorkload, ServingWorkload

MODELS_SHOWN = 10
COUNT_MAXIMUM = 72
"""Devices in one machine or one rack that acts as one."""


class UnknownAccelerator(LookupError):
    """No accelerator of that name, several, or one whose memory or bandwidth is unknown; ``nearest`` may be meant."""

    def __init__(self, name: str, nearest: tuple[str, ...], *, unknown_memory: bool = False) -> None:
        self.name = name
        self.nearest = nearest
        self.unknown_memory = unknown_memory
        super().__init__(
            f"accelerator: {name[:60]}" + (f" (one of {', '.join(nearest)}?)" if nearest else "")
        )


class NotServed(ValueError):
    """A workload of a kind that no serving engine runs."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"kind: {kind} is not served by an engine; llm_serving and llm_batch are")


class Answer(Frozen):
    """What a machine holds of a model, and which models it holds."""

    model: str
    runtime: str
    version: str
    weights_format: str
    kv_format: str
    accelerator: str
    count: int
    users: int
    tokens: int
    refused: dict[str, Any] | None
    """Why the engine cannot run this model in this format on this device: rule, numbers, source."""
    longest_context: Reach | None
    """For that many users at once; None where no split divides or it is refused."""
    most_users: Reach | None
    """At that context."""
    largest_models: tuple[Fitting, ...]
    """For that many users at that context."""


def machine(name: str, count: int) -> Machine:
    """``count`` of one accelerator in one machine. Raises ``UnknownAccelerator``."""
    facts = accelerators()
    if name not in facts:
        meant = identify(name, None, None)
        if meant.canonical is None or meant.canonical not in facts or meant.fraction != 1.0:
            raise UnknownAccelerator(name, tuple(meant.candidates))
        name = meant.canonical
    found = inputs.machine(facts[name], count=count)
    if found is None:
        raise UnknownAccelerator(name, (), unknown_memory=True)
    return found


@lru_cache(maxsize=1)
def _models() -> tuple[Architecture, ...]:
    """Shipped models of which everything is known, one for each set of shapes."""
    found: dict[tuple[Any, ...], Architecture] = {}
    for entry in architectures.entries():
        arch = entry.architecture
        if arch is not None and arch.not_sized is None:
            found.setdefault((arch.hidden, arch.vocab, arch.layers, arch.stored_format), arch)
    return tuple(found.values())


def answer(
    workload: CommonWorkload,
    *,
    accelerator: str,
    count: int,
    users: int | None = None,
    tokens: int | None = None,
    with_models: bool = True,
) -> Answer:
    """The longest context for ``users``, the most users at ``tokens``, the largest models for both.

    Users and tokens are those of the workload's peak and longest request where they are not given. Raises
    ``ModelError``, ``UnknownRuntime``, ``UnknownAccelerator``, ``NotServed``.
    """
    if not isinstance(workload, ServingWorkload | BatchWorkload):
        raise NotServed(str(getattr(workload, "kind", "")))
    arch = architectures.resolve(workload.model)
    runtime = runtimes.resolve(workload.runtime.name, workload.runtime.version)
    at = machine(accelerator, count)
    need = Need.of(workload)
    users = users or _users(workload)
    tokens = tokens or need.maximum_tokens
    question = Question(arch, runtime, at, need)
    refused = question.refusal()
    models: tuple[Fitting, ...] = ()
    if with_models:
        models = inverse.largest_models(
            _models(), runtime, at, need, tokens=tokens, users=users, limit=MODELS_SHOWN
        )
    return Answer(
        model=arch.id,
        runtime=runtime.name,
        version=runtime.version,
        weights_format=need.weights_format,
        kv_format=need.kv_format,
        accelerator=at.device.name,
        count=count,
        users=users,
        tokens=tokens,
        refused=refused,
        longest_context=None if refused else inverse.longest_context(question, users),
        most_users=None if refused else inverse.most_users(question, tokens),
        largest_models=models,
    )


def _users(workload: ServingWorkload | BatchWorkload) -> int:
    return max(1, round(workload.concurrency.peak)) if isinstance(workload, ServingWorkload) else 1
