"""The bills that the methods page works out by hand, against the program: to the cent, to the yen."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from planner.sizing import hosting
from planner.sizing.bill import Needs, Run, UnitPrice, month, paid, scheduled
from planner.sizing.bill_integers import hour_steps, machine_minor
from planner.sizing.hosting import Stated
from planner.sizing.offers import (
    MICRO,
    EgressPrice,
    EgressStep,
    Rates,
    StoragePrice,
    Terms,
    shown_unit_price,
    upfront_per_month,
)
from planner.sizing.results import Bill
from planner.sizing.workload import Schedule

PAGE = Path(__file__).resolve().parents[2] / "docs" / "methods.md"
ROW = re.compile(r"^\| (\d+) \| .* \| .* \| (≥ )?([\d.]+) ([A-Z]{3}) \|$", re.MULTILINE)
WRITTEN = {
    int(number): (bool(least), Decimal(total), currency)
    for number, least, total, currency in ROW.findall(
        PAGE.read_text(encoding="utf-8").split("## Bills, worked out by hand")[1].split("\n## ")[0]
    )
}

RATES = Rates(date(2026, 10, 30), {"USD": Decimal(1), "EUR": Decimal("0.84"), "JPY": Decimal("151.2")}, "ECB")
STEPS = (EgressStep(Decimal(0), Decimal(0)), EgressStep(Decimal(100), Decimal("0.09")))
EGRESS = EgressPrice(STEPS, "USD", "page", until_gb=Decimal(10_240))
DISK = StoragePrice(Decimal("0.10"), "USD", "page")
NOTHING = Needs(0, 0)
ALWAYS = scheduled(Schedule())


def made(
    price: str,
    *,
    terms: Terms | None = None,
    run: Run = ALWAYS,
    machines: int = 1,
    needs: Needs = NOTHING,
    rework: str = "0",
    currency: str = "USD",
    shown: str = "",
    per_month: bool = False,
    upfront: tuple[str, int] | None = None,
) -> Bill:
    share = Decimal(0) if upfront is None else upfront_per_month(Decimal(upfront[0]), upfront[1])
    found = month(
        UnitPrice(Decimal(price), currency, per_month, "page", date(2026, 10, 1), share),
        tier="on_demand" if upfront is None else "reserved",
        machines=machines, run=run, terms=terms or Terms("any", unit_s=1), needs=needs,
        rates=RATES, currency=shown or currency, rework=Decimal(rework),
    )  # fmt: skip
    assert found is not None
    return found


def schedule(hours: float, starts: float, days: float = 30.4167) -> Run:
    return scheduled(Schedule(hours_per_day=hours, starts_per_day=starts, days_per_month=days))


BILLS: dict[int, Callable[[], Bill]] = {
    1: lambda: made("2.00"),
    2: lambda: made(
        "1.20", terms=Terms("any", 1, 60, egress=EGRESS), run=schedule(8, 1), machines=2, needs=Needs(0, 500),
        rework="0.0125",
    ),
    3: lambda: made("4.00", terms=Terms("any", 60, 900), run=schedule(2, 24)),
    4: lambda: made("1.00", terms=Terms("any", 3600), run=schedule(3.5, 3)),
    5: lambda: made("2.50", terms=Terms("any", 3600), run=schedule(24, 1, 31)),
    6: lambda: made("1500", machines=2, run=schedule(8, 1), per_month=True),
    7: lambda: made("1200", terms=Terms("any", 3600, cap_hours=Decimal(480)), currency="JPY"),
    8: lambda: made("17.52", terms=Terms("any", 3600, cap_hours=Decimal(672))),
    9: lambda: made("3.00", terms=Terms("any", 1, storage=DISK), run=schedule(10, 1, 21), needs=Needs(500, 0)),
    10: lambda: made("0.50", terms=Terms("any", 1, egress=EGRESS), needs=Needs(0, 10_240)),
    11: lambda: made("0.50", terms=Terms("any", 1, egress=EGRESS), needs=Needs(0, 10_241)),
    12: lambda: made("2.10", currency="EUR", shown="JPY"),
    17: lambda: made("3.00", machines=2, run=schedule(8, 1), upfront=("10000", 12)),
    18: lambda: made("0", upfront=("788400", 36)),
}  # fmt: skip

RESERVED = Stated(
    on_demand_per_hour=Decimal("5.50"), reserved_per_hour=Decimal("3.00"), reserved_upfront=Decimal(10_000),
    reserved_term_months=12, months=12,
)  # fmt: skip
OWN = Stated(
    machines=2, months=36, purchase=Decimal(250_000), residual=Decimal(25_000), life_months=48,
    power_kw=Decimal("10.2"), pue=Decimal("1.4"), power_per_kwh=Decimal("0.12"), rack_per_month=Decimal(1800),
    staff_per_month=Decimal(5000),
)  # fmt: skip
MANAGED = Stated(
    months=1, on_demand_per_hour=Decimal("2.00"), input_millions_per_month=Decimal(2000),
    output_millions_per_month=Decimal(500), managed_input_per_million=Decimal("0.59"),
    managed_output_per_million=Decimal("0.79"),
)  # fmt: skip

TERMS: dict[int, Callable[[], Decimal | None]] = {
    13: lambda: hosting.reserved(RESERVED).amount,
    14: lambda: hosting.reserved(RESERVED.model_copy(update={"months": 18})).amount,
    15: lambda: hosting.own(OWN).amount,
    16: lambda: hosting.managed(MANAGED).amount,
}


def test_the_page_holds_every_bill_that_is_checked_here() -> None:
    assert set(WRITTEN) == set(BILLS) | set(TERMS)


@pytest.mark.parametrize("number", BILLS)
def test_a_months_bill_equals_the_one_by_hand(number: int) -> None:
    found = BILLS[number]()
    least, total, currency = WRITTEN[number]
    assert (found.total, found.currency) == (total, currency)
    assert found.complete is not least


@pytest.mark.parametrize("number", TERMS)
def test_a_total_over_a_term_equals_the_one_by_hand(number: int) -> None:
    assert TERMS[number]() == WRITTEN[number][1]


def test_lines_by_hand_are_lines_of_the_bill() -> None:
    def amounts(number: int) -> list[str]:
        return [str(line.amount) for line in BILLS[number]().lines]

    assert amounts(2) == ["583.99", "7.30", "36.00"]
    assert amounts(9) == ["630.00", "50.00"]
    assert amounts(10) == ["365.00", "912.60"]
    assert amounts(11) == ["365.00", "None"]
    assert amounts(17) == ["4380.00", "1666.67"]
    assert amounts(18) == ["0.00", "21900.00"]
    assert [str(line.amount) for line in hosting.own(OWN).lines] == [
        "337500.00", "90066.82", "129600.00", "180000.00",
    ]  # fmt: skip


def test_break_even_by_hand() -> None:
    assert hosting.on_demand(RESERVED).amount == Decimal("48180.00")
    assert hosting.break_even_hours(RESERVED) == Decimal("549.70")
    assert hosting.break_even_month(RESERVED) == 6
    assert hosting.break_even_millions(MANAGED, "on_demand") == Decimal("2317.46")


def test_a_commitment_that_never_pays_has_no_break_even() -> None:
    dear = RESERVED.model_copy(update={"reserved_per_hour": Decimal("5.60")})
    assert hosting.break_even_hours(dear) is None
    assert hosting.break_even_month(dear) is None
    late = RESERVED.model_copy(update={"reserved_upfront": Decimal(30_000)})
    assert hosting.break_even_month(late) is None, "not within its term"
    seldom = RESERVED.model_copy(update={"hours_per_month": Decimal(100)})
    assert hosting.break_even_month(seldom) is None


def test_break_even_hours_are_where_both_cost_the_same() -> None:
    hours = hosting.break_even_hours(RESERVED)
    assert hours is not None
    there = RESERVED.model_copy(update={"hours_per_month": hours})
    by_hour, committed = hosting.on_demand(there).amount, hosting.reserved(there).amount
    assert by_hour is not None
    assert committed is not None
    assert abs(by_hour - committed) < 1


def test_spot_is_refused_where_an_interruption_is_not_affordable() -> None:
    stated = Stated(spot_per_hour=Decimal(1), months=1, rework_fraction=Decimal("0.1"))
    assert (hosting.spot(stated).amount, hosting.spot(stated).why) == (None, "not_interruptible")
    allowed = stated.model_copy(update={"interruptible": True})
    assert [str(line.amount) for line in hosting.spot(allowed).lines] == ["730.00", "73.00"]


def test_what_is_not_stated_is_left_out_and_never_free() -> None:
    for total in hosting.totals(Stated()):
        assert (total.amount, total.why) == (None, "not_given")
    assert hosting.break_even_millions(Stated(), "own") is None


@pytest.mark.parametrize("number", [1, 3, 4, 5, 7, 8])
def test_the_rankings_integers_agree_where_a_provider_caps_its_month(number: int) -> None:
    cases: dict[int, tuple[str, Terms, Run, str]] = {
        1: ("2.00", Terms("any", 1), ALWAYS, "USD"),
        3: ("4.00", Terms("any", 60, 900), schedule(2, 24), "USD"),
        4: ("1.00", Terms("any", 3600), schedule(3.5, 3), "USD"),
        5: ("2.50", Terms("any", 3600), schedule(24, 1, 31), "USD"),
        7: ("1200", Terms("any", 3600, cap_hours=Decimal(480)), ALWAYS, "JPY"),
        8: ("17.52", Terms("any", 3600, cap_hours=Decimal(672)), ALWAYS, "USD"),
    }
    price, terms, run, currency = cases[number]
    steps, _repeated = hour_steps(run, terms)
    micro = int(shown_unit_price(Decimal(price), Decimal(1)) * MICRO)
    minor = machine_minor(np.array([micro]), np.array([1]), np.array([steps]), currency)
    assert Decimal(int(minor[0])) == WRITTEN[number][1] * (100 if currency == "USD" else 1)


def test_a_commitment_is_paid_for_the_whole_month_however_seldom_it_is_used() -> None:
    seldom = schedule(8, 1, 21)
    by_hour = made("3.00", run=seldom)
    committed = month(
        UnitPrice(Decimal("3.00"), "USD", False, "page", date(2026, 10, 1)), machines=1, run=seldom,
        terms=Terms("any", unit_s=1), needs=NOTHING, rates=RATES, currency="USD", tier="reserved",
    )  # fmt: skip
    assert by_hour.total == Decimal("504.00"), "168 h"
    assert committed is not None
    assert committed.total == Decimal("2190.00"), "730 h"
    assert committed.lines[0].note == "committed"
    steps, _repeated = hour_steps(paid(seldom, "reserved"), Terms("any", unit_s=1))
    assert steps == 73_000
    assert paid(seldom, "on_demand") == seldom
