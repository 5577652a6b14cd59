"""What every source gives: pages as they arrived, quotes read from them, rows refused with a reason."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Page(Value):
    """The bytes of one answer, decoded from their transfer coding only."""

    number: int
    url: str
    body: bytes


class Quote(Value):
    """One price of one machine, as the source states it today."""

    sku: str
    region: str
    tier: str
    tier_detail: str = ""
    amount: Decimal
    currency: str
    unit: str = "hour"
    effective_from: date | None = None
    accelerator: str | None = None
    as_written: str = ""
    gpu_count: int | None = None
    gpu_fraction: Decimal = Decimal(1)
    vcpu: Decimal | None = None
    ram_gib: Decimal | None = None
    fabric: str = ""
    spec_source: str = ""
    not_comparable: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.sku, self.region, self.tier, self.tier_detail)


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
