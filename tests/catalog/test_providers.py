"""Pages of providers: storage and transfer on any day and in any region, their age, and what they cost before."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from html import unescape
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from catalog import provider_sheets
from catalog.ages import Age, age_of
from catalog.models import EgressTier, Provider, StoragePrice
from catalog.seed_loading import SeedReport
from tests.factories import AT

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def known(db: None) -> Provider:
    """Transfer that fell from 0.12 to 0.10 ten days ago, after 100 GB; a disk that never changed, one region's own."""
    provider = Provider.objects.create(slug="known", name="Known Cloud")
    common: dict[str, Any] = {"provider": provider, "currency": "USD", "source": "list"}
    before = {"recorded_at": AT - 40 * DAY, "replaced_at": AT - 10 * DAY, "observed": "2026-11-19"}
    now = {"recorded_at": AT - 10 * DAY, "observed": AT.date().isoformat()}
    for when, paid in ((before, "0.12"), (now, "0.10")):
        for start, end, amount in ((0, 100, "0"), (100, None, paid)):
            EgressTier.objects.create(
                from_gb=start, to_gb=end, amount_per_gb=Decimal(amount), **common, **when
            )
    StoragePrice.objects.create(
        kind="block",
        name="disk",
        amount_per_month=Decimal("0.08"),
        is_default=True,
        observed="2026-05",
        **common,
    )
    StoragePrice.objects.create(
        kind="block", name="disk", amount_per_month=Decimal("0.11"), region="tokyo", observed="2026", **common
    )
    return provider


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catalog.provider_views.timezone", SimpleNamespace(now=lambda: AT))


def shown(client: Client, query: str = "") -> str:
    answer = client.get(f"/catalog/providers/known/{query}")
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def in_force(page: str) -> str:
    return page.split("Storage and data to the internet</h2>")[1].split("</section>")[0]


def test_a_providers_page_tells_what_holds_now_how_old_it_is_and_what_it_cost_before(
    client: Client, known: Provider
) -> None:
    page = shown(client)
    now = in_force(page)
    assert "0.1 USD / GB" in now
    assert "0.12 USD" not in now
    assert "about 6 months old" in now
    assert "kept by hand" in now
    before = page.split("What it cost before</h2>")[1].split("</section>")[0]
    assert before.index("0.1 USD / GB") < before.index("0.12 USD / GB"), "newest first"
    assert "<svg" in before
    assert "disk" not in before, "of which nothing changed"


def test_a_past_day_shows_what_was_in_force_then(client: Client, known: Provider) -> None:
    then = in_force(shown(client, f"?on={(AT - 20 * DAY).date()}"))
    assert "0.12 USD / GB" in then
    assert "0.1 USD / GB" not in then
    assert "As it was in force at the end of" in then
    long_ago = in_force(shown(client, f"?on={(AT - 400 * DAY).date()}"))
    assert "Egress" not in long_ago
    assert "disk" in long_ago, "known since before old prices were kept"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?on=2027-01-01", "This day has not come yet."),
        ("?on=soon", "Enter a valid date."),
        ("?region=mars", "mars"),
    ],
)
def test_a_day_or_region_that_makes_no_sense_is_told_and_today_is_shown(
    client: Client, known: Provider, query: str, message: str
) -> None:
    page = shown(client, query)
    assert message in page
    assert "0.1 USD / GB" in in_force(page)


def test_a_regions_own_price_stands_in_the_place_of_the_one_elsewhere(
    client: Client, known: Provider
) -> None:
    tokyo = in_force(shown(client, "?region=tokyo"))
    assert "0.11 USD / GB" in tokyo
    assert "0.08 USD" not in tokyo
    assert "of unknown age" in tokyo
    assert "0.1 USD / GB" in tokyo, "transfer holds everywhere"


def test_nobodys_page_is_not_found(client: Client) -> None:
    assert client.get("/catalog/providers/nobody/").status_code == 404


@pytest.mark.parametrize(
    ("observed", "age"),
    [
        ("2026-11-20", Age(days=10)), ("2026-06-18 prices", Age(days=165)), ("2026-10 (moto)", Age(months=1)),
        ("2024-10 or before", Age(months=25)), ("2026", Age()), ("", Age()), ("undated", Age()),
        ("2026-13", Age()), ("2026-02-31", Age(months=9)), ("2027-01-01", Age(days=0)),
    ],
)  # fmt: skip
def test_a_text_tells_an_age_as_exactly_as_it_is_dated(observed: str, age: Age) -> None:
    assert age_of(observed, date(2026, 11, 30)) == age


def test_the_list_of_providers_has_every_one_with_the_shipped_prices(
    client: Client, report: SeedReport, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(3):
        lines = {line.provider.slug: line for line in provider_sheets.provider_lines(AT.date())}
    assert set(lines) == set(Provider.objects.values_list("slug", flat=True))
    aws, coreweave, crusoe = lines["aws"], lines["coreweave"], lines["crusoe"]
    assert aws.storage is not None
    assert aws.egress is not None
    assert (aws.storage.amount, aws.egress.amount, aws.free_gb) == ("0.08", "0.09", Decimal(100))
    assert coreweave.is_free
    assert crusoe.egress is None
    page = client.get("/catalog/providers/")
    assert page.status_code == 200
    assert page.content.decode().count("<tr>") == len(lines) + 1
    for slug in ("aws", "azure", "oci", "sakura"):
        assert client.get(f"/catalog/providers/{slug}/").status_code == 200
