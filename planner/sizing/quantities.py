"""The small vocabulary every result is written in: frozen models, estimates, derivations, assumptions."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

GIB = 1024**3
MIB = 1024**2
GB = 10**9


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


class Assumption(Frozen):
    """A number that is not a fact of the user's input: visible on every result, with its source."""

    name: str
    value: float | int | str | bool
    unit: str
    source: str
    low: float | None = None
    high: float | None = None
    user_set: bool = False
