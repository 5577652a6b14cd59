"""Ways to pay for the same machines, and to host the same work, over a term: totals, lines and break-even.

Everything here is arithmetic on figures that the caller states; none is assumed. Money is Decimal, in one currency,
rounded half up to the cent at the end of each line.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

HOURS_OF_MONTH = Decimal(730)
"""24 × 365 ÷ 12: what a commitment is charged for, used or not."""
CENT = Decimal("0.01")

Way = Literal["on_demand", "reserved", "spot", "own", "managed"]
Why = Literal["", "not_given", "not_interruptible"]


class Stated(BaseModel):
    """What somebody compares; an absent price leaves that way out, with the reason."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    machines: int = Field(default=1, ge=1, le=10_000)
    hours_per_month: Decimal = Field(default=HOURS_OF_MONTH, gt=0, le=744)
    months: int = Field(default=36, ge=1, le=120)
    on_demand_per_hour: Decimal | None = Field(default=None, ge=0, le=10**6)
    reserved_per_hour: Decimal | None = Field(default=None, ge=0, le=10**6)
    reserved_upfront: Decimal = Field(default=Decimal(0), ge=0, le=10**9)
    reserved_term_months: int = Field(default=12, ge=1, le=120)
    spot_per_hour: Decimal | None = Field(default=None, ge=0, le=10**6)
    interruptible: bool = False
    rework_fraction: Decimal = Field(default=Decimal("0.0125"), ge=0, le=10)
    """Share of machine time that is done twice on machines that can be taken away."""
    purchase: Decimal | None = Field(default=None, ge=0, le=10**9)
    """Of one machine, installed."""
    residual: Decimal = Field(default=Decimal(0), ge=0, le=10**9)
    """What one machine is worth at the end of its life."""
    life_months: int = Field(default=48, ge=1, le=240)
    power_kw: Decimal = Field(default=Decimal(0), ge=0, le=1000)
    """Drawn by one machine at work, on average."""
    pue: Decimal = Field(default=Decimal("1.4"), ge=1, le=5)
    power_per_kwh: Decimal = Field(default=Decimal(0), ge=0, le=100)
    rack_per_month: Decimal = Field(default=Decimal(0), ge=0, le=10**9)
    """Space, network and hands of one machine."""
    storage_per_month: Decimal = Field(default=Decimal(0), ge=0, le=10**9)
    """Storage and transfer out beside rented machines, all of them together; own machines have theirs."""
    staff_per_month: Decimal = Field(default=Decimal(0), ge=0, le=10**9)
    """Of all machines together."""
    input_millions_per_month: Decimal = Field(default=Decimal(0), ge=0, le=10**9)
    output_millions_per_month: Decimal = Field(default=Decimal(0), ge=0, le=10**9)
    managed_input_per_million: Decimal | None = Field(default=None, ge=0, le=10**6)
    managed_output_per_million: Decimal | None = Field(default=None, ge=0, le=10**6)


@dataclass(frozen=True)
class Line:
    what: Literal[
        "machine_hours", "rework", "commitment", "upfront", "storage", "depreciation", "power", "rack", "staff",
        "input_tokens", "output_tokens",
    ]  # fmt: skip
    amount: Decimal
    quantity: Decimal
    unit: Literal["h", "month", "month_of_storage", "payment", "kWh", "M tokens"]
    unit_price: Decimal


@dataclass(frozen=True)
class Total:
    """One way over the whole term. ``why`` says why there is none."""

    way: Way
    lines: tuple[Line, ...] = ()
    why: Why = ""
    paid_months: int = 0
    """Months that are paid: a commitment runs to the end of its term."""

    @property
    def amount(self) -> Decimal | None:
        return None if self.why else sum((line.amount for line in self.lines), Decimal(0))

    def per_month(self, months: int) -> Decimal | None:
        return None if self.amount is None else (self.amount / months).quantize(CENT, ROUND_HALF_UP)

    def per_million(self, stated: Stated) -> Decimal | None:
        """Per million tokens in and out; None where no tokens are stated."""
        tokens = (stated.input_millions_per_month + stated.output_millions_per_month) * stated.months
        if self.amount is None or not tokens:
            return None
        return (self.amount / tokens).quantize(Decimal("0.0001"), ROUND_HALF_UP)


def totals(stated: Stated) -> list[Total]:
    return [on_demand(stated), reserved(stated), spot(stated), own(stated), managed(stated)]


def on_demand(stated: Stated) -> Total:
    """machines × hours a month × months × price, with storage and transfer of these months."""
    if stated.on_demand_per_hour is None:
        return Total("on_demand", why="not_given")
    hours = stated.machines * stated.hours_per_month * stated.months
    line = _line("machine_hours", hours, "h", stated.on_demand_per_hour)
    return Total("on_demand", (line, *_storage(stated)), paid_months=stated.months)


