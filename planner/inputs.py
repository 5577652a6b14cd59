"""Rows become inputs of the sizing core here, and nowhere else. No database: facts and plain values in."""

from __future__ import annotations

from typing import cast

from catalog.facts import AcceleratorFact
from planner.sizing.devices import Device, Link, Machine
from planner.sizing.quantities import GIB, MIB

ENGINE_SHARE_OF_REPORTED = 0.994
"""Engines see this share of what nvidia-smi reports, where no log says it: the H100-SXM5's own ratio (0.9943)."""
GDDR_ECC_SHARE = 0.9375
"""Inline ECC of data-centre and workstation cards with GDDR takes 1/16: an L4 of 24 GB reports 23,034 MiB."""

_LINKS = ("nvlink", "nvswitch", "infinity_fabric", "pcie")


def device(fact: AcceleratorFact, fraction: float = 1.0) -> Device | None:
    """One accelerator, or a slice of it, for the arithmetic; None where bandwidth or memory is unknown.

    A slice has its share of memory, bandwidth and rates. What the engine sees, where no log says it, is
    0.994 of the reported memory, marked as assumed.
    """
    if fact.bandwidth_bytes_per_s is None or fact.memory_bytes is None:
        return None
    reported_bytes = float(fact.memory_bytes)
    if fact.smi_mib is None and (fact.memory_kind or "").startswith("GDDR"):
        reported_bytes *= GDDR_ECC_SHARE if fact.device_class in ("datacenter", "workstation") else 1
    engine_bytes = (
        reported_bytes * ENGINE_SHARE_OF_REPORTED
        if fact.engine_total_mib is None
        else float(fact.engine_total_mib * MIB)
    )
    return Device(
        name=fact.name,
        vendor=fact.vendor,
        architecture=fact.architecture,
        compute_capability=fact.compute_capability,
        memory_bytes=int(reported_bytes * fraction),
        engine_total_bytes=int(engine_bytes * fraction),
        engine_total_assumed=fact.engine_total_mib is None,
        memory_kind=fact.memory_kind,
        bandwidth_bytes_per_s=fact.bandwidth_bytes_per_s * fraction,
        dense_rates={rate: flops * fraction for rate, flops in fact.dense_rates.items()},
        not_run=fact.not_run,
        link=cast(Link, fact.link) if fact.link in _LINKS else "unknown",
        link_bytes_per_s=fact.link_bytes_per_s if fact.link in _LINKS and fact.link != "pcie" else None,
        pcie_bytes_per_s=fact.pcie_bytes_per_s,
        device_class=fact.device_class,
        form_factor=fact.form_factor,
        tdp_w=fact.tdp_w,
        source=fact.sources.get("memory") or fact.status,
    )


def machine(
    fact: AcceleratorFact,
    *,
    count: int,
    fraction: float = 1.0,
    vcpu: float | None = None,
    ram_gib: float | None = None,
) -> Machine | None:
    """One rentable machine; its device is already the slice where ``fraction`` is below 1."""
    card = device(fact, fraction)
    if card is None:
        return None
    return Machine(
        device=card,
        device_count=count,
        fraction=fraction,
        link=card.link,
        vcpu=vcpu,
        ram_bytes=None if ram_gib is None else int(ram_gib * GIB),
    )
