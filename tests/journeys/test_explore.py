"""Exploring, comparing and explaining an answer, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
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


def test_a_subject_is_drawn_beneath_the_candidates_and_stays_while_one_refines(
    page: Page, catalog: list[Offer]
) -> None:
    page.goto("/workbench/")
    page.get_by_role("link", name="TPOT and load").click()
    expect(page.locator("#h-shape")).to_have_text("TPOT against requests at once")
    expect(page.locator("#explore .js-plotly-plot .scatterlayer").first).to_be_visible()
    page.get_by_label("Input, typical").fill("2500")
    expect(page).to_have_url(re.compile("in=2500.*explore=tpot"))
    expect(page.locator("#h-shape")).to_have_text("TPOT against requests at once")
    page.get_by_role("link", name="Memory and context").click()
    expect(page.locator("#h-shape")).to_have_text("Memory against context, by weights format")
    page.locator("#explore").get_by_text("The chart as a table").click()
    expect(page.locator("#explore table tbody tr").first).to_be_visible()


def test_a_chart_is_saved_as_a_picture_and_as_a_file(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/explore/utilisation/")
    with page.expect_download() as picture:
        page.get_by_role("button", name="PNG").click()
    assert picture.value.suggested_filename == "mitsumori-utilisation.png"
    assert Path(picture.value.path()).read_bytes().startswith(b"\x89PNG")
    with page.expect_download() as file:
        page.get_by_role("link", name="CSV").click()
    assert file.value.suggested_filename == "mitsumori-utilisation.csv"


def test_two_candidates_are_put_aside_and_seen_side_by_side(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    page.get_by_role("link", name="compare", exact=True).first.click()
    expect(page.locator(".tray-bar")).to_contain_text("1 candidate put aside")
    page.get_by_role("link", name="compare", exact=True).first.click()
    expect(page.locator(".tray-bar")).to_contain_text("2 candidates put aside")
    expect(page).to_have_url(re.compile(r"tray=\d+,\d+"))
    page.get_by_role("link", name="Compare side by side").click()
    expect(page.locator("h1")).to_have_text("Side by side")
    expect(page.locator("table.side thead th")).to_have_count(2)
    expect(page.locator(".why-dearer li")).to_have_count(1)
    page.get_by_role("link", name="Back to the workbench").first.click()
    expect(page.locator(".tray-bar")).to_contain_text("2 candidates put aside")


def test_variants_are_columns_and_each_leads_to_its_screen(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    page.get_by_role("link", name="Variants of this workload side by side").click()
    expect(page.locator("table.side thead th").first).to_have_text("as asked")
    page.locator("table.side").get_by_role("link", name="weights in FP8").click()
    expect(page).to_have_url(re.compile("weights=fp8"))
    expect(page.get_by_label("Weights format")).to_have_value("fp8")


def test_a_figure_opens_its_formula_where_an_assumption_is_set(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    before = page.locator("#strip .figure").nth(1).inner_text()
    page.locator("#strip a.why-figure[href$='d-tpot_s']").click()
    expect(page.locator("#d-tpot_s")).to_be_visible()
    field = page.locator("#d-memory_s").get_by_label("Set Bandwidth reached reading weights")
    field.fill("0.3")
    field.press("Enter")
    expect(page).to_have_url(re.compile("assume"))
    page.get_by_role("link", name="Back to the workbench").first.click()
    expect(page.get_by_text("set by hand in this link")).to_be_visible()
    expect(page.locator("#strip .figure").nth(1)).not_to_have_text(before)
    page.get_by_role("link", name="Use the fitted ones again").click()
    expect(page.locator("#strip .figure").nth(1)).to_have_text(before)


def test_a_change_is_told_as_old_and_new(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    page.get_by_label("Weights format").select_option("fp8")
    changed = page.locator("#changed")
    expect(changed).to_contain_text("as stored (BF16) → FP8")
    expect(changed).to_contain_text(re.compile(r"memory [\d.]+ → [\d.]+ GiB \(−[\d.]+\)"))


def test_exploring_works_without_scripts(browser: Browser, live_server: Any, catalog: list[Offer]) -> None:
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto("/workbench/")
        page.get_by_role("link", name="What moves it").click()
        expect(page.locator("#h-shape")).to_have_text("What moves cost and speed most")
        expect(page.locator("figure.chart svg")).to_be_visible()
        page.get_by_role("link", name="Back to the workbench").click()
        page.get_by_role("link", name="compare", exact=True).first.click()
        expect(page.locator(".tray-bar")).to_contain_text("1 candidate put aside")
    finally:
        context.close()
