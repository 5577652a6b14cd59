"""The page of other layouts of an offer."""

from __future__ import annotations

from typing import Any

from django.test import Client

from tests.planner.test_views import catalog

__all__ = ["catalog"]


def test_the_page_lists_splits_and_marks_the_one_that_is_shown(client: Client, catalog: list[Any]) -> None:
    page = client.get(f"/workbench/candidate/{catalog[0].pk}/layouts/").content.decode()
    assert page.count('aria-current="true"') == 1
    assert "one GPU" in page


def test_the_fragment_is_the_table_alone(client: Client, catalog: list[Any]) -> None:
    address = f"/workbench/candidate/{catalog[0].pk}/layouts/?users=9"
    fragment = client.get(address, headers={"hx-request": "true"}).content.decode()
    assert "<html" not in fragment
    assert "<table" in fragment


def test_an_offer_that_does_not_exist_is_not_found(client: Client, catalog: list[Any]) -> None:
    assert client.get("/workbench/candidate/999999/layouts/").status_code == 404


def test_a_query_that_is_no_workload_leads_back_to_the_form(client: Client, catalog: list[Any]) -> None:
    response = client.get(f"/workbench/candidate/{catalog[0].pk}/layouts/?users=many")
    assert response.status_code == 302
    assert response["Location"].startswith("/workbench/?")
