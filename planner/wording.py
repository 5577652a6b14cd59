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
}
OBJECTIVES: dict[str, Text] = {
    "cost": _("lowest monthly total"),
    "ttft": _("fastest first token"),
    "tpot": _("fastest streaming"),
    "throughput": _("most tokens per second"),
    "finish": _("earliest finish"),
}

REASONS: dict[str, Text] = {
    "support": _("This runtime cannot run it there"),
    "context": _("Requests are longer than the model takes"),
    "memory": _("Does not fit in memory"),
    "divisibility": _("Cannot be split evenly"),
    "include": _("Not among the accelerators asked for"),
    "exclude": _("Accelerator excluded"),
    "region": _("Another region"),
    "provider": _("Another provider"),
    "gpu_count": _("More GPUs in the machine than asked for"),
    "price": _("Price filtered out"),
    "interruption": _("An interruption is not affordable"),
    "tier": _("Other terms than asked for"),
    "incomplete_price": _("Price not completely known"),
    "overload": _("Overloaded at the peak"),
    "currency": _("No exchange rate"),
    "budget": _("Above the budget"),
    "deadline": _("Misses the deadline"),
}
REASON_SENTENCES: dict[str, Text] = {
    "support": _("The engine, at this version, does not run this model or format on this GPU."),
    "context": _("Nothing can be done by choosing another machine: the model or the lengths must change."),
    "memory": _(
        "Weights, KV cache for the peak, activations and overhead need more than the GPUs of one machine "
        "offer."
    ),
    "divisibility": _(
        "Heads, vocabulary or quantisation groups do not divide by the number of GPUs that would be "
        "needed."
    ),
    "include": _("Your filter names other accelerators."),
    "exclude": _("Your filter leaves this accelerator out."),
    "region": _("Your filter names other regions."),
    "provider": _("Your filter names other providers."),
    "gpu_count": _("Your filter asks for smaller machines."),
    "price": _("The price is higher, older or less certain than your filter allows."),
    "interruption": _(
        "Spot and preemptible machines can vanish; this workload is not marked as interruptible."
    ),
    "tier": _("The offer is sold on terms that the filter leaves out."),
    "incomplete_price": _(
        "A line that this workload needs has no known price, and only complete prices were asked for."
    ),
    "overload": _("No number of replicas that was tried bears the peak."),
    "currency": _("The price is in a currency without a known rate; it cannot be ranked."),
    "budget": _("The month costs more than the budget."),
    "deadline": _("The job would not end in time."),
}  # fmt: skip

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

WARNINGS: dict[str, Text] = {
    "tp_over_pcie": _("The GPUs of one replica talk over PCIe; splitting over it slows every step."),
    "format_saves_memory_only": _(
        "This GPU does not compute in this format: it saves memory and bandwidth, not compute time."
    ),
    "not_the_stored_format": _("The checkpoint is stored in another format and would have to be converted."),
    "weights_just_fit": _("Weights fit, but little memory is left for the KV cache."),
    "context_never_tested": _("No measurement with a context this long stands behind the estimate."),
    "context_beyond_model": _("The longest context is beyond what the model was trained for."),
    "stale_price": _("The price is older than 180 days."),
    "floor_price": _("A marketplace's lowest asking price, not a list price."),
    "estimated_price": _("The source estimates this price."),
    "engine_total_assumed": _("What the engine sees of this card's memory is assumed, not read."),
    "link_unknown": _("How the GPUs are linked is unknown; PCIe is assumed."),
    "longest_does_not_fit": _("One request of the longest length does not fit beside the weights."),
    "fraction": _("A slice of a GPU: its share of speed is assumed to equal its share of memory."),
    "rate_wins": _("Both a rate and a concurrency were given: the rate is used."),
    "more_devices_for_speed": _("Fewer GPUs would fit; more are used to reach the latency target."),
    "weights_in_host_memory": _(
        "Weights in host memory are read in every step: the bandwidth that limits is that of the host or its bus."
    ),
    "kv_offload_not_counted": _(
        "KV cache in host memory: its room is counted there, the time to bring a prompt back over the bus is not."
    ),
    "price_stale": _("The price is older than 180 days."),
    "price_floor": _("A marketplace's lowest asking price, not a list price."),
    "price_estimated": _("The source estimates this price."),
    "incomplete_price": _("A line of the bill has no known price: the total is at least what is shown."),
    "price_incomplete": _("A line of the bill has no known price: the total is at least what is shown."),
    "interruptible": _("Can be taken away at any time; the expected rework is in the bill."),
    "host_ram_short": _("Machines like this usually have less host memory than loading needs."),
    "host_ram_unknown": _("The host memory of these machines is not known."),
    "host_cores_unknown": _(
        "The cores of these machines are not known, so data loading is not held against them."
    ),
    "waits_for_data": _("The GPUs wait for data: a faster GPU does not help."),
    "more_cores_do_not_help": _(
        "More cores do not help either: the part of loading that is not parallel is too slow."
    ),
    "fabric_assumed": _("The network between the machines is assumed, not read from the offer."),
    "fabric_short": _("The network between the machines carries less than the run sends."),
    "no_flash_attention": _("Flash attention does not run on this GPU; attention scores are written out."),
    "no_checkpoints": _("No checkpoints are planned: a failure loses the run."),
    "checkpoints_do_not_resume": _("Checkpoints hold weights only: no run resumes from them."),
    "restore_too_slow": _("Restoring a checkpoint takes longer than asked for."),
    "gpudirect_would_not_help": _(
        "GPUDirect Storage would not help: it needs an NVIDIA GPU, a file system and a path that waits for storage "
        "without decoding."
    ),
    "only_copy_on_scratch": _(
        "The only copy of data or checkpoints lies on local scratch, which may be wiped."
    ),
    "random_reads_from_object_store": _(
        "Small random reads from an object store are slow: copy the data to a file system."
    ),
    "checkpoints_need_a_file_system": _(
        "The software writes checkpoints to a file system; S3 needs a copy step."
    ),
}

