"""Machines of the two largest price lists: what each size is, and prices of those without a GPU.

Machines with GPUs join the offers' table. The others are many, so their prices are kept apart, compressed, and
loaded after the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from catalog.seed_making.tables import Row, without_unknowns

TYPE_COLUMNS = (
    "provider", "sku", "kind", "vcpu", "ram_gib", "cpu", "cpu_architecture", "clock_ghz", "disk_gib", "disk_kind",
    "disk_count", "storage_iops_baseline", "storage_iops_maximum", "storage_bytes_per_s_baseline",
    "storage_bytes_per_s_maximum", "network", "fabric", "source", "observed",
)  # fmt: skip
PRICE_COLUMNS = ("region", "sku", "amount", "currency", "observed_on")

AWS_TYPES = "moto 5.2.5, instance types"
AWS_PRICES = "karpenter-provider-aws zz_generated.pricing"
AZURE_PRICES = "karpenter-provider-azure zz_generated.pricing.go"
AZURE_DAY = "2026-06-18"
SOURCES = (
    {"provider": "aws", "file": "aws.csv.gz", "source": AWS_PRICES, "licence": "Apache-2.0"},
    {"provider": "azure", "file": "azure.csv.gz", "source": AZURE_PRICES, "licence": "Apache-2.0"},
)
AZURE_FABRIC = "InfiniBand (the r of the size's name: RDMA)"
CONSTRAINED = re.compile(r"Standard_[A-Z]+\d+-(\d+)[a-z]*_")
"""A size with fewer active vCPUs than its base size, of which size lists print the base's number."""
NOT_READ = "general knowledge, not read"
OTHER_ACCELERATORS = ("NeuronInfo", "InferenceAcceleratorInfo", "FpgaInfo", "MediaAcceleratorInfo")


def type_rows(
    azure_sizes: Iterable[Row], aws_types: Mapping[str, dict[str, Any]], cpus: Iterable[Row]
) -> list[Row]:
    seen_cpu = {
        (provider, sku): cpu["family"]
        for cpu in cpus
        for provider, _space, sku in (seen.partition(" ") for seen in cpu["seen_in"].split("|"))
    }
    rows = [_azure_type(row, seen_cpu) for row in azure_sizes if "PLACEHOLDER" not in row["sku"]]
    rows += [_aws_type(name, facts, seen_cpu) for name, facts in aws_types.items()]
    return sorted(rows, key=lambda row: (row["provider"], row["sku"]))


def _azure_type(row: Row, seen_cpu: Mapping[tuple[str, str], str]) -> Row:
    fabric = AZURE_FABRIC if re.match(r"Standard_ND\d+[a-z]*r[a-z]*_", row["sku"]) else ""
    disk_source = row["local_disk_source"] if row["local_disk_gib"] else ""
    sources = [row["source"], disk_source if disk_source != row["source"] else ""]
    vcpu = row["vcpu"]
    if vcpu and (constrained := CONSTRAINED.match(row["sku"])) and int(vcpu) > int(constrained[1]):
        vcpu = constrained[1]
        sources.append("vCPU: those of the size's name that are active")
    return {
        "provider": "azure",
        "sku": row["sku"],
        "kind": {"dedicated host": "host"}.get(row["kind"], row["kind"]),
        "vcpu": vcpu,
        "ram_gib": row["ram_gib"],
        "cpu": seen_cpu.get(("azure", row["sku"]), ""),
        "cpu_architecture": row["arch"],
        "disk_gib": row["local_disk_gib"],
        "fabric": fabric,
        "source": "; ".join(filter(None, sources)) or AZURE_PRICES,
        "observed": "2026-08" if row["source"] else AZURE_DAY,
    }


def _aws_type(name: str, facts: dict[str, Any], seen_cpu: Mapping[tuple[str, str], str]) -> Row:
    processor, network = facts["ProcessorInfo"], facts.get("NetworkInfo", {})
    efa = (network.get("EfaInfo") or {}).get("MaximumEfaInterfaces")
    kind = "gpu" if "GpuInfo" in facts else "cpu"
    if any(info in facts for info in OTHER_ACCELERATORS):
        kind = "other"
    disks = facts.get("InstanceStorageInfo") or {}
    disk_gb = disks.get("TotalSizeInGB")
    return without_unknowns(
        {
            "provider": "aws",
            "sku": name,
            "kind": kind,
            "vcpu": str(facts["VCpuInfo"]["DefaultVCpus"]),
            "ram_gib": _short(Decimal(facts["MemoryInfo"]["SizeInMiB"]) / 1024),
            "cpu": seen_cpu.get(("aws", name), "") or processor.get("Manufacturer", ""),
            "cpu_architecture": _architecture(processor.get("SupportedArchitectures") or [""]),
            "clock_ghz": _short(processor.get("SustainedClockSpeedInGhz") or ""),
            "disk_gib": _short(Decimal(disk_gb) * 10**9 / 1024**3) if disk_gb else "",
            **_disks(disks, local=facts.get("InstanceStorageSupported")),
            **_network_storage((facts.get("EbsInfo") or {}).get("EbsOptimizedInfo") or {}),
            "network": network.get("NetworkPerformance", ""),
            "fabric": f"EFA, {efa} interfaces"
            if efa and efa > 1
            else "EFA"
            if network.get("EfaSupported")
            else "",
            "source": AWS_TYPES,
            "observed": "2026-10",
        }
    )


def _disks(disks: dict[str, Any], *, local: bool | None) -> dict[str, str]:
    """Kind and number of the local disks; a machine that is said to have none has 0 of them, which is not unknown."""
    if local is False:
        return {"disk_gib": "0", "disk_count": "0"}
    sorts = disks.get("Disks") or []
    kinds = {one["Type"] for one in sorts}
    nvme = "nvme " if disks.get("NvmeSupport") == "required" else ""
    return {
        "disk_kind": nvme + kinds.pop() if len(kinds) == 1 else "",
        "disk_count": str(sum(one["Count"] for one in sorts)) if sorts else "",
    }


