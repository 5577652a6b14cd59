"""How the needs of a training machine's host, storage and network come about."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from planner.sizing import host
from planner.sizing.host import DataPath
from planner.sizing.quantities import GB, Derivation, Term
from planner.sizing.training.placing import TrainingPlacement
from planner.sizing.training.question import Question
from planner.sizing.training.terms import ENTERED, MODEL, made, plain

SERIAL = "of one sample, what cores cannot share"
PARALLEL = "of one sample, what cores share"


def derive(asked: Question, placed: TrainingPlacement) -> dict[str, Derivation]:
    """Cores, memory, the data path, and the network between machines."""
    found = [*_memory(asked, placed), *_path(asked, placed), *_network(asked, placed)]
    return {item.figure: item for item in found}


def _memory(asked: Question, placed: TrainingPlacement) -> Iterator[Derivation]:
    need, workload, facts = placed.host, asked.workload, placed.facts
    if need is None:
        return
    assumed = workload.assumed
    shared = plain("host_shared_memory_bytes", need.shared_memory_bytes, "byte")
    yield made(
        "host_ram_bytes",
        "(loading_bytes + worker_processes_bytes + host_shared_memory_bytes + offloaded_bytes + system_bytes)"
        " * (1 + ram_headroom_fraction)",
        [
            plain("loading_bytes", need.loading_bytes, "byte", "one copy of the weights on their way"),
            plain("worker_processes_bytes", need.workers_bytes, "byte", "loader processes × memory of each"),
            shared,
            plain("offloaded_bytes", need.offloaded_bytes, "byte", "kept in host memory"),
            host.SYSTEM_BYTES.term(assumed),
            host.RAM_HEADROOM_FRACTION.term(assumed),
        ],
        facts["host_ram_bytes"],
        "byte",
    )
    path = asked.data_path(placed.machine)
    workers = workload.host.workers_per_gpu * placed.machine.device_count
    yield made(
        "host_shared_memory_bytes",
        "workers * prefetched_batches * sample_bytes * micro_batch",
        [
            plain("workers", workers, "1", ENTERED),
            host.PREFETCHED_BATCHES.term(assumed),
            plain("sample_bytes", path.sample_bytes, "byte", ENTERED),
            plain("micro_batch", placed.choice.job.micro_batch),
        ],
        facts["host_shared_memory_bytes"],
        "byte",
    )
    yield made(
        "host_page_cache_bytes",
        f"dataset_gb * {GB}",
        [plain("dataset_gb", workload.storage.dataset_gb, "GB", ENTERED)],
        facts["host_page_cache_bytes"],
        "byte",
    )


def _seconds(path: DataPath) -> tuple[float, float]:
    """Seconds of a sample that cores cannot share, and that they can."""
    serial = sum(stage.sample_s * (1 - stage.parallel_fraction) for stage in path.stages)
    return serial, sum(stage.sample_s * stage.parallel_fraction for stage in path.stages)


def _path(asked: Question, placed: TrainingPlacement) -> Iterator[Derivation]:
    """Cores that keep up, what the path bears, how long GPUs wait for it, what it reads."""
    facts, choice = placed.facts, placed.choice
    path = asked.data_path(placed.machine)
    serial, parallel = _seconds(path)
    wanted = choice.samples_per_s / choice.machines
    each = plain("samples_each_per_s", wanted, "1/s", "what the GPUs of one machine can take")
    share = [plain("parallel_s", parallel, "s", PARALLEL), plain("serial_s", serial, "s", SERIAL)]
    if "host_cores" in facts:
        formula = "max(1, parallel_s / (1 / samples_each_per_s - serial_s))" if parallel else "1"
        yield made("host_cores", formula, [*share, each] if parallel else [], facts["host_cores"], "1")
    sample = plain("sample_bytes", path.sample_bytes, "byte", ENTERED)
    several = plain("machines", choice.machines)
    if placed.path is not None:
        rates = ["read_bytes_per_s / sample_bytes", "copy_bytes_per_s / sample_bytes"]
        terms: list[Term] = [
            several,
            plain("read_bytes_per_s", path.read_bytes_per_s, "byte/s", ENTERED),
            plain("copy_bytes_per_s", path.copy_bytes_per_s, "byte/s", placed.machine.device.source),
            sample,
        ]
        if isfinite(placed.path.cores_per_s):
            rates.append("1 / (serial_s + parallel_s / cores)")
            cores = max(placed.machine.vcpu or 1.0, 1.0)
            terms += [*share, plain("cores", cores, "1", "usual for offers of this machine")]
        yield made(
            "loader_samples_per_s",
            f"machines * min({', '.join(rates)})",
            terms,
            facts["loader_samples_per_s"],
            "1/s",
        )
        if facts["data_wait_fraction"]:
            yield made(
                "data_wait_fraction",
                "1 - loader_samples_per_s / (machines * samples_each_per_s)",
                [plain("loader_samples_per_s", facts["loader_samples_per_s"], "1/s"), several, each],
                facts["data_wait_fraction"],
                "1",
            )
    yield made(
        "storage_read_bytes_per_s",
        "samples_per_s / machines * sample_bytes",
        [plain("samples_per_s", facts["samples_per_s"], "1/s"), several, sample],
        facts["storage_read_bytes_per_s"],
        "byte/s",
    )


def _network(asked: Question, placed: TrainingPlacement) -> Iterator[Derivation]:
    facts, choice = placed.facts, placed.choice
    if "fabric_bytes_per_s" not in facts:
        return
    yield made(
        "fabric_bytes_per_s",
        "sent_bytes / plain_step_s",
        [
            plain("sent_bytes", choice.fabric_bytes, "byte", MODEL),
            plain("plain_step_s", choice.step_s, "s", "one step without waiting for data"),
        ],
        facts["fabric_bytes_per_s"],
        "byte/s",
    )
    yield made(
        "fabric_offered_bytes_per_s",
        "min(fabric_link_bytes_per_s, link_bytes_per_s)",
        [
            plain("fabric_link_bytes_per_s", choice.links.between, "byte/s", asked.network_source),
            plain("link_bytes_per_s", choice.links.inside, "byte/s", placed.machine.device.source),
        ],
        facts["fabric_offered_bytes_per_s"],
        "byte/s",
    )
