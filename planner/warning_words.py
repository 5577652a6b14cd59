"""Codes of things to know of a candidate, in words; ``planner.wording`` looks them up."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise

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
    "price_from": _(
        "Reserved from this price on, the provider says: the price of your term is not stated and may be higher."
    ),
    "estimated_price": _("The source estimates this price."),
    "engine_total_assumed": _("What the engine sees of this card's memory is assumed, not read."),
    "link_unknown": _("How the GPUs are linked is unknown; PCIe is assumed."),
    "longest_does_not_fit": _("One request of the longest length does not fit beside the weights."),
    "fraction": _("A slice of a GPU: its share of speed is assumed to equal its share of memory."),
    "rate_wins": _("Both a rate and a concurrency were given: the rate is used."),
    "more_devices_for_speed": _("Fewer GPUs would fit; more are used to reach the latency target."),
    "batch_above_asked": _(
        "The batch asked for cannot be shared by these GPUs in whole micro-batches: a step takes the next larger one "
        "that can (see “Effective batch”)."
    ),
    "more_devices_for_load": _("Fewer GPUs would fit; with more in a replica the load takes fewer machines."),
    "layers_beside_tensors": _(
        "Layers are spread over GPUs too: split by tensors alone, GPUs would hold the same cache several times."
    ),
    "attention_by_requests": _(
        "Each group of GPUs keeps the attention of its own requests and the experts are spread over all (data-parallel "
        "attention with expert parallelism): more requests fit, each is slower. Latency of such splits is held against "
        "no published measurement."
    ),
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
    "host_ram_short": _("The host has less memory than loading needs with a reserve: it may not load."),
    "host_ram_unknown": _("The host memory of these machines is not known."),
    "host_cores_unknown": _(
        "The cores of these machines are not known, so data loading is not held against them."
    ),
    "waits_for_data": _("The GPUs wait for data: a faster GPU does not help."),
    "more_cores_do_not_help": _(
        "More cores do not help either: the part of loading that is not parallel is too slow."
    ),
    "fabric_assumed": _("The network between the machines is assumed, not read from the offer."),
    "zero3_over_pcie": _(
        "ZeRO-3 gathers every layer over PCIe, in every pass: GPUs with links between them, ZeRO-2 or adapters would "
        "be faster."
    ),
    "qlora_not_needed": _(
        "The frozen weights would fit in 16 bits here: LoRA is faster than QLoRA, which widens them in every pass."
    ),
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
