"""Managed inference by the token, from the shipped table; no database, no Django."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

SEED = Path(__file__).parent / "seeds" / "managed.json"


class ManagedPrice(BaseModel):
    """What one service asks for a million tokens of a model, as it was listed on a day."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    service: str
    as_written: str
    input_per_million: Decimal = Field(gt=0)
    output_per_million: Decimal = Field(gt=0)
    currency: str
    source: str
    observed: str
    context_tokens: int | None = Field(default=None, gt=0)
    """The longest context that its source states; None: ask."""
    page: str = ""
    """The service's own page of prices."""

    @property
    def through(self) -> str:
        """Who stands between the caller and the service, as its source lists it; empty for nobody."""
        return "Hugging Face" if self.service.endswith("(through Hugging Face)") else ""

    @property
    def key(self) -> str:
        return f"{self.model} @ {self.service}"


@cache
def managed_prices() -> dict[str, ManagedPrice]:
    """Every shipped price by model and service, in the seed's order."""
    rows = json.loads(SEED.read_text(encoding="utf-8"))["managed"]
    found = [ManagedPrice.model_validate(row) for row in rows]
    return {one.key: one for one in found}
