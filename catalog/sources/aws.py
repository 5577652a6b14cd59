"""AWS price list: Linux on demand, and machines with GPUs reserved for one or three years; one file for each region.

A file has hundreds of megabytes and is therefore read line by line. The list does not name a machine's card; what a
size is, is known from the shipped sizes. Its twins are refused by name: other systems and licences, dedicated and
reserved capacity, capacity blocks at zero.

A reservation is up to two rows: a fee that is paid once, and a price by the hour. One alone is no price. Convertible
ones, which can be exchanged for another machine within their term and cost more, are terms of their own.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import httpx2

from catalog.commitments import price_per_hour
from catalog.sources import answers, aws_lists, aws_terms
from catalog.sources.fetching import Deadline, Limits
from catalog.sources.quotes import EgressQuote, Page, Quote, Refused, SourceFailure, StorageQuote
from catalog.sources.sizes import REASONS, kinds

PROVIDER = "aws"
TITLE = "AWS price list"
DEFAULT_BASE_URL = "https://pricing.us-east-1.amazonaws.com"
FOLDER = "/offers/v1.0/aws/AmazonEC2/current"
SEEDS = Path(__file__).parents[1] / "seeds"

PAGE_BYTES = 2_000_000
MARKS = (b'"OnDemand"', b'"Linux"', b'"Shared"')
"""A line without these is of another kind; most are, and are not kept."""
NEEDED = (
    "TermType", "Unit", "PricePerUnit", "Currency", "EffectiveDate", "Product Family", "Instance Type", "Tenancy",
    "Operating System", "CapacityStatus", "Pre Installed S/W", "Region Code", "vCPU", "Memory",
)  # fmt: skip

YEARS = {"1yr": 1, "3yr": 3}
OPTIONS = {
    "No Upfront": "no_upfront", "Partial Upfront": "partial_upfront", "All Upfront": "all_upfront",
}  # fmt: skip
CLASSES: dict[str, tuple[str, ...]] = {"standard": (), "convertible": ("convertible",)}


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    run = Deadline(limits.run_s)
    number = 0
    for region in aws_lists.regions(credentials):
        url = f"{base_url.rstrip('/')}{FOLDER}/{region}/index.csv"
        lines, kept = aws_lists.lines(client, url, limits, run, region), bytearray()
        header = next(lines)
        for line in lines:
            if all(mark in line for mark in MARKS) or any(mark in line for mark in aws_terms.MARKS):
                kept += line + b"\n"
            if len(kept) > PAGE_BYTES:
                number += 1
                yield Page(number=number, url=url, body=header + b"\n" + bytes(kept))
                kept.clear()
        number += 1
        yield Page(number=number, url=url, body=header + b"\n" + bytes(kept))


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | StorageQuote | EgressQuote | Refused]:
    reserved: dict[tuple[str, str, str], _Reserved] = {}
    for page in pages:
        try:
            lines = csv.DictReader(page.body.decode("utf-8").splitlines(), strict=True)
            missing = [name for name in NEEDED if name not in (lines.fieldnames or ())]
            if missing:
                raise SourceFailure("schema_changed", ", ".join(missing)[:100])
            for row in lines:
                found = _quote(row, on, reserved)
                if found is not None:
                    yield found
        except (UnicodeDecodeError, csv.Error):
            raise SourceFailure("unreadable", "not CSV") from None
    for one in reserved.values():
        yield one.quote()


def _quote(
    row: dict[str, str | None], on: date, reserved: dict[tuple[str, str, str], _Reserved]
) -> Quote | StorageQuote | EgressQuote | Refused | None:
    """The price that a row is; None where it is a part of a reservation, which is kept until its other part is read."""

    def cell(name: str) -> str:
        return row.get(name) or ""

    beside = aws_terms.read(cell, cell("Region Code"))
    if beside is not None:
        return beside
    reason = _twin(cell)
    if reason:
        return Refused(reason=reason)
    region, sku = cell("Region Code"), cell("Instance Type")
    currency = "CNY" if region.startswith("cn-") else "USD"
    if cell("Currency") != currency:
        raise SourceFailure("wrong_currency", f"{cell('Currency')[:10]} in {region[:30]}")
    begins = _day(cell("EffectiveDate"))
    if begins is not None and begins > on:
        return Refused(reason="not_yet")
    if cell("TermType") == "Reserved":
        detail = "_".join((
            f"reserved_{YEARS[cell('LeaseContractLength')]}y", OPTIONS[cell("PurchaseOption")],
            *CLASSES[cell("OfferingClass")],
        ))  # fmt: skip
        part = reserved.setdefault(
            (sku, region, detail), _Reserved(sku, region, detail, currency, begins, cell)
        )
        return part.add(cell("Unit"), cell("PricePerUnit"))
    if cell("Unit") != "Hrs":
        return Refused(reason="other_unit", broken=True)
    amount = answers.amount(cell("PricePerUnit"), text=True)
    if isinstance(amount, Refused):
        return amount
    return Quote(
        sku=sku[:120], region=region[:60], tier="on_demand", amount=amount, currency=currency,
        effective_from=begins, **machine(sku, cell("vCPU"), cell("Memory")),
    )  # fmt: skip


def _twin(cell: Any) -> str:
    """Which twin of a Linux machine's price a row is; empty if it is the price itself."""
    tests = (
        ("other_terms", cell("TermType") not in ("OnDemand", "Reserved")),
        ("other_service", not cell("Product Family").startswith("Compute Instance")),
        ("no_sku", not cell("Instance Type")),
        ("other_system", cell("Operating System") != "Linux"),
        ("licence_included", cell("Pre Installed S/W") not in ("", "NA")),
        ("dedicated_host", cell("Tenancy") != "Shared"),
        ("capacity_block", cell("MarketOption") not in ("", "OnDemand")),
        ("unused_capacity", cell("CapacityStatus") not in ("", "Used")),
        *(_reservation_twins(cell) if cell("TermType") == "Reserved" else ()),
    )
    return next((reason for reason, holds in tests if holds), "")


