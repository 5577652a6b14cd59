"""Host, storage and network of a candidate: what the work needs beside what the offer is known to have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from planner.figures import gib, significant
from planner.kinds.frame import Block
from planner.sizing.quantities import GB, GIB
from planner.sizing.results import Candidate

MB = 10**6
ASSUMED_READ_BYTES_PER_S = 1e9
"""Of network storage, where the offer does not say."""
Rows = list[tuple[str, tuple[str, ...]]]


def value(candidate: Candidate, name: str) -> float | None:
    found = candidate.figures.get(name)
    return None if found is None else found.value


def size(found: float | None) -> str:
    """GB (10⁹ bytes), as storage is sold."""
    return _("unknown") if found is None else f"{significant(found / GB)} GB"


def rate(found: float | None) -> str:
    if found is None:
        return _("unknown")
    return f"{significant(found / GB)} GB/s" if found >= 0.1 * GB else f"{significant(found / MB)} MB/s"


def span(seconds: float | None) -> str:
    if seconds is None:
        return _("unknown")
    return f"{significant(seconds)} s" if seconds < 120 else f"{significant(seconds / 60)} min"


def known(found: float | None, form: str) -> str:
    return form.format(found) if found else _("unknown")


def network_per_gpu(candidate: Candidate) -> float | None:
    """Bytes/s between machines for one GPU of this offer; None where no source says."""
    host = candidate.offer.host
    if host is None or host.network_bytes_per_s is None:
        return None
    return host.network_bytes_per_s / max(1, candidate.offer.gpu_count)


def host_rows(candidate: Candidate) -> Rows:
    """Cores, their clock and memory: needed by one machine, and what the offer has."""
    offer, cores = candidate.offer, value(candidate, "host_cores")
    ram = value(candidate, "host_ram_bytes")
    rows: Rows = [
        (
            _("Cores"),
            (
                significant(cores) if cores is not None else _("no number is enough"),
                known(offer.vcpu, "{:,.0f} vCPU"),
            ),
        ),
        (
            _("Memory"),
            (
                f"{gib(ram)} GiB" if ram else _("unknown"),
                known(offer.ram_bytes and offer.ram_bytes / GIB, "{:,.0f} GiB"),
            ),
        ),
    ]
    if offer.host is not None and offer.host.clock_ghz:
        rows.append((_("Clock"), ("", f"{offer.host.clock_ghz:.1f} GHz")))
    return rows


def storage_read(candidate: Candidate) -> float | None:
    """What the machine lets through to network storage, sustained; None where no source says."""
    return candidate.offer.host.storage_bytes_per_s if candidate.offer.host else None


def local_disk(candidate: Candidate) -> str:
    host = candidate.offer.host
    if host is None or not host.disk_bytes:
        return _("unknown")
    return f"{host.disk_bytes / GB:,.0f} GB {host.disk_kind or ''}".strip()


def serving_block(candidate: Candidate) -> Block | None:
    """Of a kind that serves: cores and memory, and how long weights take to load from where they lie."""
    weights = value(candidate, "weights_file_bytes")
    if weights is None:
        return None
    offered = storage_read(candidate)
    load_s = weights / (offered or ASSUMED_READ_BYTES_PER_S)
    rows = host_rows(candidate)
    rows += [
        (
            _("Disk for two versions of the weights"),
            (size(value(candidate, "storage_needed_bytes")), local_disk(candidate)),
        ),
        (_("Reading network storage"), (_("as fast as it can"), rate(offered))),
        (
            _("Loading the weights takes"),
            (span(load_s), _("at this rate") if offered else _("at an assumed 1 GB/s")),
        ),
    ]
    return Block(
        title=_("Host and storage of one machine"),
        heads=(_("needed"), _("this offer")),
        rows=tuple(rows),
        note=_(
            "At peak load. Loading tokenised requests and answers takes cores; low GPU use alone does not show it."
        ),
    )


def host_cautions(candidate: Candidate) -> tuple[str, ...]:
    """Where this very offer has less host than the work needs."""
    found = []
    offer, cores = candidate.offer, value(candidate, "host_cores")
    ram = value(candidate, "host_ram_bytes")
    if ram and offer.ram_bytes and offer.ram_bytes < ram:
        found.append(
            _("This offer has %(has)s GiB of host memory; loading and serving need %(needs)s GiB.")
            % {"has": f"{offer.ram_bytes / GIB:,.0f}", "needs": gib(ram)}
        )
    if cores and offer.vcpu and offer.vcpu < cores:
        found.append(
            _(
                "This offer has %(has)s virtual cores; the work needs about %(needs)s: the host would slow the GPUs."
            )
            % {"has": f"{offer.vcpu:,.0f}", "needs": significant(cores)}
        )
    return tuple(found)


def disk_cautions(candidate: Candidate, workload: Mapping[str, Any]) -> tuple[str, ...]:
    """Where less is kept on disk than the weights take: the bill would lack it."""
    weights, kept_gb = value(candidate, "weights_file_bytes"), workload.get("storage_gb")
    if weights is None or not isinstance(kept_gb, int | float) or weights <= kept_gb * GB:
        return ()
    return (
        _("The weights take %(weights)s; only %(kept)s are kept on disk, and paid for. Raise “Kept on disk”.")
        % {"weights": size(weights), "kept": size(kept_gb * GB)},
    )
