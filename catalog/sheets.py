"""Fact sheets: what is known of a machine, its provider's terms, storage and drivers, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _

from catalog import drivers, wording
from catalog.facts import AcceleratorFact, accelerators
from catalog.models import BillingTerms, MachineType, Offer, StorageSpeed

MIB = 2**20
GIB = 2**30


@dataclass(frozen=True)
class Fact:
    """One line of a fact sheet. ``text`` is None where the figure is unknown."""

    label: wording.Text
    text: wording.Text | None
    unit: str = ""
    source: str = ""
    unverified: bool = False
    is_quoted: bool = False
    """The text is the source's own, in English."""


def number(value: float | None, digits: int = 4) -> str | None:
    """At most so many digits, without a tail of zeros: 3,350, 1.638, 0.5."""
    if value is None:
        return None
    text = f"{value:,.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"
    return f"{float(text):,g}" if "e" in text else text


def scaled(value: float | None, unit: float, digits: int = 4) -> str | None:
    return None if value is None else number(value / unit, digits)


def machine_facts(offer: Offer, size: MachineType | None) -> list[Fact]:
    """What is known of the machine beside its GPUs: from its size's own list, else from the price's source."""
    vcpu = offer.vcpu if offer.vcpu is not None or size is None else size.vcpu
    ram_gib = offer.ram_gib if offer.ram_gib is not None or size is None else size.ram_gib
    fact = accelerators().get(offer.accelerator_id or "")
    facts = [Fact("vCPU", decimal(vcpu)), Fact(_("RAM"), decimal(ram_gib), "GiB")]
    if fact is not None:
        link = wording.say(wording.LINKS, fact.link) if fact.link != "unknown" else None
        rate = scaled(fact.link_bytes_per_s, 1e9)
        facts.append(Fact(_("link between its GPUs"), link))
        if fact.host_architecture:
            facts.append(Fact(_("container images must be for"), fact.host_architecture))
        if rate:
            facts.append(Fact(_("link, both directions, per GPU"), rate, "GB/s"))
    facts.append(Fact(_("fabric between machines"), offer.fabric or (size and size.fabric) or None))
    if size is not None:
        facts += [
            Fact(_("processor"), size.cpu or None),
            Fact(_("processor architecture"), size.cpu_architecture or None),
            Fact(_("sustained clock"), decimal(size.clock_ghz), "GHz"),
            *_local_disks(size),
            Fact(_("network"), size.network or None),
            *_network_storage(size),
        ]
    return facts


def decimal(value: Decimal | None) -> str | None:
    return None if value is None else f"{value.normalize():f}"


def billing_facts(terms: BillingTerms | None) -> list[Fact]:
    if terms is None:
        return []
    words = terms.words
    return [
        Fact(_("billed in steps of"), number(terms.unit_s, 7), "s"),
        Fact(_("at least"), number(terms.minimum_s, 7), "s"),
        Fact(_("the provider's month"), number(float(terms.month_hours)) if terms.month_hours else None, "h"),
        *(
            Fact(
                _("charged at most, a month")
                if not prefix
                else _("charged at most, a month, machines %(prefix)s…") % {"prefix": prefix},
                number(hours),
                "h",
            )
            for prefix, hours in sorted(terms.cap_hours.items())
        ),
        Fact(_("billed on while it is stopped"), words.get("stopped"), is_quoted=True),
        Fact(_("spot"), words.get("spot"), is_quoted=True),
        Fact(_("notice before an interruption"), words.get("spot_notice"), is_quoted=True),
        Fact(_("commitments"), words.get("reserved"), is_quoted=True),
        Fact(_("fabric between machines"), words.get("fabric"), is_quoted=True),
    ]


def _local_disks(size: MachineType) -> list[Fact]:
    if size.disk_gib == 0:
        return [Fact(_("local disk"), _("none"))]
    lines = [Fact(_("local disk"), decimal(size.disk_gib), "GiB")]
    if size.disk_gib is not None or size.disk_count:
        lines.append(Fact(_("local disks, number"), number(size.disk_count)))
        lines.append(Fact(_("local disks, kind"), wording.say(wording.DISK_KINDS, size.disk_kind) or None))
    return lines


def _network_storage(size: MachineType) -> list[Fact]:
    """What the machine itself allows towards network storage; unknown lines are shown, they are asked for."""
    return [
        Fact(_("network storage, steady"), scaled(size.storage_bytes_per_s_baseline, 1e6, 6), "MB/s"),
        Fact(_("network storage, at most"), scaled(size.storage_bytes_per_s_maximum, 1e6, 6), "MB/s"),
        Fact(_("network storage, operations steady"), number(size.storage_iops_baseline, 7), "IOPS"),
        Fact(_("network storage, operations at most"), number(size.storage_iops_maximum, 7), "IOPS"),
    ]


def storage_speed_row(speed: StorageSpeed) -> dict[str, Any]:
    """One kind of storage; throughput in the unit that its source rounds to."""
    unit, name = (MIB, "MiB/s") if (speed.bytes_per_s_maximum or 0) % MIB == 0 else (10**6, "MB/s")
    return {
        "speed": speed,
        "medium": speed.medium.upper(),
        "iops": number(speed.iops_baseline, 7),
        "iops_maximum": number(speed.iops_maximum, 7),
        "rate": scaled(speed.bytes_per_s_baseline, unit, 6),
        "rate_maximum": scaled(speed.bytes_per_s_maximum, unit, 6),
        "unit": name,
    }


def driver_sheet(fact: AcceleratorFact) -> dict[str, Any] | None:
    """Toolkits and drivers that a device needs, and engine builds against them; None for other vendors' devices."""
    needs = drivers.needs(fact)
    if needs is None:
        return None
    toolkit = wording.TOOLKITS[needs.platform]
    target = needs.target
    return {
        "toolkit": toolkit,
        "target": target,
        "first_driver": needs.first_driver,
        "builds": [
            {
                "build": one.build,
                "runs": one.runs,
                "driver": one.driver,
                "engine": wording.ENGINES.get(one.build.engine, one.build.engine),
            }
            for one in needs.builds
        ],
    }
