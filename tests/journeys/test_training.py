"""Planning a training run in a real browser: from the start page to a candidate's details."""

from __future__ import annotations

import re
from collections.abc import Callable
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


@pytest.fixture
def large(catalog: list[Offer]) -> list[Offer]:
    at = timezone.now()
    return [*catalog, make_offer("H100-SXM5", "19.92", provider="large", count=8, region="", at=at)]


def test_from_the_start_page_to_the_split_of_a_run(
    page: Page, large: list[Offer], look_for_barriers: Callable[[Page], list[str]]
) -> None:
    page.goto("/")
    page.get_by_role("link", name=re.compile("LoRA on your own samples")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("does the run in")
    expect(page.locator("#strip .bar")).to_be_visible()
    expect(page.locator("#strip .key")).to_contain_text("frozen weights")
    page.evaluate("() => { window.sameDocument = true; }")
    page.get_by_label("Longest sequence").fill("4096")
    expect(page).to_have_url(re.compile("sequence=4096"))
    page.get_by_label("QLoRA").check()
    expect(page).to_have_url(re.compile("method=qlora"))
    assert page.evaluate("() => window.sameDocument"), "the page was never loaded again"
    assert look_for_barriers(page) == []
    for title in ("The run", "How it is split", "Checkpoints and failures", "Host, storage, network"):
        expect(page.get_by_text(title, exact=True).first).to_be_visible()


def test_another_kind_is_chosen_and_a_bad_number_is_told_at_its_field(page: Page, large: list[Offer]) -> None:
    page.goto("/workbench/?kind=pretraining&parameters=7")
    expect(page.get_by_role("heading", level=1)).to_contain_text("do the run in")
    tokens = page.get_by_label("Tokens", exact=True)
    tokens.fill("none")
    tokens.press("Tab")
    expect(page.locator("#err-tokens")).to_contain_text("not read as a number")
    expect(tokens).to_have_value("none")
    tokens.fill("200")
    expect(page).to_have_url(re.compile("tokens=200"))
    expect(page.locator("#err-tokens")).to_be_empty()


@pytest.mark.parametrize("query", ["kind=lora", "kind=pretraining&parameters=7"])
def test_nothing_is_wider_than_a_telephone(page: Page, large: list[Offer], query: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/workbench/?{query}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("the run in")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_terms_of_sale_and_the_smallest_machine_stand_on_a_runs_page(
    page: Page, large: list[Offer], look_for_barriers: Callable[[Page], list[str]]
) -> None:
    at = timezone.now()
    for price, detail in (("9.00", "reserved_1m"), ("12.00", "from")):
        make_offer(
            "H100-SXM5",
            price,
            provider="large",
            count=8,
            region="",
            at=at,
            tier="reserved",
            tier_detail=detail,
        )
    page.goto(
        "/workbench/?kind=pretraining&parameters=7&tokens=140&include=H100-SXM5&machines_max=1&deadline="
    )
    terms = page.get_by_role("region", name="One run on each term of sale")
    expect(terms).to_contain_text("reserved")
    expect(terms).to_contain_text("on demand")
    smallest = page.get_by_role("region", name="Smallest machine that works")
    expect(smallest.get_by_role("row").nth(1)).to_contain_text("As asked")
    assert look_for_barriers(page) == []
    page.goto("/workbench/?kind=full_finetune")
    changes = page.get_by_role("region", name="Smallest machine that works")
    expect(changes).to_contain_text("As asked")
    expect(page.get_by_text("the effective batch stays 32 samples throughout")).to_be_visible()
