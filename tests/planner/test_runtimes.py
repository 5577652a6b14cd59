from __future__ import annotations

import json

import pytest

from planner import runtimes
from planner.sizing import memory
from planner.sizing.devices import Layout
from planner.sizing.memory import Need
from planner.sizing.runtime import UnknownRuntime, version_key
from tests.sizing.machines import A100, H100, RTX4090, grouped, model


@pytest.mark.parametrize(
    ("name", "version", "era"),
    [
        ("vllm", None, "v1_21"),
        ("vllm", "0.4.3", "v0"),
        ("vllm", "0.6.3.post1", "v0_late"),
        ("vllm", "v0.10.1.1", "v1_10"),
        ("vllm", "~0.11", "v1_10"),
        ("vllm", "0.19.0", "v1_18"),
        ("vllm", "0.32", "v1_21"),
        ("sglang", "0.5.2", "v0_4"),
        ("tensorrt_llm", "0.14", "v0"),
        ("tensorrt_llm", "1.2", "v1"),
        ("llama_cpp", "b4000", "before_iswa"),
        ("llama_cpp", None, "now"),
    ],
)
def test_a_version_belongs_to_its_era(name: str, version: str | None, era: str) -> None:
    found = runtimes.resolve(name, version)
    assert found.era == era
    if version is not None:
        assert found.version == version


def test_an_engine_or_version_that_is_none_is_refused_with_what_is_known() -> None:
    with pytest.raises(UnknownRuntime) as caught:
        runtimes.resolve("no-such-engine")
    assert "vllm" in caught.value.params["known"]  # type: ignore[operator]
    with pytest.raises(UnknownRuntime):
        runtimes.resolve("vllm", "newest")


def test_versions_compare_as_numbers_not_as_text() -> None:
    assert version_key("0.9") < version_key("0.10.1.post2") < version_key("0.19") < version_key("1.0")
    assert version_key("b5426") == (5426,)
    assert version_key("x") == ()


def test_every_constant_has_value_range_unit_and_source() -> None:
    for era in runtimes.eras():
        assert era.source
        for constant in era.constants.values():
            assert constant.source
            assert constant.unit
            assert constant.low is not None
            assert constant.high is not None
            assert constant.low <= float(constant.value) <= constant.high


def test_a_fitted_constant_is_informed_by_two_publishers_or_keeps_its_start() -> None:
    for row in runtimes.document()["constants"]:
        if row["fitted"] and row["publishers"] < 2 and "pooled_with" not in row:
            assert row["value"] == row["start"], row["name"]


def test_no_constant_is_left_over() -> None:
    content = json.loads(runtimes.SEED.read_text(encoding="utf-8"))
    used = {target for row in content["runtimes"] for target in row["constants"].values()}
    assert used == {row["name"] for row in content["constants"]}


def test_defaults_follow_the_card() -> None:
    runtime = runtimes.resolve("vllm", "0.19")
    assert runtime.device_default(H100).sequences == 1024
    assert runtime.device_default(A100).sequences == 256
    assert runtime.device_default(RTX4090).batched_tokens == 2048


def test_an_old_engine_prefills_the_longest_prompt_at_once() -> None:
    arch = grouped(layers=2, hidden=4096, intermediate=14336)
    need = Need(maximum_tokens=30_000)
    old = memory.overheads(arch, need, runtimes.resolve("vllm", "0.5"), A100, Layout())
    late = memory.overheads(arch, need, runtimes.resolve("vllm", "0.7"), A100, Layout())
    long = memory.overheads(
        arch, Need(maximum_tokens=40_000), runtimes.resolve("vllm", "0.7"), A100, Layout()
    )
    assert old.batched_tokens == late.batched_tokens == 30_000
    assert long.batched_tokens == 512


def test_the_sampler_of_a_larger_vocabulary_takes_more_activation_memory() -> None:
    runtime = runtimes.resolve("vllm", "0.19")
    small = memory.overheads(model("ibm-granite/granite-3.1-8b-instruct"), Need(), runtime, H100, Layout())
    large = memory.overheads(model("google/gemma-7b"), Need(), runtime, H100, Layout())
    assert large.activation > 3 * small.activation
