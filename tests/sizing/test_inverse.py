"""The inverse questions agree with the sizing they are searched on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.sizing import inverse, memory
from planner.sizing.devices import Layout, Machine
from planner.sizing.inverse import Question
from planner.sizing.memory import Need
from planner.sizing.weights import footprint
from tests.sizing.machines import H100, RTX4090, engine, grouped, model

NEED = Need()


def question(name: str = "meta-llama/Llama-3.1-8B-Instruct", count: int = 1, device=H100, **need) -> Question:  # type: ignore[no-untyped-def]
    return Question(model(name), engine(), Machine(device=device, device_count=count), replace(NEED, **need))


@pytest.mark.parametrize("users", [5, 7, 32, 200])
@pytest.mark.parametrize("count", [1, 4])
def test_the_longest_context_fits_and_one_token_more_does_not(users: int, count: int) -> None:
    asked = question(count=count, device=RTX4090, weights_format="fp8")
    found = inverse.longest_context(asked, users)
    assert found is not None
    assert 0 < found.value < 131_072
    assert found.limited_by == "memory"
    own = found.users_per_replica
    assert memory.verdict(asked.split(found.layout, found.value, own)) == "fits"
    assert memory.verdict(asked.split(found.layout, found.value + 16, own)) != "fits"
    for layout, replicas in asked.layouts():
        each = -(-users // replicas)
        other = asked.split(layout, found.value + 16, each)
        assert memory.verdict(other) != "fits" or each > asked.sequences(layout, found.value + 16)


@pytest.mark.parametrize("tokens", [512, 8192, 100_000])
def test_the_most_users_fit_and_one_more_does_not(tokens: int) -> None:
    asked = question(count=2, device=RTX4090, weights_format="int4_awq")
    found = inverse.most_users(asked, tokens)
    assert found is not None
    own = found.users_per_replica
    assert memory.verdict(asked.split(found.layout, tokens, own)) == "fits"
    if found.limited_by == "memory":
        assert memory.verdict(asked.split(found.layout, tokens, own + 1)) != "fits"
    else:
        assert own == asked.sequences(found.layout, tokens)
    assert found.value == own * found.replicas


def test_both_questions_are_the_inverse_of_each_other() -> None:
    asked = question(device=RTX4090, weights_format="fp8")
    context = inverse.longest_context(asked, 9)
    assert context is not None
    users = inverse.most_users(asked, context.value)
    assert users is not None
    assert users.value == 9


def test_a_model_shorter_than_the_memory_says_so() -> None:
    found = inverse.longest_context(question("google/gemma-2-2b-it"), 1)
    assert found is not None
    assert (found.value, found.limited_by) == (8192, "model_length")
    too_long = inverse.most_users(question("google/gemma-2-2b-it"), 8193)
    assert too_long is not None
    assert (too_long.value, too_long.limited_by) == (0, "model_length")


def test_more_users_than_the_engine_runs_at_once_are_no_answer() -> None:
    found = inverse.longest_context(question(sequences=8), 9)
    assert found is not None
    assert (found.value, found.limited_by) == (0, "engine_sequences")


def test_what_cannot_fit_at_all_is_zero_with_its_split() -> None:
    found = inverse.longest_context(question("meta-llama/Llama-3.1-70B-Instruct"), 1)
    assert found is not None
    assert found.value == 0
    assert found.verdict == "does_not_fit"
    assert found.split.needed_bytes > found.split.usable_bytes


def test_no_split_is_none() -> None:
    odd = Question(grouped(heads=7, kv_heads=7, vocab=1025), engine("llama_cpp", None),
                   Machine(device=H100, device_count=1), NEED)  # fmt: skip
    assert inverse.longest_context(odd, 1) is not None
    none = Question(odd.arch, odd.runtime, Machine(device=H100, device_count=0), NEED)
    assert inverse.longest_context(none, 1) is None
    assert inverse.most_users(none, 100) is None


def test_ranks_that_attend_apart_hold_attention_whole_and_their_share_of_the_experts() -> None:
    arch = model("deepseek-ai/DeepSeek-R1")
    whole, apart = (footprint(arch, "fp8", layout) for layout in (Layout(), Layout(dp=8, ep=8)))
    groups, own = dict(whole.groups), dict(apart.groups)
    assert own["expert"] == pytest.approx(groups["expert"] / 8, rel=1e-6)
    assert own["attention"] == groups["attention"]
    asked = Question(arch, engine("vllm", "0.19"), Machine(device=H100, device_count=8), NEED)
    assert Layout(dp=8, ep=8) in [layout for layout, _replicas in asked.layouts()]
    dense = question(count=8)
    assert all(layout.dp == 1 for layout, _replicas in dense.layouts())
    old = replace(asked, runtime=engine("vllm", "0.8"))
    assert all(layout.dp == 1 for layout, _replicas in old.layouts())


def test_the_largest_models_fit_in_the_widest_format_that_does() -> None:
    names = (
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Llama-3.1-70B-Instruct",
        "Qwen/Qwen2.5-32B-Instruct",
    )
    machine = Machine(device=H100, device_count=1)
    found = inverse.largest_models(
        [model(name) for name in names], engine(), machine, NEED, tokens=4096, users=4
    )
    assert [(one.model.split("/")[1], one.weights_format) for one in found] == [
        ("Llama-3.1-70B-Instruct", "int4_awq"),
        ("Qwen2.5-32B-Instruct", "fp8"),
        ("Llama-3.1-8B-Instruct", "bf16"),
    ]
    assert all(one.users >= 4 for one in found)
    assert inverse.largest_models([model(names[1])], engine(), machine, NEED, tokens=200_000, users=1) == ()
