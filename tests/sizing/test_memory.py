from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.sizing import memory, memory_derivations, support
from planner.sizing.devices import Device, Layout
from planner.sizing.memory import Need, split, verdict
from planner.sizing.quantities import GIB
from planner.sizing.workload import ServingWorkload
from tests.sizing.formulas import evaluate
from tests.sizing.machines import A100, H100, L40S, RTX4090, card, engine, grouped, latent, model

NEED = Need()
ENGINES = ("vllm", "sglang", "tensorrt_llm", "llama_cpp")


def fits(name: str, form: str, device: Device, tp: int = 1, need: Need = NEED) -> str:
    return verdict(
        split(model(name), replace(need, weights_format=form), engine(version=None), device, Layout(tp=tp))
    )


# What any answer must agree with.


@pytest.mark.parametrize("name", ["meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-7B-Instruct",
                                  "mistralai/Mistral-7B-Instruct-v0.3",
                                  "meta-llama/Llama-2-7b-hf"])  # fmt: skip
@pytest.mark.parametrize("form", ["int4_awq", "int8", "fp8"])
def test_quantised_7b_models_serve_from_one_24_gb_card(name: str, form: str) -> None:
    assert fits(name, form, RTX4090, need=Need(maximum_tokens=4096)) == "fits"


def test_a_quantised_13b_model_serves_from_one_24_gb_card() -> None:
    short = Need(typical_tokens=1300, maximum_tokens=4096)
    assert fits("meta-llama/Llama-2-13b-hf", "int4_awq", RTX4090, need=short) == "fits"
    assert fits("meta-llama/Llama-2-13b-hf", "int8", RTX4090, need=short) != "does_not_fit"


def test_32b_in_int4_and_13b_in_16_bits_want_48_gb() -> None:
    assert fits("Qwen/Qwen2.5-32B-Instruct", "int4_awq", RTX4090) == "does_not_fit"
    assert fits("Qwen/Qwen2.5-32B-Instruct", "int4_awq", L40S) == "fits"
    assert fits("Qwen/Qwen2.5-32B-Instruct", "fp8", L40S) in ("fits", "tight")
    assert (
        fits("meta-llama/Llama-2-13b-hf", "bf16", RTX4090, need=Need(maximum_tokens=4096)) == "does_not_fit"
    )
    assert fits("meta-llama/Llama-2-13b-hf", "bf16", L40S, need=Need(maximum_tokens=4096)) == "fits"


@pytest.mark.parametrize("version", ["0.5", "0.19", None])
def test_70b_in_16_bits_does_not_fit_one_80_gb_card_and_starves_on_two(version: str | None) -> None:
    arch = model("meta-llama/Llama-3.1-70B-Instruct")
    alone = split(arch, NEED, engine(version=version), H100, Layout())
    assert verdict(alone) == "does_not_fit"
    assert alone.needed_bytes > alone.usable_bytes + 50 * GIB
    two = split(arch, NEED, engine(version=version), H100, Layout(tp=2))
    assert verdict(two) == "tight"
    assert two.concurrency_at_typical < 32
    four = split(arch, NEED, engine(version=version), H100, Layout(tp=4))
    assert verdict(four) == "fits"
    assert four.concurrency_at_typical > 100


# What engines printed.


@pytest.mark.parametrize(
    ("name", "form", "tp", "available_gib"),
    [
        # vLLM 0.19 at 0.95 of an H100 with 8,192 batched tokens and 1,024 sequences (llm-d-planner, PR 205).
        ("meta-llama/Llama-3.1-8B-Instruct", "bf16", 1, 58.11),
        ("meta-llama/Llama-3.1-8B-Instruct", "int4_gptq", 1, 67.71),
        ("Qwen/Qwen2.5-7B-Instruct", "bf16", 1, 58.53),
        ("Qwen/Qwen2.5-7B-Instruct", "bf16", 4, 67.34),
        ("google/gemma-7b", "bf16", 1, 55.44),
    ],
)
def test_the_room_for_cache_is_what_vllm_printed(name: str, form: str, tp: int, available_gib: float) -> None:
    need = Need(weights_format=form, batched_tokens=8192, sequences=1024, utilization=0.95)
    found = split(model(name), need, engine(), H100, Layout(tp=tp))
    assert found.kv_room_bytes / GIB == pytest.approx(available_gib, rel=0.02)


def test_llama_cpp_holds_logits_of_a_micro_batch() -> None:
    # Qwen3-235B at micro-batches of 512 and 4,096: 312.75 and 2,502 MiB of compute buffer in ik_llama.cpp
    # logs.
    arch, runtime = model("Qwen/Qwen3-235B-A22B"), engine("llama_cpp", None)
    for tokens, mib in ((512, 312.75), (4096, 2502.0)):
        over = memory.overheads(arch, Need(batched_tokens=tokens), runtime, H100, Layout())
        assert over.activation / 2**20 == pytest.approx(mib, rel=0.001)


