"""How a figure came about, as the sheet shows it: formula, numbers, units, sources."""

from __future__ import annotations

from collections.abc import Collection
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
class TermView:
    symbol: str
    value: str
    unit: str
    source: str
    gloss: str
    """What the symbol stands for, in words."""
    settable: bool = False
    """An assumption that the reader may set."""


@dataclass(frozen=True)
class DerivationView:
    key: str
    title: str
    formula: str
    result: str
    terms: tuple[TermView, ...]
    nearby: NearbyView | None = None


def derivation(key: str, made: Derivation, settable: Collection[str] = ()) -> DerivationView:
    """``settable`` names the assumptions that the reader may set."""
    formula = made.formula
    for plain, shown in FORMULA_SIGNS:
        formula = formula.replace(plain, shown)
    return DerivationView(
        key=key,
        title=wording.figure(key if key in wording.FIGURES else made.figure),
        formula=formula,
        result=_measured(made.value, made.unit),
        terms=tuple(
            TermView(
                symbol=term.symbol,
                value=exact(term.value),
                unit=term.unit,
                source=term.source or "",
                gloss=_gloss(term.symbol),
                settable=term.symbol in settable,
            )
            for term in made.terms
        ),
        nearby=_nearby(made.near) if made.near else None,
    )


def _gloss(symbol: str) -> str:
    """An assumption or another figure by its name; empty where the symbol is its own word."""
    if symbol in assumption_words.ASSUMPTIONS:
        return assumption_words.assumption(symbol)
    return wording.figure(symbol) if symbol in wording.FIGURES else ""


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
