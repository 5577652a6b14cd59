"""Splits beside the plain one, attention by requests above all: where they are tried, when taken, and their speed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planner.sizing import memory, placing, steady, tried_layouts, weights
from planner.sizing.compare import write_candidate
from planner.sizing.constants import UNFAMILIAR
from planner.sizing.devices import Layout
from planner.sizing.layouts import alternatives, by_tensors
from planner.sizing.llm import LlmSetting
from planner.sizing.options import Desk, altered
from planner.sizing.placement import Placement
from planner.sizing.quantities import GIB
from planner.sizing.serving import ServingPoint, operate
from planner.sizing.steady import Steady
from planner.sizing.weighing import weigh
from planner.sizing.workload import (
    BatchWorkload,
    Concurrency,
    InputTokens,
    ModelReference,
    OutputTokens,
    ServingWorkload,
    Targets,
)
from tests.sizing.machines import engine, model
from tests.sizing.markets import Row, setting

R1 = "deepseek-ai/DeepSeek-R1"
QWEN = "Qwen/Qwen3-235B-A22B"
EIGHT = Row("H200-SXM", count=8, ram_gib=2048)


def serving(name: str = R1, *, users: float = 10, tokens: int = 100_600, **more: Any) -> ServingWorkload:
    asked = {
        "model": ModelReference(id=name), "weights_format": "fp8",
        "input_tokens": InputTokens(typical=tokens, maximum=tokens),
        "output_tokens": OutputTokens(typical=400, maximum=400),
        "concurrency": Concurrency(average=users, peak=users),
        "targets": Targets(ttft_s="none", tpot_s="none"),
    }  # fmt: skip
    return ServingWorkload.model_validate(asked | more)


MANY = serving(users=400, tokens=500, output_tokens=OutputTokens(typical=2_000, maximum=2_000))
"""Many short questions with long answers: a cache that fills the memory, read in many steps."""


def placed(workload: ServingWorkload | BatchWorkload, row: Row = EIGHT) -> Placement:
    (found,) = setting(workload, [row]).place()
    assert isinstance(found, Placement)
    return found


def both(workload: ServingWorkload) -> dict[int, Placement]:
    """The machine split by tensors alone (1) and with attention by requests (8)."""
    made = setting(workload, [EIGHT])
    assert isinstance(made, LlmSetting)
    machine = made.market.machines[0]
    options = Desk(workload, made.arch, made.runtime).options(machine)
    assert isinstance(options, list)
    settled = placing.settle(workload, [(machine, [option]) for option in options], made.constants)
    return {one.layout.dp: one for one in settled if isinstance(one, Placement) and one.layout.pp == 1}


@pytest.mark.parametrize(
    ("name", "runtime", "devices", "layout"),
    [
        (R1, "vllm", 8, Layout(dp=8, ep=8)), (R1, "sglang", 4, Layout(dp=4, ep=4)),
        ("moonshotai/Kimi-K2-Instruct", "tensorrt_llm", 8, Layout(dp=8, ep=8)), (R1, "vllm", 1, None),
        (QWEN, "vllm", 8, Layout(tp=4, dp=2, ep=8)), (QWEN, "sglang", 8, Layout(dp=8, ep=8)), (QWEN, "vllm", 4, None),
        ("Qwen/Qwen3-32B", "vllm", 8, None), ("mistralai/Mixtral-8x7B-Instruct-v0.1", "vllm", 8, None),
        ("deepseek-ai/DeepSeek-V4-Pro", "vllm", 8, Layout(dp=8, ep=8)),
        ("deepseek-ai/DeepSeek-V4-Pro", "sglang", 8, None), (R1, "llama_cpp", 8, None),
        (R1, "tgi", 8, None), ("Qwen/Qwen3-Next-80B-A3B-Instruct", "sglang", 8, None),
    ],
)  # fmt: skip
def test_it_is_tried_only_where_tensors_would_copy_the_cache_and_the_engine_has_it(
    name: str, runtime: str, devices: int, layout: Layout | None
) -> None:
    tried = tried_layouts.beside_plain(model(name), "fp8", engine(runtime, None), devices)
    assert [one for one in tried if one.dp > 1] == ([] if layout is None else [layout])


@pytest.mark.parametrize(
    ("name", "runtime", "devices", "layouts"),
    [
        (R1, "vllm", 8, [Layout(tp=4, pp=2), Layout(tp=2, pp=4)]), (R1, "sglang", 2, [Layout(pp=2)]),
        (QWEN, "vllm", 8, [Layout(tp=4, pp=2)]), (QWEN, "vllm", 4, []), (R1, "vllm", 1, []),
        ("Qwen/Qwen3-32B", "vllm", 8, []), ("mistralai/Mixtral-8x7B-Instruct-v0.1", "vllm", 8, []),
        (R1, "llama_cpp", 8, []), (R1, "tgi", 8, []),
    ],
)  # fmt: skip
def test_layers_are_spread_too_only_where_tensors_would_copy_the_cache(
    name: str, runtime: str, devices: int, layouts: list[Layout]
) -> None:
    tried = tried_layouts.beside_plain(model(name), "fp8", engine(runtime, None), devices)
    assert [one for one in tried if one.pp > 1] == layouts


def test_it_is_not_tried_where_ranks_share_the_tokens_of_the_cache_or_the_version_is_older() -> None:
    arch = model(R1)
    assert tried_layouts.beside_plain(arch, "fp8", engine("vllm", None), 8, 8) == ()
    older = tried_layouts.beside_plain(arch, "fp8", engine("vllm", "0.8.5"), 8)
    assert older
    assert all(one.dp == 1 for one in older)


def test_weights_of_a_rank_are_those_that_a_start_log_tells() -> None:
    """vLLM on 8 H200 with attention by requests: 125.65 GiB of DeepSeek-V4-Pro a GPU, the draft layer with them."""
    found = weights.footprint(model("deepseek-ai/DeepSeek-V4-Pro"), "mxfp4", Layout(dp=8, ep=8))
    assert found.resident_bytes / GIB == pytest.approx(125.65, rel=0.05)


def test_groups_share_the_tokens_of_a_step_where_the_engine_says_so() -> None:
    need, card = memory.Need(weights_format="fp8"), setting(serving(), [EIGHT]).market.machines[0].device
    for name, shared in (("sglang", 8), ("vllm", 1)):
        plain, apart = (
            memory.overheads(model(R1), need, engine(name, None), card, layout).batched_tokens
            for layout in (Layout(tp=8), Layout(dp=8, ep=8))
        )
        assert apart == plain // shared


def plainly(workload: ServingWorkload | BatchWorkload) -> Placement:
    """The machine split by tensors alone."""
    made = setting(workload, [EIGHT])
    assert isinstance(made, LlmSetting)
    machine = made.market.machines[0]
    options = Desk(workload, made.arch, made.runtime).options(machine)
    assert isinstance(options, list)
    plain = [option for option in options if option.is_plain]
    (found,) = placing.settle(workload, [(machine, plain)], made.constants)
    assert isinstance(found, Placement)
    return found


def test_long_answers_take_a_third_of_the_machines_with_attention_by_requests() -> None:
    found, before = placed(MANY), plainly(MANY)
    assert (found.layout, found.machines) == (Layout(dp=8, ep=8), 1)
    assert (before.layout, before.machines) == (Layout(tp=8), 3)
    assert "attention_by_requests" in found.warnings
    assert "layers_beside_tensors" not in found.warnings


def test_a_long_context_takes_a_third_of_the_machines_by_the_fastest_split_that_holds_it() -> None:
    found, before = placed(serving()), plainly(serving())
    assert (found.layout, found.machines) == (Layout(tp=2, pp=4), 1)
    assert (before.layout, before.machines) == (Layout(tp=8), 3)
    assert "layers_beside_tensors" in found.warnings
    made = setting(serving(), [EIGHT])
    assert isinstance(made, LlmSetting)
    own = [one for one in alternatives(made, made.place(), 0) if one.machines == 1]
    assert Layout(dp=8, ep=8) in [one.layout for one in own]
    tried = tried_layouts.beside_plain(made.arch, "fp8", made.runtime, 8)
    times = {one.layout: one.tpot_s.value for one in own if one.tpot_s is not None and one.layout in tried}
    assert min(times, key=lambda layout: times[layout]) == found.layout


def test_where_as_many_machines_are_needed_all_ranks_share_every_request() -> None:
    found = placed(serving(users=2, tokens=2_000))
    assert (found.layout, found.machines) == (Layout(tp=8), 1)


def test_a_target_that_it_would_miss_is_met_by_tensors_on_more_machines() -> None:
    found = placed(MANY.model_copy(update={"targets": Targets(ttft_s=0.45, tpot_s="none")}))
    assert found.layout == Layout(tp=8)
    assert found.machines > 1
    assert not found.misses


def test_where_no_split_meets_every_target_the_one_that_misses_fewest_is_taken() -> None:
    found = placed(serving(targets=Targets(ttft_s=0.5, tpot_s=0.02)))
    assert [miss.target for miss in found.misses] == ["ttft_s"]
    loose = placed(serving(targets=Targets(ttft_s=0.5, tpot_s="none")))
    assert loose.machines == 1, "all miss the same, so the fewest machines"


@pytest.mark.parametrize("objective", ["ttft", "tpot"])
def test_who_wants_the_lowest_latency_is_not_given_the_slower_split_for_fewer_machines(
    objective: str,
) -> None:
    assert placed(serving(objective=objective)).layout == Layout(tp=8)


def test_more_gpus_are_taken_where_the_load_then_needs_fewer_machines() -> None:
    asked = serving("meta-llama/Llama-3.1-70B-Instruct", users=700, tokens=2_000)
    found = placed(asked)
    assert (found.layout, found.machines) == (Layout(tp=2), 1)
    assert "more_devices_for_load" in found.warnings
    assert "more_devices_for_speed" not in found.warnings
    assert placed(asked.model_copy(update={"objective": "tpot"})).layout == Layout()


def test_a_job_is_split_so_where_each_gpu_then_does_a_tenth_more() -> None:
    job = BatchWorkload(model=ModelReference(id=R1), weights_format="fp8")
    found = placed(job)
    assert found.layout == Layout(dp=8, ep=8)
    old = plainly(job)
    assert old.layout == Layout(tp=8)
    assert found.full.request_rate_per_s > (1 + placing.WORTH_ANOTHER_SPLIT) * old.full.request_rate_per_s


def test_the_fullest_rank_is_shown_and_the_room_of_all_ranks_told() -> None:
    made = setting(MANY, [EIGHT])
    (found,) = made.place()
    assert isinstance(found, Placement)
    split = made.memory(found)
    assert split.groups == 8
    assert split.kv_needed_bytes == pytest.approx(50 * 2_500 * split.kv_bytes_per_token, rel=2e-2), (
        "400 over 8"
    )
    assert split.kv_room_tokens == 8 * (split.kv_room_bytes // split.kv_bytes_per_token)
    assert found.point.batch_cap % 8 == 0


@pytest.mark.parametrize(("workload", "machines"), [(serving(), 3), (MANY, 3)])
def test_what_tensors_alone_would_take_is_told_beside_it(workload: ServingWorkload, machines: int) -> None:
    made = setting(workload, [EIGHT])
    assert isinstance(made, LlmSetting)
    placements = made.place()
    candidate = write_candidate(made, weigh(made, placements), 0, rank=1)
    other = by_tensors(made, placements, 0, candidate)
    assert other is not None
    assert (other.layout, other.machines) == (Layout(tp=8), machines)
    assert other.total > candidate.monthly.total
    assert other.tpot_s is not None
    assert candidate.speed is not None
    assert candidate.speed.peak.tpot_s is not None
    assert other.tpot_s.value < candidate.speed.peak.tpot_s.value


def test_a_request_alone_is_slower_than_with_all_ranks_on_it() -> None:
    found = both(serving(users=1, tokens=20_000))
    shared, own = found[1].peak, found[8].peak
    assert shared.ttft_s is not None
    assert own.ttft_s is not None
    assert own.ttft_s.value > 2 * shared.ttft_s.value, "seven of eight ranks have no part in its attention"
    assert own.memory_s > shared.memory_s, "the rank reads its weights of attention whole"


def test_ranges_of_a_split_that_one_publisher_measured_are_wider() -> None:
    found = both(serving(users=100, tokens=2_000))
    shared, own = found[1].peak.tpot_s, found[8].peak.tpot_s
    assert shared is not None
    assert own is not None
    assert np.log(own.high / own.value) == pytest.approx(UNFAMILIAR * np.log(shared.high / shared.value))


def point(**more: Any) -> ServingPoint:
    return altered(both(serving(users=100, tokens=4_000))[8].point, **more)


@pytest.mark.parametrize("users", [1.0, 3.0, 8.0, 40.0, 300.0])
def test_the_share_of_a_prompt_lies_between_all_groups_at_work_and_one_alone_and_falls_with_load(
    users: float,
) -> None:
    constants = setting(serving(), [EIGHT]).constants
    few, many = operate(
        [point(load="concurrency", load_value=users), point(load="concurrency", load_value=2 * users)],
        constants,
    )
    one = Steady([point()], constants.resolve(point().classes)[:, np.newaxis])
    shared, lone = float(one.shared_prompt_s[0]), float(one.lone_prompt_s[0])
    assert shared < many.prompt_share_s < few.prompt_share_s <= lone * (1 + 1e-9)
    (full,) = operate([point(load="saturated")], constants)
    assert full.prompt_share_s == pytest.approx(shared), "as measured, where prompts wait for every group"


def test_prompts_miss_each_other_less_the_busier_the_groups() -> None:
    busy = np.array([0.0, 0.01, 0.1, 0.5, 0.9, 1.0])
    found = steady.apart(busy, np.full_like(busy, 8.0))
    assert found[0] == pytest.approx(1.0, abs=1e-4)
    assert found[-1] == pytest.approx(0.0, abs=1e-12)
    assert (np.diff(found) < 0).all()


def test_the_rounds_that_find_the_share_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    constants = setting(serving(), [EIGHT]).constants
    loads = [point(load="concurrency", load_value=users) for users in (2.0, 8.0, 30.0, 100.0, 400.0)]
    found = [one.prompt_share_s for one in operate(loads, constants)]
    monkeypatch.setattr(steady, "OVERLAP_ROUNDS", 60)
    exact = [one.prompt_share_s for one in operate(loads, constants)]
    assert found == pytest.approx(exact, rel=0.01)
