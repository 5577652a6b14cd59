"""From a workload to its comparison: every offer weighed and ranked, and a page of them written out."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from planner.sizing import bill, nearest, ranking, storage_rates
from planner.sizing.bill import UnitPrice
from planner.sizing.derivations import derive_money, derive_room
from planner.sizing.offers import Integers
from planner.sizing.quantities import Assumption
from planner.sizing.rejecting import count_rejected, write_rejected, write_rejection
from planner.sizing.results import (
    Bill,
    Candidate,
    Cheapest,
    Comparison,
    FewerReplicas,
    Miss,
    OfferFacts,
    Rejection,
    Relief,
    Remedy,
    SmallestChange,
    TermCost,
)
from planner.sizing.run_terms import run_terms
from planner.sizing.settable import marked
from planner.sizing.setting import Placed, Refusal, Setting
from planner.sizing.weighing import Placements, Weighed, standing, weigh
from planner.sizing.workload import CommonWorkload

STALE_DAYS = 180
"""A price older than this is marked and never called the cheapest."""


def compare(
    setting: Setting[Any],
    placements: Placements,
    *,
    engine_version: str,
    limit: int = 50,
    offset: int = 0,
    rejected_limit: int | None = 200,
    sort: str | None = None,
    first_of_each: bool = False,
) -> Comparison:
    """The ranked candidates of one page, the rejected, and everything the answer rests on.

    ``first_of_each`` leaves the first candidate of each accelerator, with its rank among all of them.

    ``placements`` is ``setting.place()``; whoever asks again with another filter, currency or order may keep them.
    """
    workload, market = setting.workload, setting.market
    weighed = weigh(setting, placements)
    rows = weighed.rows
    if first_of_each:
        whole = ranking.rank(standing(setting, weighed, sort))
        ranked = _first_of_each(market.accelerators, market.machine_index[rows[whole]])[
            offset : offset + limit
        ]
        order = whole[ranked]
    else:
        order = ranking.rank(standing(setting, weighed, sort), offset, limit)
        ranked = np.arange(offset, offset + len(order), dtype=np.int64)
    _explain(setting, weighed, rows[order])
    candidates = tuple(
        write_candidate(setting, weighed, int(rows[index]), rank=int(place) + 1)
        for place, index in zip(ranked, order, strict=True)
    )
    counts = {str(class_): weighed.count(class_) for class_ in (1, 2, 3)}
    lowest = cheapest(setting, weighed)
    remedies = _remedies(setting, weighed) if counts["1"] == 0 and len(market) else ()
    return Comparison(
        engine_version=engine_version,
        kind=workload.kind,
        priced_at=setting.at,
        catalog_version=market.version,
        workload=setting.document(),
        model=setting.describe(),
        assumptions=assumptions(setting, weighed, candidates),
        candidates=candidates,
        candidates_total=len(rows),
        class_counts=counts,
        rejected=write_rejected(setting, weighed, rejected_limit),
        rejected_counts=count_rejected(weighed),
        smallest_change=_smallest_change(remedies),
        remedies=remedies,
        not_comparable_count=market.not_comparable_count,
        cheapest_offer_id=lowest.offer.offer_id if lowest else None,
        cheapest=lowest,
    )


def _first_of_each(accelerators: tuple[str, ...], machines: Integers) -> Integers:
    """Places in the order at which an accelerator stands for the first time."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(accelerators))}
    of_machine = np.array([numbers[name] for name in accelerators], dtype=np.int64)
    return np.sort(np.unique(of_machine[machines], return_index=True)[1]).astype(np.int64)


def one_candidate(
    setting: Setting[Any], placements: Placements, row: int, *, derivations: bool = True
) -> Candidate | Rejection:
    """One offer with the derivations of its figures, or why it is rejected."""
    weighed = weigh(setting, placements)
    if weighed.reason[row] >= 0:
        return write_rejection(setting, weighed, row)
    order = ranking.rank(standing(setting, weighed))
    rank = int(np.flatnonzero(weighed.rows[order] == row)[0]) + 1
    _explain(setting, weighed, np.array([row]))
    return write_candidate(setting, weighed, row, rank=rank, derivations=derivations)


def _explain(setting: Setting[Any], weighed: Weighed, rows: Integers) -> None:
    outcomes = [weighed.placements[number] for number in np.unique(weighed.market.machine_index[rows])]
    setting.explain([outcome for outcome in outcomes if not isinstance(outcome, Refusal)])


