"""Changes of a question that would help, in words: "weights in FP8", "a first token within 1.6 s"."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from planner.wording import FORMATS, Text, bare, listed, word

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


METHODS = {"lora": "LoRA", "qlora": "QLoRA"}


def change(what: Mapping[str, Any]) -> str:
    """One computed change: ``{"change": "weights_format", "to": "fp8"}`` → "weights in FP8"."""
    code = str(what.get("change", ""))
    to = what.get("to", what.get("value", ""))
    said = _change(code, to)
    return (
        str(_("%(what)s (then without headroom)")) % {"what": said}
        if what.get("verdict") == "tight"
        else said
    )


def _change(code: str, to: Any) -> str:
    if code not in CHANGES:
        return f"{bare(code)}: {to}" if to not in ("", None) else bare(code)
    return _template(code, get_language() or "") % {"to": shown(code, to)}


@lru_cache(maxsize=512)
def _template(code: str, language: str) -> str:
    """The same few changes are said of dozens of machines."""
    return str(CHANGES[code])


def shown(code: str, to: Any) -> str:
    """A value in words, in the unit that its name says."""
    if isinstance(to, list | tuple):
        return listed(shown(code, part) for part in to)
    if code in ("weights_format", "kv_format"):
        return FORMATS.get(str(to), str(to))
    if code == "method":
        return METHODS.get(str(to), str(to))
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
