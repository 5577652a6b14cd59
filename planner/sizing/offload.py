"""Weights kept in host memory: what leaves the device, what the host must hold, what a step costs for it.

Engines do it in two ways. llama.cpp computes the layers (``--n-gpu-layers``) or the routed experts
(``--n-cpu-moe``, ``--override-tensor``) that lie in host memory on the host's cores, so a step reads their weights
at the host's own bandwidth. vLLM and SGLang (``--cpu-offload-gb``) read them over the bus in every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from planner.sizing.architecture import Architecture, Moe
from planner.sizing.devices import Device, Layout, Machine
from planner.sizing.quantities import GIB, Assumption
from planner.sizing.runtime import Runtime, version_key
from planner.sizing.weights import WeightFootprint, footprint
from planner.sizing.workload import Offload

Way = Literal["host", "bus"]
HOST_BYTES_PER_S_PER_VCPU = 2.4e9
"""Share of a server's memory bandwidth that comes with one of its threads: EPYC 9654 (12 channels of DDR5-4800,
460.8 GB/s, 192 threads; AMD data sheet). Xeon 8480+ has 2.7 (307.2 GB/s, 112 threads; Intel ARK)."""
HOST_BYTES_PER_S_UNKNOWN = 40e9
"""Where the threads of the machine are not known: two channels of DDR4-2666 (42.7 GB/s by JEDEC), the least that
such a machine has."""
BUS_BYTES_PER_S = 26e9
"""One direction of PCIe 4.0 x16 after protocol overhead, where the card's own bus is not known."""

WAYS: dict[str, tuple[str, str | None, str]] = {
    "layers": ("llama_cpp", None, "llama.cpp server documentation: --n-gpu-layers"),
    "expert_layers": (
        "llama_cpp",
        "b6100",
        "llama.cpp server documentation: --n-cpu-moe (build 6100 and later)",
    ),
    "weights_gib": ("vllm", "0.5.3", "vLLM documentation, engine arguments: --cpu-offload-gb"),
}
"""What an option needs: engine, first version, source."""
ALSO = {"weights_gib": ("sglang", "0.4.1", "SGLang documentation, server arguments: --cpu-offload-gb")}


@dataclass(frozen=True, slots=True)
class Offloaded:
    """What leaves one device, and what a step reads of it."""

    device_bytes: int = 0
    """Weights that the fullest device does not hold."""
    host_bytes: int = 0
    """The same of all devices of the replica: what the host must hold beside everything else."""
    kv_fraction: float = 0.0
    """Share of the cache that lies with its layers in host memory."""
    always_fraction: float = 0.0
    """Share of the weights that every step reads that lies in host memory."""
    experts_fraction: float = 0.0
    """Share of each layer's routed experts that lies there."""
    way: Way = "host"


NOTHING = Offloaded()


def of(
    arch: Architecture, weights_format: str, layout: Layout, runtime: Runtime, asked: Offload
) -> Offloaded:
    """What the options asked for move from the fullest device to the host.

    layers n: n ÷ layers of all weights of layers, and of the cache. expert_layers n: n ÷ layers with experts of the
    routed experts. weights_gib g: g GiB of each device, taken evenly from all weights of layers. An engine that
    looks embeddings up in host memory (llama.cpp, where the head is another matrix) leaves them there always.
    Layers count as equally large.
    """
    return _of(arch, weights_format, layout, runtime.embeds_on_host, asked)