def cheapest(setting: Setting[Any], weighed: Weighed) -> Cheapest | None:
    """The offer with the lowest complete monthly total of class 1, on demand, no floor and no estimate, whose
    price is at most 180 days old; None where there is none."""
    market = weighed.market
    on_demand = np.array([tier == "on_demand" for tier in market.tiers], dtype=bool)
    fresh = market.observed_ordinal >= setting.at.date().toordinal() - STALE_DAYS
    fit = (weighed.reason < 0) & (weighed.class_ == 1) & weighed.complete & fresh
    fit &= ~market.floor & ~market.estimated
    if len(market):
        fit &= on_demand[market.tier_index]
    rows = np.flatnonzero(fit)
    if not len(rows):
        return None
    order = np.lexsort((market.tie_rank()[rows], weighed.total_minor[rows]))
    row = int(rows[order[0]])
    placement = weighed.placements[market.machine_index[row]]
    if isinstance(placement, Refusal):
        raise TypeError("a rejected offer is never the cheapest")
    facts = market.facts(row, setting.at.date())
    monthly = bill_of(setting, weighed, row, placement, facts)
    outcome = setting.outcome(placement, monthly, facts.tier)
    return Cheapest(
        offer=facts,
        layout=placement.layout,
        replicas=placement.replicas,
        machines=placement.machines * monthly.sets,
        total=monthly.total,
        currency=monthly.currency,
        job_cost=outcome.batch.cost if outcome.batch else None,
        unit_costs=dict(outcome.unit_costs),
    )


def bill_of(
    setting: Setting[Any], weighed: Weighed, row: int, placement: Placed, facts: OfferFacts | None = None
) -> Bill:
    """The exact bill of one offer."""
    market = weighed.market
    facts = facts or market.facts(row, setting.at.date())
    made = bill.month(
        UnitPrice(
            amount=facts.price_amount if facts.recurring is None else facts.recurring,
            upfront_per_month=bill.upfront_share(facts),
            currency=facts.price_currency,
            per_month=facts.price_unit == "month",
            source=facts.source,
            observed_on=facts.price_observed_on,
        ),
        machines=placement.machines,
        run=setting.run(placement),
        terms=market.terms[market.terms_index[row]],
        needs=setting.needs(placement, facts.tier),
        rates=market.rates,
        currency=weighed.currency,
        rework=setting.rework(placement, facts.tier),
        tier=facts.tier,
    )
    if made is None:
        raise ValueError(f"offer {facts.offer_id} has no exchange rate to {weighed.currency}")
    return made


def write_candidate(
    setting: Setting[Any], weighed: Weighed, row: int, *, rank: int, derivations: bool = False
) -> Candidate:
    """One offer as it is shown."""
    workload, market = setting.workload, weighed.market
    placement = weighed.placements[market.machine_index[row]]
    if isinstance(placement, Refusal):
        raise TypeError("a rejected offer is no candidate")
    facts = market.facts(row, setting.at.date())
    monthly = bill_of(setting, weighed, row, placement, facts)
    machine = int(market.machine_index[row])
    if machine not in weighed.splits:
        weighed.splits[machine] = setting.memory(placement)
    warnings = list(placement.warnings)
    warnings += [
        code
        for code, holds in (
            ("host_ram_short", weighed.host_short[row] and "host_ram_short" not in warnings),
            ("stale_price", facts.stale),
            ("floor_price", facts.floor and facts.tier not in bill.COMMITTED_TIERS),
            ("price_from", facts.floor and facts.tier in bill.COMMITTED_TIERS),
            ("estimated_price", facts.estimated),
            ("incomplete_price", not monthly.complete),
            ("tax_included", facts.tax_included is True),
            ("interruptible", facts.tier in bill.INTERRUPTIBLE_TIERS),
        )
        if holds
    ]
    warnings += setting.warnings()
    outcome = setting.outcome(placement, monthly, facts.tier)
    candidate = Candidate(
        rank=rank,
        class_=int(weighed.class_[row]),
        offer=facts,
        layout=placement.layout,
        replicas=placement.replicas,
        replicas_set_by=placement.set_by,
        requests_per_replica_maximum=outcome.requests_per_replica_maximum,
        fewer_replicas=_fewer(setting, weighed, row, placement, facts) if rank == 1 or derivations else None,
        reliefs=_reliefs(setting, weighed, row, placement, facts) if rank == 1 or derivations else (),
        longest_context=setting.longest_context(placement) if rank == 1 or derivations else None,
        terms=_terms(setting, weighed, row, placement) if rank == 1 or derivations else (),
        smallest=setting.smallest(weighed) if rank == 1 or derivations else (),
        gpus_per_replica=placement.layout.device_count,
        machines=placement.machines * monthly.sets,
        idle_gpus=placement.idle_devices * monthly.sets,
        verdict="tight" if weighed.host_short[row] else placement.verdict,
        limit=placement.limit,
        misses=placement.misses
        + storage_rates.misses(setting.readings(placement), storage_rates.rate_of(market, row))
        + _budget_miss(workload, monthly),
        memory=weighed.splits[machine],
        speed=outcome.speed,
        batch=outcome.batch,
        figures=dict(outcome.figures),
        monthly=monthly,
        per_million_tokens=outcome.per_million_tokens,
        unit_costs=dict(outcome.unit_costs),
        warnings=tuple(warnings),
        derivations={},
    )
    if derivations:
        found = setting.derive(placement, candidate)
        found |= derive_room(setting, candidate)
        found |= derive_money(setting, candidate, setting.run(placement))
        candidate = candidate.model_copy(update={"derivations": found})
    return candidate


