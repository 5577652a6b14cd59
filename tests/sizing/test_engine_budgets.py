"""Budget rules of engines whose memory alone is modelled, and of engines that keep states apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.sizing import kv_cache, memory, memory_derivations, support
from planner.sizing.devices import Layout
from planner.sizing.memory import Need
from planner.sizing.quantities import GIB
from planner.sizing.results import MemorySplit
from tests.sizing.formulas import evaluate
from tests.sizing.machines import A100, H100, RTX4090, engine, model

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
HYBRID = "Qwen/Qwen3.5-27B"
NEED = Need(weights_format="bf16")


def parts(
    name: str, version: str | None = None, need: Need = NEED, arch: str = LLAMA
) -> tuple[MemorySplit, memory.Overheads]:
    runtime = engine(name, version)
    return (memory.split(model(arch), need, runtime, A100, Layout()),
            memory.overheads(model(arch), need, runtime, A100, Layout()))  # fmt: skip


def test_lmdeploy_takes_its_share_of_all_memory_and_from_0_2_1_of_what_is_free() -> None:
    old, _over = parts("lmdeploy", "0.2.0")
    assert old.usable_bytes == int(0.8 * A100.engine_total_bytes)
    new, _over = parts("lmdeploy", "0.9")
    fixed = new.weights_bytes + new.activation_bytes + new.overhead_bytes
    assert new.kv_room_bytes == pytest.approx(0.8 * (A100.engine_total_bytes - fixed), abs=1)


def test_text_generation_inference_leaves_a_tenth_of_what_is_free() -> None:
    found, _over = parts("tgi")
    fixed = found.weights_bytes + found.activation_bytes + found.overhead_bytes
    assert found.kv_room_bytes == pytest.approx(0.9 * (A100.engine_total_bytes - fixed), abs=1)


def test_transformers_takes_prompts_whole_and_before_4_45_keeps_the_logits_of_all_their_tokens() -> None:
    need = replace(NEED, typical_tokens=8000, maximum_tokens=8000)
    old, new = (parts("transformers", version, need)[1] for version in ("4.44", "4.57"))
    assert old.batched_tokens == new.batched_tokens == 8000
    assert old.activation == 8000 * (128_256 + 2 * 4096) * 6
    assert new.activation < old.activation / 4


def test_exllama_and_ollama_take_the_context_of_every_sequence_up_front() -> None:
    need = replace(NEED, weights_format="int4_gptq", concurrency=3, typical_tokens=100, maximum_tokens=4096)
    found, _over = parts("exllama", None, need)
    assert found.kv_needed_bytes == 3 * 4096 * 131_072
    ollama, over = parts("ollama", None, replace(need, weights_format="gguf_q8_0"))
    assert ollama.kv_needed_bytes == 3 * 4096 * 131_072
    assert over.non_torch == 457 * 2**20


def test_an_engine_that_is_not_known_has_nine_tenths_of_the_memory() -> None:
    found, _over = parts("other")
    assert found.usable_bytes == int(0.9 * A100.engine_total_bytes)


@pytest.mark.parametrize(
    ("name", "form", "kv", "code"),
    [
        ("lmdeploy", "gguf_q8_0", "auto", "format_not_supported"),
        ("lmdeploy", "mxfp4", "auto", None),
        ("lmdeploy", "bf16", "fp8", "kv_format_not_supported"),
        ("lmdeploy", "int4_awq", "int8", None),
        ("tgi", "nvfp4", "auto", "format_not_supported"), ("tgi", "fp8", "fp8", None),
        ("exllama", "fp8", "auto", "format_not_supported"), ("exllama", "int4_gptq", "auto", None),
        ("transformers", "gguf_q8_0", "auto", "format_not_supported"), ("transformers", "int8", "auto", None),
        ("ollama", "int4_awq", "auto", "format_not_supported"), ("ollama", "gguf_q4_k_m", "int8", None),
        ("other", "nvfp4", "auto", None),
    ],
)  # fmt: skip
def test_formats_of_engines_whose_memory_alone_is_modelled(
    name: str, form: str, kv: str, code: str | None
) -> None:
    found = support.refusal(engine(name, None), H100, form, kv, model(LLAMA))
    assert (found or {}).get("rule") == code


def test_a_model_that_an_engine_dropped_runs_up_to_its_last_version_only() -> None:
    vision = model("meta-llama/Llama-3.2-11B-Vision-Instruct")
    assert support.refusal(engine("vllm", "0.10.2"), H100, "bf16", "auto", vision) is None
    found = support.refusal(engine("vllm", "0.11"), H100, "bf16", "auto", vision)
    assert found is not None
    assert found["rule"] == "model_needs_older_version"
    assert "registry" in found["source"]


def test_images_of_llama_3_2_vision_set_a_dense_mask_aside_in_the_first_engine() -> None:
    """vLLM printed 14.65 GiB of room at 65,536 tokens and 128 sequences on 80 GB."""
    arch = model("meta-llama/Llama-3.2-11B-Vision-Instruct")
    need = Need(typical_tokens=65_536, maximum_tokens=65_536, sequences=128, eager=True)
    found = memory.split(arch, need, engine("vllm", "0.7"), H100, Layout())
    over = memory.overheads(arch, need, engine("vllm", "0.7"), H100, Layout())
    mask = 65_536 * 10 * 6_404 * 2
    assert over.activation - 3 * mask == memory.forward_bytes(
        arch, need, engine("vllm", "0.7"), Layout(), 65_536
    )
    assert found.kv_room_bytes / GIB == pytest.approx(14.65, rel=0.45)
    fewer = memory.overheads(arch, replace(need, sequences=2), engine("vllm", "0.7"), H100, Layout())
    assert fewer.activation == over.activation - 3 * mask * 8 // 10


def test_sglang_splits_the_room_of_a_hybrid_between_states_and_cache() -> None:
    arch, runtime = model(HYBRID), engine("sglang", None)
    need = Need(weights_format="int4_gptq", utilization=0.92, typical_tokens=2048, maximum_tokens=2048)
    found = memory.split(arch, need, runtime, RTX4090, Layout())
    kv = kv_cache.footprint(arch, "auto", "int4_gptq", Layout(), runtime, 8192)
    # 16 attention layers × 4 heads × 256 values × keys and values × 2 B.
    assert found.kv_bytes_per_token == 16 * 4 * 256 * 2 * 2
    assert found.kv_room_tokens == int(found.kv_room_bytes / 1.9 / found.kv_bytes_per_token)
    # A start log of such a model on an RTX 4090 D with 17.71 GiB of weights says 26,089 tokens.
    room = (found.kv_room_bytes + found.weights_bytes - 17.71 * GIB) / 1.9 / found.kv_bytes_per_token
    assert room == pytest.approx(26_089, rel=0.1)
    by_states = found.kv_room_bytes * 0.9 / 1.9 / kv.sequence_states_bytes
    assert found.concurrency_at_typical <= by_states
    plain = memory.split(model(LLAMA), replace(need, weights_format="fp8"), runtime, RTX4090, Layout())
    assert plain.kv_room_tokens == plain.kv_room_bytes // plain.kv_bytes_per_token


def test_vllm_before_0_10_keeps_states_of_all_sequences_beside_the_cache() -> None:
    """A build before 0.8 left 34.78 GiB to Bamba-9B where pages of states would have left about 50."""
    arch = model("ibm-ai-platform/Bamba-9B")
    need = Need(sequences=256, typical_tokens=1024, maximum_tokens=1024)
    old, new = (
        memory.split(arch, need, engine("vllm", version), H100, Layout()) for version in ("0.7", "0.19")
    )
    kv = kv_cache.footprint(arch, "auto", "bf16", Layout(), engine("vllm", "0.7"), 1)
    assert old.overhead_bytes - memory.overheads(
        arch, need, engine("vllm", "0.7"), H100, Layout()
    ).inside == round(256 * kv.sequence_states_bytes)
    half = kv_cache.footprint(arch, "auto", "bf16", Layout(tp=2), engine("vllm", "0.7"), 1)
    # That log is of two ranks, which share the heads of a state.
    assert 256 * half.sequence_states_bytes / GIB == pytest.approx(49.9 - 34.78, rel=0.05)
    assert old.kv_bytes_per_token == 12_288
    assert new.kv_room_bytes > old.kv_room_bytes


@pytest.mark.parametrize(("name", "version", "arch"), [
    ("sglang", None, HYBRID), ("vllm", "0.7", "ibm-ai-platform/Bamba-9B"), ("exllama", None, LLAMA),
    ("ollama", None, LLAMA), ("transformers", "4.44", LLAMA), ("tgi", None, LLAMA), ("lmdeploy", "0.2.0", LLAMA),
])  # fmt: skip
def test_derivations_hold_for_every_budget(name: str, version: str | None, arch: str) -> None:
    need = Need(weights_format="bf16", concurrency=3, headroom_fraction=0.0)
    found = memory.split(model(arch), need, engine(name, version), H100, Layout())
    derived = memory_derivations.derive(model(arch), need, engine(name, version), H100, Layout())
    for figure, one in derived.items():
        assert one.value == getattr(found, figure), figure
        assert evaluate(one) == pytest.approx(one.value, rel=1e-6, abs=1.5), figure
