"""Rows of libraries without a server, and of files in mixes of block types: what their labels mean."""

from __future__ import annotations

from collections.abc import Mapping

from planner.sizing.architecture import Architecture, Latent, parameter_count
from planner.sizing.peaks import Generation

GROWING = ("transformers", "autoawq", "litgpt", "ctranslate2", "onnxruntime", "lmdeploy")
WHOLE = ("exllama",)
LAID_OUT_AS = "sglang"
"""The product's engine whose cache is a plain one, token by token."""
UNTIED = ("litgpt",)
"""Libraries that keep the head apart from the embedding whatever the model does (LitGPT's GPT class: ``lm_head``
and ``wte`` are two modules)."""
FORMATS: dict[str, str] = {
    "gptq-int8": "int8", "int8": "int8", "bnb.int8": "int8", "awq-int4": "int4_awq", "awq": "int4_awq",
    "int4": "int4_gptq", "gptq-int4": "int4_gptq", "bnb.nf4": "nvfp4", "bnb.nf4-dq": "int4_gptq",
}  # fmt: skip
"""The product's format of the same bits a weight: NF4 with FP32 scales for 64 weights has 4.5, with scales
quantised again 4.13."""

FILE_BITS: dict[str, float] = {
    "iq1_s": 1.56, "q3_k_m": 3.91, "ud-q3_k_xl": 3.98, "iq3_k mix": 3.85, "q4_0": 4.55, "iq4_xs": 4.28,
    "iq4_k mix": 4.9, "iq4_k_r4": 4.9, "q4_k_m (qat)": 4.85, "q5_k_s": 5.52, "q5_k_m": 5.69, "q6_k_l": 6.6,
}  # fmt: skip
"""Mean bits a weight of whole files: llama.cpp's table of quantisations; ik_llama.cpp's for its own types."""
MIXED_CACHES: dict[str, str] = {
    "k q8_0 / v f16": "q8_0+f16", "k q8_0 / v q4_0": "q8_0+q4_0", "k iq4_nl / v f16": "iq4_nl+f16",
}  # fmt: skip
FROM_OUTSIDE = ("nvidia-smi", "printed")
"""How peaks are measured that hold more than the tensors in use."""
WITHOUT_WEIGHTS = frozenset({"kv_size_gib", "kv_bytes_per_token", "compute_buffer_mib"})
"""Metrics of llama.cpp that do not depend on the weights' format."""


def generation(inputs: Mapping[str, str], extra: Mapping[str, str]) -> Generation | None:
    """The call of a library that a row describes; None for engines that serve."""
    label = inputs.get("engine", "").casefold()
    if not label.startswith((*GROWING, *WHOLE)):
        return None
    prompt, output = (int(float(inputs.get(key) or 0)) for key in ("input_tokens", "output_tokens"))
    return Generation(
        prompt_tokens=prompt,
        total_tokens=max(1, prompt + output),
        batch=int(float(inputs.get("batch") or 1)),
        prompt_logits=extra.get("prefill_logits_fp32") == "1",
        cache="whole" if label.startswith(WHOLE) else "grows",
        as_reserved=inputs.get("measure") in FROM_OUTSIDE,
        with_context=inputs.get("measure") == "nvidia-smi",
    )


def as_kept(arch: Architecture, label: str) -> Architecture:
    """The model as the library of this label keeps it."""
    if arch.tied and label.casefold().startswith(UNTIED):
        return arch.model_copy(update={"tied": False, "id": f"{arch.id} (untied)"})
    return arch


def file_bits(label: str) -> float | None:
    """Mean bits a weight of a file of this label: by name, or as the label says it itself."""
    text = label.casefold().strip()
    number, _, unit = text.partition(" ")
    if unit == "bpw":
        try:
            return float(number)
        except ValueError:
            return None
    return FILE_BITS.get(text)


def file_bytes(arch: Architecture, bits: float) -> float:
    """Bytes of a file of these mean bits: encoders beside the language model are files of their own."""
    towers = sum(tower.parameters for tower in arch.towers)
    return (parameter_count(arch) - towers) * bits / 8


def unpacked_bytes(arch: Architecture, length: int) -> int:
    """Keys and values of every head for a whole context, at 16 bits: what ik_llama.cpp unpacks of a latent cache.

    One layer at a time: length × heads × (nope + rope + value dimensions) × 2 B.
    """
    widths = (
        mixer.heads * (mixer.nope_dim + mixer.rope_dim + mixer.value_dim)
        for mixer in (group.attention for group in arch.layers)
        if isinstance(mixer, Latent)
    )
    return 2 * length * max(widths, default=0)
