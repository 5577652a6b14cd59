"""What runs on an accelerator, by engine and version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from catalog.facts import accelerators
from planner.support_page import Cell, support_table

pytestmark = pytest.mark.django_db


def cells(name: str, engine: str) -> dict[str, list[Cell]]:
    table = support_table(accelerators()[name])
    keys = [key for key, _label in table["formats"]]
    (rows,) = [group["rows"] for group in table["engines"] if str(group["engine"]).casefold() == engine]
    assert rows
    return {key: [row["cells"][place] for row in rows] for place, key in enumerate(keys)}


def test_fp8_is_computed_on_hopper_widened_on_ampere_and_refused_on_volta() -> None:
    newest = {
        name: cells(name, "vllm")["fp8"][0] for name in ("H100-SXM5", "A100-SXM4-80GB", "V100-SXM2-16GB")
    }
    assert (newest["H100-SXM5"].rate, newest["H100-SXM5"].widened) == ("FP8", False)
    assert (newest["A100-SXM4-80GB"].rate, newest["A100-SXM4-80GB"].widened) == ("BF16", True)
    assert not newest["V100-SXM2-16GB"].runs
    assert newest["V100-SXM2-16GB"].source


def test_the_page_is_reached_from_the_card_and_needs_no_query(
    client: Client, django_assert_num_queries: Callable[..., Any]
) -> None:
    assert b"/accelerators/H100-SXM5/support/" in client.get("/catalog/accelerators/H100-SXM5/").content
    for name in ("H100-SXM5", "MI300X", "Trainium1", "Inferentia1", "GH200-96GB"):
        with django_assert_num_queries(0):
            assert client.get(f"/accelerators/{name}/support/").status_code == 200
    assert client.get("/accelerators/nothing/support/").status_code == 404


def test_each_refusal_leads_to_the_place_where_it_was_read(client: Client) -> None:
    table = support_table(accelerators()["V100-SXM2-16GB"])
    refused = [
        cell for group in table["engines"] for row in group["rows"] for cell in row["cells"] if cell.source
    ]
    assert refused
    assert all(table["sources"][cell.note - 1] == cell.source for cell in refused)
    page = client.get("/accelerators/V100-SXM2-16GB/support/").content.decode()
    for number in range(1, len(table["sources"]) + 1):
        assert f'href="#note-{number}"' in page
        assert f'id="note-{number}"' in page
    assert "<title>What runs on V100-SXM2-16GB · Mitsumori</title>" in page
