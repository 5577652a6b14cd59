"""Devices, models and engines for the tests of the core, without a database."""

from __future__ import annotations

from planner import architectures, runtimes
from planner.sizing.architecture import Architecture, Dense, Grouped, Latent, LayerGroup, Moe
from planner.sizing.devices import Device
from planner.sizing.quantities import GIB
from planner.sizing.runtime import Runtime


def card(gib: float, name: str = "card", architecture: str = "Hopper", capability: str | None = "9.0",
         vendor: str = "nvidia", rates: dict[str, float] | None = None) -> Device:  # fmt: skip
    """A card whose engine sees this many GiB."""
    return Device.model_validate(
        {
            "name": name,
            "vendor": vendor,
            "architecture": architecture,
            "compute_capability": capability,
            "memory_bytes": int(gib * GIB),
            "engine_total_bytes": int(gib * GIB),
            "bandwidth_bytes_per_s": 3e12,
            "dense_rates": rates or {"bf16": 989e12, "fp16": 989e12, "fp8": 1979e12, "int8": 1979e12},
            "source": "test",
        }
    )


H100 = card(79.19, "H100-SXM5")
RTX4090 = card(23.5, "RTX4090", "Ada", "8.9")
L40S = card(44.5, "L40S", "Ada", "8.9")
A100 = card(79.15, "A100-SXM4-80GB", "Ampere", "8.0", rates={"bf16": 312e12, "fp16": 312e12, "int8": 624e12})


def model(name: str) -> Architecture:
    return architectures.resolve_name(name)


def engine(name: str = "vllm", version: str | None = "0.19") -> Runtime:
    return runtimes.resolve(name, version)


def grouped(layers: int = 4, heads: int = 8, kv_heads: int = 2, head_dim: int = 16, hidden: int = 128,
            intermediate: int = 256, vocab: int = 1024, tied: bool = False, window: int | None = None,
            experts: int = 0) -> Architecture:  # fmt: skip
    """A small model that a test can count by hand."""
    attention = Grouped(heads=heads, kv_heads=kv_heads, head_dim=head_dim, window=window)
    mlp: Dense | Moe = Dense(intermediate=intermediate)
    if experts:
        mlp = Moe(experts=experts, experts_per_token=min(2, experts), intermediate=intermediate)
    return Architecture(
        id=f"small-{layers}-{heads}-{kv_heads}-{head_dim}-{hidden}-{intermediate}-{vocab}-{tied}-{window}-{experts}",
        family="llama", hidden=hidden, vocab=vocab, tied=tied,
        layers=(LayerGroup(count=layers, attention=attention, mlp=mlp),), source="test",
    )  # fmt: skip


def latent(layers: int = 4, heads: int = 8) -> Architecture:
    attention = Latent(heads=heads, query_rank=48, kv_rank=64, nope_dim=16, rope_dim=8, value_dim=16)
    return Architecture(
        id=f"latent-{layers}-{heads}", family="deepseek_v3", hidden=128, vocab=1024, tied=False,
        layers=(LayerGroup(count=layers, attention=attention, mlp=Dense(intermediate=256)),), source="test",
    )  # fmt: skip
