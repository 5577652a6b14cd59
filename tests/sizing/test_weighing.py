"""Laws of filtering and billing whole markets, on markets made up by Hypothesis."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.sizing.bill import MINOR_UNITS
from planner.sizing.compare import bill_of
from planner.sizing.offers import EgressPrice, EgressStep, StoragePrice, Terms
from planner.sizing.placement import Placement
from planner.sizing.rejecting import write_rejected
from planner.sizing.setting import Refusal
from planner.sizing.weighing import REASONS, Weighed, names_accelerator, weigh
from planner.sizing.workload import Filters, ModelReference, Schedule, ServingWorkload
from tests.sizing.markets import Row, make_market, setting

TERMS = (
    Terms("none"),
    Terms("hourly", unit_s=3600, minimum_s=3600, storage=StoragePrice(Decimal("0.053"), "EUR", "page")),
    Terms(
        "tiered",
        unit_s=60,
        storage=StoragePrice(Decimal("0.0706"), "USD", "page"),
        egress=EgressPrice(
            (EgressStep(Decimal(0), Decimal(0)), EgressStep(Decimal(10), Decimal("0.0871"))), "USD", "page"
        ),
    ),
)
MACHINES = (("H100-SXM5", 1), ("L40S", 2), ("A100-SXM4-80GB", 8), ("RTX3070", 1))
ROWS = st.lists(
    st.builds(
        lambda machine, micro, tier, terms, currency, unit: Row(
            machine[0],
            machine[1],
            f"{Decimal(micro) / 1_000_000:f}",
            tier=tier,
            terms=terms,
            currency=currency,
            unit=unit,
            provider=terms.provider,
        ),
        st.sampled_from(MACHINES),
        st.integers(min_value=1, max_value=200_000_000),
        st.sampled_from(["on_demand", "spot", "reserved"]),
        st.sampled_from(TERMS),
        st.sampled_from(["USD", "JPY", "EUR", "CNY"]),
        st.sampled_from(["hour", "month"]),
    ),
    min_size=1,
    max_size=30,
)
SCHEDULES = st.builds(
    Schedule,
    hours_per_day=st.floats(min_value=0.1, max_value=24),
    days_per_month=st.floats(min_value=1, max_value=31),
    starts_per_day=st.integers(min_value=0, max_value=48).map(float),
)


def weighed(workload: ServingWorkload, rows: list[Row]) -> Weighed:
    made = setting(workload, rows)
    return weigh(made, made.place())


@settings(max_examples=40)
@given(ROWS, SCHEDULES, st.sampled_from(["USD", "JPY", "EUR"]))
def test_integers_equal_the_exact_bills(rows: list[Row], schedule: Schedule, currency: str) -> None:
    workload = ServingWorkload.model_validate(
        {"schedule": schedule, "currency": currency, "interruptible": True,
         "filters": {"tiers": ["on_demand", "spot", "reserved"]}}
    )  # fmt: skip
    made = setting(workload, rows)
    found = weigh(made, made.place())
    for row in found.rows:
        placement = found.placements[made.market.machine_index[row]]
        assert isinstance(placement, Placement)
        exact = bill_of(made, found, int(row), placement)
        assert int(exact.total * MINOR_UNITS[currency]) == found.total_minor[row]
        assert exact.complete == found.complete[row]


@settings(max_examples=40)
@given(ROWS)
def test_every_offer_is_a_candidate_or_rejected_for_one_reason(rows: list[Row]) -> None:
    found = weighed(ServingWorkload(), rows)
    rejected = int(np.count_nonzero(found.reason >= 0))
    assert len(found.rows) + rejected == len(rows)
    for number, row in enumerate(rows):
        reason = REASONS[found.reason[number]] if found.reason[number] >= 0 else None
        if row.accelerator == "RTX3070":
            assert reason == "memory"
        elif row.tier != "on_demand":
            assert reason == "tier"
        elif row.currency == "CNY":
            assert reason == "currency"
        else:
            assert reason is None


@settings(max_examples=40)
@given(ROWS, st.sampled_from([{"include": ("H100",)}, {"exclude": ("L40S",)}, {"providers": ("hourly",)},
                              {"complete_prices_only": True}, {"price_per_month_maximum": 5000.0}]))  # fmt: skip
def test_a_filter_never_adds_a_candidate(rows: list[Row], change: dict[str, object]) -> None:
    free = weighed(ServingWorkload(), rows)
    strict = weighed(ServingWorkload(filters=Filters.model_validate(change)), rows)
    assert set(strict.rows.tolist()) <= set(free.rows.tolist())
    for number in set(free.rows.tolist()) - set(strict.rows.tolist()):
        assert REASONS[strict.reason[number]] in (*change, "provider", "price", "incomplete_price")


@settings(max_examples=30)
@given(ROWS)
def test_a_dearer_offer_never_has_a_lower_total(rows: list[Row]) -> None:
    dearer = [replace(row, price=f"{Decimal(row.price) * 2:f}") for row in rows]
    cheap, dear = weighed(ServingWorkload(), rows), weighed(ServingWorkload(), dearer)
    assert cheap.rows.tolist() == dear.rows.tolist()
    assert (dear.total_minor[dear.rows] >= cheap.total_minor[cheap.rows]).all()


@settings(max_examples=30)
@given(ROWS)
def test_machines_are_as_many_as_the_replicas_need(rows: list[Row]) -> None:
    found = weighed(ServingWorkload(request_rate_per_s=30), rows)
    for outcome in found.placements:
        if isinstance(outcome, Refusal):
            continue
        used = outcome.replicas * outcome.option.layout.device_count
        assert (outcome.machines - 1) * outcome.machine.device_count < used
        assert used + outcome.idle_devices == outcome.machines * outcome.machine.device_count


def test_names_of_accelerators_match_whole_words_before_a_dash() -> None:
    assert names_accelerator(["a100"], "A100-SXM4-80GB")
    assert names_accelerator(["A100-SXM4"], "A100-SXM4-80GB")
    assert not names_accelerator(["A10"], "A100-SXM4-80GB")
    assert not names_accelerator(["L4"], "L40S")
    assert not names_accelerator([], "L4")


def test_a_market_of_nothing_weighs_nothing() -> None:
    made = setting(ServingWorkload(), make_market([]))
    assert len(weigh(made, made.place()).rows) == 0


def test_a_stale_price_is_marked_by_its_age() -> None:
    market = make_market([Row(observed_on=date(2026, 6, 2)), Row(observed_on=date(2026, 6, 3))])
    today = date(2026, 11, 30)
    assert [market.facts(row, today).stale for row in (0, 1)] == [True, False]


@settings(max_examples=40)
@given(ROWS)
def test_the_rejected_stand_in_the_order_of_a_plain_sort(rows: list[Row]) -> None:
    workload = ServingWorkload(model=ModelReference(id="Qwen/Qwen2.5-32B-Instruct"))
    made = setting(workload, [*rows, Row("RTX4090"), Row("RTX3070"), Row("RTX4090", count=2)])
    found = weigh(made, made.place())
    market = made.market

    def shortfall(row: int) -> float:
        outcome = found.placements[market.machine_index[row]]
        split = outcome.split if isinstance(outcome, Refusal) else None
        return 0.0 if split is None else max(0, split.needed_bytes - split.usable_bytes) / split.usable_bytes

    seen: set[tuple[int, int]] = set()
    keys = []
    for row in range(len(market)):
        reason, machine = int(found.reason[row]), int(market.machine_index[row])
        if reason >= 0:
            again = (reason, machine) in seen
            seen.add((reason, machine))
            keys.append((reason, again, shortfall(row), machine, row))
    written = [rejection.offer.offer_id - 1 for rejection in write_rejected(made, found, None)]
    assert written == [key[-1] for key in sorted(keys)]
