from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing import weights
from planner.sizing.architecture import Grouped, Latent, ModelError, Moe, parameter_count
from planner.sizing.config_reader import ConfigError, UnsupportedArchitecture, parse, read
from planner.sizing.devices import Layout

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
    "max_position_embeddings": 131072, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip


def refused(config: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read(config)
    return caught.value


def outcome(work: Callable[[], Any]) -> Any:
    """What the work gives, or its one kind of error; any other error passes through."""
    try:
        return work()
    except ModelError as problem:
        return problem


def test_a_llama_config_gives_the_published_parameter_count() -> None:
    arch = read(LLAMA)
    assert parameter_count(arch) == 8_030_261_248
    assert (arch.attention_kind, arch.stored_format, arch.max_position) == ("GQA", "bf16", 131072)


def test_text_and_bytes_and_a_byte_order_mark_are_read_alike() -> None:
    text = json.dumps(LLAMA)
    assert read(text) == read(text.encode()) == read(b"\xef\xbb\xbf" + text.encode()) == read(LLAMA)


def test_head_dim_is_taken_as_given_not_from_the_hidden_size() -> None:
    arch = read({**LLAMA, "model_type": "qwen3", "head_dim": 256})
    attention = arch.layers[0].attention
    assert isinstance(attention, Grouped)
    assert attention.head_dim == 256
    assert attention.qk_norm == "head"


def test_qwen2_has_biases_on_query_key_and_value() -> None:
    plain, biased = read(LLAMA), read({**LLAMA, "model_type": "qwen2"})
    assert parameter_count(biased) - parameter_count(plain) == 32 * (4096 + 2 * 1024)


def test_a_nested_text_config_is_read_and_its_vision_tower_counted() -> None:
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34,
        "num_attention_heads": 8,
            "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 10240, "vocab_size": 262208,
            "sliding_window": 1024, "sliding_window_pattern": 6}  # fmt: skip
    vision = {"hidden_size": 1152, "num_hidden_layers": 27, "intermediate_size": 4304, "patch_size": 14,
              "image_size": 896}  # fmt: skip
    arch = read({"model_type": "gemma3", "text_config": text, "vision_config": vision})
    assert parameter_count(arch) == 4_300_079_472
    windows = {group.attention.window: group.count for group in arch.layers}
    assert windows == {1024: 29, None: 5}


def test_deepseek_v3_is_read_with_dense_first_layers_and_latent_attention() -> None:
    arch = read(
        {"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
        "num_attention_heads": 128,
         "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256,
         "n_shared_experts": 1,
         "num_experts_per_tok": 8, "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512,
         "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
         "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    )  # fmt: skip
    assert parameter_count(arch) == pytest.approx(671e9, rel=0.001)
    assert [group.count for group in arch.layers] == [3, 58]
    assert isinstance(arch.layers[1].attention, Latent)
    assert isinstance(arch.layers[1].mlp, Moe)
    assert arch.stored_format == "fp8"


def test_layer_types_say_which_layers_have_a_window() -> None:
    types = ["sliding_attention", "full_attention"] * 16
    arch = read({**LLAMA, "model_type": "mistral", "sliding_window": 4096, "layer_types": types})
    assert {group.attention.window: group.count for group in arch.layers} == {4096: 16, None: 16}
    assert arch.attention_kind == "GQA+SWA-hybrid"


def test_a_window_that_qwen_does_not_use_does_not_count() -> None:
    arch = read({**LLAMA, "model_type": "qwen2", "sliding_window": 131072, "use_sliding_window": False})
    assert arch.layers[0].attention.window is None


@pytest.mark.parametrize(
    ("quantised", "stored", "kv"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4_awq", None),
        ({"quant_method": "gptq", "bits": 4}, "int4_gptq", None),
        ({"quant_method": "gptq", "bits": 8}, "int8", None),
        ({"quant_method": "mxfp4"}, "mxfp4", None),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}, "nvfp4", "fp8"),
        ({"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8},
          "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}}, "fp8", "fp8"),
        ({"quant_method": "compressed-tensors",
          "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int"}}}}, "int4_gptq", None),
        ("nonsense", "bf16", None),
        ({"quant_method": {"a": 1}}, "bf16", None),
    ],
)  # fmt: skip
def test_the_stored_format_is_what_the_quantization_config_says(
    quantised: Any, stored: str, kv: str | None
) -> None:
    arch = read({**LLAMA, "quantization_config": quantised})
    assert (arch.stored_format, arch.stored_kv_format) == (stored, kv)


