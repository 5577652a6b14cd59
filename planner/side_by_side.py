"""Candidates side by side: figures that differ are marked, and why a dearer one may be worth its price is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from planner import wording
from planner.candidate_views import CandidateView
from planner.columns import Column
from planner.figures import LEAST, Cell, cell, money, significant
from planner.kinds.frame import Kind
from planner.sizing.quantities import GB
from planner.sizing.results import Bill, Candidate, MemorySplit

NOTICEABLE = 1.05
"""Figures nearer than this are not told as a gain."""
NOTHING = frozenset({"missing", "misses", "warnings"})
"""Columns in which an empty cell means that there is nothing to say, not that it is unknown."""
MOST = "≤ "
HIDDEN = frozenset({"rank", "class", "currency", "price_age"})


@dataclass(frozen=True)
class SideRow:
    """One figure of all candidates."""

    column: Column
    cells: tuple[Cell, ...]
    differs: bool


def rows(kind: Kind, candidates: Sequence[Candidate]) -> list[SideRow]:
    """Every column that at least one candidate has a figure for."""
    found = []
    for column in kind.columns:
        if column.key in HIDDEN:
            continue
        cells = tuple(_cell(column, candidate) for candidate in candidates)
        if any(each.text is not None for each in cells):
            texts = {(each.prefix, each.text) for each in cells}
            found.append(SideRow(column, cells, len(texts) > 1))
    return found


def _cell(column: Column, candidate: Candidate) -> Cell:
    if column.key == "warnings" and candidate.warnings:
        return Cell(column, " ".join(wording.warning(code) for code in candidate.warnings))
    made = cell(column, candidate)
    return replace(made, text="–") if made.text is None and column.key in NOTHING else made


def why_dearer(kind: Kind, views: Sequence[CandidateView]) -> list[str]:
    """For each candidate that costs more than the cheapest of them: how much, and what one gets for it."""
    if len(views) < 2:
        return []
    cheapest = min(views, key=lambda view: (view.it.monthly.total, view.it.rank))
    return [
        _dearer(kind, view, cheapest)
        for view in views
        if view is not cheapest and view.it.monthly.total > cheapest.it.monthly.total
    ]


def _dearer(kind: Kind, view: CandidateView, cheapest: CandidateView) -> str:
    ours, theirs = view.it.monthly, cheapest.it.monthly
    more = ours.total - theirs.total
    bound = _bound(ours, theirs)
    words = {
        "name": _named(view.it),
        "cheapest": _named(cheapest.it),
        "more": bound + money(more, ours.currency),
        "percent": f"{bound}{float(more / max(theirs.total, Decimal('0.01'))) * 100:,.0f}",
    }
    known = ""
    if not ours.complete and not theirs.complete:
        known = " " + _("Both totals hold lines that are unknown: the difference is that of the known ones.")
    gains = list(_gains(kind, view.it, cheapest.it))
    if not gains:
        said = _(
            "%(name)s costs %(more)s a month (%(percent)s %%) more than %(cheapest)s, and nothing that is sized "
            "here speaks for it."
        )
        return said % words + known
    words["gains"] = wording.listed(gains)
    said = _("%(name)s costs %(more)s a month (%(percent)s %%) more than %(cheapest)s. For that: %(gains)s.")
    return said % words + known


def _bound(dear: Bill, cheap: Bill) -> str:
    """What a difference is where one of the two totals is at least so much: at least, or at most, that."""
    if dear.complete == cheap.complete:
        return ""
    return LEAST if cheap.complete else MOST


def _named(candidate: Candidate) -> str:
    return wording.listed([candidate.offer.accelerator, candidate.offer.provider_name])


def _gains(kind: Kind, dear: Candidate, cheap: Candidate) -> Iterable[str]:
    if dear.class_ < cheap.class_:
        yield _("it meets what the other misses")
    for measure in kind.measures:
        ours, theirs = measure.of(dear), measure.of(cheap)
        if ours is None or theirs is None:
            continue
        better, worse = (ours, theirs) if measure.lower_is_better else (theirs, ours)
        if better.value * NOTICEABLE < worse.value:
            shown, other = measure.figure(dear), measure.figure(cheap)
            if shown and other:
                yield _("%(name)s %(got)s instead of %(other)s") % {
                    "name": measure.name,
                    "got": f"{shown.text} {shown.unit}",
                    "other": f"{other.text} {other.unit}",
                }
    yield from _hardware_gains(dear, cheap)


def _hardware_gains(dear: Candidate, cheap: Candidate) -> Iterable[str]:
    """What stands behind the figures: bandwidth, room, links, formats, fewer machines."""
    bandwidths = [c.offer.bandwidth_bytes_per_s * c.gpus_per_replica / GB for c in (dear, cheap)]
    if bandwidths[0] > bandwidths[1] * NOTICEABLE:
        yield _("%(got)s GB/s of memory bandwidth per replica instead of %(other)s") % {
            "got": f"{bandwidths[0]:,.0f}",
            "other": f"{bandwidths[1]:,.0f}",
        }
    if isinstance(dear.memory, MemorySplit) and isinstance(cheap.memory, MemorySplit):
        rooms = [dear.memory.concurrency_at_maximum, cheap.memory.concurrency_at_maximum]
        if rooms[0] > rooms[1] * NOTICEABLE:
            yield _("room for %(got)s of the longest requests per replica instead of %(other)s") % {
                "got": f"{rooms[0]:,}",
                "other": f"{rooms[1]:,}",
            }
    if "format_saves_memory_only" in cheap.warnings and "format_saves_memory_only" not in dear.warnings:
        yield _("it computes in the weights' format, where the other only stores it")
    if "tp_over_pcie" in cheap.warnings and "tp_over_pcie" not in dear.warnings:
        yield _("its GPUs are not split over PCIe")
    if dear.machines < cheap.machines:
        yield ngettext(
            "%(got)s machine instead of %(other)s", "%(got)s machines instead of %(other)s", dear.machines
        ) % {"got": f"{dear.machines:,}", "other": f"{cheap.machines:,}"}
    if dear.monthly.complete and not cheap.monthly.complete:
        yield _("its price is known completely")
    if cheap.offer.stale and not dear.offer.stale:
        yield _("its price is recent")


def effect(before: float, now: float) -> str:
    """A change in percent with its sign; empty where there is none to speak of.

    >>> effect(100.0, 125.0), effect(100.0, 100.1)
    ('+25 %', '')
    """
    if not before or abs(now / before - 1) < 0.005:
        return ""
    change = (now / before - 1) * 100
    return f"{'+' if change > 0 else '−'}{significant(abs(change), 2)} %"
