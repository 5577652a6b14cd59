"""Which drivers and toolkits an accelerator needs, from the shipped seed; no database, no Django.

A toolkit (CUDA, ROCm) knows a device from one version on and, for old ones, up to another. A newer toolkit of the
same major version also runs on the driver that its family starts with, as NVIDIA promises (minor version
compatibility), which is what decides on a rented machine whose driver one cannot choose.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from catalog.facts import AcceleratorFact

SEED = Path(__file__).parent / "seeds" / "drivers.json"

Platform = Literal["cuda", "rocm"]


class Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    platform: Platform
    source: str
    observed: str


class Toolkit(Row):
    """One version of a toolkit with the Linux driver that it was released with."""

    version: str
    linux_driver: str
    family_driver: str | None = None
    """The oldest driver branch on which a build with it runs at all; unknown before CUDA 11."""


class Target(Row):
    """Devices of the same compute capability or code name, and the toolkits that know them."""

    targets: tuple[str, ...]
    first: str
    last: str | None = None
    """The last major version; nothing where none is known to have dropped it."""
    last_driver: str | None = None
    note: str = ""


class EngineBuild(Row):
    """What the published build of an engine's version holds and asks for."""

    engine: str
    version: str
    toolkit: str
    least_capability: str | None = None
    targets: tuple[str, ...] = ()


class Seed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    about: str
    observed: str
    toolkits: tuple[Toolkit, ...]
    targets: tuple[Target, ...]
    engines: tuple[EngineBuild, ...]


@dataclass(frozen=True)
class BuildNeeds:
    """One engine build against one device. ``runs`` is None where that is not known."""

    build: EngineBuild
    runs: bool | None
    driver: str | None


@dataclass(frozen=True)
class DriverNeeds:
    platform: Platform
    target: Target | None
    """Nothing where no source was read for this device."""
    first_driver: str | None
    """The Linux driver that the first toolkit which knows the device came with."""
    builds: tuple[BuildNeeds, ...]


@cache
def seed() -> Seed:
    return Seed.model_validate(json.loads(SEED.read_text(encoding="utf-8")))


def version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def toolkit(platform: Platform, version: str) -> Toolkit | None:
    return next((one for one in seed().toolkits if (one.platform, one.version) == (platform, version)), None)


def needs(fact: AcceleratorFact) -> DriverNeeds | None:
    """What is known of a device's drivers; None for vendors whose drivers nobody read about."""
    platform = _platform(fact)
    if platform is None:
        return None
    name = fact.compute_capability or ""
    known = (one for one in seed().targets if one.platform == platform and name in one.targets)
    target = next(known, None)
    first = toolkit(platform, target.first) if target else None
    return DriverNeeds(
        platform=platform,
        target=target,
        first_driver=first.linux_driver if first else None,
        builds=tuple(_build_needs(build, name, target) for build in _builds(platform)),
    )


def _platform(fact: AcceleratorFact) -> Platform | None:
    if fact.vendor == "nvidia":
        return "cuda"
    return "rocm" if fact.vendor == "amd" else None


def _builds(platform: Platform) -> list[EngineBuild]:
    found = [one for one in seed().engines if one.platform == platform]
    return sorted(found, key=lambda one: version_key(one.version), reverse=True)


def _build_needs(build: EngineBuild, name: str, target: Target | None) -> BuildNeeds:
    return BuildNeeds(build, _runs(build, name, target), _driver(build, target))


def _driver(build: EngineBuild, target: Target | None) -> str | None:
    """The oldest driver that runs this build on this device: that of the toolkit's family, unless the device is newer.

    Not known for a device of which no source was read: its own first driver may be the newer one.
    """
    released_with = toolkit(build.platform, build.toolkit)
    device = toolkit(build.platform, target.first) if target else None
    if released_with is None or device is None:
        return None
    return max(
        released_with.family_driver or released_with.linux_driver, device.linux_driver, key=version_key
    )


def _runs(build: EngineBuild, name: str, target: Target | None) -> bool | None:
    """Named by the build's own list, or a capability at least as new as its oldest and known to its toolkit."""
    if build.targets:
        return name in build.targets if name else None
    if target is None or build.least_capability is None or not name:
        return None
    old_enough = version_key(target.first) <= version_key(build.toolkit)
    still_known = target.last is None or version_key(build.toolkit)[0] <= int(target.last)
    return old_enough and still_known and version_key(name) >= version_key(build.least_capability)
