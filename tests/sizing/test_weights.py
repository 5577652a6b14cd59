from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing import weights
from planner.sizing.architecture import active_parameter_count, parameter_count, tensors
from planner.sizing.devices import Layout
from planner.sizing.formats import FORMATS
from planner.sizing.quantities import GIB
from tests.sizing.machines import grouped, latent, model

SMALL = st.builds(
    grouped,
    layers=st.integers(1, 12),
    heads=st.sampled_from([2, 4, 8, 16]),
    kv_heads=st.sampled_from([1, 2]),
    head_dim=st.sampled_from([16, 32, 64]),
    hidden=st.sampled_from([64, 128, 256]),
    intermediate=st.sampled_from([128, 256, 512]),
    vocab=st.integers(100, 5000),
    tied=st.booleans(),
    experts=st.sampled_from([0, 4, 8]),
)
NAMES = sorted(FORMATS)


def test_seven_billion_parameters_at_two_bytes_are_13_gib() -> None:
    assert round(7e9 * 2 / GIB, 1) == 13.0


def test_a_small_model_is_counted_by_hand() -> None:
    arch = grouped(layers=1, heads=4, kv_heads=2, head_dim=16, hidden=64, intermediate=128, vocab=100)
    attention = 64 * 64 + 2 * (32 * 64) + 64 * 64
    mlp = 3 * 64 * 128
    norms = 2 * 64 + 64
    assert parameter_count(arch) == 2 * 100 * 64 + attention + mlp + norms


def test_llama_3_1_8b_weights_are_its_published_parameters_in_16_bits() -> None:
    found = weights.footprint(model("meta-llama/Llama-3.1-8B-Instruct"), "bf16", Layout())
    assert found.total_bytes == found.resident_bytes == 8_030_261_248 * 2


@pytest.mark.parametrize(
    ("name", "form", "gib"),
    [
        # vLLM 0.19 start logs on one H100 (llm-d-planner results, PR 205).
        ("meta-llama/Llama-3.1-8B-Instruct", "fp8", 8.49),
        ("meta-llama/Llama-3.1-8B-Instruct", "int8", 8.49),
        ("meta-llama/Llama-3.1-8B-Instruct", "int4_gptq", 5.38),
        ("meta-llama/Llama-3.1-8B-Instruct", "fp32", 29.98),
        ("Qwen/Qwen2.5-7B-Instruct", "bf16", 14.25),
        ("Qwen/Qwen3-30B-A3B", "bf16", 56.88),
    ],
)
def test_loaded_weights_are_within_one_percent_of_what_an_engine_printed(
    name: str, form: str, gib: float
) -> None:
    assert weights.footprint(model(name), form, Layout()).resident_bytes / GIB == pytest.approx(gib, rel=0.01)


@pytest.mark.parametrize(
    ("name", "form", "gib"),
    [
        ("Qwen/Qwen3-235B-A22B", "gguf_q8_0", 232.769),  # ik_llama.cpp log
        ("deepseek-ai/DeepSeek-V3", "gguf_q4_k_m", 379.03),  # ik_llama.cpp log
        ("Qwen/Qwen2.5-7B-Instruct", "gguf_q8_0", 7.54),  # file size
        ("Qwen/Qwen2.5-7B-Instruct", "gguf_q4_k_m", 4.36),  # file size
    ],
)
def test_gguf_files_have_the_size_of_their_block_types(name: str, form: str, gib: float) -> None:
    assert weights.footprint(model(name), form, Layout()).total_bytes / GIB == pytest.approx(gib, rel=0.002)


def test_a_quantisation_leaves_embeddings_head_and_norms_at_16_bits() -> None:
    arch = model("meta-llama/Llama-3.1-8B-Instruct")
    groups = dict(weights.footprint(arch, "int4_awq", Layout()).groups)
    assert groups["embedding"] == groups["head"] == 128256 * 4096 * 2
    assert groups["norm"] == 65 * 4096 * 2


