"""Lambda: whole instances in cents an hour; regions that have some now are its stock, not its product."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import httpx2

from catalog.sources import answers
from catalog.sources.fetching import Deadline, Limits, Question, read
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure

PROVIDER = "lambda"
TITLE = "Lambda Cloud API"
DEFAULT_BASE_URL = "https://cloud.lambdalabs.com"
CENTS = Decimal(100)


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    url = f"{base_url.rstrip('/')}/api/v1/instance-types"
    question = Question(headers={"Authorization": f"Bearer {credentials['api_key']}"})
    yield Page(number=1, url=url, body=read(client, url, limits, Deadline(limits.run_s), question))


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    for page in pages:
        listed = answers.document(page.body).get("data")
        if not isinstance(listed, dict):
            raise SourceFailure("schema_changed", "no data")
        for row in listed.values():
            if not isinstance(row, dict) or not isinstance(row.get("instance_type"), dict):
                raise SourceFailure("schema_changed", "no instance_type")
            yield _quote(row["instance_type"], row.get("regions_with_capacity_available"))


def _quote(kind: dict[str, Any], regions: Any) -> Quote | Refused:
    answers.needed(kind, "name", "price_cents_per_hour", "specs")
    specs = kind["specs"] if isinstance(kind["specs"], dict) else {}
    count = answers.whole(specs.get("gpus"))
    if not count:
        return Refused(reason="no_gpu")
    price = answers.amount(kind["price_cents_per_hour"])
    if isinstance(price, Refused):
        return price
    name = str(kind["name"])[:120]
    written = kind.get("gpu_description") or name.partition("x_")[2].replace("_", " ")
    return Quote(
        sku=name, region="", tier="on_demand", amount=price / CENTS, currency="USD", gpu_count=count,
        vcpu=answers.figure(specs.get("vcpus")), ram_gib=answers.figure(specs.get("memory_gib")),
        availability="available" if regions else "none", **answers.card(str(written), PROVIDER),
    )  # fmt: skip
