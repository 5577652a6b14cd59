"""Why an offer is rejected, in words: the reason, what it means, and the rule with its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from planner.change_words import shown
from planner.wording import RUNTIMES, Text, bare, listed, word

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
        "Weights, activations, overhead, and the KV cache of the peak or the states of training need more than the "
        "GPUs of one machine offer."
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


RULES: dict[str, Text] = {
    "overload": _("%(replicas)s replicas, the most that are tried, bear %(rate_per_s)s requests per second"),
    "precision_not_run": _("%(device)s does not compute in %(precision)s"),
    "matrix_rate_unknown": _("how fast %(device)s multiplies matrices is not known"),
    "inference_only": _("%(device)s is made for inference, not for training"),
    "slice_trains_nothing": _("training is not planned on a slice of %(device)s"),
    "no_whole_machines": _("%(gpus)s GPUs, neither more nor fewer, are no whole machines of %(each)s"),
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


def reason(code: str) -> str:
    return str(REASONS.get(code, bare(code)))


def reason_sentence(code: str) -> str:
    return str(REASON_SENTENCES.get(code, ""))


def rejection_detail(reason_code: str, detail: Mapping[str, Any]) -> str:
    """What the core noted beside a reason; its rule in a sentence where it is known, else as "name value"."""
    rule = detail.get("rule")
    if rule is not None and str(rule) in RULES:
        words = {key: shown(key, value) for key, value in detail.items()}
        words["runtime"] = RUNTIMES.get(words.get("runtime", ""), words.get("runtime", ""))
        return str(RULES[str(rule)]) % words
    if reason_code in ("tier", "interruption") and "tier" in detail:
        return word("tier", detail["tier"])
    if reason_code in ASKED and detail.get("asked"):
        return str(ASKED[reason_code]) % {"asked": shown("", detail["asked"])}
    if reason_code == "gpu_count" and "gpu_count" in detail:
        return _("%(n)s GPUs") % {"n": detail["gpu_count"]}
    if reason_code == "currency" and "currency" in detail:
        return str(detail["currency"])
    if reason_code in DETAIL_SAYS_NOTHING:
        return ""
    return listed(f"{bare(str(key))} {shown(str(key), value)}" for key, value in detail.items())


ASKED: dict[str, Text] = {
    "include": _("asked for: %(asked)s"),
    "exclude": _("left out: %(asked)s"),
    "region": _("asked for: %(asked)s"),
    "provider": _("asked for: %(asked)s"),
}
"""Filters by names: what the user named; the offer's own name stands beside it."""
DETAIL_SAYS_NOTHING = frozenset({"memory", "overload"})
