"""Constants of the training model: their units, priors, and along which classes they may differ."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal, NamedTuple

from pydantic import Field

from planner.sizing.devices import Device
from planner.sizing.quantities import Assumption, Frozen
from planner.sizing.training.job import Job

UNFAMILIAR = 1.5
"""How much wider, in logarithms, a range is on a generation of devices that fewer than two publishers measured."""
Axis = Literal["software", "device", "precision", "build"]
AXES: tuple[Axis, ...] = ("software", "device", "precision", "build")


class Prior(NamedTuple):
    """Where a fit starts and what it is pulled toward."""

    value: float
    unit: str
    freedom: float
    """Standard deviation of ln(value ÷ prior) that the pull allows."""
    axes: tuple[Axis, ...] = ()
    maximum: float = float("inf")
    class_freedom: float = 0.25
    """The same of the factor of a class."""


MEMORY: dict[str, Prior] = {
    "activation_copies": Prior(1.0, "1", 0.2, ("software", "build")),
    "adapter_activation_fraction": Prior(0.9, "1", 0.2, (), 1.5),
    "selective_fraction": Prior(0.5, "1", 0.2, (), 1.0),
    "working_layers": Prior(1.3, "1", 0.2, ()),
    "score_bytes": Prior(5.0, "byte", 0.2, ()),
    "working_score_bytes": Prior(16.0, "byte", 0.2, ()),
    "whole_fraction": Prior(0.7, "1", 0.3, (), 1.0),
    "logit_bytes": Prior(10.0, "byte", 0.2, ("software",), class_freedom=0.1),
    "chunked_logit_fraction": Prior(0.08, "1", 0.25, (), 1.0),
    "gathered_layers": Prior(3.0, "1", 0.25, ("software",)),
    "step_copies": Prior(1.0, "1", 0.2, ()),
    "fragmentation_fraction": Prior(0.08, "1", 0.3, ()),
    "variable_fragmentation_fraction": Prior(0.5, "1", 0.3, ()),
    "base_bytes": Prior(0.6e9, "byte", 0.3, ()),
    "context_bytes": Prior(0.6e9, "byte", 0.2, ()),
    "communication_bytes": Prior(1.0e9, "byte", 0.4, ()),
}
SPEED: dict[str, Prior] = {
    "linear_fraction": Prior(0.75, "1", 0.1, ("software", "device", "precision"), 0.95, 0.1),
    "expert_fraction": Prior(0.5, "1", 0.15, (), 1.0),
    "attention_fraction": Prior(0.45, "1", 0.2, ("device", "software"), 0.9, 0.15),
    "tokens_half": Prior(100.0, "token", 0.3, ()),
    "expert_tokens_half": Prior(250.0, "token", 0.2, ()),
    "width_half": Prior(150.0, "1", 0.3, ()),
    "adapter_copies": Prior(2.0, "1", 0.4, ()),
    "balance_exponent": Prior(0.2, "1", 0.3, ("software",), 0.5, 0.3),
    "traffic_copies": Prior(2.5, "1", 0.3, ("software", "build")),
    "score_access_bytes": Prior(12.0, "byte", 0.3, ()),
    "logit_traffic_bytes": Prior(30.0, "byte", 0.4, ()),
    "dequantise_copies": Prior(2.0, "1", 0.3, ()),
    "launch_s": Prior(3e-4, "s", 0.2, ("software",)),
    "tensor_exposed": Prior(0.9, "1", 0.25, ("software",)),
    "overlap_fraction": Prior(0.4, "1", 0.4, (), 1.0),
    "context_exposed": Prior(0.5, "1", 0.2, ()),
    "expert_exposed": Prior(1.2, "1", 0.25, ()),
    "gather_slowness": Prior(1.3, "1", 0.15, ()),
    "gather_exposed": Prior(0.15, "1", 0.5, ()),
    "reduce_exposed": Prior(0.4, "1", 0.3, ()),
    "straggling_fraction": Prior(0.01, "1", 0.6, ()),
    "optimizer_copies": Prior(1.5, "1", 0.15, ()),
    "host_slowness": Prior(2.0, "1", 0.3, ()),
}
FACTORS: dict[str, dict[Axis, dict[str, float]]] = {
    "logit_bytes": {"software": {"transformers": 1.4, "megatron": 0.9}},
    "traffic_copies": {"software": {"megatron": 0.6, "transformers": 1.3}, "build": {"compiled": 0.55}},
    "activation_copies": {"build": {"compiled": 0.85}, "software": {"megatron": 0.8}},
    "attention_fraction": {"device": {"ampere": 1.2}, "software": {"megatron": 1.2, "torch": 0.85}},
    "tensor_exposed": {"software": {"megatron": 0.6}},
    "launch_s": {"software": {"megatron": 0.7, "transformers": 1.6}},
    "linear_fraction": {
        "precision": {"fp8": 0.85, "fp4": 0.65},
        "software": {"transformers": 0.9},
    },
}
"""Where the fit starts for a class."""


class Classes(NamedTuple):
    """The classes a job falls into, one per axis."""

    software: str
    device: str
    precision: str
    build: str


def classes(job: Job, device: Device | None) -> Classes:
    rate = "half"
    if device is not None and job.precision in ("fp8", "fp4"):
        wanted = ("fp4", "fp8") if job.precision == "fp4" else ("fp8",)
        rate = next((name for name in wanted if name in device.dense_rates), "half")
    return Classes(
        software=job.software,
        device="unknown" if device is None else device.architecture.lower().split()[0],
        precision=rate,
        build="compiled" if job.compiled else "eager",
    )


def regime(figure: Literal["memory", "speed"], job: Job) -> str:
    """Which range a prediction has."""
    if figure == "memory":
        return "memory, full" if job.method == "full" else "memory, adapters"
    if job.arch.has_experts:
        return "speed, experts"
    if job.method == "full" and job.split.gpu_count > MACHINE_GPUS:
        return "speed, several machines"
    return "speed, Megatron" if job.software == "megatron" else "speed, one machine"


MACHINE_GPUS = 8


class Spread(Frozen):
    """The 80 % range as factors on the prediction, and how many measurements it comes from.

    Of memory they are factors on what is not exact: activations, logits, buffers, what the allocator keeps.
    """

    low: float
    high: float
    count: int


class Constant(Frozen):
    """One fitted number; ``by[axis][class]`` are factors on ``base``."""

    name: str
    base: float
    unit: str
    by: dict[Axis, dict[str, float]] = Field(default_factory=dict)
    maximum: float | None = None


def _neutral(item: Constant) -> dict[Axis, dict[str, float]]:
    """The classes of a constant, all alike: which devices were measured is still known."""
    return {axis: dict.fromkeys(factors, 1.0) for axis, factors in item.by.items()}


class TrainingConstants(Frozen):
    """All constants of memory and speed, fitted together with the ranges of what they leave unexplained."""

    version: str
    origin: str
    constants: tuple[Constant, ...]
    spreads: dict[str, Spread] = Field(default_factory=dict)

    @cached_property
    def _resolved(self) -> dict[Classes, dict[str, float]]:
        return {}

    def with_assumed(self, assumed: Mapping[str, float]) -> TrainingConstants:
        """The same with those that a user sets, for every class of job."""
        own = {item.name: assumed[item.name] for item in self.constants if item.name in assumed}
        if not own:
            return self
        told = ", ".join(f"{name} {value:g}" for name, value in sorted(own.items()))
        # Made anew, not copied: a copy would keep what was resolved from the constants before.
        return TrainingConstants(
            version=f"{self.version} with {told}",
            origin=self.origin,
            constants=tuple(
                Constant(name=item.name, base=own[item.name], unit=item.unit, by=_neutral(item))
                if item.name in own
                else item
                for item in self.constants
            ),
            spreads=self.spreads,
        )

    def resolve(self, found: Classes) -> dict[str, float]:
        """All constants by name, as they act on one class of job."""
        known = self._resolved.get(found)
        if known is None:
            known = {}
            for item in self.constants:
                value = item.base
                for axis, factors in item.by.items():
                    value *= factors.get(getattr(found, axis), 1.0)
                known[item.name] = value if item.maximum is None else min(value, item.maximum)
            self._resolved[found] = known
        return known

    def familiar(self, found: Classes) -> bool:
        """Whether at least two publishers measured this generation of devices."""
        return any(found.device in item.by.get("device", {}) for item in self.constants)

    def range_of(self, regime: str, found: Classes | None = None) -> tuple[float, float]:
        """The 80 % range of a regime as factors; 0.5–2 where none is known, and wider on devices few measured."""
        spread = self.spreads.get(regime)
        low, high = (0.5, 2.0) if spread is None else (spread.low, spread.high)
        if found is None or self.familiar(found):
            return low, high
        return low**UNFAMILIAR, high**UNFAMILIAR

    def assumptions(self, found: Classes, names: tuple[str, ...]) -> tuple[Assumption, ...]:
        """The named constants as they act on one job, each with where it comes from."""
        values = self.resolve(found)
        units = {item.name: item.unit for item in self.constants}
        return tuple(
            Assumption(name=name, value=values[name], unit=units[name], source=self.origin) for name in names
        )
