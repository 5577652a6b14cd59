"""Cache and state of every kind of mixer, pinned by what engines printed or by a number counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from planner.sizing import kv_cache
from planner.sizing.architecture import NotSized
from planner.sizing.config_reader import understand
from planner.sizing.devices import Layout
from planner.sizing.kv_cache import KvFootprint
from planner.sizing.quantities import GIB, MIB
from tests.sizing.machines import engine, model

NOW = {"vllm": "0.27", "sglang": "0.5", "llama_cpp": "8000", "tensorrt_llm": "1.0"}


def kv(name: str, runtime: str = "vllm", form: str = "bf16", tp: int = 1, chunk: int = 8192,
       version: str | None = None) -> KvFootprint:  # fmt: skip
    found = engine(runtime, version or NOW[runtime])
    return kv_cache.footprint(model(name), form, "bf16", Layout(tp=tp), found, chunk)


@pytest.mark.parametrize(
    ("name", "runtime", "tokens", "gib"),
    [
        ("Qwen/Qwen3.8-27B", "llama_cpp", 24_576, 1.5),
        ("Qwen/Qwen3.6-27B", "llama_cpp", 262_144, 16.0),
        ("Qwen/Qwen3.5-9B", "llama_cpp", 135_168, 4.125),
    ],
)
def test_what_llama_cpp_printed_for_the_attention_layers_of_delta_nets(
    name: str, runtime: str, tokens: int, gib: float
) -> None:
    assert kv(name, runtime).pool_bytes_per_token * tokens == pytest.approx(gib * GIB)


def test_what_llama_cpp_printed_for_the_state_of_mamba() -> None:
    found = kv("state-spaces/mamba-2.8b-hf", "llama_cpp")
    assert found.fixed_bytes == 64 * 4 * (5120 * 16 + 3 * 5120)
    assert found.fixed_bytes / GIB == pytest.approx(0.0232, abs=5e-5)
    assert found.bytes_for(10) == found.bytes_for(10_000)


@pytest.mark.parametrize(
    ("name", "tp", "form", "block"),
    [("Qwen/Qwen3-Next-80B-A3B-Instruct", 1, "bf16", 544), ("Qwen/Qwen3.5-9B", 1, "bf16", 528),
     ("Qwen/Qwen3.8-27B", 1, "bf16", 784), ("Qwen/Qwen3.8-27B", 2, "fp8", 1568)],
)  # fmt: skip
def test_vllm_grows_its_blocks_until_a_state_fits_in_a_page(
    name: str, tp: int, form: str, block: int
) -> None:
    assert kv(name, form=form, tp=tp).block_tokens == block


def test_vllm_admitted_2_31_requests_of_131072_tokens_into_4_99_gib() -> None:
    found = kv("Qwen/Qwen3.8-27B", form="fp8", tp=2)
    pages = -(-131_072 // 1568) + 3 * 2
    assert found.reserved_bytes_for(131_072) == 16 * pages * 1568 * 1024
    assert 4.99 * GIB / found.reserved_bytes_for(131_072) == pytest.approx(2.31, rel=0.005)


def test_what_is_reserved_for_states_is_more_than_what_they_are() -> None:
    reserved = kv("ibm-ai-platform/Bamba-9B")
    plain = kv("ibm-ai-platform/Bamba-9B", "llama_cpp")
    # 3 attention layers of 8 KV heads; vLLM printed 12,288 bytes a token.
    assert reserved.pool_bytes_per_token == plain.pool_bytes_per_token == 12_288
    conv, matrix = 3 * (8192 + 2 * 256), 128 * 64 * 256
    assert plain.fixed_bytes == 29 * 4 * (conv + matrix)
    # Pages of 1,040 tokens hold one state of 16 bits; 29 layers take the room of 30, two pages each.
    assert reserved.block_tokens == 1040 >= (2 * (conv + matrix)) / 4096
    assert reserved.fixed_bytes == 30 * 2 * 1040 * 4096


def test_states_of_mamba_2_split_over_ranks_but_each_rank_has_a_group() -> None:
    one, two = (kv("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "sglang", tp=tp).fixed_bytes for tp in (1, 2))
    conv, matrix = 3 * (128 * 80 + 2 * 8 * 128), 128 * 80 * 128
    assert one == 27 * (2 * conv + 4 * matrix)
    assert two == one / 2


def test_kda_keeps_a_matrix_a_head_and_three_convolutions() -> None:
    found = kv("moonshotai/Kimi-Linear-48B-A3B-Instruct", "sglang")
    assert found.fixed_bytes == 20 * (2 * 3 * 3 * 4096 + 4 * 32 * 128 * 128)
    assert found.pool_bytes_per_token == 7 * 2 * 576


def test_mamba_1_of_jamba_beside_four_attention_layers() -> None:
    found = kv("ai21labs/Jamba-v0.1", "llama_cpp")
    assert found.fixed_bytes == 28 * 4 * (8192 * 16 + 3 * 8192)
    assert found.pool_bytes_per_token == 4 * 2 * 8 * 128 * 2


def test_an_indexer_keeps_132_bytes_a_token_and_sparse_attention_reads_what_it_chose() -> None:
    found = kv("deepseek-ai/DeepSeek-V3.2", form="fp8")
    assert found.pool_bytes_per_token == 61 * (656 + 132)
    assert kv("deepseek-ai/DeepSeek-V3.2").pool_bytes_per_token == 61 * (1152 + 132)
    assert found.read_bytes(100_000) == 61 * (656 * 2048 + 132 * 100_000)
    assert found.read_bytes(1000) == 61 * 788 * 1000


def test_a_layer_that_uses_another_layers_indexer_keeps_no_keys_of_its_own() -> None:
    # 21 of 78 layers have an indexer.
    assert kv("zai-org/GLM-5.2").pool_bytes_per_token == 78 * 1152 + 21 * 132


def test_a_compressed_cache_by_hand() -> None:
    found = kv("deepseek-ai/DeepSeek-V4-Flash", "sglang", "fp8", chunk=1)
    length, entry = 128_000, 512 + 64 + 8
    windows = 43 * entry * 129
    fine = 21 * (entry + 132) * 32_000
    coarse = 20 * entry * 1000
    unfinished = 21 * 2 * 2 * (512 + 128) * 4 * 9 + 20 * 2 * 512 * 4 * 129
    assert found.bytes_for(length) == windows + fine + coarse + unfinished


def test_vllm_reserves_a_chunk_of_what_is_not_compressed_yet() -> None:
    found = kv("deepseek-ai/DeepSeek-V4-Flash", form="fp8", tp=2, chunk=8192)
    ahead = 8192 - 1  # Tokens of a prompt that stand beside a full window, in whole blocks of 16.
    more = found.reserved_bytes_for(121_344) - found.bytes_for(121_344)
    layers = 43 * 584 + 21 * 2 * 2 * (512 + 128) * 4 + 20 * 2 * 512 * 4
    assert more == pytest.approx(layers * ahead, rel=0.01)


@pytest.mark.parametrize(
    ("runtime", "held"), [("vllm", 131_072), ("sglang", 8192), ("llama_cpp", 8192), ("tensorrt_llm", 8192)]
)
def test_chunks_are_freed_where_the_engine_does(runtime: str, held: int) -> None:
    layer = 2 * 8 * 128 * 2
    found = kv("meta-llama/Llama-4-Scout-17B-16E-Instruct", runtime, chunk=0)
    assert found.bytes_for(131_072) == pytest.approx(layer * (12 * 131_072 + 36 * held), rel=0.002)
    assert found.read_bytes(131_072) == layer * (12 * 131_072 + 36 * 8192)


def test_attention_within_chunks_counts_whole_chunks_and_the_rest() -> None:
    found = kv("meta-llama/Llama-4-Scout-17B-16E-Instruct", "sglang")
    whole, local = 20_000**2 / 2, 2 * 8192**2 / 2 + (20_000 - 2 * 8192) ** 2 / 2
    assert found.prompt_flops(20_000) == pytest.approx(4 * 40 * 128 * (12 * whole + 36 * local))


def test_cross_attention_keeps_the_encoders_output_whatever_the_length() -> None:
    found = kv("meta-llama/Llama-3.2-11B-Vision-Instruct", version="0.7")
    assert found.bytes_for(16) == 4096 * (32 * 16 + 8 * 6404)
    # vLLM printed 96,016 tokens for 14.65 GiB: its pool counts all 40 layers.
    assert found.pool_bytes_per_token == pytest.approx(14.65 * GIB / 96_016, rel=0.001)


def test_an_encoder_decoder_keeps_both() -> None:
    config = {"model_type": "whisper", "d_model": 8, "decoder_layers": 2, "encoder_layers": 1, "vocab_size": 10,
              "decoder_attention_heads": 2, "decoder_ffn_dim": 16, "encoder_ffn_dim": 16, "num_mel_bins": 4,
              "max_source_positions": 30, "max_target_positions": 20, "encoder_attention_heads": 2}  # fmt: skip
    found = kv_cache.footprint(understand(config).architecture, "bf16", "bf16", Layout(), engine(), 512)
    assert found.bytes_for(16) == 2 * (2 * 8 * 2) * (16 + 30)


def test_a_model_in_which_no_layer_keeps_anything_is_refused() -> None:
    config: dict[str, Any] = {"model_type": "nemotron_h", "hidden_size": 8, "num_attention_heads": 2,
                              "vocab_size": 10, "intermediate_size": 16, "hybrid_override_pattern": "--"}  # fmt: skip
    with pytest.raises(NotSized):
        kv_cache.footprint(understand(config).architecture, "bf16", "bf16", Layout(), engine(), 512)


@pytest.mark.parametrize("runtime", list(NOW))
@pytest.mark.parametrize(
    "name",
    ["Qwen/Qwen3.5-27B", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "ai21labs/Jamba-v0.1", "zai-org/GLM-5",
     "deepseek-ai/DeepSeek-V4-Flash", "moonshotai/Kimi-Linear-48B-A3B-Instruct",
     "meta-llama/Llama-4-Scout-17B-16E-Instruct", "state-spaces/mamba-2.8b-hf"],
)  # fmt: skip
def test_more_tokens_never_need_less_and_admission_never_less_than_holding(name: str, runtime: str) -> None:
    found = kv(name, runtime)
    held = [found.bytes_for(length) for length in (1, 100, 5000, 20_000, 100_000)]
    assert held == sorted(held)
    assert found.read_bytes(100_000) >= found.read_bytes(5000) > 0
    assert found.reserved_bytes_for(5000) >= found.bytes_for(5000) > 0
    assert kv(name, runtime, tp=2).bytes_for(5000) * 2 >= found.bytes_for(5000) * 0.99
    derived = kv_cache.derive(found, 5000)
    assert derived.value * 5000 == pytest.approx(found.bytes_for(5000), rel=0.75, abs=MIB)
