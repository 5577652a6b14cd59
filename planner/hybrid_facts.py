"""What tables of architectures leave out of models whose layers are of several kinds: numbers of their configs.

Read off the models' ``config.json`` where a row's source names one; elsewhere general knowledge, which the
published parameter counts hold in place.
"""

from __future__ import annotations

from typing import Any

NEMOTRON_9B = "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"
NEMOTRON_30B = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
NEMOTRON_56B = "M-M-M-M*" + "-M-M-M-M-M*" * 9 + "-M-M-M-M-M-"
NEMOTRON_120B = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"
SEARCHED_49B = (
    "8:2.625 5*8:5.25 2*-:2.625 3*8:5.25 -:3.28125 31*8:5.25 -:1.3125 2*-:2.625 -:1.3125 -:5.25 -:1.3125 "
    "-:2.625 3*-:1.3125 8:5.25 -:1.3125 2*-:1.0 -:1.3125 3*-:1.0 2*-:1.3125 2*-:0.5 2*-:1.0 2*-:0.5 -:1.0 "
    "2*-:0.5 9*8:5.25"
)
"""Layers of Nemotron Super 49B in order: times * query heads a KV head : multiple of the MLP; - = none."""


def searched(text: str) -> list[dict[str, Any]]:
    """``block_configs`` from runs of equal layers."""
    found: list[dict[str, Any]] = []
    for run in text.split():
        times, _, block = run.rpartition("*")
        shared, _, factor = block.partition(":")
        attention = {"no_op": True} if shared == "-" else {"n_heads_in_group": int(shared)}
        found += [{"attention": attention, "ffn": {"ffn_mult": float(factor)}}] * int(times or 1)
    return found


def _delta(value_heads: int, **more: Any) -> dict[str, Any]:
    return {
        "linear_num_key_heads": 16, "linear_num_value_heads": value_heads, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 4,
        "attn_output_gate": True, **more,
    }  # fmt: skip


QWEN_TOWER = {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "patch_size": 16,
              "num_position_embeddings": 2304, "deepstack_visual_indexes": []}  # fmt: skip


def _qwen35(kind: str, value_heads: int, **more: Any) -> dict[str, Any]:
    return _delta(value_heads, model_type=kind, vocab_size=248320, tie_word_embeddings=False,
                  mtp_num_hidden_layers=1, vision_config=QWEN_TOWER, **more)  # fmt: skip


def _mamba2(heads: int, state: int, groups: int = 8, head_dim: int = 64, **more: Any) -> dict[str, Any]:
    return {
        "model_type": "nemotron_h", "mamba_num_heads": heads, "mamba_head_dim": head_dim, "n_groups": groups,
        "ssm_state_size": state, "conv_kernel": 4, "use_conv_bias": True, **more,
    }  # fmt: skip


NEMOTRON_NANO = _mamba2(64, 128, hybrid_override_pattern=NEMOTRON_30B, n_routed_experts=128,
                        moe_shared_expert_intermediate_size=3712)  # fmt: skip
INDEXED = {"index_n_heads": 64, "index_head_dim": 128, "num_nextn_predict_layers": 1,
           "first_k_dense_replace": 3}  # fmt: skip
GLM5 = {"model_type": "glm_moe_dsa", **INDEXED, "index_n_heads": 32, "q_lora_rank": 2048,
        "qk_nope_head_dim": 192, "v_head_dim": 256}  # fmt: skip
V4 = {"model_type": "deepseek_v4", "index_n_heads": 64, "index_head_dim": 128, "num_nextn_predict_layers": 1,
      "o_lora_rank": 1024, "hc_mult": 4, "num_hash_layers": 3, "qk_rope_head_dim": 64,
      "sliding_window": 128}  # fmt: skip
MINIMAX_TOWER = {"hidden_size": 1280, "num_hidden_layers": 32, "intermediate_size": 5120, "patch_size": 14}
SEES = ["ForConditionalGeneration"]
WHISPER = {"model_type": "whisper", "max_source_positions": 1500, "max_target_positions": 448}

