"""Nebius: a list of platforms for each region, and a calculator that is asked for the price of each of their sizes.

The service speaks gRPC through a library of its own, which is not installed unless an operator wants it
(``requirements-nebius.txt``). Its messages are kept as the JSON that the protocol prescribes, so that reading them
needs no library. The calculator names no currency; the list of spot prices does, and is read for that alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import httpx2

from catalog.sources import answers, nebius_calls
from catalog.sources.fetching import Limits
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure

PROVIDER = "nebius"
TITLE = "Nebius price calculator"
DEFAULT_BASE_URL = "https://api.nebius.cloud"
GENERATION = re.compile(r"-[a-z]$")
"""Platforms of the same card in other hosts: ``gpu-l40s-a``, ``gpu-l40s-d``, ``gpu-b200-sxm-a``."""


def fetch(
    _client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    base = base_url.rstrip("/")
    with nebius_calls.opened(base, credentials["credentials_file"], limits) as service:
        spot = service.spot_prices()
        yield _page(1, f"{base}/nebius.billing.v1alpha1.SpotPriceService/List", {"spot": spot})
        for number, (region, project) in enumerate(sorted(service.projects().items()), 2):
            platforms = service.platforms(project)
            found = {
                "region": region,
                "platforms": platforms,
                "estimates": [
                    {"platform": name, "preset": preset, "preemptible": preemptible}
                    | {"answer": service.estimate(project, name, preset, preemptible)}
                    for name, preset, preemptible in _questions(platforms)
                ],
            }
            yield _page(number, f"{base}/nebius.billing.v1alpha1.CalculatorService/Estimate?{region}", found)


def _page(number: int, url: str, found: dict[str, Any]) -> Page:
    return Page(number=number, url=url[:400], body=json.dumps(found).encode())


def _questions(pages: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str, bool]]:
    """What the calculator is asked: each size with GPUs, kept and, where that is offered, preemptible."""
    for platform, preset in _sizes(pages):
        if not _count(preset):
            continue
        name = str(platform["metadata"]["name"])
        yield name, str(preset["name"]), False
        if _part(platform, "status").get("allowedForPreemptibles") is True:
            yield name, str(preset["name"]), True


def _sizes(pages: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for page in pages:
        # A list or field that is empty is left out of such JSON.
        for platform in answers.rows(page, "items") if "items" in page else ():
            spec = _part(platform, "spec")
            if not _part(platform, "metadata").get("name"):
                raise SourceFailure("schema_changed", "a platform without a name")
            for preset in answers.rows(spec, "presets") if "presets" in spec else ():
                answers.needed(preset, "name", "resources")
                yield platform, preset


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    for page in pages:
        found = answers.document(page.body)
        if "spot" in found:
            _check_currency(answers.rows(found, "spot"))
            continue
        answers.needed(found, "region", "platforms", "estimates")
        costs = {
            (row.get("platform"), row.get("preset"), row.get("preemptible")): _part(row, "answer")
            for row in answers.rows(found, "estimates")
        }
        for platform, preset in _sizes(answers.rows(found, "platforms")):
            if not _count(preset):
                yield Refused(reason="no_gpu")
                continue
            for preemptible in (False, True):
                answer = costs.get((platform["metadata"]["name"], preset["name"], preemptible))
                if answer is not None:
                    yield _quote(str(found["region"])[:60], platform, preset, preemptible, answer)


def _check_currency(pages: Iterable[dict[str, Any]]) -> None:
    for page in pages:
        for row in answers.rows(page, "items") if "items" in page else ():
            currency = str(_part(row, "price").get("currency", "")).upper()
            if currency != "USD":
                raise SourceFailure("wrong_currency", currency[:10])


def _quote(
    region: str, platform: dict[str, Any], preset: dict[str, Any], preemptible: bool, answer: dict[str, Any]
) -> Quote | Refused:
    total = _part(_part(_part(answer, "hourlyCost"), "general"), "total")
    price = answers.amount(total.get("cost"), text=True)
    if isinstance(price, Refused):
        return price
    name = str(platform["metadata"]["name"])
    resources = _part(preset, "resources")
    memory = answers.figure(_part(platform, "spec").get("gpuMemoryGigabytes"))
    return Quote(
        sku=f"{name} {preset['name']}"[:120], region=region, tier="spot" if preemptible else "on_demand",
        amount=price, currency="USD", gpu_count=_count(preset), vcpu=answers.figure(resources.get("vcpuCount")),
        ram_gib=answers.figure(resources.get("memoryGibibytes")),
        fabric="InfiniBand" if preset.get("allowGpuClustering") is True else "",
        **(answers.card(GENERATION.sub("", name), PROVIDER, memory) | {"as_written": name[:120]}),
    )  # fmt: skip


def _count(preset: dict[str, Any]) -> int | None:
    count: Decimal | None = answers.figure(_part(preset, "resources").get("gpuCount"))
    return int(count) if count is not None and count <= answers.GPU_COUNT_MAXIMUM else None


def _part(row: dict[str, Any], name: str) -> dict[str, Any]:
    part = row.get(name)
    return part if isinstance(part, dict) else {}
