"""Facts of accelerators: every shipped figure as the research table has it, unknown ones unknown."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from catalog.facts import RATES, accelerators


def test_an_l4_has_three_memory_figures_and_the_reported_one_counts() -> None:
    fact = accelerators()["L4"]
    assert (fact.memory_gb, fact.smi_mib) == (24, 23034)
    assert fact.memory_bytes == 23034 * 1024**2


def test_formats_that_do_not_run_are_told_from_unknown_ones() -> None:
    h100 = accelerators()["H100-SXM5"]
    assert h100.dense_rates["fp8"] == 1979e12
    assert "fp4" in h100.not_run
    t4 = accelerators()["T4"]
    assert "bf16" in t4.not_run
    unread = accelerators()["H100-96GB-HBM2e"]
    assert unread.bandwidth_bytes_per_s is None
    assert "fp16" not in unread.dense_rates
    assert "fp16" not in unread.not_run


def test_an_mi250x_is_one_of_the_two_devices_of_its_module() -> None:
    fact = accelerators()["MI250X"]
    assert (fact.memory_gb, fact.bandwidth_bytes_per_s, fact.devices_per_board) == (64, 1638e9, 2)


def test_a_bridge_sold_apart_is_not_the_link_of_a_pcie_card() -> None:
    pcie, sxm = accelerators()["H100-PCIe"], accelerators()["H100-SXM5"]
    assert (pcie.link, pcie.link_bytes_per_s, pcie.bridge_bytes_per_s) == ("pcie", None, 600e9)
    assert (sxm.link, sxm.link_bytes_per_s) == ("nvswitch", 900e9)
    assert pcie.pcie_bytes_per_s == pytest.approx(63e9, rel=0.01)


def test_every_accelerator_has_sources_for_its_figures_and_a_date_or_is_undated() -> None:
    for fact in accelerators().values():
        assert fact.sources.get("memory"), fact.name
        assert fact.bandwidth_bytes_per_s is None or fact.sources.get("bandwidth"), fact.name
        assert not fact.dense_rates or fact.sources.get("flops"), fact.name
        assert fact.tdp_w is None or fact.sources.get("tdp"), fact.name


def test_what_nobody_read_is_marked_unverified() -> None:
    assert accelerators()["H100-PCIe"].is_unverified("interconnect")
    assert not accelerators()["H100-SXM5"].is_unverified("memory")


@pytest.mark.measurements
def test_the_shipped_facts_are_those_of_the_research_table(measurements: Path) -> None:
    with (measurements / "facts" / "accelerators.csv").open(encoding="utf-8") as lines:
        rows = {row["gpu"]: row for row in csv.DictReader(lines)}
    assert set(rows) == set(accelerators())
    for name, row in rows.items():
        fact = accelerators()[name]
        assert (fact.memory_gb, fact.smi_mib) == (
            _number(row["memory_gb_vendor"]),
            _number(row["usable_mib_reported"]),
        )
        bandwidth = _number(row["bandwidth_gb_s"])
        assert fact.bandwidth_bytes_per_s == (None if bandwidth is None else pytest.approx(bandwidth * 1e9))
        for rate in RATES:
            cell = row[f"{rate}_tops" if rate == "int8" else f"{rate}_tflops"]
            known = _number(cell)
            expected = None if known is None else pytest.approx(known * 1e12)
            assert fact.dense_rates.get(rate) == expected, (name, rate)
            assert (rate in fact.not_run) == (cell == "n/a"), (name, rate)


def _number(cell: str) -> float | None:
    return None if cell in ("", "n/a") else float(cell)
