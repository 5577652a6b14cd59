"""Fact sheets of accelerators: one in a list, one on its page, several beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog import wording
from catalog.facts import RATES, AcceleratorFact, Rate
from catalog.sheets import GIB, Fact, number, scaled

SHOWN_RATES: tuple[Rate, ...] = ("bf16", "fp8", "int8", "fp4")


@dataclass(frozen=True)
class FactGroup:
    title: wording.Text
    facts: list[Fact]


def accelerator_row(fact: AcceleratorFact) -> dict[str, Any]:
    return {
        "fact": fact,
        "memory_gib": scaled(fact.memory_bytes, GIB),
        "bandwidth": scaled(fact.bandwidth_bytes_per_s, 1e9),
        "rates": [_rate(fact, rate) for rate in SHOWN_RATES],
        "link": wording.say(wording.LINKS, fact.link) if fact.link != "unknown" else None,
        "link_rate": scaled(fact.link_bytes_per_s, 1e9),
        "power": number(fact.tdp_w),
        "device_class": wording.say(wording.DEVICE_CLASSES, fact.device_class or ""),
    }


def _rate(fact: AcceleratorFact, rate: Rate) -> dict[str, Any]:
    known = fact.dense_rates.get(rate)
    return {
        "label": wording.RATES[rate],
        "text": scaled(known, 1e12),
        "not_run": rate in fact.not_run,
    }


def fact_groups(fact: AcceleratorFact, *, with_bridge: bool = False) -> list[FactGroup]:
    """Everything that is known of an accelerator, with the source of each group."""
    return [
        FactGroup(_("Memory"), _memory(fact)),
        FactGroup(_("Dense rates, without sparsity"), [_dense_rate(fact, rate) for rate in RATES]),
        FactGroup(pgettext_lazy("of an accelerator", "Links"), _links(fact, with_bridge)),
        FactGroup(_("Device"), _device(fact)),
    ]


@dataclass(frozen=True)
class FactRow:
    """One fact of several accelerators; ``differs`` where they do not all say the same."""

    label: wording.Text
    facts: list[Fact]
    differs: bool


def fact_columns(facts: list[AcceleratorFact]) -> list[dict[str, Any]]:
    """The fact sheets of several accelerators beside each other. Unknown beside known is a difference."""
    groups = []
    for sheets in zip(*(fact_groups(fact, with_bridge=True) for fact in facts), strict=True):
        rows = [
            FactRow(lines[0].label, list(lines), len({str(line.text) for line in lines}) > 1)
            for lines in zip(*(sheet.facts for sheet in sheets), strict=True)
        ]
        known = [row for row in rows if any(line.text is not None for line in row.facts)]
        groups.append({"title": sheets[0].title, "rows": known})
    return groups


def _line(
    fact: AcceleratorFact, group: str, label: wording.Text, text: wording.Text | None, unit: str = ""
) -> Fact:
    return Fact(label, text, unit, fact.sources.get(group, ""), fact.is_unverified(group))


def _memory(fact: AcceleratorFact) -> list[Fact]:
    smi, engine = number(fact.smi_mib, 7), number(fact.engine_total_mib, 7)
    return [
        _line(fact, "memory", _("as sold"), number(fact.memory_gb), "GB"),
        _line(fact, "memory", _("as the driver reports it"), smi, "MiB"),
        _line(fact, "engine_total", _("as a serving engine sees it"), engine, "MiB"),
        _line(fact, "memory", _("kind"), fact.memory_kind),
        _line(fact, "bandwidth", _("bandwidth"), scaled(fact.bandwidth_bytes_per_s, 1e9), "GB/s"),
    ]


def _dense_rate(fact: AcceleratorFact, rate: Rate) -> Fact:
    if rate in fact.not_run:
        return _line(fact, "flops", wording.RATES[rate], _("not run by its matrix units"))
    unit = "TOP/s" if rate == "int8" else "TFLOP/s"
    return _line(fact, "flops", wording.RATES[rate], scaled(fact.dense_rates.get(rate), 1e12), unit)


def _links(fact: AcceleratorFact, with_bridge: bool) -> list[Fact]:
    rate, bridge = scaled(fact.link_bytes_per_s, 1e9), scaled(fact.bridge_bytes_per_s, 1e9)
    lines = [
        _line(fact, "interconnect", _("between devices"), fact.interconnect),
        _line(fact, "interconnect", _("both directions, per device"), rate, "GB/s"),
        _line(fact, "interconnect", "PCIe", fact.pcie),
    ]
    if bridge is not None or with_bridge:
        lines.insert(2, _line(fact, "interconnect", _("with a bridge that is sold apart"), bridge, "GB/s"))
    return lines


def _device(fact: AcceleratorFact) -> list[Fact]:
    kind = wording.say(wording.DEVICE_CLASSES, fact.device_class) if fact.device_class else None
    return [
        Fact(_("vendor"), wording.say(wording.VENDORS, fact.vendor)),
        Fact(_("architecture"), fact.architecture),
        Fact(_("compute capability or target"), fact.compute_capability),
        Fact(_("class"), kind),
        Fact(
            _("form factor"),
            wording.say(wording.FORM_FACTORS, fact.form_factor) if fact.form_factor else None,
        ),
        Fact(_("devices on one board"), number(fact.devices_per_board)),
        _line(fact, "tdp", _("power"), number(fact.tdp_w), "W"),
        Fact(_("container images must be for"), fact.host_architecture or _("its host's processor")),
        Fact(_("partitions"), fact.mig, is_quoted=True),
        Fact(_("year"), str(fact.year) if fact.year else None),
        Fact(_("how sure"), wording.say(wording.STATUSES, fact.status)),
    ]
