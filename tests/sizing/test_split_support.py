"""Which ways to split a model an engine has, and that searches use no other."""

from __future__ import annotations

import pytest

from planner.sizing import split_support
from planner.sizing.devices import Layout, Machine
from planner.sizing.inverse import Question
from planner.sizing.memory import Need
from tests.sizing.machines import H100, engine, model


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
    assert found is None or (found["source"] and found["way"] in ("tensors", "layers", "experts", "requests"))


def test_attention_by_requests_is_asked_for_whatever_the_layout_says() -> None:
    found = split_support.refusal(engine("vllm", "0.8"), Layout(tp=4, ep=4), by_requests=True)
    assert found is not None
    assert found["way"] == "requests"
    assert split_support.refusal(engine("vllm", "0.8"), Layout(tp=4, ep=4)) is None


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
    keys = [(rule.runtime, rule.way) for rule in split_support.RULES]
    assert len(keys) == len(set(keys))
    assert all(rule.source for rule in split_support.RULES)
