"""What every source gives: pages as they arrived, quotes read from them, rows refused with a reason."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.dataclasses import dataclass


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Page(Value):
    """The bytes of one answer, decoded from their transfer coding only."""

    number: int
    url: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Quote:
    """One price of one machine, as the source states it today.

    Checked like the others, but without a dictionary of its own: a list of 67,000 is a third as large.
    """

    provider: str = ""
    """Empty: the source's own provider."""
    sku: str
    region: str
    tier: str
    tier_detail: str = ""
    amount: Decimal
    currency: str
    unit: str = "hour"
    upfront: Decimal | None = None
    """Of a commitment: paid once. ``amount`` is then what an hour of the term comes to, ``recurring`` included."""
    recurring: Decimal | None = None
    term_months: int | None = None
    effective_from: date | None = None
    accelerator: str | None = None
    as_written: str = ""
    gpu_count: int | None = None
    gpu_fraction: Decimal = Decimal(1)
    gpu_memory_gib: Decimal | None = None
    vcpu: Decimal | None = None
    ram_gib: Decimal | None = None
    sold_per_gpu: bool = False
    """The source prices one GPU; ``amount`` is that times ``gpu_count``."""
    fabric: str = ""
    spec_source: str = ""
    not_comparable: str = ""
    not_comparable_detail: str = ""
    note: str = ""
    availability: Literal["", "available", "low", "none"] = ""
    estimated: bool = False
    floor: bool = False
    """What somebody on a marketplace asks, not a list price."""


class StorageQuote(Value):
    """What a GB of one kind of storage costs a month, from a volume on."""

    provider: str
    region: str
    kind: Literal["block", "file", "object"]
    name: str
    amount_per_month: Decimal
    currency: str
    per_bytes: int = 10**9
    from_gb: Decimal = Decimal(0)
    to_gb: Decimal | None = None
    is_default: bool = False
    """The one that a bill uses where the plan does not say which."""
    note: str = ""


class EgressQuote(Value):
    """What a GB to the internet costs within one step of a month's volume; zero only as an allowance before a price."""

    provider: str
    region: str
    from_gb: Decimal
    to_gb: Decimal | None
    amount_per_gb: Decimal
    currency: str
    per_bytes: int = 10**9
    note: str = ""


class Rate(Value):
    """Units of a currency for one US dollar on a day."""

    on: date
    currency: str
    per_usd: Decimal


class Refused(Value):
    """A row that was read and not taken. ``broken``: it should have been a price and is not one."""

    reason: str
    broken: bool = False


class SourceFailure(Exception):
    """The run cannot give prices that one may trust; ``code`` says why."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
