"""Vast.ai: what hosts ask for their machines, each a listing of its own; and the least bid for an interruptible one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import httpx2

from catalog.sources import answers
from catalog.sources.fetching import Deadline, Limits, Question, read
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure

PROVIDER = "vast"
TITLE = "Vast.ai search"
DEFAULT_BASE_URL = "https://console.vast.ai"
LISTINGS_MAXIMUM = 10_000
QUESTION = {
    "limit": LISTINGS_MAXIMUM, "rentable": {"eq": True}, "rented": {"eq": False}, "type": "on-demand",
}  # fmt: skip


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    url = f"{base_url.rstrip('/')}/api/v0/bundles/"
    question = Question(headers={"Content-Type": "application/json"}, content=json.dumps(QUESTION).encode())
    yield Page(number=1, url=url, body=read(client, url, limits, Deadline(limits.run_s), question))


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    for page in pages:
        listed = answers.rows(answers.document(page.body), "offers")
        if len(listed) >= LISTINGS_MAXIMUM:
            raise SourceFailure("cut_off", f"{LISTINGS_MAXIMUM} listings or more")
        for row in listed:
            answers.needed(row, "id", "gpu_name", "num_gpus", "dph_base", "min_bid")
            yield from _quotes(row)


def _quotes(row: dict[str, Any]) -> Iterator[Quote | Refused]:
    if row.get("rented") or row.get("rentable") is False:
        yield Refused(reason="rented")
        return
    place = row.get("geolocation")
    if not isinstance(row["gpu_name"], str) or not isinstance(place, str | None):
        yield Refused(reason="cannot_be_kept", broken=True)
        return
    count = answers.whole(row["num_gpus"])
    facts = answers.card(row["gpu_name"].replace("_", " "), PROVIDER, answers.gib(row.get("gpu_ram")))
    if not count and not facts.get("not_comparable"):
        facts["not_comparable"] = "count_unknown"
    share = answers.figure(row.get("gpu_frac")) or Decimal(1)
    ram_gib = answers.gib(row.get("cpu_ram"))
    common: dict[str, Any] = facts | {
        "sku": str(row["id"])[:120], "region": (place or "")[:60], "currency": "USD",
        "gpu_count": count, "vcpu": answers.figure(row.get("cpu_cores_effective")),
        "ram_gib": None if ram_gib is None else (ram_gib * share).quantize(Decimal("0.01")),
        "floor": True, "availability": "available", "note": _trust(row),
    }  # fmt: skip
    price = answers.amount(row["dph_base"])
    yield price if isinstance(price, Refused) else Quote(tier="on_demand", amount=price, **common)
    if row["min_bid"] is not None:
        bid = answers.amount(row["min_bid"])
        yield bid if isinstance(bid, Refused) else Quote(tier="spot", amount=bid, **common)


def _trust(row: dict[str, Any]) -> str:
    """How far the marketplace vouches for the host."""
    words = []
    if isinstance(row.get("verification"), str):
        words.append(row["verification"][:20])
    if row.get("datacenter") is True:
        words.append("data centre")
    reliability = row.get("reliability2", row.get("reliability"))
    if isinstance(reliability, Decimal) and reliability.is_finite():
        words.append(f"reliability {reliability:.3f}")
    return ", ".join(words)
