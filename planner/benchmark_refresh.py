"""A whole refresh of the longest price list, served in the shape and paging of its source, in a process of its own."""

from __future__ import annotations

import csv
import json
import re
import resource
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import httpx2
from django.conf import settings
from django.utils import timezone
from pydantic import BaseModel, ConfigDict

from catalog import services
from catalog.models import RefreshStatus
from planner.benchmark_apart import new_database

ROWS_FILE = "azure_ondemand.csv"
ROWS_PER_PAGE = 1000
BASE_URL = "https://prices.example"
KILOBYTE = 1024
"""Of which Linux counts a process's memory."""


class Refreshed(BaseModel):
    """What a refresh took; ``peak_bytes`` is of the whole process, the program itself included."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int
    seconds: float
    cpu_s: float
    peak_bytes: int


def rows_file() -> Path | None:
    """The measured list, where the folder of measurements has it."""
    found = Path(settings.MEASUREMENTS_DIR) / "prices" / ROWS_FILE
    return found if found.is_file() else None


def measured() -> Refreshed:
    """A refresh over the shipped catalog in a new database and a new process."""
    with new_database() as command:
        command("load_seeds")
        told = command("bench", "--refresh-alone")
    return Refreshed.model_validate_json(told.splitlines()[-1])


def here() -> Refreshed:
    """The refresh, in this process and its database."""
    file = rows_file()
    if file is None:
        raise FileNotFoundError(ROWS_FILE)
    with file.open(encoding="utf-8", newline="") as lines:
        pages = _Pages(csv.DictReader(lines))
        client = httpx2.Client(transport=httpx2.MockTransport(pages.answer))
        addresses = settings.SOURCE_BASE_URLS
        settings.SOURCE_BASE_URLS = addresses | {"azure": BASE_URL}
        clock, cpu = time.perf_counter(), time.process_time()
        try:
            run = services.refresh("azure", timezone.now(), client=client)
        finally:
            settings.SOURCE_BASE_URLS = addresses
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    if run.status != RefreshStatus.SUCCEEDED:
        raise RuntimeError(f"the refresh ended as {run.status}: {run.reason} {run.reason_detail}")
    return Refreshed(rows=pages.served, seconds=clock, cpu_s=cpu, peak_bytes=_peak_bytes())


def _peak_bytes() -> int:
    """The most memory this program held. What the system counts for a process begins with its parent's, from which it
    was split off, so Linux is asked for the program's own."""
    try:
        told = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KILOBYTE
    found = re.search(r"^VmHWM:\s+(\d+) kB", told, re.MULTILINE)
    return int(found[1] if found else 0) * KILOBYTE


class _Pages:
    """The list page by page, as it is asked for; other lists of the source are empty."""

    def __init__(self, rows: Iterator[dict[str, str]]) -> None:
        self.rows = rows
        self.served = 0

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        asked = str(request.url)
        is_ours = "Virtual%20Machines" in asked or "$skip" in asked or "%24skip" in asked
        items = [_item(row) for row in islice(self.rows, ROWS_PER_PAGE)] if is_ours else []
        self.served += len(items)
        following = f"{request.url.copy_with(query=None)}?$skip={self.served}" if items else None
        document = {"BillingCurrency": "USD", "Items": items, "NextPageLink": following, "Count": len(items)}
        return httpx2.Response(200, stream=httpx2.ByteStream(json.dumps(document).encode()))


def _item(row: dict[str, str]) -> dict[str, Any]:
    price, sku = float(row["usd_per_hour"]), row["sku"]
    name = sku.removeprefix("Standard_")
    return {
        "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": price, "unitPrice": price,
        "armRegionName": row["region"], "location": row["region"], "effectiveStartDate": "2026-05-01T00:00:00Z",
        "meterId": "00000000-0000-4000-8000-000000000000", "meterName": name, "productId": "DZH318Z00000",
        "skuId": "DZH318Z00000/0000", "productName": "Virtual Machines Series", "skuName": name.replace("_", " "),
        "serviceName": "Virtual Machines", "serviceFamily": "Compute", "unitOfMeasure": "1 Hour",
        "type": "Consumption", "isPrimaryMeterRegion": True, "armSkuName": sku,
    }  # fmt: skip
