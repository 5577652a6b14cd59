"""What would do, what conditions cost, and prices of late, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from catalog.models import Offer
from tests.planner.factories import make_offer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.one_database(reason="what a browser makes of pages that other tests ask for on both"),
]
SLOW = "/workbench/?model=Qwen/Qwen3-32B&in=8000&in_max=8000&users=10&users_peak=20&include=H100-NVL"


def test_one_click_on_what_would_do_gives_the_month_it_said(
    page: Page, catalog: list[Offer], look_for_barriers: Callable[[Page], list[str]]
) -> None:
    make_offer("H100-NVL", "7", at=timezone.now())
    page.goto(SLOW)
    expect(page.get_by_role("heading", level=1)).to_contain_text("TTFT ≤ 1.00 s, a default")
    expect(page.locator(".misses")).to_contain_text("More replicas do not help")
    remedy = page.locator(".remedies tbody tr").first
    month = remedy.locator("td.num").inner_text()
    assert look_for_barriers(page) == []
    remedy.get_by_role("link").click()
    expect(page).to_have_url(re.compile("weights=fp8"))
    expect(page.locator("#strip")).to_contain_text(month)
    expect(page.locator(".remedies")).to_have_count(0)


def test_an_old_first_price_has_the_one_of_late_beside_it_and_a_link_that_leaves_it_out(
    page: Page, catalog: list[Offer]
) -> None:
    at = timezone.now()
    make_offer("H100-SXM5", "0.50", sku="years-ago", observed_on=(at - timedelta(days=882)).date(), at=at)
    page.goto("/workbench/")
    expect(page.get_by_text("First of", exact=False).first).to_contain_text("years-ago")
    expect(page.locator("#strip")).to_contain_text("Lowest complete price of the last 180 days")
    assert page.locator("#strip > div").last.locator("p.figure").count() == 2, "both are figures"
    page.get_by_role("link", name="Rank only prices of the last 180 days").click()
    expect(page).to_have_url(re.compile("age=180"))
    expect(page.locator(".lede")).not_to_contain_text("years-ago")


def test_the_headroom_stands_with_its_cost_and_the_context_with_its_limit(
    page: Page, catalog: list[Offer]
) -> None:
    make_offer("H100-NVL", "7", at=timezone.now())
    page.goto(SLOW + "&ttft=")
    expect(page.locator(".reliefs")).to_contain_text(
        re.compile(r"Without the memory headroom of 10 %\s*\d+ machine")
    )
    expect(page.locator(".longest-context").first).to_contain_text("Longest context of 20 requests at once")
