"""No page keeps anybody out: nothing serious for axe in both themes and languages, nothing off a narrow screen."""

from __future__ import annotations

from collections.abc import Callable
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

PARTS = 4
"""So that two workers share them."""
INK = "() => getComputedStyle(document.body).color"
PAGES = (
    "/",
    "/workbench/",
    "/workbench/?users=-1&weights=zz",
    "/workbench/?tpot=1",
    "/workbench/?kind=llm_batch",
    "/workbench/?include=L40S&model=meta-llama/Llama-3.1-70B-Instruct",
    "/workbench/?include=Nonsense-9000",
    "/workbench/chart/",
    "/workbench/explore/sensitivity/",
    "/workbench/explore/memory/",
    "/workbench/variants/",
    "/workbench/variants/?kind=lora",
    "/workbench/explore/micro/?kind=lora",
    "/workbench/?kind=lora&assume=linear_fraction:0.3",
    "/workbench/?kind=lora&assume=linear_fraction:3",
    "/workbench/compare/",
    "/workbench/?each=1&model=Llama-3.3-70B",
    "/workbench/explore/utilisation/?managed_in=0.1&managed_out=0.4",
    "/methods/memory/",
    "/evidence/",
    "/reach/",
    "/hosting/",
    "/search/?q=per+token",
    "/components/",
    "/catalog/accelerators/",
    "/catalog/accelerators/H100-SXM5/",
    "/catalog/offers/",
    "/catalog/sources/",
    "/accounts/login/",
    "/accounts/signup/",
    "/nothing-here/",
)


def test_a_barrier_would_be_found(
    context: Any, catalog: list[Offer], look_for_barriers: Callable[[Page], list[str]]
) -> None:
    page = context.new_page()
    page.goto("/components/")
    assert look_for_barriers(page) == []
    page.evaluate("() => { document.querySelector('.lede').style.color = '#ddd'; }")
    assert "color-contrast" in look_for_barriers(page)[0]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("language", ["en-GB", "ja-JP"])
def test_axe_finds_nothing_serious(
    browser: Browser,
    live_server: Any,
    catalog: list[Offer],
    look_for_barriers: Callable[[Page], list[str]],
    language: str,
    part: int,
) -> None:
    """The theme is switched on the open page, as the system does in the evening; axe looks at all of it again."""
    context = browser.new_context(base_url=live_server.url, locale=language, bypass_csp=True)
    try:
        page = context.new_page()
        found: list[str] = []
        pages = (*PAGES, f"/workbench/candidate/{catalog[0].pk}/", f"/catalog/offers/{catalog[0].pk}/")
        for path in pages[part::PARTS]:
            page.emulate_media(color_scheme="light")
            page.goto(path)
            for fold in page.locator("details").all():
                fold.evaluate("fold => { fold.open = true; }")
            light = page.evaluate(INK)
            found += look_for_barriers(page)
            page.emulate_media(color_scheme="dark")
            assert page.evaluate(INK) != light, f"{path} looks the same in both themes"
            found += [f"dark: {barrier}" for barrier in look_for_barriers(page)]
        assert found == []
    finally:
        context.close()


def test_nothing_runs_off_a_narrow_screen(browser: Browser, live_server: Any, catalog: list[Offer]) -> None:
    context = browser.new_context(
        base_url=live_server.url, viewport={"width": 375, "height": 800}, locale="ja-JP"
    )
    try:
        page = context.new_page()
        wide = []
        for path in (*PAGES, f"/workbench/candidate/{catalog[0].pk}/"):
            page.goto(path)
            width = page.evaluate("() => document.documentElement.scrollWidth")
            if width > 375:
                wide.append(f"{path}: {width}")
        assert wide == []
    finally:
        context.close()
