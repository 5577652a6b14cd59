"""What a night's refresh does to the screens: a new price is used, a failed run leaves the old one and says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from django.utils import timezone
from playwright.sync_api import expect

from catalog import services
from catalog.models import Offer, Provider, RefreshStatus
from tests.catalog.conftest import QUICK
from tests.catalog.stand_in import BASE, StandIn, item

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def refresh(stand_in: StandIn) -> str:
    run = services.refresh("azure", timezone.now(), client=stand_in.client(), limits=QUICK)
    return str(run.status)


def total_is(page: Page, amount: str) -> None:
    page.goto("/workbench/?providers=azure")
    expect(page.locator("#strip .figure").last).to_contain_text(amount)


def test_new_prices_are_used_and_a_failed_night_leaves_them(
    page: Page, catalog: list[Offer], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SOURCE_BASE_URLS = {"azure": BASE}
    monkeypatch.setattr("catalog.sources.fetching.PAUSES_S", (0.001, 0.001))
    Provider.objects.get_or_create(slug="azure", defaults={"name": "Microsoft Azure"})
    assert refresh(StandIn([item(price=3.5)])) == RefreshStatus.SUCCEEDED
    total_is(page, "2,555.00")
    assert refresh(StandIn([item(price=3.6)])) == RefreshStatus.SUCCEEDED
    total_is(page, "2,628.00")
    broken = StandIn([item(price=9.9)])
    broken.answers = {number: httpx2.Response(500) for number in range(1, 20)}
    assert refresh(broken) == RefreshStatus.FAILED
    total_is(page, "2,628.00")
    page.goto("/catalog/sources/")
    expect(page.locator("main")).to_contain_text(re.compile("failed", re.I))
