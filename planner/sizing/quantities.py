"""The small vocabulary every result is written in: frozen models, estimates, derivations, assumptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

GIB = 1024**3
MIB = 1024**2
GB = 10**9
SET_BY_HAND = "set by hand"
"""Source of an assumption that a user set."""


class Frozen(BaseModel):
    """A value: immutable, closed to unknown fields, finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Estimate(Frozen):
    """A predicted figure with its 80 % range; unit as the field that holds it says."""

    value: float
    low: float
    high: float


class Term(Frozen):
    """One number of a formula: its symbol there, value, unit, and the id of its source if it is a fact."""

    symbol: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    value: float
    unit: str
    source: str | None = None


Likeness = Literal["engine", "accelerator", "model"]


class NearRow(Frozen):
    """One measurement near a figure. ``ratio`` is predicted ÷ measured, of the figure and not of its inverse."""

    id: str
    ratio: float
    metric: str
    engine: str
    accelerator: str
    family: str
    source: str


class Near(Frozen):
    """The measurements nearest to a figure: what they share with it, and how the predictions for them came out."""

    shares: tuple[Likeness, ...]
    """What all of them share with the figure, besides the regime."""
    count: int
    median_ratio: float
    low: float
    high: float
    """The middle 80 % of predicted ÷ measured."""
    rows: tuple[NearRow, ...]


class Derivation(Frozen):
    """How a figure came about, made by the function that computed it.

    ``formula`` is an arithmetic expression over the symbols of ``terms`` (``+ - * / ** ( )``, ``min``,
    ``max``, ``ceil``, ``floor``), so that a reader, or a test, can evaluate it again and get ``value``.
    """

    figure: str
    formula: str
    terms: tuple[Term, ...]
    value: float
    unit: str
    near: Near | None = None
    """The published measurements nearest to this figure, where it is a predicted one."""


class Assumption(Frozen):
    """A number that is not a fact of the user's input: visible on every result, with its source."""

    name: str
    value: float | int | str | bool
    unit: str
    source: str
    low: float | None = None
    high: float | None = None
    user_set: bool = False

    def given(self, assumed: Mapping[str, float]) -> float:
        """The number that acts: what a user set by this name, or else the value."""
        return assumed.get(self.name, float(self.value))

    def term(self, assumed: Mapping[str, float]) -> Term:
        """The same as a number of a formula."""
        source = SET_BY_HAND if self.name in assumed else self.source
        return Term(symbol=self.name, value=self.given(assumed), unit=self.unit, source=source)
