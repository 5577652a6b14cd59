"""Fitted constants of the speed model: what share of a device's paper figures engines really reach.

A constant is ``base × Π factor``: one global value, and factors for the classes (engine era, device class,
number format, link, launch mode) whose measurements say something else. They live in a data file with their
origin; formulas get a ``Constants`` handed in and never read that file.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from planner.sizing.devices import Device, Link
from planner.sizing.evidence import Ratio
from planner.sizing.quantities import Assumption, Frozen

Axis = Literal["engine", "era", "year", "device", "format", "link", "launch"]
AXES: tuple[Axis, ...] = ("engine", "era", "year", "device", "format", "link", "launch")
Array = NDArray[np.float64]

_SOFTWARE: tuple[Axis, ...] = ("engine", "era", "year")

CONSTANTS: dict[str, tuple[str, tuple[Axis, ...]]] = {
    "weight_read_fraction": ("1", ("engine", "device", "format")),
    "kv_read_fraction": ("1", ("engine", "device")),
    "decode_compute_fraction": ("1", ("engine", "device", "format")),
    "prefill_compute_fraction": ("1", ("engine", "era", "device", "format")),
    "block_compute_fraction": ("1", ("engine", "device")),
    "prefill_attention_fraction": ("1", ("engine", "device")),
    "roof_exponent": ("1", ()),
    "routing_spread": ("1", ()),
    "expert_read_fraction": ("1", ("format",)),
    "step_fixed_s": ("s", _SOFTWARE),
    "step_layer_s": ("s", (*_SOFTWARE, "launch")),
    "step_sequence_s": ("s", _SOFTWARE),
    "prefill_step_share": ("1", ("engine", "era")),
    "prefill_half_tokens": ("token", ()),
    "hop_s": ("s", ("link", "engine", "year")),
    "hop_growth": ("1", ()),
    "link_fraction": ("1", ("link",)),
    "stage_s": ("s", ("engine",)),
    "stage_overlap": ("1", ("engine",)),
    "request_fixed_s": ("s", _SOFTWARE),
    "synchrony_fraction": ("1", ("engine",)),
    "kv_residency_fraction": ("1", ("engine",)),
    "preempted_share": ("1", ("engine",)),
    "latency_limit_fraction": ("1", ()),
}
"""Every constant of the speed model: its unit, and the axes along which it may differ."""

NAMES = tuple(CONSTANTS)
INDEX = {name: position for position, name in enumerate(NAMES)}

MAXIMUM = {
    "weight_read_fraction": 0.97,
    "kv_read_fraction": 0.97,
    "decode_compute_fraction": 0.95,
    "prefill_compute_fraction": 0.95,
    "prefill_attention_fraction": 0.95,
    "block_compute_fraction": 0.95,
    "link_fraction": 0.95,
    "stage_overlap": 1.0,
    "routing_spread": 1.0,
    "expert_read_fraction": 1.0,
    "prefill_step_share": 1.5,
    "synchrony_fraction": 1.0,
    "kv_residency_fraction": 1.0,
    "preempted_share": 2.0,
    "latency_limit_fraction": 1.0,
}
"""Bounds no fit may pass: a share of a physical peak stays below it."""

UNFAMILIAR = 1.5
"""How much wider, in logarithms, the range is where fewer than two publishers measured the engine or device: ours to
assume, since there is nothing to hold it against."""


class Constant(Frozen):
    """One fitted number. ``by[axis][class]`` are factors on ``base``."""

    name: str
    base: float
    unit: str
    by: dict[Axis, dict[str, float]] = Field(default_factory=dict)
    origin: str


class Spread(Frozen):
    """The 80 % range of one regime as factors on the prediction, and how many measurements it comes from."""

    low: float
    high: float
    count: int


class Constants(Frozen):
    """A set of constants that were fitted together, with the ranges of what they leave unexplained."""

    version: str
    origin: str
    constants: tuple[Constant, ...]
    spreads: dict[str, Spread] = Field(default_factory=dict)
    ratios: Annotated[tuple[Ratio, ...], Field(exclude=True, repr=False)] = ()
    """What such constants missed on published measurements: the evidence shown beside a figure."""

    @cached_property
    def _resolved(self) -> dict[tuple[str, ...], Array]:
        return {}

    def resolve(self, classes: PointClasses) -> Array:
        """All constants for one class of point, in the order of ``NAMES``."""
        known = self._resolved.get(classes.key)
        if known is None:
            known = self._resolved[classes.key] = self._compute(classes)
        return known

    def _compute(self, classes: PointClasses) -> Array:
        values = np.full(len(NAMES), np.nan)
        for constant in self.constants:
            value = constant.base
            for axis, factors in constant.by.items():
                value *= factors.get(getattr(classes, axis), 1.0)
            values[INDEX[constant.name]] = min(value, MAXIMUM.get(constant.name, np.inf))
        return values

    def familiar(self, classes: PointClasses) -> bool:
        """Whether at least two publishers measured this engine, and two this kind of device."""
        return all(getattr(classes, axis) in self._classes[axis] for axis in ("engine", "device"))

    @cached_property
    def _classes(self) -> dict[Axis, set[str]]:
        found: dict[Axis, set[str]] = {axis: set() for axis in AXES}
        for constant in self.constants:
            for axis, factors in constant.by.items():
                found[axis] |= factors.keys()
        return found

    def range_of(self, regime: str, classes: PointClasses) -> tuple[float, float]:
        """The 80 % range as factors on a prediction; for what few measured, ``UNFAMILIAR`` times as wide."""
        spread = self.spreads.get(regime)
        if spread is None:
            return 1.0, 1.0
        key = (regime, classes.engine, classes.device)
        known = self._ranges.get(key)
        if known is None:
            known = (spread.low, spread.high)
            if not self.familiar(classes):
                known = (spread.low**UNFAMILIAR, spread.high**UNFAMILIAR)
            self._ranges[key] = known
        return known

    @cached_property
    def _ranges(self) -> dict[tuple[str, str, str], tuple[float, float]]:
        return {}

    def assumptions(self, classes: PointClasses) -> tuple[Assumption, ...]:
        """The constants as they act on one class of point, each with where it comes from."""
        known = self._assumptions.get(classes.key)
        if known is None:
            values = self.resolve(classes)
            known = self._assumptions[classes.key] = tuple(
                Assumption(
                    name=item.name, value=float(values[INDEX[item.name]]), unit=item.unit, source=item.origin
                )
                for item in self.constants
            )
        return known

    @cached_property
    def _assumptions(self) -> dict[tuple[str, ...], tuple[Assumption, ...]]:
        return {}


class PointClasses(Frozen):
    """The classes a serving point falls into, one per axis. ``year`` is that of the engine's release."""

    engine: str
    era: str
    year: str
    device: str
    format: str
    link: str
    launch: Literal["graphs", "eager"] = "graphs"

    @cached_property
    def key(self) -> tuple[str, ...]:
        """All of them, in the order of ``AXES``."""
        return tuple(getattr(self, axis) for axis in AXES)


