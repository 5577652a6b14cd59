"""Oracle Cloud: prices of parts (a GPU an hour) and shapes that say how many parts a machine has.

The same price holds in every region. Preemptible capacity, where a shape allows it, costs half. The parts hold the
prices of storage and of transfer too; of the latter those of North America and Europe, as another area's price
is not that of every region.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Literal

import httpx2

from catalog.sources import answers
from catalog.sources.fetching import Deadline, Limits, read
from catalog.sources.quotes import EgressQuote, Page, Quote, Refused, SourceFailure, StorageQuote

PROVIDER = "oci"
TITLE = "Oracle Cloud price list"
DEFAULT_BASE_URL = "https://www.oracle.com"
FOLDER = "/a/ocom/docs/cloudestimator2/data"
DOCUMENTS = ("products.json", "shapes.json")
CURRENCY = "USD"
PREEMPTIBLE_SHARE = Decimal("0.5")
GPU_METRIC = "GPU Per Hour"
HOURLY_METRICS = frozenset({"OCPU Per Hour", "ECPU Per Hour", "Gigabyte Per Hour", "Gigabytes Per Hour"})
SHAPE_NAME = re.compile(r"\.GPU(\d)?(?:\.([A-Za-z0-9-]+?))?(?:-v\d)?\.(\d+)$")
OLD_SERIES = {"2": "P100", "3": "V100", "4": "A100"}
"""Shapes of the first years carry a number instead of the card's name."""


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    run = Deadline(limits.run_s)
    for number, name in enumerate(DOCUMENTS, 1):
        url = f"{base_url.rstrip('/')}{FOLDER}/{name}"
        yield Page(number=number, url=url, body=read(client, url, limits, run))


STORED: tuple[tuple[re.Pattern[str], Literal["block", "file", "object"], str, bool], ...] = (
    (re.compile(r"(?:Storage - )?Block Volume - Storage"), "block", "Block volume", True),
    (re.compile(r"Object Storage - Storage"), "object", "Object storage", False),
    (re.compile(r"File Storage - Storage"), "file", "File storage", False),
)
"""Parts that are storage, by the whole of their names: kind, name here, and whether bills use it."""
TRANSFER = "Outbound Data Transfer - Originating in"
TRANSFER_HERE = f"{TRANSFER} North America, Europe, and UK"
STORAGE_METRIC = "Gigabyte Storage Capacity Per Month"
TRANSFER_METRIC = "Gigabyte Outbound Data Transfer Per Month"
NO_END = Decimal(10) ** 9
"""A step that ends beyond this many GB has no end."""


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | StorageQuote | EgressQuote | Refused]:
    parts: dict[str, tuple[str, Decimal | Refused]] | None = None
    for page in pages:
        listed = answers.rows(answers.document(page.body), "items")
        if parts is None:
            parts = {str(row.get("partNumber")): _part(row) for row in listed}
            for row in listed:
                yield from _beside(row)
            continue
        for row in listed:
            answers.needed(row, "name", "products")
            yield from _quotes(row, parts)


def _beside(row: dict[str, Any]) -> Iterator[StorageQuote | EgressQuote | Refused]:
    """What a part says of storage or transfer."""
    name = str(row.get("displayName", ""))
    stored = next((kind for kind in STORED if kind[0].fullmatch(name)), None)
    is_transfer = name.startswith(TRANSFER)
    if stored is None and not is_transfer:
        return
    if is_transfer and name != TRANSFER_HERE:
        yield Refused(reason="other_area")
        return
    if row["metricName"] != (TRANSFER_METRIC if is_transfer else STORAGE_METRIC):
        yield Refused(reason="other_unit", broken=True)
        return
    for step in _dollars(row):
        found = _step(step)
        if isinstance(found, Refused):
            yield found
            continue
        begins, ends, amount = found
        if stored is None:
            yield EgressQuote(
                provider=PROVIDER, region="", from_gb=begins, to_gb=ends, amount_per_gb=amount, currency=CURRENCY,
                note="originating in North America, Europe and UK",
            )  # fmt: skip
        else:
            _name, kind, here, is_default = stored
            yield StorageQuote(
                provider=PROVIDER, region="", kind=kind, name=here, from_gb=begins, to_gb=ends,
                amount_per_month=amount, currency=CURRENCY, is_default=is_default,
            )  # fmt: skip