def _reservation_twins(cell: Any) -> tuple[tuple[str, bool], ...]:
    sku = cell("Instance Type")
    return (
        ("reservation_without_gpu", sku not in _gpu_sizes() and kinds(PROVIDER).get(sku) != "gpu"),
        ("reservation", cell("OfferingClass") not in CLASSES or cell("LeaseContractLength") not in YEARS
         or cell("PurchaseOption") not in OPTIONS),
    )  # fmt: skip


@dataclass
class _Reserved:
    """A reservation whose parts are being collected."""

    sku: str
    region: str
    detail: str
    currency: str
    begins: date | None
    cell: Any
    fee: Decimal | None = None
    hourly: Decimal | None = None
    broken: bool = False

    def add(self, unit: str, text: str) -> Refused | None:
        """Take in one row. A fee or hour of zero says that there is none; two rows that differ are no price."""
        months = self.months
        found = answers.amount(text, text=True, hours=1 if unit == "Hrs" else months * 730)
        if isinstance(found, Refused):
            if found.reason != "zero_price":
                self.broken = True
                return found
            found = Decimal(0)
        if unit == "Hrs":
            self.broken |= self.hourly not in (None, found)
            self.hourly = found
        elif unit == "Quantity":
            self.broken |= self.fee not in (None, found)
            self.fee = found
        else:
            self.broken = True
            return Refused(reason="other_unit", broken=True)
        return None

    @property
    def months(self) -> int:
        return 12 * int(self.detail.removeprefix("reserved_")[0])

    def quote(self) -> Quote | Refused:
        needs_fee, needs_hourly = "no_upfront" not in self.detail, "all_upfront" not in self.detail
        fee, hourly = self.fee or Decimal(0), self.hourly or Decimal(0)
        if self.broken or (needs_fee and not fee) or (needs_hourly and not hourly):
            return Refused(reason="incomplete_terms")
        return Quote(
            sku=self.sku[:120], region=self.region[:60], tier="reserved", tier_detail=self.detail,
            amount=price_per_hour(fee, hourly, self.months), currency=self.currency, upfront=fee, recurring=hourly,
            term_months=self.months, effective_from=self.begins,
            **machine(self.sku, self.cell("vCPU"), self.cell("Memory")),
        )  # fmt: skip


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10]) if text else None
    except ValueError:
        return None


# --- What a size is ----------------------------------------------------------------------------------------


@cache
def _gpu_sizes() -> dict[str, dict[str, Any]]:
    """Card, count and share of the sizes with GPUs that the shipped offers know."""
    found: dict[str, dict[str, Any]] = {}
    with (SEEDS / "offers.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["provider"] == PROVIDER and row["accelerator"] and row["gpu_count"]:
                found[row["sku"]] = {
                    "accelerator": row["accelerator"],
                    "as_written": row["as_written"],
                    "gpu_count": int(row["gpu_count"]),
                    "gpu_fraction": Decimal(row["gpu_fraction"] or 1),
                    "gpu_memory_gib": Decimal(row["gpu_memory_gib"]) if row["gpu_memory_gib"] else None,
                    "not_comparable": row["not_comparable"],
                    "spec_source": row["spec_source"][:200],
                }
    return found


def machine(sku: str, vcpu: str, memory: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"vcpu": _number(vcpu), "ram_gib": _number(memory.removesuffix(" GiB"))}
    if sku in _gpu_sizes():
        return facts | _gpu_sizes()[sku]
    kind = kinds(PROVIDER).get(sku)
    if kind in REASONS:
        return facts | {"gpu_count": 0 if kind == "cpu" else None, "not_comparable": REASONS[kind]}
    return facts | {"not_comparable": "unknown_accelerator" if kind == "gpu" else "size_unknown"}


def _number(text: str) -> Decimal | None:
    try:
        return answers.figure(Decimal(text.replace(",", "")))
    except ArithmeticError:
        return None
