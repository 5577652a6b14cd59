from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing import kv_cache
from planner.sizing.architecture import Architecture
from planner.sizing.devices import Layout
from planner.sizing.kv_cache import KvFootprint
from planner.sizing.quantities import GIB
from tests.sizing.machines import engine, grouped, latent, model


def cache(arch: Architecture, kv: str = "bf16", tp: int = 1, name: str = "vllm", version: str | None = "0.19",
          chunk: int = 8192) -> KvFootprint:  # fmt: skip
    return kv_cache.footprint(arch, kv, "bf16", Layout(tp=tp), engine(name, version), chunk)


@pytest.mark.parametrize(
    ("name", "kv", "expected"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "bf16", 2 * 32 * 8 * 128 * 2),  # 131,072
        ("Qwen/Qwen2.5-7B-Instruct", "bf16", 57_344),
        ("mistralai/Mistral-7B-Instruct-v0.3", "bf16", 131_072),
        ("meta-llama/Llama-2-13b-hf", "bf16", 819_200),
        ("meta-llama/Llama-3.1-70B-Instruct", "bf16", 327_680),
        ("meta-llama/Llama-3.1-70B-Instruct", "fp8", 163_840),
        ("bigcode/starcoder", "bf16", 2 * 40 * 1 * 128 * 2),
        ("deepseek-ai/DeepSeek-V3", "bf16", 61 * 576 * 2),  # 70,272, as Kimi-K2 in start logs
        ("moonshotai/Kimi-K2-Instruct", "bf16", 70_272),
        ("Qwen/Qwen3-30B-A3B", "bf16", 98_304),
        ("Qwen/Qwen2.5-7B-Instruct", "int8", 28_672),
    ],
)
def test_bytes_a_token_are_exact_for_plain_kinds(name: str, kv: str, expected: int) -> None:
    assert cache(model(name), kv).bytes_per_token(1300) == expected


def test_a_token_of_the_pool_of_gpt_oss_120b_stands_for_all_its_layers() -> None:
    # 36 layers × 2 × 8 KV heads × 64 × 2 bytes: 5.38 GiB held 78,384 tokens in a start log.
    found = cache(model("openai/gpt-oss-120b"))
    assert found.pool_bytes_per_token == 73_728
    assert pytest.approx(73_728, rel=0.001) == 5.38 * GIB / 78_384


def test_a_long_request_of_gpt_oss_120b_costs_half_as_much_where_windows_are_freed() -> None:
    arch = model("openai/gpt-oss-120b")
    assert cache(arch).bytes_per_token(131_072) == pytest.approx(36_864, rel=0.01)
    assert cache(arch, version="0.6").bytes_per_token(131_072) == 73_728


def test_latent_caches_are_whole_on_every_rank() -> None:
    arch = model("deepseek-ai/DeepSeek-V3")
    assert cache(arch, tp=8).bytes_per_token(1000) == cache(arch).bytes_per_token(1000) == 70_272


def test_kv_heads_are_split_and_never_fall_below_one_a_rank() -> None:
    arch = model("meta-llama/Llama-3.1-8B-Instruct")
    assert cache(arch, tp=4).bytes_per_token(1000) == 131_072 // 4
    assert cache(arch, tp=16).bytes_per_token(1000) == cache(arch, tp=8).bytes_per_token(1000) == 131_072 // 8


@pytest.mark.parametrize(
    ("name", "kv", "tokens", "gib"),
    [
        ("Qwen/Qwen3-235B-A22B", "fp16", 32_768, 5.875),  # ik_llama.cpp log
        ("Qwen/Qwen3-30B-A3B", "fp16", 32_768, 3.0),  # ik_llama.cpp log
        ("deepseek-ai/DeepSeek-V3", "q8_0", 131_072, 4.5571),  # ik_llama.cpp log, latent cache
        ("deepseek-ai/DeepSeek-V3", "q8_0", 65_536, 2.2786),
    ],
)
def test_a_cache_taken_up_front_has_the_size_llama_cpp_printed(
    name: str, kv: str, tokens: int, gib: float
) -> None:
    found = cache(model(name), kv, name="llama_cpp", version=None, chunk=512)
    assert found.bytes_for(tokens) / GIB == pytest.approx(gib, rel=0.001)


