"""Offers and prices of the research tables as seed rows: one row is one observation of one machine."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import Decimal

from catalog.identify import identify
from catalog.seed_making.machines import gpu_observations
from catalog.seed_making.tables import Row
from catalog.seed_making.terms import GPU_COUNTS
from catalog.seed_making.twins import mark_unplaced, merge_twins

COLUMNS = (
    "provider", "sku", "region", "tier", "tier_detail", "accelerator", "as_written", "gpu_count",
    "gpu_fraction",
    "gpu_memory_gib", "vcpu", "ram_gib", "sold_per_gpu", "fabric", "spec_source",
    "not_comparable", "not_comparable_detail", "note", "amount", "currency", "unit", "observed_on",
    "observed_precision", "effective_from", "estimated", "floor", "source", "licence",
)  # fmt: skip

ONE_AT_A_TIME = frozenset({"vast", "akash", "tensordock", "salad", "spheron", "coreweave"})
"""Marketplaces, where one host's price does not scale to a machine with more GPUs, and single-GPU rates."""

DEVICES_OF_ONE_MACHINE = {"GB200": 4, "GB300": 4, "GH200-96GB": 1, "GH200-144GB": 1}
"""Superchips: a rack is 72 GPUs, its machines have four; a GH200 is one."""

HOST_APART = re.compile(r"CPU\b.*billed separately")
"""The price is the GPU's alone; a machine costs more, and how much is not said."""

REASONS = (
    ("GPU count unknown", "count_unknown"),
    ("fraction of a card", "slice_memory_unknown"),
    ("ambiguous card: ", "ambiguous_accelerator"),
    ("GPU price only", "host_price_unknown"),
    ("stated memory", "memory_contradicts"),
)
"""How the table words a reason, and the code that the product uses."""


def offer_rows(
    table: Iterable[Row],
    pages: Iterable[Row],
    azure_sizes: dict[str, Row],
    names_seen: dict[str, list[str]],
    list_prices: Iterable[Row] = (),
) -> tuple[list[Row], Counter[str]]:
    """All observations, sorted, and a count of what happened to the rows."""
    table = list(table)
    report: Counter[str] = Counter()
    found: list[Row] = []
    shared_skus = _skus_of_several_cards(table)
    for row in table:
        report["offers.csv read"] += 1
        found += _of_table(row, azure_sizes, shared_skus)
    sold = _sold_by(table)
    for row in pages:
        if row["kind"] != "gpu":
            continue
        report["pages_2026.csv GPU rows read"] += 1
        found += _of_page(row, sold)
    found += gpu_observations(list_prices, azure_sizes, found, report)
    found = [{column: row.get(column, "") for column in COLUMNS} for row in found]
    merge_twins(found, names_seen, report)
    mark_unplaced(found, report)
    kept = _one_per_day(found, report)
    report["kept"] = len(kept)
    return kept, report


def _skus_of_several_cards(table: list[Row]) -> set[tuple[str, str]]:
    """A host type to which several cards are attached (``n1-highmem-8``) does not name the machine."""
    cards: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in table:
        cards[row["provider_id"], row["sku"]].add(row["gpu"])
    return {key for key, names in cards.items() if key[1] and len(names) > 1}


def _of_table(row: Row, azure_sizes: dict[str, Row], shared_skus: set[tuple[str, str]]) -> list[Row]:
    count, fraction = _count(row["gpu_count"])
    reason, detail = _reason(row["why_not_sizable"])
    accelerator = row["accelerator"]
    if reason == "slice_memory_unknown" and _slice_memory_is_stated(row, fraction):
        reason = detail = ""
    if not reason and HOST_APART.search(row["note"]):
        reason, detail = "host_price_unknown", ""
    size = azure_sizes.get(row["sku"]) if row["provider_id"] == "azure" else None
    if size is not None and count is None and size["gpu_count"] and size["gpu"] == accelerator:
        count, fraction = _count(size["gpu_count"])
        reason, detail = ("slice_memory_unknown", "") if fraction < 1 else ("", "")
    sku = row["sku"]
    if (row["provider_id"], sku) in shared_skus:
        sku = f"{sku} + {row['gpu_raw']}"
    if not sku:
        sku = f"{row['gpu_raw']} × {count or '?'}, {row['vcpus'] or '?'} vCPU, {row['ram_gib'] or '?'} GiB"
    tier, tier_detail = _tier(row)
    observation = {
        "provider": row["provider_id"],
        "sku": sku,
        "region": row["region"].removesuffix(" (default)"),
        "tier": tier,
        "tier_detail": tier_detail,
        "accelerator": accelerator,
        "as_written": row["gpu_raw"],
        "gpu_count": "" if count is None else str(count),
        "gpu_fraction": "" if fraction == 1 else str(fraction),
        "gpu_memory_gib": row["gpu_mem_gib"],
        "vcpu": _lower_end(row["vcpus"]),
        "ram_gib": _lower_end(row["ram_gib"]),
        "sold_per_gpu": "yes" if row["unit"] == "gpu-hour" else "",
        "spec_source": row["spec_source"],
        "not_comparable": reason,
        "not_comparable_detail": detail,
        "note": row["note"],
        "amount": row["price"],
        "currency": row["currency"],
        "unit": "hour",
        "observed_on": row["observed_on"],
        "observed_precision": row["observed_precision"],
        "estimated": "yes" if row["is_estimate"] == "true" else "",
        "floor": "yes" if row["is_marketplace_floor"] == "true" else "",
        "source": row["source"],
        "licence": row["licence"],
    }
    return _by_count(observation)


