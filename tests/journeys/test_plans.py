"""Saving, sharing and exporting what the workbench shows, in a real browser."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from catalog.models import Offer
from tests.factories import PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def figure_of(page: Page) -> str:
    """The monthly total of the answer strip, as it is read."""
    return re.sub(r"[^\d.,]", "", page.locator("#strip .figure").last.inner_text())


def test_a_visitor_signs_up_saves_shares_and_revokes(
    page: Page, browser: Browser, live_server: Any, catalog: list[Offer]
) -> None:
    page.goto("/workbench/?users_peak=24&include=H100-SXM5")
    total = figure_of(page)
    page.get_by_label("Title of the plan").fill("Chat 見積 <b>")
    page.get_by_role("button", name="Save as plan").click()
    page.wait_for_url("**/accounts/login/**")
    page.locator("main").get_by_role("link", name="Create one").click()
    page.locator("main").get_by_label("Email").fill("new@example.com")
    page.locator("main").get_by_label("Password").first.fill(PASSWORD)
    page.locator("main form.stack").get_by_role("button").first.click()
    page.wait_for_url("**/plans/new/**")
    expect(page.locator("main [name=title]")).to_have_value("Chat 見積 <b>")
    page.get_by_role("button", name="Save plan").click()
    page.wait_for_url(re.compile(r"/plans/[a-z0-9]{12}/$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Chat 見積 <b>")
    expect(page.locator("main")).to_contain_text(total)

    page.get_by_role("link", name="Share", exact=True).click()
    page.get_by_role("button", name=re.compile("Make a link")).click()
    address = page.get_by_label("Address of the link").input_value()
    stranger = browser.new_context(base_url=live_server.url, locale="en-GB")
    try:
        reader = stranger.new_page()
        response = reader.goto(address)
        assert response is not None
        assert response.status == 200
        expect(reader.locator("main")).to_contain_text(total)
        assert "new@example.com" not in reader.content()
        page.get_by_role("button", name="Revoke").click()
        expect(page.locator("main")).to_contain_text("revoked")
        response = reader.goto(address)
        assert response is not None
        assert response.status == 404
    finally:
        stranger.close()


def test_the_files_carry_the_figures_of_the_screen(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/?include=H100-SXM5")
    total = figure_of(page).replace(",", "")
    with page.expect_download() as started:
        page.locator("#h-candidates ~ .row a", has_text="CSV").click()
    text = Path(started.value.path()).read_bytes()
    assert text.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(text.decode("utf-8-sig"))))
    assert any(total in row for row in rows)
    with page.expect_download() as started:
        page.locator("#h-candidates ~ .row a", has_text="PDF").click()
    assert Path(started.value.path()).read_bytes().startswith(b"%PDF-")


def test_the_language_is_changed_where_one_is(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/?users_peak=24")
    page.get_by_role("button", name="日本語").click()
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    expect(page).to_have_url(re.compile(r"/workbench/\?users_peak=24"))
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
