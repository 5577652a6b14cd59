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
    attention_output_norm: bool = False
    mlp_norm: bool = False
    pooler: bool = False
    """An encoder: token types, a norm of the embeddings and a pooler; no head."""
    extra_tokens: int = 0
    """Rows of the embedding beyond the vocabulary."""
    draft: Literal["none", "layer", "layer_and_vocabulary"] = "none"
    """What the checkpoint holds for drafting tokens: layers, or layers with a copy of embedding and head."""
    draft_default: int = 0
    """Draft layers where the config does not count them."""
    kind: str | None = None
    """What its layers are called, where that is not plain attention."""
    not_sized: str | None = None
    """The kind of its layers, where parameters are counted but memory of a sequence is not yet."""


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
    "glm4_moe": Family(router_bias=True, draft="layer_and_vocabulary"),
    "deepseek_v2": Family(),
    "deepseek_v3": Family(router_bias=True, draft="layer_and_vocabulary"),
    "kimi_k2": Family(router_bias=True, draft="layer_and_vocabulary"),
    "minimax_m2": Family(qk_norm="full", router_bias=True),
    "mimo": Family(qkv_bias=True, window_unless="use_sliding_window", draft="layer"),
    "mimo_v2_flash": Family(router_bias=True),
    "gpt_oss": Family(qkv_bias=True, output_bias=True, sinks=True, moe_bias=True, router_bias=True,
    window_every=2),
    "bitnet": Family(tied=True, attention_output_norm=True, mlp_norm=True),
    "nemotron_nas": Family(),
    "step3p7": Family(qk_norm="head", router_bias=True),
    "minimax_m3": Family(qk_norm="head", router_bias=True, kind="GQA+sparse-indexer"),
    "llama4": Family(kind="GQA+chunked-local"),
    "mllama": Family(extra_tokens=8, kind="GQA+cross-attention"),
    "deepseek_v32": Family(router_bias=True, draft="layer_and_vocabulary",
                           kind="MLA+sparse-indexer(DSA)"),
    "glm_moe_dsa": Family(router_bias=True, draft="layer", kind="MLA+sparse-indexer(DSA)"),
    "deepseek_v4": Family(router_bias=True, draft="layer", kind="compressed-sparse(CSA/HCA)+SWA"),
    "qwen3_next": Family(qk_norm="head", shared_gate=True, draft="layer", draft_default=1,
                         kind="hybrid-GDN+GQA"),
    "qwen3_5": Family(qk_norm="head", draft="layer", kind="hybrid-GDN+GQA"),
    "qwen3_5_moe": Family(qk_norm="head", shared_gate=True, draft="layer", kind="hybrid-GDN+GQA"),
    "kimi_linear": Family(router_bias=True, kind="hybrid-linear(KDA)+MLA"),
    "nemotron_h": Family(gated=False, draft="layer", kind="hybrid-Mamba2+GQA"),
    "bamba": Family(kind="hybrid-Mamba2+GQA"),
    "granitemoehybrid": Family(tied=True, kind="hybrid-Mamba2+GQA"),
    "jamba": Family(kind="hybrid-Mamba1+GQA"),
    "mamba": Family(tied=True, kind="SSM (no KV cache)"),
    "falcon_mamba": Family(kind="SSM (no KV cache)"),
    "mamba2": Family(kind="SSM (no KV cache)"),
    "whisper": Family(qkv_bias=True, output_bias=True, norm_bias=True, gated=False, mlp_bias=True, tied=True,
                      learned_positions=True, not_sized="encoder-decoder MHA (self+cross)"),
    "bert": Family(qkv_bias=True, output_bias=True, norm_bias=True, gated=False, mlp_bias=True, tied=True,
                   final_norms=0, learned_positions=True, pooler=True, not_sized="encoder (no KV cache)"),
    "xlm_roberta": Family(qkv_bias=True, output_bias=True, norm_bias=True, gated=False, mlp_bias=True,
                          tied=True, final_norms=0, learned_positions=True, pooler=True,
                          not_sized="encoder (no KV cache)"),
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
    "minimax_m3_vl": "minimax_m3",
    "kimi_k3": "kimi_linear",
    "llama4_text": "llama4",
    "mllama_text_model": "mllama",
    "qwen3_5_text": "qwen3_5",
    "qwen3_5_moe_text": "qwen3_5_moe",
    "nemotron-nas": "nemotron_nas",
    "decilm": "nemotron_nas",
    "xlm-roberta": "xlm_roberta",
    "roberta": "xlm_roberta",
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
    "falcon_h1": "hybrid-Mamba2+GQA",
    "zamba2": "hybrid-Mamba2+GQA",
    "minimax": "hybrid-linear+GQA",
    "rwkv": "SSM (no KV cache)",
    "t5": "encoder-decoder MHA (self+cross)",
    "bart": "encoder-decoder MHA (self+cross)",
    "modernbert": "encoder (no KV cache)",
}
"""Types that are known by name, whose tensors are not."""