def _count(cell: str) -> tuple[int | None, Decimal]:
    """Whole devices, and the share of one that each is."""
    if not cell:
        return None, Decimal(1)
    share = Decimal(cell)
    return (1, share) if share < 1 else (int(share), Decimal(1))


def _lower_end(cell: str) -> str:
    """Of a range (``24-30``) the end that is certain to be there."""
    return cell.partition("-")[0]


def _slice_memory_is_stated(row: Row, fraction: Decimal) -> bool:
    """The provider prints the slice's own memory, and it is the card's times the fraction."""
    cards = {"L4": Decimal("22.35")}
    whole = cards.get(row["accelerator"])
    return whole is not None and abs(Decimal(row["gpu_mem_gib"]) - whole * fraction) < Decimal("0.05")


def _reason(words: str) -> tuple[str, str]:
    if not words:
        return "", ""
    for start, code in REASONS:
        if words.startswith(start):
            return code, _detail(code, words.removeprefix(start))
    raise ValueError(f"no code for the reason: {words}")


def _detail(code: str, words: str) -> str:
    """Candidates of an ambiguous card; stated memory and that of the card where they contradict."""
    if code == "ambiguous_accelerator":
        return words
    figures = re.findall(r"[\d/]+ GB", words) if code == "memory_contradicts" else []
    return "|".join(figures)


def _tier(row: Row) -> tuple[str, str]:
    detail = row["tier_detail"]
    if detail == "community":
        return "community", detail
    if row["price_tier"] == "spot":
        return "spot", detail.partition(",")[0]
    return "on_demand", detail


def _by_count(observation: Row) -> list[Row]:
    """A price per GPU holds for every count that the provider is known to rent, else for one."""
    if not observation["sold_per_gpu"]:
        return [observation]
    counts = GPU_COUNTS.get(observation["provider"], [1])
    if observation["provider"] in ONE_AT_A_TIME or observation["floor"] or observation["not_comparable"]:
        counts = [1]
    counts = [
        count for count in counts if count <= DEVICES_OF_ONE_MACHINE.get(observation["accelerator"], count)
    ]
    per_gpu = Decimal(observation["amount"])
    return [
        observation
        | {"gpu_count": str(count), "amount": str(per_gpu * count)}
        | ({} if count == 1 else {"vcpu": "", "ram_gib": ""})
        for count in counts
    ]


# --- The newest list prices --------------------------------------------------------------------------------

ITEM_CARDS = {
    ("oci", "GPU A100 v2"): "A100-SXM4-80GB",
    ("oci", "GPU H100"): "H100-SXM5",
    ("gcp", "a3-highgpu-1g"): "H100-SXM5",
    ("coreweave", "GH200"): "GH200-96GB",
    ("hyperstack", "H100 NVLink"): "H100-PCIe",
    ("hyperstack", "A100 NVLink"): "A100-PCIe-80GB",
}
"""Items whose name is the machine's, not the card's: BM.GPU.A100-v2.8, BM.GPU.H100.8, A3 High, one-GPU
GH200, and Hyperstack's flavours named A100-80G-PCIe-NVLink and H100-80G-PCIe-NVLink."""

ITEM_COUNTS = {
    ("oci", "GPU A10"): [1, 2, 4], ("oci", "GPU A100 v2"): [8], ("oci", "GPU H100"): [8],
    ("nebius", "L40S (Intel)"): [1, 2, 4], ("nebius", "L40S (AMD)"): [1, 2, 4],
}  # fmt: skip

ANY_OF_PAGES = {"nebius": [1, 8]}

