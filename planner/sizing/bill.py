"""A month's bill: exact Decimal lines for rows that are shown. ``bill_integers`` has the same figures for ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from typing import Literal

from planner.sizing.offers import (
    EgressPrice,
    EgressStep,
    Rates,
    Terms,
    shown_unit_price,
    upfront_per_month,
)
from planner.sizing.quantities import Assumption
from planner.sizing.results import Bill, BillLine, OfferFacts
from planner.sizing.workload import Schedule

NOTHING_SET: Mapping[str, float] = {}
MINOR_UNITS = {"USD": 100, "EUR": 100, "JPY": 1}
"""Smallest units per unit of currency: JPY has no decimals."""
HOUR_STEP = Decimal("0.01")
"""Billed hours a month are rounded to a hundredth of an hour, so that 24 × 30.4167 reads and counts as 730; work that
takes less counts one, since nothing that runs is free."""
HOUR_STEPS = 100
INCOMPLETE_TENTHS = 11
"""An incomplete total ranks as 1.10 × its known part; a complete one as 10 tenths."""

INTERRUPTIONS_PER_HOUR = Assumption(
    name="interruptions_per_hour", value=0.05, unit="1/h", source="assumed: one interruption in 20 h of a spot "
    "machine; providers publish no rate per hour", low=0.005, high=0.3,
)  # fmt: skip
HOURS_LOST = Assumption(
    name="hours_lost_per_interruption", value=0.25, unit="h", source="assumed: requests in hand are repeated, a "
    "new machine starts and loads the weights", low=0.05, high=1.0,
)  # fmt: skip

INTERRUPTIBLE_TIERS = ("spot", "community")
"""Machines that can be taken away: only for work that can afford it."""


COMMITTED_TIERS = ("reserved",)
"""Machines that are paid for the whole month, whether they run or not."""
WHOLE_MONTH_HOURS = Decimal(730)


def rework_fraction(assumed: Mapping[str, float] = NOTHING_SET) -> Decimal:
    """Share of machine time done twice on interruptible machines: interruptions per hour × hours lost at each.

    ``assumed`` holds either where a user set it.
    """
    return Decimal(str(INTERRUPTIONS_PER_HOUR.given(assumed))) * Decimal(str(HOURS_LOST.given(assumed)))


@dataclass(frozen=True)
class Run:
    """When machines run in a month: ``hours_per_start`` for each of ``starts``."""

    hours_per_start: Decimal
    starts: Decimal
    hours_ceiling: Decimal
    """Hours of a month in which they could run at all: being billed for more than staying on makes no sense."""
    ends: Literal["never", "once", "again"] = "never"
    """Services go on; a job is done once, however many months it takes, or again with each start of every month."""

    @property
    def month_hours(self) -> Decimal:
        """Hours that one machine has in a month."""
        return max(WHOLE_MONTH_HOURS, self.hours_ceiling)

    @property
    def months(self) -> int:
        """Months begun until a job that is done once is done; its bill is that of all of them. Otherwise 1."""
        if self.ends != "once" or self.hours_per_start <= WHOLE_MONTH_HOURS:
            return 1
        return max(1, int((self.hours_per_start / self.month_hours).to_integral_value(ROUND_CEILING)))

    def sets(self, rework: Decimal = Decimal(0)) -> int:
        """Sets of machines that do the jobs of a month side by side, where one has not the hours for all of them.

        ceil(hours of a job × (1 + share done twice) × jobs ÷ hours of a month); 1 for all that is no repeated job.
        """
        if self.ends != "again":
            return 1
        needed = self.hours_per_start * (1 + rework) * self.starts
        return max(1, int((needed / self.month_hours).to_integral_value(ROUND_CEILING)))

    def bounded(self, terms: Terms, rework: Decimal) -> Terms:
        """The terms of one machine over the months of the bill. One of several that share jobs has its month and no
        more, work that is done twice included."""
        terms = terms.over(self.months)
        if self.ends != "again" or not rework:
            return terms
        month = self.month_hours.quantize(HOUR_STEP, ROUND_HALF_UP)
        return replace(terms, cap_hours=month if terms.cap_hours is None else min(month, terms.cap_hours))

    def of_each(self, sets: int) -> Run:
        """What one of several sets does in the month."""
        return self if sets == 1 else replace(self, starts=self.starts / sets)


def scheduled(schedule: Schedule) -> Run:
    """The month of a service: its hours a day, divided over its starts."""
    days = Decimal(str(schedule.days_per_month))
    hours_per_day = Decimal(str(schedule.hours_per_day))
    starts_per_day = Decimal(str(schedule.starts_per_day))
    if starts_per_day == 0:
        return Run(hours_per_day * days, Decimal(1), 24 * days)
    return Run(hours_per_day / starts_per_day, starts_per_day * days, 24 * days)


def jobs(schedule: Schedule, hours_per_job: Decimal) -> Run:
    """The month of a batch job: it runs once for each start; where starts are 0 it is done once and for all."""
    days = Decimal(str(schedule.days_per_month))
    starts = Decimal(str(schedule.starts_per_day)) * days
    return Run(hours_per_job, starts or Decimal(1), 24 * days, "again" if starts else "once")


def paid(run: Run, tier: str) -> Run:
    """When machines of a tier are paid for: a commitment runs on while they stand, 730 hours of each month."""
    if tier not in COMMITTED_TIERS:
        return run
    hours = run.month_hours * run.months
    return Run(hours, Decimal(1), hours)


def billed_hours(
    run: Run, unit_s: int | None, minimum_s: int | None, cap_hours: Decimal | None = None
) -> Decimal:
    """Hours a month on the bill of one machine.

    starts × max(minimum, ceil(seconds per start ÷ unit) × unit) ÷ 3600, at most a whole month and the
    provider's own cap, rounded half up to 0.01 h and never to nothing. Where the provider's unit is not known the
    exact time is taken.

    >>> billed_hours(scheduled(Schedule()), 3600, None)
    Decimal('730.00')
    """
    seconds = run.hours_per_start * 3600
    if unit_s:
        seconds = (seconds / unit_s).quantize(Decimal(1), ROUND_CEILING) * unit_s
    if minimum_s:
        seconds = max(seconds, Decimal(minimum_s))
    hours = min(seconds * run.starts / 3600, max(run.hours_ceiling, run.hours_per_start * run.starts))
    if cap_hours is not None:
        hours = min(hours, cap_hours)
    return max(hours.quantize(HOUR_STEP, ROUND_HALF_UP), HOUR_STEP) if hours > 0 else hours


def repeated_hours(hours: Decimal, rework: Decimal, terms: Terms) -> Decimal:
    """Hours that are run twice because machines were taken away, as far as they are charged."""
    repeated = (hours * rework).quantize(HOUR_STEP, ROUND_HALF_UP)
    return repeated if terms.cap_hours is None else min(repeated, max(Decimal(0), terms.cap_hours - hours))


def rounded(amount: Decimal, currency: str) -> Decimal:
    """Half up to the currency's smallest unit, cents or whole yen; what is above nothing is at least one of them."""
    step = _smallest(currency)
    found = amount.quantize(step, ROUND_HALF_UP)
    return max(found, step) if amount > 0 else found