def _network_storage(ebs: dict[str, Any]) -> dict[str, str]:
    """What the machine allows towards network storage. The list's MBps are its Mbps by eight: of 10^6 bytes."""
    return {
        "storage_iops_baseline": str(ebs.get("BaselineIops", "")),
        "storage_iops_maximum": str(ebs.get("MaximumIops", "")),
        "storage_bytes_per_s_baseline": _bytes_per_s(ebs.get("BaselineThroughputInMBps")),
        "storage_bytes_per_s_maximum": _bytes_per_s(ebs.get("MaximumThroughputInMBps")),
    }


def _bytes_per_s(megabytes: float | None) -> str:
    return "" if megabytes is None else str(int(Decimal(str(megabytes)) * 10**6))


def _architecture(names: list[str]) -> str:
    """The widest of those that a processor runs, in the name that images use."""
    return "amd64" if "x86_64" in names else names[-1]


def _short(value: Any) -> str:
    text = f"{value:.2f}" if value != "" else ""
    return text.rstrip("0").rstrip(".") if "." in text else text


def list_prices(aws: Iterable[Row], azure: Iterable[Row], report: Counter[str]) -> list[Row]:
    """Both price lists in one form; twins and zeros are refused by name."""
    rows: list[Row] = []
    for row in aws:
        price = {
            "provider": "aws", "region": row["region"], "sku": row["instance_type"], "amount": row["price_per_hour"],
            "currency": row["currency"], "observed_on": row["as_of"],
        }  # fmt: skip
        rows += _kept(price, report)
    for row in azure:
        price = {
            "provider": "azure", "region": row["region"], "sku": row["sku"], "amount": row["usd_per_hour"],
            "currency": "USD", "observed_on": AZURE_DAY,
        }  # fmt: skip
        rows += _kept(price, report)
    return rows


def _kept(price: Row, report: Counter[str]) -> list[Row]:
    report[f"{price['provider']} prices read"] += 1
    reason = ""
    if Decimal(price["amount"]) <= 0:
        reason = "a price of zero is not a price"
    elif price["sku"].casefold().endswith("_promo"):
        reason = "a promotion"
    elif "PLACEHOLDER" in price["sku"]:
        reason = "a placeholder for a name"
    if reason:
        report[f"refused: {reason}"] += 1
        return []
    return [price | {"amount": _plain(price["amount"])}]


def _plain(amount: str) -> str:
    return f"{Decimal(amount).normalize():f}"


def gpu_observations(
    prices: Iterable[Row], azure_sizes: Mapping[str, Row], table: Iterable[Row], report: Counter[str]
) -> list[Row]:
    """Machines with GPUs that the offers' table does not price in a region, as its rows.

    Card and count are the table's own for the same size elsewhere, else the size list's; what that wrote from
    general knowledge is listed and not compared.
    """
    table = list(table)
    there = {(row["provider"], row["sku"], row["region"]) for row in table}
    known = {(row["provider"], row["sku"]): row for row in table if row["provider"] in ("aws", "azure")}
    found = []
    for price in prices:
        provider, sku = price["provider"], price["sku"]
        size = azure_sizes.get(sku) if provider == "azure" else None
        like = known.get((provider, sku))
        if (provider, sku, price["region"]) in there or (
            like is None and (size is None or size["kind"] != "gpu")
        ):
            continue
        report["machines with GPUs added from the price lists"] += 1
        source = next(one for one in SOURCES if one["provider"] == provider)
        base = _like(like) if like else _of_size(size or {})
        found.append(base | {
            "provider": provider, "sku": sku, "region": price["region"], "tier": "on_demand",
            "amount": price["amount"], "currency": price["currency"], "unit": "hour",
            "observed_on": price["observed_on"], "observed_precision": "day",
            "source": source["source"], "licence": source["licence"],
        })  # fmt: skip
    return found


def _like(row: Row) -> Row:
    columns = (
        "accelerator", "as_written", "gpu_count", "gpu_fraction", "gpu_memory_gib", "vcpu", "ram_gib",
        "not_comparable", "not_comparable_detail",
    )  # fmt: skip
    return {name: row.get(name, "") for name in columns} | {
        "spec_source": row.get("spec_source") or row["source"]
    }


def _of_size(size: Row) -> Row:
    count = Decimal(size["gpu_count"]) if size["gpu_count"] else None
    slice_of = count if count is not None and count < 1 else None
    reason = "card_not_read" if NOT_READ in size["gpu_basis"] else ""
    if count is None:
        reason = "count_unknown"
    return {
        "accelerator": size["gpu"],
        "as_written": size["gpu"],
        "gpu_count": "" if count is None else "1" if slice_of else str(int(count)),
        "gpu_fraction": str(slice_of or ""),
        "vcpu": size["vcpu"],
        "ram_gib": size["ram_gib"],
        "spec_source": size["source"],
        "not_comparable": reason,
    }


def cpu_prices(
    prices: Iterable[Row], types: Mapping[tuple[str, str], Row], gpu_rows: Iterable[Row]
) -> list[Row]:
    """Prices of machines that have no GPU, or of which nothing but the price is known."""
    with_gpu = {(row["provider"], row["sku"]) for row in gpu_rows}
    rows = [
        price
        for price in prices
        if (price["provider"], price["sku"]) not in with_gpu
        and types.get((price["provider"], price["sku"]), {}).get("kind") != "gpu"
    ]
    return sorted(rows, key=lambda row: (row["sku"], row["region"]))