def test_each_engine_budgets_by_its_own_rule() -> None:
    arch = model("meta-llama/Llama-3.1-8B-Instruct")
    found = {name: split(arch, NEED, engine(name, None), H100, Layout()) for name in ENGINES}
    total = found["vllm"].device_bytes
    assert found["vllm"].usable_bytes == pytest.approx(0.92 * total, rel=1e-6)
    trt = found["tensorrt_llm"]
    free = total - trt.weights_bytes - trt.activation_bytes - trt.overhead_bytes
    assert trt.kv_room_bytes == pytest.approx(0.9 * free, rel=1e-6)
    sglang = found["sglang"]
    over = memory.overheads(arch, NEED, engine("sglang", None), H100, Layout())
    own = over.non_torch + over.context
    assert sglang.kv_room_bytes + sglang.weights_bytes == pytest.approx(0.85 * (total - own), rel=1e-6)
    assert found["llama_cpp"].usable_bytes == total


def test_ranks_without_switched_links_map_smaller_buffers_of_their_peers() -> None:
    arch = model("meta-llama/Llama-3.1-8B-Instruct")
    two = Layout(tp=2)
    switched, plain = (
        memory.overheads(arch, NEED, engine(), card, two).non_torch for card in (H100, RTX4090)
    )
    assert switched == pytest.approx(2.08 * GIB, rel=0.01)
    assert plain == pytest.approx(0.70 * GIB, rel=0.01)


def test_graphs_leave_less_room_where_they_are_in_the_budget() -> None:
    arch = model("meta-llama/Llama-3.1-8B-Instruct")
    need = Need(utilization=0.9)
    before = split(arch, need, engine(version="0.20"), H100, Layout())
    after = split(arch, need, engine(version="0.21"), H100, Layout())
    assert before.kv_room_bytes - after.kv_room_bytes > 0.4 * GIB
    eager = split(arch, replace(need, eager=True), engine(version="0.21"), H100, Layout())
    assert eager.kv_room_bytes == before.kv_room_bytes


def test_a_budget_fraction_can_not_take_what_the_context_needs() -> None:
    arch = model("meta-llama/Llama-3.2-1B")
    found = split(arch, Need(utilization=1.0), engine(version="0.19"), RTX4090, Layout())
    assert found.usable_bytes < found.device_bytes - 0.5 * GIB


# What the split says of itself.


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("tp", [1, 2])
@pytest.mark.parametrize("arch_name", ["meta-llama/Llama-3.1-8B-Instruct", "google/gemma-3-27b-it",
                                       "openai/gpt-oss-20b", "deepseek-ai/DeepSeek-V2-Lite"])  # fmt: skip
def test_every_derivation_evaluates_to_the_figure_it_explains(name: str, tp: int, arch_name: str) -> None:
    arch, runtime = model(arch_name), engine(name, None)
    need = Need(concurrency=7.0)
    found = split(arch, need, runtime, H100, Layout(tp=tp))
    derived = memory_derivations.derive(arch, need, runtime, H100, Layout(tp=tp))
    for figure, derivation in derived.items():
        assert derivation.value == getattr(found, figure)
        assert evaluate(derivation) == pytest.approx(derivation.value, abs=2), figure


def test_tokens_times_bytes_a_token_are_the_bytes_of_the_room() -> None:
    for name in ("meta-llama/Llama-3.1-8B-Instruct", "google/gemma-3-27b-it", "openai/gpt-oss-120b"):
        found = split(model(name), NEED, engine(), H100, Layout(tp=2))
        assert (
            0
            <= found.kv_room_bytes - found.kv_room_tokens * found.kv_bytes_per_token
            < found.kv_bytes_per_token
        )


def test_assumptions_name_the_engines_defaults_and_what_the_user_set() -> None:
    own = {one.name: one for one in memory_derivations.assumptions(engine(), H100, Need(sequences=64))}
    assert (own["max_num_seqs"].value, own["max_num_seqs"].user_set) == (64, True)
    assert (own["max_num_batched_tokens"].value, own["max_num_batched_tokens"].user_set) == (8192, False)
    assert own["memory_fraction"].value == 0.9
    assert "vllm.logit_bytes" in own
    assert all(one.source for one in own.values())


def test_the_need_of_a_workload_takes_its_lengths_and_options() -> None:
    workload = ServingWorkload.model_validate(
        {
            "runtime": {"name": "vllm", "options": {"max_num_seqs": 64, "enforce_eager": True}},
            "kv_format": "fp8",
        }
    )
    need = Need.of(workload, 4)
    assert (need.typical_tokens, need.maximum_tokens, need.concurrency) == (1300, 9000, 4)
    assert (need.sequences, need.eager, need.kv_format) == (64, True, "fp8")


def test_what_would_help_names_computed_changes_that_do_fit() -> None:
    arch, runtime = model("meta-llama/Llama-3.1-70B-Instruct"), engine(version=None)
    found = memory.what_would_help(
        arch, NEED, runtime, H100, Layout(), device_count=8,
        weights_formats=support.weights_formats(runtime, H100, arch),
        kv_formats=support.kv_formats(runtime, H100, arch, "bf16"),
    )  # fmt: skip
    assert {change["change"] for change in found} == {"tp", "weights_format", "offload_weights_gib"}
    for change in found:
        assert change["needed_bytes"] <= change["usable_bytes"]
    assert next(change["to"] for change in found if change["change"] == "tp") == 2


