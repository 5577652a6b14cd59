"""What providers say of the host of a machine size: processor, local disks, storage and network rates."""

from __future__ import annotations

import re
from typing import Any

from catalog.models.machines import MachineType
from planner.sizing.quantities import GIB
from planner.sizing.results import HostFacts

_RATE = re.compile(r"(?:(\d+)\s*x\s*)?(\d+(?:\.\d+)?)\s*gi?g?a?b", re.IGNORECASE)
BITS = 8

FIELDS = (
    "provider__slug", "sku", "cpu", "clock_ghz", "disk_gib", "disk_kind", "storage_bytes_per_s_baseline",
    "storage_bytes_per_s_maximum", "storage_iops_baseline", "network", "fabric", "source",
)  # fmt: skip


def network_bytes_per_s(text: str) -> float | None:
    """Bytes/s of a machine from how its provider writes it; None where no number stands there.

    >>> network_bytes_per_s("3200 Gigabit"), network_bytes_per_s("4x 100 Gigabit"), network_bytes_per_s("High")
    (400000000000.0, 50000000000.0, None)
    """
    found = _RATE.search(text)
    if found is None:
        return None
    return int(found[1] or 1) * float(found[2]) * 1e9 / BITS


def hosts() -> dict[tuple[str, str], HostFacts]:
    """Facts of every size that a source describes, by provider and name of the size: one query."""
    found = MachineType.objects.filter(kind="gpu").values_list(*FIELDS)
    return {(values[0], values[1]): _facts(dict(zip(FIELDS, values, strict=True))) for values in found}


def _facts(known: dict[str, Any]) -> HostFacts:
    text = known["network"]
    return HostFacts(
        cpu=known["cpu"] or None,
        clock_ghz=None if known["clock_ghz"] is None else float(known["clock_ghz"]),
        disk_bytes=None if known["disk_gib"] is None else int(float(known["disk_gib"]) * GIB),
        disk_kind=known["disk_kind"] or None,
        storage_bytes_per_s=known["storage_bytes_per_s_baseline"],
        storage_burst_bytes_per_s=known["storage_bytes_per_s_maximum"],
        storage_iops=known["storage_iops_baseline"],
        network=text or None,
        network_is_ceiling=text.lower().startswith("up to"),
        network_bytes_per_s=network_bytes_per_s(text),
        fabric=known["fabric"] or None,
        source=known["source"] or None,
    )
