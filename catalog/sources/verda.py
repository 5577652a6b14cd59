"""Verda (once DataCrunch): prices are texts of digits, memory is that of all GPUs, and a key buys a token first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

import httpx2

from catalog.sources import answers
from catalog.sources.fetching import Deadline, Limits, Question, read
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure

PROVIDER = "verda"
TITLE = "Verda instance types"
DEFAULT_BASE_URL = "https://api.verda.com"
PRICES = (("price_per_hour", "on_demand"), ("spot_price_per_hour", "spot"))


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    run = Deadline(limits.run_s)
    base = base_url.rstrip("/")
    asked = {
        "grant_type": "client_credentials", "client_id": credentials["client_id"],
        "client_secret": credentials["client_secret"],
    }  # fmt: skip
    question = Question(headers={"Content-Type": "application/json"}, content=json.dumps(asked).encode())
    token = answers.document(read(client, f"{base}/v1/oauth2/token", limits, run, question)).get(
        "access_token"
    )
    if not isinstance(token, str) or not token.isascii():
        raise SourceFailure("schema_changed", "no access_token")
    url = f"{base}/v1/instance-types"
    # The token is not kept: a page holds the prices alone.
    yield Page(
        number=1, url=url,
        body=read(client, url, limits, run, Question(headers={"Authorization": f"Bearer {token}"})),
    )  # fmt: skip


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    for page in pages:
        try:
            found = json.loads(page.body)
        except (ValueError, RecursionError):
            raise SourceFailure("unreadable", "not JSON") from None
        for row in answers.rows(found):
            answers.needed(row, "instance_type", "price_per_hour", "gpu")
            yield from _quotes(row)


def _quotes(row: dict[str, Any]) -> Iterator[Quote | Refused]:
    gpus = row["gpu"] if isinstance(row["gpu"], dict) else {}
    count = answers.whole(gpus.get("number_of_gpus"))
    if not count:
        yield Refused(reason="no_gpu")
        return
    written = str(gpus.get("description") or "")
    facts = answers.card(written.partition("x ")[2] or written, PROVIDER, _part(row, "gpu_memory", count))
    currency = str(row.get("currency") or "usd").upper()[:3]
    if currency != "USD":
        raise SourceFailure("wrong_currency", currency)
    for column, tier in PRICES:
        if row.get(column) is None:
            continue
        price = answers.amount(row[column], text=True)
        if isinstance(price, Refused):
            yield price
            continue
        yield Quote(
            sku=str(row["instance_type"])[:120], region="", tier=tier, amount=price, currency=currency,
            gpu_count=count, vcpu=_cores(row), ram_gib=_part(row, "memory", 1), **facts,
        )  # fmt: skip


def _part(row: dict[str, Any], name: str, count: int) -> Any:
    part = row.get(name)
    size = answers.figure(part.get("size_in_gigabytes")) if isinstance(part, dict) else None
    return None if size is None else size / count


def _cores(row: dict[str, Any]) -> Any:
    part = row.get("cpu")
    return answers.figure(part.get("number_of_cores")) if isinstance(part, dict) else None
