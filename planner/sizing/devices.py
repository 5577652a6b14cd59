"""Machines as the arithmetic sees them: devices with memory, bandwidth, rates and links."""

from __future__ import annotations

from typing import Literal

from planner.sizing.quantities import Frozen

Rate = Literal["fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"]
Link = Literal["nvlink", "nvswitch", "infinity_fabric", "pcie", "unknown"]


class Device(Frozen):
    """One accelerator as the runtime enumerates it (an MI250X is two).

    ``dense_rates`` holds dense FLOP/s (or OP/s) of the formats its matrix units run; a format that is
    missing there is either known not to run (``not_run``) or unknown.
    """

    name: str
    vendor: str
    architecture: str
    compute_capability: str | None = None
    memory_bytes: int
    engine_total_bytes: int
    engine_total_assumed: bool = False
    memory_kind: str | None = None
    bandwidth_bytes_per_s: float
    dense_rates: dict[Rate, float]
    not_run: tuple[Rate, ...] = ()
    link: Link = "unknown"
    link_bytes_per_s: float | None = None
    """Bidirectional bytes/s of one device's links to its peers."""
    pcie_bytes_per_s: float | None = None
    device_class: str | None = None
    form_factor: str | None = None
    tdp_w: float | None = None
    source: str


class Machine(Frozen):
    """One rentable machine: n identical devices and their host."""

    device: Device
    device_count: int
    fraction: float = 1.0
    """Share of one device, for slices; 1 for whole devices."""
    link: Link = "unknown"
    vcpu: float | None = None
    ram_bytes: int | None = None


class Layout(Frozen):
    """How one replica is split: tensor, pipeline, expert and data parallel degrees.

    With ``dp`` groups of ``tp`` ranks each keep the attention of their own requests, and the experts are spread over
    ``ep`` ranks of all groups.
    """

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1

    @property
    def device_count(self) -> int:
        return self.tp * self.pp * self.dp

    @property
    def ranks(self) -> int:
        """Devices that exchange in every layer: those of one stage."""
        return self.tp * self.dp
