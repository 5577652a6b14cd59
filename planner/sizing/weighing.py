"""Every offer of a market against one workload, in columns: filters, bills in integers, classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.sizing import bill, bill_integers, ranking, storage_rates
from planner.sizing.bill import MINOR_UNITS, Needs
from planner.sizing.offers import Flags, Integers, Market
from planner.sizing.ranking import MEETS_TARGETS, MISSES_TARGETS, TIGHT, Floats
from planner.sizing.results import MemoryParts, MemorySplit, RejectionReason
from planner.sizing.setting import Placed, Refusal, Setting
from planner.sizing.workload import Filters

Scalar = TypeVar("Scalar", bound=np.generic)

REASONS: tuple[RejectionReason, ...] = (
    "include", "exclude", "gpu_count", "support", "context", "memory", "divisibility", "overload", "region", "provider",
    "tier", "currency", "price", "incomplete_price", "interruption",
)  # fmt: skip
"""In the order in which they are tried; an offer is rejected for the first that holds. What the user does not want
to see at all comes first: a machine that is filtered out is not told to be too small."""

MACHINE_REASONS: tuple[RejectionReason, ...] = ("support", "context", "memory", "divisibility", "overload")
"""Reasons of a machine, whatever the offer: no filter lifted helps there."""


class UnknownSort(ValueError):
    """No such column to sort by."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no column to sort by: {name[:40]}")


Placements = list[Any]
"""Of each machine of the market what ``Setting.place`` gives: a ``Placed`` or a ``Refusal``."""


@dataclass(eq=False)
class Weighed:
    """The market against one workload. Columns are as long as the market."""

    market: Market
    placements: Placements
    reason: NDArray[np.int8]
    """Index into ``REASONS``, -1 where the offer is a candidate."""
    rules_broken: NDArray[np.int8]
    """How many rules an offer breaks: lifting one filter shows it only where that is the only one."""
    hidden_by: dict[str, Flags]
    """Rows that each filter alone would hide, by the change that lifts it."""
    machines: Integers
    total_minor: Integers
    """The whole month, in smallest units of the currency."""
    complete: Flags
    class_: Integers
    host_short: Flags
    """Offers whose host is known to have less memory than the work needs: it may not load."""
    currency: str
    splits: dict[int, MemorySplit | MemoryParts] = field(default_factory=dict)
    """Memory at peak by machine, made when a row of it is first shown."""

    @property
    def rows(self) -> Integers:
        """Market rows of the candidates."""
        return np.flatnonzero(self.reason < 0)

    def count(self, class_: int) -> int:
        return int(np.count_nonzero((self.class_ == class_) & (self.reason < 0)))


