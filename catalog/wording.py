"""Codes of the catalog in the reader's language; a code without words is shown as it is."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise

NOT_COMPARABLE: dict[str, Text] = {
    "count_unknown": _("the number of GPUs is not known"),
    "slice_memory_unknown": _("a slice of a card whose memory the provider does not state"),
    "ambiguous_accelerator": _("it is not certain which card this is"),
    "unknown_accelerator": _("the card is not in the catalog"),
    "host_price_unknown": _("the price is for the GPU alone; the machine costs more"),
    "memory_contradicts": _("the stated memory does not fit the card"),
    "region_unknown": _("the source does not say for which region the price holds"),
    "card_not_read": _("card and number of GPUs come from general knowledge, not from a document"),
    "no_accelerator": _("a machine without a GPU"),
    "dedicated_host": _("a dedicated host, not a machine"),
    "other_accelerator": _("its accelerators are no GPUs"),
    "no_capacity": _("no region has capacity now"),
    "size_unknown": _("the machine size is not in the catalog"),
}

RUN_REASONS: dict[str, Text] = {
    "too_slow": _("the source answered too slowly"),
    "no_answer": _("the source did not answer"),
    "server_error": _("the source reported an error of its own"),
    "refused_us": _("the source refused the request"),
    "asked_to_wait": _("the source asked to wait longer than we do"),
    "redirected": _("the source led to another address, which we do not follow"),
    "led_elsewhere": _("the next page was on another address, which we do not follow"),
    "too_large": _("an answer was larger than any honest one"),
    "unreadable": _("an answer could not be read"),
    "cut_off": _("an answer ended too early"),
    "schema_changed": _("the answers have another form than before"),
    "paging_loop": _("the pages led in a circle"),
    "too_many_pages": _("there were more pages than we read"),
    "wrong_currency": _("prices came in another currency than asked for"),
    "no_prices": _("no price was among the rows"),
    "broken_rows": _("too many rows had no readable price"),
    "worker_died": _("the process that ran it ended before it was done"),
    "internal_error": _("an error of ours; it has been logged"),
    "fewer_prices": _("it lists far fewer prices than the last good run"),
    "other_machines": _("none of the machines that it listed before is among its rows"),
    "prices_moved": _("too many prices moved by an implausible factor"),
    "rates_moved": _("an exchange rate moved by an implausible factor"),
    "region_unknown": _("a region was asked for that cannot be one"),
    "provider_unknown": _("a provider was asked for that the source does not have"),
    "not_set_up": _("its key is not set"),
    "key_unreadable": _("the file with its key could not be read"),
    "package_missing": _("the library that it needs is not installed"),
}

REFUSED: dict[str, Text] = {
    "other_service": _("of another service"),
    "no_sku": _("without a machine size"),
    "reservation": _("reservation on terms that are not read"),
    "reservation_without_gpu": _("reservation of a machine without a GPU"),
    "convertible": _("convertible reservation"),
    "incomplete_terms": _("reservation with a part of its price missing"),
    "other_terms": _("of other terms of sale"),
    "not_primary": _("twin of a primary meter"),
    "windows": _("Windows machine"),
    "cloud_services": _("Cloud Services twin"),
    "dedicated_host": _("dedicated host"),
    "low_priority": _("low priority twin"),
    "promo": _("promotion"),
    "volume_tier": _("price of a volume step"),
    "no_region": _("without a region"),
    "other_size": _("another size or kind of storage"),
    "other_area": _("of another area of the world"),
    "ended": _("no longer in force"),
    "not_yet": _("not yet in force"),
    "no_gpu": _("machine without a GPU"),
    "other_unit": _("priced in another unit"),
    "bad_price": _("price not readable"),
    "cannot_be_kept": _("a name or figure that cannot be"),
    "zero_price": _("price of zero, which is not a price"),
    "other_system": _("another operating system"),
    "licence_included": _("with a licence in the price"),
    "capacity_block": _("capacity block"),
    "unused_capacity": _("reserved capacity that is not used"),
    "cluster_only": _("sold in clusters only"),
    "not_offered": _("no price at present"),
    "rented": _("rented to somebody"),
    "hidden": _("hidden by its source"),
    "part_unknown": _("a part of it has no price"),
    "no_dollar_price": _("no price in dollars"),
    "no_rate": _("no rate of this currency"),
    "contradictory": _("two prices for the same machine; the old one stays"),
    "moved_too_far": _("moved by an implausible factor; the old one stays"),
}

TIER_DETAILS: dict[str, Text] = {
    "savings_1y": _("savings plan, 1 year"),
    "savings_3y": _("savings plan, 3 years"),
    "reserved_1y": _("1 year"),
    "reserved_3y": _("3 years"),
    "reserved_1y_no_upfront": _("1 year, nothing upfront"),
    "reserved_1y_partial_upfront": _("1 year, partly upfront"),
    "reserved_1y_all_upfront": _("1 year, all upfront"),
    "reserved_3y_no_upfront": _("3 years, nothing upfront"),
    "reserved_3y_partial_upfront": _("3 years, partly upfront"),
    "reserved_3y_all_upfront": _("3 years, all upfront"),
    "reserved_1y_no_upfront_convertible": _("1 year, nothing upfront, convertible (exchangeable)"),
    "reserved_1y_partial_upfront_convertible": _("1 year, partly upfront, convertible (exchangeable)"),
    "reserved_1y_all_upfront_convertible": _("1 year, all upfront, convertible (exchangeable)"),
    "reserved_3y_no_upfront_convertible": _("3 years, nothing upfront, convertible (exchangeable)"),
    "reserved_3y_partial_upfront_convertible": _("3 years, partly upfront, convertible (exchangeable)"),
    "reserved_3y_all_upfront_convertible": _("3 years, all upfront, convertible (exchangeable)"),
    "commit_1m": _("1 month committed"),
    "commit_3m": _("3 months committed"),
    "commit_6m": _("6 months committed"),
    "from": _("from this price on; the term is not stated"),
    "community": "",
    "secure": _("secure cloud"),
    "serverless": _("serverless"),
    "medium priority": _("medium priority"),
}
"""Terms of sale by the code of ``tier_detail``; zones and a source's own words stand as they are."""

