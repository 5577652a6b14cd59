"""Attention kind × engine × format of the cache: every cell is a number worked out by hand, or refused with a reason.

The numbers are bytes of the pool that one more token takes (all layers) and bytes of states that one sequence keeps,
at one rank. Where an engine printed the same number in a log, its cell says so.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from planner.sizing import kv_cache, support
from planner.sizing.devices import Layout
from tests.sizing.machines import H100, engine, model

KV = ("bf16", "fp8", "int8")
ENGINES = (
    "vllm",
    "sglang",
    "tensorrt_llm",
    "llama_cpp",
    "lmdeploy",
    "tgi",
    "transformers",
    "exllama",
    "ollama",
)
NO_KV = "kv_format_not_supported"
NO_MODEL = "model_not_supported"
NEWER = "model_needs_newer_version"
OLDER = "model_needs_older_version"
EIGHT_BITS = {"vllm": "fp8", "sglang": "fp8", "tensorrt_llm": "fp8 int8", "llama_cpp": "int8", "lmdeploy": "int8",
              "tgi": "fp8", "transformers": "int8", "exllama": "int8", "ollama": "int8"}  # fmt: skip
"""8-bit formats of the cache that an engine has (each engine's documentation, see ``support.RULES``)."""
BLOCKS = ("llama_cpp", "ollama")
"""Engines whose 8 bits are blocks of 32 values with a 16-bit scale: 8.5 bits a value."""


class Row(NamedTuple):
    model: str
    values: float
    """Values a token adds to the cache, all layers; the bytes are values × bytes of a value + ``fixed``."""
    fixed: float = 0.0
    """Bytes a token adds whatever the format: keys of an indexer, what is not compressed yet."""
    states: float = 0.0
    """Bytes of one sequence's states: SGLang, TensorRT-LLM, LMDeploy, Transformers (2 B convolutions, 4 B states)."""
    states_llama_cpp: float = 0.0
    """The same with 4 B convolutions."""
    states_vllm: float = 0.0
    """In pages of vLLM's cache, two for a layer, kinds of layers filled up to whole groups."""
    vllm_values: float | None = None
    """Where vLLM fills kinds of layers up to whole groups."""
    eight_bit_bytes: float | None = None
    """Bytes a token at FP8 or INT8 where entries carry scales and parts at 16 bits."""
    versions: dict[str, str] = {}
    refused: dict[str, str] = {}


TABLE: dict[str, Row] = {
    # 32 layers × 32 heads × 96 × keys and values.
    "MHA": Row("microsoft/Phi-3-mini-128k-instruct", 32 * 32 * 96 * 2),
    # 32 layers × 8 heads × 128 × keys and values: 131,072 B, as vLLM's and llama.cpp's logs divide.
    "GQA": Row("meta-llama/Llama-3.1-8B-Instruct", 32 * 8 * 128 * 2),
    "MQA": Row("tiiuae/falcon-7b", 32 * 1 * 64 * 2, refused={"exllama": NO_MODEL}),
    # 61 layers × (512 + 64): 70,272 B on every rank, as published for Kimi K2 on eight GPUs.
    "MLA": Row("deepseek-ai/DeepSeek-V3", 61 * 576, refused={"exllama": NO_MODEL}),
    # 62 layers × 16 heads × 128 × 2; vLLM fills 52 windowed layers up to 60 beside 10 full ones (log: +13 %).
    "sliding window": Row("google/gemma-3-27b-it", 62 * 16 * 128 * 2, vllm_values=70 * 16 * 128 * 2),
    # 24 layers × 8 heads × 64 × 2; half windowed, half full, so no filling.
    "sliding window with sinks": Row("openai/gpt-oss-20b", 24 * 8 * 64 * 2,
                                     refused={"exllama": NO_MODEL, "tgi": NO_MODEL}),
    "chunked": Row("meta-llama/Llama-4-Scout-17B-16E-Instruct", 48 * 8 * 128 * 2, refused={"exllama": NO_MODEL}),
    # MLA, and 128 + 4 bytes of index keys a layer; at 8 bits 512 + 2 × 64 + 4 × 512 / 128 = 656 B (FlashMLA).
    "MLA with indexer": Row("deepseek-ai/DeepSeek-V3.2", 61 * 576, fixed=61 * 132, eight_bit_bytes=61 * (656 + 132),
                            refused={"exllama": NO_MODEL, "tgi": NO_MODEL}),
    # Of 43 layers 3 keep a window only, 20 an entry for 4 tokens with indexer, 20 one for 128 tokens; windows of
    # all 43, and what is not compressed yet: 2 × dims × 4 B, twice for 4 tokens, indexer's dims beside (see below).
    "compressed": Row("deepseek-ai/DeepSeek-V4-Flash", 43 * 512 + 21 * 512 / 4 + 20 * 512 / 128,
                      fixed=21 * 132 / 4 + 21 * 2 * 2 * (512 + 128) * 4 + 20 * 2 * 512 * 4,
                      eight_bit_bytes=43 * 584 + 21 * (584 + 132) / 4 + 20 * 584 / 128
                      + 21 * 2 * 2 * 640 * 4 + 20 * 2 * 512 * 4,
                      refused={"exllama": NO_MODEL, "tgi": NO_MODEL, "lmdeploy": NO_MODEL, "tensorrt_llm": NEWER}),
    # 28 Mamba layers: 3 × 8192 convolution, 8192 × 16 state; 4 attention layers × 8 heads × 128 × 2.
    "Mamba": Row("ai21labs/Jamba-v0.1", 4 * 8 * 128 * 2, states=28 * (3 * 8192 * 2 + 8192 * 16 * 4),
                 states_llama_cpp=28 * (3 * 8192 + 8192 * 16) * 4, states_vllm=28 * 2 * 80 * 4096,
                 refused={"exllama": NO_MODEL, "tgi": NO_MODEL, "lmdeploy": NO_MODEL, "tensorrt_llm": NO_MODEL}),
    # 29 Mamba-2 layers: 3 × (8192 + 2 × 256) convolution, 8192 × 256 state; 3 attention layers × 8 × 128 × 2: 12,288 B
    # a token in a log of vLLM.
    "Mamba-2": Row("ibm-ai-platform/Bamba-9B", 3 * 8 * 128 * 2, states=29 * (3 * 8704 * 2 + 8192 * 256 * 4),
                   states_llama_cpp=29 * (3 * 8704 + 8192 * 256) * 4, states_vllm=30 * 2 * 1040 * 4096,
                   refused={"exllama": NO_MODEL, "tgi": NO_MODEL, "lmdeploy": NO_MODEL, "tensorrt_llm": NO_MODEL}),
    # 48 delta nets: 3 × 10,240 convolution, 48 heads × 128 × 128; 16 attention layers × 4 × 256 × 2: 65,536 B and
    # pages of 784 tokens in a log of vLLM, 26,089 tokens of SGLang's smaller pool.
    "gated delta net": Row("Qwen/Qwen3.5-27B", 16 * 4 * 256 * 2, states=48 * (3 * 10_240 * 2 + 48 * 128 * 128 * 4),
                           states_llama_cpp=48 * (3 * 10_240 + 48 * 128 * 128) * 4, states_vllm=48 * 2 * 784 * 4096,
                           refused={"exllama": NO_MODEL, "tgi": NO_MODEL, "tensorrt_llm": NEWER}),
    # 20 KDA layers: 3 × 3 × 4096 convolutions, 32 heads × 128 × 128; 7 latent layers × 576.
    "KDA": Row("moonshotai/Kimi-Linear-48B-A3B-Instruct", 7 * 576,
               states=20 * (3 * 3 * 4096 * 2 + 32 * 128 * 128 * 4),
               states_llama_cpp=20 * (3 * 3 * 4096 + 32 * 128 * 128) * 4, states_vllm=21 * 2 * 1888 * 1152,
               refused={"exllama": NO_MODEL, "tgi": NO_MODEL, "lmdeploy": NO_MODEL, "tensorrt_llm": NO_MODEL}),
    # All 40 layers × 8 × 128 × 2: 14.65 GiB were 96,016 tokens in vLLM's log.
    "cross-attention": Row("meta-llama/Llama-3.2-11B-Vision-Instruct", 40 * 8 * 128 * 2, versions={"vllm": "0.10.2"},
                           refused={"exllama": NO_MODEL, "llama_cpp": NO_MODEL}),
}  # fmt: skip
CELLS = [(kind, name, kv) for kind in TABLE for name in ENGINES for kv in KV]


@pytest.mark.parametrize(("kind", "name", "kv"), CELLS)
def test_every_cell_is_pinned_or_refused(kind: str, name: str, kv: str) -> None:
    row = TABLE[kind]
    arch, runtime = model(row.model), engine(name, row.versions.get(name))
    weights = "gguf_q8_0" if name in BLOCKS else "bf16"
    refused = support.refusal(runtime, H100, weights, kv, arch)
    expected = row.refused.get(name)
    has_format = kv == "bf16" or kv in EIGHT_BITS[name].split()
    if expected is None and not has_format:
        expected = NO_KV
    if expected is not None:
        assert refused is not None
        assert refused["rule"] in (expected, NO_KV if not has_format else expected)
        assert refused["source"]
        return
    assert refused is None
    found = kv_cache.footprint(arch, kv, weights, Layout(), runtime, 512)
    values = row.vllm_values if name == "vllm" and row.vllm_values is not None else row.values
    width = 2.0 if kv == "bf16" else 8.5 / 8 if name in BLOCKS else 1.0
    size = values * width + row.fixed
    if kv != "bf16" and name not in BLOCKS and row.eight_bit_bytes is not None:
        size = row.eight_bit_bytes
    assert found.pool_bytes_per_token == pytest.approx(size, abs=1)
    states = {"vllm": row.states_vllm, "llama_cpp": row.states_llama_cpp, "ollama": row.states_llama_cpp}
    if name == "vllm" and kv != "bf16" and row.states:
        # Pages of a narrower cache hold more tokens; never less than the state itself.
        assert found.sequence_states_bytes >= row.states_vllm * 0.95
        return
    assert found.sequence_states_bytes == pytest.approx(states.get(name, row.states), abs=1)


def test_the_table_has_every_kind_that_is_sized() -> None:
    assert len(TABLE) == 14
    assert len(CELLS) == 14 * 9 * 3


@pytest.mark.parametrize(("name", "version"), [("vllm", "0.11"), ("vllm", None)])
def test_cross_attention_left_vllm(name: str, version: str | None) -> None:
    found = support.refusal(
        engine(name, version), H100, "bf16", "auto", model(TABLE["cross-attention"].model)
    )
    assert (found or {}).get("rule") == OLDER


def test_the_first_version_that_runs_a_kind_runs_it() -> None:
    assert (
        support.refusal(engine("tensorrt_llm", "1.3"), H100, "bf16", "auto", model("Qwen/Qwen3.5-27B"))
        is None
    )
