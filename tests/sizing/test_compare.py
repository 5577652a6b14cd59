"""Filters in their order, classes, replicas and machines, on small markets."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from planner.sizing.compare import compare, one_candidate
from planner.sizing.devices import Machine
from planner.sizing.llm import LlmSetting
from planner.sizing.offers import Terms
from planner.sizing.results import Candidate, Comparison, Rejection
from planner.sizing.setting import Refusal
from planner.sizing.workload import (
    BatchWorkload,
    Concurrency,
    Filters,
    InputTokens,
    ModelReference,
    RuntimeChoice,
    RuntimeOptions,
    Schedule,
    ServingWorkload,
    Targets,
)
from tests.sizing.markets import Row, make_market, setting

QWEN_32B = ModelReference(id="Qwen/Qwen2.5-32B-Instruct")
LLAMA_70B = ModelReference(id="meta-llama/Llama-3.1-70B-Instruct")


def compared(workload: ServingWorkload | BatchWorkload, *rows: Row, **options: Any) -> Comparison:
    return compare(made := setting(workload, rows), made.place(), engine_version="test", **options)


def reasons(found: Comparison) -> dict[int, str]:
    return {rejection.offer.offer_id: rejection.reason for rejection in found.rejected}


def by_id(found: Comparison) -> dict[int, Candidate]:
    return {candidate.offer.offer_id: candidate for candidate in found.candidates}


def test_the_default_workload_runs_on_one_h100() -> None:
    found = compared(ServingWorkload(), Row())
    (candidate,) = found.candidates
    assert (candidate.rank, candidate.class_, candidate.verdict) == (1, 1, "fits")
    assert (candidate.replicas, candidate.gpus_per_replica, candidate.machines) == (1, 1, 1)
    # By hand: 730 h × 2.49 + 100 GB × 0.08 + 50 GB × 0.09 = 1817.70 + 8.00 + 4.50.
    assert candidate.monthly.total == Decimal("1830.20")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(include=("L40S",)), "include"),
        (Filters(exclude=("H100",)), "exclude"),
        (Filters(regions=("osaka",)), "region"),
        (Filters(providers=("other",)), "provider"),
        (Filters(tiers=("spot",)), "tier"),
        (Filters(price_per_month_maximum=1000), "price"),
        (Filters(price_age_days_maximum=28), "price"),
    ],
)
def test_each_filter_rejects_with_its_own_reason(filters: Filters, expected: str) -> None:
    assert reasons(compared(ServingWorkload(filters=filters), Row())) == {1: expected}


@pytest.mark.parametrize(
    "filters",
    [
        Filters(include=("h100",)),
        Filters(include=("H100-SXM5",)),
        Filters(exclude=("L4",)),
        Filters(regions=("JP",)),
        Filters(regions=("Tokyo",)),
        Filters(providers=("KNOWN",)),
        Filters(price_per_month_maximum=1831),
        Filters(price_age_days_maximum=29),
        Filters(gpu_count_maximum=1),
    ],
)
def test_filters_let_through_what_they_name(filters: Filters) -> None:
    assert compared(ServingWorkload(filters=filters), Row()).candidates_total == 1


def test_a_family_name_is_not_the_beginning_of_another() -> None:
    found = compared(ServingWorkload(filters=Filters(exclude=("L4",))), Row("L40S"))
    assert found.candidates_total == 1


def test_memory_is_told_before_the_user_s_filters() -> None:
    found = compared(ServingWorkload(model=LLAMA_70B, filters=Filters(regions=("osaka",))), Row())
    assert reasons(found) == {1: "memory"}
    (rejection,) = found.rejected
    assert rejection.needed_bytes is not None
    assert rejection.available_bytes is not None
    assert rejection.needed_bytes > rejection.available_bytes
    assert any(change["change"] == "weights_format" for change in rejection.what_would_help)


def test_accelerators_left_out_are_not_told_to_be_too_small() -> None:
    workload = ServingWorkload(model=LLAMA_70B, filters=Filters(include=("L40S",)))
    assert reasons(compared(workload, Row(), Row("L40S"))) == {1: "include", 2: "memory"}
    workload = ServingWorkload(model=LLAMA_70B, filters=Filters(exclude=("H100",)))
    assert reasons(compared(workload, Row())) == {1: "exclude"}


def test_machines_of_more_gpus_than_asked_for_are_left_out_by_name() -> None:
    found = compared(ServingWorkload(filters=Filters(gpu_count_maximum=2)), Row(count=2), Row(count=4))
    assert found.candidates_total == 1
    assert reasons(found) == {2: "gpu_count"}
    assert found.rejected[0].detail == {"gpu_count": 4, "asked": 2}


def test_a_price_older_than_asked_for_says_its_age() -> None:
    found = compared(ServingWorkload(filters=Filters(price_age_days_maximum=28)), Row())
    assert found.rejected[0].detail == {"rule": "age", "asked": 28, "got": 29}


def test_a_lifted_filter_is_credited_only_with_offers_that_nothing_else_hides() -> None:
    filters = Filters(regions=("osaka",), providers=("known",))
    rows = (Row(), Row(provider="other"), Row(tier="spot"), Row(estimated=True), Row(price="3"))
    change = compared(ServingWorkload(filters=filters), *rows).smallest_change
    assert change is not None
    assert (change.change, change.candidates) == ("regions", 2)
    lifted = Filters(providers=("known",))
    assert compared(ServingWorkload(filters=lifted), *rows).class_counts["1"] == 2


@pytest.mark.parametrize(
    ("filters", "rows", "value", "count"),
    [
        (Filters(gpu_count_maximum=1), (Row(count=2), Row(count=4), Row(count=2)), 2, 2),
        (Filters(price_age_days_maximum=10), (Row(), Row(observed_on=date(2026, 10, 1))), 29, 1),
        (Filters(price_per_month_maximum=100), (Row(), Row(price="9")), 1900, 1),
        (Filters(), (Row(tier="spot"), Row(tier="spot"), Row(tier="reserved")), "reserved", 1),
        (Filters(), (Row(estimated=True),), "", 1),
    ],
)
def test_a_filter_moved_as_far_as_it_is_said_really_gives_so_many(
    filters: Filters, rows: tuple[Row, ...], value: float | str, count: int
) -> None:
    change = compared(ServingWorkload(filters=filters), *rows).smallest_change
    assert change is not None
    assert (change.value, change.candidates) == (value, count)
    moved = {"tiers": (*filters.tiers, value), "estimated_prices": True}.get(change.change, value)
    again = ServingWorkload(filters=filters.model_copy(update={change.change: moved}))
    assert compared(again, *rows).class_counts["1"] == count


def test_weights_in_another_format_than_the_checkpoint_s_are_marked() -> None:
    gpt = ModelReference(id="openai/gpt-oss-20b")
    (converted,) = compared(ServingWorkload(model=gpt), Row()).candidates
    (stored,) = compared(ServingWorkload(model=gpt, weights_format="mxfp4"), Row()).candidates
    (half,) = compared(ServingWorkload(weights_format="fp16"), Row()).candidates
    marked = ["not_the_stored_format" in candidate.warnings for candidate in (converted, stored, half)]
    assert marked == [True, False, False]


def test_support_is_told_before_memory() -> None:
    found = compared(ServingWorkload(model=LLAMA_70B, weights_format="gguf_q4_k_m"), Row())
    assert reasons(found) == {1: "support"}
    assert found.rejected[0].detail["source"]


def test_a_context_beyond_the_model_is_refused_by_name() -> None:
    found = compared(ServingWorkload(input_tokens=InputTokens(maximum=131_072)), Row())
    assert reasons(found) == {1: "context"}
    assert found.rejected[0].detail == {"rule": "context_length", "asked": 132_072, "maximum": 131_072}


def test_spot_is_refused_for_an_endpoint_that_cannot_be_interrupted() -> None:
    workload = ServingWorkload(filters=Filters(tiers=("on_demand", "spot")))
    found = compared(workload, Row(), Row(tier="spot", price="0.9"))
    assert reasons(found) == {2: "interruption"}


def test_spot_where_interruption_is_affordable_carries_expected_rework() -> None:
    workload = ServingWorkload(interruptible=True, filters=Filters(tiers=("on_demand", "spot")))
    found = compared(workload, Row(), Row(tier="spot", price="0.9"))
    spot = by_id(found)[2]
    assert found.candidates[0] == spot
    rework = next(line for line in spot.monthly.lines if line.what == "rework")
    assert rework.amount is not None
    assert rework.amount > 0
    assert "interruptible" in spot.warnings
    assert any(assumption.name == "interruptions_per_hour" for assumption in found.assumptions)


def test_estimated_prices_are_listed_only_when_asked_for() -> None:
    estimated = Row(estimated=True)
    assert reasons(compared(ServingWorkload(), estimated)) == {1: "price"}
    assert compared(ServingWorkload(filters=Filters(estimated_prices=True)), estimated).candidates_total == 1


def test_a_price_without_an_exchange_rate_is_not_ranked() -> None:
    assert reasons(compared(ServingWorkload(), Row(currency="CNY"))) == {1: "currency"}


def test_an_incomplete_total_is_shown_as_such_and_can_be_filtered_out() -> None:
    row = Row(terms=Terms("unknown"))
    found = compared(ServingWorkload(), row)
    assert found.candidates[0].monthly.missing == ("storage", "egress")
    assert "incomplete_price" in found.candidates[0].warnings
    assert found.cheapest_offer_id is None
    strict = ServingWorkload(filters=Filters(complete_prices_only=True))
    assert reasons(compared(strict, row)) == {1: "incomplete_price"}


def test_cheapest_is_complete_on_demand_fresh_and_no_floor() -> None:
    found = compared(
        ServingWorkload(),
        Row(price="1.00", floor=True),
        Row(price="1.10", observed_on=date(2026, 5, 1)),
        Row(price="1.20", terms=Terms("unknown")),
        Row(price="2.00"),
        Row(price="2.10"),
    )
    assert found.cheapest_offer_id == 4
    assert found.cheapest is not None
    first_with_it = next(item for item in found.candidates if item.offer.offer_id == 4)
    assert (found.cheapest.total, found.cheapest.machines) == (
        first_with_it.monthly.total,
        first_with_it.machines,
    )


def test_a_missed_target_puts_an_offer_below_and_says_by_how_much() -> None:
    found = compared(ServingWorkload(targets=Targets(tpot_s=0.02)), Row("L40S", price="0.10"), Row())
    assert [candidate.offer.offer_id for candidate in found.candidates] == [2, 1]
    (miss,) = found.candidates[1].misses
    assert miss.target == "tpot_s"
    assert miss.got is not None
    assert miss.got > miss.asked == 0.02
    assert found.class_counts == {"1": 1, "2": 1, "3": 0}


def test_a_budget_is_a_target() -> None:
    found = compared(ServingWorkload(budget_per_month=1000), Row())
    assert found.candidates[0].class_ == 2
    assert found.candidates[0].misses[0].target == "budget_per_month"


def test_when_nothing_meets_everything_the_smallest_change_is_named() -> None:
    found = compared(ServingWorkload(budget_per_month=1600), Row())
    assert found.smallest_change is not None
    assert (found.smallest_change.change, found.smallest_change.candidates) == ("budget_per_month", 1)
    assert found.smallest_change.value == 1900


def test_the_smallest_change_may_be_a_narrower_format() -> None:
    found = compared(
        ServingWorkload(model=LLAMA_70B, targets=Targets(ttft_s="none", tpot_s="none")), Row("H200-SXM")
    )
    assert found.smallest_change is not None
    assert (found.smallest_change.change, found.smallest_change.value) == ("weights_format", "fp8")


def test_a_relaxed_target_of_the_smallest_change_really_gives_candidates() -> None:
    found = compared(ServingWorkload(targets=Targets(tpot_s=0.001)), Row(), Row("L40S"))
    change = found.smallest_change
    assert change is not None
    assert change.change == "tpot_s"
    relaxed = ServingWorkload(targets=Targets(tpot_s=float(change.value)))
    assert compared(relaxed, Row(), Row("L40S")).class_counts["1"] >= change.candidates


def test_a_replica_takes_the_least_gpus_that_fit() -> None:
    found = compared(
        ServingWorkload(model=LLAMA_70B, targets=Targets(ttft_s="none", tpot_s="none")), Row(count=8)
    )
    assert found.candidates[0].gpus_per_replica == 4
    assert found.candidates[0].layout.tp == 4


def test_a_target_only_more_gpus_can_meet_takes_more() -> None:
    slow = compared(ServingWorkload(targets=Targets(tpot_s="none")), Row("L4", count=8)).candidates[0]
    fast = compared(ServingWorkload(targets=Targets(tpot_s=0.03)), Row("L4", count=8)).candidates[0]
    assert slow.gpus_per_replica < fast.gpus_per_replica
    assert fast.class_ == 1
    assert {"more_devices_for_speed", "tp_over_pcie"} <= set(fast.warnings)


def test_machines_hold_several_replicas_and_idle_gpus_are_told() -> None:
    workload = ServingWorkload(
        model=QWEN_32B, concurrency=Concurrency(average=100, peak=400), replicas_minimum=3
    )
    found = compared(workload, Row(count=8, price="20"))
    candidate = found.candidates[0]
    used = candidate.replicas * candidate.gpus_per_replica
    assert candidate.replicas >= 3
    assert candidate.machines == -(-used // 8)
    assert candidate.idle_gpus == candidate.machines * 8 - used
    gpu = candidate.monthly.lines[0]
    assert gpu.amount == Decimal(20) * 730 * candidate.machines


def test_more_load_never_takes_fewer_replicas() -> None:
    counts = []
    for peak in (8, 64, 512, 4096):
        workload = ServingWorkload(concurrency=Concurrency(average=peak / 4, peak=peak))
        counts.append(compared(workload, Row()).candidates[0].replicas)
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]


LONG = {
    "model": ModelReference(id="Qwen/Qwen3-32B"),
    "input_tokens": InputTokens(typical=20_000, maximum=20_000),
    "concurrency": Concurrency(average=3, peak=3),
    "targets": Targets(ttft_s="none", tpot_s="none"),
}


@pytest.mark.parametrize(
    ("workload", "row", "expected"),
    [
        (ServingWorkload(), Row(), "one"),
        (ServingWorkload(replicas_minimum=3), Row(), "replicas_minimum"),
        (ServingWorkload(concurrency=Concurrency(average=50, peak=500), targets=Targets(tpot_s=0.02)), Row(), "tpot_s"),
        (ServingWorkload(concurrency=Concurrency(average=8, peak=80), targets=Targets(ttft_s=0.1)), Row(), "ttft_s"),
        (
            ServingWorkload(
                concurrency=Concurrency(average=50, peak=200), targets=Targets(ttft_s="none", tpot_s="none"),
                runtime=RuntimeChoice(options=RuntimeOptions(max_num_seqs=64)),
            ),
            Row(),
            "batch_cap",
        ),
        (
            ServingWorkload(request_rate_per_s=34, concurrency=Concurrency(average=8, peak=8),
                            targets=Targets(ttft_s="none", tpot_s="none")), Row("L40S"), "kv_room",
        ),
        (BatchWorkload(request_count=5_000_000), Row("L40S"), "deadline_hours"),
        (BatchWorkload(request_count=1000), Row("L40S", count=4), "machine"),
        (BatchWorkload(request_count=1000, replicas_minimum=2), Row("L40S"), "replicas_minimum"),
    ],
)  # fmt: skip
def test_what_sets_the_number_of_replicas_is_told(
    workload: ServingWorkload | BatchWorkload, row: Row, expected: str
) -> None:
    assert compared(workload, row).candidates[0].replicas_set_by == expected


def test_headroom_that_costs_a_replica_is_told_and_without_it_the_replica_goes() -> None:
    found = compared(ServingWorkload(**LONG), Row("H100-NVL", price="3"))
    (candidate,) = found.candidates
    assert (candidate.replicas, candidate.replicas_set_by) == (2, "headroom")
    fits, planned = candidate.split.concurrency_at_typical, candidate.requests_per_replica_maximum
    assert planned is not None
    assert planned < 3 <= fits
    fewer = candidate.fewer_replicas
    assert fewer is not None
    assert (fewer.replicas, fewer.target, fewer.asked, fewer.got) == (1, "headroom_fraction", 0.1, None)
    without = compared(ServingWorkload(**LONG, headroom_fraction=0), Row("H100-NVL", price="3")).candidates[0]
    assert (without.replicas, without.monthly.total) == (1, fewer.total)


def test_a_target_moved_to_what_one_replica_fewer_reaches_really_saves_it() -> None:
    targets = Targets(ttft_s="none", tpot_s=0.02)
    workload = ServingWorkload(concurrency=Concurrency(average=50, peak=500), targets=targets)
    candidate = compared(workload, Row()).candidates[0]
    fewer = candidate.fewer_replicas
    assert fewer is not None
    assert fewer.target == candidate.replicas_set_by == "tpot_s"
    assert fewer.got is not None
    assert fewer.got > fewer.asked == 0.02
    loose = Targets(ttft_s="none", tpot_s=fewer.got * 1.001)
    relaxed = workload.model_copy(update={"targets": loose})
    smaller = compared(relaxed, Row()).candidates[0]
    assert (smaller.replicas, smaller.monthly.total) == (fewer.replicas, fewer.total)
    assert smaller.replicas == candidate.replicas - 1


def test_the_peak_load_is_within_the_targets_in_class_one() -> None:
    workload = ServingWorkload(concurrency=Concurrency(average=50, peak=500))
    found = compared(workload, Row(), Row("L40S"), Row("A100-SXM4-80GB"), Row("RTX4090"))
    assert found.class_counts["1"] >= 1
    for candidate in found.candidates:
        if candidate.class_ != 1:
            continue
        assert candidate.speed is not None
        peak = candidate.speed.peak
        assert not peak.overloaded
        assert peak.ttft_s is not None
        assert peak.tpot_s is not None
        assert peak.ttft_s.value <= 1.001
        assert peak.tpot_s.value <= 0.05005
        assert peak.concurrency == pytest.approx(500, rel=0.01)


def test_memory_at_peak_stays_within_what_is_usable() -> None:
    workload = ServingWorkload(concurrency=Concurrency(average=50, peak=500))
    for candidate in compared(workload, Row(), Row("L40S"), Row("L4", count=4)).candidates:
        memory = candidate.split
        parts = (
            memory.weights_bytes + memory.activation_bytes + memory.overhead_bytes + memory.kv_needed_bytes
        )
        assert memory.needed_bytes == parts
        assert (
            memory.needed_bytes + memory.headroom_bytes
            <= memory.usable_bytes + memory.kv_bytes_per_token * 16
        )


def test_a_rate_wins_over_the_concurrency() -> None:
    found = compared(ServingWorkload(request_rate_per_s=2), Row())
    speed = found.candidates[0].speed
    assert speed is not None
    assert speed.typical.request_rate_per_s == pytest.approx(2, rel=0.01)
    assert speed.peak.request_rate_per_s == pytest.approx(8, rel=0.01)
    assert any(assumption.name == "peak_to_average_rate" for assumption in found.assumptions)


def test_cost_per_million_tokens_is_the_total_over_the_tokens_of_the_month() -> None:
    candidate = compared(ServingWorkload(request_rate_per_s=2), Row()).candidates[0]
    requests = candidate.speed.typical.request_rate_per_s * 3600 * 24 * 30.4167  # type: ignore[union-attr, operator]
    by_hand = float(candidate.monthly.total) * 1e6 / (requests * 1300)
    per_million = candidate.per_million_tokens
    assert float(per_million.all) == pytest.approx(by_hand, abs=6e-5)  # type: ignore[arg-type]
    assert float(per_million.output) == pytest.approx(by_hand * 1300 / 300, abs=6e-5)  # type: ignore[arg-type]
    assert per_million.at_full_use < per_million.all  # type: ignore[operator]


def test_a_slice_of_a_gpu_has_its_share_and_is_marked() -> None:
    found = compared(ServingWorkload(), Row("A10", fraction=1 / 3), Row("A10"))
    assert reasons(found) == {1: "memory"}
    half = compared(
        ServingWorkload(weights_format="int4_awq"), Row("A100-SXM4-80GB", fraction=0.5)
    ).candidates[0]
    assert "fraction" in half.warnings
    assert half.layout.tp == 1


def test_a_batch_job_fills_its_machines_and_meets_its_deadline() -> None:
    found = compared(BatchWorkload(request_count=2_000_000), Row(count=8, price="20"))
    candidate = found.candidates[0]
    assert candidate.batch is not None
    assert candidate.batch.meets_deadline
    assert candidate.batch.hours.value <= 12
    assert candidate.idle_gpus == 0
    assert candidate.batch.spot_eligible


PROMPTS = {"input_tokens": InputTokens(typical=2000, maximum=4000), "request_count": 200_000}
SHORT_PROMPTS = {"input_tokens": InputTokens(typical=100, maximum=4000), "request_count": 200_000}


@pytest.mark.parametrize(
    ("workload", "row", "expected"),
    [
        (BatchWorkload(**SHORT_PROMPTS, model=QWEN_32B), Row("A100-SXM4-80GB"), "kv_room"),
        (
            BatchWorkload(**SHORT_PROMPTS, runtime=RuntimeChoice(options=RuntimeOptions(max_num_seqs=16))),
            Row(),
            "batch_cap",
        ),
        (BatchWorkload(**PROMPTS), Row(), "prefill"),
        (BatchWorkload(request_count=4), Row(), "memory_bandwidth"),
    ],
)
def test_a_job_is_limited_by_what_more_of_would_really_help(
    workload: BatchWorkload, row: Row, expected: str
) -> None:
    assert compared(workload, row).candidates[0].limit == expected


def test_more_sequences_serve_more_where_the_engine_s_cap_is_named_and_hardly_where_it_is_not() -> None:
    def rate(lengths: dict[str, Any], sequences: int) -> tuple[str, float]:
        options = RuntimeOptions(max_num_seqs=sequences)
        candidate = compared(
            BatchWorkload(**lengths, runtime=RuntimeChoice(options=options)), Row()
        ).candidates[0]
        assert candidate.batch is not None
        return candidate.limit, candidate.batch.output_tokens_per_s.value

    (limit, now), (_, twice) = rate(SHORT_PROMPTS, 16), rate(SHORT_PROMPTS, 32)
    assert limit == "batch_cap"
    assert twice > 1.1 * now
    (limit, now), (_, twice) = rate(PROMPTS, 128), rate(PROMPTS, 256)
    assert limit == "prefill"
    assert twice < 1.1 * now


def test_a_job_says_that_its_start_up_is_not_counted() -> None:
    job = {item.name: item.value for item in compared(BatchWorkload(), Row()).assumptions}
    served = {item.name for item in compared(ServingWorkload(), Row()).assumptions}
    assert job["start_up_hours"] == 0
    assert "start_up_hours" not in served


def test_a_batch_job_costs_its_hours_once_for_each_start() -> None:
    workload = BatchWorkload(storage_gb=0, egress_gb_per_month=0)
    candidate = compared(workload, Row(price="3.60")).candidates[0]
    assert candidate.batch is not None
    assert candidate.batch.cost is not None
    machines = candidate.monthly.lines[0].amount
    assert machines is not None
    # Two versions of the weights stay on disk between the jobs.
    storage = 0.08 * 2 * 16.06
    assert float(candidate.monthly.total - machines) == pytest.approx(storage, abs=0.01)
    by_hand = 3.6 * candidate.batch.hours.value + storage / 30.4167
    assert float(candidate.batch.cost) == pytest.approx(by_hand, rel=0.01)


@pytest.mark.parametrize("starts", [0, 1])
def test_a_job_costs_the_months_whole_bill_divided_by_its_jobs(starts: int) -> None:
    workload = BatchWorkload(storage_gb=500, schedule=Schedule(starts_per_day=starts))
    candidate = compared(workload, Row(price="3.60")).candidates[0]
    assert candidate.batch is not None
    assert candidate.batch.cost is not None
    assert {"gpu", "storage"} <= {line.what for line in candidate.monthly.lines}
    jobs = Decimal("30.4167") if starts else Decimal(1)
    assert abs(candidate.monthly.total / jobs - candidate.batch.cost) <= Decimal("0.005")


def test_objectives_order_by_what_they_name() -> None:
    rows = (Row("L40S", price="0.5"), Row("H100-SXM5", price="2.5"), Row("B200-SXM", price="6"))
    loose = Targets(ttft_s="none", tpot_s="none")
    cost = compared(ServingWorkload(targets=loose), *rows)
    tpot = compared(ServingWorkload(targets=loose, objective="tpot"), *rows)
    assert [c.offer.accelerator for c in cost.candidates] == ["L40S", "H100-SXM5", "B200-SXM"]
    assert [c.offer.accelerator for c in tpot.candidates] == ["B200-SXM", "H100-SXM5", "L40S"]


def test_more_ram_then_more_vcpu_then_a_newer_price_win_ties() -> None:
    found = compared(
        ServingWorkload(),
        Row(price="2.49", ram_gib=64),
        Row(price="2.50", ram_gib=256, vcpu=8),
        Row(price="2.50", ram_gib=256, vcpu=32, observed_on=date(2026, 10, 1)),
        Row(price="2.50", ram_gib=256, vcpu=32, observed_on=date(2026, 11, 2)),
    )
    assert [c.offer.offer_id for c in found.candidates] == [4, 3, 2, 1]


def test_a_page_continues_the_ranks() -> None:
    rows = [Row(price=f"{2 + number / 10:.2f}") for number in range(9)]
    found = compared(ServingWorkload(), *rows, limit=3, offset=4)
    assert [c.rank for c in found.candidates] == [5, 6, 7]
    assert [c.offer.offer_id for c in found.candidates] == [5, 6, 7]
    assert found.candidates_total == 9


def test_the_rejected_are_bounded_and_no_reason_is_crowded_out() -> None:
    rows = [Row("RTX3070")] * 30 + [Row(tier="reserved")] * 2
    found = compared(ServingWorkload(), *rows, rejected_limit=6)
    assert len(found.rejected) == 6
    assert {rejection.reason for rejection in found.rejected} == {"memory", "tier"}
    assert found.rejected_counts == {"memory": 30, "tier": 2}
    assert len(compared(ServingWorkload(), *rows, rejected_limit=None).rejected) == 32


def test_an_empty_market_is_an_answer() -> None:
    found = compared(ServingWorkload())
    assert (found.candidates_total, found.smallest_change, found.rejected) == (0, None, ())


def test_one_candidate_explains_every_figure() -> None:
    made = setting(ServingWorkload(), [Row(price="9"), Row()])
    candidate = one_candidate(made, made.place(), 0)
    assert isinstance(candidate, Candidate)
    assert candidate.rank == 2
    assert {"weights_bytes", "kv_room_tokens", "monthly_total", "gpu_line", "per_million_tokens"} <= set(
        candidate.derivations
    )


def test_every_machine_that_is_too_small_says_what_would_help() -> None:
    names = (
        "H100-SXM5",
        "H100-PCIe",
        "H100-NVL",
        "GH200-96GB",
        "H200-SXM",
        "A100-SXM4-80GB",
        "A100-PCIe-80GB",
    )
    found = compared(
        ServingWorkload(model=LLAMA_70B), *(Row(name) for name in names), *(Row(name) for name in names)
    )
    assert found.rejected_counts == {"memory": 2 * len(names)}
    assert all(rejection.what_would_help for rejection in found.rejected)


def test_what_would_help_is_worked_out_once_for_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = LlmSetting.what_would_help

    def counted(made: LlmSetting, refusal: Refusal, machine: Machine) -> tuple[dict[str, Any], ...]:
        asked.append(machine)
        return real(made, refusal, machine)

    monkeypatch.setattr(LlmSetting, "what_would_help", counted)
    made = setting(ServingWorkload(model=LLAMA_70B), [Row(), Row(price="3"), Row("RTX3070")])
    placements = made.place()
    for _page in range(2):
        compare(made, placements, engine_version="test")
    assert len(asked) == 2


def test_one_rejected_offer_says_what_would_help() -> None:
    made = setting(ServingWorkload(model=LLAMA_70B), [Row()])
    rejection = one_candidate(made, made.place(), 0)
    assert isinstance(rejection, Rejection)
    assert rejection.what_would_help


def test_an_answer_survives_its_own_json() -> None:
    found = compared(ServingWorkload(), Row(), Row("RTX3070"))
    again = Comparison.model_validate_json(found.model_dump_json(by_alias=True))
    assert again.model_dump_json(by_alias=True) == found.model_dump_json(by_alias=True)


def test_the_market_of_a_test_is_whole() -> None:
    market = make_market([Row(), Row("L40S", count=2)])
    assert len(market) == 2
    assert market.position(2) == 1
    assert market.position(3) is None


def test_a_price_with_tax_in_it_is_flagged() -> None:
    made = setting(ServingWorkload(), [Row()])
    plain = made.market.facts
    made.market.facts = lambda row, today: plain(row, today).model_copy(update={"tax_included": True})
    assert "tax_included" in compare(made, made.place(), engine_version="test").candidates[0].warnings


def test_a_filter_s_rejection_says_what_was_asked_and_what_it_is() -> None:
    found = compared(ServingWorkload(filters=Filters(regions=("osaka",))), Row())
    assert found.rejected[0].detail == {"region": "r1", "asked": ["osaka"]}


def test_an_assumed_engine_total_is_listed_among_the_assumptions() -> None:
    assumed = {item.name for item in compared(ServingWorkload(), Row("L40S")).assumptions}
    read = {item.name for item in compared(ServingWorkload(), Row("H100-SXM5")).assumptions}
    assert "engine_total_bytes" in assumed - read


def test_a_context_beyond_the_model_is_told_with_the_longest_it_allows() -> None:
    found = compared(ServingWorkload(input_tokens=InputTokens(maximum=200_000)), Row())
    assert found.smallest_change is not None
    assert (found.smallest_change.change, found.smallest_change.value) == ("input_tokens_maximum", 130_072)


def test_a_checkpoint_s_own_format_is_tried_before_others() -> None:
    workload = ServingWorkload(
        model=ModelReference(id="openai/gpt-oss-120b"), targets=Targets(ttft_s="none", tpot_s="none")
    )
    found = compared(workload, Row("H200-SXM"))
    assert found.smallest_change is not None
    assert (found.smallest_change.change, found.smallest_change.value) == ("weights_format", "mxfp4")


def test_a_load_beyond_every_number_of_replicas_is_refused_with_the_load_that_is_borne() -> None:
    def asked(rate: float) -> Comparison:
        crowd = Concurrency(average=8, peak=8)
        return compared(ServingWorkload(request_rate_per_s=rate, concurrency=crowd), Row("L4"))

    (refused,) = asked(900_000).rejected
    assert refused.reason == "overload"
    borne = refused.detail["rate_per_s"]
    assert 0 < borne < 900_000
    # With targets set aside, what is said to be borne is served, and little more is not.
    free = Targets(ttft_s="none", tpot_s="none")

    def served(rate: float) -> bool:
        workload = ServingWorkload(
            request_rate_per_s=rate, concurrency=Concurrency(average=8, peak=8), targets=free
        )
        return bool(compared(workload, Row("L4")).candidates)

    assert served(borne * 0.99)
    assert not served(borne * 1.05)


@pytest.mark.parametrize(
    ("tier", "code"),
    [("reserved", "price_from"), ("on_demand", "floor_price")],
    ids=["reserved", "on demand"],
)
def test_the_lowest_price_of_a_commitment_is_no_marketplaces(tier: str, code: str) -> None:
    workload = ServingWorkload(filters=Filters(tiers=(tier,)))
    (candidate,) = compared(workload, Row(tier=tier, floor=True)).candidates
    assert {"price_from", "floor_price"} & set(candidate.warnings) == {code}
