"""What model families have in common that their ``config.json`` does not say: biases, norms, gates.

Read off the published checkpoints' tensor lists; the parameter counts of those checkpoints hold it in place.
"""

from __future__ import annotations

from typing import Literal

from planner.sizing.quantities import Frozen


class Family(Frozen):
    """Defaults of one ``model_type``; a key of the config of the same meaning wins where it exists."""

    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: Literal["none", "head", "full"] = "none"
    sinks: bool = False
    norms: int = 2
    norm_bias: bool = False
    final_norms: int = 1
    gated: bool = True
    mlp_bias: bool = False
    tied: bool = False
    head_bias: bool = False
    learned_positions: bool = False
    positions_extra: int = 0
    moe_bias: bool = False
    router_bias: bool = False
    router_scales_hidden: bool = False
    shared_gate: bool = False
    experts_beside_dense: bool = False
    halved_intermediate: bool = False
    intermediate_factor: int | None = None
    shared_key_value_global: bool = False
    window_every: int | None = None
    """Every n-th layer is global, where the config only gives the window."""
    window_unless: str | None = None
    """The config key that must be true for a window to hold."""


FAMILIES: dict[str, Family] = {
    "llama": Family(),
    "mistral": Family(),
    "ministral": Family(),
    "ministral3": Family(),
    "mixtral": Family(),
    "internlm2": Family(),
    "baichuan": Family(),
    "granite": Family(tied=True),
    "exaone": Family(),
    "olmo": Family(norms=0, final_norms=0),
    "olmo2": Family(qk_norm="full"),
    "olmo3": Family(qk_norm="full", window_every=4),
    "phi3": Family(),
    "phi": Family(qkv_bias=True, output_bias=True, norms=1, norm_bias=True, gated=False, mlp_bias=True,
                  head_bias=True, intermediate_factor=4),
    "gptj": Family(norms=1, norm_bias=True, gated=False, mlp_bias=True, head_bias=True,
    intermediate_factor=4),
    "gpt_neox": Family(qkv_bias=True, output_bias=True, norm_bias=True, gated=False, mlp_bias=True),
    "gpt2": Family(qkv_bias=True, output_bias=True, norm_bias=True, gated=False, mlp_bias=True, tied=True,
                   learned_positions=True, intermediate_factor=4),
    "gpt_bigcode": Family(qkv_bias=True, output_bias=True, norm_bias=True, gated=False, mlp_bias=True,
    tied=True,
                          learned_positions=True, intermediate_factor=4),
    "starcoder2": Family(qkv_bias=True, output_bias=True, norm_bias=True, gated=False, mlp_bias=True,
    tied=True),
    "opt": Family(qkv_bias=True, output_bias=True, norm_bias=True, gated=False, mlp_bias=True, tied=True,
                  learned_positions=True, positions_extra=2),
    "falcon": Family(norms=1, norm_bias=True, gated=False, tied=True, intermediate_factor=4),
    "stablelm": Family(norm_bias=True),
    "nemotron": Family(norm_bias=True, gated=False),
    "cohere": Family(norms=1, tied=True),
    "cohere2": Family(norms=1, tied=True, window_every=4),
    "gemma": Family(tied=True),
    "gemma2": Family(norms=4, tied=True, window_every=2),
    "gemma3_text": Family(norms=4, qk_norm="head", tied=True, window_every=6),
    "gemma4_text": Family(norms=4, qk_norm="head", tied=True, window_every=6, experts_beside_dense=True,
                          router_scales_hidden=True, shared_key_value_global=True),
    "qwen": Family(qkv_bias=True, halved_intermediate=True),
    "qwen2": Family(qkv_bias=True, window_unless="use_sliding_window"),
    "qwen2_moe": Family(qkv_bias=True, shared_gate=True, window_unless="use_sliding_window"),
    "qwen3": Family(qk_norm="head", window_unless="use_sliding_window"),
    "qwen3_moe": Family(qk_norm="head", window_unless="use_sliding_window"),
    "glm4": Family(norms=4),
    "glm4_moe": Family(router_bias=True),
    "deepseek_v2": Family(),
    "deepseek_v3": Family(router_bias=True),
    "kimi_k2": Family(router_bias=True),
    "minimax_m2": Family(qk_norm="full", router_bias=True),
    "mimo": Family(qkv_bias=True, window_unless="use_sliding_window"),
    "mimo_v2_flash": Family(router_bias=True),
    "gpt_oss": Family(qkv_bias=True, output_bias=True, sinks=True, moe_bias=True, router_bias=True,
    window_every=2),
}  # fmt: skip
"""Families whose tensors are known one by one."""

WRAPPERS: dict[str, str] = {
    "gemma3": "gemma3_text",
    "gemma4": "gemma4_text",
    "mistral3": "mistral",
    "pixtral": "mistral",
    "llava": "llama",
    "llava_next": "llama",
    "kimi_vl": "deepseek_v3",
    "kimi_k25": "deepseek_v3",
    "qwen3_vl": "qwen3",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
}
"""Types that hold a language model of another family in ``text_config`` or are named after one."""

NOT_COVERED: dict[str, str] = {
    "llama4": "GQA+chunked-local",
    "llama4_text": "GQA+chunked-local",
    "mllama": "GQA+cross-attention",
    "deepseek_v32": "MLA+sparse-indexer(DSA)",
    "deepseek_v4": "compressed-sparse(CSA/HCA)+SWA",
    "glm_moe_dsa": "MLA+sparse-indexer(DSA)",
    "qwen3_next": "hybrid-GDN+GQA",
    "qwen3_5": "hybrid-GDN+GQA",
    "qwen3_5_moe": "hybrid-GDN+GQA",
    "kimi_linear": "hybrid-linear(KDA)+MLA",
    "jamba": "hybrid-Mamba1+GQA",
    "bamba": "hybrid-Mamba2+GQA",
    "nemotron_h": "hybrid-Mamba2+GQA",
    "granitemoehybrid": "hybrid-Mamba2+GQA",
    "falcon_h1": "hybrid-Mamba2+GQA",
    "zamba2": "hybrid-Mamba2+GQA",
    "nemotron-nas": "GQA (NAS)",
    "decilm": "GQA (NAS)",
    "mamba": "SSM (no KV cache)",
    "mamba2": "SSM (no KV cache)",
    "falcon_mamba": "SSM (no KV cache)",
    "rwkv": "SSM (no KV cache)",
    "minimax": "hybrid-linear+GQA",
    "whisper": "encoder-decoder MHA (self+cross)",
    "t5": "encoder-decoder MHA (self+cross)",
    "bart": "encoder-decoder MHA (self+cross)",
    "bert": "encoder (no KV cache)",
    "roberta": "encoder (no KV cache)",
    "xlm-roberta": "encoder (no KV cache)",
    "modernbert": "encoder (no KV cache)",
}
"""Types that are known by name, whose attention kind cannot be sized yet."""
