"""The catalog that gpuhunt publishes: one compressed CSV for each provider, for those without a source of their own."""

from __future__ import annotations

import csv
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from io import BytesIO
from typing import Any

import httpx2

from catalog.sources import answers
from catalog.sources.fetching import Deadline, Limits, read
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure

PROVIDERS = {
    "gcp": "gcp", "lambdalabs": "lambda", "nebius": "nebius", "verda": "verda", "crusoe": "crusoe",
    "digitalocean": "digitalocean", "cudo": "cudo",
}  # fmt: skip
"""Their names there and here."""
TITLE = "gpuhunt catalog"
DEFAULT_BASE_URL = "https://dstack-gpu-pricing.s3.eu-west-1.amazonaws.com"
VERSION = re.compile(r"[0-9A-Za-z._-]{1,40}", re.ASCII)
UNPACKED_BYTES_MAXIMUM = 60_000_000
NEEDED = (
    "instance_name",
    "location",
    "price",
    "cpu",
    "memory",
    "gpu_count",
    "gpu_name",
    "gpu_memory",
    "spot",
)


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    run = Deadline(limits.run_s)
    asked = [name.strip() for name in credentials.get("providers", "").split(",") if name.strip()]
    for number, name in enumerate(asked or PROVIDERS, 1):
        if name not in PROVIDERS:
            raise SourceFailure("provider_unknown", name[:40])
        folder = f"{base_url.rstrip('/')}/v3/{name}"
        version = read(client, f"{folder}/version", limits, run).decode("ascii", "replace").strip()
        if not VERSION.fullmatch(version):
            raise SourceFailure("schema_changed", f"version of {name}")
        url = f"{folder}/{version}/catalog.zip"
        yield Page(number=number, url=url, body=read(client, url, limits, run))


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    for page in pages:
        name = page.url.rstrip("/").split("/")[-3]
        if name not in PROVIDERS:
            raise SourceFailure("provider_unknown", name[:40])
        lines = csv.DictReader(_unpacked(page.body).splitlines(), strict=True)
        missing = [column for column in NEEDED if column not in (lines.fieldnames or ())]
        if missing:
            raise SourceFailure("schema_changed", ", ".join(missing)[:100])
        try:
            for row in lines:
                yield _quote(PROVIDERS[name], row)
        except csv.Error:
            raise SourceFailure("unreadable", "not CSV") from None


def _unpacked(body: bytes) -> str:
    try:
        with zipfile.ZipFile(BytesIO(body)) as book:
            parts = [part for part in book.infolist() if part.filename.endswith(".csv")]
            if len(parts) != 1:
                raise SourceFailure("schema_changed", f"{len(parts)} tables")
            with book.open(parts[0]) as file:
                text = file.read(UNPACKED_BYTES_MAXIMUM + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        raise SourceFailure("unreadable", "not a zip file") from None
    if len(text) > UNPACKED_BYTES_MAXIMUM:
        raise SourceFailure("too_large", f"> {UNPACKED_BYTES_MAXIMUM} bytes unpacked")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise SourceFailure("unreadable", "not UTF-8") from None


def _quote(provider: str, row: dict[str, Any]) -> Quote | Refused:
    def number(name: str) -> Decimal | None:
        try:
            return answers.figure(Decimal(row.get(name) or ""))
        except ArithmeticError:
            return None

    count = answers.whole(number("gpu_count"))
    if not count:
        return Refused(reason="no_gpu")
    price = answers.amount(row.get("price") or "", text=True)
    if isinstance(price, Refused):
        return price
    written = str(row.get("gpu_name") or "")
    return Quote(
        provider=provider, sku=str(row["instance_name"] or "")[:120], region=str(row["location"] or "")[:60],
        tier="spot" if str(row["spot"]).casefold() == "true" else "on_demand", amount=price, currency="USD",
        gpu_count=count, vcpu=number("cpu"), ram_gib=number("memory"),
        **answers.card(written, provider, number("gpu_memory")),
    )  # fmt: skip
