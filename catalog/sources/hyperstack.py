"""Hyperstack: a book of prices by GPU and hour, each with the days between which it holds."""

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

PROVIDER = "hyperstack"
TITLE = "Hyperstack price book"
DEFAULT_BASE_URL = "https://infrahub-api.nexgencloud.com"
COUNTS = (1, 2, 4, 8)
SPOT = "-spot"


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    url = f"{base_url.rstrip('/')}/v1/pricebook"
    question = Question(headers={"api_key": credentials["api_key"]})
    yield Page(number=1, url=url, body=read(client, url, limits, Deadline(limits.run_s), question))


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    for page in pages:
        try:
            found = json.loads(page.body, parse_float=Decimal)
        except (ValueError, RecursionError):
            raise SourceFailure("unreadable", "not JSON") from None
        for row in answers.rows(found):
            answers.needed(row, "name", "value")
            yield from _quotes(row, on)


def _quotes(row: dict[str, Any], on: date) -> Iterator[Quote | Refused]:
    begins, ends = _day(row.get("start_time")), _day(row.get("end_time"))
    if ends is not None and ends < on:
        yield Refused(reason="ended")
        return
    if begins is not None and begins > on:
        yield Refused(reason="not_yet")
        return
    name = str(row["name"])[:120]
    spot = name.casefold().endswith(SPOT)
    facts = answers.card(name[: -len(SPOT)] if spot else name, PROVIDER)
    if facts["accelerator"] is None and not _looks_like_a_card(name):
        yield Refused(reason="no_gpu")
        return
    each = answers.amount(row["value"], text=True)
    if isinstance(each, Refused):
        yield each
        return
    for count in COUNTS:
        yield Quote(
            sku=name, region="", tier="spot" if spot else "on_demand", amount=each * count, currency="USD",
            gpu_count=count, sold_per_gpu=True, effective_from=begins, **facts,
        )  # fmt: skip


def _looks_like_a_card(name: str) -> bool:
    """The book also lists cores, RAM, disks and addresses; a card's name says its memory: ``H100-80G-PCIe``."""
    return any(part[:-1].isdigit() and part.endswith("G") for part in name.split("-"))


def _day(text: Any) -> date | None:
    try:
        return date.fromisoformat(str(text)[:10]) if text else None
    except ValueError:
        return None
