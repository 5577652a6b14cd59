"""Each law of training, shown to fail once under a planted fault."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from planner.sizing import run_terms, storage_rates
from planner.sizing.training import counting, flops, memory, speed, states
from planner.sizing.training.job import Job, Split
from planner.sizing.training.states import States
from tests.sizing import test_run_terms, test_storage_rates
from tests.sizing.training import test_lengths_and_paging, test_memory, test_setting, test_speed


@pytest.fixture(autouse=True)
def _fresh_counts() -> Iterator[None]:
    """What was counted under a fault must not outlive it."""
    yield
    for kept in (counting._held, counting._layers, counting.widths, counting.adapter_values):
        kept.cache_clear()


def broken(law: Any, *arguments: Any) -> None:
    with pytest.raises(AssertionError):
        law.hypothesis.inner_test(*arguments)


def holds(law: Any, *arguments: Any) -> None:
    law.hypothesis.inner_test(*arguments)


def test_tokens_that_are_not_counted_break_more_tokens_never_need_less(monkeypatch: Any) -> None:
    law = test_memory.test_more_tokens_never_need_less
    holds(law, 512, 512, "full", "none")
    monkeypatch.setattr(Job, "peak_tokens", property(lambda self: max(1, 100_000 - self.sequence)))
    broken(law, 512, 512, "full", "none")


def test_a_micro_batch_that_divides_breaks_a_larger_one_never_needs_less(monkeypatch: Any) -> None:
    law = test_memory.test_a_larger_micro_batch_never_needs_less
    holds(law, 2, 2, "none")
    monkeypatch.setattr(Job, "peak_tokens", property(lambda self: self.sequence // self.micro_batch))
    broken(law, 2, 2, "none")


def test_a_rank_that_saves_breaks_a_higher_rank_never_needs_less(monkeypatch: Any) -> None:
    law = test_memory.test_a_higher_rank_never_needs_less
    holds(law, 8, 8)
    monkeypatch.setattr(counting, "adapter_parameters", lambda arch, rank, targets: 10**9 // rank)
    broken(law, 8, 8)


def test_layers_counted_once_break_more_layers_never_need_less(monkeypatch: Any) -> None:
    law = test_memory.test_more_layers_never_need_less
    holds(law, 2, 2)
    whole = memory.amounts
    monkeypatch.setattr(memory, "amounts", lambda job, *rest: whole(job.model_copy(update={
        "sequence": max(1, 4096 // job.arch.layer_count**3), "micro_batch": 64}), *rest))  # fmt: skip
    broken(law, 2, 2)


def test_a_shard_that_is_added_breaks_sharding_never_increases_state(monkeypatch: Any) -> None:
    law = test_memory.test_sharding_never_increases_the_state_of_a_gpu
    holds(law, 4, 1, 2)
    kept = states.states

    def faulty(job: Job, held: Any) -> States:
        found = kept(job, held)
        return found._replace(optimizer=found.optimizer * (1 + 8 * (job.split.zero_stage > 0)))

    monkeypatch.setattr(memory, "states", faulty)
    broken(law, 4, 0, 2)


def test_recomputation_that_keeps_all_breaks_recomputation_never_needs_more(monkeypatch: Any) -> None:
    law = test_memory.test_recomputation_never_needs_more
    holds(law, 1024, "full")
    monkeypatch.setattr(memory, "HALF_BYTES", 2)
    whole = memory.amounts

    def faulty(job: Job, *rest: Any) -> Any:
        changed = (
            job if job.recompute == "none" else job.model_copy(update={"recompute": "none", "micro_batch": 2})
        )
        return whole(changed, *rest)

    monkeypatch.setattr(memory, "amounts", faulty)
    broken(law, 1024, "full")


def test_gradients_that_pile_up_break_accumulation_does_not_change_memory(monkeypatch: Any) -> None:
    law = test_memory.test_accumulation_does_not_change_memory_once_gradients_are_kept
    holds(law, 8)
    monkeypatch.setattr(Job, "peak_tokens", property(lambda self: self.sequence * self.accumulation))
    broken(law, 8)


def test_a_free_second_pass_breaks_recomputation_takes_more_time(monkeypatch: Any) -> None:
    law = test_speed.test_recomputation_takes_more_time
    holds(law, "full", 1024)
    whole = flops.executed
    monkeypatch.setattr(speed, "executed", lambda job: whole(job.model_copy(update={"recompute": "none"})))
    broken(law, "full", 1024)


def test_tokens_that_take_no_time_break_more_tokens_never_take_less(monkeypatch: Any) -> None:
    law = test_speed.test_more_tokens_never_take_less_time
    holds(law, 1024, 1024)
    monkeypatch.setattr(Job, "micro_tokens", property(lambda self: 10_000_000 // self.sequence))
    broken(law, 1024, 1024)


def test_accumulation_that_is_free_breaks_that_it_promises_no_speed(monkeypatch: Any) -> None:
    law = test_speed.test_accumulation_promises_no_speed
    holds(law, 4)
    whole = speed.work
    monkeypatch.setattr(
        speed, "work", lambda job, *rest: whole(job.model_copy(update={"accumulation": 1}), *rest)
    )
    broken(law, 4)


def test_a_device_that_slows_with_its_rate_breaks_faster_is_never_slower(monkeypatch: Any) -> None:
    law = test_speed.test_a_device_that_is_faster_in_everything_is_never_slower
    holds(law, 2.0)
    monkeypatch.setattr(
        speed, "peak_flops", lambda device, precision: (1e28 / device.dense_rates["bf16"], "bf16")
    )
    broken(law, 2.0)


def test_a_bubble_of_all_stages_breaks_the_pipelines_law(monkeypatch: Any) -> None:
    law = test_speed.test_a_pipelines_bubble_is_its_stages_less_one_over_the_micro_batches
    holds(law, 4, 8)
    whole = speed.work

    def faulty(job: Job, *rest: Any) -> Any:
        from dataclasses import replace

        return replace(whole(job, *rest), bubble=job.split.pp / job.accumulation)

    monkeypatch.setattr(speed, "work", faulty)
    broken(law, 4, 8)


def test_a_loader_that_speeds_up_with_the_gpu_breaks_that_no_gpu_cures_it(monkeypatch: Any) -> None:
    from planner.sizing import host

    law = test_setting.test_a_faster_gpu_never_cures_a_run_that_waits_for_data
    holds(law, 100.0)
    whole = host.path_rate
    monkeypatch.setattr(host, "path_rate", lambda path, cores: whole(
        path.model_copy(update={"stages": ()}), cores))  # fmt: skip
    broken(law, 100.0)


def test_padding_that_shrinks_breaks_a_larger_micro_batch_never_pads_less(monkeypatch: Any) -> None:
    law = test_lengths_and_paging.test_a_larger_micro_batch_never_pads_less
    holds(law, 2, 3, 500.0)
    monkeypatch.setattr(Job, "computed_tokens", property(lambda self: self.sample_tokens / self.micro_batch))
    broken(law, 2, 3, 500.0)


def test_a_sequence_cut_short_breaks_longer_samples_never_take_less_attention(monkeypatch: Any) -> None:
    law = test_lengths_and_paging.test_longer_samples_in_a_sequence_never_take_less_attention
    holds(law, 1000.0, 500.0)
    monkeypatch.setattr(Job, "attended_tokens", property(lambda self: 1e6 / (self.document_tokens or 1.0)))
    broken(law, 1000.0, 500.0)


def test_room_that_shrinks_breaks_more_memory_never_pages_more(monkeypatch: Any) -> None:
    law = test_lengths_and_paging.test_a_card_with_more_memory_never_pages_more
    holds(law, 40.0, 30.0)
    monkeypatch.setattr(speed, "PAGED_ROOM_FRACTION", -1.0)
    whole = speed.work
    monkeypatch.setattr(
        speed, "work",
        lambda job, card, links: whole(job.model_copy(update={"micro_batch": 1}), card.model_copy(update={
            "pcie_bytes_per_s": 1e20 / card.engine_total_bytes}), links),
    )  # fmt: skip
    broken(law, 40.0, 30.0)


def test_terms_that_are_paid_once_break_a_longer_run_never_costs_less(monkeypatch: Any) -> None:
    law = test_run_terms.test_a_longer_run_never_costs_less_on_any_term
    holds(law, 20.0, 4000.0)
    monkeypatch.setattr(run_terms, "_paid", lambda *rest: (1000 / rest[-1], rest[-1], None))
    broken(law, 20.0, 4000.0)


def test_a_rate_that_is_not_looked_at_breaks_that_a_later_time_is_met_sooner(monkeypatch: Any) -> None:
    test_storage_rates.test_a_later_time_never_misses_what_an_earlier_one_meets()
    monkeypatch.setattr(storage_rates.Reading, "needed_bytes_per_s", property(lambda self: 1e6 * self.asked))
    with pytest.raises(AssertionError):
        test_storage_rates.test_a_later_time_never_misses_what_an_earlier_one_meets()


def test_the_split_used_above_is_what_it_says() -> None:
    assert Split(dp=4, tp=2).gpu_count == 8
