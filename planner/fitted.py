"""Which figures rest on constants that were fitted on published measurements, by the name of their derivation.

Everything else that opens a derivation is counted, read or billed. A test holds the list against the derivations of
every kind: a figure is on it where its formula, or one that it leads to, has a fitted constant.
"""

from __future__ import annotations

from planner.sizing.llm_derivations import TYPICAL

FITTED = frozenset(
    (
        # Memory: what engines and training hold beside what is counted, and what is left beside it.
        "activations_bytes", "fragmentation_bytes", "free_bytes", "headroom_bytes", "kv_room_bytes", "kv_room_tokens",
        "concurrency_at_maximum", "concurrency_at_typical", "logits_bytes", "needed_bytes", "overhead_bytes",
        "over_bytes", "used_memory", "work_buffers_bytes",
        # Speed of serving.
        "chunk_link_s", "chunk_weights_bytes", "compute_s", "job_hours", "link_s", "memory_s", "output_tokens_per_s",
        "overhead_s", "prefill_s", "prompt_share_s", "prompt_work_s", "queue_s", "replicas", "requests_at_once",
        "step_s", "tpot_s", "ttft_s", "used_bandwidth", "used_compute", "used_launching", "used_link",
        "user_tokens_per_s", "weights_read_bytes", "host_cores",
        # Speed of training, and what follows from the hours of a run.
        "attention_s", "bubble_s", "busy_s", "checkpoint_written_bytes", "data_s", "experts_s", "gpu_hours",
        "interruptions", "launching_s", "mfu", "optimizer_s", "products_s", "reached_fraction", "repeats", "run_days",
        "run_hours", "samples_per_s", "spot_interruptions", "steps_per_hour", "storage_read_bytes_per_s", "tensor_s",
        "tokens_per_s", "traffic_s", "train_step_s",
    )
)  # fmt: skip


def is_fitted(figure: str) -> bool:
    """Whether a figure rests on fitted constants; at typical load as at peak."""
    return figure.removeprefix(TYPICAL) in FITTED
