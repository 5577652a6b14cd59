"""Layers that are not plain attention: read from configs, counted by hand, hostile values refused by one error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing import kv_cache
from planner.sizing.architecture import (
    Absent,
    Architecture,
    ModelError,
    layer_parameters,
    parameter_count,
    tensors,
)
from planner.sizing.config_reader import ConfigError, UnsupportedArchitecture, parse, read, understand
from planner.sizing.config_text import FILE_BYTES_MAXIMUM
from planner.sizing.devices import Layout
from planner.sizing.families import FAMILIES
from tests.sizing.machines import engine

SMALL: dict[str, Any] = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 10,
                         "intermediate_size": 16, "num_key_value_heads": 1, "head_dim": 4}  # fmt: skip


def test_a_mamba_2_layer_by_hand() -> None:
    config = {**SMALL, "model_type": "nemotron_h", "hybrid_override_pattern": "M-", "mamba_num_heads": 4,
              "mamba_head_dim": 4, "n_groups": 2, "ssm_state_size": 8, "conv_kernel": 4}  # fmt: skip
    arch = understand(config).architecture
    inner, channels = 16, 16 + 2 * 2 * 8
    mixer = 8 * (inner + channels + 4) + channels * 4 + channels + 3 * 4 + inner + inner * 8
    assert layer_parameters(arch.layers[0], 8) == mixer + 8
    assert layer_parameters(arch.layers[1], 8) == 2 * 8 * 16 + 8
    assert parameter_count(arch) == mixer + 8 + 2 * 8 * 16 + 8 + 8 + 2 * 10 * 8


def test_a_gated_delta_net_layer_by_hand() -> None:
    config = {**SMALL, "model_type": "qwen3_5", "layer_types": ["linear_attention", "full_attention"],
              "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 4,
              "linear_value_head_dim": 2}  # fmt: skip
    arch = understand(config).architecture
    keys, values, mlp = 8, 8, 3 * 8 * 16 + 2 * 8
    linear = 8 * (2 * keys + 2 * values) + 8 * 2 * 4 + (2 * keys + values) * 4 + 2 * 4 + 2 + values * 8
    full = 8 * (2 * 8) + 2 * 8 * 4 + 8 * 8 + 2 * 4
    assert [layer_parameters(group, 8) for group in arch.layers] == [linear + mlp, full + mlp]


def test_an_indexer_and_a_layer_that_shares_one_by_hand() -> None:
    config = {**SMALL, "model_type": "glm_moe_dsa", "q_lora_rank": 6, "kv_lora_rank": 5, "qk_nope_head_dim": 3,
              "qk_rope_head_dim": 2, "v_head_dim": 4, "index_n_heads": 3, "index_head_dim": 4,
              "indexer_types": ["full", "shared"]}  # fmt: skip
    one, other = (layer_parameters(group, 8) for group in understand(config).architecture.layers)
    assert one - other == 6 * 3 * 4 + 8 * 4 + 2 * 4 + 8 * 3


def test_layers_without_attention_keep_no_cache() -> None:
    blocks = [{"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": 1}},
              {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1}}]  # fmt: skip
    config = {"model_type": "nemotron-nas", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
              "vocab_size": 10, "block_configs": blocks}  # fmt: skip
    arch = read(config)
    assert isinstance(arch.layers[1].attention, Absent)
    found = kv_cache.footprint(arch, "bf16", "bf16", Layout(), engine(), 512)
    assert found.pool_bytes_per_token == 2 * 4 * 2


@pytest.mark.parametrize("family", [name for name, found in FAMILIES.items() if found.not_sized])
def test_kinds_that_are_only_counted_are_refused_for_sizing_by_their_name(family: str) -> None:
    with pytest.raises(UnsupportedArchitecture) as caught:
        read({"model_type": family})
    assert caught.value.params["kind"] == FAMILIES[family].not_sized


def test_what_was_assumed_and_what_was_left_aside_is_named() -> None:
    found = understand({**SMALL, "model_type": "llama", "head_dim": None, "hyper_layers": 3, "rms_norm_eps": 1.0,
                        "adapter": {"rank": 3}, "pad_token_id": 7})  # fmt: skip
    assert found.left_aside == ("hyper_layers", "adapter")
    assert {item.key: item.value for item in found.assumed} == {"head_dim": 4, "tie_word_embeddings": 0}


def test_several_formats_in_one_checkpoint_are_named_as_not_understood() -> None:
    config = {**SMALL, "model_type": "llama", "quantization_config": {"quant_algo": "MIXED_PRECISION"}}
    assert "quantization_config" in understand(config).left_aside


def test_no_limit_of_time_steps_is_read_but_no_other_infinity() -> None:
    assert parse('{"time_step_limit": [0.0, Infinity]}') == {"time_step_limit": [0.0, None]}
    for text in ('{"a": [0.0, Infinity]}', '{"time_step_limit": [[NaN]]}', '{"time_step_limit": -Infinity}'):
        with pytest.raises(ConfigError) as caught:
            parse(text)
        assert caught.value.code == "config_not_finite"


def test_a_file_may_be_larger_than_what_is_pasted_but_not_without_end() -> None:
    text = json.dumps({"padding": "x" * 100_000})
    with pytest.raises(ConfigError):
        parse(text)
    assert parse(text, FILE_BYTES_MAXIMUM)
    with pytest.raises(ConfigError):
        parse(" " * (FILE_BYTES_MAXIMUM + 1), FILE_BYTES_MAXIMUM)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 40), st.floats(), st.text(max_size=8),
    st.lists(st.one_of(st.integers(-2, 130), st.sampled_from(["mamba", "full", "attention", "moe", "x"])), max_size=6),
    st.dictionaries(st.sampled_from(["kda_layers", "num_heads", "head_dim", "attention", "ffn"]), st.integers(-1, 9)),
)  # fmt: skip
KEYS = ("hybrid_override_pattern", "layers_block_type", "layer_types", "indexer_types", "compress_ratios",
        "linear_attn_config", "block_configs", "attn_layer_indices", "cross_attention_layers", "kv_lora_rank",
        "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "num_experts", "n_routed_experts",
        "num_experts_per_tok", "moe_intermediate_size", "mamba_num_heads", "mamba_head_dim", "ssm_state_size",
        "mamba_n_heads", "mamba_d_head", "mamba_d_state", "state_size", "index_n_heads", "index_head_dim",
        "vision_config", "sparse_attention_config", "attention_other_setting", "num_nextn_predict_layers",
        "o_groups", "o_lora_rank", "head_dim", "num_hidden_layers", "encoder_layers", "linear_num_key_heads",
        "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim", "hc_mult", "expert_layer_period",
        "mtp_hybrid_override_pattern", "decoder_ffn_dim", "quantization_config", "text_config")  # fmt: skip


@given(
    changes=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=14),
    family=st.sampled_from(sorted(FAMILIES)),
)
def test_any_values_give_a_model_of_any_family_or_one_kind_of_error(
    changes: dict[str, Any], family: str
) -> None:
    try:
        found = understand({**SMALL, "model_type": family, **changes})
    except ModelError:
        return
    assert isinstance(found.architecture, Architecture)
    assert (
        parameter_count(found.architecture)
        == sum(item.parameters for item in tensors(found.architecture))
        > 0
    )
    assert found.architecture.draft_parameters >= 0
