"""What lists know of the whole catalog: found out once, and never told of a catalog that was."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from catalog import kept_lists
from catalog.kept_lists import FirstPages
from catalog.models import CatalogVersion, Offer
from catalog.source_rows import shipped_sources
from tests.factories import AT
from tests.planner.factories import make_offer

pytestmark = pytest.mark.django_db


def test_a_list_is_counted_and_ordered_once(django_assert_num_queries: Any) -> None:
    CatalogVersion.bump(AT)
    offers = [make_offer(sku=f"m{number}") for number in range(3)]
    found = Offer.objects.order_by("-pk")
    with django_assert_num_queries(4):  # the state, the count, the order, the rows
        pages = FirstPages(found, 2)
        first = pages.rows(pages.get_page(1))
    assert first == [offers[2], offers[1]]
    with django_assert_num_queries(2):  # the state, the rows
        pages = FirstPages(Offer.objects.order_by("-pk"), 2)
        assert pages.rows(pages.get_page(1)) == first
        assert pages.count == 3
        assert pages.num_pages == 2
    assert pages.rows(pages.get_page(2)) == [offers[0]]


def test_another_filter_or_order_is_another_list() -> None:
    CatalogVersion.bump(AT)
    for number in range(3):
        make_offer(sku=f"m{number}")
    for found, skus in (
        (Offer.objects.order_by("pk"), ["m0", "m1", "m2"]),
        (Offer.objects.order_by("-pk"), ["m2", "m1", "m0"]),
        (Offer.objects.filter(sku="m1").order_by("pk"), ["m1"]),
        (Offer.objects.filter(sku="m2").order_by("pk"), ["m2"]),
    ):
        pages = FirstPages(found, 50)
        assert pages.count == len(skus)
        assert [offer.sku for offer in pages.rows(pages.get_page(1))] == skus


def test_an_offer_that_came_or_went_is_seen_at_once() -> None:
    CatalogVersion.bump(AT)
    gone = make_offer(sku="first")
    found = Offer.objects.order_by("pk")
    assert FirstPages(found, 50).count == 1
    make_offer(sku="second")
    assert FirstPages(found, 50).count == 2, "a new offer is a new state, whoever wrote it"
    Offer.objects.filter(pk=gone.pk).update(sku="renamed")
    pages = FirstPages(found, 50)
    assert pages.rows(pages.get_page(1))[0].sku == "renamed", "rows are read anew"
    CatalogVersion.bump(AT)
    state = kept_lists.state()
    assert FirstPages(found, 50).now == state


def test_nothing_is_kept_before_the_catalog_has_a_version() -> None:
    assert kept_lists.state() is None
    assert kept_lists.once(None, "anything", lambda: 1) == 1
    assert kept_lists.once(None, "anything", lambda: 2) == 2


def test_the_page_of_sources_counts_again_after_a_change(client: Client) -> None:
    CatalogVersion.bump(AT)
    before = sum(row["price_count"] for row in shipped_sources())
    make_offer(sku="new")
    assert sum(row["price_count"] for row in shipped_sources()) == before + 1
    assert client.get("/catalog/sources/").status_code == 200
