"""Titles of derivations, and under which heading each stands."""

from __future__ import annotations

import re

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from planner import wording
from planner.sizing.llm_derivations import TYPICAL

Text = str | Promise

FIGURES: dict[str, Text] = {
    "overhead_bytes": gettext_lazy("Runtime overhead"),
    "outside_bytes": gettext_lazy("Held outside the runtime's budget"),
    "headroom_bytes": gettext_lazy("Headroom kept free"),
    "free_bytes": gettext_lazy("Free beside the headroom"),
    "over_bytes": gettext_lazy("Over the limit"),
    "frozen_bytes": gettext_lazy("Frozen weights"),
    "trainable_bytes": gettext_lazy("Trained weights"),
    "gradients_bytes": gettext_lazy("Gradients"),
    "optimizer_bytes": gettext_lazy("Optimizer states"),
    "activations_bytes": gettext_lazy("Activations"),
    "logits_bytes": gettext_lazy("Logits"),
    "work_buffers_bytes": gettext_lazy("Work buffers"),
    "fragmentation_bytes": gettext_lazy("Held by the allocator"),
    "request_rate": gettext_lazy("Requests per second, average"),
    "requests_at_once": gettext_lazy("Requests at once"),
    "shared_prompt_s": gettext_lazy("What a prompt takes where all groups work on prompts"),
    "lone_prompt_s": gettext_lazy("What a prompt takes where the other groups wait for it"),
    "user_tokens_per_s": gettext_lazy("Output tokens per second, each user"),
    "used_memory": gettext_lazy("Memory used at peak"),
    "used_bandwidth": gettext_lazy("Memory bandwidth used at peak"),
    "used_compute": gettext_lazy("Matrix units used at peak"),
    "used_link": gettext_lazy("GPU link used at peak"),
    "used_launching": gettext_lazy("Launching, of each step"),
    "host_cores": gettext_lazy("Cores needed per machine"),
    "host_ram_bytes": gettext_lazy("Host memory needed per machine"),
    "weights_file_bytes": gettext_lazy("Weights on disk, one version"),
    "storage_needed_bytes": gettext_lazy("Disk for the weights"),
    "load_s": gettext_lazy("Loading the weights"),
    "job_hours": gettext_lazy("Hours for the job"),
    "job_cost": gettext_lazy("Cost of the job"),
    "billed_hours": gettext_lazy("Hours billed a month"),
    "sets": gettext_lazy("Sets of machines side by side"),
    "upfront_line": gettext_lazy("Paid upfront, a month's share"),
    "storage_line": gettext_lazy("Storage a month"),
    "egress_line": gettext_lazy("Transfer out a month"),
    "rework_line": gettext_lazy("Rework a month"),
    "run_cost": gettext_lazy("Cost of a run"),
    "repeats": gettext_lazy("Micro-batches of a step"),
    "products_s": gettext_lazy("Matrix products in one step"),
    "reached_fraction": gettext_lazy("Share of the compute rate that products reach"),
    "attention_s": gettext_lazy("Attention in one step"),
    "traffic_s": gettext_lazy("Memory traffic in one step"),
    "launching_s": gettext_lazy("Launching kernels in one step"),
    "tensor_s": gettext_lazy("Tensor-parallel exchange in one step"),
    "experts_s": gettext_lazy("Exchange between experts in one step"),
    "data_s": gettext_lazy("Data-parallel exchange in one step"),
    "bubble_s": gettext_lazy("Idle stages of the pipeline in one step"),
    "optimizer_s": gettext_lazy("The optimizer in one step"),
    "busy_s": gettext_lazy("Computing of one micro-batch"),
    "steps_per_hour": gettext_lazy("Steps per hour"),
    "samples_per_s": gettext_lazy("Samples per second"),
    "run_days": gettext_lazy("Days for the run"),
    "gpu_hours": gettext_lazy("GPU hours"),
    "mfu": gettext_lazy("MFU"),
    "gpu_count": gettext_lazy("GPUs"),
    "data_parallel": gettext_lazy("Data parallel"),
    "accumulation": gettext_lazy("Accumulation"),
    "effective_batch": gettext_lazy("Effective batch"),
    "trainable": gettext_lazy("Trained parameters"),
    "checkpoint_bytes": gettext_lazy("A checkpoint holds"),
    "checkpoint_write_s": gettext_lazy("Checkpoint written in"),
    "checkpoint_write_bytes_per_s": gettext_lazy("Rate at which checkpoints are written"),
    "checkpoint_written_bytes": gettext_lazy("Checkpoints written in the whole run"),
    "restore_s": gettext_lazy("Checkpoint restored in"),
    "between_s": gettext_lazy("Mean time between failures"),
    "interruptions": gettext_lazy("Failures expected in the run"),
    "wasted_fraction": gettext_lazy("Share of the time lost to failures and writing"),
    "spot_interruptions": gettext_lazy("Interruptions expected on spot machines"),
    "rework_fraction": gettext_lazy("Share of the time lost on spot machines"),
    "spare_machines": gettext_lazy("Spare machines"),
    "host_shared_memory_bytes": gettext_lazy("Shared memory of the host"),
    "host_page_cache_bytes": gettext_lazy("Page cache that helps"),
    "loader_samples_per_s": gettext_lazy("Samples per second that the data path bears"),
    "data_wait_fraction": gettext_lazy("Share of the time that GPUs wait for data"),
    "storage_read_bytes_per_s": gettext_lazy("Read from storage"),
    "fabric_bytes_per_s": gettext_lazy("Sent between machines, each GPU"),
    "fabric_offered_bytes_per_s": gettext_lazy("Network between machines, each GPU"),
}
AT_TYPICAL: dict[str, Text] = {
    "ttft_s": gettext_lazy("TTFT, typical load"),
    "tpot_s": gettext_lazy("TPOT, typical load"),
}

