"""What a comparison says of an offer: the machine, its host, its price as it was read, and a team's own quote."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import PlainSerializer

from planner.sizing.quantities import Frozen

Money = Annotated[
    Decimal, PlainSerializer(lambda amount: format(amount, "f"), return_type=str, when_used="json")
]


class QuoteFacts(Frozen):
    """What a team was told with a quote of its own; None where it was not asked or not answered."""

    reference: str = ""
    valid_until: date | None = None
    expired: bool = False
    """It was over on the day of the comparison."""
    note: str = ""
    survives_restart: str | None = None
    """"yes" or "no": whether data on local disks are there after a restart; the same for the next two."""
    survives_host_change: str | None = None
    survives_contract_end: str | None = None
    data_location: str | None = None
    availability: str | None = None
    startup_minutes: float | None = None
    answered_on: date | None = None


class HostFacts(Frozen):
    """What a source says of the host of one machine size; None where it says nothing, which is not none."""

    cpu: str | None = None
    clock_ghz: float | None = None
    disk_bytes: int | None = None
    """Local disks together."""
    disk_kind: str | None = None
    storage_bytes_per_s: float | None = None
    """Towards network storage, sustained, whatever the volumes would give."""
    storage_burst_bytes_per_s: float | None = None
    storage_iops: int | None = None
    network: str | None = None
    """As the provider writes it."""
    network_is_ceiling: bool = False
    """"Up to" so much: reached for a part of the day."""
    network_bytes_per_s: float | None = None
    """Of the whole machine."""
    fabric: str | None = None
    source: str | None = None


class OfferFacts(Frozen):
    """One rentable machine with its price, as it was read."""

    offer_id: int
    """Below zero for a private offer of a team."""
    provider: str
    provider_name: str
    sku: str
    region: str
    region_name: str | None = None
    region_name_ja: str | None = None
    tier: str
    accelerator: str
    gpu_count: int
    gpu_fraction: float = 1.0
    gpu_memory_bytes: int
    bandwidth_bytes_per_s: float
    link: str | None = None
    vcpu: float | None = None
    ram_bytes: int | None = None
    price_amount: Money
    price_currency: str
    price_unit: str
    """"hour" or "month", for the whole machine."""
    upfront: Money | None = None
    """Of a commitment: paid once for the machine and term. ``price_amount`` is then what an hour (or month) of the
    whole term comes to."""
    recurring: Money | None = None
    """What is paid per ``price_unit`` beside ``upfront``."""
    term_months: int | None = None
    """How long a commitment binds; None where it is none, or its source does not say."""
    tier_detail: str | None = None
    """Code of the terms within the tier, such as a convertible reservation; a source's own word where it has none."""
    price_observed_on: date
    price_observed_precision: str
    price_age_days: int
    stale: bool
    floor: bool = False
    """A marketplace's lowest asking price, not a list price."""
    estimated: bool = False
    source: str
    source_url: str | None = None
    licence: str | None = None
    tax_included: bool | None = None
    """None where the source does not say."""
    stock: Literal["available", "low", "none"] | None = None
    """What the source said of the stock, as last seen on ``stock_on``; None where it says nothing, or of the past."""
    stock_on: date | None = None
    host: HostFacts | None = None
    """None where no source describes this size."""
    quote: QuoteFacts | None = None
    """Of a team's private offer; None for public ones."""
