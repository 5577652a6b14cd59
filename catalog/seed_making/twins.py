"""One product that several sources list under names of their own becomes one offer with several observations.

The rule, which `docs/decisions.md` explains: same provider, card, count, share of a card, region and tier; a name
that says nothing but the card; no contradicting size; and no source that tells two of them apart itself.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date, timedelta

from catalog.identify import identify
from catalog.seed_making.tables import Row

SIZE_FORGOTTEN_AFTER = timedelta(days=180)
"""A size last seen this long before the newest observation does not compete with a newer one."""

SALES_WORDS = re.compile(
    r"(?<![a-z])(on[- ]demand|spot|community|secure|reserved|preemptible|serverless|from)(?![a-z])"
)
WITH_LINK = re.compile(r"nvlink", re.IGNORECASE)

Product = tuple[str, ...]


def merge_twins(rows: list[Row], names_seen: dict[str, list[str]], report: Counter[str]) -> None:
    """Give observations of one product one name, in place; what each source calls it goes into the note."""
    products: dict[Product, list[Row]] = defaultdict(list)
    for row in rows:
        product = _product(row, names_seen.get(row["provider"], []))
        if product is not None:
            products[product].append(row)
    joined: dict[tuple[str, ...], str] = {}
    for found in products.values():
        for same in _of_one_size(found):
            names = {row["sku"] for row in same}
            if len(names) > 1 and not _told_apart_by_a_source(same):
                sku = _join(same)
                joined.update({(*_any_count(same[0]), name): sku for name in names})
                report["joined: names of one product"] += len(names) - 1
    for row in rows:
        # A count that only one of the sources prices is still a machine of that product.
        row["sku"] = joined.get((*_any_count(row), row["sku"]), row["sku"])


def _any_count(row: Row) -> tuple[str, ...]:
    return tuple(row[column] for column in ("provider", "accelerator", "region", "tier", "tier_detail"))


def _product(row: Row, names: Iterable[str]) -> Product | None:
    """What the offer is beside its name; None where the name says more than the card."""
    if row["not_comparable"] or not row["accelerator"]:
        return None
    name = plain_name(row["sku"], [row["provider"], *names])
    answer = identify(name, row["provider"])
    if row["accelerator"] not in (answer.canonical, *answer.candidates):
        return None
    linked = "nvlink" if WITH_LINK.search(name) else ""
    columns = (
        "provider",
        "accelerator",
        "gpu_count",
        "gpu_fraction",
        "region",
        "tier",
        "tier_detail",
        "currency",
    )
    return (*(row.get(column, "") for column in columns), linked)


def plain_name(sku: str, provider_names: Iterable[str]) -> str:
    """A source's name without the provider, the terms of sale and a size that was written after the card.

    >>> plain_name("hyperstack-rtx-a6000-on-demand", ["hyperstack"])
    'rtx-a6000'
    """
    name = sku.casefold().partition(" × ")[0]
    for provider in sorted(provider_names, key=len, reverse=True):
        for written in (provider.casefold(), provider.casefold().replace(".", "-").replace(" ", "-")):
            if name.startswith(f"{written}-"):
                name = name[len(written) + 1 :]
    return SALES_WORDS.sub(" ", name).strip(" -")


def _of_one_size(rows: list[Row]) -> list[list[Row]]:
    """Parted where stated sizes contradict; rows without a size belong to the only one that competes."""
    last_seen: dict[tuple[str, str], date] = {}
    for row in rows:
        if size := _size(row):
            last_seen[size] = max(last_seen.get(size, date.min), _day(row))
    newest = max(_day(row) for row in rows)
    competing = [size for size, day in last_seen.items() if newest - day <= SIZE_FORGOTTEN_AFTER] or list(
        last_seen
    )
    parts: dict[tuple[str, str] | None, list[Row]] = defaultdict(list)
    for row in rows:
        parts[_size(row) or (competing[0] if len(competing) == 1 else None)].append(row)
    return list(parts.values())


def _size(row: Row) -> tuple[str, str] | None:
    return (row["vcpu"], row["ram_gib"]) if row["vcpu"] and row["ram_gib"] else None


def _day(row: Row) -> date:
    return date.fromisoformat(row["observed_on"])


def _told_apart_by_a_source(rows: list[Row]) -> bool:
    names: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        names[row["source"]].add(row["sku"])
    return any(len(one) > 1 for one in names.values())


def _join(rows: list[Row]) -> str:
    """The name of the newest source, the size that any of them states, and who calls it what."""
    newest = max(rows, key=lambda row: (row["observed_on"], row["sku"]))
    sized = next((row for row in sorted(rows, key=_day, reverse=True) if _size(row)), None)
    others = sorted({(row["sku"], row["source"]) for row in rows if row["sku"] != newest["sku"]})
    note = "; ".join(f"listed as {sku} ({source})" for sku, source in others)
    for row in rows:
        if sized is not None and not _size(row):
            row["vcpu"], row["ram_gib"] = sized["vcpu"], sized["ram_gib"]
            row["spec_source"] = sized["spec_source"] or sized["source"]
    sku = newest["sku"]
    for row in rows:
        row["sku"] = sku
        row["note"] = "; ".join(filter(None, (row["note"], note)))[:200]
    return sku


def mark_unplaced(rows: list[Row], report: Counter[str]) -> None:
    """A price that names no region, of a machine that its provider prices by region, is not comparable."""
    placed = {(row["provider"], _squeezed(row["sku"]), row["tier"]) for row in rows if row["region"]}
    for row in rows:
        key = (row["provider"], _squeezed(row["sku"]), row["tier"])
        if not row["region"] and not row["not_comparable"] and key in placed:
            row["not_comparable"] = "region_unknown"
            report["region not stated, priced by region elsewhere"] += 1


def _squeezed(sku: str) -> str:
    return re.sub(r"[\s_\-]+", "", sku.casefold().removeprefix("standard_"))
