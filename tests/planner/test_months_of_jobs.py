"""Work that takes more hours than a month has: the machines that do it side by side are told and paid for."""

from __future__ import annotations

import csv
import io
import re
from html import unescape

import pytest
from django.test import Client

pytestmark = pytest.mark.usefixtures("small_catalog")

DAILY = "kind=llm_batch&requests=5000000&deadline=&starts=1"
ONCE = "kind=llm_batch&requests=90000000&deadline=&starts=0"


def rows(client: Client, query: str) -> list[dict[str, str]]:
    text = client.get(f"/plans/draft/export.csv?{query}").content.decode("utf-8-sig")
    found = [row for row in csv.DictReader(io.StringIO(text)) if row["status"] == "candidate"]
    assert found
    return found


def test_the_page_says_how_many_sets_work_side_by_side(client: Client) -> None:
    page = unescape(client.get(f"/workbench/?{DAILY}").content.decode())
    assert "sets side by side" in page
    assert "sets of machines do them side by side" in page


def test_no_row_of_a_table_has_more_hours_than_a_month_and_its_machines_are_those_on_the_bill(
    client: Client,
) -> None:
    assert any(int(row["machines"]) > 1 for row in rows(client, DAILY))
    for row in rows(client, DAILY):
        assert 0 < float(row["hours_h"]) <= 730
        assert float(row["monthly"]) == pytest.approx(float(row["job_cost"]) * 30.4167, rel=1e-3)


def test_a_job_of_several_months_says_that_its_bill_is_of_all_of_them(client: Client) -> None:
    page = unescape(client.get(f"/workbench/?{ONCE}").content.decode())
    assert "This takes longer than a month: the amounts are those of all" in page
    assert "sets side by side" not in page
    words = re.sub(r"<[^>]+>", " ", page[page.index('id="strip"') : page.index('id="h-candidates"')])
    assert re.search(r"[\d,.]+ h in all \d+ months", words)
    assert "h a month" not in words
