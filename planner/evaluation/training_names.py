"""What training rows call software, optimizers, formats and adapter targets, and which of ours they mean."""

from __future__ import annotations

from planner.sizing.training.job import FrozenFormat, Optimizer, Software, Targets

SOFTWARE: tuple[tuple[str, Software], ...] = (
    ("deepspeed", "transformers"), ("nemo", "megatron"), ("megatron", "megatron"),
    ("nvidia release", "megatron"), ("pytorch nvidia", "megatron"),
    ("ngc pytorch", "megatron"), ("llmboost", "megatron"), ("pytorch 2", "megatron"), ("meta internal", "megatron"),
    ("swift", "transformers"), ("axolotl", "transformers"), ("hf trainer", "transformers"),
    ("xtuner", "transformers"), ("unsloth", "transformers"),
    ("llama-factory", "transformers"), ("llamafactory", "transformers"), ("peft", "transformers"),
    ("trl", "transformers"), ("deepspeed", "transformers"),
    ("transformers", "transformers"), ("colossal", "transformers"), ("internevo", "megatron"),
    ("internlm", "megatron"), ("gigatron", "megatron"), ("gpt-neox", "megatron"),
)  # fmt: skip
"""Parts of a framework's name, and which kind of software it is; others run PyTorch as it comes."""
OPTIMIZERS: tuple[tuple[str, Optimizer], ...] = (
    ("galore 8bit", "galore_adamw_8bit"), ("galore", "galore_adamw"), ("lion8bit", "paged_lion_8bit"),
    ("paged", "paged_adamw"),
    ("4bit", "adamw_4bit"), ("8bit", "adamw_8bit"), ("lion", "lion"), ("adafactor", "adafactor"), ("muon", "muon"),
    ("adam", "adamw"), ("lisa", "adamw"), ("sgd", "sgd"),
)  # fmt: skip
FORMATS: tuple[tuple[str, FrozenFormat], ...] = (
    ("nf4-dq", "nf4_dq"), ("nf4", "nf4"), ("int4-gptq", "int4_gptq"), ("int8-gptq", "int8_gptq"), ("int4", "nf4"),
    ("int8", "int8"), ("fp32", "fp32"), ("fp16", "fp16"), ("fp8", "fp8"),
)  # fmt: skip
TARGETS: dict[str, Targets] = {
    "q_v": "q_v", "fused_qkv": "attention", "all_linear": "all_linear", "all_linear+head": "all_linear_head",
}  # fmt: skip