OF_A_TERM: dict[str, Text] = {
    "total": gettext_lazy("One run on term of sale %(number)s"),
    "hours": gettext_lazy("Hours paid on term of sale %(number)s"),
    "days": gettext_lazy("Days from which term of sale %(number)s pays"),
}
"""In the order of the table."""

GROUPS: tuple[tuple[str, Text], ...] = (
    ("memory", gettext_lazy("Memory")),
    ("speed", gettext_lazy("Speed")),
    ("typical", gettext_lazy("Speed at typical load")),
    ("checkpoints", gettext_lazy("Checkpoints and failures")),
    ("host", gettext_lazy("Host, storage, network")),
    ("money", gettext_lazy("Costs")),
)
"""Headings, in order."""
_MEMORY = frozenset({"kv_room_tokens", "concurrency_at_typical", "concurrency_at_maximum", "used_memory"})
_READ = frozenset({"weights_read_bytes", "chunk_weights_bytes"})
_HOST = (
    "host_", "storage_needed", "storage_read", "weights_file", "load_s", "loader_", "data_wait", "fabric_",
)  # fmt: skip
_CHECKPOINTS = (
    "checkpoint_", "restore_", "between_s", "interruptions", "wasted_", "spot_", "rework_fraction", "spare_",
)  # fmt: skip
_MONEY = ("monthly_total", "billed_hours", "sets", "per_million_tokens", "run_cost", "job_cost")


def figure(key: str) -> str:
    """The title of a derivation by its name."""
    plain = key.removeprefix(TYPICAL)
    if plain != key:
        if plain in AT_TYPICAL:
            return str(AT_TYPICAL[plain])
        return _("%(figure)s, typical load") % {"figure": figure(plain)}
    term = re.fullmatch(r"term_([0-9]+)_(total|hours|days)", key)
    if term:
        return str(OF_A_TERM[term[2]]) % {"number": term[1]}
    return str(FIGURES[key]) if key in FIGURES else wording.figure(key)


def is_known(key: str) -> bool:
    return key in FIGURES or key in wording.FIGURES


def group(key: str) -> str:
    """Under which heading a derivation stands."""
    if key.startswith(TYPICAL):
        return "typical"
    if key.endswith("_line") or key in _MONEY or key.startswith("term_"):
        return "money"
    if key.startswith(_HOST):
        return "host"
    if key.startswith(_CHECKPOINTS):
        return "checkpoints"
    is_memory = key in _MEMORY or (
        (key.endswith("_bytes") or key == "kv_bytes_per_token") and key not in _READ
    )
    return "memory" if is_memory else "speed"
