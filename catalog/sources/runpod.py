"""RunPod: prices of one GPU in secure and community cloud, by the bid, and by months of commitment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Literal

import httpx2

from catalog.sources import answers
from catalog.sources.fetching import Deadline, Limits, Question, read
from catalog.sources.quotes import Page, Quote, Refused

PROVIDER = "runpod"
TITLE = "RunPod GraphQL"
DEFAULT_BASE_URL = "https://api.runpod.io"
QUERY = (
    "query { gpuTypes { id displayName manufacturer memoryInGb secureCloud communityCloud securePrice "
    "communityPrice clusterPrice oneMonthPrice threeMonthPrice sixMonthPrice maxGpuCount "
    "lowestPrice(input: {gpuCount: 1}) { minimumBidPrice uninterruptablePrice minVcpu minMemory stockStatus } } }"
)
STOCK: dict[str, Literal["available", "low", "none"]] = {
    "High": "available", "Medium": "available", "Low": "low", "Out": "none",
}  # fmt: skip
"""Of single GPUs; a stock that is not stated is unknown."""
COUNTS = (1, 2, 4, 8)
"""Machines of any count up to the largest can be rented; these lose no layout."""
PRICES = (
    ("securePrice", "on_demand", "secure"),
    ("communityPrice", "community", ""),
    ("oneMonthPrice", "reserved", "commit_1m"),
    ("threeMonthPrice", "reserved", "commit_3m"),
    ("sixMonthPrice", "reserved", "commit_6m"),
)


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    url = f"{base_url.rstrip('/')}/graphql"
    question = Question(
        headers={"Content-Type": "application/json"}, content=json.dumps({"query": QUERY}).encode()
    )
    yield Page(number=1, url=url, body=read(client, url, limits, Deadline(limits.run_s), question))


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    for page in pages:
        for row in answers.rows(answers.document(page.body), "data", "gpuTypes"):
            answers.needed(row, "id", "securePrice", "communityPrice", "lowestPrice")
            yield from _quotes(row)


def _quotes(row: dict[str, Any]) -> Iterator[Quote | Refused]:
    lowest = row["lowestPrice"] if isinstance(row["lowestPrice"], dict) else {}
    prices = [(row.get(name), tier, detail) for name, tier, detail in PRICES]
    prices.append((lowest.get("minimumBidPrice"), "spot", ""))
    if all(price is None for price, _tier, _detail in prices):
        yield Refused(reason="cluster_only" if row.get("clusterPrice") is not None else "not_offered")
        return
    memory_gib = answers.figure(row.get("memoryInGb"))
    facts = answers.card(str(row["id"]), PROVIDER, memory_gib)
    largest = answers.whole(row.get("maxGpuCount")) or 1
    for price, tier, detail in prices:
        if price is None:
            continue
        each = answers.amount(price)
        if isinstance(each, Refused):
            yield each
            continue
        for count in (count for count in COUNTS if count <= largest):
            one = count == 1
            yield Quote(
                sku=str(row["id"])[:120], region="", tier=tier, tier_detail=detail, amount=each * Decimal(count),
                currency="USD", gpu_count=count, sold_per_gpu=True,
                vcpu=answers.figure(lowest.get("minVcpu")) if one else None,
                ram_gib=answers.figure(lowest.get("minMemory")) if one else None,
                availability=STOCK.get(str(lowest.get("stockStatus")), "") if one else "", **facts,
            )  # fmt: skip
