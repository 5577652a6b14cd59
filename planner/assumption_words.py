"""Assumptions, units and notes of a bill in the reader's language; what has no words is shown as it is."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy, pgettext

from planner.sizing.quantities import Assumption
from planner.training_words import TRAINING_ASSUMPTIONS
from planner.wording import RUNTIMES

ASSUMPTIONS: dict[str, str | Promise] = {
    "memory_fraction": _("Share of memory the engine takes"),
    "max_num_batched_tokens": _("Tokens per step at most"),
    "max_num_seqs": _("Sequences at once at most"),
    "hidden_copies": _("Copies of the hidden state held at once"),
    "activation_base_bytes": _("Activations, fixed part"),
    "graph_bytes": _("Captured graphs, fixed part"),
    "graph_layer_bytes": _("Captured graphs, per layer"),
    "graph_bytes_v1": _("Captured graphs, fixed part (V1)"),
    "graph_expert_bytes": _("Captured graphs, more for models with experts"),
    "logit_bytes": _("Bytes per logit"),
    "warmup_logit_bytes": _("Bytes per logit while the engine warms up"),
    "warmup_logit_bytes_early": _("Bytes per logit while the engine warms up, early versions"),
    "cross_mask_copies": _("Copies of the cross-attention mask held at once"),
    "engine_bytes": _("Memory of the engine itself"),
    "engine_tp_bytes": _("Memory of the engine itself, split over GPUs"),
    "engine_tp_plain_bytes": _("Memory of the engine itself, split over GPUs without a switch"),
    "engine_pp_bytes": _("Memory of the engine itself, layers split over GPUs"),
    "engine_bytes_v0": _("Memory of the engine itself (V0)"),
    "engine_bytes_v1": _("Memory of the engine itself (V1)"),
    "engine_tp_bytes_v1": _("Memory of the engine itself, split over GPUs (V1)"),
    "logit_bytes_early": _("Bytes per logit, early versions"),
    "prompt_value_bytes": _("Bytes per value while reading prompts"),
    "context_bytes": _("Device context"),
    "context_ranks_bytes": _("Device context, split over GPUs"),
    "context_tp_bytes": _("Device context, split over GPUs"),
    "engine_total_bytes": _("Memory the engine sees"),
    "bits_per_weight": _("Bits per weight"),
    "weight_read_fraction": _("Bandwidth reached reading weights"),
    "kv_read_fraction": _("Bandwidth reached reading the KV cache"),
    "decode_compute_fraction": _("Compute rate reached in decode"),
    "prefill_compute_fraction": _("Compute rate reached in prefill"),
    "block_compute_fraction": _("Compute rate reached with integer blocks"),
    "prefill_attention_fraction": _("Compute rate reached in prefill attention"),
    "roof_exponent": _("How sharply one limit gives way to the next"),
    "routing_spread": _("Share of each further token that meets new experts"),
    "expert_read_fraction": _(
        "Bandwidth reached where every expert is read, as a share of that for one matrix"
    ),
    "speculative_acceptance": _("Share of drafted tokens that the model accepts"),
    "step_fixed_s": _("Time per step, fixed"),
    "step_layer_s": _("Time per step and layer"),
    "step_sequence_s": _("Time per step and sequence"),
    "prefill_step_share": _("Share of its prefill that a joining prompt adds to steps"),
    "prefill_half_tokens": _("Prompt length at which prefill reaches half its rate"),
    "hop_s": _("Time per exchange between GPUs"),
    "preempted_share": _("Delay of tokens where requests are put back for want of cache"),
    "hop_growth": _("Growth of the time per exchange with the number of GPUs"),
    "link_fraction": _("Link rate reached"),
    "stage_s": _("Time per pipeline stage"),
    "stage_overlap": _("Overlap of pipeline stages"),
    "request_fixed_s": _("Time per request, fixed"),
    "synchrony_fraction": _("Share of requests that wait for each other"),
    "kv_residency_fraction": _("Share of the output held in the KV cache on average"),
    "latency_limit_fraction": _("Mean over the 99th percentile of a latency limit"),
    "interruptions_per_hour": _("Interruptions per hour"),
    "hours_lost_per_interruption": _("Hours lost per interruption"),
    "start_up_hours": _("Start-up counted for each run"),
    "peak_to_average_rate": _("Peak over average load"),
    "exchange_rate": _("Exchange rate"),
    **TRAINING_ASSUMPTIONS,
}
UNITS: dict[str, str | Promise] = {
    "machine-hour": _("machine-hour"),
    "machine-month": ngettext_lazy("machine-month", "machine-months", 1),
    "GB-month": _("GB-month"),
    "token": _("token"),
    "request": _("request"),
    "byte": _("byte"),
    "bit": _("bit"),
    "byte/token": _("byte/token"),
    "byte/request": _("byte/request"),
    "byte/s": _("byte/s"),
    "token/s": _("token/s"),
    "tokens": _("tokens"),
    "day": _("day"),
    "days": _("days"),
    "month": _("month"),
}
PRICES: dict[str, str | Promise] = {
    "hour": _("%(amount)s per hour"),
    "month": _("%(amount)s per month"),
}
NOTES: dict[str, str | Promise] = {
    "tiered": _("price in steps"),
    "billing_unit_unknown": _("billing unit not known"),
    "upfront_share": _("a month's share of what is paid upfront for the term"),
    "committed": _("a commitment: paid for the whole month, used or not"),
}


def assumption(name: str) -> str:
    """An assumption by its name; constants of an engine come as "vllm.engine_bytes"."""
    owner, _dot, own = name.rpartition(".")
    words = str(ASSUMPTIONS.get(own, own.replace("_", " ")))
    return f"{RUNTIMES.get(owner, owner)} · {words}" if owner else words


def named(item: Assumption) -> str:
    """An assumption by its name, marked where a user set it."""
    words = assumption(item.name)
    return str(_("%(assumption)s (set by hand)") % {"assumption": words}) if item.user_set else words


def either(remedies: Iterable[str]) -> str:
    """Changes that would each help, in one line."""
    return pgettext("between changes that would each help", "; ").join(remedies)


def price(amount: str, per: str) -> str:
    """A unit price: "1.99 USD per hour"."""
    return str(PRICES[per]) % {"amount": amount} if per in PRICES else f"{amount} / {per}"


def paid_upfront(price: str, upfront: str, months: int, recurring: str) -> str:
    """A price whose term is paid in part or whole at once, with its parts; both prices with what they are per."""
    parts = {"price": price, "upfront": upfront, "months": months, "recurring": recurring}
    return (
        str(_("%(price)s over its term: %(upfront)s upfront for %(months)s months, and %(recurring)s"))
        % parts
    )


def unit(text: str) -> str:
    """The unit of a number; "1" is none."""
    return "" if text == "1" else str(UNITS.get(text, text))


def note(code: str | None) -> str:
    return str(NOTES.get(code, code.replace("_", " "))) if code else ""
