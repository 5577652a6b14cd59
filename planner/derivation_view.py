"""How a figure came about, as the sheet shows it: formula, numbers, units, sources."""

from __future__ import annotations

from dataclasses import dataclass

from planner import assumption_words, evidence_words, wording
from planner.figures import exact, gib, seconds
from planner.sizing.quantities import Derivation, Near

FORMULA_SIGNS = (("**", "^"), ("*", "×"), ("/", "÷"), (" - ", " − "))


UNITS_IN_GIB = ("B", "bytes", "byte")
"""Spellings of the unit byte in derivations."""


@dataclass(frozen=True)
class NearbyView:
    """Published measurements near a figure, and how the predictions for them came out."""

    sentence: str
    rows: tuple[tuple[str, str, str, str], ...]
    """What was measured on what, predicted ÷ measured, how much that is off, where it is published."""


@dataclass(frozen=True)
class DerivationView:
    key: str
    title: str
    formula: str
    result: str
    terms: tuple[tuple[str, str, str, str], ...]
    """Symbol, value, unit, source."""
    nearby: NearbyView | None = None


def derivation(key: str, made: Derivation) -> DerivationView:
    formula = made.formula
    for plain, shown in FORMULA_SIGNS:
        formula = formula.replace(plain, shown)
    return DerivationView(
        key=key,
        title=wording.figure(key if key in wording.FIGURES else made.figure),
        formula=formula,
        result=_measured(made.value, made.unit),
        terms=tuple((term.symbol, exact(term.value), term.unit, term.source or "") for term in made.terms),
        nearby=_nearby(made.near) if made.near else None,
    )


def _nearby(near: Near) -> NearbyView:
    return NearbyView(
        sentence=evidence_words.nearby(near),
        rows=tuple(
            (
                f"{row.family} · {row.accelerator} · {evidence_words.engine(row.engine)}",
                f"{row.ratio:.2f}",
                evidence_words.off(row.ratio),
                row.source,
            )
            for row in near.rows
        ),
    )


def _measured(value: float, unit: str) -> str:
    if unit in UNITS_IN_GIB and abs(value) >= 1024**2:
        return f"{exact(round(value))} {assumption_words.unit(unit)} = {gib(value)} GiB"
    if unit == "s":
        text, shown = seconds(value)
        return f"{text} {shown}"
    return f"{exact(value)} {assumption_words.unit(unit)}".strip()
