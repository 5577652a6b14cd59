"""Azure Retail Prices: Linux machines with GPUs, pay as you go, spot and savings plans; others pay as you go.

The list holds many twins of a machine's price: Windows, Low Priority, Cloud Services, dedicated hosts,
meters that are not primary, rows that ended or have not begun. Each is refused by name. A reservation's unit says
hour, and its price is the whole term's, paid upfront or in monthly parts of the same sum.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
from pydantic import BaseModel, ConfigDict, ValidationError

from catalog.commitments import HOURS_OF_MONTH, price_per_hour
from catalog.sources import answers
from catalog.sources.fetching import Deadline, Limits, read
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure
from catalog.sources.sizes import REASONS, kinds

PROVIDER = "azure"
TITLE = "Azure Retail Prices"
DEFAULT_BASE_URL = "https://prices.azure.com"
PATH = "/api/retail/prices"
API_VERSION = "2023-01-01-preview"
FILTER = "serviceName eq 'Virtual Machines'"
CURRENCY = "USD"
"""Azure prices are made in USD; other currencies are reference conversions."""

SIZES = Path(__file__).parents[1] / "seeds" / "azure_sizes.json"

TERMS = {"1 Year": 12, "3 Years": 36}
"""A five-year term exists for machines without GPUs alone."""

DEFAULT_PORTS = {"http": 80, "https": 443}


# --- Fetching ----------------------------------------------------------------------------------------------


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    """The machines; whatever keeps the list from ending well is a ``SourceFailure``."""
    yield from walk(client, base_url, FILTER, limits)


def walk(client: httpx2.Client, base_url: str, wanted: str, limits: Limits) -> Iterator[Page]:
    """Walk what a filter lists to its end."""
    run = Deadline(limits.run_s)
    base = base_url.rstrip("/")
    url = f"{base}{PATH}?api-version={API_VERSION}&currencyCode='{CURRENCY}'&$filter={quote(wanted)}"
    seen: set[str] = set()
    bodies: set[int] = set()
    for number in range(1, limits.pages + 1):
        if url in seen:
            raise SourceFailure("paging_loop", f"page {number}")
        seen.add(url)
        body = read(client, url, limits, run)
        document = _document(body)
        if document["Items"] and hash(body) in bodies:
            raise SourceFailure("paging_loop", f"page {number}")
        bodies.add(hash(body))
        yield Page(number=number, url=url, body=body)
        following = document.get("NextPageLink")
        if not following:
            return
        url = _on_same_host(str(following), base)
    raise SourceFailure("too_many_pages", str(limits.pages))


def _on_same_host(link: str, base_url: str) -> str:
    """The next page's address, if it leads to the server that we were told to ask."""
    there, here = urlsplit(link), urlsplit(base_url)
    try:
        same = (there.scheme, there.hostname, there.port or DEFAULT_PORTS.get(there.scheme)) == (
            here.scheme,
            here.hostname,
            here.port or DEFAULT_PORTS.get(here.scheme),
        )
    except ValueError:
        same = False
    if not same or there.username or not there.path.startswith(here.path.rstrip("/") + PATH):
        raise SourceFailure("led_elsewhere", link[:100])
    return link


def items_of(body: bytes) -> list[Any]:
    found: list[Any] = _document(body)["Items"]
    return found


def _document(body: bytes) -> dict[str, Any]:
    document = answers.document(body)
    if not isinstance(document.get("Items"), list):
        raise SourceFailure("schema_changed", "no Items")
    count = document.get("Count")
    if isinstance(count, int) and count != len(document["Items"]):
        raise SourceFailure("cut_off", f"{len(document['Items'])} of {count} rows")
    return document


# --- Parsing: pure -----------------------------------------------------------------------------------------


