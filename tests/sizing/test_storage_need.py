"""Storage: what is kept and paid for, access that does not suit, restore times, GPUDirect."""

from __future__ import annotations

import pytest

from planner.sizing import storage_need
from planner.sizing.storage_need import Kept


def kept(place: storage_need.Place = "durable") -> tuple[Kept, ...]:
    return (
        Kept(name="weights", size_bytes=10**10, copies=2, place="durable"),
        Kept(name="checkpoints", size_bytes=10**11, copies=3, place=place),
    )


def test_copies_are_counted_and_scratch_is_not_paid_for() -> None:
    assert storage_need.need(kept(), "posix", "sequential", resumes=True).total_gb == 20 + 300
    assert storage_need.need(kept("scratch"), "posix", "sequential", resumes=True).total_gb == 20


@pytest.mark.parametrize(
    ("place", "method", "pattern", "code"),
    [
        ("scratch", "posix", "sequential", "only_copy_on_scratch"),
        ("object", "s3", "random", "random_reads_from_object_store"),
        ("object", "s3", "sequential", "checkpoints_need_a_file_system"),
    ],
)
def test_what_does_not_suit_is_said(
    place: storage_need.Place, method: storage_need.Method, pattern: storage_need.Pattern, code: str
) -> None:
    assert code in storage_need.need(kept(place), method, pattern, resumes=True).warnings
    assert not storage_need.need(kept(), "posix", "random", resumes=True).warnings


def test_each_machine_reads_its_own_share() -> None:
    assert storage_need.read_s(8e9, 1e9, readers=4) == 2
    assert storage_need.read_s(8e9, 1e9, readers=4, per_reader=False) == 8


@pytest.mark.parametrize(
    ("vendor", "method", "read_bound", "decoded", "useful"),
    [
        ("nvidia", "posix", True, False, True),
        ("amd", "posix", True, False, False),
        ("nvidia", "s3", True, False, False),
        ("nvidia", "posix", False, False, False),
        ("nvidia", "posix", True, True, False),
    ],
)
def test_gpudirect_needs_all_three(
    vendor: str, method: storage_need.Method, read_bound: bool, decoded: bool, useful: bool
) -> None:
    assert (
        storage_need.gpudirect(vendor, method, "shared", read_bound=read_bound, decoded=decoded).useful
        is useful
    )
