"""From a workload to its comparison: every offer weighed and ranked, and a page of them written out."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

import numpy as np

from planner.sizing import bill, fewer, memory, nearest, ranking
from planner.sizing.architecture import Architecture, active_parameter_count, parameter_count
from planner.sizing.bill import UnitPrice
from planner.sizing.derivations import derive
from planner.sizing.formats import FORMATS
from planner.sizing.offers import Integers
from planner.sizing.options import Refusal
from planner.sizing.placing import Placement
from planner.sizing.quantities import Assumption
from planner.sizing.rejecting import count_rejected, write_rejected, write_rejection
from planner.sizing.results import (
    BatchRun,
    Bill,
    Candidate,
    Cheapest,
    Comparison,
    FewerReplicas,
    MemorySplit,
    Miss,
    OfferFacts,
    PerMillionTokens,
    Rejection,
    Speed,
)
from planner.sizing.weighing import (
    Setting,
    Weighed,
    rework_of,
    run_of,
    standing,
    weigh,
)
from planner.sizing.workload import BatchWorkload, ServingWorkload

STALE_DAYS = 180
"""A price older than this is marked and never called the cheapest."""
SECONDS_PER_HOUR = 3600
SIXTEEN_BITS = {"bf16", "fp16"}
NO_START_UP = Assumption(
    name="start_up_hours",
    value=0,
    unit="h",
    source="not counted: fetching the machine, loading the model and starting the engine come on top of each run",
)
PER_MILLION_STEP = Decimal("0.0001")


def compare(
    setting: Setting,
    placements: list[Placement | Refusal],
    *,
    engine_version: str,
    limit: int = 50,
    offset: int = 0,
    rejected_limit: int | None = 200,
    sort: str | None = None,
) -> Comparison:
    """The ranked candidates of one page, the rejected, and everything the answer rests on.

    ``placements`` is ``placed(setting)``; whoever asks again with another filter, currency or order may keep them.
    """
    workload, market = setting.workload, setting.market
    weighed = weigh(setting, placements)
    rows = weighed.rows
    order = ranking.rank(standing(workload, weighed, sort), offset, limit)
    _explain_replicas(setting, weighed, rows[order])
    candidates = tuple(
        write_candidate(setting, weighed, int(rows[index]), rank=offset + number)
        for number, index in enumerate(order, start=1)
    )
    counts = {str(class_): weighed.count(class_) for class_ in (1, 2, 3)}
    lowest = cheapest(setting, weighed)
    return Comparison(
        engine_version=engine_version,
        kind=workload.kind,
        priced_at=setting.at,
        catalog_version=market.version,
        workload=_as_computed(setting),
        model=describe_model(setting.arch),
        assumptions=assumptions(setting, weighed, candidates),
        candidates=candidates,
        candidates_total=len(rows),
        class_counts=counts,
        rejected=write_rejected(setting, weighed, rejected_limit),
        rejected_counts=count_rejected(weighed),
        smallest_change=nearest.smallest_change(setting, weighed)
        if counts["1"] == 0 and len(market)
        else None,
        not_comparable_count=market.not_comparable_count,
        cheapest_offer_id=lowest.offer.offer_id if lowest else None,
        cheapest=lowest,
    )


def one_candidate(setting: Setting, placements: list[Placement | Refusal], row: int) -> Candidate | Rejection:
    """One offer with the derivations of its figures, or why it is rejected."""
    weighed = weigh(setting, placements)
    if weighed.reason[row] >= 0:
        return write_rejection(setting, weighed, row)
    order = ranking.rank(standing(setting.workload, weighed))
    rank = int(np.flatnonzero(weighed.rows[order] == row)[0]) + 1
    _explain_replicas(setting, weighed, np.array([row]))
    return write_candidate(setting, weighed, row, rank=rank, derivations=True)


def _explain_replicas(setting: Setting, weighed: Weighed, rows: Integers) -> None:
    outcomes = [weighed.placements[number] for number in np.unique(weighed.market.machine_index[rows])]
    placements = [outcome for outcome in outcomes if isinstance(outcome, Placement)]
    fewer.explain(setting.workload, placements, setting.constants)


def _as_computed(setting: Setting) -> dict[str, Any]:
    """The workload with every default filled in, the engine's version too."""
    document = setting.workload.model_dump(mode="json")
    document["runtime"]["version"] = setting.runtime.version
    return document


def cheapest(setting: Setting, weighed: Weighed) -> Cheapest | None:
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
    return Cheapest(
        offer=facts,
        layout=placement.option.layout,
        replicas=placement.replicas,
        machines=placement.machines,
        total=monthly.total,
        currency=monthly.currency,
    )