class Item(BaseModel):
    """The columns of a row that are read; prices and dates are checked one by one."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    currencyCode: str  # noqa: N815 - the names are the API's
    armRegionName: str | None = None  # noqa: N815
    armSkuName: str | None = None  # noqa: N815
    effectiveStartDate: str | None = None  # noqa: N815
    effectiveEndDate: str | None = None  # noqa: N815
    meterName: str | None = None  # noqa: N815
    productName: str | None = None  # noqa: N815
    skuName: str | None = None  # noqa: N815
    serviceName: str | None = None  # noqa: N815
    unitOfMeasure: str | None = None  # noqa: N815
    type: str | None = None
    isPrimaryMeterRegion: bool | None = None  # noqa: N815
    tierMinimumUnits: Any = 0  # noqa: N815
    retailPrice: Any  # noqa: N815
    savingsPlan: Any = None  # noqa: N815
    reservationTerm: str | None = None  # noqa: N815


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    """Quotes that hold on a day, and what was refused. Pure: the same pages give the same quotes."""
    for page in pages:
        for raw in _document(page.body)["Items"]:
            try:
                item = Item.model_validate(raw)
            except ValidationError as error:
                missing = {str(e["loc"][0]) for e in error.errors() if e["loc"]}
                raise SourceFailure("schema_changed", ", ".join(sorted(missing))[:100]) from None
            yield from _quotes(item, on)


def _quotes(item: Item, on: date) -> Iterator[Quote | Refused]:
    reason = _twin(item)
    if reason:
        yield Refused(reason=reason)
        return
    if item.currencyCode != CURRENCY:
        raise SourceFailure("wrong_currency", item.currencyCode[:10])
    outside = not_in_force(item, on)
    if outside:
        yield Refused(reason=outside)
        return
    begins = _day(item.effectiveStartDate)
    sku = item.armSkuName or ""
    size = sizes().get(sku)
    without_gpu = None if size is not None else REASONS.get(kinds(PROVIDER).get(sku, ""))
    if item.unitOfMeasure != "1 Hour":
        yield Refused(reason="other_unit", broken=True)
        return
    if item.type == "Reservation":
        yield _reserved(item, size, begins)
        return
    amount = answers.amount(item.retailPrice)
    if isinstance(amount, Refused):
        yield amount
        return
    spot = "spot" in f"{item.skuName} {item.meterName}".casefold().split()
    if without_gpu is not None:
        yield _without_gpu(item, amount, begins, without_gpu, spot)
        return
    common: dict[str, Any] = {
        "sku": sku, "region": item.armRegionName or "", "currency": CURRENCY, "effective_from": begins,
        **_machine(size),
    }  # fmt: skip
    yield Quote(tier="spot" if spot else "on_demand", amount=amount, **common)
    if spot or not isinstance(item.savingsPlan, list):
        return
    for plan in item.savingsPlan:
        years = {"1 Year": "savings_1y", "3 Years": "savings_3y"}.get(
            str(plan.get("term")) if isinstance(plan, dict) else ""
        )
        planned = answers.amount(plan.get("retailPrice")) if years else None
        if years and isinstance(planned, Decimal):
            yield Quote(tier="reserved", tier_detail=years, amount=planned, **common)


def _reserved(item: Item, size: dict[str, Any] | None, begins: date | None) -> Quote | Refused:
    """What an hour of a reservation comes to: the price of the term ÷ its hours."""
    months = TERMS.get(item.reservationTerm or "")
    if months is None:
        return Refused(reason="reservation")
    if size is None:
        return Refused(reason="reservation_without_gpu")
    total = answers.amount(item.retailPrice, hours=months * int(HOURS_OF_MONTH))
    if isinstance(total, Refused):
        return total
    return Quote(
        sku=item.armSkuName or "", region=item.armRegionName or "", tier="reserved",
        tier_detail=f"reserved_{months // 12}y", amount=price_per_hour(total, Decimal(0), months), currency=CURRENCY,
        term_months=months, effective_from=begins, **_machine(size),
    )  # fmt: skip


def _without_gpu(
    item: Item, amount: Decimal, begins: date | None, reason: str, spot: bool
) -> Quote | Refused:
    """The plain price of a machine without a GPU; its other tiers would treble the list, and nobody sizes them."""
    if spot:
        return Refused(reason="no_gpu")
    return Quote(
        sku=item.armSkuName or "", region=item.armRegionName or "", tier="on_demand", amount=amount,
        currency=CURRENCY, effective_from=begins, gpu_count=0 if reason == "no_accelerator" else None,
        not_comparable=reason,
    )  # fmt: skip


def _twin(item: Item) -> str:
    """Which twin of a Linux machine's price this row is; empty if it is the price itself."""
    product = f" {item.productName or ''} ".casefold()
    words = f"{item.skuName or ''} {item.meterName or ''}".casefold()
    tests = (
        ("other_service", item.serviceName != "Virtual Machines"),
        ("no_sku", not item.armSkuName or "/" in item.armSkuName),
        ("other_terms", item.type not in ("Consumption", "Reservation")),
        ("not_primary", item.isPrimaryMeterRegion is False),
        ("windows", " windows " in product or " win " in product),
        ("cloud_services", "cloud services" in product or "cloudservices" in product),
        ("dedicated_host", "dedicated host" in product or "dedicatedhost" in product),
        ("low_priority", "low priority" in words),
        ("promo", (item.armSkuName or "").casefold().endswith("_promo")),
        ("volume_tier", item.tierMinimumUnits not in (0, None)),
    )
    return next((reason for reason, holds in tests if holds), "")


def not_in_force(item: Item, on: date) -> str:
    """Why a row does not hold on a day; empty where it does."""
    begins, ends = _day(item.effectiveStartDate), _day(item.effectiveEndDate)
    if ends is not None and ends < on:
        return "ended"
    return "not_yet" if begins is not None and begins > on else ""


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text[:10]) if text else None
    except ValueError:
        return None


# --- What a size is ----------------------------------------------------------------------------------------


@cache
def _seed() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(SIZES.read_text(encoding="utf-8"))
    return document


@cache
def sizes() -> dict[str, dict[str, Any]]:
    """Known sizes with GPUs."""
    return {row["sku"]: row for row in _seed()["gpu"]}


def _machine(size: dict[str, Any] | None) -> dict[str, Any]:
    """Facts of a size; where count, card or memory is not certain, the reason why it is not comparable."""
    if size is None:
        return {"not_comparable": "size_unknown"}
    count = Decimal(size["gpu_count"]) if "gpu_count" in size else None
    facts = {
        "accelerator": size.get("accelerator"),
        "as_written": size.get("accelerator", ""),
        "vcpu": Decimal(size["vcpu"]) if "vcpu" in size else None,
        "ram_gib": Decimal(size["ram_gib"]) if "ram_gib" in size else None,
        "spec_source": size.get("source", "")[:200],
    }
    if count is None:
        return facts | {"not_comparable": "count_unknown"}
    if count < 1:
        return facts | {"gpu_count": 1, "gpu_fraction": count, "not_comparable": "slice_memory_unknown"}
    if not facts["accelerator"]:
        return facts | {"gpu_count": int(count), "not_comparable": "unknown_accelerator"}
    return facts | {"gpu_count": int(count)}
