"""Azure Retail Prices beside the machines: managed disks, hot blobs, and transfer to the internet.

A disk is sold in sizes, each at a price of its own a month: the 128 GiB step stands for its kind. The lists are asked
for in a run of their own, so that a fault in them leaves the machines' prices alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal

import httpx2
from pydantic import ValidationError

from catalog.sources import answers, azure
from catalog.sources.fetching import Limits
from catalog.sources.quotes import EgressQuote, Page, Refused, SourceFailure, StorageQuote

PROVIDER = "azure"
TITLE = "Azure Retail Prices: storage and transfer"
DEFAULT_BASE_URL = azure.DEFAULT_BASE_URL
DISKS = {
    "Standard SSD Managed Disks": ("Standard SSD", "E10 LRS", True),
    "Premium SSD Managed Disks": ("Premium SSD", "P10 LRS", False),
}
"""Products with the name that they have here, the size that stands for all, and whether bills use it."""
DISK_GIB = 128
BLOBS = "General Block Blob v2"
TRANSFER = frozenset({"Bandwidth", "Rtn Preference: MGN"})
"""Products by the default route; the cheaper one over the open internet has to be chosen."""
TRANSFER_METER = "Standard Data Transfer Out"
FILTERS = (
    " or ".join(f"productName eq '{name}'" for name in (*DISKS, BLOBS)),
    f"serviceName eq 'Bandwidth' and meterName eq '{TRANSFER_METER}'",
)
GIB = 2**30
VOLUME = re.compile(r"(\d+) ([GT])B(/Month)?")


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    number = 0
    for wanted in FILTERS:
        for page in azure.walk(client, base_url, wanted, limits):
            number += 1
            yield Page(number=number, url=page.url, body=page.body)


def parse(pages: Iterable[Page], on: date) -> Iterator[StorageQuote | EgressQuote | Refused]:
    for page in pages:
        for raw in azure.items_of(page.body):
            try:
                item = azure.Item.model_validate(raw)
            except ValidationError:
                raise SourceFailure("schema_changed", "a row without price or currency") from None
            yield _read(item, on)


def _read(item: azure.Item, on: date) -> StorageQuote | EgressQuote | Refused:
    if item.type != "Consumption":
        return Refused(reason="other_terms")
    if item.currencyCode != azure.CURRENCY:
        raise SourceFailure("wrong_currency", item.currencyCode[:10])
    outside = azure.not_in_force(item, on)
    if outside:
        return Refused(reason=outside)
    if not item.armRegionName:
        return Refused(reason="no_region")
    if item.productName in DISKS:
        return _disk(item)
    if item.productName == BLOBS:
        return _blob(item)
    if item.productName in TRANSFER and item.meterName == TRANSFER_METER:
        return _transfer(item)
    return Refused(reason="other_service")


def _disk(item: azure.Item) -> StorageQuote | Refused:
    name, size, is_default = DISKS[item.productName or ""]
    if item.skuName != size or item.meterName not in (f"{size} Disk", size):
        return Refused(reason="other_size")
    if item.isPrimaryMeterRegion is False:
        return Refused(reason="not_primary")
    if item.unitOfMeasure != "1/Month":
        return Refused(reason="other_unit", broken=True)
    amount = answers.amount(item.retailPrice)
    if isinstance(amount, Refused):
        return amount
    return StorageQuote(
        provider=PROVIDER, region=str(item.armRegionName), kind="block", name=name, currency=azure.CURRENCY,
        amount_per_month=amount / DISK_GIB, per_bytes=GIB, is_default=is_default,
        note=f"billed by size step ({size.split()[0]}: {DISK_GIB} GiB)",
    )  # fmt: skip


def _blob(item: azure.Item) -> StorageQuote | Refused:
    if item.skuName != "Hot LRS" or item.meterName != "Hot LRS Data Stored":
        return Refused(reason="other_size")
    if item.isPrimaryMeterRegion is False:
        return Refused(reason="not_primary")
    amount, begins = answers.amount(item.retailPrice), _gigabytes(item.unitOfMeasure)
    if isinstance(amount, Refused):
        return amount
    start = answers.volume(item.tierMinimumUnits)
    if begins is None or start is None:
        return Refused(reason="other_unit", broken=True)
    return StorageQuote(
        provider=PROVIDER, region=str(item.armRegionName), kind="object", name="Hot LRS", currency=azure.CURRENCY,
        amount_per_month=amount / begins, from_gb=start * begins,
    )  # fmt: skip


def _transfer(item: azure.Item) -> EgressQuote | Refused:
    """One step; the free one is at zero. Primary meters do not tell here: a region's steps are marked as either."""
    unit, start = _gigabytes(item.unitOfMeasure), answers.volume(item.tierMinimumUnits)
    if unit is None or start is None:
        return Refused(reason="other_unit", broken=True)
    amount = answers.amount(item.retailPrice)
    if isinstance(amount, Refused) and amount.reason != "zero_price":
        return amount
    return EgressQuote(
        provider=PROVIDER, region=str(item.armRegionName), from_gb=start * unit, to_gb=None, currency=azure.CURRENCY,
        amount_per_gb=Decimal(0) if isinstance(amount, Refused) else amount / unit,
    )  # fmt: skip


def _gigabytes(unit: str | None) -> Decimal | None:
    """How many GB a unit of measure has, such as "1 GB" or "100 GB"."""
    found = VOLUME.fullmatch(unit or "")
    return None if found is None else Decimal(found[1]) * (1000 if found[2] == "T" else 1)
