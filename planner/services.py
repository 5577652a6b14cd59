"""What the planner does for pages, the API and commands: one call each. The clock comes in as ``at``."""

from __future__ import annotations

import gc
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

from mitsumori import __version__
from planner import kept_answers, kinds, market, private_market
from planner.fabrics import fabric
from planner.service_months import with_services
from planner.sizing import compare as core
from planner.sizing import layouts
from planner.sizing.layouts import LayoutChoice
from planner.sizing.llm import LlmSetting
from planner.sizing.offers import Market
from planner.sizing.results import Candidate, Comparison, Rejection
from planner.sizing.setting import Setting
from planner.sizing.weighing import Placements
from planner.sizing.workload import CommonWorkload

REJECTED_SHOWN = 200
REJECTED_MAXIMUM = 2_000
"""No answer lists more; counts by reason are always whole, and no reason is crowded out."""


PLACEMENTS_KEPT = 64
COLLECTED_AFTER = (20_000, 50, 10)
"""One answer makes as many objects and nearly all die with it unhelped: looking through them 30 times finds nothing.
The second walk goes over all kept placements: a tenth of a second."""
SPARED_OFFERS_MINIMUM = 1_000
"""Of a smaller market the collector's walk costs nothing."""


@dataclass
class _Kept:
    """Placements of the latest workloads: pages, orders, filters, details and papers of one screen share them."""

    by_question: OrderedDict[tuple[str, str], Placements] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)
    spared: str = ""
    """Version of the market that was last taken out of the collector's walk."""


_kept = _Kept()


def _placements(setting: Setting[Any]) -> Placements:
    question = (setting.market.version, setting.placing_key())
    with _kept.lock:
        if question in _kept.by_question:
            _kept.by_question.move_to_end(question)
            return _kept.by_question[question]
    made = setting.place()
    _spare(setting.market)
    with _kept.lock:
        _kept.by_question[question] = made
        while len(_kept.by_question) > PLACEMENTS_KEPT:
            _kept.by_question.popitem(last=False)
    return made


def _spare(found: Market) -> None:
    """Takes catalog and models out of the collector's walk, once for each large market.

    They are hundreds of thousands of objects that live as long as the process: walking them in the middle of a
    request costs more than the answer.
    """
    if len(found) < SPARED_OFFERS_MINIMUM or found.version == _kept.spared:
        return
    _kept.spared = found.version
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)


def forget() -> None:
    """Drop what this process keeps: tests that roll their database back repeat catalog versions."""
    market.forget()
    private_market.forget()
    kept_answers.forget()
    with _kept.lock:
        _kept.by_question.clear()


class UnknownOffer(LookupError):
    """The market of that moment holds no such offer."""


def _setting(workload: CommonWorkload, at: datetime, team_id: int | None) -> Setting[Any]:
    return kinds.of(workload.kind).setting(workload, at, private_market.current(at, team_id))


def compare(
    workload: CommonWorkload,
    *,
    at: datetime,
    team_id: int | None = None,
    limit: int = 50,
    offset: int = 0,
    rejected_limit: int | None = REJECTED_SHOWN,
    sort: str | None = None,
    first_of_each: bool = False,
) -> Comparison:
    """Size the workload on the market of ``at`` and rank what can run it; a team's private offers take part.

    ``first_of_each`` leaves the first candidate of each accelerator.
    ``rejected_limit`` None lists as many rejected offers as any answer may (2,000).
    Raises ``UnknownModel``, ``NotSized`` and ``UnknownRuntime`` for what cannot be sized at all.
    """
    setting = _setting(workload, at, team_id)
    placements = _placements(setting)
    found = core.compare(
        setting,
        placements,
        engine_version=__version__,
        limit=limit,
        offset=offset,
        rejected_limit=REJECTED_MAXIMUM if rejected_limit is None else min(rejected_limit, REJECTED_MAXIMUM),
        sort=sort,
        first_of_each=first_of_each,
    )
    if not found.candidates or found.candidates[0].rank != 1:
        return found
    first = _with_other_layout(setting, placements, found.candidates[0])
    found = found.model_copy(update={"candidates": (first, *found.candidates[1:])})
    return with_services(found, setting.market.rates)


def _with_other_layout(setting: Setting[Any], placements: Placements, first: Candidate) -> Candidate:
    """The candidate with what a split by tensors alone would take, where it keeps attention by requests."""
    row = setting.market.position(first.offer.offer_id)
    if row is None or not isinstance(setting, LlmSetting):
        return first
    other = layouts.by_tensors(setting, placements, row, first)
    return first if other is None else first.model_copy(update={"other_layout": other})


def candidate(
    workload: CommonWorkload, *, at: datetime, offer_id: int, team_id: int | None = None
) -> Candidate | Rejection:
    """One offer with the derivation of every figure, or why it is rejected. Raises ``UnknownOffer``."""
    setting = _setting(workload, at, team_id)
    row = setting.market.position(offer_id)
    if row is None:
        raise UnknownOffer(offer_id)
    placements = _placements(setting)
    found = core.one_candidate(setting, placements, row)
    return _with_other_layout(setting, placements, found) if isinstance(found, Candidate) else found


def other_layouts(
    workload: CommonWorkload, *, at: datetime, offer_id: int, team_id: int | None = None
) -> tuple[LayoutChoice, ...]:
    """Every way to split a replica on an offer, the best under the objective first; none for kinds without splits.

    Raises ``UnknownOffer``.
    """
    setting = _setting(workload, at, team_id)
    row = setting.market.position(offer_id)
    if row is None:
        raise UnknownOffer(offer_id)
    if not isinstance(setting, LlmSetting):
        return ()
    facts = setting.market.facts(row, at.date())
    return layouts.alternatives(setting, _placements(setting), row, fabric=fabric(facts.provider, facts.sku))
