"""From rows of model facts to architectures: what a table of architectures leaves out, filled by family.

Used by the command that makes the shipped seed; the table's columns say shapes, this file says which family
a model belongs to and the few numbers of it that no table column holds (read off the models'
``config.json``).
"""

from __future__ import annotations

import re
from typing import Any

from planner.hybrid_facts import HYBRIDS
from planner.sizing.architecture import Architecture, ModelError, Tower
from planner.sizing.config_reader import understand
from planner.sizing.formats import Group

QWEN3_VISION = {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "patch_size": 16,
                "num_position_embeddings": 2304, "deepstack_visual_indexes": [8, 16, 24]}  # fmt: skip
QWEN3_VISION_SMALL = {"depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "patch_size": 16,
                      "num_position_embeddings": 2304, "deepstack_visual_indexes": [5, 11, 17]}  # fmt: skip
SIGLIP = {"hidden_size": 1152, "num_hidden_layers": 27, "intermediate_size": 4304, "patch_size": 14,
          "image_size": 896}  # fmt: skip
PIXTRAL = {"hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096, "patch_size": 14}
SIGLIP_384 = {**SIGLIP, "image_size": 384}
MOONVIT = {"hidden_size": 1152, "num_hidden_layers": 27, "intermediate_size": 4304, "patch_size": 14,
           "image_size": 896}  # fmt: skip
LATENT = {"qk_nope_head_dim": 128, "v_head_dim": 128}

EXTRA: tuple[tuple[str, dict[str, Any]], ...] = (
    (r"Llama-2-", {"model_type": "llama", "max_position_embeddings": 4096}),
    (r"Nemotron-Ultra-253B", {"model_type": "nemotron-nas"}),
    (r"Yi-|huggyllama|CodeLlama|Meta-Llama|Llama-3|DeepSeek-R1-Distill-Llama|TinyLlama|SmolLM|Falcon3|"
     r"Baichuan|TriLM", {"model_type": "llama"}),
    (r"OLMo-2|OLMo2", {"model_type": "olmo2"}),
    (r"Olmo-3", {"model_type": "olmo3"}),
    (r"OLMo-7B", {"model_type": "olmo"}),
    (r"bigcode/starcoder$", {"model_type": "gpt_bigcode"}),
    (r"starcoder2", {"model_type": "starcoder2"}),
    (r"aya-23|c4ai-command-r-", {"model_type": "cohere"}),
    (r"command-r7b", {"model_type": "cohere2"}),
    (r"DeepSeek-V2-Lite|DeepSeek-Coder-V2-Lite",
     {"model_type": "deepseek_v2", **LATENT, "first_k_dense_replace": 1, "q_lora_rank": None}),
    (r"DeepSeek-V2\.5|DeepSeek-Coder-V2-Instruct",
     {"model_type": "deepseek_v2", **LATENT, "first_k_dense_replace": 1, "q_lora_rank": 1536}),
    (r"DeepSeek-(R1|V3|V3\.1-NVFP4)$",
     {"model_type": "deepseek_v3", **LATENT, "first_k_dense_replace": 3, "q_lora_rank": 1536,
      "num_nextn_predict_layers": 1}),
    (r"Kimi-K2\.", {"model_type": "kimi_k25", **LATENT, "first_k_dense_replace": 1, "q_lora_rank": 1536,
                    "vision_config": MOONVIT}),
    (r"Kimi-K2", {"model_type": "kimi_k2", **LATENT, "first_k_dense_replace": 1, "q_lora_rank": 1536}),
    (r"Kimi-VL", {"model_type": "kimi_vl", **LATENT, "first_k_dense_replace": 1, "q_lora_rank": None,
                 "vision_config": MOONVIT}),
    (r"gpt-j", {"model_type": "gptj"}),
    (r"pythia", {"model_type": "gpt_neox"}),
    (r"/opt-", {"model_type": "opt"}),
    (r"gemma-2-", {"model_type": "gemma2"}),
    (r"gemma-2b|gemma-7b", {"model_type": "gemma"}),
    (r"gemma-3-1b", {"model_type": "gemma3_text"}),
    (r"gemma-3-(4|12|27)b", {"model_type": "gemma3", "vision_config": SIGLIP}),
    (r"gemma-4-31b", {"model_type": "gemma4", "intermediate_size": 21504, "vocab_size": 262144,
                      "tie_word_embeddings": True}),
    (r"[Gg]emma-4", {"model_type": "gemma4"}),
    (r"granite-vision", {"model_type": "llava_next", "text_config": {"model_type": "granite"},
                         "vision_config": SIGLIP_384, "vision_feature_layer": [-24, -20, -12, -1]}),
    (r"granite", {"model_type": "granite"}),
    (r"internlm2", {"model_type": "internlm2"}),
    (r"phi-1_5|phi-2", {"model_type": "phi"}),
    (r"Phi-3-mini-128k|Phi-3\.5-mini", {"model_type": "phi3", "sliding_window": 262144}),
    (r"Phi-3|Phi-4|phi-4", {"model_type": "phi3"}),
    (r"MiniMax-M2", {"model_type": "minimax_m2"}),
    (r"Mistral-Small-3\.[12]", {"model_type": "mistral3", "vision_config": PIXTRAL}),
    (r"Ministral-3-", {"model_type": "mistral3", "vision_config": PIXTRAL}),
    (r"Pixtral", {"model_type": "pixtral", "vision_config": PIXTRAL}),
    (r"Mixtral", {"model_type": "mixtral"}),
    (r"Mistral-7B-v0\.1", {"model_type": "mistral", "max_position_embeddings": 32768}),
    (r"Codestral|Mistral", {"model_type": "mistral"}),
    (r"nemotron-3-8b", {"model_type": "nemotron"}),
    (r"gpt-oss", {"model_type": "gpt_oss"}),
    (r"Qwen/Qwen-", {"model_type": "qwen"}),
    (r"Qwen1\.5-MoE|Qwen2-57B", {"model_type": "qwen2_moe"}),
    (r"Qwen2|QwQ|Kimi-Dev", {"model_type": "qwen2"}),
    (r"Qwen3-VL-(2|4)B", {"model_type": "qwen3_vl", "vision_config": QWEN3_VISION_SMALL}),
    (r"Qwen3-VL-\d+B-A", {"model_type": "qwen3_vl_moe", "vision_config": QWEN3_VISION}),
    (r"Qwen3-VL", {"model_type": "qwen3_vl", "vision_config": QWEN3_VISION}),
    (r"Qwen3-(\d+B-A|Coder)", {"model_type": "qwen3_moe"}),
    (r"Qwen3-", {"model_type": "qwen3"}),
    (r"stablelm", {"model_type": "stablelm"}),
    (r"GLM-Z1", {"model_type": "glm4"}),
    (r"GLM-4\.5-Air", {"model_type": "glm4_moe", "first_k_dense_replace": 1, "attention_bias": True,
                       "num_nextn_predict_layers": 1}),
    (r"GLM-4\.5", {"model_type": "glm4_moe", "first_k_dense_replace": 3, "attention_bias": True,
                   "use_qk_norm": True, "num_nextn_predict_layers": 1}),
    (r"falcon-7b", {"model_type": "falcon", "multi_query": True}),
    (r"falcon-", {"model_type": "falcon", "new_decoder_architecture": True}),
    (r"MiMo-7B", {"model_type": "mimo", "num_nextn_predict_layers": 1}),
    (r"MiMo-V2-Flash", {"model_type": "mimo_v2_flash", "v_head_dim": 128, "swa_num_key_value_heads": 8,
                        "first_k_dense_replace": 1, "add_swa_attention_sink_bias": True}),
)  # fmt: skip
"""The first pattern found in a model's id gives its family and what the table lacks."""

STORED: tuple[tuple[str, str], ...] = (
    (r"NVFP4", "nvfp4"),
    (r"gpt-oss", "mxfp4"),
    (r"FP8", "fp8"),
    (r"deepseek-ai/DeepSeek-V4", "mxfp4"),
    (r"DeepSeek-(R1|V3)$|Kimi-K2-Instruct|MiniMax-M2", "fp8"),
    (r"Kimi-K2\.", "int4_gptq"),
)
"""The format a checkpoint of that name is published in; 16 bits where no pattern is found."""

KEPT: tuple[tuple[str, tuple[Group, ...], float | None], ...] = (
    (r"Llama-3\.1-405B(-Instruct)?-FP8$", ("attention",), None),
    (r"Gemma-4-26B-A4B-NVFP4", ("attention", "mlp"), None),
    (r"(Gemma-4-31B-IT|MiniMax-M2\.[57])-NVFP4", ("attention",), None),
    (r"Kimi-K2\.\d(?!.*NVFP4)", ("attention", "mlp"), 4 + 16 / 32),
)
"""What published checkpoints leave at 16 bits, and bits of odd group sizes: read off their packed counts, and
off the config of Kimi-K2.5 (experts only, symmetric groups of 32). Meta's FP8 checkpoints quantise the MLP alone
(model card of Llama 3.1)."""

BUILT_ON: dict[str, tuple[str, Tower]] = {
    "OpenGVLab/InternVL2_5-8B-MPO": (
        "internlm/internlm2_5-7b-chat",
        Tower(name="vision_tower", parameters=337_592_320,
              source="model card of InternVL2.5-8B: InternViT-300M-448px (304,012,288), two layers of 4096, a norm"),
    ),
}  # fmt: skip
"""Models that are a shipped language model with an encoder beside it, as their cards say."""

SECOND: tuple[tuple[str, tuple[tuple[Group, float], ...]], ...] = (
    (r"deepseek-ai/DeepSeek-V4", (("attention", 8.0), ("mlp", 8.0))),
)
"""Groups that a checkpoint stores in a second format: DeepSeek V4's config declares FP8, and FP4 for the experts
alone (``expert_dtype``); a vLLM log of the Flash model says 148.66 GiB with its draft layer, this sums to 148.3."""

COLUMNS = {
    "layers": "num_hidden_layers", "hidden": "hidden_size", "intermediate": "intermediate_size",
    "heads": "num_attention_heads", "kv_heads": "num_key_value_heads", "head_dim": "head_dim",
    "vocab": "vocab_size",
    "kv_lora_rank": "kv_lora_rank", "qk_rope_head_dim": "qk_rope_head_dim", "experts": "num_experts",
    "experts_per_token": "num_experts_per_tok", "moe_intermediate": "moe_intermediate_size",
    "max_position": "max_position_embeddings", "sliding_window": "sliding_window",
}  # fmt: skip
COVERED = ("MHA", "GQA", "MQA", "MLA", "GQA+SWA", "MHA+SWA", "MQA+SWA", "GQA+SWA-hybrid", "MHA+SWA-hybrid",
           "MQA+SWA-hybrid")  # fmt: skip

SEARCHED = ("GQA (NAS: kv heads vary by layer, some layers without attention)",)
"""Kinds of the table that are plain attention in the layers that have any."""
FORMATS_NOT_KNOWN: tuple[tuple[str, str], ...] = ((r"bitnet", "ternary weights"),)
"""Models of a covered kind whose only published format is none of ours."""


def as_published(arch: Architecture, name: str) -> Architecture:
    """The model as the checkpoint of this name stores it, where its producer leaves more at 16 bits than usual."""
    for pattern, kept, bits in KEPT:
        if re.search(pattern, name):
            return arch.model_copy(
                update={"stored_format": stored_format(name), "stored_kept": kept, "stored_linear_bits": bits}
            )
    return arch


def config_of(row: dict[str, str]) -> dict[str, Any]:
    """A ``config.json`` for one row of the table of architectures. Raises ``KeyError`` without a family."""
    extra = next((values for pattern, values in (*HYBRIDS, *EXTRA) if re.search(pattern, row["hf_id"])), None)
    if extra is None:
        raise KeyError(row["hf_id"])
    config: dict[str, Any] = {}
    for column, key in COLUMNS.items():
        if re.fullmatch(r"[1-9]\d*", row[column].strip()):
            config[key] = int(row[column])
    if row["tie_embeddings"]:
        config["tie_word_embeddings"] = row["tie_embeddings"] == "True"
    _shared(config, row)
    _windows(config, row)
    if extra.get("kv_lora_rank", row["kv_lora_rank"]):
        config.pop("head_dim", None)
    config.update(extra)
    if config["model_type"] == "qwen":
        # The table gives the width of one of the two matrices; the family's config gives both together.
        config["intermediate_size"] *= 2
    if "vision_config" in config and str(config["model_type"]).startswith("qwen3_"):
        config["vision_config"] = {**config["vision_config"], "out_hidden_size": config["hidden_size"]}
    return config


def _shared(config: dict[str, Any], row: dict[str, str]) -> None:
    shared = row["shared_experts"]
    if wide := re.match(r"1 \(of width (\d+)\)", shared):
        config["shared_expert_intermediate_size"] = int(wide.group(1))
    elif shared.isdigit() and int(shared) and row["experts"]:
        if "Qwen2-57B" in row["hf_id"]:
            config["shared_expert_intermediate_size"] = int(shared) * int(row["moe_intermediate"])
        else:
            config["n_shared_experts"] = int(shared)


def _windows(config: dict[str, Any], row: dict[str, str]) -> None:
    pattern = row["global_layer_pattern"]
    kind = row["attention_kind"]
    if kind in ("GQA+SWA", "MHA+SWA"):
        config.setdefault("sliding_window", 4096)
        return
    if "SWA-hybrid" not in kind:
        config.pop("sliding_window", None)
        return
    layers = int(row["layers"])
    full = re.search(r"(\d+)\s*x?\s*_?(?:full|global)", pattern) or re.search(
        r"(\d+)xfull_attention", pattern
    )
    if every := re.search(r"1 global in (\d+)", pattern):
        step = int(every.group(1))
    elif full:
        step = max(1, round(layers / int(full.group(1))))
    else:
        return
    count = int(full.group(1)) if full else layers // step
    # The last layer of each period is global; where the number given asks for one more, the last layer is.
    chosen = {index for index in range(layers) if (index + 1) % step == 0}
    for index in range(layers - 1, -1, -1):
        if len(chosen) >= count:
            break
        chosen.add(index)
    while len(chosen) > count:
        chosen.remove(max(chosen))
    config["layer_types"] = ["full_attention" if i in chosen else "sliding_attention" for i in range(layers)]
    for key in ("global_head_dim", "global_kv_heads"):
        if found := re.search(rf"{key}=(\d+)", pattern):
            config["num_global_key_value_heads" if key == "global_kv_heads" else key] = int(found.group(1))
    if "attention_k_eq_v" in pattern:
        config["attention_k_eq_v"] = True


def source_of(row: dict[str, str], *, counted: bool) -> str:
    """Where a row's shapes come from; of its parameter count only where we do not count ourselves."""
    text = re.sub(r";?\s*params=.*$", "", row["source"]) if counted else row["source"]
    return re.sub(r"\bmemory\b", "general knowledge, not read", text)


def stored_format(name: str) -> str:
    """The format this checkpoint is published in."""
    return next((form for pattern, form in STORED if re.search(pattern, name)), "bf16")


def architecture_of(
    row: dict[str, str], published: dict[str, str] | None
) -> tuple[Architecture | None, str | None]:
    """The architecture of one row where its tensors are known, and why it is not sized where it is not."""
    kind = row["attention_kind"]
    try:
        config = config_of(row)
    except KeyError:
        return None, f"{kind}, tensors not known" if kind in COVERED else kind
    try:
        found = understand(config, name=row["hf_id"], source=source_of(row, counted=True)).architecture
    except ModelError as problem:
        return None, f"{kind}, {problem}"
    not_sized = found.not_sized
    for pattern, reason in FORMATS_NOT_KNOWN:
        if re.search(pattern, row["hf_id"]):
            not_sized = f"{kind}, {reason}"
    changes: dict[str, Any] = {
        "stored_format": stored_format(row["hf_id"]),
        "attention_kind": found.attention_kind if kind in SEARCHED else kind,
        "not_sized": not_sized,
        "assumed": (),
        "left_aside": (),
    }
    for pattern, kept, bits in KEPT:
        if re.search(pattern, row["hf_id"]):
            changes |= {"stored_kept": kept, "stored_linear_bits": bits}
    for pattern, group_bits in SECOND:
        if re.search(pattern, row["hf_id"]):
            changes["stored_group_bits"] = group_bits
    if published is not None:
        changes["parameters_published"] = int(published["parameters"])
        changes["parameters_published_kind"] = published["kind"].rstrip("?")
    return found.model_copy(update=changes), not_sized
