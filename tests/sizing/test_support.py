from __future__ import annotations

import pytest

from planner.sizing import divisibility, support
from planner.sizing.devices import Device, Layout
from planner.sizing.formats import compute_rate
from planner.sizing.support import RULES
from tests.sizing.machines import A100, H100, RTX4090, card, engine, grouped, latent, model

V100 = card(32, "V100", "Volta", "7.0", rates={"fp16": 125e12})
T4 = card(15, "T4", "Turing", "7.5", rates={"fp16": 65e12, "int8": 130e12})
B200 = card(178, "B200", "Blackwell", "10.0", rates={"bf16": 2.25e15, "fp8": 4.5e15, "fp4": 9e15})
MI300X = card(191, "MI300X", "CDNA3", "gfx942", "amd", rates={"bf16": 1.3e15, "fp8": 2.6e15})
MI250 = card(64, "MI250X", "CDNA2", "gfx90a", "amd", rates={"bf16": 191e12})
TPU = card(16, "TPU-v5e", "TPU", "v5e", "google", rates={"bf16": 197e12})
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def rule(name: str, device: Device, form: str, kv: str = "auto", version: str | None = None,
         arch: str = LLAMA) -> str | None:  # fmt: skip
    found = support.refusal(engine(name, version), device, form, kv, model(arch), device_count=1)
    assert found is None or found["source"]
    return None if found is None else str(found["rule"])


@pytest.mark.parametrize(
    ("name", "device", "form", "expected"),
    [
        ("vllm", H100, "bf16", None),
        ("vllm", H100, "fp8", None),
        ("vllm", A100, "fp8", None),
        ("vllm", A100, "int4_awq", None),
        ("vllm", H100, "nvfp4", None),
        ("vllm", T4, "bf16", "format_not_on_device"),
        ("vllm", T4, "fp16", None),
        ("vllm", V100, "int4_awq", "format_not_on_device"),
        ("vllm", V100, "int4_gptq", None),
        ("vllm", B200, "int8", "format_not_on_device"),
        ("vllm", MI300X, "fp8", None),
        ("vllm", MI300X, "int4_awq", "format_not_on_device"),
        ("vllm", MI250, "fp8", "format_not_on_device"),
        ("vllm", H100, "gguf_q4_k_m", "format_only_llama_cpp"),
        ("vllm", TPU, "bf16", "device_not_supported"),
        ("sglang", H100, "fp8", None),
        ("sglang", H100, "nvfp4", "format_not_on_device"),
        ("sglang", B200, "nvfp4", None),
        ("tensorrt_llm", MI300X, "bf16", "device_not_supported"),
        ("tensorrt_llm", A100, "fp8", "format_not_on_device"),
        ("tensorrt_llm", A100, "int8", None),
        ("tensorrt_llm", H100, "nvfp4", "format_not_on_device"),
        ("tensorrt_llm", B200, "nvfp4", None),
        ("tensorrt_llm", T4, "fp16", "device_not_supported"),
        ("llama_cpp", H100, "gguf_q4_k_m", None),
        ("llama_cpp", T4, "gguf_q8_0", None),
        ("llama_cpp", MI300X, "gguf_q8_0", None),
        ("llama_cpp", H100, "int4_awq", "format_not_supported"),
        ("llama_cpp", H100, "fp8", "format_not_supported"),
        ("llama_cpp", TPU, "gguf_q8_0", "device_not_supported"),
    ],
)
def test_the_support_table_holds_cell_by_cell(
    name: str, device: Device, form: str, expected: str | None
) -> None:
    assert rule(name, device, form) == expected


def test_cache_formats_are_refused_where_the_engine_has_none() -> None:
    assert rule("vllm", H100, "bf16", "fp8") is None
    assert rule("vllm", H100, "bf16", "int8") == "kv_format_not_supported"
    assert rule("vllm", T4, "fp16", "fp8") == "kv_format_not_on_device"
    assert rule("llama_cpp", H100, "gguf_q8_0", "fp8") == "kv_format_not_supported"
    assert rule("tensorrt_llm", A100, "bf16", "int8") is None


def test_a_version_older_than_the_format_or_the_model_is_refused() -> None:
    assert (
        rule("vllm", H100, "mxfp4", version="0.9", arch="openai/gpt-oss-20b") == "format_needs_newer_version"
    )
    assert rule("vllm", H100, "bf16", version="0.9", arch="openai/gpt-oss-20b") == "model_needs_newer_version"
    assert rule("vllm", H100, "mxfp4", version="0.11", arch="openai/gpt-oss-20b") is None
    assert rule("vllm", H100, "bf16", version="0.6.3", arch="Qwen/Qwen3-8B") == "model_needs_newer_version"


