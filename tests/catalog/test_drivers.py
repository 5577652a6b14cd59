"""Drivers: the oldest that runs an engine's build on a device, and unknown where nobody read it."""

from __future__ import annotations

import pytest
from django.test import Client

from catalog import drivers
from catalog.facts import accelerators


def needs(name: str) -> drivers.DriverNeeds:
    found = drivers.needs(accelerators()[name])
    assert found is not None
    return found


def build(name: str, version: str) -> drivers.BuildNeeds:
    return next(one for one in needs(name).builds if one.build.version == version)


@pytest.mark.parametrize(
    ("card", "first", "driver"),
    [
        ("H100-SXM5", "11.8", "520.61.05"),
        ("B200-SXM", "12.8", "570.26"),
        ("T4", "10.0", "410.48"),
        ("V100-SXM2-16GB", "9.0", "384.81"),
    ],
)
def test_a_device_is_known_from_the_toolkit_that_came_with_it(card: str, first: str, driver: str) -> None:
    found = needs(card)
    assert found.target is not None
    assert (found.target.first, found.first_driver) == (first, driver)


def test_a_new_device_needs_a_newer_driver_than_its_toolkits_family() -> None:
    assert build("H100-SXM5", "0.14.0").driver == "525", "CUDA 12.8 also runs on the family's first branch"
    assert build("B200-SXM", "0.14.0").driver == "570.26", "a B200 does not: no older driver knows it"


def test_a_build_runs_only_between_the_first_and_the_last_toolkit_of_a_device() -> None:
    assert build("B200-SXM", "0.7.2").runs is False, "built with CUDA 12.1"
    assert build("B200-SXM", "0.9.0").runs is True
    assert build("V100-SXM2-16GB", "0.14.0").runs is True
    assert build("V100-SXM2-16GB", "0.31.0").runs is False, "asks for capability 7.5"
    assert build("MI355X", "0.9.0").runs is False
    assert build("MI355X", "0.11.0").runs is True


def test_what_nobody_read_is_unknown_and_never_a_no() -> None:
    jetson = next(fact for fact in accelerators().values() if fact.compute_capability == "8.7")
    found = drivers.needs(jetson)
    assert found is not None
    assert found.target is None
    assert {(one.runs, one.driver) for one in found.builds} == {(None, None)}
    assert build("MI300X", "0.14.0").driver is None, "which kernel driver ROCm needs was not read"
    gaudi = next(fact for fact in accelerators().values() if fact.vendor == "intel")
    assert drivers.needs(gaudi) is None


def test_every_toolkit_that_a_build_holds_has_its_driver_where_it_is_cuda() -> None:
    for one in drivers.seed().engines:
        assert (drivers.toolkit(one.platform, one.toolkit) is not None) == (one.platform == "cuda"), one


def test_newer_toolkits_never_come_with_older_drivers() -> None:
    listed = [drivers.version_key(one.linux_driver) for one in drivers.seed().toolkits]
    assert listed == sorted(listed, reverse=True)


@pytest.mark.django_db
def test_the_page_of_an_accelerator_shows_drivers_beside_its_facts(client: Client) -> None:
    page = client.get("/catalog/accelerators/B200-SXM/").content.decode()
    assert "Drivers and toolkits" in page
    assert "570.26" in page
    assert "known to CUDA from" in page
    assert "Drivers and toolkits" not in client.get("/catalog/accelerators/Gaudi2/").content.decode()
