"""Which ways to split a model an engine has, and that searches use no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.sizing import divisibility, memory, memory_derivations, split_support
from planner.sizing.devices import Layout, Machine
from planner.sizing.inverse import Question
from planner.sizing.memory import Need
from planner.sizing.workload import ServingWorkload
from tests.sizing.formulas import evaluate
from tests.sizing.machines import H100, card, engine, model


@pytest.mark.parametrize(
    ("name", "version", "layout", "rule"),
    [
        ("vllm", "0.4", Layout(pp=2), "split_needs_newer_version"), ("vllm", "0.6", Layout(pp=2), None),
        ("vllm", "0.7.0", Layout(tp=2, ep=2), "split_needs_newer_version"), ("vllm", None, Layout(tp=2, ep=2), None),
        ("vllm", "0.8", Layout(dp=2, ep=2), "split_needs_newer_version"), ("sglang", None, Layout(dp=8, ep=8), None),
        ("llama_cpp", None, Layout(tp=2), "split_not_supported"), ("llama_cpp", None, Layout(pp=2), None),
        ("tgi", None, Layout(pp=2), "split_not_supported"), ("tgi", None, Layout(tp=4), None),
        ("lmdeploy", None, Layout(pp=2), "split_not_supported"), ("exllama", None, Layout(tp=2), "split_not_supported"),
        ("transformers", None, Layout(pp=4), None), ("ollama", None, Layout(tp=2), "split_not_supported"),
        ("other", None, Layout(tp=8, pp=2), None),
        ("tensorrt_llm", "0.16", Layout(dp=2, ep=2), "split_needs_newer_version"),
        ("vllm", "0.4", Layout(), None), ("vllm", "0.4", Layout(tp=8), None),
    ],
)  # fmt: skip
def test_the_table_of_splits_holds_cell_by_cell(
    name: str, version: str | None, layout: Layout, rule: str | None
) -> None:
    found = split_support.refusal(engine(name, version), layout)
    assert (found or {}).get("rule") == rule
    assert found is None or (
        found["source"] and found["way"] in ("tensors", "layers", "experts", "requests", "context")
    )


@pytest.mark.parametrize(
    ("name", "version", "family", "rule"),
    [
        ("vllm", "0.8.5", "deepseek_v3", "split_needs_newer_version"), ("vllm", "0.9.0", "deepseek_v3", None),
        ("vllm", "0.9.0", "qwen3_moe", None), ("vllm", None, "kimi_linear", None),
        ("sglang", "0.3.6", "deepseek_v2", "split_needs_newer_version"), ("sglang", "0.4.0", "deepseek_v2", None),
        ("sglang", "0.4.6", "qwen3_moe", "split_needs_newer_version"), ("sglang", "0.4.7", "qwen3_moe", None),
        ("sglang", None, "qwen3_next", "split_not_supported"), ("sglang", None, "glm_moe_dsa", None),
        ("tensorrt_llm", "0.16", "deepseek_v3", "split_needs_newer_version"),
        ("tensorrt_llm", "0.17", "deepseek_v3", None),
        ("tensorrt_llm", "0.21", "qwen3_moe", "split_needs_newer_version"), ("tensorrt_llm", None, "qwen3_moe", None),
        ("tensorrt_llm", None, "qwen3_next", "split_not_supported"),
        ("llama_cpp", None, "deepseek_v3", "split_not_supported"), ("tgi", None, "deepseek_v3", "split_not_supported"),
    ],
)  # fmt: skip
def test_attention_by_requests_is_known_by_engine_version_and_family(
    name: str, version: str | None, family: str, rule: str | None
) -> None:
    found = split_support.refusal(engine(name, version), Layout(dp=4, ep=1), family)
    assert (found or {}).get("rule") == rule
    assert found is None or (found["way"] == "requests" and found["source"])


@pytest.mark.parametrize("name", ["vllm", "sglang", "tensorrt_llm", "llama_cpp", "lmdeploy", "tgi", "transformers",
                                  "exllama", "ollama", "other"])  # fmt: skip
def test_the_inverse_questions_use_no_split_that_the_engine_lacks(name: str) -> None:
    runtime = engine(name, None)
    for arch in ("meta-llama/Llama-3.1-70B-Instruct", "deepseek-ai/DeepSeek-R1"):
        asked = Question(model(arch), runtime, Machine(device=H100, device_count=8), Need())
        layouts = [layout for layout, _replicas in asked.layouts()]
        assert Layout() in layouts
        assert all(split_support.refusal(runtime, layout) is None for layout in layouts)
        assert max(layout.device_count for layout in layouts) == 8


def test_every_rule_names_its_source_and_an_engine_once_a_way() -> None:
    keys = [(rule.runtime, rule.way, name) for rule in split_support.RULES for name in rule.families or ("",)]
    assert len(keys) == len(set(keys))
    assert all(rule.since is not None for rule in split_support.RULES if rule.families)
    assert all(rule.source for rule in split_support.RULES)


def test_ranks_that_share_the_tokens_of_a_latent_cache_hold_their_part() -> None:
    """Kimi K2 keeps 70,272 B a token on each of eight GPUs; with the tokens shared by eight, an eighth."""
    arch, runtime = model("moonshotai/Kimi-K2-Instruct"), engine("vllm", "0.19")
    need = Need(weights_format="fp8", typical_tokens=2048, maximum_tokens=2048)
    whole, shared = (
        memory.split(arch, replace(need, context_parallel=n), runtime, card(141.0), Layout(tp=8))
        for n in (1, 8)
    )
    assert whole.kv_bytes_per_token == 70_272
    assert shared.kv_bytes_per_token == 70_272 // 8
    assert shared.kv_room_bytes == whole.kv_room_bytes
    assert shared.kv_room_tokens == pytest.approx(8 * whole.kv_room_tokens, abs=8)
    derived = memory_derivations.derive(
        arch, replace(need, context_parallel=8), runtime, card(141.0), Layout(tp=8)
    )
    for name in ("kv_bytes_per_token", "kv_needed_bytes", "kv_room_tokens"):
        assert evaluate(derived[name]) == pytest.approx(getattr(shared, name), abs=1.5)


@pytest.mark.parametrize(
    ("name", "tp", "ranks", "rule"),
    [
        ("deepseek-ai/DeepSeek-R1", 8, 8, None), ("deepseek-ai/DeepSeek-R1", 8, 3, "context_parallel"),
        ("deepseek-ai/DeepSeek-R1", 4, 8, "context_parallel"), ("Qwen/Qwen3-235B-A22B", 8, 2, None),
        ("Qwen/Qwen3-235B-A22B", 4, 2, "context_parallel"), ("openai/gpt-oss-120b", 8, 2, "context_parallel_kind"),
        ("Qwen/Qwen3.5-27B", 8, 2, "context_parallel_kind"), ("Qwen/Qwen3.5-27B", 8, 1, None),
    ],
)  # fmt: skip
def test_no_more_ranks_share_a_cache_than_hold_the_same_heads(
    name: str, tp: int, ranks: int, rule: str | None
) -> None:
    found = divisibility.context_violation(model(name), Layout(tp=tp), ranks)
    assert (found or {}).get("rule") == rule


def test_sharing_the_cache_is_refused_where_the_engine_cannot() -> None:
    assert split_support.refusal(engine("vllm", "0.11"), Layout(tp=8), context_parallel=8) is None
    for name, version in (("vllm", "0.10.2"), ("sglang", None), ("llama_cpp", None)):
        layout = Layout(pp=8) if name == "llama_cpp" else Layout(tp=8)
        found = split_support.refusal(engine(name, version), layout, context_parallel=8)
        assert found is not None
        assert found["way"] == "context"


def test_speculation_with_the_models_own_layers_is_counted_in_memory() -> None:
    document = {"model": {"id": "deepseek-ai/DeepSeek-R1"}, "runtime": {"options": {"speculative_tokens": 1}}}
    need = Need.of(ServingWorkload.model_validate(document))
    assert need.drafts
    assert not Need.of(ServingWorkload()).drafts
