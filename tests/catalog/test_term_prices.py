"""Storage and transfer as sources publish them: read exactly, judged, kept apart from shipped ones, used in bills."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from catalog import services
from catalog.judging import read_pages
from catalog.models import CatalogVersion, EgressTier, Offer, Provider, Refresh, StoragePrice
from catalog.recording import Observation, record
from catalog.runs import kept_pages
from catalog.seed_loading import SEEDS, load_seeds
from catalog.sources import SOURCES
from planner import market
from tests.catalog.source_bodies import BASE, AnySource
from tests.catalog.test_sources import BAD, KEYS, QUICK
from tests.factories import AT

pytestmark = pytest.mark.django_db

Ask = Callable[..., Refresh]
GIB = 2**30


@pytest.fixture
def ask(settings: Any) -> Ask:
    for slug in ("aws", "azure", "oci"):
        Provider.objects.get_or_create(slug=slug, defaults={"name": slug})
    settings.SOURCE_BASE_URLS = dict.fromkeys(SOURCES, BASE)
    settings.SOURCE_CREDENTIALS = KEYS

    def refresh(name: str, stand_in: AnySource | None = None, day: int = 0) -> Refresh:
        client = (stand_in or AnySource(name)).client()
        return services.refresh(name, AT + timedelta(days=day), client=client, limits=QUICK)

    return refresh


def storage() -> set[tuple[str, str, str, int, Decimal, int, bool]]:
    columns = ("provider", "region", "name", "from_gb", "amount_per_month", "per_bytes", "is_default")
    return {tuple(row) for row in StoragePrice.objects.in_force().values_list(*columns)}


def egress(provider: str) -> list[tuple[str, int, int | None, float]]:
    tiers = EgressTier.objects.in_force().filter(provider=provider).order_by("region", "from_gb")
    return [
        (
            one.region,
            int(one.from_gb),
            None if one.to_gb is None else int(one.to_gb),
            float(one.amount_per_gb),
        )
        for one in tiers
    ]


def test_disks_blobs_and_transfer_of_azure_are_read_by_region(ask: Ask) -> None:
    run = ask("azure_terms")
    assert (run.status, run.reason) == ("succeeded", "")
    assert storage() == {
        ("azure", "westeurope", "Standard SSD", 0, Decimal("0.1"), GIB, True),
        ("azure", "japaneast", "Premium SSD", 0, Decimal("0.2"), GIB, False),
        ("azure", "westeurope", "Hot LRS", 0, Decimal("0.02"), 10**9, False),
        ("azure", "westeurope", "Hot LRS", 51_200, Decimal("0.019"), 10**9, False),
    }
    assert egress("azure") == [
        ("japaneast", 0, None, 0.11), ("westeurope", 0, 100, 0), ("westeurope", 100, None, 0.09),
    ]  # fmt: skip
    assert run.refused == {"not_yet": 1, "other_service": 1, "other_size": 3}
    one = EgressTier.objects.get(region="japaneast")
    assert (one.source, one.observed, one.refresh) == (run_title("azure_terms"), AT.date().isoformat(), run)


def run_title(name: str) -> str:
    return SOURCES[name].title


def test_transfer_volumes_and_objects_of_aws_and_oci_are_read(ask: Ask) -> None:
    ask("aws_terms")
    ask("aws")
    ask("oci")
    assert egress("aws") == [
        ("us-east-1", 0, 10_240, 0.1), ("us-east-1", 10_240, 51_200, 0.08), ("us-east-1", 51_200, None, 0.06),
    ]  # fmt: skip
    assert egress("oci") == [("", 0, 10_240, 0), ("", 10_240, None, 0.01)]
    assert storage() == {
        ("aws", "us-east-1", "gp3", 0, Decimal("0.07"), 10**9, True),
        ("aws", "us-east-1", "S3 Standard", 0, Decimal("0.02"), 10**9, False),
        ("aws", "us-east-1", "S3 Standard", 51_200, Decimal("0.019"), 10**9, False),
        ("oci", "", "Block volume", 0, Decimal("0.03"), 10**9, True),
        ("oci", "", "Object storage", 0, Decimal(0), 10**9, False),
        ("oci", "", "Object storage", 10, Decimal("0.025"), 10**9, False),
    }


@pytest.mark.parametrize("name", ["azure_terms", "aws_terms", "aws", "oci"])
def test_running_twice_changes_nothing_but_the_day(ask: Ask, name: str) -> None:
    ask(name)
    before = (storage(), egress("azure"), egress("aws"), egress("oci"))
    run = ask(name, day=1)
    assert (run.status, run.changed_count) == ("succeeded", 0)
    assert (storage(), egress("azure"), egress("aws"), egress("oci")) == before
    days = {tier.observed for tier in EgressTier.objects.all()} | {
        price.observed for price in StoragePrice.objects.all()
    }
    assert days == {(AT.date() + timedelta(days=1)).isoformat()}


@pytest.mark.parametrize(
    ("name", "more", "reason"),
    [
        ("azure_terms", {"factor": 0}, "no_prices"), ("azure_terms", {"factor": 10}, "prices_moved"),
        ("azure_terms", {"factor": 0.1}, "prices_moved"), ("azure_terms", {"currency": "EUR"}, "wrong_currency"),
        ("aws_terms", {"factor": 0}, "no_prices"), ("aws_terms", {"factor": 10}, "prices_moved"),
        ("aws_terms", {"factor": 0.1}, "prices_moved"), ("aws_terms", {"currency": "EUR"}, "wrong_currency"),
    ],
)  # fmt: skip
def test_terms_that_cannot_be_are_not_taken(ask: Ask, name: str, more: dict[str, Any], reason: str) -> None:
    ask(name)
    before = (storage(), egress("azure"), egress("aws"))
    run = ask(name, AnySource(name, **more), day=1)
    assert run.status in ("failed", "held")
    assert run.reason == reason
    assert (storage(), egress("azure"), egress("aws")) == before


@pytest.mark.parametrize("mode", BAD)
@pytest.mark.parametrize("name", ["azure_terms", "aws_terms"])
def test_a_bad_answer_leaves_terms_as_they_were(ask: Ask, name: str, mode: str) -> None:
    ask(name)
    before = (storage(), egress("azure"), egress("aws"))
    run = ask(name, AnySource(name, BAD[mode]), day=1)
    assert run.status in ("failed", "held")
    assert run.reason not in ("", "internal_error")
    assert (storage(), egress("azure"), egress("aws")) == before


def test_one_price_that_jumps_among_many_stays_as_it_was(ask: Ask) -> None:
    def many(odd: str, price: str) -> AnySource:
        stand_in = AnySource("azure_terms")
        path = "/api/retail/prices?transfer"
        first = stand_in.bodies[path].decode()
        row = first[first.rindex('{"currencyCode"') : first.rindex("}]") + 1]
        regions = [row.replace("japaneast", f"region{number}") for number in range(150)]
        regions = [one.replace("11", price) if f'"{odd}"' in one else one for one in regions]
        listed = '{"Items": [%s], "NextPageLink": null, "Count": 150}' % ", ".join(regions)  # noqa: UP031
        stand_in.bodies[path] = listed.encode()
        return stand_in

    ask("azure_terms", many("none", "11"))
    run = ask("azure_terms", many("region7", "99"), day=1)
    assert (run.status, run.refused["moved_too_far"]) == ("succeeded", 1)
    tiers = {tier.region: tier for tier in EgressTier.objects.all()}
    assert (tiers["region7"].amount_per_gb, tiers["region7"].observed) == (
        Decimal("0.11"),
        AT.date().isoformat(),
    )
    assert tiers["region8"].observed == (AT.date() + timedelta(days=1)).isoformat()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"10240","51200"', b'"20480","51200"', "incomplete_terms"),
        (b'"0","10240"', b'"5","10240"', "incomplete_terms"),
        (b'"10240","51200"', b'"0","10240"', "contradictory"),
    ],
    ids=["a gap", "no beginning", "two prices"],
)
def test_steps_that_do_not_follow_each_other_are_no_price(ask: Ask, old: bytes, new: bytes, why: str) -> None:
    stand_in = AnySource("aws_terms")
    stand_in.bodies = {path: body.replace(old, new) for path, body in stand_in.bodies.items()}
    run = ask("aws_terms", stand_in)
    assert run.status == "succeeded", "what can be read is taken"
    assert egress("aws") == []
    assert ("aws", "us-east-1", "S3 Standard", 0, Decimal("0.02"), 10**9, False) in storage()
    assert read_pages(SOURCES["aws_terms"], kept_pages(run), AT.date()).refused[why] == 1


def test_shipped_terms_do_not_overwrite_those_of_a_run(ask: Ask) -> None:
    load_seeds(AT)
    shipped = StoragePrice.objects.in_force().get(provider="oci", name="Block volume").amount_per_month
    ask("oci")
    assert (
        StoragePrice.objects.in_force().get(provider="oci", name="Block volume").amount_per_month
        == Decimal("0.03")
        != shipped
    )
    load_seeds(AT + timedelta(days=1))
    assert StoragePrice.objects.in_force().get(
        provider="oci", name="Block volume"
    ).amount_per_month == Decimal("0.03")
    assert egress("oci") == [("", 0, 10_240, 0), ("", 10_240, None, 0.01)]
    assert ("azure", "eastus", "Hot LRS", 0, Decimal("0.018"), 10**9, False) in storage(), (
        "others are shipped as before"
    )


def test_bills_and_the_offers_page_use_what_was_read(ask: Ask, client: Client) -> None:
    machine = Observation(
        provider="aws", sku="g5.2xlarge", region="us-east-1", amount=Decimal("1.2"), currency="USD", source="page",
        observed_on=AT.date(), accelerator="A10G", gpu_count=1,
    )  # fmt: skip
    record([machine], AT)
    EgressTier.objects.create(
        provider_id="aws", from_gb=0, amount_per_gb=Decimal("0.5"), currency="USD", source="hand"
    )
    version = CatalogVersion.current()
    ask("aws_terms")
    assert CatalogVersion.current() > version, "markets that are kept must see it"
    found = market.current(AT + timedelta(days=1))
    terms = found.terms[found.terms_index[0]]
    assert terms.egress is not None
    assert [float(step.price_per_gb) for step in terms.egress.steps] == [0.1, 0.08, 0.06]
    assert (terms.egress.until_gb, terms.egress.observed_on) == (None, AT.date())
    page = client.get(f"/catalog/offers/{Offer.objects.get().pk}/").content.decode()
    assert "Egress from 0 to 10,240 GB a month" in page
    assert SOURCES["aws_terms"].title in page
    assert "hand" not in page.split("Storage and data to the internet")[1].split("</table>")[0]
    assert "AWS price list: storage and transfer" in client.get("/catalog/sources/").content.decode()


def moved(amount: str) -> AnySource:
    """The transfer of AWS with its first step at another price."""
    stand_in = AnySource("aws_terms")
    stand_in.bodies = {
        path: body.replace(b'"0.1000000000"', f'"{amount}"'.encode())
        for path, body in stand_in.bodies.items()
    }
    return stand_in


def test_a_new_price_of_transfer_leaves_the_old_steps_as_history(ask: Ask) -> None:
    ask("aws_terms")
    ask("aws_terms", day=1)
    run = ask("aws_terms", moved("0.09"), day=2)
    assert (run.status, run.changed_count) == ("succeeded", 1)
    assert [price for *_rest, price in egress("aws")] == [0.09, 0.08, 0.06]
    old = EgressTier.objects.filter(replaced_at__isnull=False).order_by("from_gb")
    assert [float(tier.amount_per_gb) for tier in old] == [0.1, 0.08, 0.06]
    days = [AT.date() + timedelta(days=day) for day in (0, 1, 2)]
    first = old[0]
    assert first.recorded_at is not None
    assert first.replaced_at is not None
    assert (first.recorded_at.date(), first.replaced_at.date()) == (days[0], days[2])
    assert (first.first_observed, first.observed) == (days[0].isoformat(), days[1].isoformat())

    def price_on(day: float) -> list[float]:
        tiers = EgressTier.objects.as_of(AT + timedelta(days=day)).filter(provider="aws").order_by("from_gb")
        return [float(tier.amount_per_gb) for tier in tiers]

    assert [price_on(day) for day in (-1, 1.5, 3)] == [[], [0.1, 0.08, 0.06], [0.09, 0.08, 0.06]]


def test_a_market_of_the_past_bills_transfer_and_storage_as_they_were_in_force(ask: Ask) -> None:
    machine = Observation(
        provider="aws", sku="g5.2xlarge", region="us-east-1", amount=Decimal("1.2"), currency="USD", source="page",
        observed_on=AT.date(), accelerator="A10G", gpu_count=1,
    )  # fmt: skip
    record([machine], AT)
    ask("aws_terms")
    ask("aws")
    ask("aws_terms", moved("0.09"), day=2)

    def first_step(day: float) -> tuple[float, float]:
        found = market.current(AT + timedelta(days=day))
        terms = found.terms[found.terms_index[0]]
        assert terms.egress is not None
        assert terms.storage is not None
        return float(terms.egress.steps[0].price_per_gb), float(terms.storage.price_per_gb_month)

    assert first_step(1) == (0.1, 0.07)
    assert first_step(3) == (0.09, 0.07)
    assert first_step(1) == (0.1, 0.07), "asked again, the past is the same"


def test_shipped_steps_that_change_leave_history_and_the_same_ones_none(tmp_path: Path) -> None:
    load_seeds(AT)
    steps = (StoragePrice.objects.count(), EgressTier.objects.count())
    load_seeds(AT + timedelta(days=1))
    assert (StoragePrice.objects.count(), EgressTier.objects.count()) == steps
    folder = tmp_path / "seeds"
    shutil.copytree(SEEDS, folder, ignore=shutil.ignore_patterns("machines"))
    storage_seed = folder / "storage.json"
    rows = json.loads(storage_seed.read_text(encoding="utf-8"))
    (hyperstack,) = (row for row in rows["storage"] if row["provider"] == "hyperstack")
    hyperstack["amount_per_month"] = "0.09"
    storage_seed.write_text(json.dumps(rows), encoding="utf-8")
    report = load_seeds(AT + timedelta(days=2), folder)
    assert report.changed["storage"] == 1
    now = StoragePrice.objects.in_force().get(provider="hyperstack")
    before = StoragePrice.objects.as_of(AT + timedelta(days=1)).get(provider="hyperstack")
    assert (now.amount_per_month, float(before.amount_per_month)) == (Decimal("0.09"), 0.07064502)
    assert before.replaced_at == AT + timedelta(days=2)