HYBRIDS: tuple[tuple[str, dict[str, Any]], ...] = (
    (r"Jamba-v0\.1", {"model_type": "jamba", "mamba_d_state": 16, "mamba_dt_rank": 256}),
    (r"bge-m3|multilingual-e5-large", {"model_type": "xlm-roberta", "type_vocab_size": 1}),
    (r"bge-small-en", {"model_type": "bert", "type_vocab_size": 2}),
    (r"DeepSeek-V3\.2", {"model_type": "deepseek_v32", **INDEXED, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
                         "v_head_dim": 128}),
    (r"DeepSeek-V4-Flash", {**V4, "q_lora_rank": 1024, "o_groups": 8, "index_topk": 512,
                            "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0]}),
    (r"DeepSeek-V4-Pro", {**V4, "q_lora_rank": 1536, "o_groups": 16,
                          "compress_ratios": [128, 128, *[4, 128] * 29, 4, 0]}),
    (r"Llama-3\.2-11B-Vision", {"model_type": "mllama", "architectures": SEES,
                                "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38]}),
    (r"Llama-4-Scout", {"model_type": "llama4", "architectures": SEES, "interleave_moe_layer_step": 1,
                        "intermediate_size_mlp": 16384, "n_shared_experts": 0}),
    (r"Llama-4-Maverick", {"model_type": "llama4", "architectures": SEES, "interleave_moe_layer_step": 2,
                           "intermediate_size_mlp": 16384, "n_shared_experts": 0}),
    (r"Kimi-K3", {"model_type": "kimi_k3", "first_k_dense_replace": 1, "q_lora_rank": 1536,
                  "qk_nope_head_dim": 128, "v_head_dim": 128, "mla_use_output_gate": True,
                  "routed_expert_hidden_size": 3584, "latent_moe_use_norm": True,
                  "linear_attn_config": {"num_heads": 96, "head_dim": 128, "use_full_rank_gate": True,
                                         "kda_layers": [n for n in range(1, 93) if n % 4]},
                  "vision_config": {"vt_hidden_size": 1024, "vt_num_hidden_layers": 27,
                                    "vt_intermediate_size": 4096, "qkv_hidden_size": 1536}}),
    (r"Kimi-Linear", {"model_type": "kimi_linear", "first_k_dense_replace": 1, "q_lora_rank": None,
                      "qk_nope_head_dim": 128, "v_head_dim": 128,
                      "linear_attn_config": {"num_heads": 32, "head_dim": 128,
                                             "kda_layers": [n for n in range(1, 27) if n % 4]}}),
    (r"Bamba-9B", {"model_type": "bamba", "attn_layer_indices": [9, 18, 27], "mamba_n_heads": 128,
                   "mamba_d_head": 64, "mamba_n_groups": 1, "mamba_d_state": 256}),
    (r"Nemotron-H-56B", _mamba2(256, 256, hybrid_override_pattern=NEMOTRON_56B)),
    (r"Nemotron-Nano-9B-v2", _mamba2(128, 128, head_dim=80, hybrid_override_pattern=NEMOTRON_9B)),
    (r"Nemotron-3(-Nano|\.5-Lightning)-30B", NEMOTRON_NANO),
    (r"Nemotron-3-Super-120B", _mamba2(
        128, 128, hybrid_override_pattern=NEMOTRON_120B, mtp_hybrid_override_pattern="*E",
        num_nextn_predict_layers=1, n_routed_experts=512, moe_latent_size=1024,
        moe_shared_expert_intermediate_size=5376)),
    (r"Nemotron-Super-49B", {"model_type": "nemotron-nas", "block_configs": searched(SEARCHED_49B)}),
    (r"Qwen3-Next-80B", _delta(32, model_type="qwen3_next", shared_expert_intermediate_size=512)),
    (r"Qwen3\.5-122B-A10B", _qwen35("qwen3_5_moe", 64)),
    (r"Qwen3\.5-397B-A17B", _qwen35("qwen3_5_moe", 64)),
    (r"Qwen3\.[56]-35B-A3B", _qwen35("qwen3_5_moe", 32, moe_intermediate_size=512)),
    (r"Qwen3\.5-9B", _qwen35("qwen3_5", 32, hidden_size=4096, intermediate_size=12288, num_attention_heads=16)),
    (r"Qwen3\.[568]-27B", _qwen35("qwen3_5", 48, intermediate_size=17408)),
    (r"GLM-5\.2", {**GLM5, "indexer_types": ["full" if n < 3 or n % 4 == 2 else "shared" for n in range(78)]}),
    (r"GLM-5", GLM5),
    (r"MiniMax-M3", {"model_type": "minimax_m3_vl", "vision_config": MINIMAX_TOWER,
                     "first_k_dense_replace": 3, "dense_intermediate_size": 12288,
                     "sparse_attention_config": {"sparse_num_index_heads": 4, "sparse_index_dim": 128,
                                                 "sparse_attention_freq": [0, 0, 0] + [1] * 57}}),
    (r"whisper-large-v3$", {**WHISPER, "encoder_layers": 32, "decoder_layers": 32, "encoder_ffn_dim": 5120,
                            "decoder_ffn_dim": 5120, "num_mel_bins": 128}),
    (r"mamba-2\.8b", {"model_type": "mamba", "state_size": 16, "time_step_rank": 160, "expand": 2}),
    (r"bitnet", {"model_type": "bitnet"}),
)  # fmt: skip
"""The first pattern found in a model's id gives its family and what the table lacks."""
