"""What a run sends between machines: bytes over one GPU's network adapter in one step."""

from __future__ import annotations

from planner.sizing.training.counting import parameters
from planner.sizing.training.fabric import Fabric, ring
from planner.sizing.training.job import Job
from planner.sizing.training.memory import HALF_BYTES

GRADIENT_BYTES = 6
"""FP32 gradients reduced and 16-bit weights gathered again, where the optimizer is split."""


def fabric_bytes(job: Job, links: Fabric) -> float:
    """Bytes one adapter carries in one step of the optimizer.

    Data parallel: a ring's bytes ÷ the adapters of a node that share it. ZeRO-3 gathers weights twice and scatters
    gradients once a micro-batch; otherwise 6 bytes a trained parameter once a step. Pipelines pass hidden states of
    each micro-batch on and gradients back.
    """
    split = job.split
    if split.gpu_count <= links.domain:
        return 0.0
    held = parameters(job)
    own = held.dense + held.experts
    trained = own if job.method == "full" else held.adapters
    sent = 0.0
    if split.shard_count * split.tp > links.domain:
        beside = max(1, links.domain // split.tp)
        if split.zero_stage == 3:
            gathered = HALF_BYTES * (2 * ring(own, split.shard_count) + ring(trained, split.shard_count))
            sent += gathered * job.accumulation / beside
        else:
            sent += GRADIENT_BYTES * ring(trained, split.shard_count) / beside
    if split.pp > 1:
        sent += 2 * HALF_BYTES * job.micro_tokens * job.arch.hidden / split.tp * job.accumulation
    return sent