def _smallest(currency: str) -> Decimal:
    return Decimal(1) / MINOR_UNITS[currency] if MINOR_UNITS[currency] > 1 else Decimal(1)


def of_one_run(monthly: Bill, run: Run) -> Decimal:
    """Cost of one run, or one batch job: the whole bill, storage and transfer with it, ÷ the runs that it is for.

    In the bill's currency, rounded half up, below its smallest unit to two digits; at least so much where the bill is.
    """
    return share(monthly.total / run.starts, monthly.currency)


def share(amount: Decimal, currency: str) -> Decimal:
    """A part of a bill: half up to the smallest unit, and below it to two digits.

    >>> share(Decimal("3.487"), "USD"), share(Decimal("0.000329"), "USD")
    (Decimal('3.49'), Decimal('0.00033'))
    """
    if 0 < amount < _smallest(currency):
        return amount.quantize(Decimal(1).scaleb(amount.adjusted() - 1), ROUND_HALF_UP)
    return rounded(amount, currency)


def egress_amount(price: EgressPrice, gb: Decimal) -> Decimal | None:
    """Cost of ``gb`` GB out in a month, step by step, in the price's own currency.

    None beyond the end of the last known step: its price is not known, and that of the step before is no guess.
    """
    if price.until_gb is not None and gb > price.until_gb:
        return None
    total = Decimal(0)
    for number, step in enumerate(price.steps):
        following = price.steps[number + 1] if number + 1 < len(price.steps) else None
        upper = min(gb, following.from_gb) if following else gb
        if upper > step.from_gb:
            total += (upper - step.from_gb) * step.price_per_gb
    return total


@dataclass(frozen=True)
class Needs:
    """What the workload keeps and sends, beside machine time."""

    storage_gb: float
    egress_gb_per_month: float

    def over(self, months: int) -> Needs:
        """The same kept and sent for several months."""
        return self if months == 1 else Needs(self.storage_gb * months, self.egress_gb_per_month * months)


@dataclass(frozen=True)
class UnitPrice:
    """Price of one machine per hour or month, as observed."""

    amount: Decimal
    currency: str
    per_month: bool
    source: str
    observed_on: date
    upfront_per_month: Decimal = Decimal(0)
    """A month's share of what is paid upfront for the term; ``amount`` is then what is paid beside it."""


def upfront_share(facts: OfferFacts) -> Decimal:
    """A month's share of what an offer asks upfront, in its own currency; 0 where it asks for nothing."""
    return upfront_per_month(facts.upfront, facts.term_months)


