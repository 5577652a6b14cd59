"""A placement of a served LLM looked at from the other side: what its machine holds at most, what conditions cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

from planner.sizing import inverse
from planner.sizing.memory import Need
from planner.sizing.options import Desk
from planner.sizing.placement import LATENCY_TARGETS, Loads, Placement
from planner.sizing.placing import settle, targets_of
from planner.sizing.results import FitTarget, LongestContext
from planner.sizing.setting import Refusal, Spared
from planner.sizing.workload import BatchWorkload

if TYPE_CHECKING:
    from planner.sizing.llm import LlmSetting

LIKE_NONE = 0.01
"""Of a request in flight, by Little's law."""


def longest_context(setting: LlmSetting, placed: Placement) -> LongestContext | None:
    """Most tokens that each request of the peak may have on one machine, by its best split; None for jobs.

    The peak is what was asked for; of a request rate, the requests in flight that it makes on this machine.
    """
    workload = setting.workload
    if isinstance(workload, BatchWorkload):
        return None
    loads = Loads.of(workload)
    held = loads.peak if loads.kind == "concurrency" else placed.peak.requests_in_flight * placed.replicas
    users = max(1, ceil(held - LIKE_NONE))
    question = inverse.Question(setting.arch, setting.runtime, placed.machine, Need.of(workload))
    found = inverse.longest_context(question, users)
    if found is None:
        return None
    free = found
    if workload.headroom_fraction:
        without = replace(question, need=replace(question.need, headroom_fraction=0.0))
        free = inverse.longest_context(without, users) or found
    return LongestContext(
        users=users,
        tokens=found.value,
        tokens_without_headroom=free.value,
        layout=found.layout,
        replicas=found.replicas,
        limited_by=found.limited_by,
        is_own_layout=found.layout == placed.layout,
    )


def relieved(setting: LlmSetting, placed: Placement) -> Iterator[Spared[Placement]]:
    """The machine placed again without the headroom, and without each target, where that needs fewer machines."""
    if placed.machines == 1:
        return
    conditions = list(_conditions(setting))
    others = [setting.changed(update).workload for _target, _asked, update in conditions]
    # All in one pass: the search for a load costs the same for one machine as for several.
    tried = [
        (placed.machine, Desk(other, setting.arch, setting.runtime).options(placed.machine))
        for other in others
    ]
    settled = settle(setting.workload, tried, setting.constants, [targets_of(other) for other in others])
    for (target, asked, _update), found in zip(conditions, settled, strict=True):
        if isinstance(found, Refusal) or found.machines >= placed.machines:
            continue
        got = None if target == "headroom_fraction" else getattr(found.peak, target)
        yield Spared(found, target, asked, got.value if got else None)


def _conditions(setting: LlmSetting) -> Iterator[tuple[FitTarget, float, dict[str, Any]]]:
    """What may be given up: the headroom and each latency target, with the workload's fields without it."""
    workload = setting.workload
    if workload.headroom_fraction:
        yield "headroom_fraction", workload.headroom_fraction, {"headroom_fraction": 0.0}
    if isinstance(workload, BatchWorkload):
        return
    for target in LATENCY_TARGETS:
        asked = getattr(workload.targets, target)
        if isinstance(asked, int | float):
            yield target, asked, {"targets": workload.targets.model_copy(update={target: "none"})}
