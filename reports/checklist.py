"""The operations checklist of a plan: what must be settled before a workload runs for others. Pure; no prose.

It is part of a version's content: changing it makes the next version, and every file carries it. What is computed
from it is computed here: how available one machine is compared with a redundant layout, and whether a restore that
was tested keeps the recovery target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import Field

from planner.sizing.quantities import Frozen
from planner.sizing.results import Comparison, OfferFacts

TRAINING = frozenset({"lora", "qlora", "full_finetune", "pretraining"})
JOBS = frozenset({"llm_batch"})
HOURS_PER_MONTH = 730
SERVICES_MAXIMUM = 20
QUESTIONS_MAXIMUM = 40
SPARES_MAXIMUM = 16

ENTRIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("combination", ("driver", "framework", "runtime", "verified_where", "cpu_governor", "roll_back")),
    (
        "access",
        (
            "models_read", "models_change", "data_read", "data_change", "logs_read", "logs_change", "admin_read",
            "admin_change",
        ),
    ),
    ("checkpoints", ("checkpoint_serving", "checkpoint_resuming")),
    ("backup", ("backup_what", "backup_where")),
    ("monitoring", ("monitor_gpus", "monitor_nodes", "monitor_links", "monitor_jobs")),
)  # fmt: skip
"""Sections with their entries, in the order of the page."""
ENTRY_CODES = tuple(code for _section, codes in ENTRIES for code in codes)

Text = Annotated[str, Field(max_length=1000)]
Line = Annotated[str, Field(max_length=200)]
Share = Annotated[float, Field(gt=0, lt=1)]
Hours = Annotated[float, Field(ge=0, le=8760)]


class Service(Frozen):
    """One service that touches data: which, where they lie, how they get there, how long they stay, by which rule."""

    name: Line
    data_class: Line = ""
    place: Line = ""
    transfer: Line = ""
    retention: Line = ""
    rule: Line = ""


class Checklist(Frozen):
    """What a team wrote down. An entry without text is open; ``done`` marks what was settled."""

    entries: dict[str, Text] = {}
    done: tuple[str, ...] = ()
    services: Annotated[tuple[Service, ...], Field(max_length=SERVICES_MAXIMUM)] = ()
    questions: Annotated[tuple[Text, ...], Field(max_length=QUESTIONS_MAXIMUM)] = ()
    availability_target: Share | None = None
    """Share of the time that the service must answer."""
    machine_availability: Share | None = None
    """Share of the time that one machine is up, as its provider promises or as it was seen."""
    recovery_hours: Hours | None = None
    """After which time a failed service must be back."""
    tolerated_loss_hours: Hours | None = None
    """How much of the last data may be lost, as time."""
    backup_interval_hours: Hours | None = None
    restore_tested_on: date | None = None
    restore_hours: Hours | None = None
    """How long the tested restore took."""


@dataclass(frozen=True)
class Layout:
    """Machines that are rented for ``needed`` that must work, and how available the service is then."""

    machines: int
    needed: int
    availability: float
    monthly: Decimal | None
    currency: str
    is_complete: bool
    """Whether every line of the month is known."""

    @property
    def downtime_hours(self) -> float:
        """Hours a month (of 730) in which the service is away."""
        return (1 - self.availability) * HOURS_PER_MONTH


def availability(machines: int, needed: int, one: float) -> float:
    """Share of the time in which at least ``needed`` of ``machines`` work.

    ``sum over k from needed to machines of C(machines, k) · one^k · (1 − one)^(machines − k)``. Machines fail
    independently: a cause that takes several at once (a region, a bad deployment) is left out, so the true figure
    of a redundant layout is lower.
    """
    return math.fsum(
        math.comb(machines, up) * one**up * (1 - one) ** (machines - up) for up in range(needed, machines + 1)
    )


def layouts(comparison: Comparison, checklist: Checklist) -> tuple[Layout, ...]:
    """The first candidate as it is, and with as many spare machines as the target needs (one at least).

    Empty where the availability of one machine is not known or there is no candidate. A target that sixteen spares
    do not reach ends there.
    """
    one = checklist.machine_availability
    if one is None or not comparison.candidates:
        return ()
    first = comparison.candidates[0]
    needed = max(1, first.machines)

    def layout(machines: int) -> Layout:
        return Layout(
            machines,
            needed,
            availability(machines, needed, one),
            _monthly(comparison, machines),
            first.monthly.currency,
            first.monthly.complete,
        )

    found = [layout(needed), layout(needed + 1)]
    target = checklist.availability_target
    while (
        target is not None
        and found[-1].availability < target
        and found[-1].machines < needed + SPARES_MAXIMUM
    ):
        found[1:] = [layout(found[-1].machines + 1)]
    return tuple(found)


def _monthly(comparison: Comparison, machines: int) -> Decimal | None:
    """The month's total with so many machines: each spare costs what one of the others does; None if unknown."""
    first = comparison.candidates[0]
    rent = next((line.amount for line in first.monthly.lines if line.what == "gpu"), None)
    if rent is None:
        return None
    extra = rent / max(1, first.machines) * (machines - first.machines)
    return first.monthly.total + extra.quantize(Decimal("0.01"))


