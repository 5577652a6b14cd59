"""Vultr: cloud plans with whole GPUs and slices of them, and bare metal; one price in all places of a plan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import httpx2

from catalog.facts import accelerators
from catalog.sources import answers
from catalog.sources.fetching import Deadline, Limits
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure

PROVIDER = "vultr"
TITLE = "Vultr plans"
DEFAULT_BASE_URL = "https://api.vultr.com"
LISTS = ("plans", "plans-metal")
METAL_NAME = re.compile(r"-(\d{1,2})-([a-z0-9-]+?)-gpu$")
"""Bare metal names its GPUs in the plan's id alone."""
MEMORY_TOLERANCE = Decimal("0.06")
"""A card sold with 48 GB reports a little less; slices are far apart."""
SHARE_STEP = Decimal("0.0001")
"""Shares of a card are kept to this; a smaller one is none."""


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    run = Deadline(limits.run_s)
    number = 1
    for name in LISTS:
        url = f"{base_url.rstrip('/')}/v2/{name}?per_page=500" + ("&type=all" if name == "plans" else "")
        for page in answers.paged(
            client, url, limits, run, number, cursor_at=("meta", "links", "next"), parameter="cursor"
        ):
            number = page.number + 1
            yield page


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    for page in pages:
        found = answers.document(page.body)
        metal = "plans_metal" in found
        for row in answers.rows(found, "plans_metal" if metal else "plans"):
            answers.needed(row, "id", "hourly_cost", "locations")
            yield from _quotes(row, metal)


def _quotes(row: dict[str, Any], metal: bool) -> Iterator[Quote | Refused]:
    facts = _metal_gpus(row) if metal else _cloud_gpus(row)
    if facts is None:
        yield Refused(reason="no_gpu")
        return
    places = row["locations"]
    if not isinstance(places, list) or not all(isinstance(place, str) for place in places):
        raise SourceFailure("schema_changed", "locations")
    facts |= {
        "sku": str(row["id"])[:120], "currency": "USD", "ram_gib": answers.gib(row.get("ram")),
        "vcpu": answers.figure(row.get("cpu_threads" if metal else "vcpu_count")),
    }  # fmt: skip
    if not places:
        # A product without capacity now: it is listed, and nobody can rent it today.
        places, facts["not_comparable"] = [""], facts.get("not_comparable") or "no_capacity"
    facts["availability"] = "available" if row["locations"] else "none"
    for column, tier in (("hourly_cost", "on_demand"), ("hourly_cost_preemptible", "spot")):
        if row.get(column) is None and tier == "spot":
            continue
        price = answers.amount(row[column])
        if isinstance(price, Refused):
            yield price
            continue
        for place in sorted(set(places)):
            yield Quote(tier=tier, region=place[:60], amount=price, **facts)


def _metal_gpus(row: dict[str, Any]) -> dict[str, Any] | None:
    name = METAL_NAME.search(str(row["id"]))
    return None if name is None else answers.card(name[2], PROVIDER) | {"gpu_count": int(name[1])}


def _cloud_gpus(row: dict[str, Any]) -> dict[str, Any] | None:
    """Count and share from the plan's GPU memory: so many cards, or one part of a card."""
    written = row.get("gpu_type")
    if not isinstance(written, str) or not written:
        return None
    memory_gib = answers.figure(row.get("gpu_vram_gb"))
    facts = answers.card(written.replace("_", " "), PROVIDER)
    fact = accelerators().get(facts["accelerator"] or "")
    if fact is None:
        return facts | {"gpu_memory_gib": memory_gib}
    if memory_gib is None or not fact.memory_gb:
        return facts | {"not_comparable": "count_unknown"}
    cards = memory_gib / Decimal(str(fact.memory_gb))
    count = max(1, round(cards))
    if count <= answers.GPU_COUNT_MAXIMUM and abs(cards - count) <= MEMORY_TOLERANCE * count:
        return facts | {"gpu_count": count, "gpu_memory_gib": memory_gib / count}
    if SHARE_STEP <= cards < 1:
        return facts | {
            "gpu_count": 1, "gpu_fraction": cards.quantize(SHARE_STEP), "gpu_memory_gib": memory_gib,
        }  # fmt: skip
    return facts | {"not_comparable": "count_unknown"}
