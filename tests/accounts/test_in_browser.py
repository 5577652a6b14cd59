"""Accounts in a real browser, under the policy that production sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from accounts.models import Team, User
from tests.factories import PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_signing_up_and_out_and_in_again(page: Page) -> None:
    page.goto("/accounts/signup/")
    form = page.locator("main form.stack")
    form.get_by_label("Email").fill("new@example.com")
    form.get_by_label("Password").fill("short")
    form.get_by_role("button").click()
    password = page.locator("main").get_by_label("Password")
    assert password.get_attribute("aria-invalid") == "true"
    assert form.get_by_label("Email").input_value() == "new@example.com", "what was typed is kept"
    password.fill(PASSWORD)
    form.get_by_role("button").click()
    page.wait_for_url("**/plans/")
    assert Team.objects.get().is_personal
    page.goto("/accounts/logout/")
    page.locator("main form.stack").get_by_role("button").click()
    page.goto("/accounts/login/?next=/accounts/")
    form = page.locator("main form.stack")
    form.get_by_label("Email").fill("new@example.com")
    form.get_by_label("Password").fill(PASSWORD)
    form.get_by_role("button").click()
    page.wait_for_url("**/accounts/")
    assert "new@example.com" in page.locator("main").inner_text()
    assert User.objects.count() == 1


def test_the_policy_would_stop_an_inline_script(context: Any) -> None:
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.goto("/accounts/login/")
    page.evaluate(
        """() => {
            const inline = document.createElement("script");
            inline.textContent = "window.zqx = 1";
            document.body.append(inline);
        }"""
    )
    assert page.evaluate("() => window.zqx === undefined")
    assert any("Content Security Policy" in text for text in heard)
