"""A job of milliseconds is not told to take no time or to cost nothing, on any surface."""

from __future__ import annotations

import csv
import io
import re
from html import unescape

import pytest
from django.test import Client

pytestmark = pytest.mark.usefixtures("small_catalog")

TINY = "kind=llm_batch&requests=1&in=10&out=5"
NOTHING = re.compile(r"(?<![\d.,])0(?:\.0+)? h\b|\$0\.0+(?![\d])")


def test_the_page_says_seconds_and_parts_of_a_cent(client: Client) -> None:
    page = unescape(client.get(f"/workbench/?{TINY}").content.decode())
    assert re.search(r"<h1[^>]*>[^<]* the job in [\d.]+ ms</h1>", page)
    words = re.sub(r"<[^>]+>", " ", page[page.index('id="strip"') : page.index('id="h-candidates"')])
    assert NOTHING.search(words) is None, NOTHING.search(words)
    assert "0.01 h a month" in words


def test_no_row_is_free_or_takes_no_time(client: Client) -> None:
    text = client.get(f"/plans/draft/export.csv?{TINY}").content.decode("utf-8-sig")
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["status"] == "candidate"]
    assert rows
    told = {"monthly", "job_cost", "hours_h", "job_hours_h", "job_hours", "hours", "per_million"} & set(
        rows[0]
    )
    assert {"monthly", "job_cost", "per_million"} <= told
    for row in rows:
        assert all(float(row[name]) > 0 for name in told), {name: row[name] for name in told}


def test_the_pattern_would_see_nothing_told() -> None:
    assert NOTHING.search("cost $0.00 a month")
    assert NOTHING.search("takes 0 h")
    assert not NOTHING.search("cost $0.00033 and 730 h, 0.01 h")
