"""The search, opened by a key or a press, walked through by arrow keys, and a page without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from catalog.models import Offer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.one_database(reason="what a browser makes of pages that other tests ask for on both"),
]


@pytest.mark.parametrize("keys", ["Control+k", "Meta+k", "/"])
def test_a_key_opens_the_search_and_the_arrows_lead_to_a_hit(
    page: Page, catalog: list[Offer], keys: str
) -> None:
    page.goto("/catalog/sources/")
    dialog = page.locator("#search-dialog")
    expect(dialog).to_be_hidden()
    page.keyboard.press(keys)
    expect(dialog).to_be_visible()
    expect(page.locator("#search-dialog-q")).to_be_focused()
    page.keyboard.type("h100")
    expect(dialog.locator("a.hit").first).to_be_visible()
    titles = dialog.locator("a.hit .hit-title").all_inner_texts()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(dialog.locator("a.hit").nth(0)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#search-dialog-q")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(re.escape(f"/catalog/accelerators/{titles[1]}/")))


def test_enter_opens_the_first_hit_and_escape_gives_the_page_back(page: Page, catalog: list[Offer]) -> None:
    page.goto("/catalog/sources/")
    page.get_by_role("link", name="Search", exact=True).click()
    dialog = page.locator("#search-dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("h200")
    expect(dialog.locator("a.hit").first).to_contain_text("H200")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/catalog/accelerators/H200"))


def test_the_slash_is_a_letter_where_one_types_and_can_be_switched_off(
    page: Page, catalog: list[Offer]
) -> None:
    page.goto("/workbench/")
    model = page.get_by_label("Model", exact=True)
    model.fill("")
    model.press_sequentially("a/b")
    expect(model).to_have_value("a/b")
    expect(page.locator("#search-dialog")).to_be_hidden()
    page.keyboard.press("Control+k")
    page.get_by_label("The key / opens this search").uncheck()
    page.keyboard.press("Escape")
    page.goto("/catalog/sources/")
    page.keyboard.press("/")
    expect(page.locator("#search-dialog")).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(page.locator("#search-dialog")).to_be_visible()


def test_a_model_is_found_and_opened_in_the_workbench(page: Page, catalog: list[Offer]) -> None:
    page.goto("/")
    page.keyboard.press("Control+k")
    page.keyboard.type("qwen3 32b")
    page.locator("#search-dialog a.hit", has_text="Qwen/Qwen3-32B").first.click()
    expect(page).to_have_url(re.compile(r"/workbench/\?model=Qwen/Qwen3-32B"))
    expect(page.locator("#strip")).to_be_visible()


def test_hostile_words_stay_text_in_the_dialog(page: Page, catalog: list[Offer]) -> None:
    page.goto("/catalog/sources/")
    page.keyboard.press("Control+k")
    page.keyboard.insert_text("<img src=x onerror=zqx7()>")
    expect(page.locator("#search-dialog-results")).to_contain_text(
        "Nothing is called “<img src=x onerror=zqx7()>”."
    )
    assert page.locator("#search-dialog img").count() == 0


def test_the_search_is_a_page_without_scripts(
    browser: Browser, live_server: Any, catalog: list[Offer]
) -> None:
    context = browser.new_context(java_script_enabled=False, base_url=live_server.url)
    try:
        page = context.new_page()
        page.goto("/catalog/sources/")
        page.get_by_role("link", name="Search", exact=True).click()
        page.locator("#search-q").fill("h100")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name=re.compile("^H100-SXM5 ")).first.click()
        expect(page).to_have_url(re.compile("/catalog/accelerators/H100-SXM5/"))
    finally:
        context.close()


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_dialog_and_page_have_no_barriers(
    page: Page, catalog: list[Offer], look_for_barriers: Callable[[Page], list[str]], width: int, theme: Any
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)
    page.goto("/search/?q=tokyo")
    assert look_for_barriers(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    page.keyboard.press("Control+k")
    page.keyboard.type("h100")
    expect(page.locator("#search-dialog a.hit").first).to_be_visible()
    assert look_for_barriers(page) == []