DECISION_REFUSED: dict[str, Text] = {
    "price_decided": _("This price was decided on already."),
    "not_held": _("This run is not held any more."),
    "pages_forgotten": _("The pages of this run are no longer kept; refresh again."),
    "newer_run_exists": _("A newer run has succeeded since; this one cannot be confirmed."),
}

RATES: dict[str, Text] = {
    "fp32": "FP32", "tf32": "TF32", "fp16": "FP16", "bf16": "BF16", "fp8": "FP8", "int8": "INT8",
    "fp4": "FP4",
}  # fmt: skip

VENDORS: dict[str, Text] = {
    "amd": "AMD",
    "apple": "Apple",
    "aws": "AWS",
    "google": "Google",
    "huawei": "Huawei",
    "intel": "Intel",
    "nvidia": "NVIDIA",
}

FORM_FACTORS: dict[str, Text] = {
    "cloud": _("in its provider's machines only"),
    "module": _("module"),
    "superchip": _("superchip, joined to a processor"),
    "SoC": _("on the processor's chip (SoC)"),
}

DEVICE_CLASSES: dict[str, Text] = {
    "datacenter": _("data centre"),
    "workstation": _("workstation"),
    "consumer": _("consumer"),
    "cloud-asic": _("cloud chip"),
    "apu": _("with shared memory"),
}

STATUSES: dict[str, Text] = {
    "verified": _("read in at least one source"),
    "partial": _("some cells are not confirmed"),
    "disputed": _("sources disagree"),
    "memory": _("from general knowledge"),
}

LINKS: dict[str, Text] = {
    "nvlink": "NVLink",
    "nvswitch": "NVLink (NVSwitch)",
    "infinity_fabric": "Infinity Fabric",
    "pcie": "PCIe",
    "unified": _("unified memory"),
    "other": _("other"),
}

DISK_KINDS: dict[str, Text] = {
    "ssd": "SSD",
    "nvme ssd": "NVMe SSD",
    "hdd": "HDD",
    "nvme hdd": _("HDD on NVMe"),
}

TOOLKITS: dict[str, str] = {"cuda": "CUDA", "rocm": "ROCm"}

ENGINES: dict[str, str] = {"vllm": "vLLM"}

PROVIDER_KINDS: dict[str, Text] = {
    "hyperscaler": _("hyperscaler"),
    "cloud": _("cloud"),
    "gpu-cloud": _("GPU cloud"),
    "marketplace": _("marketplace"),
    "serverless": _("serverless"),
    "bare-metal": _("bare metal"),
}


def say(words: dict[str, Text], code: str) -> Text:
    return words.get(code, code)