def test_cells_of_a_window_in_llama_cpp_are_window_and_batch_rounded_to_256() -> None:
    # gpt-oss-20b at 131,072 tokens, window 128, micro-batch 512: 3.0176 GiB in the log.
    found = cache(model("openai/gpt-oss-20b"), "fp16", name="llama_cpp", version=None, chunk=512)
    assert found.reserved_bytes_for(131_072) / GIB == pytest.approx(3.0176, rel=0.001)


def test_shared_pages_fill_52_windowed_layers_up_to_60() -> None:
    # gemma-3-27b: 10 global layers and 52 with a window; the engine reserved 13 % more than they hold.
    arch = model("google/gemma-3-27b-it")
    held = {group.window: group.held_count for group in cache(arch).layers}
    assert held == {None: 10, 1024: 60}
    assert {group.window: group.count for group in cache(arch).layers} == {None: 10, 1024: 52}


def test_auto_is_the_scheme_the_checkpoint_declares_in_its_own_format_only() -> None:
    arch = grouped().model_copy(update={"id": "declares", "stored_format": "fp8", "stored_kv_format": "fp8"})
    own = kv_cache.footprint(arch, "auto", "fp8", Layout(), engine(), 2048)
    other = kv_cache.footprint(arch, "auto", "bf16", Layout(), engine(), 2048)
    assert own.bytes_per_token(100) * 2 == other.bytes_per_token(100)


def test_eight_bits_of_llama_cpp_carry_their_scales() -> None:
    arch = model("meta-llama/Llama-3.1-8B-Instruct")
    assert cache(arch, "int8", name="llama_cpp", version=None).bytes_per_token(1000) == 131_072 * 8.5 / 16
    assert cache(arch, "int8", name="tensorrt_llm", version=None).bytes_per_token(1000) == 131_072 / 2


def test_reading_the_cache_counts_real_layers_and_windows_only() -> None:
    arch = grouped(layers=3, kv_heads=2, head_dim=16, window=100)
    found = cache(arch)
    assert found.read_bytes(1000) == 3 * 2 * 32 * 2 * 100
    assert found.read_bytes(50) == 3 * 2 * 32 * 2 * 50


ANY = st.one_of(
    st.builds(grouped, layers=st.integers(1, 8), kv_heads=st.sampled_from([1, 2, 8]),
              window=st.one_of(st.none(), st.integers(1, 5000))),
    st.builds(latent, layers=st.integers(1, 8)),
)  # fmt: skip
ENGINES = st.sampled_from([("vllm", "0.19"), ("vllm", "0.5"), ("sglang", None), ("tensorrt_llm", None),
                           ("llama_cpp", None)])  # fmt: skip


@given(ANY, ENGINES, st.integers(1, 20_000), st.integers(0, 20_000))
def test_more_tokens_never_need_less(arch, name, length, more) -> None:  # type: ignore[no-untyped-def]
    found = cache(arch, name=name[0], version=name[1], chunk=512)
    assert found.bytes_for(length + more) >= found.bytes_for(length)
    assert found.reserved_bytes_for(length + more) >= found.reserved_bytes_for(length)
    assert found.read_bytes(length + more) >= found.read_bytes(length)
    assert found.reserved_bytes_for(length) >= found.bytes_for(length)


@given(ANY, ENGINES, st.integers(1, 20_000))
def test_what_is_held_is_never_less_than_what_is_read(arch, name, length) -> None:  # type: ignore[no-untyped-def]
    found = cache(arch, name=name[0], version=name[1], chunk=512)
    assert found.bytes_for(length) >= found.read_bytes(length) - 1


@given(st.integers(1, 8), st.sampled_from([1, 2, 8]), st.integers(1, 4000))
def test_plain_caches_are_tokens_times_bytes_a_token(layers: int, kv_heads: int, blocks: int) -> None:
    found = cache(grouped(layers=layers, kv_heads=kv_heads))
    length = blocks * found.block_tokens
    assert found.bytes_for(length) == length * found.bytes_per_token(length)
