"""Google Cloud: prices of a core, a GiB of RAM and a GPU, of which a machine's price is put together.

The billing catalog has no machines. Which parts a size has is known from the shipped sizes; a size of which a part has
no price in a region is not listed there. Local SSDs, where a size has them, are paid apart.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from catalog.sources import answers
from catalog.sources.fetching import Deadline, Limits, Question
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure

PROVIDER = "gcp"
TITLE = "Google Cloud billing catalog"
DEFAULT_BASE_URL = "https://cloudbilling.googleapis.com"
PATH = "/v1/services/6F81-5844-456A/skus"
SEED = Path(__file__).parents[1] / "seeds" / "offers.csv"
TIERS = {"OnDemand": "on_demand", "Preemptible": "spot"}
GPU_OF_SERIES = {
    "a2-highgpu": "A100", "a2-megagpu": "A100", "a2-ultragpu": "A100 80GB", "g2-standard": "L4",
    "a3-highgpu": "H100 80GB", "a3-megagpu": "H100 80GB Mega",
}  # fmt: skip
"""The words by which the list sells a series' GPUs; they change, and what is not found is not guessed."""
NANO = Decimal(1).scaleb(-9)
HOST = re.compile(r"^(?:Spot Preemptible )?([A-Z]\d[A-Z]?) Instance (Core|Ram) running in ")
GPU = re.compile(r"^Nvidia (?:Tesla )?(.+?) GPU (?:attached to Spot Preemptible VMs )?running in ")


class Size(NamedTuple):
    sku: str
    accelerator: str
    gpu_count: int
    vcpu: Decimal
    ram_gib: Decimal


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    url = f"{base_url.rstrip('/')}{PATH}?pageSize=5000&currencyCode=USD"
    question = Question(headers={"X-Goog-Api-Key": credentials["api_key"]})
    yield from answers.paged(
        client, url, limits, Deadline(limits.run_s), question=question, cursor_at=("nextPageToken",),
        parameter="pageToken",
    )  # fmt: skip


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    parts: dict[tuple[str, str, str], Decimal] = {}
    for page in pages:
        for row in answers.rows(answers.document(page.body), "skus"):
            answers.needed(row, "description", "category", "pricingInfo", "serviceRegions")
            yield from _part(row, parts)
    for tier in TIERS.values():
        for region in sorted({place for _what, place, kind in parts if kind == tier}):
            for size in sizes():
                yield from _machine(size, region, tier, parts)


def _part(row: dict[str, Any], parts: dict[tuple[str, str, str], Decimal]) -> Iterator[Refused]:
    """Keep the price of a core, a GiB or a GPU by region and tier; say why another row is not kept."""
    tier = TIERS.get(str(row["category"].get("usageType")) if isinstance(row["category"], dict) else "")
    text = str(row["description"])
    host, gpu = HOST.match(text), GPU.match(text)
    what = f"{host[1]} {host[2]}" if host else f"GPU {gpu[1]}" if gpu else ""
    if tier is None or not what:
        yield Refused(reason="other_service")
        return
    info = answers.rows(row, "pricingInfo")
    expression = info[0].get("pricingExpression") if info else None
    rates = answers.rows(expression, "tieredRates")
    unit = expression.get("usageUnit") if isinstance(expression, dict) else ""
    if unit not in ("h", "GiBy.h") or not rates:
        yield Refused(reason="other_unit", broken=True)
        return
    price = rates[-1].get("unitPrice")
    if not isinstance(price, dict) or price.get("currencyCode") != "USD":
        raise SourceFailure("wrong_currency", str(price)[:60])
    try:
        amount = answers.amount(
            Decimal(str(price.get("units", 0))) + Decimal(str(price.get("nanos", 0))) * NANO
        )
    except ArithmeticError:
        amount = Refused(reason="bad_price", broken=True)
    if isinstance(amount, Refused):
        yield amount
        return
    for region in answers.texts(row["serviceRegions"], "regions"):
        parts[what, region[:60], tier] = amount


def _machine(
    size: Size, region: str, tier: str, parts: Mapping[tuple[str, str, str], Decimal]
) -> Iterator[Quote]:
    family = size.sku.partition("-")[0].upper()
    needed = (
        (f"{family} Core", size.vcpu), (f"{family} Ram", size.ram_gib),
        (f"GPU {GPU_OF_SERIES.get(size.sku.rpartition('-')[0])}", Decimal(size.gpu_count)),
    )  # fmt: skip
    prices = [parts.get((what, region, tier)) for what, _quantity in needed]
    if None in prices:
        return
    total = sum(
        (price * quantity for price, (_w, quantity) in zip(prices, needed, strict=True) if price), Decimal(0)
    )
    yield Quote(
        sku=size.sku, region=region, tier=tier, amount=total, currency="USD", accelerator=size.accelerator,
        as_written=size.accelerator, gpu_count=size.gpu_count, vcpu=size.vcpu, ram_gib=size.ram_gib,
        note="cores, RAM and GPUs together; local SSDs are paid apart",
    )  # fmt: skip


@cache
def sizes() -> tuple[Size, ...]:
    """Machine types whose name, card, count, cores and RAM the shipped offers know."""
    found: dict[str, Size] = {}
    with SEED.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            complete = row["accelerator"] and row["gpu_count"] and row["vcpu"] and row["ram_gib"]
            if row["provider"] == PROVIDER and complete and re.match(r"[a-z]\d[a-z]?-", row["sku"]):
                found[row["sku"]] = Size(
                    row["sku"], row["accelerator"], int(row["gpu_count"]), Decimal(row["vcpu"]),
                    Decimal(row["ram_gib"]),
                )  # fmt: skip
    return tuple(found[sku] for sku in sorted(found))
