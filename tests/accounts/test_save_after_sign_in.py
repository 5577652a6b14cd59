"""Who saves without an account is told why they are asked to sign in, and that nothing is lost."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
SAID = "Your sheet is kept"


@pytest.mark.parametrize("page", ["login", "signup"])
def test_the_page_for_signing_in_says_that_the_sheet_is_kept(client: Client, page: str) -> None:
    back = quote("/plans/new/?title=Chat&query=users%3D9")
    assert SAID in client.get(f"/accounts/{page}/?next={back}").content.decode()
    assert SAID not in client.get(f"/accounts/{page}/").content.decode()
    assert SAID not in client.get(f"/accounts/{page}/?next=/plans/").content.decode()


def test_saving_without_an_account_leads_there(client: Client) -> None:
    answer = client.post("/plans/new/", {"title": "Chat", "query": "users=9"}, follow=True)
    assert SAID in answer.content.decode()
    assert "Chat" in answer.redirect_chain[-1][0]
