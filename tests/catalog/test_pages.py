"""The catalog's pages: asked by address, as page and as part, with stated queries and hostile values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from catalog.models import Offer
from catalog.seed_loading import SeedReport

PAGES = ["/catalog/accelerators/", "/catalog/offers/", "/catalog/sources/", "/catalog/sources/azure/"]


@pytest.mark.parametrize("address", PAGES)
def test_pages_answer_whole_and_in_part(client: Client, report: SeedReport, address: str) -> None:
    page = client.get(address)
    assert page.status_code == 200
    assert b"<h1>" in page.content
    if address == "/catalog/sources/":
        return
    part = client.get(address, headers={"HX-Request": "true"})
    assert part.status_code == 200
    assert b"<html" not in part.content
    assert b"<h1>" not in part.content
    assert "HX-Request" in part["Vary"]
    restored = client.get(address, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert b"<html" in restored.content


@pytest.mark.parametrize(
    ("address", "queries"),
    [
        ("/catalog/accelerators/", 0),
        ("/catalog/accelerators/H100-SXM5/", 5),
        ("/catalog/offers/", 4),
        ("/catalog/offers/?q=h100&page=2&sort=-price", 6),
        ("/catalog/sources/", 6),
        ("/catalog/sources/azure/", 6),
        ("/api/v1/prices?limit=1000", 2),
    ],
)
def test_the_number_of_queries_does_not_grow_with_the_rows(
    client: Client,
    report: SeedReport,
    django_assert_num_queries: Callable[..., Any],
    address: str,
    queries: int,
) -> None:
    client.get(address)
    with django_assert_num_queries(queries):
        assert client.get(address).status_code == 200


def test_accelerators_are_filtered_and_sorted_with_unknown_figures_last(client: Client) -> None:
    def names(query: str) -> list[str]:
        page = client.get(f"/catalog/accelerators/?{query}").content.decode()
        return re.findall(r'<a href="/catalog/accelerators/([^/"?]+)/">', page)

    assert names("q=h100")[0] == "H100-NVL"
    assert set(names("q=h100")) >= {"H100-SXM5", "H100-PCIe", "H100-NVL"}
    assert "L40S" not in names("memory_min=80")
    assert {"A100-SXM4-80GB", "H100-PCIe"} <= set(names("memory_min=80"))
    assert "A100-SXM4-80GB" not in names("runs=fp8")
    assert "RadeonAIPROR9700" in names("device_class=workstation&vendor=amd")
    assert "MI300X" not in names("device_class=workstation&vendor=amd")
    unread = {"RTXPRO4500", "H100-96GB-HBM2e", "Ascend910B3-64GB", "Inferentia1"}
    assert set(names("sort=bandwidth")[-4:]) == set(names("sort=-bandwidth")[-4:]) == unread
    assert names("sort=name")[0].casefold() < names("sort=-name")[0].casefold()


def test_an_unknown_figure_is_shown_as_unknown_and_never_as_zero(client: Client, db: None) -> None:
    page = client.get("/catalog/accelerators/H100-96GB-HBM2e/").content.decode()
    assert page.count('<span class="unknown">unknown</span>') > 5
    assert ">0 GB/s" not in page
    h100 = client.get("/catalog/accelerators/H100-SXM5/").content.decode()
    assert "3,350" in h100
    assert "81,559" in h100
    assert "not run by its matrix units" in h100
    assert "not verified" in client.get("/catalog/accelerators/H100-PCIe/").content.decode()


def test_offers_show_price_age_source_and_why_not_comparable(client: Client, report: SeedReport) -> None:
    page = client.get("/catalog/offers/?q=nebius&comparable=no").content.decode()
    assert "Not comparable: it is not certain which card this is" in page
    assert "RTXPRO6000, RTXPRO6000-WS" in page
    page = client.get("/catalog/offers/?provider=lambda&accelerator=b200-sxm&gpus=8").content.decode()
    assert "53.52" in page
    assert "6.69" in page
    assert "second-hand transcription of lambda.ai/instances" in page


def test_offers_are_sorted_in_dollars_whatever_their_currency(client: Client, report: SeedReport) -> None:
    offers = list(client.get("/catalog/offers/?sort=price&provider=aws").context["page"].object_list)
    figures = [offer.usd_per_hour for offer in offers]
    assert figures == sorted(figures)
    yuan = client.get("/catalog/offers/?q=cn-north-1&sort=gpu_price").context["page"].object_list[0]
    assert yuan.current_price.currency == "CNY"
    assert float(yuan.usd_per_hour) == pytest.approx(float(yuan.current_price.amount) / 6.65288, rel=1e-6)


def test_an_offer_shows_its_history_terms_storage_and_egress(client: Client, report: SeedReport) -> None:
    offer = Offer.objects.get(provider="nebius", sku="HGX H100", gpu_count=8)
    page = client.get(f"/catalog/offers/{offer.pk}/").content.decode()
    for text in ("36 USD", "30.8 USD", "2026-10-01", "Block erasure coded", "0.071 USD", "preemptible"):
        assert text in page, text
    assert re.search(r'billed on while it is stopped</dt><dd><span><span class="unknown">unknown<', page), (
        "not 0"
    )
    assert client.get("/catalog/offers/999999999/").status_code == 404


HOSTILE = [
    "abc", "-1", "0", "1e999", "NaN", "99999999999999999999999", "' OR 1=1 --", "<script>alert(1)</script>", "%s%n",
    "１２", "日本語", "a" * 5000, "../../etc/passwd", "-price;", "--price", "\u202e", "{{7*7}}", "price,sku", "\\",
]  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_filter_nothing_and_break_nothing(
    client: Client, report: SeedReport, value: str
) -> None:
    for address, few, names in (
        (
            "/catalog/accelerators/",
            {"q": "MI300"},
            ("q", "sort", "memory_min", "vendor", "runs", "device_class"),
        ),
        (
            "/catalog/offers/",
            {"provider": "lambda"},
            ("q", "sort", "page", "gpus", "provider", "region", "accelerator", "tier", "comparable"),
        ),
        (
            "/api/v1/prices",
            {"source": "lambda"},
            ("source", "sku", "region", "accelerator", "tier", "comparable", "limit", "after"),
        ),
    ):
        for name in names:
            response = client.get(address, few | {name: value})  # a short page is drawn by the same code
            assert response.status_code in ((200, 422) if "api" in address else (200,)), (name, value)
            assert b"<script>alert(1)" not in response.content
    assert client.get(f"/catalog/accelerators/{quote(value[:50], safe='')}x/").status_code == 404


def test_an_invalid_filter_value_is_told_at_its_field(client: Client, report: SeedReport) -> None:
    page = client.get("/catalog/offers/?gpus=many").content.decode()
    assert 'id="f_gpus_error"' in page
    assert "Enter a whole number." in page
    assert 'value="many"' in page


def test_accelerators_stand_side_by_side_with_their_differences_marked(client: Client) -> None:
    answer = client.get("/catalog/accelerators/compare/?a=H100-SXM5&a=H200-SXM&a=A100-PCIe-80GB")
    assert [fact.name for fact in answer.context["chosen"]] == ["H100-SXM5", "H200-SXM", "A100-PCIe-80GB"]
    rows = {str(row.label): row for group in answer.context["groups"] for row in group["rows"]}
    assert rows["bandwidth"].differs
    assert [line.text for line in rows["BF16"].facts][:2] == ["989", "989"] or rows["BF16"].differs
    assert not rows["vendor"].differs
    assert len(rows["with a bridge that is sold apart"].facts) == 3
    same = client.get("/catalog/accelerators/compare/?a=L4&a=L4")
    assert [fact.name for fact in same.context["chosen"]] == ["L4"]
    assert not any(row.differs for group in same.context["groups"] for row in group["rows"])


def test_side_by_side_names_what_it_does_not_know_and_stops_at_four(client: Client) -> None:
    query = "&".join(f"a={name}" for name in ("L4", "L40", "L40S", "A10", "T4", "H100", "<b>"))
    answer = client.get(f"/catalog/accelerators/compare/?{query}")
    assert (len(answer.context["chosen"]), answer.context["too_many"]) == (4, True)
    assert answer.context["unknown"] == ["H100", "<b>"]
    assert b"<b>" not in answer.content
    assert client.get("/catalog/accelerators/compare/").status_code == 200


def test_accelerators_are_filtered_by_bandwidth_and_link(client: Client) -> None:
    answer = client.get("/catalog/accelerators/?bandwidth_min=3000&link=nvswitch")
    facts = [row["fact"] for row in answer.context["rows"]]
    assert facts
    assert all(fact.link == "nvswitch" and fact.bandwidth_bytes_per_s >= 3e12 for fact in facts)