def test_modules_that_are_not_converted_weigh_16_bits() -> None:
    plain = read({**LLAMA, "quantization_config": {"quant_method": "fbgemm_fp8"}})
    listed = [f"model.layers.{n}.self_attn.q_proj" for n in range(32)]
    kept = read(
        {**LLAMA, "quantization_config": {"quant_method": "fbgemm_fp8", "modules_to_not_convert": listed}}
    )
    assert (plain.stored_kept, kept.stored_kept) == ((), ("attention",))
    pattern = read({**LLAMA, "quantization_config": {"quant_method": "fp8", "ignore": ["re:.*self_attn.*"]}})
    assert pattern.stored_kept == ("attention",)
    few = read({**LLAMA, "quantization_config": {"quant_method": "fp8", "ignore": listed[:3] + ["lm_head"]}})
    assert few.stored_kept == ()
    attention = 32 * (2 * 4096 * 4096 + 2 * 1024 * 4096)
    more = [weights.footprint(one, "fp8", Layout()).resident_bytes for one in (plain, kept)]
    assert more[1] - more[0] == pytest.approx(attention, rel=0.001)
    # In another format than it is stored in, the checkpoint is another one.
    assert weights.footprint(kept, "int8", Layout()) == weights.footprint(plain, "int8", Layout())


def test_groups_of_an_odd_size_have_bits_of_their_own() -> None:
    arch = read({**LLAMA, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32}})
    assert arch.stored_linear_bits == 4 + 20 / 32
    usual = read({**LLAMA, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}})
    assert usual.stored_linear_bits is None
    wider, narrower = (weights.footprint(one, "int4_gptq", Layout()).resident_bytes for one in (arch, usual))
    assert wider > narrower
    for odd in (-1, 0, True, "32", 10**9, None, [32]):
        found = read({**LLAMA, "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": odd}})
        assert found.stored_linear_bits is None


@pytest.mark.parametrize("key", ["num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size",
                                 "intermediate_size", "num_key_value_heads",
                                 "max_position_embeddings"])  # fmt: skip
@pytest.mark.parametrize("value", [10**9 + 1, 10**18, -1, 0, 1e308, 3.5, "80", [1], {}, True, 10**400])
def test_an_impossible_number_is_refused_naming_key_and_range(key: str, value: Any) -> None:
    problem = refused({**LLAMA, key: value})
    assert problem.params["key"] == key
    assert isinstance(problem.params["low"], int)
    assert isinstance(problem.params["high"], int)


@pytest.mark.parametrize("key", ["num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size",
                                 "intermediate_size"])  # fmt: skip
def test_a_missing_number_is_refused_by_its_key(key: str) -> None:
    problem = refused({name: value for name, value in LLAMA.items() if name != key})
    assert (problem.code, problem.params["key"]) == ("config_missing_key", key)


def test_more_kv_heads_than_heads_are_refused() -> None:
    assert refused({**LLAMA, "num_key_value_heads": 64}).params["key"] == "num_key_value_heads"
    assert refused({**LLAMA, "num_key_value_heads": 5}).params["key"] == "num_key_value_heads"


def test_heads_that_cannot_be_shared_are_told_with_both_numbers() -> None:
    problem = refused({**LLAMA, "num_attention_heads": 15, "num_key_value_heads": 4})
    assert (problem.code, problem.params["heads"], problem.params["kv_heads"]) == (
        "config_heads_not_shared",
        15,
        4,
    )
    assert problem.faults == ()


def told(problem: ConfigError) -> set[tuple[str, object]]:
    return {(fault.code, fault.params.get("key")) for fault in problem.faults}


def test_every_fault_is_told_at_once() -> None:
    config: dict[str, Any] = {
        **LLAMA, "num_attention_heads": 15, "num_key_value_heads": 4, "tie_word_embeddings": "yes",
        "intermediate_size": 10**9,
    }  # fmt: skip
    del config["vocab_size"]
    problem = refused(config)
    assert told(problem) == {
        ("config_heads_not_shared", "num_key_value_heads"), ("config_out_of_range", "intermediate_size"),
        ("config_missing_key", "vocab_size"), ("config_wrong_type", "tie_word_embeddings"),
    }  # fmt: skip
    assert problem.code == problem.faults[0].code
    nested = {"model_type": "gemma3", "text_config": {**config, "model_type": "gemma3_text"}}
    assert told(refused(nested)) >= told(problem) - {("config_wrong_type", "tie_word_embeddings")}


def test_what_hangs_on_a_missing_number_is_not_called_a_fault() -> None:
    config = {**LLAMA, "num_key_value_heads": 5}
    del config["num_attention_heads"], config["hidden_size"]
    assert told(refused(config)) == {
        ("config_missing_key", "hidden_size"), ("config_missing_key", "num_attention_heads")
    }  # fmt: skip


def test_more_experts_for_a_token_than_there_are_is_refused() -> None:
    config = {**LLAMA, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 9}
    assert refused(config).params["key"] == "num_experts_per_tok"
    assert refused({**config, "num_local_experts": 10**9}).params["key"] == "num_local_experts"