def test_mxfp4_of_a_mixture_of_experts_leaves_attention_at_16_bits() -> None:
    arch = model("openai/gpt-oss-120b")
    full = dict(weights.footprint(arch, "bf16", Layout()).groups)
    narrow = dict(weights.footprint(arch, "mxfp4", Layout()).groups)
    assert narrow["attention"] == full["attention"]
    assert narrow["expert"] < full["expert"] * 0.3


def test_active_parameters_of_deepseek_v3_are_37_billion() -> None:
    # DeepSeek-V3 technical report: 671B in total, 37B for each token.
    assert active_parameter_count(model("deepseek-ai/DeepSeek-V3")) == pytest.approx(37e9, rel=0.02)


def test_kv_heads_are_replicated_when_ranks_outnumber_them() -> None:
    arch = grouped(heads=16, kv_heads=2, head_dim=16, hidden=256)
    key = next(tensor for tensor in tensors(arch) if tensor.role == "k")
    assert weights.rank_elements(key, Layout(tp=8)) * 2 == key.rows * key.columns


def test_latent_down_projections_are_whole_on_every_rank() -> None:
    down = next(tensor for tensor in tensors(latent()) if tensor.role == "kv_a")
    assert weights.rank_elements(down, Layout(tp=4)) == down.rows * down.columns


@given(SMALL, st.sampled_from(NAMES), st.sampled_from([1, 2, 4, 8]))
def test_a_rank_never_holds_less_than_its_share(arch, form: str, tp: int) -> None:  # type: ignore[no-untyped-def]
    found = weights.footprint(arch, form, Layout(tp=tp))
    assert found.resident_bytes * tp >= found.total_bytes - len(found.groups) * tp


@given(SMALL, st.sampled_from(NAMES), st.integers(1, 4))
def test_more_layers_never_weigh_less(arch, form: str, more: int) -> None:  # type: ignore[no-untyped-def]
    group = arch.layers[0]
    larger = arch.model_copy(
        update={"id": arch.id + "+", "layers": (group.model_copy(update={"count": group.count + more}),)}
    )
    before, after = (weights.footprint(one, form, Layout()) for one in (arch, larger))
    # The share of layers in more bits differs by layer count in K mixes; whole layers outweigh it.
    assert after.resident_bytes > before.resident_bytes * 0.999
    if FORMATS[form].file_type is None:
        assert after.resident_bytes > before.resident_bytes


@given(SMALL, st.sampled_from(["fp32", "bf16", "fp8", "int8"]), st.sampled_from([1, 2, 4]))
def test_the_footprint_equals_a_plain_loop_over_matrices(arch, form: str, tp: int) -> None:  # type: ignore[no-untyped-def]
    one = FORMATS[form]
    total = 0.0
    for tensor in tensors(arch):
        rows = tensor.rows
        if tensor.split == "vocab" and tp > 1:
            rows = ceil(ceil(rows / 64) * 64 / tp)
            elements = rows * tensor.columns
        elif tensor.split in ("shard", "expert"):
            elements = ceil(rows * tensor.columns / tp)
        elif tensor.split == "kv":
            elements = rows // tensor.kv_heads * max(1, ceil(tensor.kv_heads / tp)) * tensor.columns
        else:
            elements = rows * tensor.columns
        bits = one.linear_bits
        if tensor.group in ("embedding", "head", "norm", "router"):
            bits = one.norm_bits
        total += tensor.count * elements * bits / 8
    assert weights.footprint(arch, form, Layout(tp=tp)).resident_bytes == pytest.approx(total, abs=8)


def test_the_derivation_adds_up_to_the_weights() -> None:
    arch = model("Qwen/Qwen3-30B-A3B")
    found = weights.derive(arch, "fp8", Layout(tp=2))
    assert sum(term.value for term in found.terms) == found.value
    assert found.value == weights.footprint(arch, "fp8", Layout(tp=2)).resident_bytes
