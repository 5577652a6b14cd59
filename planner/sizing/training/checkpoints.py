"""Checkpoints: what they hold, how long to write them, how often, and what interruptions cost."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from planner.sizing.quantities import Assumption
from planner.sizing.training.job import Job
from planner.sizing.training.states import BYTES, moment_bytes

GPU_HOURS_PER_FAILURE = Assumption(
    name="gpu_hours_per_failure", value=50_700, unit="h", source="Llama 3 (arXiv 2407.21783, section 3.3.4): 419 "
    "unexpected interruptions of 16,384 GPUs in 54 days", low=25_000, high=100_000,
)  # fmt: skip
REPAIR_HOURS = Assumption(
    name="repair_hours", value=24, unit="h", source="assumed: so long a failed machine is away; as many spares "
    "stand in for those", low=4, high=72,
)  # fmt: skip
NOTHING_SET: Mapping[str, float] = {}
SECONDS_PER_HOUR = 3600.0
SERVED_BYTES = 2.0


def content_bytes(job: Job, total: int, adapters: int, content: str) -> float:
    """Bytes of one checkpoint of the whole model.

    To resume: 16- or 32-bit weights, the master copy and all moments of what is trained, whatever is offloaded or
    sharded. To serve: 16-bit weights, of adapters only theirs.

    >>> from planner.sizing.training.shapes import usual
    >>> arch = usual(7e9)
    >>> round(content_bytes(Job(arch=arch), 7_000_000_000, 0, "full_state") / 1e9)
    98
    """
    trained = total if job.method == "full" else adapters
    if job.method == "full" and job.trainable_parameters is not None:
        trained = min(total, job.trainable_parameters)
    if content == "weights":
        return trained * SERVED_BYTES
    kept = BYTES[job.state]
    return trained * (kept.weights + kept.master + moment_bytes(job.state, job.optimizer))


def mean_time_between_failures_s(
    gpu_count: int, interruptions_per_hour: float = 0.0, assumed: Mapping[str, float] = NOTHING_SET
) -> float:
    """Seconds between two interruptions of the whole run: failures grow with the GPUs, and spot machines are taken
    away besides. 3600 ÷ (GPUs ÷ GPU-hours a failure + interruptions an hour)."""
    rate = gpu_count / GPU_HOURS_PER_FAILURE.given(assumed) + interruptions_per_hour
    return SECONDS_PER_HOUR / rate


def best_interval_s(write_s: float, between_failures_s: float) -> float:
    """Seconds of work between checkpoints that lose least (Daly 2006, doi 10.1016/j.future.2004.11.016).

    √(2 δ M) × (1 + ⅓ √(δ ÷ 2M) + ⅑ δ ÷ 2M) − δ for δ < 2 M, otherwise M; the first factor alone is Young's (1974).

    >>> round(best_interval_s(60, 86_400))
    3180
    """
    if write_s >= 2 * between_failures_s:
        return between_failures_s
    ratio = write_s / (2 * between_failures_s)
    young = sqrt(2 * write_s * between_failures_s)
    return young * (1 + sqrt(ratio) / 3 + ratio / 9) - write_s


def wasted_fraction(write_s: float, interval_s: float, restart_s: float, between_failures_s: float) -> float:
    """Share of the time that is not progress: writing, work lost at an interruption, restarting.

    δ ÷ (τ + δ) + (τ ÷ 2 + δ + R) ÷ M, at most all of it.
    """
    lost = (interval_s / 2 + write_s + restart_s) / between_failures_s
    return min(0.99, write_s / (interval_s + write_s) + lost)
