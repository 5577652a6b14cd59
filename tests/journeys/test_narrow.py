"""What a telephone shows, and what Japanese labels need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from catalog.models import Offer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.one_database(reason="what a browser makes of pages that other tests ask for on both"),
]
CUT = """selector => [...document.querySelectorAll(selector)]
  .filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1).map(each => each.textContent)"""


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_page_of_the_menu_is_in_sight(
    browser: Browser, live_server: Any, catalog: list[Offer], language: str
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844}, locale=language)
    page.goto(f"{live_server.url}/workbench/")
    for link in page.locator(".nav a").all():
        box = link.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.close()


def test_the_speeds_of_a_candidate_keep_their_heads(page: Page, catalog: list[Offer]) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/workbench/")
    heads = page.locator(".speeds thead th").first
    box = heads.bounding_box()
    assert box is not None
    assert box["width"] > 40
    assert (
        page.locator("#strip .key li:visible").count() == page.locator("#strip .bar rect:not(.frame)").count()
    )


@pytest.mark.parametrize("width", [390, 1440])
def test_no_label_is_cut_in_japanese(
    browser: Browser, live_server: Any, catalog: list[Offer], width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, locale="ja")
    page.goto(f"{live_server.url}/workbench/")
    if width < 500:
        page.locator("[data-sheet-open]").click()
    page.evaluate(
        "() => document.querySelectorAll('#workload details').forEach(each => { each.open = true; })"
    )
    assert page.evaluate(CUT, "#workload label, #workload legend") == []
    page.close()
