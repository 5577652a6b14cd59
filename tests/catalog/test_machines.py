"""The long price lists: loaded after the rest, once, in parts; browsed quickly; never in the way of GPU machines."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from kombu.exceptions import OperationalError

from catalog.machine_loading import FOLDER, load_machines, machines_are_loaded
from catalog.management.commands import load_seeds as load_seeds_command
from catalog.models import CatalogVersion, MachineType, Offer, Price
from catalog.seed_loading import SeedReport, load_seeds
from catalog.seed_making.twins import plain_name
from catalog.tasks import load_price_lists
from planner import market
from tests.factories import AT

pytestmark = pytest.mark.django_db

ROWS_MINIMUM = 68_000


@pytest.fixture(scope="module")
def loaded(django_db_setup: None, django_db_blocker: Any) -> Iterator[SeedReport]:
    """The whole catalog, loaded once for all tests of this file."""
    with django_db_blocker.unblock(), transaction.atomic():
        load_seeds(AT)
        yield load_machines(AT)
        transaction.set_rollback(True)


@pytest.fixture
def whole_catalog(loaded: SeedReport, db: None) -> SeedReport:
    return loaded


def test_the_whole_catalog_is_loaded_without_a_refusal(whole_catalog: SeedReport) -> None:
    kept = whole_catalog.kept.items()
    assert sum(count for name, count in kept if name.startswith("machine prices")) > ROWS_MINIMUM
    assert not whole_catalog.refused


def test_loading_the_lists_twice_changes_nothing(whole_catalog: SeedReport) -> None:
    before = (CatalogVersion.current(), Offer.objects.count(), Price.objects.count())
    assert machines_are_loaded()
    assert not load_machines(AT).anything
    CatalogVersion.objects.update(machines_sha256="")
    again = load_machines(AT + timedelta(days=1))
    assert sum(again.read.values()) > ROWS_MINIMUM
    assert not again.anything
    assert (CatalogVersion.current(), Offer.objects.count(), Price.objects.count()) == before
    assert not load_seeds(AT + timedelta(days=1)).anything


def test_a_machine_without_a_gpu_is_listed_and_never_in_the_market(whole_catalog: SeedReport) -> None:
    offer = Offer.objects.get(provider="azure", sku="Standard_D32_v3", region="japaneast", tier="on_demand")
    assert (offer.not_comparable, offer.gpu_count, offer.vcpu, offer.ram_gib) == (
        "no_accelerator",
        0,
        Decimal(32),
        Decimal(128),
    )
    assert offer.current_price is not None
    assert (str(offer.current_price.observed_on), offer.confirmed_on) == (
        "2026-06-18",
        offer.current_price.observed_on,
    )
    found = market.build("test", AT, past=False)
    ranked = set(found.offer_id.tolist())
    assert 1600 < len(ranked) < 3000
    assert ranked <= set(Offer.objects.comparable().current().values_list("pk", flat=True))
    assert offer.pk not in ranked
    assert found.not_comparable_count < 1500


def test_sizes_tell_processor_disk_network_and_fabric(whole_catalog: SeedReport) -> None:
    aws = MachineType.objects.get(provider="aws", sku="p5.48xlarge")
    assert (aws.kind, aws.vcpu, aws.ram_gib, aws.clock_ghz) == (
        "gpu",
        Decimal(192),
        Decimal(2048),
        Decimal("3.60"),
    )
    assert (aws.fabric, aws.network) == ("EFA, 32 interfaces", "3200 Gigabit")
    azure = MachineType.objects.get(provider="azure", sku="Standard_D32_v3")
    assert (azure.cpu, azure.disk_gib) == ("Intel Xeon Scalable 1st gen (Skylake-SP)", Decimal(819))
    assert MachineType.objects.get(provider="azure", sku="Standard_ND96isr_H100_v5").fabric.startswith(
        "InfiniBand"
    )
    assert not MachineType.objects.get(provider="azure", sku="Standard_NC24ads_A100_v4").fabric
    constrained = MachineType.objects.get(provider="azure", sku="Standard_E96-24ads_v5")
    assert (constrained.vcpu, constrained.ram_gib) == (Decimal(24), Decimal(672))
    assert MachineType.objects.get(provider="azure", sku="Dasv4_Type1").kind == "host"


def test_sizes_tell_local_disks_and_what_they_allow_towards_network_storage(
    whole_catalog: SeedReport,
) -> None:
    large = MachineType.objects.get(provider="aws", sku="p5.48xlarge")
    assert (large.disk_kind, large.disk_count) == ("nvme ssd", 8)
    assert (large.storage_iops_baseline, large.storage_iops_maximum) == (260_000, 260_000)
    assert large.storage_bytes_per_s_maximum == 10_000 * 10**6
    small = MachineType.objects.get(provider="aws", sku="g5.2xlarge")
    assert (small.storage_bytes_per_s_baseline, small.storage_bytes_per_s_maximum) == (
        106_250_000,
        437_500_000,
    )
    diskless = MachineType.objects.get(provider="aws", sku="c7i.2xlarge")
    assert diskless.disk_gib == 0, "said to have none, which is not unknown"
    assert diskless.disk_count == 0
    azure = MachineType.objects.get(provider="azure", sku="Standard_ND96isr_H100_v5")
    assert (azure.disk_count, azure.storage_iops_maximum) == (None, None), "no source says it"
    limited = MachineType.objects.filter(storage_iops_maximum__isnull=False)
    assert (limited.count(), limited.exclude(provider="aws").count()) == (1376, 0)


def test_offers_are_filtered_by_local_disk_and_network_storage(
    whole_catalog: SeedReport, client: Client
) -> None:
    def found(query: str) -> str:
        return client.get(f"/catalog/offers/?kind=all&{query}").content.decode()

    disks = found("provider=aws&q=c7&disk_min=100")
    assert "c7gd." in disks
    assert ">c7i.2xlarge<" not in disks
    fast = found("provider=aws&q=p5.48xlarge&storage_min=9999")
    assert ">p5.48xlarge<" in fast
    assert ">p5.48xlarge<" not in found("provider=aws&q=p5.48xlarge&storage_min=10001")
    assert "aria-invalid" in found("disk_min=much") or "errorlist" in found("disk_min=much")


def test_the_page_of_an_offer_shows_how_fast_storage_is(whole_catalog: SeedReport, client: Client) -> None:
    offer = Offer.objects.get(provider="aws", sku="g5.2xlarge", region="us-east-1", tier="on_demand")
    page = client.get(f"/catalog/offers/{offer.pk}/").content.decode()
    for words in ("106.25", "437.5", "NVMe SSD", "15,000", "How fast its storage is", "gp3", "80,000"):
        assert words in page, words
    elsewhere = Offer.objects.filter(provider="lambda").first()
    assert elsewhere is not None
    page = client.get(f"/catalog/offers/{elsewhere.pk}/").content.decode()
    after = page.split("How fast its storage is")[1]
    assert "unknown" in after


def test_each_price_of_the_lists_has_a_source_and_a_day(whole_catalog: SeedReport) -> None:
    assert not Price.objects.filter(source="").exists()
    for price_list in json.loads((FOLDER / "lists.json").read_text(encoding="utf-8"))["lists"]:
        assert price_list["source"]
        with gzip.open(FOLDER / price_list["file"], "rt", encoding="utf-8") as lines:
            assert all(row["observed_on"] for row in csv.DictReader(lines))
    undated = MachineType.objects.filter(observed="").exclude(source="")
    assert not undated.exists()


def test_lists_ask_the_database_a_constant_number_of_times_at_full_size(
    whole_catalog: SeedReport, client: Client, django_assert_max_num_queries: Any
) -> None:
    queries = (
        "", "kind=all", "kind=all&sort=price", "kind=all&sort=-gpu_price", "kind=cpu&region=Tokyo",
        "kind=all&q=e96+japan",
        "kind=all&sort=-bandwidth", "kind=all&page=1400", "kind=cpu&sort=-ram", "kind=all&provider=azure&sort=sku",
    )  # fmt: skip
    for query in queries:
        client.get(f"/catalog/offers/?{query}", headers={"hx-request": "true"})
        with django_assert_max_num_queries(9):
            answer = client.get(f"/catalog/offers/?{query}", headers={"hx-request": "true"})
        assert answer.status_code == 200


def test_a_place_finds_regions_of_several_providers_in_either_language(
    whole_catalog: SeedReport, client: Client
) -> None:
    for place in ("Tokyo", "東京"):
        answer = client.get("/catalog/offers/", {"kind": "all", "region": place, "provider": "azure"})
        assert answer.context["page"].paginator.count > 500
        assert {row["offer"].region for row in answer.context["rows"]} == {"japaneast"}


def test_the_page_of_a_machine_without_gpus_shows_what_it_is(
    whole_catalog: SeedReport, client: Client
) -> None:
    offer = Offer.objects.get(provider="azure", sku="Standard_D32_v3", region="japaneast", tier="on_demand")
    page = client.get(f"/catalog/offers/{offer.pk}/").content.decode()
    assert "Skylake-SP" in page
    assert "a machine without a GPU" in page
    assert re.search(r"819\s+GiB", page)
    assert "CC BY-SA 4.0" in page


def test_a_changed_list_appends_prices_and_retires_what_it_dropped(
    whole_catalog: SeedReport, tmp_path: Path
) -> None:
    folder = tmp_path / "machines"
    shutil.copytree(FOLDER, folder)
    text = gzip.decompress((folder / "aws.csv.gz").read_bytes()).decode()
    kept = [line for line in text.splitlines() if not line.startswith("us-east-1,a1.large,")]
    moved = [
        line.replace(",0.204,", ",0.3,").replace("2026-07-20", "2026-09-01")
        if line.startswith("us-east-1,a1.2xlarge,")
        else line
        for line in kept
    ]
    broken = [
        "us-east-1,x1.new,free,USD,2026-09-01",
        "us-east-1,x2.new,0,USD,2026-09-01",
        "us-east-1,x3.new,5,USD,2026-09-01",
    ]
    (folder / "aws.csv.gz").write_bytes(gzip.compress("\n".join([*moved, *broken, ""]).encode()))
    report = load_machines(AT + timedelta(days=1), folder)
    assert report.changed["machine prices of aws"] == 3
    assert sum(report.refused.values()) == 2
    offer = Offer.objects.get(provider="aws", sku="a1.2xlarge", region="us-east-1")
    assert [price.amount for price in offer.prices.all()] == [Decimal("0.3"), Decimal("0.204")]
    assert not Offer.objects.current().filter(provider="aws", sku="a1.large", region="us-east-1").exists()
    assert Offer.objects.get(sku="x3.new").not_comparable == "size_unknown"


def test_the_long_lists_are_left_to_the_worker_and_loaded_at_once_without_one(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    CatalogVersion.objects.update(machines_sha256="")
    asked: list[str] = []

    def load_now(at: datetime) -> SeedReport:
        asked.append("now")
        return SeedReport()

    monkeypatch.setattr(load_price_lists, "delay", lambda: asked.append("later"))
    monkeypatch.setattr(load_seeds_command, "load_machines", load_now)
    call_command("load_seeds", machines_later=True)
    assert asked == ["later"]

    def no_broker() -> None:
        raise OperationalError("nobody there")

    monkeypatch.setattr(load_price_lists, "delay", no_broker)
    call_command("load_seeds", machines_later=True)
    assert asked == ["later", "now"]


@pytest.mark.parametrize(
    ("sku", "plain"),
    [
        ("hyperstack-rtx-a6000-on-demand", "rtx-a6000"),
        ("Quadro RTX 6000 24 GB × 1, 92 vCPU, 448 GiB", "quadro rtx 6000 24 gb"),
        ("A100 SXM4 from", "a100 sxm4"),
        ("g5.2xlarge", "g5.2xlarge"),
        ("hyperstack", "hyperstack"),
    ],
)
def test_a_plain_name_is_the_card_alone(sku: str, plain: str) -> None:
    assert plain_name(sku, ["hyperstack"]) == plain
