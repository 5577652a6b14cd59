"""Managed inference by the token, from shipped tables: prices, and what services publish; no database, no Django."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

SEEDS = Path(__file__).parent / "seeds"

Subject = Literal[
    "rates", "guarantee", "structured", "tools", "seed", "fine_tuning", "batch", "cached_input", "retention",
    "training", "regions",
]  # fmt: skip
SUBJECTS: tuple[Subject, ...] = get_args(Subject)
"""What one asks a service for beside its price, in the order of reading."""


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
    cached_input_per_million: Decimal | None = Field(default=None, gt=0)
    """Of tokens in that the service has in its cache; None: not published."""
    withdrawn: str = ""
    """Since when the service is said not to offer the model any more, as its source dates it."""
    withdrawn_source: str = ""

    @property
    def through(self) -> str:
        """Who stands between the caller and the service, as its source lists it; empty for nobody."""
        return "Hugging Face" if self.service.endswith("(through Hugging Face)") else ""

    @property
    def key(self) -> str:
        return f"{self.model} @ {self.service}"


class ServiceFact(BaseModel):
    """What a service publishes of one subject: a code and its figures, for which pages have the words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    service: str
    subject: Subject
    says: str
    figures: dict[str, int] = Field(default_factory=dict)
    models: tuple[str, ...] = ()
    """The models that it was read for; empty for all."""
    source: str
    page: str
    observed: str


@cache
def managed_prices() -> dict[str, ManagedPrice]:
    """Every shipped price by model and service, in the seed's order."""
    rows = json.loads((SEEDS / "managed.json").read_text(encoding="utf-8"))["managed"]
    found = [ManagedPrice.model_validate(row) for row in rows]
    return {one.key: one for one in found}


@cache
def service_facts() -> dict[str, tuple[ServiceFact, ...]]:
    """What each service publishes, in the order of the subjects."""
    rows = json.loads((SEEDS / "managed_services.json").read_text(encoding="utf-8"))["facts"]
    found: dict[str, list[ServiceFact]] = {}
    for row in rows:
        fact = ServiceFact.model_validate(row)
        found.setdefault(fact.service, []).append(fact)
    return {
        service: tuple(sorted(facts, key=lambda fact: SUBJECTS.index(fact.subject)))
        for service, facts in found.items()
    }