def side_lines(needs: Needs, terms: Terms, rates: Rates, currency: str) -> list[BillLine]:
    """Storage and egress of a month; the amount is None where the price, or its rate, is unknown."""
    lines = []
    if needs.storage_gb > 0:
        storage = terms.storage
        factor = rates.factor(storage.currency, currency) if storage else None
        quantity = Decimal(str(needs.storage_gb))
        lines.append(
            BillLine(
                what="storage",
                amount=rounded(quantity * storage.price_per_gb_month * factor, currency)
                if storage and factor is not None
                else None,
                quantity=needs.storage_gb,
                unit="GB-month",
                unit_price=storage.price_per_gb_month if storage else None,
                unit_price_currency=storage.currency if storage else None,
                source=storage.source if storage else None,
                observed_on=storage.observed_on if storage else None,
            )
        )
    if needs.egress_gb_per_month > 0:
        egress = terms.egress
        known = egress is not None and bool(egress.steps)
        factor = rates.factor(egress.currency, currency) if egress else None
        quantity = Decimal(str(needs.egress_gb_per_month))
        amount = unit_price = None
        if egress is not None and known and factor is not None:
            own = egress_amount(egress, quantity)
            amount = None if own is None else rounded(own * factor, currency)
            reached = step_reached(egress.steps, quantity)
            unit_price = None if own is None else reached.price_per_gb
        lines.append(
            BillLine(
                what="egress",
                amount=amount,
                quantity=needs.egress_gb_per_month,
                unit="GB",
                unit_price=unit_price,
                unit_price_currency=egress.currency if egress and known else None,
                source=egress.source if egress else None,
                observed_on=egress.observed_on if egress else None,
                note="tiered" if egress and len(egress.steps) > 1 else None,
            )
        )
    return lines


def step_reached(steps: tuple[EgressStep, ...], gb: Decimal) -> EgressStep:
    """The dearest step this much traffic reaches."""
    reached = steps[0]
    for step in steps:
        if gb > step.from_gb:
            reached = step
    return reached


def month(
    price: UnitPrice,
    *,
    machines: int,
    run: Run,
    terms: Terms,
    needs: Needs,
    rates: Rates,
    currency: str,
    rework: Decimal = Decimal(0),
    tier: str = "on_demand",
) -> Bill | None:
    """The month's bill, tax excluded: every line rounded half up, the total the sum of the known lines.

    gpu = machines × billed hours × price (a monthly plan: machines × price of the provider's own month);
    upfront = machines × fee of a commitment ÷ months of its term;
    rework = the same as gpu for the hours expected to be repeated. None where the price has no exchange rate:
    it stays in its own currency, unranked.

    No machine is billed for more hours than a month has: jobs of a month that take more are shared by sets of
    ``machines`` each, side by side. A job that is done once and takes more has the bill of all its months.
    """
    factor = rates.factor(price.currency, currency)
    if factor is None:
        return None
    sets, months = run.sets(rework), run.months
    machines *= sets
    terms, needs = run.bounded(terms, rework), needs.over(months)
    run = paid(run.of_each(sets), tier)
    hours = billed_hours(run, terms.unit_s, terms.minimum_s, terms.cap_hours)
    per_unit = shown_unit_price(price.amount, factor)
    count = Decimal(months) if price.per_month else hours
    lines = [_machine_line("gpu", price, machines, count, per_unit, currency, terms)]
    if tier in COMMITTED_TIERS and not price.per_month:
        lines[0] = lines[0].model_copy(update={"note": "committed"})
    if price.upfront_per_month:
        lines.append(
            _upfront_line(
                price, machines * months, shown_unit_price(price.upfront_per_month, factor), currency
            )
        )
    if rework and not price.per_month:
        repeated = repeated_hours(hours, rework, terms)
        lines.append(_machine_line("rework", price, machines, repeated, per_unit, currency, terms))
    lines += side_lines(needs, terms, rates, currency)
    missing = tuple(line.what for line in lines if line.amount is None)
    converted = any(
        line.unit_price_currency not in (None, currency) for line in lines if line.amount is not None
    )
    return Bill(
        total=sum((line.amount for line in lines if line.amount is not None), Decimal(0)),
        currency=currency,
        complete=not missing,
        missing=missing,
        hours=float(hours),
        sets=sets,
        months=months,
        lines=tuple(lines),
        rate=rates.factor("USD", currency) if converted else None,
        rate_on=rates.on if converted else None,
    )


def _machine_line(
    what: Literal["gpu", "rework"],
    price: UnitPrice,
    machines: int,
    count: Decimal,
    per_unit: Decimal,
    currency: str,
    terms: Terms,
) -> BillLine:
    return BillLine(
        what=what,
        amount=rounded(per_unit * machines * count, currency),
        quantity=float(machines * count),
        unit="machine-month" if price.per_month else "machine-hour",
        unit_price=price.amount,
        unit_price_currency=price.currency,
        source=price.source,
        observed_on=price.observed_on,
        note="billing_unit_unknown" if terms.unit_s is None and not price.per_month else None,
    )


def _upfront_line(price: UnitPrice, machines: int, per_month: Decimal, currency: str) -> BillLine:
    return BillLine(
        what="upfront",
        amount=rounded(per_month * machines, currency),
        quantity=float(machines),
        unit="machine-month",
        unit_price=price.upfront_per_month,
        unit_price_currency=price.currency,
        source=price.source,
        observed_on=price.observed_on,
        note="upfront_share",
    )
