"""Ways to split a job over so many GPUs, simplest first; which of them a model and its software allow."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from planner.sizing.architecture import Architecture
from planner.sizing.training.job import Recompute, Software, Split
from planner.sizing.training.workload import STAGES, Parallel

TENSOR_DEGREES = (1, 2, 4, 8)
PIPELINE_DEGREES = (1, 2, 4, 8, 16, 32, 64)
CONTEXT_DEGREES = (1, 2, 4, 8, 16, 32)
MICRO_BATCHES = (16, 8, 4, 2, 1)
LONG_SEQUENCE = 16_384
"""From here on context parallelism is tried."""
SPLITS_MAXIMUM = 48


def divides(arch: Architecture, tp: int, pp: int, ep: int) -> bool:
    """Whether heads, layers and experts can be split so; KV heads may be repeated."""
    if tp > 1 and any(group.attention.heads % tp for group in arch.layers if group.attention.heads):
        return False
    if arch.layer_count < pp:
        return False
    return all(group.mlp.experts % ep == 0 for group in arch.layers if group.mlp.kind == "moe")


def stages(software: Software, chosen: str) -> tuple[int, ...]:
    """ZeRO stages to try: those that the software has, or the one that was chosen."""
    if chosen != "auto":
        return (STAGES[chosen],)
    return {"megatron": (1,), "torch": (0, 3), "transformers": (0, 2, 3)}[software]


@lru_cache(maxsize=1024)
def splits(
    arch: Architecture, software: Software, asked: Parallel, gpu_count: int, domain: int, sequence: int
) -> tuple[Split, ...]:
    """Splits of exactly ``gpu_count`` GPUs, the fewest ranks to a model first.

    Tensor parallelism stays within one NVLink domain; pipelines and contexts are tried for Megatron, expert
    parallelism as wide as experts and GPUs allow.
    """
    return tuple(_first(_splits(arch, software, asked, gpu_count, domain, sequence)))


def _first(found: Iterator[Split]) -> Iterator[Split]:
    ordered = sorted(
        found, key=lambda split: (split.tp * split.pp * split.cp, split.pp, split.cp, split.zero_stage)
    )
    yield from ordered[:SPLITS_MAXIMUM]


def _splits(
    arch: Architecture, software: Software, asked: Parallel, gpu_count: int, domain: int, sequence: int
) -> Iterator[Split]:
    tensors = (asked.tp,) if asked.tp else TENSOR_DEGREES if software != "transformers" else (1,)
    pipelines = (asked.pp,) if asked.pp else PIPELINE_DEGREES if software == "megatron" else (1,)
    contexts = (
        (asked.cp,)
        if asked.cp
        else CONTEXT_DEGREES
        if sequence >= LONG_SEQUENCE and software != "transformers"
        else (1,)
    )
    for tp in tensors:
        for pp in pipelines:
            for cp in contexts:
                ranks = tp * pp * cp
                if gpu_count % ranks or (tp > domain and not asked.tp):
                    continue
                dp = gpu_count // ranks
                for ep in _experts(arch, software, asked, tp * cp * dp, domain):
                    if not divides(arch, tp, pp, ep):
                        continue
                    for stage in stages(software, asked.sharding):
                        if stage and dp * cp == 1 and asked.sharding == "auto" and stage != 1:
                            continue
                        yield Split(
                            tp=tp,
                            pp=pp,
                            cp=cp,
                            dp=dp,
                            ep=ep,
                            zero_stage=stage,
                            sequence_parallel=tp > 1,
                            virtual_stages=2
                            if software == "megatron" and pp > 1 and arch.layer_count >= 4 * pp
                            else 1,
                        )


def _experts(
    arch: Architecture, software: Software, asked: Parallel, ranks: int, domain: int
) -> tuple[int, ...]:
    if asked.ep:
        return (asked.ep,) if ranks % asked.ep == 0 else ()
    if not arch.has_experts or software != "megatron":
        return (1,)
    experts = min(group.mlp.experts for group in arch.layers if group.mlp.kind == "moe")
    fitting = [degree for degree in (1, 2, 4, 8, 16, 32, 64) if experts % degree == 0 and ranks % degree == 0]
    inside = [degree for degree in fitting if degree <= domain]
    return tuple({max(inside or [1]), max(fitting or [1])})


def recomputes(asked: str, software: Software) -> tuple[Recompute, ...]:
    """From the fastest to the smallest; only the one asked for, if one was."""
    if asked in ("none", "selective", "full"):
        return (asked,)  # type: ignore[return-value]
    return ("none", "full") if software != "torch" else ("none", "selective", "full")


GPUS_MAXIMUM = 10**6
"""More than anybody rents."""


def machine_counts(most: int) -> tuple[int, ...]:
    """Numbers of machines to try: 1, 2, 3, 4, 6, 8, 12, 16 … up to the most that may be rented."""
    powers = [2**n for n in range(most.bit_length())]
    halves = [3 * 2**n for n in range(most.bit_length()) if 3 * 2**n <= most]
    return tuple(sorted({*powers, *halves, most}))
