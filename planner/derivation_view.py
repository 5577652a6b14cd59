"""How a figure came about, as the sheet shows it: formula, numbers, units, sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from catalog.source_words import said
from planner import assumption_words, evidence_words, figure_words
from planner.figures import SMALLEST_GIB, exact, gib, seconds
from planner.sizing.llm_derivations import TYPICAL
from planner.sizing.quantities import GIB, SET_BY_HAND, Derivation, Near

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
    is_set: bool = False
    """It was set by hand."""
    opens: str = ""
    """Name of the derivation of this number, where it has one of its own."""


@dataclass(frozen=True)
class DerivationView:
    key: str
    title: str
    formula: str
    result: str
    terms: tuple[TermView, ...]
    nearby: NearbyView | None = None


@dataclass(frozen=True)
class GroupView:
    """Derivations under one heading."""

    title: str
    derivations: tuple[DerivationView, ...]


def grouped(made: Mapping[str, Derivation], settable: Collection[str] = ()) -> tuple[GroupView, ...]:
    """All of a candidate, in the order of the headings."""
    found = {key: derivation(key, item, settable, made) for key, item in made.items()}
    return tuple(
        GroupView(str(title), tuple(view for key, view in found.items() if figure_words.group(key) == name))
        for name, title in figure_words.GROUPS
        if any(figure_words.group(key) == name for key in found)
    )


def set_by_hand(views: Collection[DerivationView]) -> frozenset[str]:
    """Those that rest on an assumption set by hand, in their own formula or in that of one of their numbers."""
    found = {view.key for view in views if any(term.is_set for term in view.terms)}
    while True:
        more = {view.key for view in views if any(term.opens in found for term in view.terms)} - found
        if not found or not more:
            return frozenset(found)
        found |= more


def derivation(
    key: str, made: Derivation, settable: Collection[str] = (), others: Collection[str] = ()
) -> DerivationView:
    """``settable`` names the assumptions that the reader may set, ``others`` the derivations beside this one."""
    formula = made.formula
    for plain, shown in FORMULA_SIGNS:
        formula = formula.replace(plain, shown)
    return DerivationView(
        key=key,
        title=figure_words.figure(key),
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
                is_set=term.source == SET_BY_HAND,
                opens=_opens(key, term.symbol, others),
            )
            for term in made.terms
        ),
        nearby=_nearby(made.near) if made.near else None,
    )


def _gloss(symbol: str) -> str:
    """An assumption or another figure by its name; empty where the symbol is its own word."""
    if symbol in assumption_words.ASSUMPTIONS:
        return assumption_words.assumption(symbol)
    return figure_words.figure(symbol) if figure_words.is_known(symbol) else ""


def _opens(key: str, symbol: str, others: Collection[str]) -> str:
    """The derivation of a term: that at the same load first; never the one it stands in."""
    before = TYPICAL if key.startswith(TYPICAL) else ""
    return next((name for name in (f"{before}{symbol}", symbol) if name in others and name != key), "")


def _nearby(near: Near) -> NearbyView:
    return NearbyView(
        sentence=evidence_words.nearby(near),
        rows=tuple(
            (
                f"{row.family} · {said(row.accelerator)} · {evidence_words.engine(row.engine)}",
                f"{row.ratio:.2f}",
                evidence_words.off(row.ratio),
                row.source,
            )
            for row in near.rows
        ),
    )


def _measured(value: float, unit: str) -> str:
    if unit in UNITS_IN_GIB and abs(value) >= SMALLEST_GIB * GIB:
        return f"{exact(round(value))} {assumption_words.unit(unit)} = {gib(value)} GiB"
    if unit == "s":
        text, shown = seconds(value)
        return f"{text} {shown}"
    return f"{exact(value)} {assumption_words.unit(unit)}".strip()