def _terms(setting: Setting[Any], weighed: Weighed, row: int, placement: Placed) -> tuple[TermCost, ...]:
    hours = setting.run_hours(placement)
    return () if hours is None else run_terms(setting, weighed, row, placement, hours)


def _fewer(
    setting: Setting[Any], weighed: Weighed, row: int, placement: Placed, facts: OfferFacts
) -> FewerReplicas | None:
    """The same offer with one replica fewer, where a latency target or the headroom alone asks for the last one.

    None where as many machines are needed all the same: it would save nothing.
    """
    spared = setting.spared(placement)
    if spared is None or spared.smaller.machines >= placement.machines:
        return None
    monthly = bill_of(setting, weighed, row, spared.smaller, facts)
    return FewerReplicas(
        replicas=spared.smaller.replicas,
        machines=spared.smaller.machines,
        target=spared.target,
        asked=spared.asked,
        got=spared.got,
        total=monthly.total,
        currency=monthly.currency,
        complete=monthly.complete,
    )


def _reliefs(
    setting: Setting[Any], weighed: Weighed, row: int, placement: Placed, facts: OfferFacts
) -> tuple[Relief, ...]:
    """What the headroom and each target cost on this very offer."""
    found = []
    for spared in setting.relieved(placement):
        monthly = bill_of(setting, weighed, row, spared.smaller, facts)
        found.append(
            Relief(
                given_up=spared.target,
                asked=spared.asked,
                got=spared.got,
                replicas=spared.smaller.replicas,
                gpus_per_replica=spared.smaller.layout.device_count,
                machines=spared.smaller.machines,
                total=monthly.total,
                currency=monthly.currency,
                complete=monthly.complete,
            )
        )
    return tuple(found)


def _remedies(setting: Setting[Any], weighed: Weighed) -> tuple[Remedy, ...]:
    found = []
    for tried in nearest.remedies(setting, weighed):
        facts = setting.market.facts(tried.row, setting.at.date())
        monthly = bill_of(tried.setting, tried.weighed, tried.row, tried.placement, facts)
        found.append(
            Remedy(
                change=tried.change.name,
                value=tried.change.value,
                candidates=tried.candidates,
                offer=facts,
                layout=tried.placement.layout,
                replicas=tried.placement.replicas,
                machines=tried.placement.machines * monthly.sets,
                total=monthly.total,
                currency=monthly.currency,
                complete=monthly.complete,
            )
        )
    return tuple(found)


def _smallest_change(remedies: tuple[Remedy, ...]) -> SmallestChange | None:
    """The first remedy that meets every target; None where none does."""
    for one in remedies:
        if one.candidates:
            return SmallestChange(change=one.change, value=one.value, candidates=one.candidates)
    return None


def _budget_miss(workload: CommonWorkload, monthly: Bill) -> tuple[Miss, ...]:
    budget = workload.budget_per_month
    if budget is None or monthly.total <= Decimal(str(budget)):
        return ()
    return (Miss(target="budget_per_month", asked=budget, got=float(monthly.total)),)


def assumptions(
    setting: Setting[Any], weighed: Weighed, candidates: tuple[Candidate, ...]
) -> tuple[Assumption, ...]:
    """Every number the answer rests on that the user did not give, the kind's own as they act on the first."""
    workload, market = setting.workload, setting.market
    row = market.position(candidates[0].offer.offer_id) if candidates else None
    listed = setting.assumptions(None if row is None else weighed.placements[market.machine_index[row]])
    if workload.interruptible and any(c.offer.tier in bill.INTERRUPTIBLE_TIERS for c in candidates):
        listed += marked((bill.INTERRUPTIONS_PER_HOUR, bill.HOURS_LOST), workload.assumed)
    if any(candidate.monthly.rate is not None for candidate in candidates):
        rate = market.rates.factor("USD", workload.currency)
        on = market.rates.on.isoformat() if market.rates.on else ""
        listed.append(
            Assumption(
                name="exchange_rate",
                value=float(rate or 0),
                unit=f"{workload.currency}/USD",
                source=f"{market.rates.source}, {on}",
            )
        )
    return tuple(listed)
