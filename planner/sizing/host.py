"""The host beside the accelerators: cores, memory, and the path data takes to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from planner.sizing.quantities import Assumption, Frozen

NOTHING_SET: Mapping[str, float] = {}
SYSTEM_BYTES = Assumption(
    name="system_bytes", value=4 * 10**9, unit="byte", source="assumed: a Linux server with its daemons and the "
    "container runtime", low=2 * 10**9, high=8 * 10**9,
)  # fmt: skip
RAM_HEADROOM_FRACTION = Assumption(
    name="ram_headroom_fraction",
    value=0.2,
    unit="1",
    source="assumed: a fifth of all is kept free",
    low=0.1,
    high=0.3,
)
PREFETCHED_BATCHES = Assumption(
    name="prefetched_batches", value=2, unit="1", source="PyTorch data-loading tutorial: a worker prepares two batches "
    "ahead (prefetch_factor); they lie in shared memory", low=1, high=4,
)  # fmt: skip
ENGINE_CORES_PER_GPU = Assumption(
    name="engine_cores_per_gpu", value=1.0, unit="1", source="assumed: each GPU of a replica has a process that "
    "launches its kernels and waits for them", low=1.0, high=2.0,
)  # fmt: skip
ENGINE_CORES_PER_REPLICA = Assumption(
    name="engine_cores_per_replica", value=1.0, unit="1", source="assumed: a replica's scheduler and its API server "
    "share a core between them at low load", low=1.0, high=2.0,
)  # fmt: skip
TOKENISED_PER_CORE_S = Assumption(
    name="tokenised_per_core_s", value=200_000, unit="token/s", source="assumed: a byte-pair tokenizer written in "
    "Rust, one thread", low=50_000, high=1_000_000,
)  # fmt: skip
STREAMED_PER_CORE_S = Assumption(
    name="streamed_per_core_s", value=10_000, unit="token/s", source="assumed: detokenising a token and sending it "
    "as an event of its own", low=3_000, high=30_000,
)  # fmt: skip
REQUEST_CORE_S = Assumption(
    name="request_core_s", value=0.003, unit="s", source="assumed: accepting, checking and logging a request",
    low=0.001, high=0.01,
)  # fmt: skip
REPLICA_BYTES = Assumption(
    name="replica_bytes", value=6 * 10**9, unit="byte", source="assumed: Python, CUDA libraries and pinned buffers of "
    "one engine process", low=3 * 10**9, high=12 * 10**9,
)  # fmt: skip
NETWORK_STORAGE_BYTES_PER_S = Assumption(
    name="network_storage_bytes_per_s", value=10**9, unit="byte/s", source="assumed: what a cloud's volume gives one "
    "machine, where the offer does not say", low=10**8, high=5 * 10**9,
)  # fmt: skip
WEIGHTS_KEPT = Assumption(
    name="weights_kept", value=2, unit="1", source="assumed: the version of the weights that serves, and the one to "
    "roll back to or to switch over to", low=1, high=4,
)  # fmt: skip
Stage = Literal["read", "decode", "transform", "collate", "copy"]


class DataStage(Frozen):
    """One stage of the path: seconds of one core for one sample, and how much of it cores can share."""

    name: Stage
    sample_s: float
    parallel_fraction: float


class DataPath(Frozen):
    """How a sample gets from storage into a device. ``read_bytes_per_s`` is what storage gives to this machine."""

    sample_bytes: float
    stages: tuple[DataStage, ...]
    read_bytes_per_s: float
    copy_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class PathRate:
    """Samples a second each part of the path bears, and the part that bears least."""

    storage_per_s: float
    cores_per_s: float
    copy_per_s: float
    slowest: Literal["storage_read", "data_loading", "copy"]

    @property
    def samples_per_s(self) -> float:
        return min(self.storage_per_s, self.cores_per_s, self.copy_per_s)


def stage_seconds(stage: DataStage, cores: float) -> float:
    """Seconds of one sample in a stage on ``cores`` cores (Amdahl 1967): s × (1 − p + p ÷ cores).

    >>> stage_seconds(DataStage(name="decode", sample_s=0.01, parallel_fraction=0.9), 1e9)
    0.001
    """
    return round(stage.sample_s * (1 - stage.parallel_fraction + stage.parallel_fraction / cores), 12)


def path_rate(path: DataPath, cores: float) -> PathRate:
    """What the path bears with so many cores. Storage, cores and the copy work side by side: the slowest decides.

    Cores: 1 ÷ Σ of the stages' seconds, so that more of them help only their parallel share.
    """
    storage = path.read_bytes_per_s / path.sample_bytes
    seconds = sum(stage_seconds(stage, max(cores, 1.0)) for stage in path.stages)
    work = 1.0 / seconds if seconds > 0 else float("inf")
    copy = path.copy_bytes_per_s / path.sample_bytes
    rates: tuple[tuple[float, Literal["storage_read", "data_loading", "copy"]], ...] = (
        (storage, "storage_read"), (work, "data_loading"), (copy, "copy"),
    )  # fmt: skip
    return PathRate(storage, work, copy, min(rates)[1])


def cores_for(path: DataPath, samples_per_s: float) -> float | None:
    """Cores that keep up with this rate; None where no number of cores does.

    serial + parallel ÷ cores = 1 ÷ rate, so cores = parallel ÷ (1 ÷ rate − serial).
    """
    serial = sum(stage.sample_s * (1 - stage.parallel_fraction) for stage in path.stages)
    parallel = sum(stage.sample_s * stage.parallel_fraction for stage in path.stages)
    left = 1.0 / samples_per_s - serial
    if parallel == 0 and left >= 0:
        return 1.0
    return None if left <= 0 else max(1.0, parallel / left)


class HostNeed(Frozen):
    """Cores and memory of the host of one machine, by what they are for. Bytes."""

    cores: float | None
    """None: no number of cores is enough."""
    loading_bytes: int
    """One copy of the weights on their way to the devices."""
    workers_bytes: int
    shared_memory_bytes: int
    page_cache_bytes: int
    """Of data that is read again, as far as it is worth keeping; not required."""
    offloaded_bytes: int
    system_bytes: int
    headroom_bytes: int

    @property
    def ram_bytes(self) -> int:
        """Memory without which the work fails: everything but the page cache."""
        return (
            self.loading_bytes + self.workers_bytes + self.shared_memory_bytes + self.offloaded_bytes
            + self.system_bytes + self.headroom_bytes
        )  # fmt: skip


def host_need(
    *, cores: float | None, weights_bytes: float, workers: int, worker_bytes: float, batch_bytes: float,
    offloaded_bytes: float = 0.0, dataset_bytes: float = 0.0, assumed: Mapping[str, float] = NOTHING_SET,
) -> HostNeed:  # fmt: skip
    """What a host needs: loading, workers × memory, shared memory of prefetched batches, offloaded state, a system,
    and a fifth of all on top. The page cache is named beside it, since it is given up when memory is short."""
    shared = workers * PREFETCHED_BATCHES.given(assumed) * batch_bytes
    system = SYSTEM_BYTES.given(assumed)
    plain = weights_bytes + workers * worker_bytes + shared + offloaded_bytes + system
    return HostNeed(
        cores=cores,
        loading_bytes=round(weights_bytes),
        workers_bytes=round(workers * worker_bytes),
        shared_memory_bytes=round(shared),
        page_cache_bytes=round(dataset_bytes),
        offloaded_bytes=round(offloaded_bytes),
        system_bytes=round(system),
        headroom_bytes=round(plain * RAM_HEADROOM_FRACTION.given(assumed)),
    )


SERVING_ASSUMPTIONS = (
    ENGINE_CORES_PER_GPU, ENGINE_CORES_PER_REPLICA, TOKENISED_PER_CORE_S, STREAMED_PER_CORE_S, REQUEST_CORE_S,
    REPLICA_BYTES, WEIGHTS_KEPT, SYSTEM_BYTES, RAM_HEADROOM_FRACTION,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ServingLoad:
    """What one machine that serves has to do at peak."""

    gpus: int
    replicas: int
    requests_per_s: float
    input_tokens: float
    """Of a request."""
    output_tokens_per_s: float
    weights_bytes: float
    offloaded_bytes: float

    def need(self, assumed: Mapping[str, float] = NOTHING_SET) -> HostNeed:
        return serving_need(
            gpus=self.gpus, replicas=self.replicas, requests_per_s=self.requests_per_s,
            input_tokens_per_s=self.requests_per_s * self.input_tokens, output_tokens_per_s=self.output_tokens_per_s,
            weights_bytes=self.weights_bytes, offloaded_bytes=self.offloaded_bytes, assumed=assumed,
        )  # fmt: skip


def serving_need(
    *, gpus: int, replicas: int, requests_per_s: float, input_tokens_per_s: float, output_tokens_per_s: float,
    weights_bytes: float, offloaded_bytes: float = 0.0, assumed: Mapping[str, float] = NOTHING_SET,
) -> HostNeed:  # fmt: skip
    """What the host of one machine needs to serve: a core for each GPU and replica, and what requests cost.

    cores = GPUs + replicas + input ÷ tokenised a core + output ÷ streamed a core + requests × seconds each.
    Memory: one copy of the weights while they load, the engines, what was moved to the host, a system, a fifth more.
    """
    cores = (
        gpus * ENGINE_CORES_PER_GPU.given(assumed)
        + replicas * ENGINE_CORES_PER_REPLICA.given(assumed)
        + input_tokens_per_s / TOKENISED_PER_CORE_S.given(assumed)
        + output_tokens_per_s / STREAMED_PER_CORE_S.given(assumed)
        + requests_per_s * REQUEST_CORE_S.given(assumed)
    )
    return host_need(
        cores=cores, weights_bytes=weights_bytes, workers=gpus, worker_bytes=REPLICA_BYTES.given(assumed),
        batch_bytes=0.0, offloaded_bytes=offloaded_bytes, dataset_bytes=weights_bytes, assumed=assumed,
    )  # fmt: skip
