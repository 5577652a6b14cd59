"""What an engine holds beside its budget, and budgets that leave it no room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.sizing import memory, memory_ranges
from planner.sizing.devices import Layout
from planner.sizing.drafting import drafting
from planner.sizing.memory import Need
from planner.sizing.quantities import GIB
from planner.sizing.weights import footprint
from tests.sizing.machines import H100, RTX4090, engine, model

TWO = Layout(tp=2)
NEED = Need(
    weights_format="mxfp4", batched_tokens=8192, sequences=1024, utilization=0.95, maximum_tokens=8192
)
GPT_OSS = "openai/gpt-oss-20b"


def outcome(need: Need, name: str = GPT_OSS, layout: Layout = TWO, version: str = "0.19") -> str:
    return memory.verdict(memory.split(model(name), need, engine("vllm", version), H100, layout))


def test_a_budget_of_95_percent_leaves_the_samplers_warm_up_no_room_on_two_ranks() -> None:
    """As published for vLLM 0.19: at 0.95 the start failed in the sampler's warm-up, at 0.90 it ran."""
    assert outcome(NEED) == "does_not_fit"
    assert outcome(replace(NEED, utilization=0.9)) != "does_not_fit"


def test_fewer_sequences_or_no_graphs_leave_room_again() -> None:
    assert outcome(replace(NEED, sequences=256)) != "does_not_fit"
    assert outcome(replace(NEED, eager=True)) != "does_not_fit"


@pytest.mark.parametrize("name", ["meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-7B-Instruct"])
def test_dense_models_ran_at_95_percent_on_one_and_two_ranks(name: str) -> None:
    for layout in (Layout(), TWO):
        assert outcome(replace(NEED, weights_format="bf16"), name, layout) == "fits"


def test_the_engine_before_0_8_runs_no_sampler_after_the_cache() -> None:
    arch = model(GPT_OSS)
    old, new = (
        memory.overheads(arch, NEED, engine("vllm", version), H100, TWO) for version in ("0.7", "0.19")
    )
    assert old.warmup == 0
    assert new.warmup == 1024 * 201_088 * 4


def test_a_fraction_that_was_not_asked_for_is_lowered_and_not_refused() -> None:
    found = memory.split(model(GPT_OSS), replace(NEED, utilization=None), engine("vllm", "0.19"), H100, TWO)
    assert found.overcommitted_bytes == 0
    assert found.fraction_maximum is not None
    assert found.fraction_maximum < 0.95


def test_the_smallest_change_for_an_overcommitted_budget_is_the_fraction_that_works() -> None:
    changes = memory.what_would_help(model(GPT_OSS), NEED, engine("vllm", "0.19"), H100, TWO)
    first = changes[0]
    assert first["change"] == "gpu_memory_utilization"
    assert outcome(replace(NEED, utilization=first["to"])) == first["verdict"] != "does_not_fit"
    assert outcome(replace(NEED, utilization=first["to"] + 0.02)) == "does_not_fit"


def test_what_lies_outside_is_judged_by_its_upper_end() -> None:
    runtime = engine("vllm", "0.19")
    over = memory.overheads(model(GPT_OSS), NEED, runtime, H100, TWO)
    assert memory_ranges.outside_at_most(over, runtime) > over.outside


def test_ranks_without_switched_links_have_the_context_of_one_device() -> None:
    arch, runtime = model(GPT_OSS), engine("vllm", "0.19")
    alone = memory.overheads(arch, NEED, runtime, RTX4090, Layout())
    together = memory.overheads(arch, NEED, runtime, RTX4090, TWO)
    assert together.context == alone.context < memory.overheads(arch, NEED, runtime, H100, TWO).context


def test_every_part_lies_in_its_range_and_the_room_errs_as_the_fixed_parts_do() -> None:
    found = memory.with_ranges(
        memory.split(model("meta-llama/Llama-3.1-8B-Instruct"), Need(), engine(), H100, Layout()), engine()
    )
    assert set(found.ranges) == {
        "weights_bytes", "kv_needed_bytes", "kv_bytes_per_token", "activation_bytes", "overhead_bytes",
        "needed_bytes", "kv_room_bytes", "kv_room_tokens",
    }  # fmt: skip
    for name, one in found.ranges.items():
        assert one.value == getattr(found, name)
        assert one.low <= one.value <= one.high, name
    fixed = sum(found.ranges[name].high - found.ranges[name].value
                for name in ("weights_bytes", "activation_bytes", "overhead_bytes"))  # fmt: skip
    room = found.ranges["kv_room_bytes"]
    assert 0 < room.value - room.low < fixed
    assert found.ranges["weights_bytes"].high / found.ranges["weights_bytes"].low <= 1.15


def test_draft_layers_weigh_and_keep_a_cache_where_they_are_loaded() -> None:
    name = "deepseek-ai/DeepSeek-V4-Flash"
    plain, drafts = model(name), drafting(model(name))
    # A start log of vLLM says 148.66 GiB for this checkpoint, its draft layer included.
    assert footprint(drafts, "mxfp4", Layout()).total_bytes / GIB == pytest.approx(148.66, rel=0.01)
    assert footprint(plain, "mxfp4", Layout()).total_bytes / GIB == pytest.approx(144.9, rel=0.01)
    need = Need(weights_format="fp8")
    arch = model("deepseek-ai/DeepSeek-R1")
    runtime, layout = engine(), Layout(tp=8)
    without, with_drafts = (
        memory.split(arch, replace(need, drafts=value), runtime, H100, layout) for value in (False, True)
    )
    assert with_drafts.kv_bytes_per_token == without.kv_bytes_per_token * 62 / 61
    assert with_drafts.weights_bytes > without.weights_bytes


def test_a_model_without_draft_layers_is_unchanged() -> None:
    plain = model("meta-llama/Llama-3.1-8B-Instruct")
    assert drafting(plain) is plain


def test_the_first_versions_of_the_second_engine_sort_outside_the_budget() -> None:
    """vLLM 0.8.0 failed at 1.74 GiB in the warm-up of 1,024 requests of a vocabulary of 152,064."""
    arch = model("Qwen/Qwen2-7B-Instruct")
    assert arch.vocab == 152_064
    over = memory.overheads(
        arch, Need(sequences=1024, batched_tokens=2048), engine("vllm", "0.8"), RTX4090, Layout()
    )
    assert over.warmup / GIB == pytest.approx(1.74, abs=0.005)
