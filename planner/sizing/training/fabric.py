"""Links between GPUs: which one each kind of communication runs on, and how fast it is."""

from __future__ import annotations

from typing import NamedTuple

from planner.sizing.devices import Device
from planner.sizing.training.job import Split

GPUS_PER_NODE = 8
NVLINK_DOMAIN = {"GB200": 72, "GB300": 72}
"""GPUs that share one NVLink fabric, where it is not one node's eight."""
NODE_BYTES_PER_S = {
    "volta": 3.1e9,
    "ampere": 25e9,
    "hopper": 50e9,
    "blackwell": 50e9,
    "cdna3": 50e9,
    "cdna4": 50e9,
}
"""Network of one GPU of a usual training cluster, one direction: a share of 100 Gb/s a node on V100 (four adapters
of EDR), 200 Gb/s a GPU on A100, 400 on H100 and later (NVIDIA DGX and HGX reference architectures)."""
NODE_DEFAULT_BYTES_PER_S = 12.5e9
PLAIN_NODE_BYTES_PER_S = 3.1e9
"""25 Gb/s Ethernet: of machines with fewer than eight GPUs or without links between them, which are seldom built into
clusters."""
PCIE_DEFAULT_BYTES_PER_S = 32e9


class Fabric(NamedTuple):
    """Bytes/s of one GPU, one direction."""

    inside: float
    between: float
    domain: int
    """GPUs that reach one another over ``inside``."""


def fabric(
    device: Device, node_bytes_per_s: float | None = None, gpus_per_node: int = GPUS_PER_NODE
) -> Fabric:
    """The links of a machine: half of the bidirectional link rate, PCIe where there is none.

    What the network between machines gives is an assumption by generation where the offer does not say.
    """
    if device.link in ("nvlink", "nvswitch", "infinity_fabric") and device.link_bytes_per_s:
        inside = device.link_bytes_per_s / 2
        if gpus_per_node >= GPUS_PER_NODE:
            generation = device.architecture.lower().split()[0]
            usual = NODE_BYTES_PER_S.get(generation, NODE_DEFAULT_BYTES_PER_S)
        else:
            usual = PLAIN_NODE_BYTES_PER_S
    else:
        inside = (device.pcie_bytes_per_s or PCIE_DEFAULT_BYTES_PER_S * 2) / 2
        usual = PLAIN_NODE_BYTES_PER_S
    between = node_bytes_per_s or usual
    domain = max(gpus_per_node, NVLINK_DOMAIN.get(device.name.split("-")[0], 0))
    return Fabric(inside, min(inside, between), domain)


def reached(links: Fabric, ranks: int, inner: int) -> float:
    """Bytes/s of a ring of ``ranks`` ranks that lie ``inner`` GPUs apart.

    Inside one NVLink domain that of its links. Across nodes a ring of all GPUs of a node crosses over all of the
    node's adapters side by side, so that each rank moves as much as its node's adapters for this ring together.
    """
    if ranks * inner <= links.domain:
        return links.inside
    return min(links.inside, links.between * max(1, links.domain // inner))


def exchanged(links: Fabric, ranks: int, inner: int) -> float:
    """Bytes/s of an exchange of all with all: across nodes what one GPU's own adapter gives, for the share of the
    bytes that leaves the domain."""
    if ranks * inner <= links.domain:
        return links.inside
    outside = 1 - links.domain / (ranks * inner)
    return min(links.inside, links.between / outside)


def ring(bytes_whole: float, ranks: int) -> float:
    """Bytes each rank sends to gather or reduce ``bytes_whole`` over ``ranks``: (n − 1) ÷ n of it."""
    return bytes_whole * (ranks - 1) / ranks if ranks > 1 else 0.0


def data_rate(links: Fabric, split: Split) -> float:
    return reached(links, split.shard_count, split.tp)