def bill_of(
    setting: Setting, weighed: Weighed, row: int, placement: Placement, facts: OfferFacts | None = None
) -> Bill:
    """The exact bill of one offer."""
    market = weighed.market
    facts = facts or market.facts(row, setting.at.date())
    made = bill.month(
        UnitPrice(
            amount=facts.price_amount,
            currency=facts.price_currency,
            per_month=facts.price_unit == "month",
            source=facts.source,
            observed_on=facts.price_observed_on,
        ),
        machines=placement.machines,
        run=run_of(setting.workload, placement),
        terms=market.terms[market.terms_index[row]],
        needs=weighed.needs,
        rates=market.rates,
        currency=weighed.currency,
        rework=rework_of(facts.tier),
    )
    if made is None:
        raise ValueError(f"offer {facts.offer_id} has no exchange rate to {weighed.currency}")
    return made


def write_candidate(
    setting: Setting, weighed: Weighed, row: int, *, rank: int, derivations: bool = False
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
        weighed.splits[machine] = split_at_load(setting, placement)
    split = weighed.splits[machine]
    warnings = list(placement.warnings)
    warnings += [
        code
        for code, holds in (
            ("stale_price", facts.stale),
            ("floor_price", facts.floor),
            ("estimated_price", facts.estimated),
            ("incomplete_price", not monthly.complete),
            ("tax_included", facts.tax_included is True),
            ("interruptible", facts.tier in bill.INTERRUPTIBLE_TIERS),
            ("not_the_stored_format", not_as_stored(setting.arch, workload.weights_format)),
        )
        if holds
    ]
    per_million = per_million_tokens(workload, placement, monthly)
    candidate = Candidate(
        rank=rank,
        class_=int(weighed.class_[row]),
        offer=facts,
        layout=placement.option.layout,
        replicas=placement.replicas,
        replicas_set_by=placement.reason.set_by if placement.reason else None,
        requests_per_replica_maximum=int(placement.point.batch_cap),
        fewer_replicas=_fewer(setting, weighed, row, placement, facts) if rank == 1 or derivations else None,
        gpus_per_replica=placement.option.layout.device_count,
        machines=placement.machines,
        idle_gpus=placement.idle_devices,
        verdict=placement.option.verdict,
        limit=placement.peak.limit,
        misses=placement.misses + _budget_miss(workload, monthly),
        memory=split,
        speed=_speed(workload, placement),
        batch=_batch(workload, placement, monthly, facts.tier),
        monthly=monthly,
        per_million_tokens=per_million,
        warnings=tuple(warnings),
        derivations={},
    )
    if derivations:
        candidate = candidate.model_copy(update={"derivations": derive(setting, placement, candidate)})
    return candidate


def _fewer(
    setting: Setting, weighed: Weighed, row: int, placement: Placement, facts: OfferFacts
) -> FewerReplicas | None:
    """The same offer with one replica fewer, where a latency target or the headroom alone asks for the last one."""
    reason = placement.reason
    target: Literal["ttft_s", "tpot_s", "headroom_fraction"]
    if reason is None:
        return None
    if reason.set_by == "headroom":
        target, asked, got = "headroom_fraction", setting.workload.headroom_fraction, None
    elif reason.missed is not None and (reason.set_by == "ttft_s" or reason.set_by == "tpot_s"):
        target, asked, got = reason.set_by, reason.missed.asked, reason.missed.got
    else:
        return None
    smaller = fewer.with_one_less(placement)
    monthly = bill_of(setting, weighed, row, smaller, facts)
    return FewerReplicas(
        replicas=smaller.replicas,
        machines=smaller.machines,
        target=target,
        asked=asked,
        got=got,
        total=monthly.total,
        currency=monthly.currency,
    )


def not_as_stored(arch: Architecture, weights_format: str) -> bool:
    """Whether the weights would have to be converted from what the checkpoint stores; BF16 and FP16 count as one."""
    stored = arch.stored_format
    return stored in FORMATS and stored != weights_format and not {stored, weights_format} <= SIXTEEN_BITS


def split_at_load(setting: Setting, placement: Placement) -> MemorySplit:
    """The memory of one device with the KV cache of the requests that it really holds at peak."""
    held = min(placement.peak.batch, placement.point.batch_cap)
    need = memory.Need.of(setting.workload, concurrency=max(1.0, held))
    return memory.split(
        setting.arch, need, setting.runtime, placement.machine.device, placement.option.layout
    )


def _speed(workload: ServingWorkload | BatchWorkload, placement: Placement) -> Speed:
    typical = placement.typical.load_point(placement.replicas)
    peak = placement.peak.load_point(placement.replicas)
    if isinstance(workload, BatchWorkload):
        # At saturation requests wait for hours by intention: a time to first token says nothing.
        typical = peak = peak.model_copy(update={"ttft_s": None})
    return Speed(typical=typical, peak=peak)


def _batch(
    workload: ServingWorkload | BatchWorkload, placement: Placement, monthly: Bill, tier: str
) -> BatchRun | None:
    if not isinstance(workload, BatchWorkload) or placement.job_hours is None:
        return None
    run = run_of(workload, placement)
    machine_lines = [line.amount for line in monthly.lines if line.what in ("gpu", "rework") and line.amount]
    rate = placement.full.output_tokens_per_s
    deadline = workload.deadline_hours
    return BatchRun(
        hours=placement.job_hours,
        output_tokens_per_s=rate.model_copy(
            update={name: getattr(rate, name) * placement.replicas for name in ("value", "low", "high")}
        ),
        cost=bill.rounded(sum(machine_lines, Decimal(0)) / run.starts, monthly.currency),
        meets_deadline=None
        if not isinstance(deadline, int | float)
        else not any(miss.target == "deadline_hours" for miss in placement.misses),
        spot_eligible=workload.interruptible,
    )


def _budget_miss(workload: ServingWorkload | BatchWorkload, monthly: Bill) -> tuple[Miss, ...]:
    budget = workload.budget_per_month
    if budget is None or monthly.total <= Decimal(str(budget)):
        return ()
    return (Miss(target="budget_per_month", asked=budget, got=float(monthly.total)),)


def tokens_per_month(workload: ServingWorkload | BatchWorkload, placement: Placement) -> tuple[float, float]:
    """Input and output tokens served in a month at average load: requests × typical lengths.

    Serving: request rate × 3600 × hours of the schedule. Batch: requests of a job × jobs a month.
    """
    if isinstance(workload, BatchWorkload):
        requests = workload.request_count * float(run_of(workload, placement).starts)
    else:
        hours = workload.schedule.hours_per_day * workload.schedule.days_per_month
        requests = placement.typical.request_rate_per_s * placement.replicas * SECONDS_PER_HOUR * hours
    return requests * workload.input_tokens.typical, requests * workload.output_tokens.typical


def per_million_tokens(
    workload: ServingWorkload | BatchWorkload, placement: Placement, monthly: Bill
) -> PerMillionTokens:
    """Monthly total ÷ tokens of the month: all, output alone, and all at saturation for the hours billed."""
    taken, made = tokens_per_month(workload, placement)
    lengths = workload.input_tokens.typical + workload.output_tokens.typical
    full = placement.full.request_rate_per_s * placement.replicas * lengths * SECONDS_PER_HOUR
    if isinstance(workload, BatchWorkload):
        full *= monthly.hours
    else:
        full *= workload.schedule.hours_per_day * workload.schedule.days_per_month

    def per_million(tokens: float) -> Decimal | None:
        if tokens <= 0:
            return None
        return (monthly.total * 1_000_000 / Decimal(repr(tokens))).quantize(PER_MILLION_STEP, ROUND_HALF_UP)

    return PerMillionTokens(
        all=per_million(taken + made), output=per_million(made), at_full_use=per_million(full)
    )


def describe_model(arch: Architecture) -> dict[str, Any]:
    """What was understood of the model."""
    first = arch.layers[0] if arch.layers else None
    of_config: dict[str, Any] = {}
    if arch.assumed or arch.left_aside:
        assumed = {item.key: item.value for item in arch.assumed}
        of_config = {"assumed": assumed, "left_aside": list(arch.left_aside)}
    return of_config | {
        "name": arch.id,
        "family": arch.family,
        "parameters": parameter_count(arch),
        "parameters_active": active_parameter_count(arch),
        "parameters_published": arch.parameters_published,
        "layers": arch.layer_count,
        "hidden": arch.hidden,
        "vocabulary": arch.vocab,
        "attention": arch.attention_kind or (first.attention.kind if first else None),
        "experts": arch.has_experts,
        "max_position": arch.max_position,
        "stored_format": arch.stored_format,
        "source": arch.source,
    }


def assumptions(
    setting: Setting, weighed: Weighed, candidates: tuple[Candidate, ...]
) -> tuple[Assumption, ...]:
    """Every number the answer rests on that the user did not give; constants as they act on the first candidate."""
    workload, market = setting.workload, setting.market
    placement = None
    if candidates:
        row = market.position(candidates[0].offer.offer_id)
        found = weighed.placements[market.machine_index[row]] if row is not None else None
        placement = found if isinstance(found, Placement) else None
    device_or_none = placement.machine.device if placement else None
    listed = list(memory.assumptions(setting.runtime, device_or_none, memory.Need.of(workload)))
    if placement is not None:
        listed += setting.constants.assumptions(placement.point.classes)
        device = placement.machine.device
        if device.engine_total_assumed:
            listed.append(
                Assumption(
                    name="engine_total_bytes",
                    value=device.engine_total_bytes,
                    unit="byte",
                    source=f"assumed: 0.994 x what {device.name} reports, the ratio seen on H100-SXM5",
                )
            )
    weights = FORMATS[workload.weights_format]
    listed.append(
        Assumption(name="bits_per_weight", value=weights.linear_bits, unit="bit", source=weights.source)
    )
    if workload.interruptible and any(c.offer.tier in bill.INTERRUPTIBLE_TIERS for c in candidates):
        listed += [bill.INTERRUPTIONS_PER_HOUR, bill.HOURS_LOST]
    if isinstance(workload, BatchWorkload):
        listed.append(NO_START_UP)
    if isinstance(workload, ServingWorkload) and workload.request_rate_per_s is not None:
        ratio = workload.concurrency.peak / workload.concurrency.average
        listed.append(
            Assumption(
                name="peak_to_average_rate", value=ratio, unit="1", source="concurrency.peak ÷ average"
            )
        )
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
