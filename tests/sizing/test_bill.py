"""Bills worked out by hand, the rules of money, and integers against Decimals."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing import bill, bill_integers
from planner.sizing.bill import Needs, UnitPrice, billed_hours, jobs, month, scheduled
from planner.sizing.offers import MICRO, EgressPrice, EgressStep, Rates, StoragePrice, Terms
from planner.sizing.results import Bill
from planner.sizing.workload import Schedule

RATES = Rates(
    on=date(2026, 10, 30),
    per_usd={"USD": Decimal(1), "JPY": Decimal("157.25"), "EUR": Decimal("0.895095")},
    source="ECB",
)
STORAGE = StoragePrice(Decimal("0.08"), "USD", "price page")
EGRESS_STEPS = ((0, "0"), (100, "0.09"), (10_240, "0.085"))
EGRESS = EgressPrice(
    tuple(EgressStep(Decimal(from_gb), Decimal(price)) for from_gb, price in EGRESS_STEPS),
    "USD",
    "price page",
)
TERMS = Terms("aws", unit_s=1, minimum_s=60, storage=STORAGE, egress=EGRESS)
NOTHING = Needs(0, 0)


def priced(amount: str, currency: str = "USD", per_month: bool = False) -> UnitPrice:
    return UnitPrice(Decimal(amount), currency, per_month, "price page", date(2026, 10, 1))


def made(price: UnitPrice, **changes: object) -> Bill:
    asked: dict[str, object] = {
        "machines": 1, "run": scheduled(Schedule()), "terms": TERMS, "needs": NOTHING, "rates": RATES,
        "currency": "USD",
    } | changes  # fmt: skip
    found = month(price, **asked)  # type: ignore[arg-type]
    assert found is not None
    return found


def amounts(found: Bill) -> dict[str, Decimal | None]:
    return {line.what: line.amount for line in found.lines}


# By hand: 2 machines × 730 h × 2.49 = 3635.40; 100 GB × 0.08 = 8.00; 50 GB of 100 free = 0.00.
def test_two_h100_for_a_month_with_disk_and_a_free_allowance_cost_3643_40() -> None:
    found = made(priced("2.49"), machines=2, needs=Needs(100, 50))
    assert amounts(found) == {
        "gpu": Decimal("3635.40"),
        "storage": Decimal("8.00"),
        "egress": Decimal("0.00"),
    }
    assert found.total == Decimal("3643.40")
    assert found.complete
    assert found.hours == 730


# By hand: 8 h a day in 3 starts = 2.667 h each, billed 3 h; 22 days: 66 starts × 3 h = 198 h × 1.10 = 217.80.
def test_whole_hours_are_billed_for_every_start() -> None:
    run = scheduled(Schedule(hours_per_day=8, days_per_month=22, starts_per_day=3))
    found = made(priced("1.10"), run=run, terms=Terms("hourly", unit_s=3600))
    assert (found.hours, found.total) == (198, Decimal("217.80"))


# By hand: 60 starts of 1 minute a day, 15 minutes least: 15 h × 30 days = 450 h × 2 = 900.
def test_a_minimum_charge_counts_for_every_start() -> None:
    run = scheduled(Schedule(hours_per_day=1, days_per_month=30, starts_per_day=60))
    found = made(priced("2"), run=run, terms=Terms("quarter", unit_s=60, minimum_s=900))
    assert (found.hours, found.total) == (450, Decimal("900.00"))


# By hand: 2.49 × 157.25 = 391.5525 JPY/h × 730 h = 285,833.325 → 285,833.
def test_yen_are_whole_and_the_rate_is_told_with_its_date() -> None:
    found = made(priced("2.49"), currency="JPY")
    assert str(found.total) == "285833"
    assert (found.rate, found.rate_on) == (Decimal("157.25"), date(2026, 10, 30))


# By hand: 730 h × 0.05/h × 0.25 h = 9.125 → 9.13 h × 1.00; 730 + 9.13 = 739.13.
def test_rework_of_interruptible_machines_is_a_line_of_its_own() -> None:
    found = made(priced("1.00"), rework=bill.rework_fraction())
    assert amounts(found) == {"gpu": Decimal("730.00"), "rework": Decimal("9.13")}
    assert found.total == Decimal("739.13")


# By hand: 100 free + 10,140 × 0.09 = 912.60 + 760 × 0.085 = 64.60.
def test_egress_is_paid_step_by_step() -> None:
    found = made(priced("1"), needs=Needs(0, 11_000))
    assert amounts(found)["egress"] == Decimal("977.20")


def test_a_monthly_plan_costs_its_month_whatever_the_hours() -> None:
    run = scheduled(Schedule(hours_per_day=1, days_per_month=10))
    found = made(priced("1500", per_month=True), machines=2, run=run)
    assert found.total == Decimal("3000.00")
    assert found.lines[0].unit == "machine-month"


def test_an_unknown_line_is_unknown_and_never_zero() -> None:
    found = made(priced("1"), terms=Terms("nobody"), needs=Needs(100, 50))
    assert amounts(found) == {"gpu": Decimal("730.00"), "storage": None, "egress": None}
    assert found.missing == ("storage", "egress")
    assert not found.complete
    assert found.total == Decimal("730.00")


def test_a_price_without_a_rate_has_no_bill_in_another_currency() -> None:
    assert month(
        priced("10", "CNY"), machines=1, run=scheduled(Schedule()), terms=TERMS, needs=NOTHING, rates=RATES,
        currency="USD",
    ) is None  # fmt: skip


def test_storage_in_a_currency_without_a_rate_is_unknown() -> None:
    terms = Terms("x", storage=StoragePrice(Decimal(1), "CNY", "page"))
    assert made(priced("1"), terms=terms, needs=Needs(10, 0)).missing == ("storage",)


def test_the_default_month_is_730_hours() -> None:
    assert billed_hours(scheduled(Schedule()), None, None) == Decimal("730.00")
    assert billed_hours(scheduled(Schedule()), 3600, 3600) == Decimal("730.00")


def test_nobody_is_billed_for_more_than_a_whole_month() -> None:
    run = scheduled(Schedule(hours_per_day=12, starts_per_day=1440))
    assert billed_hours(run, 3600, None) == Decimal("730.00")


def test_work_of_seconds_is_billed_and_its_share_of_a_cent_keeps_its_digits() -> None:
    seconds = jobs(Schedule(starts_per_day=1), Decimal("0.00005"))
    assert billed_hours(seconds, None, None) == Decimal("0.01")
    monthly = made(priced("0.40"), run=seconds, terms=Terms("any"), needs=NOTHING)
    assert (monthly.hours, monthly.total) == (0.01, Decimal("0.01"))
    assert bill.of_one_run(monthly, seconds) == Decimal("0.00033")


def test_a_job_runs_once_for_each_start_and_once_where_there_is_none() -> None:
    nightly = jobs(Schedule(days_per_month=20, starts_per_day=1), Decimal("2.5"))
    once = jobs(Schedule(starts_per_day=0), Decimal("2.5"))
    assert billed_hours(nightly, 3600, None) == Decimal("60.00")
    assert billed_hours(once, 3600, None) == Decimal("3.00")


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [("0.005", "USD", "0.01"), ("0.0149", "EUR", "0.01"), ("0.5", "JPY", "1"), ("1.4999", "JPY", "1"),
     ("0.0049", "EUR", "0.01"), ("0.001", "JPY", "1"), ("0", "USD", "0.00")],
)  # fmt: skip
def test_amounts_are_rounded_half_up_to_the_smallest_unit_and_never_to_nothing(
    amount: str, currency: str, shown: str
) -> None:
    assert str(bill.rounded(Decimal(amount), currency)) == shown


HOURS = st.floats(min_value=0.01, max_value=24)
DAYS = st.floats(min_value=0.01, max_value=31)
STARTS = st.integers(min_value=0, max_value=1440)


@given(HOURS, DAYS, STARTS, st.sampled_from([None, 1, 60, 3600]), st.sampled_from([None, 60, 900]))
def test_coarser_billing_never_costs_less_than_the_time_used(
    hours: float, days: float, starts: int, unit_s: int | None, minimum_s: int | None
) -> None:
    run = scheduled(Schedule(hours_per_day=hours, days_per_month=days, starts_per_day=starts))
    exact = billed_hours(run, None, None)
    assert billed_hours(run, unit_s, minimum_s) >= exact


@given(
    price=st.integers(min_value=1, max_value=10**9),
    machines=st.integers(min_value=1, max_value=10_000),
    steps=st.integers(min_value=0, max_value=744 * 100 * 40),
    currency=st.sampled_from(["USD", "JPY", "EUR"]),
)
def test_integer_lines_equal_decimal_lines(price: int, machines: int, steps: int, currency: str) -> None:
    exact = bill.rounded(Decimal(price) / MICRO * machines * Decimal(steps) / 100, currency)
    one = np.array([price], dtype=np.int64)
    found = bill_integers.machine_minor(one, np.array([machines]), np.array([steps]), currency)
    assert int(found[0]) == min(int(exact * bill.MINOR_UNITS[currency]), bill_integers.SATURATED)


# Jobs that take more hours than a month has ---------------------------------------------------------------------

DAILY = Schedule(starts_per_day=1)
TERMS_CAPPED = Terms("vultr", unit_s=3600, cap_hours=Decimal(672))


def test_a_month_of_jobs_that_one_machine_has_not_the_hours_for_is_shared_by_several_side_by_side() -> None:
    # By hand: 456 h × 30.4167 = 13,870.0152 h; ÷ 730.0008 h = 18.9999…: 19 sets, each 730.00 h.
    run = jobs(DAILY, Decimal(456))
    found = made(priced("2"), machines=2, run=run, terms=Terms("any"))
    assert (found.sets, found.months, found.hours) == (19, 1, 730.00)
    assert found.lines[0].quantity == 19 * 2 * 730
    assert found.total == Decimal("55480.00")
    assert bill.of_one_run(found, run) == Decimal("1824.00"), "456 h × 2 machines × 2"


def test_a_cap_of_the_provider_holds_for_each_machine_and_not_for_all_jobs() -> None:
    capped = made(priced("2"), run=jobs(DAILY, Decimal(456)), terms=TERMS_CAPPED)
    assert (capped.sets, capped.hours, capped.total) == (19, 672, Decimal(19 * 672 * 2))


def test_a_plan_by_the_month_is_paid_for_every_set_and_a_commitment_too() -> None:
    run = jobs(DAILY, Decimal(456))
    plan = made(priced("1000", per_month=True), run=run, terms=Terms("any"))
    assert (plan.lines[0].quantity, plan.total) == (19, Decimal("19000.00"))
    reserved = made(priced("1"), run=run, terms=Terms("any"), tier="reserved")
    assert (reserved.sets, reserved.hours, reserved.total) == (19, 730, Decimal(19 * 730))


def test_a_job_done_once_that_takes_months_has_the_bill_of_all_of_them() -> None:
    run = jobs(Schedule(starts_per_day=0), Decimal(1100))
    hourly = made(priced("2"), run=run, terms=TERMS, needs=Needs(100, 0))
    assert (hourly.sets, hourly.months, hourly.hours) == (1, 2, 1100)
    assert amounts(hourly) == {"gpu": Decimal("2200.00"), "storage": Decimal("16.00")}
    plan = made(priced("1000", per_month=True), run=run, terms=Terms("any"))
    assert (plan.lines[0].quantity, plan.total) == (2, Decimal("2000.00"))
    assert bill.of_one_run(plan, run) == plan.total
    assert made(priced("1"), run=run, terms=Terms("any"), tier="reserved").hours == 1460
    assert made(priced("2"), run=run, terms=TERMS_CAPPED).hours == 1100
    assert (
        made(priced("2"), run=jobs(Schedule(starts_per_day=0), Decimal(1400)), terms=TERMS_CAPPED).hours
        == 1344
    )


@given(
    st.decimals(min_value="0.01", max_value=5000, places=2), STARTS, DAYS,
    st.sampled_from([None, 1, 3600]), st.sampled_from([Decimal(0), Decimal("0.2")]),
    st.sampled_from(["on_demand", "spot", "reserved"]), st.sampled_from([None, Decimal(672)]),
)  # fmt: skip
def test_no_machine_is_ever_billed_for_more_hours_than_its_months_have(
    hours: Decimal,
    starts: int,
    days: float,
    unit_s: int | None,
    rework: Decimal,
    tier: str,
    cap: Decimal | None,
) -> None:
    run = jobs(Schedule(starts_per_day=starts, days_per_month=days), hours)
    rework = rework if tier == "spot" else Decimal(0)
    terms = Terms("any", unit_s=unit_s, cap_hours=cap)
    found = made(priced("1"), machines=3, run=run, terms=terms, rework=rework, tier=tier)
    of_each = sum(line.quantity for line in found.lines) / (3 * found.sets)
    month_hours = float(max(Decimal(730), 24 * Decimal(str(days))))
    if starts or not rework:
        assert of_each <= month_hours * found.months + 0.01
    needed = float(hours) * float(run.starts)
    assert found.sets >= needed / month_hours - 1e-9 or not starts
    assert found.sets < needed * (1 + float(rework)) / month_hours + 1