ENGINE_ERAS: dict[str, tuple[tuple[tuple[int, ...], str, str], ...]] = {
    "vllm": (
        ((0, 4), "vllm_early", "2023"), ((0, 6), "vllm_early", "2024"), ((0, 8), "vllm_2024", "2024"),
        ((0, 12), "vllm_2025", "2025"), ((9999,), "vllm_now", "2026"),
    ),
    "sglang": (((0, 4), "sglang_2024", "2024"), ((0, 5, 6), "sglang_2025", "2025"), ((9999,), "sglang_now", "2026")),
    "tensorrt_llm": (
        ((0, 10), "tensorrt_llm_2023", "2023"), ((0, 17), "tensorrt_llm_2024", "2024"),
        ((1, 0), "tensorrt_llm_2025", "2025"), ((9999,), "tensorrt_llm_now", "2026"),
    ),
    "llama_cpp": (
        ((1900,), "llama_cpp_2023", "2023"), ((4400,), "llama_cpp_2024", "2024"),
        ((7600,), "llama_cpp_2025", "2025"), ((999999,), "llama_cpp_now", "2026"),
    ),
}  # fmt: skip
"""Before which version an engine belongs to which era, and the year of that era's releases."""

UNSTATED = "unstated"


def engine_era(name: str, version: tuple[int, ...]) -> tuple[str, str]:
    """Which generation of an engine a version belongs to, and of which year. No version: unstated."""
    if version:
        for before, era, year in ENGINE_ERAS.get(name, ()):
            if version < before:
                return era, year
    return f"{name}_{UNSTATED}", UNSTATED


def device_class(device: Device) -> str:
    """Architecture and memory kind: the class whose kernels and memory controllers behave alike."""
    memory = (device.memory_kind or "").upper()
    kind = "hbm" if memory.startswith("HBM") else "lpddr" if memory.startswith("LPDDR") else "gddr"
    if device.vendor in ("apple", "intel"):
        return f"{device.vendor}_{kind}"
    return f"{device.architecture.lower().split()[0]}_{kind}"


def link_class(link: Link) -> str:
    """An unknown link counts as PCIe: the slower guess."""
    return {"nvswitch": "nvlink", "unknown": "pcie"}.get(link, link)