def reserved(stated: Stated) -> Total:
    """machines × (upfront × terms + 730 h × months of these terms × price), used or not, to the last term's end."""
    if stated.reserved_per_hour is None:
        return Total("reserved", why="not_given")
    terms = -(-stated.months // stated.reserved_term_months)
    months = terms * stated.reserved_term_months
    lines = []
    if stated.reserved_upfront:
        lines.append(_line("upfront", Decimal(stated.machines * terms), "payment", stated.reserved_upfront))
    hours = stated.machines * HOURS_OF_MONTH * months
    lines.append(_line("commitment", hours, "h", stated.reserved_per_hour))
    return Total("reserved", (*lines, *_storage(stated)), paid_months=months)


def spot(stated: Stated) -> Total:
    """machines × hours × months × price, and the hours expected to be repeated; only for work that allows it."""
    if stated.spot_per_hour is None:
        return Total("spot", why="not_given")
    if not stated.interruptible:
        return Total("spot", why="not_interruptible")
    hours = stated.machines * stated.hours_per_month * stated.months
    lines = [_line("machine_hours", hours, "h", stated.spot_per_hour)]
    if stated.rework_fraction:
        lines.append(_line("rework", hours * stated.rework_fraction, "h", stated.spot_per_hour))
    return Total("spot", (*lines, *_storage(stated)), paid_months=stated.months)


def own(stated: Stated) -> Total:
    """(purchase − residual) ÷ life × months, power × PUE × hours, rack and staff.

    Machines that outlive the term are depreciated for the term alone; a term beyond their life buys them again. Idle
    power outside the hours stated is left out.
    """
    if stated.purchase is None:
        return Total("own", why="not_given")
    machine_months = Decimal(stated.machines * stated.months)
    each = max(Decimal(0), stated.purchase - stated.residual) / stated.life_months
    lines = [_line("depreciation", machine_months, "month", each)]
    if stated.power_kw:
        energy = stated.power_kw * stated.pue * stated.hours_per_month * machine_months
        lines.append(_line("power", energy, "kWh", stated.power_per_kwh))
    if stated.rack_per_month:
        lines.append(_line("rack", machine_months, "month", stated.rack_per_month))
    if stated.staff_per_month:
        lines.append(_line("staff", Decimal(stated.months), "month", stated.staff_per_month))
    return Total("own", tuple(lines), paid_months=stated.months)


def managed(stated: Stated) -> Total:
    """Millions of tokens × price of a million, in and out apart."""
    if stated.managed_input_per_million is None or stated.managed_output_per_million is None:
        return Total("managed", why="not_given")
    tokens_in = stated.input_millions_per_month * stated.months
    tokens_out = stated.output_millions_per_month * stated.months
    lines = (
        _line("input_tokens", tokens_in, "M tokens", stated.managed_input_per_million),
        _line("output_tokens", tokens_out, "M tokens", stated.managed_output_per_million),
    )
    return Total("managed", lines, paid_months=stated.months)


def break_even_hours(stated: Stated) -> Decimal | None:
    """Hours a month from which the commitment costs less than paying by the hour, over its term.

    (upfront ÷ term + 730 × reserved price) ÷ on-demand price; None where it never does, above 730 hours.
    """
    if not stated.on_demand_per_hour or stated.reserved_per_hour is None:
        return None
    monthly = (
        stated.reserved_upfront / stated.reserved_term_months + HOURS_OF_MONTH * stated.reserved_per_hour
    )
    hours = (monthly / stated.on_demand_per_hour).quantize(CENT, ROUND_HALF_UP)
    return hours if hours <= HOURS_OF_MONTH else None


def break_even_month(stated: Stated) -> int | None:
    """The month at whose end the commitment has cost no more than paying by the hour; None if not within its term.

    upfront ÷ (hours × on-demand price − 730 × reserved price), rounded up to whole months.
    """
    if stated.on_demand_per_hour is None or stated.reserved_per_hour is None:
        return None
    saved = stated.hours_per_month * stated.on_demand_per_hour - HOURS_OF_MONTH * stated.reserved_per_hour
    if saved <= 0:
        return None
    month = int((stated.reserved_upfront / saved).quantize(Decimal(1), ROUND_CEILING)) or 1
    return month if month <= stated.reserved_term_months else None


def break_even_millions(stated: Stated, way: Way) -> Decimal | None:
    """Millions of tokens a month, in the stated mix, above which a way costs less than the managed service.

    monthly cost of the way ÷ managed price of a million in that mix. It says nothing of whether the stated machines
    can serve so many.
    """
    tokens = stated.input_millions_per_month + stated.output_millions_per_month
    service = managed(stated)
    hosted = next(total for total in totals(stated) if total.way == way)
    if way == "managed" or not tokens or not service.amount or hosted.amount is None:
        return None
    each = service.amount / (tokens * stated.months)
    return (hosted.amount / stated.months / each).quantize(CENT, ROUND_HALF_UP)


def _storage(stated: Stated) -> tuple[Line, ...]:
    """Months compared × storage and transfer a month; nothing where none is stated."""
    if not stated.storage_per_month:
        return ()
    return (_line("storage", Decimal(stated.months), "month_of_storage", stated.storage_per_month),)


def _line(what: str, quantity: Decimal, unit: str, unit_price: Decimal) -> Line:
    amount = (quantity * unit_price).quantize(CENT, ROUND_HALF_UP)
    return Line(what, amount, quantity, unit, unit_price)  # type: ignore[arg-type]
