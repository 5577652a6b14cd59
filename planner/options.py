"""What the choices of the workbench form offer, and what its filters may name."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from catalog.facts import accelerators
from catalog.identify import identify

WEIGHTS = (
    ("bf16", "BF16"), ("fp16", "FP16"), ("fp8", "FP8"), ("int8", "INT8"), ("int4_awq", "INT4 (AWQ)"),
    ("int4_gptq", "INT4 (GPTQ)"), ("nvfp4", "NVFP4"), ("mxfp4", "MXFP4"), ("gguf_q8_0", "GGUF Q8_0"),
    ("gguf_q4_k_m", "GGUF Q4_K_M"), ("fp32", "FP32"),
)  # fmt: skip
KV = (("auto", _("auto (16-bit)")), ("bf16", "BF16"), ("fp16", "FP16"), ("fp8", "FP8"), ("int8", "INT8"))
RUNTIMES = (
    ("vllm", "vLLM"),
    ("sglang", "SGLang"),
    ("tensorrt_llm", "TensorRT-LLM"),
    ("llama_cpp", "llama.cpp"),
    ("lmdeploy", _("LMDeploy (memory only)")),
    ("tgi", _("Text Generation Inference (memory only)")),
    ("transformers", _("Transformers (memory only)")),
    ("exllama", _("ExLlamaV2 (memory only)")),
    ("ollama", _("Ollama (memory only)")),
    ("other", _("another engine (memory only)")),
)
OBJECTIVES = (
    ("cost", _("lowest monthly total")),
    ("ttft", _("fastest first token (TTFT)")),
    ("tpot", _("fastest streaming (TPOT)")),
    ("throughput", _("most tokens per second")),
    ("finish", _("earliest finish (batch)")),
    ("smallest", _("smallest machine")),
)
TIERS = (
    ("on_demand", _("on demand")),
    ("spot", _("spot, preemptible")),
    ("reserved", _("reserved")),
    ("community", _("community hosts")),
)
INTERRUPTION = (
    ("auto", _("as the kind")),
    ("no", _("not affordable")),
    ("yes", _("affordable")),
)
CURRENCIES = (("USD", "USD"), ("JPY", "JPY"), ("EUR", "EUR"))


@dataclass(frozen=True)
class Choices:
    """What may be named in a filter: slugs with their names, accelerators, and words that mean a region."""

    providers: tuple[tuple[str, str], ...]
    accelerators: tuple[str, ...]
    regions: dict[str, str]


MEMORY = re.compile(r"(\d{1,4}(?:\.\d)?) ?gb", re.IGNORECASE)


def variants(name: str) -> tuple[str, ...]:
    """The accelerators a spelling means: one, or all variants of a family that it does not tell apart.

    "24 GB" means every accelerator that is sold with so much memory. Full-width letters count as plain ones.
    """
    name = unicodedata.normalize("NFKC", name)
    memory = MEMORY.fullmatch(name)
    if memory:
        return tuple(each for each, fact in accelerators().items() if fact.memory_gb == float(memory[1]))
    found = identify(name)
    if found.fraction != 1.0:
        return ()
    return (found.canonical,) if found.canonical else found.candidates
