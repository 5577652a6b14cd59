"""What is known of hosts, and how it stands beside what the work needs."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from catalog.models.machines import MachineType
from planner import services
from planner.figures import Figure
from planner.host_facts import hosts, network_bytes_per_s
from planner.kinds.host_block import disk_cautions, host_cautions, load_cautions, serving_block
from planner.kinds.training_shared import operations
from planner.sizing.results import BillLine
from planner.sizing.training.workload import Host as Loader
from planner.sizing.training.workload import PretrainingWorkload, Storage, TuningWorkload
from planner.sizing.workload import ServingWorkload
from tests.planner.factories import make_offer, make_small_catalog

pytestmark = pytest.mark.django_db


def describe(sku: str, provider: str = "known", **facts: object) -> None:
    MachineType.objects.create(provider_id=provider, sku=sku, kind="gpu", **facts)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("3200 Gigabit", 400e9), ("4x 100 Gigabit", 50e9), ("Up to 10 Gigabit", 1.25e9), ("100 Gbps", 12.5e9),
     ("High", None),
     ("", None)],
)  # fmt: skip
def test_networks_as_providers_write_them(text: str, rate: float | None) -> None:
    assert network_bytes_per_s(text) == rate


def test_facts_of_a_size_are_found_by_provider_and_name() -> None:
    make_small_catalog(timezone.now())
    describe(
        "box-8",
        network="Up to 25 Gigabit",
        clock_ghz=Decimal("3.1"),
        storage_bytes_per_s_baseline=2_000_000_000,
    )
    found = hosts()[("known", "box-8")]
    assert (found.network_bytes_per_s, found.network_is_ceiling, found.clock_ghz) == (3.125e9, True, 3.1)
    assert found.storage_bytes_per_s == 2e9
    assert found.disk_bytes is None


def test_a_serving_candidate_says_what_its_host_must_do(client: Client) -> None:
    make_small_catalog(timezone.now())
    (best, *_rest) = services.compare(ServingWorkload(), at=timezone.now()).candidates
    block = serving_block(best)
    assert block is not None
    labels = dict(block.rows)
    assert labels["Loading the weights takes"][1] == "at an assumed rate"
    assert best.figures["host_cores"].value >= 2
    assert best.figures["weights_file_bytes"].value == pytest.approx(16.06e9, rel=0.01)
    page = unescape(client.get(f"/workbench/candidate/{best.offer.offer_id}/").content.decode())
    assert "Host and storage of one machine" in page


def test_known_storage_decides_how_long_weights_load() -> None:
    at = timezone.now()
    make_small_catalog(at)
    offer = make_offer("H200-SXM", "3.80", at=at)
    describe(offer.sku, offer.provider_id, storage_bytes_per_s_baseline=4_000_000_000)
    found = next(
        c for c in services.compare(ServingWorkload(), at=at).candidates if c.offer.offer_id == offer.pk
    )
    block = serving_block(found)
    assert block is not None
    cells = dict(block.rows)["Loading the weights takes"]
    assert isinstance(cells[0], Figure)
    assert (cells[0].text, cells[0].opens, cells[1]) == ("4.02 s", "load_s", "at this rate")


def test_an_offer_with_too_small_a_host_is_told_of() -> None:
    at = timezone.now()
    make_small_catalog(at)
    best = services.compare(ServingWorkload(), at=at).candidates[0]
    small = best.model_copy(
        update={"offer": best.offer.model_copy(update={"ram_bytes": 8 * 2**30, "vcpu": 1.0})}
    )
    told = host_cautions(small)
    assert len(told) == 2
    assert "8 GiB of host memory" in told[0]
    assert "1 virtual cores" in told[1]


def test_all_versions_of_the_weights_are_paid_for_where_less_is_asked_to_be_kept() -> None:
    at = timezone.now()
    make_small_catalog(at)

    def line(**asked: Any) -> BillLine:
        best = services.compare(ServingWorkload(**asked), at=at).candidates[0]
        return next(line for line in best.monthly.lines if line.what == "storage")

    # Two versions of Llama 3.1 8B in BF16.
    assert line(storage_gb=10).quantity == pytest.approx(2 * 16.06, rel=0.01)
    assert line(storage_gb=0).quantity == line(storage_gb=10).quantity
    assert line(storage_gb=100).quantity == 100
    assert line(storage_gb=10, assumed={"weights_kept": 1}).quantity == pytest.approx(16.06, rel=0.01)
    narrow = line(storage_gb=10, weights_format="fp8")
    assert narrow.quantity is not None
    assert 16 < narrow.quantity < 20


def test_an_offer_whose_storage_loads_too_slowly_misses_the_target_and_says_what_would_help() -> None:
    at = timezone.now()
    make_small_catalog(at)
    slow = make_offer("H200-SXM", "3.80", at=at)
    fast = make_offer("H200-SXM", "3.90", provider="fast", at=at)
    describe(slow.sku, slow.provider_id, storage_bytes_per_s_baseline=100_000_000, disk_gib=900)
    describe(fast.sku, fast.provider_id, storage_bytes_per_s_baseline=4_000_000_000)
    asked = ServingWorkload(load_minutes_maximum=1)
    found = {c.offer.offer_id: c for c in services.compare(asked, at=at).candidates}
    late = found[slow.pk]
    assert late.class_ == 2
    (miss,) = late.misses
    assert (miss.target, miss.asked) == ("load_minutes_maximum", 1)
    assert miss.got == pytest.approx(16.06e9 / 1e8 / 60, rel=0.01)
    assert found[fast.pk].class_ == 1
    assert not found[fast.pk].misses
    (said,) = load_cautions(late, {"load_minutes_maximum": 1})
    assert "local disks" in said
    assert "6 GB" in said
    assert not load_cautions(found[fast.pk], {"load_minutes_maximum": 1})
    # Without a target nothing is missed, and what is not known is said to be so.
    assert {c.class_ for c in services.compare(ServingWorkload(), at=at).candidates} == {1}
    unknown = next(c for c in found.values() if c.offer.host is None)
    assert not unknown.misses
    assert "not known" in load_cautions(unknown, {"load_minutes_maximum": 1})[0]


def test_a_run_that_reads_more_than_the_machine_lets_through_misses_it() -> None:
    at = timezone.now()
    make_small_catalog(at)
    slow = make_offer("H200-SXM", "3.80", at=at)
    describe(slow.sku, slow.provider_id, storage_bytes_per_s_baseline=1_000_000)
    asked = TuningWorkload(host=Loader(sample_kb=10_000), storage=Storage(restore_minutes_maximum=1))
    found = next(c for c in services.compare(asked, at=at).candidates if c.offer.offer_id == slow.pk)
    assert {miss.target for miss in found.misses} >= {"storage_read", "restore_minutes_maximum"}
    assert found.class_ == 2
    local = asked.model_copy(update={"storage": Storage(place="scratch")})
    kept = next(c for c in services.compare(local, at=at).candidates if c.offer.offer_id == slow.pk)
    assert not kept.misses


def test_random_reads_are_held_against_the_operations_of_the_offer() -> None:
    at = timezone.now()
    make_small_catalog(at)
    small = make_offer("H200-SXM", "3.80", at=at)
    describe(small.sku, small.provider_id, storage_iops_baseline=1)
    asked = TuningWorkload(storage=Storage(pattern="random"), host=Loader(sample_kb=2))
    found = next(c for c in services.compare(asked, at=at).candidates if c.offer.offer_id == small.pk)
    per_second = found.figures["samples_per_s"].value
    assert per_second > 1
    (said,) = operations(found, asked.model_dump())
    assert f"{per_second:,.0f} operations a second" in said
    large = found.offer.host.model_copy(update={"storage_iops": 10_000})  # type: ignore[union-attr]
    enough = found.model_copy(update={"offer": found.offer.model_copy(update={"host": large})})
    assert not operations(enough, asked.model_dump())
    assert not operations(found, TuningWorkload().model_dump())


def test_a_bill_that_counts_more_than_is_asked_to_be_kept_says_so() -> None:
    at = timezone.now()
    make_small_catalog(at)
    best = services.compare(ServingWorkload(), at=at).candidates[0]
    assert disk_cautions(best, {"storage_gb": 10})
    assert not disk_cautions(best, {"storage_gb": 100})


def test_a_runs_demand_stands_beside_the_network_of_the_offer(at: datetime) -> None:
    make_small_catalog(at)
    offer = make_offer("H100-SXM5", "19.92", provider="large", count=8, region="", at=at)
    describe(offer.sku, "large", network="400 Gigabit", fabric="EFA")
    workload = PretrainingWorkload(parameters_billion=7, tokens_billion=140, deadline_hours=200)
    found = next(c for c in services.compare(workload, at=at).candidates if c.offer.offer_id == offer.pk)
    assert found.machines > 1
    assert found.offer.host is not None
    assert found.offer.host.network_bytes_per_s == 50e9