def test_a_context_too_long_by_a_little_is_answered_with_the_length_that_fits() -> None:
    arch, runtime = model("meta-llama/Llama-3.1-8B-Instruct"), engine(version=None)
    need = Need(typical_tokens=1000, maximum_tokens=60_000)
    assert verdict(split(arch, need, runtime, RTX4090, Layout())) == "does_not_fit"
    changes = memory.what_would_help(arch, need, runtime, RTX4090, Layout(), kv_formats=("fp8",))
    shorter = next(change["to"] for change in changes if change["change"] == "maximum_tokens")
    assert (
        verdict(split(arch, replace(need, maximum_tokens=shorter), runtime, RTX4090, Layout()))
        != "does_not_fit"
    )
    longer = replace(need, maximum_tokens=shorter + 32)
    assert verdict(split(arch, longer, runtime, RTX4090, Layout())) == "does_not_fit"


# Laws.

MODELS = st.one_of(
    st.builds(grouped, layers=st.integers(1, 40), hidden=st.sampled_from([1024, 4096]), head_dim=st.just(128),
              intermediate=st.sampled_from([4096, 14336]), vocab=st.sampled_from([32000, 128256]),
              kv_heads=st.sampled_from([1, 2, 8]), window=st.one_of(st.none(), st.integers(16, 8192)),
              experts=st.sampled_from([0, 8])),
    st.builds(latent, layers=st.integers(1, 40)),
)  # fmt: skip
NEEDS = st.builds(
    Need,
    weights_format=st.sampled_from(["bf16", "fp8", "int4_awq"]),
    typical_tokens=st.integers(1, 4000),
    maximum_tokens=st.integers(4000, 30_000),
    concurrency=st.floats(0, 200),
    headroom_fraction=st.floats(0, 0.5),
)
RUNTIMES = st.sampled_from([("vllm", "0.5"), ("vllm", "0.7"), ("vllm", "0.19"), ("vllm", None), ("sglang",
    None),
                            ("tensorrt_llm", None), ("llama_cpp", None)])  # fmt: skip
CARDS = st.sampled_from([RTX4090, L40S, A100, H100, card(8.0)])


@given(MODELS, NEEDS, RUNTIMES, CARDS, st.integers(0, 20_000), st.floats(0, 500))
def test_more_tokens_or_requests_never_need_less(arch, need, name, device, tokens, requests) -> None:  # type: ignore[no-untyped-def]
    runtime = engine(*name)
    smaller = split(arch, need, runtime, device, Layout())
    longer = replace(
        need, typical_tokens=need.typical_tokens + tokens, maximum_tokens=need.maximum_tokens + tokens
    )
    busier = replace(need, concurrency=need.concurrency + requests)
    for other in (longer, busier):
        larger = split(arch, other, runtime, device, Layout())
        assert larger.needed_bytes >= smaller.needed_bytes
        assert larger.kv_room_bytes <= smaller.kv_room_bytes


@given(MODELS, NEEDS, RUNTIMES, st.integers(0, 8000), st.floats(0, 100))
def test_what_fits_still_fits_with_less_asked(arch, need, name, tokens, requests) -> None:  # type: ignore[no-untyped-def]
    runtime = engine(*name)
    assume(verdict(split(arch, need, runtime, H100, Layout())) == "fits")
    less = replace(
        need,
        typical_tokens=max(1, need.typical_tokens - tokens),
        maximum_tokens=max(1, need.maximum_tokens - tokens),
        concurrency=max(0.0, need.concurrency - requests),
    )
    assert verdict(split(arch, less, runtime, H100, Layout())) == "fits"


@given(MODELS, NEEDS, RUNTIMES, st.floats(0, 60))
def test_what_fits_a_card_fits_a_larger_one(arch, need, name, more) -> None:  # type: ignore[no-untyped-def]
    runtime = engine(*name)
    fixed = replace(need, batched_tokens=2048, sequences=256)
    assume(verdict(split(arch, fixed, runtime, L40S, Layout())) == "fits")
    assert verdict(split(arch, fixed, runtime, card(44.5 + more), Layout())) == "fits"


@given(MODELS, NEEDS, RUNTIMES, CARDS)
def test_the_parts_never_exceed_what_may_be_used(arch, need, name, device) -> None:  # type: ignore[no-untyped-def]
    found = split(arch, need, engine(*name), device, Layout())
    assert found.usable_bytes <= found.device_bytes
    parts = found.weights_bytes + found.activation_bytes + found.overhead_bytes
    if found.kv_room_bytes:
        assert parts + found.kv_room_bytes <= found.usable_bytes
    assert found.needed_bytes == parts + found.kv_needed_bytes
    assert found.concurrency_at_maximum <= max(found.concurrency_at_typical, 0)
