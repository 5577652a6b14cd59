"""AWS price list beside the machines: transfer to the internet and object storage, from files of their own for each
region; gp3 volumes.

The rows of volumes stand among the machines' rows, and those of transfer did: ``read`` understands all anywhere.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal

import httpx2

from catalog.sources import answers, aws_lists
from catalog.sources.fetching import Deadline, Limits
from catalog.sources.quotes import EgressQuote, Page, Refused, SourceFailure, StorageQuote

PROVIDER = "aws"
TITLE = "AWS price list: storage and transfer"
DEFAULT_BASE_URL = "https://pricing.us-east-1.amazonaws.com"
FOLDER = "/offers/v1.0/aws"
SERVICES = ("AWSDataTransfer", "AmazonS3")

MARKS = (b'EBS:VolumeUsage.gp3"', b'DataTransfer-Out-Bytes"')
"""Ends of the usage types that are read among the machines; a line with one of them is kept."""
OWN_MARKS = (b'DataTransfer-Out-Bytes"', b'TimedStorage-ByteHrs"')
"""Of the services' own files."""
OBJECTS = re.compile(r"(?:[A-Z0-9]+-)?TimedStorage-ByteHrs")
VOLUME = re.compile(r"(?:[A-Z0-9]+-)?EBS:VolumeUsage\.gp3")
TRANSFER = re.compile(r"(?:[A-Z0-9]+-)?DataTransfer-Out-Bytes")
NEEDED = ("TermType", "Unit", "PricePerUnit", "Currency", "StartingRange", "EndingRange", "usageType")
GIB = 2**30
PAGE_BYTES = 2_000_000

Cell = Callable[[str], str]


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    run = Deadline(limits.run_s)
    asked = [(region, service) for region in aws_lists.regions(credentials) for service in SERVICES]
    for number, (region, service) in enumerate(asked, 1):
        url = f"{base_url.rstrip('/')}{FOLDER}/{service}/current/{region}/index.csv"
        lines, kept = aws_lists.lines(client, url, limits, run, region), bytearray()
        header = next(lines)
        for line in lines:
            if any(mark in line for mark in OWN_MARKS):
                kept += line + b"\n"
            if len(kept) > PAGE_BYTES:
                raise SourceFailure("too_large", service)
        yield Page(number=number, url=f"{url}#{region}", body=header + b"\n" + bytes(kept))


def parse(pages: Iterable[Page], on: date) -> Iterator[StorageQuote | EgressQuote | Refused]:
    for page in pages:
        region = page.url.rpartition("#")[2]
        try:
            lines = csv.DictReader(page.body.decode("utf-8").splitlines(), strict=True)
            missing = [name for name in NEEDED if name not in (lines.fieldnames or ())]
            if missing:
                raise SourceFailure("schema_changed", ", ".join(missing)[:100])
            for row in lines:
                yield read(_cells(row), region) or Refused(reason="other_service")
        except (UnicodeDecodeError, csv.Error):
            raise SourceFailure("unreadable", "not CSV") from None


def _cells(row: Mapping[str, str | None]) -> Cell:
    return lambda name: row.get(name) or ""


def read(cell: Cell, region: str) -> StorageQuote | EgressQuote | Refused | None:
    """What a row says of storage or transfer; None where it speaks of neither.

    Rows between regions, to services or for files of other networks have another usage type, or name where they lead.
    """
    usage = cell("usageType")
    if VOLUME.fullmatch(usage):
        return _volume(cell, region)
    if OBJECTS.fullmatch(usage):
        return _objects(cell, region)
    if not TRANSFER.fullmatch(usage):
        return None
    if cell("TermType") != "OnDemand" or cell("To Location") not in ("", "External"):
        return Refused(reason="other_terms")
    amount, edges = _amount(cell, region, "GB"), _edges(cell)
    if isinstance(amount, Refused):
        return amount
    if isinstance(edges, Refused):
        return edges
    return EgressQuote(
        provider=PROVIDER, region=region[:60], from_gb=edges[0], to_gb=edges[1], amount_per_gb=amount,
        currency=cell("Currency"),
    )  # fmt: skip


def _objects(cell: Cell, region: str) -> StorageQuote | Refused:
    """One step of S3 Standard; its other classes, and logs of other services, have other usage types or files."""
    if cell("TermType") != "OnDemand":
        return Refused(reason="other_terms")
    amount, edges = _amount(cell, region, "GB-Mo"), _edges(cell)
    if isinstance(amount, Refused):
        return amount
    if isinstance(edges, Refused):
        return edges
    return StorageQuote(
        provider=PROVIDER, region=region[:60], kind="object", name="S3 Standard", amount_per_month=amount,
        from_gb=edges[0], to_gb=edges[1], currency=cell("Currency"),
    )  # fmt: skip


def _volume(cell: Cell, region: str) -> StorageQuote | Refused:
    amount = _amount(cell, region, "GB-Mo")
    if isinstance(amount, Refused):
        return amount
    if not amount:
        return Refused(reason="zero_price")
    return StorageQuote(
        provider=PROVIDER, region=region[:60], kind="block", name="gp3", amount_per_month=amount, is_default=True,
        currency=cell("Currency"),
    )  # fmt: skip


def _amount(cell: Cell, region: str, unit: str) -> Decimal | Refused:
    """A price that may be zero: a free step is one before a price."""
    currency = "CNY" if region.startswith("cn-") else "USD"
    if cell("Currency") != currency:
        raise SourceFailure("wrong_currency", f"{cell('Currency')[:10]} in {region[:30]}")
    if cell("Unit") != unit:
        return Refused(reason="other_unit", broken=True)
    found = answers.amount(cell("PricePerUnit"), text=True)
    if isinstance(found, Refused) and found.reason == "zero_price":
        return Decimal(0)
    return found


def _edges(cell: Cell) -> tuple[Decimal, Decimal | None] | Refused:
    """Where a step begins and ends, in GB; None for an end without a limit."""
    starts, ends = _edge(cell("StartingRange")), _edge(cell("EndingRange"))
    if starts is None or (ends is None and cell("EndingRange") not in ("Inf", "")):
        return Refused(reason="other_unit", broken=True)
    return starts, ends


def _edge(text: str) -> Decimal | None:
    return Decimal(text) if re.fullmatch(r"\d{1,9}", text, re.ASCII) else None
