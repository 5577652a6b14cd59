"""The subjects one can explore an answer by; a kind of workload lists those that mean something for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from planner.explore import llm, sensitivity, utilisation
from planner.explore.alone import Alone
from planner.explore.shapes import Shape
from planner.sizing.results import Candidate

Text = str | Promise


@dataclass(frozen=True)
class Subject:
    title: Text
    make: Callable[[Alone, tuple[Candidate, ...]], Shape | None]
    """Given one offer alone and the first candidates of the ranking."""
    of_complete_prices: bool = False
    """Candidates with a line of unknown price are left out."""


SUBJECTS: dict[str, Subject] = {
    "sensitivity": Subject(_("What moves it"), lambda alone, _first: sensitivity.chart(alone)),
    "memory": Subject(_("Memory and context"), lambda alone, _first: llm.memory_by_context(alone)),
    "tpot": Subject(_("TPOT and load"), lambda alone, _first: llm.latency_by_load(alone)),
    "ttft": Subject(_("TTFT and load"), lambda alone, _first: llm.first_token_by_load(alone)),
    "throughput": Subject(_("Throughput and load"), lambda alone, _first: llm.throughput_by_load(alone)),
    "utilisation": Subject(
        _("Cost and utilisation"),
        lambda _alone, candidates: utilisation.chart(candidates),
        of_complete_prices=True,
    ),
}