def restore_verdict(checklist: Checklist) -> str:
    """``kept``, ``missed``, ``not_tested`` or ``no_target``: a tested restore against the recovery time."""
    if checklist.recovery_hours is None:
        return "no_target"
    if checklist.restore_tested_on is None or checklist.restore_hours is None:
        return "not_tested"
    return "kept" if checklist.restore_hours <= checklist.recovery_hours else "missed"


def loss_verdict(checklist: Checklist) -> str:
    """The same for what may be lost: at worst everything since the last backup."""
    if checklist.tolerated_loss_hours is None:
        return "no_target"
    if checklist.backup_interval_hours is None:
        return "not_tested"
    return "kept" if checklist.backup_interval_hours <= checklist.tolerated_loss_hours else "missed"


def availability_verdict(found: Sequence[Layout], checklist: Checklist) -> str:
    """Which layout keeps the target: ``one``, ``redundant`` or ``none``; ``no_target`` or ``unknown`` before."""
    target = checklist.availability_target
    if target is None:
        return "no_target"
    if not found:
        return "unknown"
    if found[0].availability >= target:
        return "one"
    return "redundant" if found[-1].availability >= target else "none"


def prefilled(comparisons: Sequence[Comparison]) -> Checklist:
    """A first checklist from what the plan itself knows; everything else is left open, never guessed."""
    entries: dict[str, str] = {}
    services: list[Service] = []
    runtimes, cards, models = [], [], []
    for comparison in comparisons:
        asked = comparison.workload
        runtime = asked.get("runtime") or {}
        if runtime.get("name"):
            runtimes.append(f"{runtime['name']} {runtime.get('version') or ''}".strip())
        offer = _public_first(comparison)
        if offer is not None:
            cards.append(offer.accelerator)
        model = asked.get("model") or {}
        named = " @ ".join(part for part in (model.get("id"), model.get("revision")) if part)
        models.append(named or str(comparison.model.get("name") or ""))
        services += [each for each in _services(comparison) if each not in services]
    if runtimes:
        entries["runtime"] = ", ".join(dict.fromkeys(runtimes))
    if cards:
        entries["driver"] = f"{', '.join(dict.fromkeys(cards))}: "
    if any(models):
        entries["checkpoint_serving"] = ", ".join(dict.fromkeys(name for name in models if name))
    return Checklist(entries=entries, services=tuple(services[:SERVICES_MAXIMUM]))


def _public_first(comparison: Comparison) -> OfferFacts | None:
    """The first candidate's offer; None where it is a private one, which a link to the plan must not name."""
    first = comparison.candidates[0].offer if comparison.candidates else None
    return None if first is None or first.quote is not None else first


def _services(comparison: Comparison) -> list[Service]:
    """The services that a kind of workload cannot do without, named by codes that the page words."""
    offer = _public_first(comparison)
    place = ", ".join(part for part in (offer.provider_name, offer.region) if part) if offer else ""
    if comparison.kind in TRAINING:
        names = ("training_data", "checkpoints", "logs")
    elif comparison.kind in JOBS:
        names = ("job_inputs", "job_results", "logs")
    else:
        names = ("requests", "weights", "logs")
    return [Service(name=f"@{name}", place=place) for name in names]
