"""Weights in host memory: what leaves the device, what the host holds, what a step costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.sizing import memory, memory_derivations, offload
from planner.sizing.devices import Layout, Machine
from planner.sizing.memory import Need
from planner.sizing.quantities import GIB
from planner.sizing.results import MemorySplit
from planner.sizing.weights import footprint
from planner.sizing.workload import Offload
from tests.sizing.formulas import evaluate
from tests.sizing.machines import H100, RTX4090, engine, model

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
MOE = "Qwen/Qwen3-30B-A3B"
GGUF = Need(weights_format="gguf_q8_0", typical_tokens=4096, maximum_tokens=4096)


def split(name: str, need: Need, runtime: str = "llama_cpp", layout: Layout | None = None) -> MemorySplit:
    return memory.split(model(name), need, engine(runtime, None), RTX4090, layout or Layout())


def test_llama_cpp_looks_tokens_up_in_host_memory_where_the_head_is_another_matrix() -> None:
    """llama.cpp keeps the input layer on the CPU whatever ``-ngl`` says (llama-model.cpp, ``dev_input``)."""
    embedding = 128_256 * 4096 * 8.5 / 8
    whole = footprint(model(LLAMA), "gguf_q8_0", Layout()).resident_bytes
    found = split(LLAMA, GGUF)
    assert whole - found.weights_bytes == embedding == found.host_bytes
    # A start log says 25.78 GiB for Qwen3.6-27B in Q8_0.
    qwen = split("Qwen/Qwen3.6-27B", GGUF)
    assert qwen.weights_bytes / GIB == pytest.approx(25.78, rel=0.02)
    # A tied embedding is the head, which the device needs.
    tied = split("Qwen/Qwen3-4B", GGUF)
    assert tied.host_bytes == 0
    assert split(LLAMA, replace(GGUF, weights_format="bf16"), "vllm").host_bytes == 0


def test_half_of_the_layers_on_the_host_are_half_of_their_weights_and_of_the_cache() -> None:
    whole, half = (split(LLAMA, replace(GGUF, offload=Offload(layers=n))) for n in (0, 16))
    layers = sum(size for name, size in footprint(model(LLAMA), "gguf_q8_0", Layout()).groups
                 if name not in ("embedding", "head"))  # fmt: skip
    assert whole.weights_bytes - half.weights_bytes == pytest.approx(layers / 2, rel=0.001)
    assert half.kv_needed_bytes == pytest.approx(whole.kv_needed_bytes / 2, rel=1e-6)
    moved = half.host_bytes - whole.host_bytes
    assert moved == pytest.approx(layers / 2 + half.kv_needed_bytes, rel=0.001)


def test_experts_of_every_layer_on_the_host_leave_attention_and_cache_on_the_device() -> None:
    arch = model(MOE)
    groups = dict(footprint(arch, "gguf_q4_k_m", Layout()).groups)
    need = replace(GGUF, weights_format="gguf_q4_k_m")
    whole, without = (split(MOE, replace(need, offload=Offload(expert_layers=n))) for n in (0, 48))
    assert whole.weights_bytes - without.weights_bytes == pytest.approx(groups["expert"], rel=1e-6)
    assert without.kv_needed_bytes == whole.kv_needed_bytes


def test_vllm_moves_gigabytes_of_each_device_and_never_more_than_its_layers() -> None:
    need = Need(offload=Offload(weights_gib=5))
    two = Layout(tp=2)
    plain, moved = (split(LLAMA, one, "vllm", two) for one in (Need(), need))
    assert plain.weights_bytes - moved.weights_bytes == 5 * GIB
    assert moved.host_bytes == 10 * GIB
    assert plain.kv_needed_bytes == moved.kv_needed_bytes
    everything = split(LLAMA, Need(offload=Offload(weights_gib=1000)), "vllm")
    assert everything.weights_bytes >= footprint(model(LLAMA), "bf16", Layout()).lookup_bytes


def test_cache_pushed_to_the_host_needs_room_there() -> None:
    assert split(LLAMA, Need(kv_offload_bytes=7 * GIB), "vllm").host_bytes == 7 * GIB


@pytest.mark.parametrize(
    ("runtime", "version", "asked", "rule"),
    [
        ("vllm", None, Offload(layers=1), "offload_not_supported"),
        ("tensorrt_llm", None, Offload(weights_gib=1), "offload_not_supported"),
        ("llama_cpp", None, Offload(weights_gib=1), "offload_not_supported"),
        ("vllm", "0.5.0", Offload(weights_gib=1), "offload_needs_newer_version"),
        ("llama_cpp", "b5000", Offload(expert_layers=1), "offload_needs_newer_version"),
        ("llama_cpp", None, Offload(expert_layers=1), "offload_without_experts"),
        ("llama_cpp", "b5000", Offload(layers=1), None),
        ("sglang", None, Offload(weights_gib=1), None),
        ("vllm", None, Offload(weights_gib=1), None),
    ],
)
def test_an_option_the_engine_lacks_is_refused_by_name_with_its_source(
    runtime: str, version: str | None, asked: Offload, rule: str | None
) -> None:
    found = offload.refusal(engine(runtime, version), asked, model(LLAMA))
    assert (found or {}).get("rule") == rule
    assert found is None or found["source"]


def test_a_step_reads_over_the_bus_or_with_the_cores_that_the_machine_has() -> None:
    machine = Machine(device=H100, device_count=8, vcpu=192)
    assert offload.bytes_per_s(machine, "bus") == offload.BUS_BYTES_PER_S
    assert offload.bytes_per_s(machine, "host") == pytest.approx(460.8e9)
    assert offload.bytes_per_s(machine, "host", 2) == pytest.approx(230.4e9)
    unknown = Machine(device=H100, device_count=1)
    assert offload.bytes_per_s(unknown, "host") == offload.HOST_BYTES_PER_S_UNKNOWN
    assert offload.slowdown(H100, 3e10) == pytest.approx(100.0)
    assert offload.slowdown(H100, 1e15) == 1.0


@pytest.mark.parametrize(
    ("runtime", "name", "form", "change"),
    [
        ("vllm", LLAMA, "bf16", "offload_weights_gib"),
        ("llama_cpp", "Qwen/Qwen2.5-32B-Instruct", "gguf_q8_0", "offload_layers"),
        ("llama_cpp", MOE, "gguf_q8_0", "offload_expert_layers"),
    ],
)
def test_the_least_offload_that_fits_is_found_and_one_less_does_not(
    runtime: str, name: str, form: str, change: str
) -> None:
    need = Need(weights_format=form, concurrency=40, typical_tokens=2000) if runtime == "vllm" else replace(
        GGUF, weights_format=form, maximum_tokens=16_384, typical_tokens=1000)  # fmt: skip
    arch, eras = model(name), engine(runtime, None)
    assert memory.verdict(memory.split(arch, need, eras, RTX4090, Layout())) == "does_not_fit"
    found = {one["change"]: one for one in memory.what_would_help(arch, need, eras, RTX4090, Layout())}
    least = found[change]["to"]
    assert found[change]["host_bytes"] > 0
    field = change.removeprefix("offload_")
    for count, fits in ((least, True), (least - 1, False)):
        other = memory.split(arch, replace(need, offload=Offload(**{field: count})), eras, RTX4090, Layout())
        assert (memory.verdict(other) != "does_not_fit") == fits


@pytest.mark.parametrize("asked", [Offload(layers=10), Offload()])
def test_derivations_hold_for_weights_and_cache_on_the_host(asked: Offload) -> None:
    need = replace(GGUF, offload=asked, concurrency=3)
    found = split(LLAMA, need)
    derived = memory_derivations.derive(model(LLAMA), need, engine("llama_cpp", None), RTX4090, Layout())
    for name in ("weights_bytes", "kv_bytes_per_token", "kv_needed_bytes", "needed_bytes"):
        one = derived[name]
        assert one.value == getattr(found, name), name
        assert evaluate(one) == pytest.approx(one.value, abs=1.5)
