"""Host, storage and network of a candidate: what the work needs beside what the offer is known to have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from planner.figures import Figure, gib, given, significant
from planner.kinds.frame import Block, Cell
from planner.sizing import host
from planner.sizing.quantities import GB, GIB
from planner.sizing.results import Candidate

MB = 10**6
Rows = list[tuple[str, tuple[Cell, ...]]]


def value(candidate: Candidate, name: str) -> float | None:
    found = candidate.figures.get(name)
    return None if found is None else found.value


def derived(candidate: Candidate, name: str, form: Callable[[float], str]) -> Cell:
    """A figure of the core, which opens the derivation of its name."""
    found = value(candidate, name)
    return _("unknown") if found is None else Figure(form(found), opens=name)


def offered(found: float | None, form: Callable[[float], str]) -> Cell:
    """What is known of the offer; there is nothing to derive."""
    return given(form(found)) if found else _("unknown")


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


def network_per_gpu(candidate: Candidate) -> float | None:
    """Bytes/s between machines for one GPU of this offer; None where no source says."""
    facts = candidate.offer.host
    if facts is None or facts.network_bytes_per_s is None:
        return None
    return facts.network_bytes_per_s / max(1, candidate.offer.gpu_count)


def host_rows(candidate: Candidate) -> Rows:
    """Cores, their clock and memory: needed by one machine, and what the offer has."""
    offer = candidate.offer
    has_cores = "host_cores" in candidate.figures
    rows: Rows = [
        (
            _("Cores"),
            (
                derived(candidate, "host_cores", significant) if has_cores else _("no number is enough"),
                offered(offer.vcpu, "{:,.0f} vCPU".format),
            ),
        ),
        (
            _("Memory"),
            (
                derived(candidate, "host_ram_bytes", lambda found: f"{gib(found)} GiB"),
                offered(offer.ram_bytes, lambda found: f"{found / GIB:,.0f} GiB"),
            ),
        ),
    ]
    if offer.host is not None and offer.host.clock_ghz:
        rows.append((_("Clock"), ("", given(f"{offer.host.clock_ghz:.1f} GHz"))))
    return rows


def storage_read(candidate: Candidate) -> float | None:
    """What the machine lets through to network storage, sustained; None where no source says."""
    return candidate.offer.host.storage_bytes_per_s if candidate.offer.host else None


def local_disk(candidate: Candidate) -> Cell:
    facts = candidate.offer.host
    if facts is None or not facts.disk_bytes:
        return _("unknown")
    return given(f"{facts.disk_bytes / GB:,.0f} GB {facts.disk_kind or ''}".strip())


def serving_block(candidate: Candidate) -> Block | None:
    """Of a kind that serves: cores and memory, and how long weights take to load from where they lie."""
    weights = value(candidate, "weights_file_bytes")
    if weights is None:
        return None
    known = storage_read(candidate)
    load_s = weights / (known or float(host.NETWORK_STORAGE_BYTES_PER_S.value))
    rows = host_rows(candidate)
    rows += [
        (
            _("Disk for two versions of the weights"),
            (derived(candidate, "storage_needed_bytes", size), local_disk(candidate)),
        ),
        (_("Reading network storage"), (_("as fast as it can"), offered(known, rate))),
        (
            _("Loading the weights takes"),
            (
                Figure(span(load_s), opens="load_s"),
                _("at this rate") if known else _("at an assumed rate"),
            ),
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
            _(
                "This offer has %(has)s GiB of host memory; loading and running need %(needs)s GiB, a reserve included."
            )
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


def load_cautions(candidate: Candidate, workload: Mapping[str, Any]) -> tuple[str, ...]:
    """Whether the weights come from network storage in the time asked for, and what would help where they do not."""
    weights, minutes = value(candidate, "weights_file_bytes"), workload.get("load_minutes_maximum")
    if weights is None or not isinstance(minutes, int | float):
        return ()
    needed, found = weights / (minutes * 60), storage_read(candidate)
    words = {"needed": rate(needed), "asked": significant(minutes)}
    if found is None:
        return (
            _(
                "Loading within %(asked)s min takes %(needed)s from storage; what this machine lets through is not "
                "known."
            )
            % words,
        )
    if found >= needed:
        return ()
    said = [
        _("Loading within %(asked)s min takes %(needed)s from storage; this machine lets %(lets)s through.")
        % (words | {"lets": rate(found)})
    ]
    host = candidate.offer.host
    if host is not None and host.disk_bytes and host.disk_bytes >= weights:
        said.append(
            _("A copy on its local disks (%(disks)s) serves every start but the first.")
            % {"disks": size(host.disk_bytes)}
        )
    said.append(
        _("Weights of at most %(fits)s would load in time, and so would a machine with faster storage.")
        % {"fits": size(found * minutes * 60)}
    )
    return (" ".join(said),)


def disk_cautions(candidate: Candidate, workload: Mapping[str, Any]) -> tuple[str, ...]:
    """Where less is asked to be kept than the versions of the weights take, which the bill counts."""
    needed, kept_gb = value(candidate, "storage_needed_bytes"), workload.get("storage_gb")
    if needed is None or not isinstance(kept_gb, int | float) or needed <= kept_gb * GB:
        return ()
    return (
        _(
            "All kept versions of the weights take %(needed)s: the bill counts them, not the %(kept)s of “Kept on "
            "disk”."
        )
        % {"needed": size(needed), "kept": size(kept_gb * GB)},
    )