@lru_cache(maxsize=4096)
def _of(
    arch: Architecture, weights_format: str, layout: Layout, embeds_on_host: bool, asked: Offload
) -> Offloaded:
    held = footprint(arch, weights_format, layout)
    lookup = held.lookup_bytes if embeds_on_host else 0
    if asked == Offload():
        return Offloaded(device_bytes=lookup, host_bytes=lookup) if lookup else NOTHING
    in_layers, experts = _layer_bytes(held), dict(held.groups).get("expert", 0)
    moe = sum(group.count for group in arch.layers if isinstance(group.mlp, Moe))
    layers = min(asked.layers, arch.layer_count) / arch.layer_count
    spread = min(1.0, asked.weights_gib * GIB / in_layers) if in_layers else 0.0
    always = 1.0 - (1.0 - layers) * (1.0 - spread)
    own = min(asked.expert_layers, moe) / moe if moe else 0.0
    routed = 1.0 - (1.0 - always) * (1.0 - own)
    moved = round((in_layers - experts) * always + experts * routed)
    return Offloaded(
        device_bytes=moved + lookup,
        host_bytes=moved * layout.device_count + lookup,
        kv_fraction=layers,
        always_fraction=always * (in_layers - experts) / max(1, held.always_read_bytes),
        experts_fraction=routed,
        way="bus" if asked.weights_gib else "host",
    )


def _layer_bytes(held: WeightFootprint) -> int:
    """Weights of layers on the rank: all but vocabulary and encoders, which stay where they are."""
    return sum(size for name, size in held.groups if name not in ("embedding", "head", "tower"))


def refusal(runtime: Runtime, asked: Offload, arch: Architecture) -> dict[str, Any] | None:
    """Why this engine does not keep weights in host memory as asked, with the source; None where it does."""
    for name in ("layers", "expert_layers", "weights_gib"):
        if not getattr(asked, name):
            continue
        known = [way for way in (WAYS[name], ALSO.get(name)) if way is not None]
        own = next((way for way in known if way[0] == runtime.name), None)
        detail = {
            "runtime": runtime.name,
            "version": runtime.version,
            "option": name,
            "model_family": arch.family,
        }
        if own is None:
            return {"rule": "offload_not_supported", "source": known[0][2], **detail}
        if own[1] is not None and version_key(runtime.version) < version_key(own[1]):
            return {
                "rule": "offload_needs_newer_version",
                "needs_version": own[1],
                "source": own[2],
                **detail,
            }
        if name == "expert_layers" and not arch.has_experts:
            return {"rule": "offload_without_experts", "source": own[2], **detail}
    return None


@lru_cache(maxsize=512)
def options(runtime: Runtime, arch: Architecture) -> tuple[str, ...]:
    """The options by which this engine keeps weights of this model in host memory."""
    names = ("expert_layers", "layers", "weights_gib")
    return tuple(name for name in names if refusal(runtime, Offload(**{name: 1}), arch) is None)


def host_bytes_per_s(machine: Machine) -> float:
    """Bandwidth at which the cores of this machine read its memory."""
    if machine.vcpu is None:
        return HOST_BYTES_PER_S_UNKNOWN
    return max(machine.vcpu * HOST_BYTES_PER_S_PER_VCPU, HOST_BYTES_PER_S_PER_VCPU)


def bytes_per_s(machine: Machine, way: Way, replicas: int = 1) -> float:
    """Rate at which a step gets weights that lie in host memory: of one device over its bus, or of one replica's
    share of the cores."""
    if way == "bus":
        return machine.device.pcie_bytes_per_s or BUS_BYTES_PER_S
    return host_bytes_per_s(machine) / max(1, replicas)


def slowdown(device: Device, rate_bytes_per_s: float) -> float:
    """How many bytes of the device's own memory are read in the time of one byte that lies in host memory."""
    return max(1.0, device.bandwidth_bytes_per_s / rate_bytes_per_s)


def assumptions(machine: Machine, asked: Offload) -> tuple[Assumption, ...]:
    """What the speed of an offloaded model rests on."""
    if asked == Offload():
        return ()
    way: Way = "bus" if asked.weights_gib else "host"
    source = "AMD EPYC 9654 data sheet: memory bandwidth of its threads, as many as the machine has"
    if way == "bus":
        source = "the card's bus, one direction"
    elif machine.vcpu is None:
        source = "assumed where the machine's threads are not known: two channels of DDR4-2666 (JEDEC)"
    return (
        Assumption(
            name=f"{way}_bytes_per_s", value=bytes_per_s(machine, way), unit="byte/s", source=source
        ),
    )  # fmt: skip
