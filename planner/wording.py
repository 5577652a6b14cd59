"""Codes of the sizing core as words and sentences in the reader's language.

The core says what, in data; how it is said stands here and nowhere else. A code without words is shown as
it is, so that nothing is hidden when the core learns a new one before this file does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import get_language, ngettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from catalog.wording import TIER_DETAILS
from planner.sizing.devices import Layout
from planner.warning_words import WARNINGS

Text = str | Promise

VERDICTS: dict[str, Text] = {"fits": _("fits"), "tight": _("tight"), "does_not_fit": _("does not fit")}

LIMITS: dict[str, Text] = {
    "memory_bandwidth": _("memory bandwidth"),
    "compute": _("compute"),
    "interconnect": _("GPU link"),
    "step_overhead": _("step overhead"),
    "kv_room": _("KV room"),
    "batch_cap": _("batch cap"),
    "offered_load": _("offered load"),
    "prefill": _("prefill"),
    "data_loading": _("data loading"),
    "storage_read": _("storage"),
}
LIMIT_SENTENCES: dict[str, Text] = {
    "memory_bandwidth": _(
        "Each step waits for the weights and the KV cache to be read: more bandwidth, fewer bytes per "
        "weight or larger batches help; more FLOP/s do not."
    ),
    "compute": _("The matrix units are the slowest part: a format they run faster, or more of them, helps."),
    "interconnect": _("The GPUs wait for each other: a faster link or fewer GPUs per replica helps."),
    "step_overhead": _(
        "Launching each step costs more than the work in it: larger batches or another engine version "
        "help."
    ),
    "kv_room": _(
        "Memory for the KV cache ends before the load does: fewer bytes per token, shorter contexts or "
        "more memory help."
    ),
    "batch_cap": _("The engine's own cap on sequences ends the batch: raise max_num_seqs."),
    "offered_load": _(
        "The machine could do more than it is asked for; nothing slows it but the load itself."
    ),
    "prefill": _(
        "Reading prompts takes most of the time: a higher prefix-cache hit rate, shorter prompts or more "
        "compute help."
    ),
    "data_loading": _(
        "The GPUs wait for samples: more cores help the part that runs in parallel, a faster GPU does not."
    ),
    "storage_read": _("The GPUs wait for storage: faster storage or smaller samples help, a faster GPU does not."),
}  # fmt: skip

TIERS: dict[str, Text] = {
    "on_demand": _(
        "on demand"
    ), "spot": _("spot"), "reserved": _("reserved"), "community": _("community host"),
}  # fmt: skip
LINKS: dict[str, Text] = {
    "nvlink": "NVLink", "nvswitch": "NVSwitch", "infinity_fabric": "Infinity Fabric", "pcie": "PCIe", "unknown": _(
        "unknown"
    ),
}  # fmt: skip
PRICE_UNITS: dict[str, Text] = {"hour": _("per hour"), "month": _("per month")}
LINES: dict[str, Text] = {
    "gpu": pgettext_lazy("line of a bill", "Machines"),
    "storage": _("Storage"),
    "egress": _("Transfer out"),
    "upfront": _("Paid upfront"),
    "rework": _("Expected rework"),
}
TARGETS: dict[str, Text] = {
    "ttft_s": _("first token (TTFT)"),
    "tpot_s": _("streaming (TPOT)"),
    "throughput": _("throughput"),
    "deadline_hours": _("deadline"),
    "budget_per_month": _("budget"),
    "load_minutes_maximum": _("loading the weights"),
    "restore_minutes_maximum": _("restoring a checkpoint"),
    "storage_read": _("reading from network storage"),
}
OBJECTIVES: dict[str, Text] = {
    "cost": _("lowest monthly total"),
    "ttft": _("fastest first token"),
    "tpot": _("fastest streaming"),
    "throughput": _("most tokens per second"),
    "finish": _("earliest finish"),
    "smallest": _("least GPU memory rented"),
}

FIGURES: dict[str, Text] = {
    "weights_bytes": _("Weights on one GPU"),
    "kv_bytes_per_token": _("KV cache per token"),
    "kv_needed_bytes": _("KV cache needed at peak"),
    "kv_room_bytes": _("Memory left for the KV cache"),
    "kv_room_tokens": _("Tokens that fit"),
    "activation_bytes": _("Activations and buffers"),
    "overhead_bytes": _("Runtime overhead"),
    "usable_bytes": _("Usable memory"),
    "needed_bytes": _("Memory needed"),
    "concurrency_at_typical": _("Requests that fit, typical length"),
    "concurrency_at_maximum": _("Requests that fit, longest"),
    "ttft_s": _("TTFT at peak"),
    "tpot_s": _("TPOT at peak"),
    "ttft_typical_s": _("TTFT, typical load"),
    "ttft_peak_s": _("TTFT, peak load"),
    "tpot_typical_s": _("TPOT, typical load"),
    "tpot_peak_s": _("TPOT, peak load"),
    "step_s": _("One decode step"),
    "memory_s": _("Reading in one step"),
    "compute_s": _("Computing in one step"),
    "link_s": _("Exchange between GPUs in one step"),
    "prefill_s": _("Reading the prompt"),
    "read_bytes": _("Bytes read per step"),
    "weights_read_bytes": _("Weights read per step"),
    "chunk_weights_bytes": _("Weights read per step of a prompt"),
    "chunk_link_s": _("Exchange between GPUs in one step"),
    "overhead_s": _("Overhead of one step"),
    "prompt_work_s": _("Computing the prompt"),
    "prompt_share_s": _("What one prompt takes from the others' steps"),
    "queue_s": _("Waiting for other prompts"),
    "output_tokens_per_s": _("Output tokens per second, all replicas"),
    "replicas": _("Replicas for the load"),
    "monthly_total": _("Monthly total"),
    "gpu_line": _("Machines a month"),
    "per_million_tokens": _("Per 1M tokens"),
    "state_bytes": _("Weights, gradients and optimizer before sharding"),
    "train_step_s": _("One step"),
    "run_hours": _("Hours for the run"),
    "tokens_per_s": _("Tokens per second"),
    "steps": _("Steps"),
    "checkpoint_interval_s": _("Checkpoint written every"),
}

MISSING: dict[str, Text] = {
    "storage": _("storage"),
    "egress": _("transfer out"),
    "gpu": _("machines"),
    "upfront": _("paid upfront"),
    "rework": _("rework"),
}

MEMORY_PARTS: dict[str, Text] = {
    "weights": _("weights"),
    "frozen": _("frozen weights"),
    "trainable": _("trained weights"),
    "kv": _("KV cache at peak"),
    "gradients": _("gradients"),
    "optimizer": _("optimizer states"),
    "activations": _("activations"),
    "logits": _("logits"),
    "overhead": _("overhead"),
    "work_buffers": _("work buffers"),
    "fragmentation": _("held by the allocator"),
}
"""Parts of a device's memory by the names that kinds of workload give them."""

