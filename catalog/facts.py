"""Facts of accelerators, read from the shipped seed; no database, no Django."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

SEED = Path(__file__).parent / "seeds" / "accelerators.json"

Rate = Literal["fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"]
RATES: tuple[Rate, ...] = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
Link = Literal["nvlink", "nvswitch", "infinity_fabric", "pcie", "unified", "other", "unknown"]
Status = Literal["verified", "partial", "disputed", "memory"]

NOT_READ = "general knowledge, not read"
"""A cell whose source says this is shown as unverified."""


ARM_HOSTED = ("GH200", "GB200", "GB300", "GB10")
"""Superchips: the card is joined to an Arm processor and sold with it."""


class AcceleratorFact(BaseModel):
    """One exact variant, per device as the runtime enumerates it. ``None`` is unknown, never zero."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str
    aliases: tuple[str, ...] = ()
    vendor: str
    architecture: str
    compute_capability: str | None = None
    memory_gb: float | None = None
    """As sold: the number on the box."""
    smi_mib: int | None = None
    """As nvidia-smi (or the vendor's own tool) reports it."""
    engine_total_mib: int | None = None
    """As a serving engine saw it; the figure that a budget fraction applies to."""
    memory_kind: str | None = None
    memory_family: str | None = None
    bandwidth_bytes_per_s: float | None = None
    dense_rates: dict[Rate, float] = {}
    """Dense FLOP/s or OP/s of its matrix units. Neither here nor in ``not_run``: unknown."""
    not_run: tuple[Rate, ...] = ()
    interconnect: str | None = None
    """The source's own words."""
    link: Link = "unknown"
    """What joins devices of one machine by default; a bridge that must be bought apart does not count."""
    link_bytes_per_s: float | None = None
    """Bidirectional, per device, of ``link``; for a bridge see ``bridge_bytes_per_s``."""
    bridge_bytes_per_s: float | None = None
    pcie: str | None = None
    pcie_bytes_per_s: float | None = None
    """One direction, after encoding."""
    tdp_w: float | None = None
    mig: str | None = None
    year: int | None = None
    device_class: str | None = None
    form_factor: str | None = None
    devices_per_board: int | None = None
    status: Status
    sources: dict[str, str] = {}
    """Source by group of cells: memory, bandwidth, flops, interconnect, tdp, engine_total."""
    source_date: str | None = None
    note: str | None = None

    @property
    def memory_bytes(self) -> int | None:
        """Memory as reported where that is known, else as sold (taken as GiB, which vendors mean)."""
        if self.smi_mib is not None:
            return self.smi_mib * 1024**2
        return None if self.memory_gb is None else int(self.memory_gb * 1024**3)

    @property
    def host_architecture(self) -> str | None:
        """What container images must be built for, where the card comes with its host; nothing where any will do."""
        return "arm64" if self.name.startswith(ARM_HOSTED) else None

    def is_unverified(self, group: str) -> bool:
        return NOT_READ in self.sources.get(group, "")


@cache
def accelerators() -> dict[str, AcceleratorFact]:
    """Every shipped accelerator by its canonical name, in the seed's order."""
    rows = json.loads(SEED.read_text(encoding="utf-8"))["accelerators"]
    facts = [AcceleratorFact.model_validate(row) for row in rows]
    return {fact.name: fact for fact in facts}
