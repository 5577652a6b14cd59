"""An offer whose host is short of memory stands behind those that load, whatever its price."""

from __future__ import annotations

import pytest

from planner.sizing.compare import compare
from planner.sizing.quantities import GIB
from planner.sizing.results import Candidate, Comparison
from planner.sizing.workload import BatchWorkload, ServingWorkload
from tests.sizing.markets import Row, setting


def compared(workload: ServingWorkload | BatchWorkload, *rows: Row) -> Comparison:
    return compare(made := setting(workload, rows), made.place(), engine_version="test")


def needed_gib(candidate: Candidate) -> float:
    return candidate.figures["host_ram_bytes"].value / GIB


@pytest.mark.parametrize("workload", [ServingWorkload(), BatchWorkload()])
def test_a_short_host_is_tight_and_ranked_behind_those_that_load(
    workload: ServingWorkload | BatchWorkload,
) -> None:
    needs = needed_gib(compared(workload, Row()).candidates[0])
    short, enough = Row(price="0.50", ram_gib=needs * 0.99), Row(price="3.00", ram_gib=needs * 1.01)
    found = compared(workload, short, enough)
    first, second = found.candidates
    assert (first.offer.offer_id, first.class_, first.verdict) == (2, 1, "fits")
    assert (second.offer.offer_id, second.class_, second.verdict) == (1, 3, "tight")
    assert "host_ram_short" in second.warnings
    assert "host_ram_short" not in first.warnings
    assert found.cheapest is not None
    assert found.cheapest.offer.offer_id == 2


def test_unknown_host_memory_is_taken_for_enough() -> None:
    (only,) = compared(ServingWorkload(), Row(ram_gib=0)).candidates
    assert (only.class_, only.verdict) == (1, "fits")


def test_where_every_host_is_short_nothing_meets_everything() -> None:
    found = compared(ServingWorkload(), Row(ram_gib=8))
    assert found.class_counts == {"1": 0, "2": 0, "3": 1}
    assert all(remedy.change != "headroom_fraction" for remedy in found.remedies), "the GPUs have room"
