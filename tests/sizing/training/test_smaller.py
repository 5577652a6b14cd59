"""The smallest machine on which a run works, and smaller ones that one change lets work."""

from __future__ import annotations

from typing import Any

import pytest

from planner.sizing.results import SmallerMachine
from planner.sizing.training.setting import TrainingSetting
from planner.sizing.training.smaller import memory_bytes
from planner.sizing.training.workload import Batch, Lengths, PretrainingWorkload, TuningWorkload
from planner.sizing.workload import Filters, ModelReference
from tests.sizing.markets import Row
from tests.sizing.training.test_setting import EIGHT, LLAMA_7B, ONE, answer, setting

FULL = TuningWorkload(kind="full_finetune", model=LLAMA_7B)
A100 = Row("A100-SXM4-80GB", 1, "1.50", vcpu=24, ram_gib=256)
L4 = Row("L4", 1, "0.70", vcpu=8, ram_gib=64)
L40S = Row("L40S", 1, "1.00", vcpu=16, ram_gib=128)


def found_on(workload: Any, *rows: Row) -> tuple[SmallerMachine, ...]:
    return answer(workload, *rows).candidates[0].smallest


def test_the_machine_with_least_memory_that_works_comes_first() -> None:
    lora = TuningWorkload(kind="lora", model=LLAMA_7B)
    first = found_on(lora, EIGHT, ONE, L40S)[0]
    assert (first.change, first.accelerator, first.gpu_count) == (None, "L40S", 1)
    assert first.run_hours is not None
    assert first.run_cost is not None


def test_each_change_names_a_smaller_machine_sized_and_billed_with_it() -> None:
    rows = found_on(FULL, EIGHT, ONE, A100, L40S, L4)
    first, *changes = rows
    assert first.change is None
    assert changes
    names = [(one.change, one.value) for one in changes]
    assert ("method", "qlora") in names
    assert ("offload_optimizer", "on") in names
    for one in changes:
        assert one.memory_bytes < first.memory_bytes
        assert one.run_hours
        assert one.run_cost
        # Accumulation makes up the batch: it stays as asked.
        assert one.effective_batch == FULL.batch.effective == one.micro_batch * one.accumulation
    by_name = {one.change: one for one in changes}
    assert by_name["method"].accelerator in ("L4", "L40S")


def test_the_change_is_really_enough_and_the_machine_really_too_small_without_it() -> None:
    rows = (EIGHT, ONE, A100, L40S, L4)
    for one in found_on(FULL, *rows)[1:]:
        own = next(row for row in rows if (row.accelerator, row.count) == (one.accelerator, one.gpu_count))
        plain = setting(FULL, own)
        assert not answer(FULL, own).candidates
        change = next(c for c in plain.changes() if (c.name, c.value) == (one.change, one.value))
        changed = plain.changed(change.update)
        assert isinstance(changed, TrainingSetting)
        placed = changed.place_on(0)
        assert getattr(placed, "verdict", None) == "fits"
        assert one.needed_bytes == pytest.approx(placed.planned.needed_bytes)  # type: ignore[union-attr]
        assert memory_bytes(changed.with_host(0)) == one.memory_bytes


def test_a_fixed_micro_batch_is_given_up_for_accumulation_first() -> None:
    asked = TuningWorkload(
        kind="lora", model=LLAMA_7B, lengths=Lengths(maximum=4096), batch=Batch(effective=64, micro=8),
        recompute="full",
    )  # fmt: skip
    changes = found_on(asked, EIGHT, ONE, L40S, L4)[1:]
    first = changes[0]
    assert (first.change, first.value) == ("micro_batch", 1)
    assert (first.micro_batch, first.accumulation, first.effective_batch) == (1, 64, 64)


def test_machines_that_a_filter_hides_are_not_named() -> None:
    shown = FULL.model_copy(update={"filters": Filters(exclude=("L40S", "L4"))})
    names = {one.accelerator for one in found_on(shown, EIGHT, ONE, A100, L40S, L4)}
    assert names <= {"H100-SXM5", "A100-SXM4-80GB"}


def test_nothing_smaller_is_claimed_where_the_smallest_of_the_market_works() -> None:
    lora = TuningWorkload(kind="lora", model=ModelReference(id="Qwen/Qwen3-0.6B"))
    rows = found_on(lora, EIGHT, ONE, L4)
    assert [(one.change, one.accelerator) for one in rows] == [(None, "L4")]


def test_a_machine_that_is_late_is_not_the_smallest_that_works() -> None:
    patient = PretrainingWorkload(
        parameters_billion=3, tokens_billion=60, machines_maximum=8, deadline_hours=600
    )
    pressed = patient.model_copy(update={"deadline_hours": 60.0})
    rows = (ONE, EIGHT)
    small, fast = found_on(patient, *rows)[0], found_on(pressed, *rows)[0]
    assert (small.change, small.gpu_count) == (fast.change, 1) == (None, fast.gpu_count // 8)
    assert small.run_hours is not None
    assert fast.run_hours is not None
    assert small.run_hours > 60 >= fast.run_hours


def test_no_machine_is_named_where_none_meets_the_deadline() -> None:
    hopeless = PretrainingWorkload(parameters_billion=3, tokens_billion=60, deadline_hours=0.5)
    found = answer(hopeless, ONE, EIGHT).candidates[0]
    assert found.misses
    assert all(one.change is not None and (one.run_hours or 1) <= 0.5 for one in found.smallest)
