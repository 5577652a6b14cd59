"""The batch that a run takes in a step: the one asked for, or the next that its GPUs can share, told as such."""

from __future__ import annotations

from math import ceil

import pytest

from planner.sizing.results import Candidate
from planner.sizing.training.placing import candidates, on_machine
from planner.sizing.training.workload import Batch, Parallel, PretrainingWorkload, TuningWorkload
from planner.sizing.workload import ModelReference
from tests.sizing.markets import Row
from tests.sizing.training.test_setting import answer, setting, value

SMALL = ModelReference(id="Qwen/Qwen2.5-1.5B-Instruct")
TOLD = "batch_above_asked"


def tuning(batch: int, micro: int | None = None, **more: object) -> TuningWorkload:
    asked = {"kind": "lora", "model": SMALL, "batch": Batch(effective=batch, micro=micro)}
    return TuningWorkload.model_validate(asked | more)


def machine(count: int) -> Row:
    return Row("H100-SXM5", count, str(2.49 * count), vcpu=24 * count, ram_gib=256 * count)


def first(workload: TuningWorkload | PretrainingWorkload, row: Row) -> Candidate:
    return answer(workload, row).candidates[0]


@pytest.mark.parametrize("batch", [1, 6, 8, 20, 32, 50, 100, 128])
@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
def test_micro_batch_times_accumulation_times_ranks_is_the_batch_or_the_next_that_the_ranks_divide(
    batch: int, gpus: int
) -> None:
    asked = setting(tuning(batch), machine(gpus))
    task = asked.question.task()
    tried = candidates(task, on_machine(task, asked.market.machines[0]), gpus, gpus)
    assert tried or gpus > batch
    for job in tried:
        assert job.step_samples == job.micro_batch * job.accumulation * job.split.dp
        assert job.step_samples == ceil(batch / job.split.dp) * job.split.dp


@pytest.mark.parametrize(("gpus", "micro"), [(1, None), (2, None), (4, None), (8, None), (4, 8), (8, 4)])
def test_a_batch_that_the_gpus_divide_is_taken_as_asked(gpus: int, micro: int | None) -> None:
    found = first(tuning(32, micro), machine(gpus))
    assert value(found, "effective_batch") == 32
    assert TOLD not in found.warnings


def test_gpus_that_do_not_divide_the_batch_take_the_next_one_and_say_so() -> None:
    found = first(tuning(32), machine(6))
    ranks = found.layout.dp
    assert 32 % ranks
    assert value(found, "effective_batch") == ceil(32 / ranks) * ranks == 36
    assert TOLD in found.warnings


def test_a_micro_batch_that_was_asked_for_makes_the_next_batch_that_it_divides() -> None:
    found = first(tuning(32, micro=3), machine(4))
    assert value(found, "micro_batch") == 3
    assert value(found, "effective_batch") == 36
    assert TOLD in found.warnings


def test_no_gpu_is_kept_for_a_batch_with_too_few_samples_for_all() -> None:
    found = answer(tuning(4, parallel=Parallel(tp=1, pp=1, cp=1)), machine(8))
    assert not found.candidates
    (rejection,) = found.rejected
    assert (rejection.reason, rejection.detail["rule"]) == ("divisibility", "no_split")


def test_a_batch_of_a_round_number_of_tokens_may_be_a_little_larger_unsaid() -> None:
    workload = PretrainingWorkload(parameters_billion=1, batch_million_tokens=4, sequence=4096)
    found = first(workload, machine(8))
    asked = round(4e6 / 4096)
    assert asked <= value(found, "effective_batch") <= asked * 1.02
    assert value(found, "micro_batch") > 1, "977 samples are no reason for micro-batches of one"
    assert TOLD not in found.warnings