DAYS = {"2024-10 or before": ("2024-10-01", "month or before"), "2026": ("2026-01-01", "year")}


def _sold_by(table: list[Row]) -> dict[str, set[str]]:
    sold: dict[str, set[str]] = defaultdict(set)
    for row in table:
        if row["accelerator"]:
            sold[row["provider_id"]].add(row["accelerator"])
    return sold


def _of_page(row: Row, sold: dict[str, set[str]]) -> list[Row]:
    provider, item = row["provider"], row["item"]
    accelerator, reason, detail = _card_of_page(provider, item, sold.get(provider, set()))
    observed_on, precision = DAYS.get(row["as_of"], (row["as_of"], "day"))
    effective_from = ""
    if match := re.search(r"effective (\d{4}-\d\d-\d\d)", row["source"]):
        effective_from = match[1]
    elif match := re.search(r"price before (\d{4}-\d\d)-01", row["source"]):
        observed_on, precision = f"{match[1]}-01", "before this day"
    tier, tier_detail = {
        "on_demand": ("on_demand", ""), "on_demand_list": ("on_demand", ""), "spot": ("spot", ""),
        "reserved_from": ("reserved", "from"), "community": ("community", "community"),
        "secure": ("on_demand", "secure"),
    }[row["tier"]]  # fmt: skip
    per_gpu = row["unit"] == "gpu-hour"
    stated = [int(row["gpu_count_per_node"])] if row["gpu_count_per_node"] else None
    observation = {
        "provider": provider,
        "sku": item,
        "tier": tier,
        "tier_detail": tier_detail,
        "accelerator": accelerator,
        "as_written": item,
        "sold_per_gpu": "yes" if per_gpu else "",
        "not_comparable": reason,
        "not_comparable_detail": detail,
        "region": "us-central1" if "us-central1" in row["source"] else "",
        "currency": row["currency"],
        "unit": "hour",
        "observed_on": observed_on,
        "observed_precision": precision,
        "effective_from": effective_from,
        "estimated": "yes" if "median" in row["source"] or "twelve days later" in row["source"] else "",
        "floor": "yes" if re.search(r"\bfrom$", item) or row["tier"] == "reserved_from" else "",
        "source": row["source"],
    }
    price = Decimal(row["price"])
    if not per_gpu:
        return [observation | {"gpu_count": str(stated[0]) if stated else "", "amount": str(price)}]
    counts = ITEM_COUNTS.get((provider, item)) or ANY_OF_PAGES.get(provider)
    if provider == "runpod":
        counts = GPU_COUNTS["runpod"]
    elif stated:
        counts = stated
    elif counts is None:
        counts = GPU_COUNTS.get(provider, [1])
    if provider in ONE_AT_A_TIME or reason:
        counts = [1]
    counts = [count for count in counts if count <= DEVICES_OF_ONE_MACHINE.get(accelerator, count)]
    return [observation | {"gpu_count": str(count), "amount": str(price * count)} for count in counts]


def _card_of_page(provider: str, item: str, sold: set[str]) -> tuple[str, str, str]:
    """Accelerator, and why it is not comparable if that is not one."""
    known = ITEM_CARDS.get((provider, item))
    if known:
        return known, "", ""
    name = re.sub(r"\b(?:from|preemptible|GPU|Intel|AMD)\b", " ", item)
    answer = identify(name, provider)
    if answer.canonical:
        return answer.canonical, "", ""
    narrowed = [card for card in answer.candidates if card in sold]
    if len(narrowed) == 1:
        return narrowed[0], "", ""
    code = "ambiguous_accelerator" if answer.status == "ambiguous" else "unknown_accelerator"
    return "", code, "|".join(answer.candidates)


# --- One price a day ---------------------------------------------------------------------------------------


def _one_per_day(found: list[Row], report: Counter[str]) -> list[Row]:
    """Of several prices of a machine on one day the highest is kept: a plan must not promise the lower."""
    kept: dict[tuple[str, ...], Row] = {}
    for row in found:
        key = tuple(
            row[column]
            for column in (
                "provider", "sku", "region", "tier", "tier_detail", "gpu_count", "observed_on",
                "effective_from", "source",
            )
        )  # fmt: skip
        other = kept.get(key)
        if other is None:
            kept[key] = row
            continue
        report[
            "merged: same machine, day and source"
            if other["amount"] == row["amount"]
            else "merged: highest of several"
        ] += 1
        if Decimal(row["amount"]) > Decimal(other["amount"]):
            kept[key] = row
    return [kept[key] for key in sorted(kept)]