STOCKS: dict[str, Text] = {
    "available": _("available"),
    "low": _("few left"),
    "none": _("none at the moment"),
}

YES_NO: dict[str, Text] = {"yes": _("yes"), "no": _("no")}

_TABLES: dict[str, Mapping[str, Text]] = {
    "verdict": VERDICTS,
    "limit": LIMITS,
    "tier": TIERS,
    "terms": TIER_DETAILS,
    "link": LINKS,
    "price_unit": PRICE_UNITS,
    "missing": MISSING,
    "stock": STOCKS,
    "survives_restart": YES_NO,
    "survives_host_change": YES_NO,
    "survives_contract_end": YES_NO,
    "misses": TARGETS,
    "warnings": WARNINGS,
    "line": LINES,
    "figure": FIGURES,
}


def word(table: str, code: Any) -> str:
    """A code of a column or field in words; several codes joined by commas are worded one by one."""
    return _word(get_language() or "", table, str(code))


@lru_cache(maxsize=2048)
def _word(language: str, table: str, code: str) -> str:
    """A page says the same few hundred times."""
    words = _TABLES.get(table, {})
    parts = [part.strip() for part in code.split(",")]
    return listed(str(words.get(part, bare(part))) for part in parts)


def listed(parts: Iterable[str]) -> str:
    return pgettext("between the items of a list", ", ").join(parts)


def bare(code: str) -> str:
    """A code without words, shown as it is."""
    return code.replace("_", " ")


def objective(code: str) -> str:
    return str(OBJECTIVES.get(code, bare(code)))


def limit_sentence(code: str) -> str:
    return _limit_sentence(get_language() or "", code)


@lru_cache(maxsize=256)
def _limit_sentence(language: str, code: str) -> str:
    return str(LIMIT_SENTENCES.get(code, ""))


def warning(code: str) -> str:
    return _warning(get_language() or "", code)


@lru_cache(maxsize=512)
def _warning(language: str, code: str) -> str:
    return str(WARNINGS.get(code, bare(code)))


def memory_part(name: str) -> str:
    return str(MEMORY_PARTS.get(name, bare(name)))


def figure(name: str) -> str:
    return str(FIGURES.get(name, bare(name)))


FORMATS = {
    "bf16": "BF16", "fp16": "FP16", "fp32": "FP32", "fp8": "FP8", "int8": "INT8", "int4_awq": "INT4 (AWQ)",
    "int4_gptq": "INT4 (GPTQ)", "nvfp4": "NVFP4", "mxfp4": "MXFP4", "gguf_q8_0": "GGUF Q8_0",
    "gguf_q4_k_m": "GGUF Q4_K_M", "auto": "auto",
}  # fmt: skip


