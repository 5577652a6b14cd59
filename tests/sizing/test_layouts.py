"""Other ways to split the replicas of one machine."""

from __future__ import annotations

from typing import Any

import pytest

from planner.sizing import memory
from planner.sizing.devices import Layout
from planner.sizing.layouts import LayoutChoice, alternatives, splits
from planner.sizing.options import Desk
from planner.sizing.placement import Placement
from planner.sizing.workload import (
    Concurrency,
    ModelReference,
    RuntimeChoice,
    ServingWorkload,
    Targets,
)
from tests.sizing.markets import Row, setting

MIXTURE = "Qwen/Qwen3-235B-A22B"


def choices(workload: ServingWorkload, row: Row) -> tuple[LayoutChoice, ...]:
    made = setting(workload, [row])
    return alternatives(made, made.place(), 0)


def serving(model: str, **more: Any) -> ServingWorkload:
    free = Targets(ttft_s="none", tpot_s="none")
    return ServingWorkload(**({"model": ModelReference(id=model), "targets": free} | more))


def test_a_dense_model_splits_by_tensors_and_layers_and_every_split_once() -> None:
    found = choices(serving("Qwen/Qwen3-32B"), Row(count=8))
    degrees = [(c.layout.tp, c.layout.pp, c.layout.ep, c.layout.dp) for c in found]
    assert len(degrees) == len(set(degrees))
    assert {(1, 2, 1, 1), (2, 2, 1, 1), (8, 1, 1, 1), (1, 8, 1, 1)} <= set(degrees)
    assert all(ep == 1 and attention == 1 for _tp, _pp, ep, attention in degrees)


def test_more_stages_than_are_ranked_are_marked_but_not_where_the_engine_knows_no_other_split() -> None:
    found = choices(serving("Qwen/Qwen3-32B"), Row(count=8))
    assert {c.layout.pp for c in found if c.is_too_fast} == {8}
    by_layers = serving("Qwen/Qwen3-32B", runtime=RuntimeChoice(name="llama_cpp"), weights_format="gguf_q8_0")
    plain = choices(by_layers, Row(count=8))
    assert max(c.layout.pp for c in plain) == 8
    assert not any(c.is_too_fast for c in plain)


def test_a_mixture_splits_by_experts_too_and_keeps_attention_by_requests() -> None:
    found = choices(serving(MIXTURE, weights_format="fp8"), Row("H200-SXM", count=8))
    assert Layout(tp=8, ep=8) in [c.layout for c in found]
    assert {Layout(dp=8, ep=8), Layout(tp=4, dp=2, ep=8)} <= {c.layout for c in found}


def test_attention_by_requests_pays_for_weights_of_its_own() -> None:
    found = setting(serving(MIXTURE, weights_format="fp8"), [Row("H200-SXM", count=8)])
    desk = Desk(found.workload, found.arch, found.runtime)
    machine = found.market.machines[0]
    assert {Layout(tp=8, ep=8), Layout(dp=8, ep=8)} <= set(splits(desk, machine))
    shared, own = (
        memory.split(desk.arch, desk.need, desk.runtime, machine.device, layout)
        for layout in (Layout(tp=8, ep=8), Layout(dp=8, ep=8))
    )
    assert own.weights_bytes > shared.weights_bytes
    assert own.kv_room_bytes < shared.kv_room_bytes
    assert own.kv_bytes_per_token == 4 * shared.kv_bytes_per_token, (
        "four KV heads, of which a rank of eight holds one"
    )


def test_llama_cpp_splits_by_layers_alone() -> None:
    workload = serving(
        "Qwen/Qwen3-32B", runtime=RuntimeChoice(name="llama_cpp"), weights_format="gguf_q4_k_m"
    )
    found = choices(workload, Row("L40S", count=4))
    assert {(c.layout.tp, c.layout.pp) for c in found} == {(1, 1), (1, 2), (1, 4)}


@pytest.mark.parametrize("objective", ["ttft", "tpot", "throughput"])
def test_the_best_under_the_objective_stands_first(objective: str) -> None:
    workload = serving("Qwen/Qwen3-32B", objective=objective, concurrency=Concurrency(average=8, peak=16))
    found = choices(workload, Row(count=8))
    best = found[0]
    for other in found:
        if objective == "throughput":
            assert best.output_tokens_per_s is not None
            assert other.output_tokens_per_s is not None
            assert best.output_tokens_per_s.value >= other.output_tokens_per_s.value
        else:
            ours, theirs = getattr(best, f"{objective}_s"), getattr(other, f"{objective}_s")
            assert ours.value <= theirs.value


def test_splits_that_miss_a_target_stand_after_those_that_meet_it() -> None:
    workload = serving("Qwen/Qwen3-32B", targets=Targets(ttft_s="none", tpot_s=0.012))
    missing = [bool(c.misses) for c in choices(workload, Row(count=8))]
    assert missing == sorted(missing)
    assert True in missing
    assert False in missing


def test_the_shown_split_has_the_figures_of_the_comparison() -> None:
    made = setting(serving("Qwen/Qwen3-32B"), [Row(count=8)])
    (placed,) = made.place()
    assert isinstance(placed, Placement)
    (shown,) = [c for c in alternatives(made, [placed], 0) if c.is_shown]
    assert shown.replicas == placed.replicas
    assert shown.layout == placed.layout
    assert shown.tpot_s == placed.peak.tpot_s


def test_a_slice_of_a_gpu_has_one_layout() -> None:
    found = choices(serving("Qwen/Qwen3-8B"), Row("A100-SXM4-80GB", fraction=0.5))
    assert [c.gpus_per_replica for c in found] == [1]


def test_a_replica_is_laid_over_machines_only_where_the_offer_names_a_network_between_them() -> None:
    workload = serving("deepseek-ai/DeepSeek-V3", weights_format="fp8")
    made = setting(workload, [Row(count=8)])
    refused = made.place()
    assert not any(isinstance(placed, Placement) for placed in refused)
    assert not alternatives(made, refused, 0)
    over = alternatives(made, refused, 0, fabric="EFA, 32 interfaces")
    assert over
    for choice in over:
        assert choice.machines_per_replica == choice.layout.pp
        assert choice.machines >= choice.machines_per_replica * choice.replicas
        assert not choice.is_shown