def weigh(setting: Setting[Any], placements: Placements) -> Weighed:
    """Filter, bill and classify every offer."""
    workload, market = setting.workload, setting.market
    reason = np.full(len(market), -1, dtype=np.int8)
    rules_broken = np.zeros(len(market), dtype=np.int8)
    hidden_by: dict[str, Flags] = {}

    def reject(name: RejectionReason, rows: Flags, lifted_by: str | None = None) -> None:
        reason[(reason < 0) & rows] = REASONS.index(name)
        np.add(rules_broken, rows, out=rules_broken, casting="unsafe")
        if lifted_by is not None:
            hidden_by[lifted_by] = rows

    filters = workload.filters
    _filter_machines(filters, market, reject)
    for name in MACHINE_REASONS:
        refused = np.array(
            [isinstance(outcome, Refusal) and outcome.reason == name for outcome in placements], dtype=bool
        )
        if refused.any():
            reject(name, _of(refused, market.machine_index))
    on_host = np.array([host_bytes(outcome) for outcome in placements], dtype=np.int64)
    if on_host.any():
        # Of equal machines some are sold with less host memory than others.
        reject("memory", (market.ram_bytes > 0) & (market.ram_bytes < _of(on_host, market.machine_index)))
    _filter_offers(filters, market, reject)

    currency = workload.currency
    price = market.shown_price_micro(currency)
    reject("currency", price < 0)
    machines = _of(
        np.array([0 if isinstance(o, Refusal) else o.machines for o in placements], dtype=np.int64),
        market.machine_index,
    )
    runs = None
    if setting.runs_by_machine:
        runs = [None if isinstance(o, Refusal) else setting.run(o) for o in placements]
    hours = _hour_steps(setting, placements, runs)
    machines *= hours.sets
    machines_minor = bill_integers.machine_minor(price, machines, hours.billed, currency)
    machines_minor += bill_integers.machine_minor(price, machines, hours.repeated, currency)
    if (upfront := market.shown_upfront_micro(currency)) is not None:
        machines_minor += bill_integers.machine_minor(
            upfront, machines, hours.months * bill.HOUR_STEPS, currency
        )
    sides, complete = _sides(setting, placements, runs, currency)
    total = machines_minor + sides

    if not filters.estimated_prices:
        reject("price", market.estimated, "estimated_prices")
    if filters.price_age_days_maximum is not None:
        oldest = setting.at.date().toordinal() - filters.price_age_days_maximum
        reject("price", market.observed_ordinal < oldest, "price_age_days_maximum")
    if filters.price_per_month_maximum is not None:
        over = total > _minor(filters.price_per_month_maximum, currency)
        reject("price", over, "price_per_month_maximum")
    if filters.complete_prices_only:
        reject("incomplete_price", ~complete, "complete_prices_only")
    if not workload.interruptible:
        reject("interruption", _is_tier(market, bill.INTERRUPTIBLE_TIERS), "interruptible")

    class_of = np.array([_class(outcome) for outcome in placements], dtype=np.int64)
    class_ = _of(class_of, market.machine_index)
    slow = storage_rates.too_slow(
        market, placements, lambda found: () if isinstance(found, Refusal) else setting.readings(found)
    )
    if slow is not None:
        class_ = np.where((class_ == MEETS_TARGETS) & slow, MISSES_TARGETS, class_)
    host_short = _host_short(setting, market, placements)
    class_ = np.where(host_short & (class_ > 0), TIGHT, class_)
    if workload.budget_per_month is not None:
        beyond = total > _minor(workload.budget_per_month, currency)
        class_ = np.where((class_ == MEETS_TARGETS) & beyond, MISSES_TARGETS, class_)
    return Weighed(
        market=market,
        placements=placements,
        reason=reason,
        rules_broken=rules_broken,
        hidden_by=hidden_by,
        machines=machines,
        total_minor=total,
        complete=complete,
        class_=class_,
        host_short=host_short,
        currency=currency,
    )


def host_bytes(outcome: Placed | Refusal) -> int:
    """Host memory that one machine must have for weights and cache that were moved there."""
    if isinstance(outcome, Refusal) or not isinstance(outcome.planned, MemorySplit):
        return 0
    return outcome.planned.host_bytes * ceil(outcome.replicas / max(1, outcome.machines))


def _host_short(setting: Setting[Any], market: Market, placements: Placements) -> Flags:
    needed = np.array(
        [0 if isinstance(o, Refusal) else setting.host_ram_bytes(o) or 0 for o in placements], dtype=np.int64
    )
    return (market.ram_bytes > 0) & (market.ram_bytes < _of(needed, market.machine_index))


def _of(values: NDArray[Scalar], index: Integers) -> NDArray[Scalar]:
    """The value of each row; an empty table has no rows."""
    return values[index] if len(values) else np.zeros(len(index), dtype=values.dtype)


def _minor(amount: float, currency: str) -> int:
    return int(Decimal(str(amount)) * MINOR_UNITS[currency])


def _class(outcome: Placed | Refusal) -> int:
    if isinstance(outcome, Refusal):
        return 0
    if outcome.verdict == "tight":
        return TIGHT
    return MISSES_TARGETS if outcome.misses else MEETS_TARGETS


def _is_tier(market: Market, tiers: Sequence[str]) -> Flags:
    return _of(np.array([tier in tiers for tier in market.tiers], dtype=bool), market.tier_index)


Reject = Callable[[RejectionReason, Flags, str | None], None]


def _filter_machines(filters: Filters, market: Market, reject: Reject) -> None:
    """The filters that speak of machines: accelerators and how many of them."""
    names = market.accelerators
    if filters.include:
        included = np.array([names_accelerator(filters.include, name) for name in names], dtype=bool)
        reject("include", ~_of(included, market.machine_index), "include")
    if filters.exclude:
        excluded = np.array([names_accelerator(filters.exclude, name) for name in names], dtype=bool)
        reject("exclude", _of(excluded, market.machine_index), "exclude")
    if filters.gpu_count_maximum is not None:
        larger = [machine.device_count > filters.gpu_count_maximum for machine in market.machines]
        reject("gpu_count", _of(np.array(larger, dtype=bool), market.machine_index), "gpu_count_maximum")


