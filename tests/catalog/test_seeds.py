"""The shipped catalog: made by one command, loaded twice without a change, its traps avoided."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import models
from django_celery_beat.models import PeriodicTask

from catalog.management.commands import make_catalog_seeds
from catalog.models import (
    BillingTerms,
    CatalogVersion,
    EgressTier,
    ExchangeRate,
    MarketDay,
    Offer,
    Price,
    Provider,
    Region,
    StoragePrice,
    StorageSpeed,
)
from catalog.seed_loading import SEEDS, SeedReport, load_seeds
from catalog.sources import SOURCES
from tests.factories import AT

pytestmark = pytest.mark.django_db


def test_loading_says_what_was_read(db: None) -> None:
    report = load_seeds(AT)
    assert report.read["accelerators"] == 136
    assert report.read["offers"] > 2000
    assert not report.refused
    assert any(line.startswith("offers: ") for line in report.lines())


def test_loading_twice_changes_nothing(report: SeedReport) -> None:
    before = (CatalogVersion.current(), Offer.objects.count(), Price.objects.count())
    again = load_seeds(AT + timedelta(days=1))
    assert not again.anything
    assert (CatalogVersion.current(), Offer.objects.count(), Price.objects.count()) == before


def test_a_comparable_offer_has_a_card_a_count_and_a_price_above_zero(report: SeedReport) -> None:
    found = Offer.objects.comparable().current().select_related("current_price")
    assert found.count() > 1500
    for offer in found:
        assert offer.accelerator_id
        assert offer.gpu_count
        assert offer.current_price is not None
        assert offer.current_price.amount > 0
        assert offer.current_price.source
    assert not Price.objects.filter(amount__lte=0).exists()


def test_offers_that_cannot_be_compared_are_kept_with_their_reason(report: SeedReport) -> None:
    reasons = set(Offer.objects.exclude(not_comparable="").values_list("not_comparable", flat=True))
    assert reasons == {
        "count_unknown", "slice_memory_unknown", "ambiguous_accelerator", "unknown_accelerator", "host_price_unknown",
        "memory_contradicts", "region_unknown", "card_not_read",
    }  # fmt: skip
    twins = Offer.objects.filter(not_comparable="ambiguous_accelerator").exclude(not_comparable_detail="")
    assert "|" in twins[0].not_comparable_detail


def test_the_latest_observation_is_the_price_and_the_earlier_one_is_history(report: SeedReport) -> None:
    offer = Offer.objects.get(provider="nebius", sku="HGX H100", gpu_count=8)
    assert offer.current_price is not None
    assert (offer.current_price.amount, str(offer.current_price.effective_from)) == (
        Decimal(36),
        "2026-10-01",
    )
    assert [price.amount for price in offer.prices.all()] == [Decimal(36), Decimal("30.8")]


def test_one_product_of_two_sources_is_one_offer_with_both_observations(report: SeedReport) -> None:
    card = Offer.objects.current().filter(
        provider="hyperstack", accelerator="RTXA6000", gpu_count=1, tier="on_demand"
    )
    offer = card.get()
    assert (offer.sku, offer.vcpu, offer.ram_gib) == ("A6000", Decimal(28), Decimal(58))
    assert "hyperstack-rtx-a6000-on-demand" in offer.note
    assert offer.spec_source == "tardellirs/gpu-pricing"
    runpod = Offer.objects.current().get(
        provider="runpod", accelerator="H100-SXM5", gpu_count=1, tier_detail="secure"
    )
    assert [(str(price.amount.normalize()), price.source) for price in runpod.prices.all()] == [
        ("3.49", "silybench-data gpu_prices.csv, from runpod.io/pricing"), ("3.29", "tardellirs/gpu-pricing"),
    ]  # fmt: skip


def test_names_that_tell_products_apart_stay_apart(report: SeedReport) -> None:
    linked = Offer.objects.current().filter(
        provider="hyperstack", accelerator="A100-PCIe-80GB", gpu_count=1, tier="on_demand"
    )
    assert set(linked.values_list("sku", flat=True)) == {"A100 NVLink", "A100 PCIe"}
    sizes = Offer.objects.filter(provider="aws", accelerator="A10G", gpu_count=1, region="us-east-1")
    assert sizes.count() > 4


def test_an_old_price_without_a_region_does_not_stand_beside_the_regional_ones(report: SeedReport) -> None:
    unplaced = Offer.objects.get(provider="aws", sku="p4d.24xlarge", region="", tier="on_demand")
    assert unplaced.not_comparable == "region_unknown"
    placed = Offer.objects.get(provider="aws", sku="p4d.24xlarge", region="us-east-1", tier="on_demand")
    assert placed.not_comparable == ""


def test_an_offer_that_the_seeds_drop_is_gone(report: SeedReport, tmp_path: Path) -> None:
    folder = tmp_path / "seeds"
    shutil.copytree(SEEDS, folder)
    lines = (folder / "offers.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "offers.csv").write_text(
        "".join(line for line in lines if not line.startswith("lambda,A10,")), encoding="utf-8"
    )
    assert load_seeds(AT, folder).changed["offers"] == 4  # machines of 1, 2, 4 and 8 GPUs
    assert not Offer.objects.current().filter(provider="lambda", sku="A10").exists()
    assert Offer.objects.priced(AT - timedelta(seconds=1)).count() == 0
    assert not load_seeds(AT, folder).anything


def test_a_price_per_gpu_is_multiplied_for_counts_that_are_known_only(report: SeedReport) -> None:
    runpod = Offer.objects.filter(provider="runpod", sku="H100 SXM", tier="on_demand")
    assert {o.gpu_count: str(o.current_price.amount.normalize()) for o in runpod if o.current_price} == {
        1: "3.49", 2: "6.98", 4: "13.96", 8: "27.92",
    }  # fmt: skip
    crusoe = Offer.objects.filter(provider="crusoe", sku="L40S")
    assert [offer.gpu_count for offer in crusoe] == [1]


def test_superchips_come_in_machines_of_four_and_a_gh200_alone(report: SeedReport) -> None:
    counts = (
        Offer.objects.comparable()
        .filter(accelerator__in=("GB200", "GB300"))
        .values_list("gpu_count", flat=True)
    )
    assert set(counts) <= {1, 2, 4}
    alone = Offer.objects.comparable().filter(accelerator="GH200-96GB").values_list("gpu_count", flat=True)
    assert set(alone) == {1}


def test_community_and_marketplace_prices_are_marked(report: SeedReport) -> None:
    assert set(Offer.objects.filter(tier="community").values_list("provider", flat=True)) == {"runpod"}
    assert Price.objects.filter(offer__provider="tensordock", floor=True).exists()
    assert Price.objects.filter(estimated=True).exists()
    assert not Offer.objects.filter(provider="salad", tier="on_demand").exists()


def test_a_slice_is_compared_where_the_provider_states_its_memory(report: SeedReport) -> None:
    slices = Offer.objects.filter(gpu_fraction__lt=1)
    assert set(slices.filter(not_comparable="").values_list("accelerator", flat=True)) == {"L4"}
    assert slices.filter(provider="azure", not_comparable="slice_memory_unknown").exists()


def test_a_gpu_without_its_host_is_not_a_machine(report: SeedReport) -> None:
    assert (
        not Offer.objects.comparable()
        .filter(provider="coreweave", prices__source="tardellirs/gpu-pricing")
        .exists()
    )
    assert not Offer.objects.comparable().filter(sku="nvidia-tesla-t4").exists()


def test_one_host_type_with_different_cards_is_several_machines(report: SeedReport) -> None:
    skus = Offer.objects.filter(provider="gcp", sku__startswith="n1-highmem-8 +", tier="on_demand")
    assert skus.values("accelerator").distinct().count() >= 4


def test_yuan_stay_yuan(report: SeedReport) -> None:
    yuan = Price.objects.filter(currency="CNY")
    assert yuan.count() == 24
    assert set(yuan.values_list("offer__region", flat=True)) == {"cn-north-1"}
    assert ExchangeRate.latest(AT.date())["CNY"].per_usd == Decimal("6.65288")


def test_only_terms_that_were_read_are_facts(report: SeedReport) -> None:
    terms = {one.provider_id: one for one in BillingTerms.objects.all()}
    assert (terms["aws"].unit_s, terms["aws"].minimum_s, terms["aws"].spot_notice_s) == (1, 60, 120)
    assert (terms["gcp"].unit_s, terms["azure"].unit_s, terms["coreweave"].unit_s) == (None, None, None)
    months = {slug: one.month_hours for slug, one in terms.items() if one.month_hours}
    assert months == {
        "gcp": 730, "azure": 730, "hyperstack": 730, "vast": 720, "digitalocean": 744, "vultr": 672, "sakura": 480,
    }  # fmt: skip


def test_unknown_egress_has_no_row_and_free_egress_has_one_at_zero(report: SeedReport) -> None:
    assert EgressTier.objects.get(provider="coreweave").amount_per_gb == 0
    assert not EgressTier.objects.filter(provider="crusoe").exists()
    aws = EgressTier.objects.filter(provider="aws").values_list("from_gb", "to_gb", "amount_per_gb")
    steps = [(float(low), float(high or 0), float(amount)) for low, high, amount in aws]
    assert steps == [(0, 100, 0), (100, 10240, 0.09)]


def test_storage_prices_hold_where_they_were_read(report: SeedReport) -> None:
    assert StoragePrice.objects.get(provider="azure", is_default=True).region == "eastus"
    hyperstack = StoragePrice.objects.get(provider="hyperstack")
    assert hyperstack.amount_per_month == Decimal("0.07064502")
    for slug in StoragePrice.objects.values_list("provider", flat=True).distinct():
        assert StoragePrice.objects.filter(provider=slug, is_default=True).count() == 1, slug


def test_regions_have_their_place_names_in_both_languages(report: SeedReport) -> None:
    tokyo = Region.objects.get(provider="azure", code="japaneast")
    assert (tokyo.city, tokyo.name_ja) == ("Tokyo", "東京")
    assert Region.objects.count() == 106
    assert not Region.objects.filter(name_ja="").exists()
    assert not Region.objects.filter(name="", city="").exists()
    assert Region.objects.get(provider="azure", code="brazilsouth").name_ja == "ブラジル南部"


def test_storage_of_a_kind_is_as_fast_as_its_source_says_and_no_faster(report: SeedReport) -> None:
    gp3 = StorageSpeed.objects.get(provider="aws", name="gp3")
    assert (gp3.iops_baseline, gp3.iops_maximum) == (3_000, 80_000)
    assert (gp3.bytes_per_s_baseline, gp3.bytes_per_s_maximum) == (125 * 2**20, 2_000 * 2**20)
    premium = StorageSpeed.objects.get(provider="azure", name="Premium SSD")
    assert (premium.bytes_per_s_maximum, premium.iops_maximum) == (900 * 10**6, 20_000)
    assert premium.bytes_per_s_baseline is None, "its baseline goes by size, which nobody read"
    assert not StorageSpeed.objects.filter(provider="gcp").exists(), "not read, so not told"


def test_each_shipped_row_says_where_it_is_from_and_when() -> None:
    files = sorted(SEEDS.rglob("*.json"))
    assert len(files) == 15
    for path in files:
        document = json.loads(path.read_text(encoding="utf-8"))
        head = document.get("observed", "")
        tables = [
            value for value in document.values() if isinstance(value, list) and isinstance(value[0], dict)
        ]
        assert tables, path.name
        for row in (row for table in tables for row in table):
            assert row.get("source") or row.get("sources") or row.get("status") == "memory", (path.name, row)
            own = row.get("observed") or row.get("source_date") or row.get("on")
            assert own or head or path.parent != SEEDS, (path.name, row)
    for path in (SEEDS / "offers.csv", SEEDS / "machines" / "types.csv"):
        with path.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                assert row["source"], row
                assert row.get("observed_on") or row.get("observed"), row


def test_a_broken_seed_row_is_refused_by_name_and_the_others_are_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "seeds"
    shutil.copytree(SEEDS, folder)
    lines = (folder / "offers.csv").read_text(encoding="utf-8").splitlines()
    head, sample = (
        lines[0],
        next(line for line in lines if line.startswith("lambda,A10,") and ",A10,A10," in line),
    )
    assert ",1.29,USD," in sample
    broken = [
        sample.replace(",1.29,USD,", f",{price},USD,").replace("lambda,A10", f"{who},A10 {place}")
        for place, (price, who) in enumerate(
            [
                ("free", "lambda"),
                ("0", "lambda"),
                ("-1", "lambda"),
                ("NaN", "lambda"),
                ("1e99", "lambda"),
                ("1", "nobody"),
            ]
        )
    ]
    unknown = sample.replace(",A10,A10,", ",A11,A11,").replace("lambda,A10", "lambda,A11")
    (folder / "offers.csv").write_text("\n".join([head, sample, *broken, unknown]) + "\n", encoding="utf-8")
    report = load_seeds(AT, folder)
    assert (report.read["offers"], report.kept["offers"]) == (8, 1)
    assert sum(report.refused.values()) == 7
    assert report.refused["offers: a price of zero is not a price"] == 2
    assert report.refused["offers: provider nobody is not known"] == 1
    assert report.refused["offers: accelerator A11 is not known"] == 1


def test_a_corrected_seed_corrects_the_machine(report: SeedReport, tmp_path: Path) -> None:
    folder = tmp_path / "seeds"
    shutil.copytree(SEEDS, folder)
    text = (folder / "providers.json").read_text(encoding="utf-8")
    (folder / "providers.json").write_text(
        text.replace('"name": "Lambda"', '"name": "Lambda Cloud"'), encoding="utf-8"
    )
    version = CatalogVersion.current()
    assert load_seeds(AT, folder).changed["providers"] == 1
    assert Provider.objects.get(slug="lambda").name == "Lambda Cloud"
    assert CatalogVersion.current() == version + 1


def test_the_command_loads_and_schedules_each_source_once(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_seeds")
    night = PeriodicTask.objects.get(name="refresh prices: azure")
    night.enabled = False
    night.save()
    call_command("load_seeds")
    assert PeriodicTask.objects.filter(task="catalog.tasks.refresh_source").count() == len(SOURCES)
    assert PeriodicTask.objects.get(name="refresh prices: azure").enabled is False
    assert "offers: " in capsys.readouterr().out


KEPT_BY_HAND = {"drivers.json", "managed.json", "managed_services.json", "storage_speeds.json"}
"""Facts that the research tables do not hold, each with its own source."""


@pytest.mark.measurements
def test_the_seeds_are_made_again_byte_by_byte(
    measurements: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_catalog_seeds, "SEEDS", tmp_path)
    call_command("make_catalog_seeds", "--from", str(measurements), verbosity=0)
    made = {str(path.relative_to(tmp_path)): _content(path) for path in tmp_path.rglob("*.*")}
    assert set(made) | KEPT_BY_HAND == {str(path.relative_to(SEEDS)) for path in SEEDS.rglob("*.*")}
    for name, content in made.items():
        assert content == _content(SEEDS / name), name


def _content(path: Path) -> bytes:
    """What a compressed file says: compressors differ from one zlib to the next."""
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def test_no_shipped_text_is_longer_than_its_column(report: SeedReport) -> None:
    """PostgreSQL refuses what SQLite keeps."""
    for model in (
        Provider,
        Region,
        BillingTerms,
        StoragePrice,
        StorageSpeed,
        EgressTier,
        MarketDay,
        Offer,
        Price,
    ):
        lengths = {
            field.attname: field.max_length
            for field in model._meta.concrete_fields
            if isinstance(field, models.CharField) and field.max_length
        }
        for values in model._default_manager.values_list(*lengths).iterator():
            for (name, longest), value in zip(lengths.items(), values, strict=True):
                assert len(value or "") <= longest, (model.__name__, name, value)
