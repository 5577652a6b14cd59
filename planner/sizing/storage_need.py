"""Storage of a workload by what lies there, how it is reached, and how long it takes to read it back."""

from __future__ import annotations

from typing import Literal

from planner.sizing.quantities import GB, Frozen

Method = Literal["posix", "nfs", "s3", "mounted_bucket"]
Pattern = Literal["sequential", "random"]
Place = Literal["durable", "scratch", "shared", "object"]


class Kept(Frozen):
    """One kind of data that is kept."""

    name: Literal["weights", "dataset", "checkpoints", "logs", "other"]
    size_bytes: int
    copies: int
    place: Place

    @property
    def total_bytes(self) -> int:
        return self.size_bytes * self.copies


class StorageNeed(Frozen):
    """What is kept, and codes of what is to be said about it."""

    kept: tuple[Kept, ...]
    warnings: tuple[str, ...] = ()

    @property
    def total_gb(self) -> float:
        """GB (10⁹ bytes) to be paid for; local scratch comes with the machine."""
        return sum(item.total_bytes for item in self.kept if item.place != "scratch") / GB


RANDOM_METHODS: tuple[Method, ...] = ("posix", "nfs")
"""Small random reads need a file system; object stores answer each with a request of tens of milliseconds."""


def need(kept: tuple[Kept, ...], method: Method, pattern: Pattern, *, resumes: bool) -> StorageNeed:
    """The storage of a workload, with a warning where the only copy of what cannot be made again lies on scratch,
    and where the access does not suit the way it is reached."""
    warnings = []
    if any(item.place == "scratch" and item.name in ("checkpoints", "dataset") for item in kept):
        warnings.append("only_copy_on_scratch")
    if pattern == "random" and method not in RANDOM_METHODS:
        warnings.append("random_reads_from_object_store")
    if resumes and method == "s3":
        warnings.append("checkpoints_need_a_file_system")
    return StorageNeed(kept=kept, warnings=tuple(warnings))


def served_gb(asked_gb: float, weights_bytes: float, versions: float) -> float:
    """GB to be paid for where a model is served: what is asked to be kept, or all versions of its weights if more.

    >>> served_gb(100, 141e9, 2), served_gb(100, 16e9, 2)
    (282.0, 100)
    """
    needed = versions * weights_bytes / GB
    return asked_gb if needed <= asked_gb else round(needed, 3)


def read_s(size_bytes: float, bytes_per_s: float, readers: int = 1, per_reader: bool = True) -> float:
    """Seconds to read something back: by each of several machines its own share, or all of it over one link."""
    return size_bytes / (bytes_per_s * (readers if per_reader else 1))


class GpuDirect(Frozen):
    """Whether reading past the CPU would work and help: all three must hold (NVIDIA GPUDirect Storage overview)."""

    hardware: bool
    file_system: bool
    critical: bool
    """Reading is the bottleneck, and the data need no decoding by a CPU."""

    @property
    def useful(self) -> bool:
        return self.hardware and self.file_system and self.critical


def gpudirect(vendor: str, method: Method, place: Place, *, read_bound: bool, decoded: bool) -> GpuDirect:
    """The prerequisites: an NVIDIA data-centre GPU, a local or parallel POSIX file system, and a path that waits for
    storage without a CPU having to decode."""
    return GpuDirect(
        hardware=vendor == "nvidia",
        file_system=method in RANDOM_METHODS and place in ("scratch", "shared", "durable"),
        critical=read_bound and not decoded,
    )