def test_a_model_of_a_billion_gigabytes_is_refused_though_each_number_passes() -> None:
    huge = {**LLAMA, "hidden_size": 200_000, "num_hidden_layers": 2000, "intermediate_size": 2_000_000}
    assert refused(huge).code == "config_too_many_parameters"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("", "config_not_json", id="empty"),
        pytest.param("null", "config_not_object", id="null"),
        pytest.param("[]", "config_not_object", id="list"),
        pytest.param('"llama"', "config_not_object", id="text"),
        pytest.param('{"a": 1', "config_not_json", id="broken"),
        pytest.param('{"a": 1,}', "config_not_json", id="trailing comma"),
        pytest.param('{"a": 1} {"b": 2}', "config_not_json", id="two documents"),
        pytest.param('{"a": NaN}', "config_not_finite", id="NaN"),
        pytest.param('{"a": Infinity}', "config_not_finite", id="infinity"),
        pytest.param('{"a": 1, "a": 2}', "config_duplicate_key", id="duplicate key"),
        pytest.param("[" * 100_000, "config_too_large", id="100,000 deep"),
        pytest.param("[" * 60_000, "config_too_deep", id="60,000 deep"),
        pytest.param('{"a":' * 9_000 + "1" + "}" * 9_000, "config_too_deep", id="9,000 objects deep"),
        pytest.param('{"a": "' + "x" * 50_000_000 + '"}', "config_too_large", id="50 MB"),
        pytest.param('{"hidden_size": ' + "9" * 5_000 + "}", "config_not_json", id="5,000 digits"),
        pytest.param(
            "{" + ",".join(f'"k{n}": 1' for n in range(300_000)) + "}", "config_too_large", id="300,000 keys"
        ),
        pytest.param(
            "{" + ",".join(f'"{n}":1' for n in range(6_000)) + "}", "config_too_large", id="6,000 keys"
        ),
    ],
)
def test_a_hostile_text_is_refused_by_its_kind(text: str, code: str) -> None:
    assert refused(text).code == code


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le"])
def test_another_encoding_is_refused(encoding: str) -> None:
    assert refused(json.dumps({**LLAMA, "note": "日本"}).encode(encoding)).code in (
        "config_encoding",
        "config_not_json",
    )
    assert refused('{"名": "日本"}'.encode("shift_jis")).code == "config_encoding"


def test_a_deep_or_infinite_value_in_an_object_is_refused_too() -> None:
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(100_000):
        inner["a"] = {}
        inner = inner["a"]
    assert refused(deep).code == "config_too_deep"
    assert refused({**LLAMA, "rope_theta": float("inf")}).code == "config_not_finite"
    assert refused({**LLAMA, "text_config": [1]}).code == "config_wrong_type"


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"model_type": "whisper"}, "encoder-decoder MHA (self+cross)"),
        ({"model_type": "bert"}, "encoder (no KV cache)"),
        ({"model_type": "zamba2"}, "hybrid-Mamba2+GQA"),
        ({"model_type": "mystery"}, None),
        ({"architectures": ["../../etc/passwd"]}, None),
    ],
)
def test_an_uncovered_kind_is_refused_by_its_name(config: dict[str, Any], kind: str | None) -> None:
    with pytest.raises(UnsupportedArchitecture) as caught:
        read({**config, "auto_map": {"AutoModel": "evil.Model"}})
    assert caught.value.params["kind"] == kind
    assert "<" not in str(caught.value)


def test_markup_in_a_name_is_not_repeated() -> None:
    problem = refused({"model_type": "<script>alert(1)</script>"})
    assert "<" not in str(problem)


def test_an_unknown_layer_type_is_refused() -> None:
    config = {**LLAMA, "sliding_window": 10, "layer_types": ["chunked_attention"] * 32}
    assert refused(config).code == "unsupported_architecture"
    assert refused({**config, "layer_types": ["full_attention"] * 3}).params["key"] == "layer_types"
    assert refused({**config, "layer_types": [1] * 32}).params["key"] == "layer_types"


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from([*LLAMA, "head_dim", "layer_types", "sliding_window", "text_config", "vision_config",
                        "num_experts", "num_experts_per_tok", "kv_lora_rank", "first_k_dense_replace",
                        "moe_layer_freq", "mlp_only_layers", "attention_bias", "quantization_config",
                        "vision_feature_layer", "hybrid_layer_pattern"])  # fmt: skip


@given(
    st.dictionaries(KEYS, JSON, max_size=4), st.sampled_from(["llama", "qwen2", "deepseek_v3", "qwen3_vl"])
)
def test_any_values_give_an_architecture_or_one_kind_of_error(changes: dict[str, Any], family: str) -> None:
    arch = outcome(lambda: read({**LLAMA, "model_type": family, **changes}))
    if isinstance(arch, ModelError):
        assert arch.code
        assert str(arch)
    else:
        assert weights.footprint(arch, "bf16", Layout()).resident_bytes > 0


@given(st.text(max_size=200))
def test_any_text_is_an_object_or_one_kind_of_error(text: str) -> None:
    found = outcome(lambda: parse(text))
    assert isinstance(found, dict) or found.code.startswith("config_")