MISSING: dict[str, Text] = {
    "storage": _("storage"),
    "egress": _("transfer out"),
    "gpu": _("machines"),
    "upfront": _("paid upfront"),
    "rework": _("rework"),
}

CHANGES: dict[str, Text] = {
    "weights_format": _("weights in %(to)s"),
    "kv_format": _("KV cache in %(to)s"),
    "concurrency_peak": _("at most %(to)s requests at once"),
    "concurrency": _("at most %(to)s requests at once"),
    "input_tokens_maximum": _("inputs of at most %(to)s tokens"),
    "output_tokens_maximum": _("outputs of at most %(to)s tokens"),
    "context": _("at most %(to)s tokens per request"),
    "headroom_fraction": _("a memory headroom of %(to)s"),
    "ttft_s": _("a first token within %(to)s s"),
    "tpot_s": _("one token every %(to)s"),
    "gpu_count": _("%(to)s GPUs per replica"),
    "gpus_per_replica": _("%(to)s GPUs per replica"),
    "tiers": _("terms that include %(to)s"),
    "tier": _("terms that include %(to)s"),
    "interruptible": _("marking the workload as interruptible"),
    "budget_per_month": _("a budget of %(to)s a month"),
    "deadline_hours": _("a deadline of %(to)s h"),
    "objective": _("ranking by %(to)s"),
    "filters": _("no filters"),
    "regions": _("any region"),
    "providers": _("any provider"),
    "include": _("any accelerator"),
    "exclude": _("no excluded accelerator"),
    "complete_prices_only": _("prices that are not completely known"),
    "price_age_days_maximum": _("prices of up to %(to)s days"),
    "gpu_count_maximum": _("machines of up to %(to)s GPUs"),
    "price_per_month_maximum": _("a price limit of %(to)s a month"),
    "memory_bytes": _("%(to)s of memory per GPU"),
    "runtime": _("%(to)s as the runtime"),
    "replicas_minimum": _("at least %(to)s replicas"),
    "maximum_tokens": _("at most %(to)s tokens per request"),
    "tp": _("%(to)s GPUs per replica"),
    "gpu_memory_utilization": _("gpu_memory_utilization of at most %(to)s"),
    "offload_layers": _("%(to)s layers computed by the host"),
    "offload_expert_layers": _("the experts of %(to)s layers computed by the host"),
    "offload_weights_gib": _("%(to)s GiB of weights per GPU read from host memory"),
    "request_rate_per_s": _("at most %(to)s requests per second"),
    "recompute": _("full recomputation of activations"),
    "micro_batch": _("a micro-batch of %(to)s, accumulated to the same effective batch"),
    "chunked_loss": _("the loss in chunks"),
    "sharding": _("ZeRO-3, which splits the weights too"),
    "savings_together": _("full recomputation, one sample at a time, the loss in chunks and ZeRO-3 together"),
    "offload_optimizer": _("the optimizer in host memory"),
    "offload_activations": _("kept activations in host memory"),
    "optimizer": _("AdamW in 8 bits"),
    "method": _("%(to)s instead"),
    "machines_maximum": _("up to %(to)s machines"),
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

_TABLES: dict[str, Mapping[str, Text]] = {
    "verdict": VERDICTS,
    "limit": LIMITS,
    "tier": TIERS,
    "link": LINKS,
    "price_unit": PRICE_UNITS,
    "missing": MISSING,
    "misses": TARGETS,
    "warnings": WARNINGS,
    "line": LINES,
    "reason": REASONS,
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
    return listed(str(words.get(part, _bare(part))) for part in parts)


def listed(parts: Iterable[str]) -> str:
    return pgettext("between the items of a list", ", ").join(parts)


def _bare(code: str) -> str:
    return code.replace("_", " ")


def objective(code: str) -> str:
    return str(OBJECTIVES.get(code, _bare(code)))


def reason(code: str) -> str:
    return str(REASONS.get(code, _bare(code)))


def reason_sentence(code: str) -> str:
    return str(REASON_SENTENCES.get(code, ""))


def limit_sentence(code: str) -> str:
    return str(LIMIT_SENTENCES.get(code, ""))


def warning(code: str) -> str:
    return str(WARNINGS.get(code, _bare(code)))


def memory_part(name: str) -> str:
    return str(MEMORY_PARTS.get(name, _bare(name)))


def figure(name: str) -> str:
    return str(FIGURES.get(name, _bare(name)))


def change(what: Mapping[str, Any]) -> str:
    """One computed change: ``{"change": "weights_format", "to": "fp8"}`` → "weights in FP8"."""
    code = str(what.get("change", ""))
    to = what.get("to", what.get("value", ""))
    return _change(code, to)


def _change(code: str, to: Any) -> str:
    if code not in CHANGES:
        return f"{_bare(code)}: {to}" if to not in ("", None) else _bare(code)
    return str(CHANGES[code]) % {"to": _shown(code, to)}


def _shown(code: str, to: Any) -> str:
    if code in ("weights_format", "kv_format"):
        return FORMATS.get(str(to), str(to))
    if code == "headroom_fraction" and isinstance(to, int | float):
        return f"{to * 100:g} %"
    if code == "tpot_s" and isinstance(to, int | float):
        return f"{to * 1000:,.3g} ms"
    if code == "memory_bytes" and isinstance(to, int | float):
        return f"{to / 1024**3:,.1f} GiB"
    if code in ("tiers", "tier"):
        return word("tier", to)
    if isinstance(to, int | float) and not isinstance(to, bool):
        return f"{to:,.4g}" if isinstance(to, float) else f"{to:,}"
    return str(to)


FORMATS = {
    "bf16": "BF16", "fp16": "FP16", "fp32": "FP32", "fp8": "FP8", "int8": "INT8", "int4_awq": "INT4 (AWQ)",
    "int4_gptq": "INT4 (GPTQ)", "nvfp4": "NVFP4", "mxfp4": "MXFP4", "gguf_q8_0": "GGUF Q8_0",
    "gguf_q4_k_m": "GGUF Q4_K_M", "auto": "auto",
}  # fmt: skip


def layout(replicas: int, gpus_per_replica: int, tp: int) -> str:
    """ "2 replicas × 4 GPUs (TP 4)": what is per replica and what is the whole is said."""
    return _layout(get_language() or "", replicas, gpus_per_replica, tp)


@lru_cache(maxsize=2048)
def _layout(language: str, replicas: int, gpus_per_replica: int, tp: int) -> str:
    first = ngettext("%(n)d replica", "%(n)d replicas", replicas) % {"n": replicas}
    second = ngettext("%(n)d GPU", "%(n)d GPUs", gpus_per_replica) % {"n": gpus_per_replica}
    split = f" (TP {tp})" if tp > 1 else ""
    return f"{first} × {second}{split}"


def age(days: int) -> str:
    return _age(get_language() or "", days)


@lru_cache(maxsize=1024)
def _age(language: str, days: int) -> str:
    if days == 0:
        return str(_("price of today"))
    return ngettext("price %(n)d day old", "price %(n)d days old", days) % {"n": days}


def rejection_detail(reason_code: str, detail: Mapping[str, Any]) -> str:
    """What the core noted beside a reason, as "name: value"; the rule's own code is worded where it is known."""
    rule = detail.get("rule")
    if rule is not None and str(rule) in RULES:
        words = {key: _shown(key, value) for key, value in detail.items()}
        words["runtime"] = RUNTIMES.get(words.get("runtime", ""), words.get("runtime", ""))
        return str(RULES[str(rule)]) % words
    if reason_code in ("tier", "interruption") and "tier" in detail:
        return word("tier", detail["tier"])
    if reason_code == "gpu_count" and "gpu_count" in detail:
        return _("%(n)s GPUs") % {"n": detail["gpu_count"]}
    if reason_code == "currency" and "currency" in detail:
        return str(detail["currency"])
    if reason_code in DETAIL_SAYS_NOTHING:
        return ""
    return listed(f"{_bare(str(key))} {_shown(str(key), value)}" for key, value in detail.items())


DETAIL_SAYS_NOTHING = frozenset({"memory", "overload"})
RUNTIMES = {
    "vllm": "vLLM", "sglang": "SGLang", "tensorrt_llm": "TensorRT-LLM", "llama_cpp": "llama.cpp",
    "lmdeploy": "LMDeploy", "tgi": "Text Generation Inference", "transformers": "Transformers", "exllama": "ExLlamaV2",
    "ollama": "Ollama", "other": "another engine",
}  # fmt: skip


def class_word(number: int) -> str:
    return str(CLASSES.get(number, number))


CLASSES: dict[int, Text] = {1: _("meet every target"), 2: _("miss a target"), 3: _("tight in memory")}

RULES: dict[str, Text] = {
    "overload": _("%(replicas)s replicas, the most that are tried, bear %(rate_per_s)s requests per second"),
    "precision_not_run": _("%(device)s does not compute in %(precision)s"),
    "matrix_rate_unknown": _("how fast %(device)s multiplies matrices is not known"),
    "slice_trains_nothing": _("training is not planned on a slice of %(device)s"),
    "no_split": _("no split over %(gpus)s GPUs was found that the heads, layers and batch allow"),
    "context_length": _("the longest request has %(asked)s tokens, the model takes %(maximum)s"),
    "format_not_on_device": _("%(runtime)s %(version)s does not run %(weights_format)s on %(device)s"),
    "format_not_supported": _("%(runtime)s %(version)s does not run %(weights_format)s"),
    "format_needs_newer_version": _("%(weights_format)s needs %(runtime)s %(needs_version)s or newer"),
    "kv_format_not_supported": _("%(runtime)s %(version)s has no KV cache in %(kv_format)s"),
    "kv_format_not_on_device": _("%(runtime)s %(version)s has no KV cache in %(kv_format)s on %(device)s"),
    "model_needs_newer_version": _("this model needs %(runtime)s %(needs_version)s or newer"),
    "device_not_supported": _("%(runtime)s %(version)s does not run on %(device)s"),
    "offload_not_supported": _("%(runtime)s has no such option to keep weights in host memory"),
    "offload_needs_newer_version": _(
        "keeping these weights in host memory needs %(runtime)s %(needs_version)s or newer"
    ),
    "offload_without_experts": _("this model has no experts that could be kept in host memory"),
    "context_parallel": _(
        "%(ranks)s ranks cannot share the cache of %(kv_heads)s KV heads over %(tp)s GPUs: they must divide the GPUs, "
        "and be no more than those that hold the same heads"
    ),
    "context_parallel_kind": _(
        "ranks share the cache only where every layer attends over the whole sequence"
    ),
    "split_not_supported": _("%(runtime)s does not split a model so"),
    "split_needs_newer_version": _("this split needs %(runtime)s %(needs_version)s or newer"),
    "overcommitted": _(
        "a gpu_memory_utilization of %(asked)s leaves too little beside it, so that the engine would fail to start; at "
        "most %(maximum)s works"
    ),
    "host_memory": _("the host would need %(needed_gib)s GiB of memory, it has %(has_gib)s GiB"),
    "memory_only": _("only the memory of %(runtime)s is worked out, not its speed"),
    "model_not_supported": _("%(runtime)s %(version)s does not run this model"),
    "model_needs_older_version": _("%(runtime)s %(version)s does not run this model any more"),
    "unknown_rate": _("no compute rate of %(device)s is known for %(weights_format)s"),
    "not_sized": _("this kind of model cannot be sized there yet"),
    "layers": _("%(layers)s layers do not divide by %(pp)s"),
    "vocabulary": _("a vocabulary of %(vocabulary)s does not divide by %(tp)s"),
    "heads": _("%(heads)s attention heads do not divide by %(tp)s"),
    "kv_heads": _("%(kv_heads)s KV heads do not divide by %(tp)s"),
    "experts": _("%(experts)s experts do not divide by %(ep)s"),
    "intermediate": _("an MLP width of %(intermediate)s does not divide by %(tp)s"),
    "quantised_group": _(
        "an MLP width of %(intermediate)s over %(tp)s GPUs does not divide into groups of %(group)s"
    ),
    "estimated": _("the source only estimates its price"),
    "age": _("the price is %(got)s days old, asked for at most %(asked)s"),
    "maximum": _("%(got)s a month, asked for at most %(asked)s"),
}

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
