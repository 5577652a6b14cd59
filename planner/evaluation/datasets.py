"""Mean lengths of prompt sets, for measurements that name the set instead of the lengths."""

from __future__ import annotations

LENGTHS: dict[tuple[str, str], tuple[float, float]] = {
    ("openorca", "llama-2-70b"): (294.0, 290.1),
    ("cnn-dailymail", "gpt-j-6b"): (870.0, 69.0),
    ("openorca+gsm8k+mbxp", "mixtral-8x7b"): (300.0, 145.3),
    ("mlperf-llama3.1-405b", "llama-3.1-405b"): (9428.0, 645.6),
    ("cnn-dailymail", "llama-3-8b"): (778.0, 128.0),
    ("mlperf-deepseek-r1", "deepseek-v3"): (800.0, 3886.0),
    ("sharegpt", ""): (220.0, 200.0),
}
"""(set, model family) → mean input and output tokens. Outputs: lengths logged by the MLPerf Inference results and
the reference counts of mlcommons/inference; inputs: as commonly quoted, not read in a source."""


def lengths(dataset: str, family: str) -> tuple[float, float] | None:
    """Mean input and output tokens of a prompt set for a model family."""
    return LENGTHS.get((dataset, family)) or LENGTHS.get((dataset, ""))
