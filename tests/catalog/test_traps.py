"""The traps of price lists, each by its name: what looks like a price, a card or a month and is another."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from catalog import services
from catalog.facts import accelerators
from catalog.identify import identify
from catalog.models import BillingTerms, Offer, Price, Provider, Refresh, StorageKind, StoragePrice
from catalog.seed_loading import SeedReport
from catalog.sources import SOURCES, gcp
from catalog.sources.fetching import Limits
from catalog.sources.quotes import Page, Quote, Refused
from tests.catalog.source_bodies import BASE, MAKERS, AnySource, Bodies
from tests.factories import AT

pytestmark = pytest.mark.django_db

QUICK = Limits(run_s=5, page_s=2, silence_s=1, wait_s=0.01, pages=8, page_bytes=200_000)


def quotes(name: str, **more: Any) -> list[Quote | Refused]:
    """What a source reads from answers of its own shape, without a database."""
    made = MAKERS[name](Bodies(**more))
    pages = [
        Page(
            number=number,
            url=f"{BASE}{path}#us-east-1",
            body=body[body.find(b'"SKU"') :] if name == "aws" else body,
        )
        for number, (path, body) in enumerate(made.items(), 1)
        if "token" not in path and not path.endswith("/version")
    ]
    return [one for one in SOURCES[name].parse(pages, AT.date()) if isinstance(one, Quote | Refused)]


def priced(name: str, **more: Any) -> list[Quote]:
    return [one for one in quotes(name, **more) if isinstance(one, Quote)]


PRICED = sorted(set(MAKERS) - {"ecb", "aws_terms", "azure_terms"})


@pytest.mark.parametrize("name", PRICED)
def test_1_zero_is_not_free(name: str) -> None:
    assert priced(name)
    assert priced(name, factor=0) == [], "a zero is refused, never a price"


def test_1_no_shipped_price_is_zero(report: SeedReport) -> None:
    assert not Price.objects.filter(amount__lte=0).exists()


def test_2_a_month_is_as_long_as_the_provider_says(report: SeedReport) -> None:
    hours = {
        terms.provider_id: int(terms.month_hours)
        for terms in BillingTerms.objects.exclude(month_hours=None)
        if terms.month_hours
    }
    assert {hours[slug] for slug in ("vultr", "gcp", "azure", "sakura")} == {672, 730, 480}
    assert BillingTerms.objects.get(provider="sakura").cap_hours == {"": 480}
    assert BillingTerms.objects.get(provider="vultr").cap_hours == {"vbm-": 672}


def test_3_memory_is_stated_in_many_ways_and_means_one_card() -> None:
    for stated in (24, 22888 / 1024, 23034 / 1024):
        assert identify("L4", memory_gib=stated).canonical == "L4"
    whole = {quote.sku: quote for quote in priced("digitalocean")}["gpu-h100x8-640gb"]
    assert whole.gpu_memory_gib == 80, "640 is the memory of eight"
    forty, eighty = (identify("A100", memory_gib=stated).candidates for stated in (40, 80))
    assert not set(forty) & set(eighty)


@pytest.mark.parametrize(
    "name", ["RTX 6000", "A100", "H100"]
)  # fmt: skip
def test_4_a_name_of_several_cards_is_ambiguous(name: str) -> None:
    answer = identify(name)
    assert (answer.status, answer.canonical) == ("ambiguous", None)
    assert len(answer.candidates) > 1


@pytest.mark.parametrize(
    "name", ["RTX 4090 Laptop", "RTX 4090 Laptop GPU", "GeForce RTX 4090 Mobile", "L400"]
)
def test_4_a_longer_name_inherits_nothing(name: str) -> None:
    assert identify(name).canonical is None


def test_5_a_share_of_a_card_is_not_a_card(report: SeedReport) -> None:
    sixth = Offer.objects.filter(provider="azure", sku="Standard_NV6ads_A10_v5").first()
    assert sixth is not None
    assert sixth.gpu_fraction < Decimal("0.17")
    eighth = Offer.objects.get(provider="aws", sku="g6f.large", region="us-east-1")
    assert eighth.gpu_fraction == Decimal("0.125")
    slices = [quote for quote in priced("vultr") if quote.gpu_fraction < 1]
    assert {quote.gpu_fraction for quote in slices} == {Decimal("0.25")}
    assert accelerators()["A16"].devices_per_board == 4


def test_6_a_price_for_one_gpu_is_not_the_machines() -> None:
    secure = [quote for quote in priced("runpod") if (quote.sku, quote.tier) == ("NVIDIA L40S", "on_demand")]
    by_count = {(quote.gpu_count, quote.amount) for quote in secure}
    assert by_count == {(1, Decimal("0.8")), (2, Decimal("1.6"))}
    cents = next(quote for quote in priced("lambda") if quote.gpu_count == 8)
    assert cents.amount == 24
    text = next(quote for quote in priced("verda") if quote.gpu_count == 8)
    assert text.amount == Decimal("18.4")


def test_6_a_machine_of_parts_has_no_price_while_a_part_has_none() -> None:
    listed = {quote.sku for quote in priced("gcp")}
    assert "a2-highgpu-1g" in listed
    assert not any(sku.startswith(("g2-", "a3-")) for sku in listed), "no GPU price, no RAM price"
    spot = [quote for quote in priced("gcp") if quote.tier == "spot"]
    assert spot == [], "a core alone is not a machine"
    assert len(gcp.sizes()) > 5


def test_7_twins_stand_beside_the_price_and_are_not_it() -> None:
    refused = [one.reason for one in quotes("aws") if isinstance(one, Refused)]
    assert {
        "other_system", "dedicated_host", "licence_included", "unused_capacity", "capacity_block",
    } <= set(refused)  # fmt: skip
    assert {quote.amount for quote in priced("aws") if quote.sku == "g5.2xlarge"} == {Decimal("1.2")}


def test_8_spot_is_by_zone_by_region_or_a_bid() -> None:
    zones = {(quote.tier_detail, quote.amount) for quote in priced("aws_spot") if quote.sku == "g5.2xlarge"}
    assert zones == {("us-east-1a", Decimal("0.5")), ("us-east-1b", Decimal("0.6"))}
    bids = [quote for quote in priced("vast") if quote.tier == "spot"]
    assert bids
    assert all(quote.floor for quote in bids)


def test_9_a_price_holds_from_its_day_in_its_currency_and_says_of_tax_what_is_known(
    report: SeedReport,
) -> None:
    assert "not_yet" in [one.reason for one in quotes("aws") if isinstance(one, Refused)]
    china = Offer.objects.get(provider="aws", sku="g4dn.xlarge", region="cn-north-1")
    assert china.current_price is not None
    assert china.current_price.currency == "CNY"
    assert china.usd_per_hour is not None
    assert china.usd_per_hour < china.current_price.amount / 5, "yuan are not dollars"
    assert Price.objects.filter(tax_included=True).count() == 0


def test_10_a_row_is_a_product_and_not_stock() -> None:
    single = next(quote for quote in priced("lambda") if quote.gpu_count == 1)
    assert single.availability == "none"
    gone = next(quote for quote in priced("digitalocean") if quote.sku.startswith("gpu-mi300x8"))
    assert (gone.availability, gone.not_comparable) == ("none", "no_capacity")


def test_11_a_list_that_does_not_end_leaves_the_last_good_one(settings: Any) -> None:
    Provider.objects.get_or_create(slug="vultr", defaults={"name": "Vultr"})
    settings.SOURCE_BASE_URLS = {"vultr": BASE}
    services.refresh("vultr", AT, client=AnySource("vultr").client(), limits=QUICK)
    listed = Offer.objects.current().filter(provider="vultr")
    before = listed.count()
    assert before
    short = QUICK.model_copy(update={"pages": 1})
    run = services.refresh("vultr", AT + timedelta(days=1), client=AnySource("vultr").client(), limits=short)
    assert run.reason == "too_many_pages"
    assert listed.count() == before
    assert Refresh.objects.good().count() == 1


def test_12_traffic_has_steps_and_disks_cost_while_a_machine_stands(report: SeedReport) -> None:
    steps = list(
        Provider.objects.get(slug="aws").egress_tiers.values_list("from_gb", "to_gb", "amount_per_gb")
    )
    assert [(int(low), int(high or 0), float(price)) for low, high, price in steps] == [
        (0, 100, 0.0), (100, 10240, 0.09),
    ]  # fmt: skip
    kept = StoragePrice.objects.filter(is_default=True)
    assert set(kept.values_list("kind", flat=True)) <= {StorageKind.BLOCK, StorageKind.FILE}
    assert kept.count() > 5, "network storage that outlives the machine"


def test_13_superchips_need_images_for_arm(client: Client, report: SeedReport) -> None:
    assert {name for name, fact in accelerators().items() if fact.host_architecture} == {
        "GH200-96GB", "GH200-144GB", "GB200", "GB300", "GB10",
    }  # fmt: skip
    offer = Offer.objects.filter(accelerator__name="GH200-96GB").first()
    assert offer is not None
    assert "arm64" in client.get(f"/catalog/offers/{offer.pk}/").content.decode()
    page = client.get("/catalog/accelerators/compare/?a=GH200-96GB&a=H100-SXM5").content.decode()
    assert "arm64" in page


def test_14_lists_with_a_card_and_without_another_are_a_normal_wish(
    client: Client, report: SeedReport
) -> None:
    """Which of two at one price wins is the ranking's to say (tests/sizing/test_compare.py)."""
    page = client.get("/catalog/offers/?accelerator=h100-sxm5&comparable=yes&sort=gpu_price").content.decode()
    assert "H100-SXM5" in page
    assert ">L4<" not in page


def test_15_rates_are_dense_for_one_device_and_the_exact_variant() -> None:
    facts = accelerators()
    assert facts["H100-SXM5"].dense_rates["bf16"] == 989e12, "1,979 is sparse"
    assert facts["H100-NVL"].dense_rates["bf16"] == 835e12, "1,671 is a pair"
    assert facts["MI250X"].dense_rates["bf16"] == 191.5e12, "383 is the module of two"
    assert facts["H100-PCIe"].bandwidth_bytes_per_s != facts["H100-SXM5"].bandwidth_bytes_per_s
