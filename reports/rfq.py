"""A request for quotation out of a plan: what a provider must know to quote, and nothing that others quoted. Pure.

It names the question, the machines that would carry it, and what to ask. No price, provider or private offer of the
plan is in it: it goes to people who compete with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from planner.sizing.results import Candidate, Comparison

MACHINES_OFFERED = 12
ANSWER_HEADS = (
    "provider", "quote no", "machine", "gpu", "gpus", "vcpu", "ram", "region", "tier", "term", "term months", "price",
    "currency", "unit", "upfront", "tax included", "date", "valid until", "survives restart", "survives host change",
    "survives contract end", "data location", "availability", "startup minutes", "answered on", "note",
)  # fmt: skip
"""Heads of the answer sheet; the upload of private offers knows each of them."""


@dataclass(frozen=True)
class Wanted:
    """Machines of one kind, any of which would do."""

    key: str
    accelerator: str
    gpu_count: int
    machines: int
    memory_bytes: int


@dataclass(frozen=True)
class Request:
    """What stands on the request beside the question itself."""

    contact: str
    answer_by: date
    start_on: date | None = None
    term_months: int | None = None
    regions: str = ""
    note: str = ""


def machines(comparison: Comparison) -> tuple[Wanted, ...]:
    """The distinct machines that meet every target, in the order of their rank; those that fit where none does."""
    best = [each for each in comparison.candidates if each.class_ == 1] or list(comparison.candidates)
    found: dict[str, Wanted] = {}
    for candidate in best:
        wanted = _wanted(candidate)
        found.setdefault(wanted.key, wanted)
        if len(found) >= MACHINES_OFFERED:
            break
    return tuple(found.values())


def _wanted(candidate: Candidate) -> Wanted:
    offer = candidate.offer
    return Wanted(
        key=f"{offer.accelerator}*{offer.gpu_count}*{candidate.machines}",
        accelerator=offer.accelerator,
        gpu_count=offer.gpu_count,
        machines=candidate.machines,
        memory_bytes=offer.gpu_memory_bytes,
    )


def answer_rows(wanted: Iterable[Wanted], regions: str) -> list[list[str]]:
    """A row for each machine asked for, with what is known filled in and the rest for the provider."""
    rows = []
    for each in wanted:
        row = dict.fromkeys(ANSWER_HEADS, "")
        row |= {"gpu": each.accelerator, "gpus": str(each.gpu_count), "region": regions}
        rows.append([row[head] for head in ANSWER_HEADS])
    return rows