def _step(step: dict[str, Any]) -> tuple[Decimal, Decimal | None, Decimal] | Refused:
    """Where a step begins and ends, in GB, and what a GB costs in it; zero before a price is an allowance."""
    amount = answers.amount(step.get("value"))
    if isinstance(amount, Refused) and amount.reason != "zero_price":
        return amount
    begins, ends = answers.volume(step.get("rangeMin")), answers.figure(step.get("rangeMax"))
    if begins is None:
        return Refused(reason="other_unit", broken=True)
    until = ends if ends is not None and ends < NO_END else None
    return begins, until, amount if isinstance(amount, Decimal) else Decimal(0)


def _dollars(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a part's price in dollars, as one pays without a contract."""
    return [
        step
        for local in answers.rows(row, "currencyCodeLocalizations")
        if local.get("currencyCode") == CURRENCY
        for step in answers.rows(local, "prices")
        if step.get("model") == "PAY_AS_YOU_GO"
    ]


def _part(row: dict[str, Any]) -> tuple[str, Decimal | Refused]:
    """What a part is counted in and what one costs; of steps, the first that is not free tells the price."""
    answers.needed(row, "metricName", "currencyCodeLocalizations")
    for local in answers.rows(row, "currencyCodeLocalizations"):
        if local.get("currencyCode") != CURRENCY:
            continue
        for price in answers.rows(local, "prices"):
            if price.get("model") == "PAY_AS_YOU_GO":
                answers.needed(price, "value")
                return str(row["metricName"]), answers.amount(price["value"])
    return str(row["metricName"]), Refused(reason="no_dollar_price", broken=True)


def _quotes(
    row: dict[str, Any], parts: Mapping[str, tuple[str, Decimal | Refused]]
) -> Iterator[Quote | Refused]:
    if row.get("hidden"):
        yield Refused(reason="hidden")
        return
    count = answers.whole(row.get("gpuQty"))
    if not count:
        yield Refused(reason="no_gpu")
        return
    price = _price(row, count, parts)
    if isinstance(price, Refused):
        yield price
        return
    facts = _card(str(row["name"]), count, answers.figure(row.get("gpuMemoryQty")))
    common: dict[str, Any] = facts | {
        "sku": str(row["name"])[:120], "region": "", "currency": CURRENCY, "gpu_count": count,
        "ram_gib": answers.figure(row.get("bundleMemoryQty")),
    }  # fmt: skip
    yield Quote(tier="on_demand", amount=price, **common)
    if row.get("allowPreemptible") is True:
        yield Quote(tier="spot", amount=price * PREEMPTIBLE_SHARE, **common)


def _price(
    row: dict[str, Any], count: int, parts: Mapping[str, tuple[str, Decimal | Refused]]
) -> Decimal | Refused:
    """The sum over the shape's parts. A GPU's price counts by GPUs: the quantity beside it counts OCPUs."""
    total = Decimal(0)
    with_gpu = False
    for part in answers.rows(row, "products"):
        known = parts.get(str(part.get("partNumber")))
        if known is None:
            return Refused(reason="part_unknown", broken=True)
        metric, each = known
        if isinstance(each, Refused):
            return each
        if metric == GPU_METRIC:
            total += each * count
            with_gpu = True
        elif metric in HOURLY_METRICS and (quantity := answers.figure(part.get("qty"))) is not None:
            total += each * quantity
        else:
            return Refused(reason="other_unit", broken=True)
    if not with_gpu:
        return Refused(reason="other_unit", broken=True)
    return total


def _card(shape: str, count: int, memory_gb: Decimal | None) -> dict[str, Any]:
    name = SHAPE_NAME.search(shape)
    if name is None:
        return {"not_comparable": "unknown_accelerator", "as_written": shape[:120]}
    written = name[2] or OLD_SERIES.get(name[1] or "", "")
    if not written:
        raise SourceFailure("schema_changed", shape[:60])
    # The list states the memory of all GPUs together, or of one; only one of both fits the card.
    for memory in (None if memory_gb is None else memory_gb / count, memory_gb, None):
        facts = answers.card(written, PROVIDER, memory)
        if not facts.get("not_comparable"):
            break
    return facts
