"""DigitalOcean: sizes with GPUs, by region; the memory that is stated is that of all GPUs together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from catalog.sources import answers
from catalog.sources.fetching import Deadline, Limits, Question, read
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure

PROVIDER = "digitalocean"
TITLE = "DigitalOcean sizes"
DEFAULT_BASE_URL = "https://api.digitalocean.com"


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    run = Deadline(limits.run_s)
    question = Question(headers={"Authorization": f"Bearer {credentials['token']}"})
    seen: set[str] = set()
    page = "1"
    for number in range(1, limits.pages + 1):
        url = f"{base_url.rstrip('/')}/v2/sizes?per_page=500&page={page}"
        body = read(client, url, limits, run, question)
        yield Page(number=number, url=url, body=body)
        seen.add(page)
        page = _next(answers.document(body))
        if not page:
            return
        if page in seen:
            raise SourceFailure("paging_loop", f"page {number}")
    raise SourceFailure("too_many_pages", str(limits.pages))


def _next(found: dict[str, Any]) -> str:
    """The number of the next page. Only that is taken of its address: the key goes nowhere else."""
    for name in ("links", "pages"):
        step = found.get(name)
        found = step if isinstance(step, dict) else {}
    numbers = parse_qs(urlsplit(str(found.get("next") or "")).query).get("page", [""])
    return numbers[0] if numbers[0].isascii() and numbers[0].isdigit() and len(numbers[0]) < 7 else ""


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    for page in pages:
        for row in answers.rows(answers.document(page.body), "sizes"):
            answers.needed(row, "slug", "price_hourly", "regions")
            yield from _quotes(row)


def _quotes(row: dict[str, Any]) -> Iterator[Quote | Refused]:
    gpus = row.get("gpu_info")
    count = answers.whole(gpus.get("count")) if isinstance(gpus, dict) else None
    if not isinstance(gpus, dict) or not count:
        yield Refused(reason="no_gpu")
        return
    price = answers.amount(row["price_hourly"])
    if isinstance(price, Refused):
        yield price
        return
    memory = gpus.get("vram")
    total = answers.figure(memory.get("amount")) if isinstance(memory, dict) else None
    written = str(gpus.get("model") or "").replace("_", " ")
    facts = answers.card(written, PROVIDER, None if total is None else total / count)
    places = answers.texts(row["regions"], "regions") if row.get("available") else []
    for place in sorted(set(places)) or [""]:
        yield Quote(
            sku=str(row["slug"])[:120], region=place[:60], tier="on_demand", amount=price, currency="USD",
            gpu_count=count, vcpu=answers.figure(row.get("vcpus")), ram_gib=answers.gib(row.get("memory")),
            availability="available" if places else "none", **_listed(facts, bool(places)),
        )  # fmt: skip


def _listed(facts: dict[str, Any], anywhere: bool) -> dict[str, Any]:
    """A product that no region has now is listed and not compared."""
    return facts if anywhere else facts | {"not_comparable": facts.get("not_comparable") or "no_capacity"}