def layout(replicas: int, split: Layout) -> str:
    """ "2 replicas × 4 GPUs (TP 4)": what is per replica and what is the whole is said. Groups that keep their own
    requests or samples, and ranks that share the experts of all, are named where there are some: "(DP 8, EP 8)"."""
    return _layout(get_language() or "", replicas, split)


@lru_cache(maxsize=2048)
def _layout(language: str, replicas: int, split: Layout) -> str:
    first = ngettext("%(n)s replica", "%(n)s replicas", replicas) % {"n": f"{replicas:,}"}
    gpus = split.device_count
    second = ngettext("%(n)s GPU", "%(n)s GPUs", gpus) % {"n": f"{gpus:,}"}
    degrees = [("TP", split.tp), ("PP", split.pp), ("DP", split.dp), ("EP", split.ep if split.dp > 1 else 1)]
    named = ", ".join(f"{name} {degree}" for name, degree in degrees if degree > 1)
    return f"{first} × {second}" + (f" ({named})" if named else "")


def machines(count: int, idle_gpus: int) -> str:
    """ "2 machines, 4 GPUs idle": what is rented, and what of it stands still."""
    return _machines(get_language() or "", count, idle_gpus)


@lru_cache(maxsize=2048)
def _machines(language: str, count: int, idle_gpus: int) -> str:
    text = ngettext("%(n)s machine", "%(n)s machines", count) % {"n": f"{count:,}"}
    if not idle_gpus:
        return text
    idle = ngettext("%(n)s GPU idle", "%(n)s GPUs idle", idle_gpus) % {"n": f"{idle_gpus:,}"}
    return listed([text, idle])


def age(days: int) -> str:
    return _age(get_language() or "", days)


@lru_cache(maxsize=1024)
def _age(language: str, days: int) -> str:
    if days == 0:
        return str(_("price of today"))
    return ngettext("price %(n)s day old", "price %(n)s days old", days) % {"n": f"{days:,}"}


RUNTIMES = {
    "vllm": "vLLM", "sglang": "SGLang", "tensorrt_llm": "TensorRT-LLM", "llama_cpp": "llama.cpp",
    "lmdeploy": "LMDeploy", "tgi": "Text Generation Inference", "transformers": "Transformers", "exllama": "ExLlamaV2",
    "ollama": "Ollama", "other": "another engine",
}  # fmt: skip


def class_word(number: int) -> str:
    return str(CLASSES.get(number, number))


CLASSES: dict[int, Text] = {1: _("meet every target"), 2: _("miss a target"), 3: _("tight in memory")}

GLOSSES: dict[str, Text] = {
    "TTFT": _("Time to first token: from the request to the first word of the answer"),
    "TPOT": _(
        "Time per output token: from the first to the last token, divided by the tokens after the first"
    ),
    "KV cache": _("What attention keeps of every token of a request, so that it need not be read again"),
    "prefill": _("Reading the prompt, before the first token is made"),
    "TP": _("Tensor parallel: so many GPUs share the weights of one replica"),
    "Replicas": _("Copies of the model that answer side by side"),
    "GiB": _("2^30 bytes"),
    "MFU": _("Share of the GPUs' peak rate that goes into the model's own arithmetic"),
}
"""Terms of the field, told where they stand."""
TRANSLATED_GLOSSES: tuple[tuple[Text, Text], ...] = (
    (
        _("ZeRO stage"),
        _("1: data-parallel GPUs share the optimizer's states; 2: gradients too; 3: weights too"),
    ),
    (_("Data parallel"), _("Copies of the model that each train on a part of every batch")),
    (_("Tensor parallel"), _("So many GPUs share every matrix, and exchange results in every layer")),
    (_("Pipeline parallel"), _("So many GPUs hold a part of the layers each, and pass micro-batches on")),
    (_("Context parallel"), _("So many GPUs share the tokens of every sequence")),
    (_("Expert parallel"), _("So many GPUs hold a part of the experts each, and exchange tokens")),
    (_("Accumulation"), _("Micro-batches whose gradients are added up before the optimizer steps")),
    (_("Effective batch"), _("Samples whose gradients make one step of the optimizer, all GPUs together")),
    (_("Recomputation"), _("Activations are computed again in the backward pass instead of being kept")),
    (
        _("Page cache"),
        _("Host memory in which the system keeps what was read, so that it need not be read again"),
    ),
)
"""The same of terms that are translated."""

COLUMN_HEADS: dict[str, Text] = {
    "bandwidth": _("Bandwidth"),
    "ttft_peak": _("TTFT at peak"),
    "tpot_peak": _("TPOT at peak"),
    "throughput_peak": _("Output at peak"),
    "monthly": _("Monthly"),
    "per_million": _("Per 1M tokens"),
    "price_date": _("Price of"),
}


def column_head(key: str, title: str) -> str:
    """A short head for a narrow column on the screen; paper has the whole title."""
    return str(COLUMN_HEADS.get(key, title))