def _filter_offers(filters: Filters, market: Market, reject: Reject) -> None:
    """The filters that speak of who sells where, and on what terms."""
    if filters.regions:
        wanted = {name.casefold() for name in filters.regions}
        here = np.array([bool(wanted & keys) for keys in market.regions], dtype=bool)
        reject("region", ~_of(here, market.region_index), "regions")
    if filters.providers:
        wanted = {name.casefold() for name in filters.providers}
        chosen = np.array([name.casefold() in wanted for name in market.providers], dtype=bool)
        reject("provider", ~_of(chosen, market.provider_index), "providers")
    reject("tier", ~_is_tier(market, filters.tiers), "tiers")


def names_accelerator(wanted: Sequence[str], name: str) -> bool:
    """Whether a list means this accelerator: its own name, or the family before a dash.

    >>> names_accelerator(["h100"], "H100-SXM5"), names_accelerator(["L4"], "L40S")
    (True, False)
    """
    own = name.casefold()
    return any(own == word.casefold() or own.startswith(f"{word.casefold()}-") for word in wanted)


Runs = list[bill.Run | None] | None
"""Of each machine what it does in a month, where that depends on it; None where it is refused."""


def _sides(
    setting: Setting[Any], placements: Placements, runs: Runs, currency: str
) -> tuple[Integers, Flags]:
    """Storage and egress of each offer in smallest units, and whether both are known; worked out once per terms and
    what is kept."""
    market = setting.market
    at_most = setting.needs(None, "on_demand")
    kept: dict[Needs, int] = {at_most: 0}
    of_offer = np.zeros(len(market), dtype=np.int64)
    if runs is not None:
        tiers = max(1, len(market.tiers))
        sold, place = np.unique(market.machine_index * tiers + market.tier_index, return_inverse=True)
        numbers = []
        for machine, tier in (divmod(one, tiers) for one in sold.tolist()):
            run = runs[machine]
            needs = at_most
            if run is not None:
                needs = setting.needs(placements[machine], market.tiers[tier]).over(run.months)
            numbers.append(kept.setdefault(needs, len(kept)))
        of_offer = _of(np.array(numbers, dtype=np.int64), place)
    pairs, inverse = np.unique(of_offer * max(1, len(market.terms)) + market.terms_index, return_inverse=True)
    found = list(kept)
    sides = [
        bill_integers.side_minor(
            found[pair // len(market.terms)], market.terms[pair % len(market.terms)], market.rates, currency
        )
        for pair in pairs.tolist()
    ]
    amounts = np.array([amount for amount, _known in sides], dtype=np.int64)
    known = np.array([known for _amount, known in sides], dtype=bool)
    return _of(amounts, inverse), _of(known, inverse)


@dataclass(frozen=True)
class _Hours:
    """Of each offer: billed and repeated hours of a machine in hundredths, sets side by side, months of the bill."""

    billed: Integers
    repeated: Integers
    sets: Integers
    months: Integers


def _hour_steps(setting: Setting[Any], placements: Placements, runs: Runs) -> _Hours:
    """Worked out once per machine, terms and tier."""
    market, by_machine = setting.market, runs is not None
    distinct, first, inverse = market.billed_alike(by_machine=by_machine)
    scheduled = bill.scheduled(setting.workload.schedule)
    found = [(0, 0, 1, 1)] * len(distinct)
    places = zip(
        market.machine_index[first].tolist(), market.tier_index[first].tolist(), market.terms_index[first].tolist(),
        strict=True,
    )  # fmt: skip
    for position, (machine, sold, billed_by) in enumerate(places):
        run = scheduled if runs is None else runs[machine]
        if run is None:
            continue
        tier = market.tiers[sold]
        rework = setting.rework(placements[machine] if by_machine else None, tier)
        sets, months = run.sets(rework), run.months
        terms = run.bounded(market.terms[billed_by], rework)
        found[position] = (
            *bill_integers.hour_steps(bill.paid(run.of_each(sets), tier), terms, rework),
            sets,
            months,
        )
    billed, repeated, sets_of, months_of = (
        _of(row, inverse) for row in np.array(found, dtype=np.int64).reshape(-1, 4).T
    )
    return _Hours(
        billed=np.where(market.per_month, bill.HOUR_STEPS * months_of, billed),
        repeated=np.where(market.per_month, 0, repeated),
        sets=sets_of,
        months=months_of,
    )


def standing(setting: Setting[Any], weighed: Weighed, sort: str | None = None) -> ranking.Standing:
    """What the candidates are ranked by: the workload's objective, or a column the reader chose."""
    rows = weighed.rows
    market = weighed.market
    gpus = [0 if isinstance(o, Refusal) else o.layout.device_count for o in weighed.placements]
    objective = _sort_values(setting, weighed, rows, sort) if sort else _objective(setting, weighed, rows)
    return ranking.Standing(
        class_=weighed.class_[rows],
        objective=objective,
        total_minor=weighed.total_minor[rows],
        complete=weighed.complete[rows],
        gpus_per_replica=_of(np.array(gpus, dtype=np.int64), market.machine_index)[rows],
        tie_rank=market.tie_rank()[rows],
    )


def _rented_bytes(placed: Placed) -> float:
    """Memory of all GPUs that are rented, idle ones too: what a smaller machine has less of."""
    machine = placed.machine
    return float(placed.machines * machine.device_count * machine.device.memory_bytes)


EVERY_KIND: dict[str, Callable[[Placed], float]] = {"smallest": _rented_bytes}
"""Objectives that mean the same for every kind; lower is better."""


def _per_machine(placements: Placements, value: Callable[[Any], float | None]) -> Floats:
    values = [None if isinstance(o, Refusal) else value(o) for o in placements]
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def _objective(setting: Setting[Any], weighed: Weighed, rows: Integers) -> Floats:
    value = setting.orders.get(setting.workload.objective) or EVERY_KIND.get(setting.workload.objective)
    if value is None:
        return np.zeros(len(rows))
    values = _per_machine(weighed.placements, value)
    if np.isnan(values).all():
        return np.zeros(len(rows))  # No machine has this figure: the total decides.
    return _of(ranking.significant(values), weighed.market.machine_index)[rows]


def _of_one_run(setting: Setting[Any], weighed: Weighed) -> Floats:
    """As ``bill.of_one_run`` before its rounding, for every offer; in smallest units of the currency."""
    runs = _per_machine(weighed.placements, lambda placed: float(setting.run(placed).starts))
    return weighed.total_minor / _of(runs, weighed.market.machine_index)


def _sort_values(setting: Setting[Any], weighed: Weighed, rows: Integers, sort: str) -> Floats:
    """Values of a column the reader sorts by, ascending; with a leading minus, descending."""
    descending, name = sort.startswith("-"), sort.removeprefix("-")
    market, placements = weighed.market, weighed.placements
    if name in setting.orders:
        values = _of(_per_machine(placements, setting.orders[name]), market.machine_index)[rows]
        descending = descending != (name in setting.descending)
    elif name == "total":
        values = weighed.total_minor[rows].astype(np.float64)
    elif name == "job_cost":
        values = _of_one_run(setting, weighed)[rows]
    elif name in ("per_million", "per_unit"):
        served = _of(_per_machine(placements, setting.units_per_month), market.machine_index)[rows]
        values = weighed.total_minor[rows] / np.maximum(served, 1e-30)
    elif name == "provider":
        values = _alphabetical(market.providers)[market.provider_index][rows]
    elif name == "accelerator":
        values = _alphabetical(market.accelerators)[market.machine_index][rows]
    elif name == "region":
        values = _alphabetical(market.region_codes)[market.region_index][rows]
    elif name == "bandwidth":
        values = np.array([m.device.bandwidth_bytes_per_s for m in market.machines])[market.machine_index][
            rows
        ]
    elif name == "memory":
        values = np.array([m.device.memory_bytes for m in market.machines], dtype=float)[
            market.machine_index
        ][rows]
    elif name == "gpu_count":
        values = np.array([m.device_count for m in market.machines], dtype=float)[market.machine_index][rows]
    elif name == "age":
        values = -market.observed_ordinal[rows].astype(np.float64)
    else:
        raise UnknownSort(name)
    return np.where(np.isnan(values), np.inf, -values if descending else values)


def _alphabetical(names: Sequence[str]) -> Floats:
    order = sorted(set(names), key=str.casefold)
    place = {name: number for number, name in enumerate(order)}
    return np.array([place[name] for name in names], dtype=np.float64)
