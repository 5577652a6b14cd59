"""The subjects one can explore an answer by; a kind of workload lists those that mean something for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from planner.explore import llm, sensitivity, training, utilisation
from planner.explore.alone import Alone
from planner.explore.shapes import Shape
from planner.sizing.results import Candidate

Text = str | Promise


@dataclass(frozen=True)
class Explored:
    """What a subject is drawn of."""

    alone: Alone
    """The candidate that is explored, by itself."""
    others: tuple[Candidate, ...] = ()
    """The first candidates of the ranking."""
    managed_per_million: float | None = None
    """What the reader pays a service for a million tokens, in the workload's currency and mix of in and out."""


@dataclass(frozen=True)
class Subject:
    title: Text
    make: Callable[[Explored], Shape | None]
    of_complete_prices: bool = False
    """Of the other candidates, those with a line of unknown price are left out."""


SUBJECTS: dict[str, Subject] = {
    "sensitivity": Subject(_("What moves it"), lambda given: sensitivity.chart(given.alone)),
    "memory": Subject(_("Memory and context"), lambda given: llm.memory_by_context(given.alone)),
    "tpot": Subject(_("TPOT and load"), lambda given: llm.latency_by_load(given.alone)),
    "ttft": Subject(_("TTFT and load"), lambda given: llm.first_token_by_load(given.alone)),
    "throughput": Subject(_("Throughput and load"), lambda given: llm.throughput_by_load(given.alone)),
    "micro": Subject(_("Memory and micro-batch"), lambda given: training.memory_by_micro_batch(given.alone)),
    "sequence": Subject(_("Memory and sequence"), lambda given: training.memory_by_sequence(given.alone)),
    "gpus": Subject(_("Hours and GPUs"), lambda given: training.hours_by_gpus(given.alone)),
    "frontier": Subject(_("Cost and hours"), lambda given: training.cost_by_hours(given.alone)),
    "utilisation": Subject(
        _("Cost and utilisation"),
        lambda given: utilisation.chart(
            given.alone.candidate(), given.others, managed_per_million=given.managed_per_million
        ),
        of_complete_prices=True,
    ),
}
