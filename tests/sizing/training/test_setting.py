"""Training on machines: the smallest that works, what would make a smaller one work, spot, data, deadlines."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import architectures, training_constants
from planner.sizing.compare import compare, one_candidate
from planner.sizing.results import Candidate, Comparison
from planner.sizing.setting import Refusal
from planner.sizing.training.setting import TrainingSetting
from planner.sizing.training.shapes import usual
from planner.sizing.training.workload import (
    Batch,
    Checkpoints,
    Host,
    Lengths,
    Parallel,
    PretrainingWorkload,
    Storage,
    TuningWorkload,
)
from planner.sizing.weighing import weigh
from planner.sizing.workload import Filters, ModelReference, Schedule
from tests.sizing.formulas import evaluate
from tests.sizing.markets import AT, Row, make_market

EIGHT = Row("H100-SXM5", 8, "19.92", vcpu=192, ram_gib=2048)
ONE = Row("H100-SXM5", 1, "2.49", vcpu=24, ram_gib=256)
SMALL = Row("L4", 1, "0.70", vcpu=8, ram_gib=32)
SPOT = Row("H100-SXM5", 8, "9.00", tier="spot", vcpu=192, ram_gib=2048)
LLAMA_7B = ModelReference(id="meta-llama/Llama-2-7b-hf")


def setting(workload: Any, *rows: Row) -> TrainingSetting:
    arch = (
        usual(workload.parameters_billion * 1e9)
        if getattr(workload, "parameters_billion", None) else architectures.resolve(workload.model)
    )  # fmt: skip
    workload = workload.model_copy(update={"interruptible": workload.spot_allowed})
    return TrainingSetting(
        workload=workload,
        arch=arch,
        constants=training_constants.constants(),
        market=make_market(rows),
        at=AT,
    )


def answer(workload: Any, *rows: Row) -> Comparison:
    found = setting(workload, *rows)
    return compare(found, found.place(), engine_version="test")


def value(candidate: Candidate, name: str) -> float:
    return candidate.figures[name].value


def test_the_smallest_machine_that_works_wins() -> None:
    found = answer(TuningWorkload(kind="lora", model=LLAMA_7B), SMALL, ONE, EIGHT)
    assert found.candidates[0].offer.accelerator == "H100-SXM5"
    assert found.candidates[0].offer.gpu_count == 1


def test_a_machine_that_is_too_small_is_told_what_would_make_it_work() -> None:
    workload = TuningWorkload(kind="lora", model=ModelReference(id="meta-llama/Llama-2-13b-hf"))
    found = answer(workload, SMALL)
    assert not found.candidates
    (rejection,) = found.rejected
    assert rejection.reason == "memory"
    helps = {change["change"]: change["to"] for change in rejection.what_would_help}
    assert helps["method"] == "qlora"
    # The same change, made: it fits.
    assert answer(workload.model_copy(update={"kind": "qlora"}), SMALL).candidates


def test_accumulation_at_the_same_effective_batch_is_among_the_changes() -> None:
    workload = TuningWorkload(kind="lora", model=LLAMA_7B, batch=Batch(effective=32, micro=16), recompute="none",
                              chunked_loss=True, lengths=Lengths(maximum=2048))  # fmt: skip
    (rejection,) = answer(workload, ONE).rejected
    assert {key: rejection.what_would_help[1][key] for key in ("change", "to")} == {
        "change": "micro_batch",
        "to": 1,
    }
    smaller = workload.model_copy(update={"batch": Batch(effective=32, micro=1)})
    (candidate,) = answer(smaller, ONE).candidates
    assert value(candidate, "micro_batch") * value(candidate, "accumulation") == 32


def test_savings_are_offered_together_where_none_is_enough_alone() -> None:
    workload = TuningWorkload(kind="lora", model=LLAMA_7B, batch=Batch(effective=32, micro=32), recompute="none",
                              lengths=Lengths(maximum=4096), machines_maximum=64)  # fmt: skip
    (rejection,) = answer(workload, Row("A10G", 1, "1.00", vcpu=8, ram_gib=64)).rejected
    helps = {change["change"] for change in rejection.what_would_help}
    assert "savings_together" in helps
    assert not helps & {"recompute", "micro_batch", "chunked_loss"}


def test_activations_in_host_memory_save_device_memory_for_time_and_host_memory() -> None:
    workload = TuningWorkload(kind="lora", model=LLAMA_7B, batch=Batch(effective=8, micro=8), recompute="full",
                              lengths=Lengths(maximum=4096))  # fmt: skip
    (kept,) = answer(workload, ONE).candidates
    (moved,) = answer(workload.model_copy(update={"offload_activations": True}), ONE).candidates
    assert moved.memory.needed_bytes < kept.memory.needed_bytes
    assert value(moved, "train_step_s") > value(kept, "train_step_s")
    # 32 layers of 4,096 values at 16 bits for each of 8 × 4,096 tokens, and a fifth.
    held = 32 * 4096 * 2 * 8 * 4096 * 1.2
    assert value(moved, "host_ram_bytes") - value(kept, "host_ram_bytes") == pytest.approx(held, rel=1e-6)


def test_what_does_not_fit_one_gpu_is_sharded_over_the_machine() -> None:
    workload = TuningWorkload(kind="full_finetune", model=LLAMA_7B, software="torch")
    found = answer(workload, ONE, EIGHT)
    (candidate,) = found.candidates
    assert candidate.offer.gpu_count == 8
    assert value(candidate, "zero_stage") == 3


def test_asked_degrees_are_kept() -> None:
    workload = TuningWorkload(
        kind="full_finetune", model=LLAMA_7B, software="megatron", parallel=Parallel(tp=4, pp=2)
    )
    (candidate,) = answer(workload, EIGHT).candidates
    assert (candidate.layout.tp, candidate.layout.pp) == (4, 2)


def test_a_deadline_asks_for_more_machines_and_the_fabric_between_them_is_told() -> None:
    slow = PretrainingWorkload(parameters_billion=7, tokens_billion=140, deadline_hours="none")
    fast = slow.model_copy(update={"deadline_hours": 300.0})
    (first,), (second,) = answer(slow, EIGHT).candidates, answer(fast, EIGHT).candidates
    assert first.machines == 1
    assert second.machines > 1
    assert value(second, "run_hours") <= 300
    assert value(second, "fabric_bytes_per_s") > 0
    assert "fabric_assumed" in second.warnings


def test_a_deadline_that_no_number_of_machines_meets_is_a_miss() -> None:
    workload = PretrainingWorkload(
        parameters_billion=70, tokens_billion=15_000, machines_maximum=4, deadline_hours=24.0
    )
    (candidate,) = answer(workload, EIGHT).candidates
    (miss,) = candidate.misses
    assert (miss.target, miss.asked) == ("deadline_hours", 24)
    assert miss.got == pytest.approx(value(candidate, "run_hours"))


def test_tokens_are_compute_optimal_where_none_are_given() -> None:
    found = setting(PretrainingWorkload(parameters_billion=7), EIGHT)
    assert found.question.tokens_total == pytest.approx(20 * 7e9, rel=0.1)


def test_spot_needs_checkpoints_that_resume() -> None:
    terms = {"filters": Filters(tiers=("on_demand", "spot")), "model": LLAMA_7B}
    planned = answer(TuningWorkload(kind="lora", **terms), SPOT)
    assert planned.candidates
    assert {line.what for line in planned.candidates[0].monthly.lines} >= {"gpu", "rework"}
    for saves in (Checkpoints(omitted=True), Checkpoints(content="weights")):
        refused = answer(TuningWorkload(kind="lora", checkpoints=saves, **terms), SPOT)
        assert [rejection.reason for rejection in refused.rejected] == ["interruption"]


def test_rework_on_spot_follows_from_interval_restart_and_interruptions() -> None:
    terms = {"filters": Filters(tiers=("spot",)), "model": LLAMA_7B}
    often = TuningWorkload(
        kind="lora", checkpoints=Checkpoints(interval_minutes=5, restart_minutes=1), **terms
    )
    seldom = TuningWorkload(
        kind="lora", checkpoints=Checkpoints(interval_minutes=600, restart_minutes=60), **terms
    )
    few, many = (answer(workload, SPOT).candidates[0] for workload in (often, seldom))
    assert value(few, "rework_fraction") < value(many, "rework_fraction")


@given(st.floats(1.0, 1000.0))
def test_a_faster_gpu_never_cures_a_run_that_waits_for_data(decode_ms: float) -> None:
    """With decoding that cores cannot share enough, the samples a second are those of the loader."""
    workload = TuningWorkload(
        kind="lora", model=LLAMA_7B, lengths=Lengths(maximum=256), batch=Batch(effective=64),
        host=Host(decode_ms=decode_ms * 100, parallel_fraction=0.0),
    )  # fmt: skip
    slow, fast = Row("L40S", 1, "1", vcpu=16, ram_gib=128), Row("H200-SXM", 1, "3", vcpu=16, ram_gib=128)
    found = {c.offer.accelerator: c for c in answer(workload, slow, fast).candidates}
    rates = [value(candidate, "samples_per_s") for candidate in found.values()]
    assert rates[0] == pytest.approx(rates[1])
    for candidate in found.values():
        assert candidate.limit == "data_loading"
        assert "waits_for_data" in candidate.warnings
        assert "more_cores_do_not_help" in candidate.warnings


def test_packed_samples_whose_length_is_known_are_attended_to_one_by_one() -> None:
    whole = answer(TuningWorkload(model=LLAMA_7B, lengths=Lengths(maximum=8192)), EIGHT).candidates[0]
    within = answer(
        TuningWorkload(model=LLAMA_7B, lengths=Lengths(maximum=8192, mean=500)), EIGHT
    ).candidates[0]
    assert value(within, "train_step_s") < value(whole, "train_step_s")
    assert value(within, "tokens_total") == value(whole, "tokens_total")
    # Padded, the same mean leaves most of the sequence empty: fewer tokens are trained on in less time.
    padded = Lengths(maximum=8192, mean=500, padded=True)
    short = answer(TuningWorkload(model=LLAMA_7B, lengths=padded), EIGHT).candidates[0]
    assert value(short, "tokens_total") == pytest.approx(value(whole, "tokens_total") * 500 / 8192)
    assert value(short, "run_hours") < value(within, "run_hours")


def test_slow_storage_is_named_as_the_bottleneck() -> None:
    workload = TuningWorkload(kind="lora", model=LLAMA_7B, host=Host(sample_kb=100_000),
                              storage=Storage(read_gb_per_s=0.1))  # fmt: skip
    (candidate,) = answer(workload, ONE).candidates
    assert candidate.limit == "storage_read"


def test_weights_data_and_checkpoints_enter_the_bill() -> None:
    workload = TuningWorkload(kind="full_finetune", model=LLAMA_7B, software="torch",
                              checkpoints=Checkpoints(interval_minutes=5),
                              storage=Storage(dataset_gb=500))  # fmt: skip
    (candidate,) = answer(workload, EIGHT).candidates
    assert value(candidate, "checkpoint_written_bytes") > 3 * value(candidate, "checkpoint_bytes")
    line = next(line for line in candidate.monthly.lines if line.what == "storage")
    full_state = 6_738_415_616 * 12 / 1e9
    assert line.quantity == pytest.approx(500 + 2 * 6.738 + 3 * full_state, rel=0.01)
    assert line.amount == pytest.approx(Decimal(str(line.quantity)) * Decimal("0.08"), abs=Decimal("0.01"))


def test_scratch_is_no_durable_copy_and_not_paid_for() -> None:
    found = setting(TuningWorkload(kind="lora", storage=Storage(place="scratch", dataset_gb=1000)), ONE)
    assert "only_copy_on_scratch" in found.warnings()
    assert found.needs(None, "on_demand").storage_gb < 100


@pytest.mark.parametrize(
    "workload",
    [
        TuningWorkload(kind="lora", model=LLAMA_7B), TuningWorkload(kind="qlora", model=LLAMA_7B),
        TuningWorkload(kind="full_finetune", model=LLAMA_7B, software="torch"),
        PretrainingWorkload(parameters_billion=7, deadline_hours=200.0),
        PretrainingWorkload(parameters_billion=3, deadline_hours=600.0, schedule=Schedule(starts_per_day=1)),
        PretrainingWorkload(parameters_billion=7, machines_maximum=2, schedule=Schedule(starts_per_day=0)),
    ],
    ids=["lora", "qlora", "full_finetune", "pretraining", "daily", "months"],
)  # fmt: skip
@pytest.mark.parametrize("row", [EIGHT, SPOT], ids=["on demand", "spot"])
def test_every_derivation_evaluates_to_its_figure(workload: Any, row: Row) -> None:
    workload = workload.model_copy(update={"filters": Filters(tiers=("on_demand", "spot"))})
    found = setting(workload, row)
    candidate = one_candidate(found, found.place(), 0)
    assert isinstance(candidate, Candidate)
    for name, derivation in candidate.derivations.items():
        # Amounts are rounded to the cent.
        cent = 0.0051 if derivation.unit == "USD" else 0.0
        assert evaluate(derivation) == pytest.approx(derivation.value, rel=1e-6, abs=cent), name
    assert candidate.derivations["run_hours"].value == pytest.approx(value(candidate, "run_hours"))
    assert candidate.derivations["needed_bytes"].value == candidate.memory.needed_bytes


def test_the_run_costs_machine_hours_and_what_is_kept() -> None:
    (candidate,) = answer(TuningWorkload(kind="lora", model=LLAMA_7B), ONE).candidates
    hours = Decimal(str(candidate.monthly.hours))
    assert candidate.unit_costs["run"] == candidate.monthly.total
    gpu = next(line for line in candidate.monthly.lines if line.what == "gpu")
    assert gpu.amount == pytest.approx(hours * Decimal("2.49"), abs=Decimal("0.01"))


@pytest.mark.parametrize(
    ("workload", "row", "rule"),
    [
        (TuningWorkload(kind="lora", precision="fp8"), Row("A100-SXM4-80GB"), "precision_not_run"),
        (TuningWorkload(kind="lora"), Row("V100-SXM2-32GB"), "precision_not_run"),
        (TuningWorkload(kind="lora"), Row("H100-SXM5", fraction=0.5), "slice_trains_nothing"),
    ],
)
def test_what_a_machine_cannot_do_is_refused_by_name(workload: Any, row: Row, rule: str) -> None:
    (refusal,) = setting(workload, row).place()
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.detail["rule"]) == ("support", rule)


def test_ranges_are_wider_on_devices_that_few_measured() -> None:
    known, unknown = Row("H100-SXM5"), Row("MI300X")
    found = {
        c.offer.accelerator: c
        for c in answer(TuningWorkload(kind="lora", model=LLAMA_7B), known, unknown).candidates
    }

    def width(name: str) -> float:
        figure = found[name].figures["run_hours"]
        assert figure.low is not None
        assert figure.high is not None
        return figure.high / figure.low

    assert width("MI300X") > width("H100-SXM5")


def kept_gb(candidate: Candidate) -> float:
    return next(line.quantity for line in candidate.monthly.lines if line.what == "storage")


@pytest.mark.parametrize("kept", [1, 2, 3, 50])
def test_no_more_checkpoints_are_paid_for_than_the_run_writes(kept: int) -> None:
    def asked(samples: int) -> Candidate:
        workload = TuningWorkload(
            kind="full_finetune", model=LLAMA_7B, sample_count=samples, epochs=1.0,
            checkpoints=Checkpoints(kept=kept, interval_minutes=30), storage=Storage(dataset_gb=100),
        )  # fmt: skip
        return answer(workload, EIGHT).candidates[0]

    for samples in (2_000, 50_000, 400_000):
        found = asked(samples)
        size = value(found, "checkpoint_bytes")
        written = round(value(found, "checkpoint_written_bytes") / size)
        assert written == max(1, int(value(found, "run_hours") * 2))
        weights_gb = 2 * 6_738_415_616 / 1e9
        assert kept_gb(found) == pytest.approx(100 + weights_gb + min(kept, written) * size / 1e9, abs=0.001)
        assert value(found, "storage_gb") == kept_gb(found)
    assert written > 3, "the last run writes more than the usual three"


def test_spot_machines_pay_for_the_checkpoints_they_are_written_oftener_for() -> None:
    workload = TuningWorkload(kind="full_finetune", model=LLAMA_7B, epochs=12)
    found = {one.offer.tier: one for one in answer(
        workload.model_copy(update={"filters": Filters(tiers=("on_demand", "spot"))}), EIGHT, SPOT
    ).candidates}  # fmt: skip
    assert kept_gb(found["on_demand"]) == value(found["on_demand"], "storage_gb")
    assert kept_gb(found["spot"]) == value(found["spot"], "storage_spot_gb") > kept_gb(found["on_demand"])


@pytest.mark.parametrize("row", [EIGHT, SPOT, Row("H100-SXM5", 8, "9000", unit="month", ram_gib=2048)])
def test_runs_that_fill_more_than_a_month_are_done_side_by_side_and_rank_by_what_they_cost(row: Row) -> None:
    daily = PretrainingWorkload(
        parameters_billion=3, deadline_hours=600.0, schedule=Schedule(starts_per_day=1),
        filters=Filters(tiers=("on_demand", "spot")),
    )  # fmt: skip
    made = setting(daily, row)
    placements = made.place()
    weighed = weigh(made, placements)
    candidate = compare(made, placements, engine_version="test").candidates[0]
    monthly, hours = candidate.monthly, value(candidate, "run_hours")
    assert monthly.sets >= hours * 30.4167 / 730.0008 > 1
    assert candidate.machines == candidate.machines_each * monthly.sets
    assert monthly.hours <= 730.0
    assert int(weighed.total_minor[0]) == int(monthly.total * 100)
    assert candidate.unit_costs["run"] == pytest.approx(
        monthly.total / Decimal("30.4167"), abs=Decimal("0.01")
    )


def test_so_many_gpus_are_asked_for_and_no_others() -> None:
    plain = PretrainingWorkload(parameters_billion=7, tokens_billion=140, deadline_hours="none")
    for gpus in (8, 24, 64):
        found = answer(plain.model_copy(update={"gpus_exact": gpus}), EIGHT, ONE)
        assert {value(one, "gpu_count") for one in found.candidates} == {gpus}
        assert {one.machines * one.offer.gpu_count for one in found.candidates} == {gpus}
    beyond = TuningWorkload(kind="lora", model=LLAMA_7B, gpus_exact=32, machines_maximum=1)
    assert answer(beyond, EIGHT).candidates[0].machines == 4, "whatever machines are allowed otherwise"


def test_gpus_that_are_no_whole_machines_are_refused_by_name() -> None:
    asked = TuningWorkload(kind="lora", model=LLAMA_7B, gpus_exact=12)
    (refusal,) = setting(asked, EIGHT).place()
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.detail) == (
        "divisibility", {"rule": "no_whole_machines", "gpus": 12, "each": 8}
    )  # fmt: skip
    assert answer(asked, ONE).candidates[0].machines == 12
    assert all(change.name != "machines_maximum" for change in setting(asked, EIGHT).changes())


def test_a_deadline_that_so_many_gpus_miss_is_a_miss_and_asks_for_no_more_of_them() -> None:
    late = PretrainingWorkload(parameters_billion=7, tokens_billion=140, deadline_hours=24.0, gpus_exact=8)
    first = answer(late, EIGHT).candidates[0]
    assert (first.machines, first.class_) == (1, 2)
    assert [miss.target for miss in first.misses] == ["deadline_hours"]
