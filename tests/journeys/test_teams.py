"""A team at work in a real browser: invited, quoting, comparing, settling, sharing with a password."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from accounts.models import Role, Team
from accounts.services import role_in
from catalog.models import Offer
from tests.factories import PASSWORD, make_team, make_user

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

QUOTES = (
    "会社名,GPU,GPU数,型番,金額,通貨,単位,見積日,有効期限\n"
    "さくら,H100 SXM 80GB,1,VRT-H100,150,JPY,時間,2026-11-01,2099-12-31\n"
)


def sign_in(page: Page, email: str) -> None:
    page.goto("/accounts/login/")
    page.locator("main [name=login]").fill(email)
    page.locator("main [name=password]").fill(PASSWORD)
    page.locator("main form.stack").get_by_role("button").first.click()
    page.wait_for_url("**/plans/")


def test_a_team_invites_uploads_a_quote_and_shares_a_plan_with_a_password(
    page: Page,
    browser: Browser,
    live_server: Any,
    catalog: list[Offer],
    look_for_barriers: Callable[[Page], list[str]],
    tmp_path: Path,
) -> None:
    owner = make_user("owner@example.com", name="Ono")
    team = make_team("Platform 基盤", owner)
    barriers: list[str] = []
    sign_in(page, "owner@example.com")
    page.goto(f"/accounts/teams/{team.pk}/")
    page.locator("#invite_email").fill("new@example.com")
    page.get_by_role("button", name="Make an invitation").click()
    address = page.get_by_label("Address of the invitation").input_value()
    barriers += look_for_barriers(page)

    fresh = browser.new_context(base_url=live_server.url, locale="en-GB")
    try:
        guest = fresh.new_page()
        guest.goto(address)
        guest.locator("main").get_by_role("link", name="Create an account").click()
        guest.locator("main").get_by_label("Email").fill("new@example.com")
        guest.locator("main").get_by_label("Password").first.fill(PASSWORD)
        guest.locator("main form.stack").get_by_role("button").first.click()
        guest.wait_for_url("**/accounts/invitations/**")
        guest.get_by_role("button", name="Join the team").click()
        guest.wait_for_url("**/accounts/")
        expect(guest.locator("main")).to_contain_text("you work here")
        joined = Team.objects.get(pk=team.pk).memberships.exclude(user=owner).get()
        assert role_in(joined.user, team) is Role.EDITOR
        barriers += look_for_barriers(guest)

        file = tmp_path / "quotes.csv"
        file.write_text(QUOTES, encoding="utf-8")
        guest.goto("/catalog/quotes/upload/")
        guest.locator("#file").set_input_files(file)
        guest.get_by_role("button", name="Read the table").click()
        guest.wait_for_url(re.compile(r"/catalog/quotes/upload/\d+/"))
        barriers += look_for_barriers(guest)
        guest.get_by_role("button", name="Take the offers").click()
        guest.wait_for_url("**/catalog/quotes/")
        expect(guest.locator("main")).to_contain_text("150 JPY")
        barriers += look_for_barriers(guest)

        guest.goto("/workbench/")
        expect(guest.locator("#answer")).to_contain_text("さくら")
        guest.get_by_label("Title of the plan").fill("With our quote")
        guest.get_by_role("button", name="Save as plan").click()
        guest.wait_for_url(re.compile(r"/plans/[a-z0-9]{12}/$"))
        expect(guest.locator("main")).to_contain_text("さくら")
        plan = guest.url

        guest.locator(".menu > summary").click()
        barriers += look_for_barriers(guest)
        guest.get_by_role("link", name="Operations checklist").click()
        guest.get_by_label("Availability asked for, %").fill("99.99")
        guest.get_by_label("Availability of one machine, %").fill("99")
        barriers += look_for_barriers(guest)
        guest.get_by_role("button", name="Save as the next version").click()
        guest.wait_for_url(plan)
        expect(guest.locator("main")).to_contain_text("the redundant layout keeps it")
        barriers += look_for_barriers(guest)
        guest.goto(f"{plan}discussion/")
        guest.get_by_label("Comment").fill("Our quote is the cheapest")
        guest.get_by_role("button", name="Comment").click()
        expect(guest.locator("main")).to_contain_text("Our quote is the cheapest")
        barriers += look_for_barriers(guest)
        guest.goto(f"{plan}compare/")
        barriers += look_for_barriers(guest)

        guest.goto(f"{plan}prices/")
        barriers += look_for_barriers(guest)
        guest.get_by_role("button", name="No more mails to me").click()
        expect(guest.locator("main")).to_contain_text("You are not mailed about this plan.")

        guest.goto(f"{plan}links/")
        guest.get_by_label("Password, if one should be asked for").fill("open sesame")
        guest.get_by_role("button", name=re.compile("Make a link")).click()
        link = guest.get_by_label("Address of the link").input_value()
        guest.get_by_role("button", name="Copy").click()
        expect(guest.get_by_role("button", name="Copied")).to_be_visible()
    finally:
        fresh.close()

    stranger = browser.new_context(base_url=live_server.url, locale="en-GB")
    try:
        reader = stranger.new_page()
        reader.goto(link)
        expect(reader.get_by_role("heading", level=1)).to_have_text("A password is needed")
        barriers += look_for_barriers(reader)
        reader.get_by_label("Password of this link").fill("wrong one")
        reader.get_by_role("button", name="Open").click()
        expect(reader.locator("main")).to_contain_text("This is not the password of this link.")
        reader.get_by_label("Password of this link").fill("open sesame")
        reader.get_by_role("button", name="Open").click()
        expect(reader.get_by_role("heading", level=1)).to_have_text("With our quote")
        for secret in ("さくら", "Our quote is the cheapest", "new@example.com"):
            assert secret not in reader.content()
        reader.get_by_role("link", name="JPY").click()
        expect(reader.locator("main")).to_contain_text("1 USD = 157.25 JPY")
        with reader.expect_download() as download:
            reader.get_by_role("link", name="CSV").click()
        assert "さくら" not in download.value.path().read_text(encoding="utf-8-sig")
        barriers += look_for_barriers(reader)
    finally:
        stranger.close()
    assert barriers == []