@pytest.mark.parametrize(
    ("arch", "before", "since"),
    [
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "0.8.2", "0.8.3"),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "0.10.1", "0.10.2"),
        ("deepseek-ai/DeepSeek-V3.2", "0.10.2", "0.11.0"),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", "0.11.0", "0.11.1"),
        ("meta-llama/Llama-3.2-11B-Vision-Instruct", "0.6.1", "0.6.2"),
    ],
)
def test_kinds_of_models_run_from_the_version_that_brought_them(arch: str, before: str, since: str) -> None:
    assert rule("vllm", H100, "bf16", version=before, arch=arch) == "model_needs_newer_version"
    assert rule("vllm", H100, "bf16", version=since, arch=arch) is None


def test_every_rule_names_its_source() -> None:
    assert all(len(one.source) > 10 for one in RULES)


@pytest.mark.parametrize(
    ("device", "form", "rate", "memory_only"),
    [
        (H100, "fp8", "fp8", False),
        (A100, "fp8", "bf16", True),
        (H100, "nvfp4", "bf16", True),
        (B200, "nvfp4", "fp4", False),
        (H100, "int4_awq", "fp16", True),
        (H100, "int8", "int8", False),
        (RTX4090, "gguf_q4_k_m", "fp16", True),
        (H100, "bf16", "bf16", False),
        (V100, "fp16", "fp16", False),
    ],
)
def test_a_format_the_matrix_units_lack_saves_memory_only(
    device: Device, form: str, rate: str, memory_only: bool
) -> None:
    found = compute_rate(device, form)
    assert found is not None
    assert (found.name, found.saves_memory_only) == (rate, memory_only)
    assert found.flops == device.dense_rates[found.name]


def test_an_unknown_compute_rate_is_none() -> None:
    assert compute_rate(card(10, rates={"int8": 1e12}), "bf16") is None


@pytest.mark.parametrize(
    ("name", "form", "tp", "expected"),
    [
        (LLAMA, "bf16", 8, None),
        (LLAMA, "bf16", 3, "heads"),
        ("Qwen/Qwen2.5-14B-Instruct", "bf16", 5, "vocabulary"),
        (LLAMA, "bf16", 64, "heads"),
        ("Qwen/Qwen2.5-7B-Instruct", "bf16", 8, "heads"),
        ("Qwen/Qwen2.5-7B-Instruct", "bf16", 4, None),
        # 768 ÷ 4 = 192 is no whole number of blocks of 128: vLLM refuses this checkpoint at 4 ranks.
        ("Qwen/Qwen3-30B-A3B", "fp8", 4, "quantised_group"),
        ("Qwen/Qwen3-30B-A3B", "fp8", 2, None),
        ("Qwen/Qwen3-30B-A3B", "bf16", 4, None),
        # 29,568 ÷ 8 = 3,696 is no whole number of groups of 128.
        ("Qwen/Qwen2.5-72B-Instruct", "int4_gptq", 8, "quantised_group"),
        ("Qwen/Qwen2.5-72B-Instruct", "bf16", 8, None),
        ("deepseek-ai/DeepSeek-V3", "fp8", 16, None),
        ("moonshotai/Kimi-K2-Instruct", "fp8", 8, None),
    ],
)
def test_a_split_that_does_not_divide_is_named(name: str, form: str, tp: int, expected: str | None) -> None:
    found = divisibility.violation(model(name), form, Layout(tp=tp))
    assert (found and found["rule"]) == expected


def test_kv_heads_may_be_fewer_than_ranks_only_by_whole_copies() -> None:
    arch = grouped(heads=24, kv_heads=6, head_dim=16, hidden=384, intermediate=384, vocab=3072)
    assert divisibility.violation(arch, "bf16", Layout(tp=4)) == {"rule": "kv_heads", "kv_heads": 6, "tp": 4}
    assert divisibility.violation(arch, "bf16", Layout(tp=12)) is None


def test_more_stages_than_layers_are_refused() -> None:
    assert divisibility.violation(latent(layers=4), "bf16", Layout(pp=8)) == {
        "rule": "layers",
        "layers": 4,
        "pp": 8,
    }
