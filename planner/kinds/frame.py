"""The words in which a kind of workload is declared. What each declares is told in ``planner.kinds``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from planner.columns import Column
from planner.fields import SheetField
from planner.figures import Figure, duration, money_known, ranged
from planner.sizing.offers import Market
from planner.sizing.quantities import Estimate
from planner.sizing.results import Candidate, Comparison
from planner.sizing.settable import Settable
from planner.sizing.setting import Setting
from planner.sizing.workload import CommonWorkload

Text = str | Promise


@dataclass(frozen=True)
class Row:
    """Fields that stand side by side. ``style`` is a class of the stylesheet for uneven widths."""

    names: tuple[str, ...]
    style: str = ""


@dataclass(frozen=True)
class Fold:
    """Rows that are folded away until one of their fields differs from its default."""

    title: Text
    rows: tuple[str | tuple[str, ...] | Row, ...]


@dataclass(frozen=True)
class Group:
    """A titled part of the form."""

    title: Text
    rows: tuple[str | tuple[str, ...] | Row | Fold, ...]


@dataclass(frozen=True)
class Measure:
    """A speed that the kind is judged by: a tile, an axis of charts, and what a change is told in."""

    key: str
    """Also of the column that shows it."""
    name: Text
    """Short, as it stands in sentences: "TPOT"."""
    label: Text
    """As it stands above the figure: "TPOT at peak"."""
    unit: str
    """Of the estimate; seconds are shown in milliseconds where they are short."""
    of: Callable[[Candidate], Estimate | None]
    gloss: Text = ""
    axis_label: Text = ""
    target: tuple[str, ...] = ()
    """Path of its target in the workload document."""
    axis_unit: str = ""
    axis_scale: float = 1.0
    """Units of charts per unit of the estimate, where they differ."""
    lower_is_better: bool = True
    derivation: str = ""
    """Name of the derivation that the figure opens."""

    def figure(self, candidate: Candidate) -> Figure | None:
        estimate = self.of(candidate)
        return duration(estimate) if self.unit == "s" else ranged(estimate, self.unit)

    def on_axis(self, candidate: Candidate) -> Estimate | None:
        """The estimate in the unit of charts."""
        found = self.of(candidate)
        if found is None or self.axis_scale == 1:
            return found
        ends = {name: getattr(found, name) * self.axis_scale for name in ("value", "low", "high")}
        return Estimate(**ends)

    @property
    def shown_unit(self) -> str:
        return self.axis_unit or self.unit

    def asked(self, workload: Mapping[str, Any]) -> float | None:
        """The target in the unit of the estimate; None where there is none."""
        found: Any = workload
        for step in self.target:
            found = found.get(step) if isinstance(found, Mapping) else None
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        return float(found) if self.target and is_number else None


@dataclass(frozen=True)
class Cost:
    """An amount that the kind is judged by: the month, or one unit of use."""

    key: str
    label: Text
    of: Callable[[Candidate], Decimal | None]
    decimals: int | None = None
    axis_label: Text = ""
    derivation: str = ""
    note: Text = ""
    """By which rule it is counted, in a few words beneath it."""

    def text(self, candidate: Candidate) -> str | None:
        amount = self.of(candidate)
        if amount is None:
            return None
        bill = candidate.monthly
        return money_known(amount, bill.currency, complete=bill.complete, decimals=self.decimals)

    def comparable(self, candidate: Candidate) -> float | None:
        """The amount where nothing of it is unknown, for charts."""
        amount = self.of(candidate)
        return float(amount) if amount is not None and candidate.monthly.complete else None


Cell = Figure | str | None
"""A figure opens its derivation or is given; a text is a word."""


@dataclass(frozen=True)
class Block:
    """A table of figures on a candidate's page: named rows under a few heads, and a sentence beneath."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    note: str = ""


@dataclass(frozen=True)
class Example:
    """A whole question for the start page: a link into the workbench."""

    key: str
    title: Text
    text: Text
    figures: Text
    query: str


@dataclass(frozen=True)
class Variant:
    """The same workload with something changed, worth seeing beside it."""

    key: str
    title: Text
    changes: Callable[[Mapping[str, str]], Mapping[str, str]]
    """Given the form's canonical texts by key, those that become others; empty where it changes nothing."""


def scaled(*keys: str, by: float) -> Callable[[Mapping[str, str]], Mapping[str, str]]:
    """Numbers of the form multiplied, those that are given."""

    def changes(texts: Mapping[str, str]) -> Mapping[str, str]:
        found = {}
        for key in keys:
            try:
                number = float(texts.get(key, ""))
            except ValueError:
                continue
            found[key] = f"{number * by:.10g}"
        return found

    return changes


def put(**values: str) -> Callable[[Mapping[str, str]], Mapping[str, str]]:
    """Fields set to these values, if they are not yet."""

    def changes(texts: Mapping[str, str]) -> Mapping[str, str]:
        return {} if all(texts.get(key) == value for key, value in values.items()) else values

    return changes


def nothing(*_given: Any) -> tuple[Any, ...]:
    return ()


def no_change(*_given: Any) -> None:
    return None


def no_price(*_given: Any) -> None:
    return None


def no_words(*_given: Any) -> str:
    return ""


def unknown(_candidate: Candidate) -> str:
    return _("unknown")


@dataclass(frozen=True)
class Kind:
    """One kind of workload, or a few that differ by a method: everything the product derives its screens from."""

    names: tuple[str, ...]
    """Names on the wire; the first is the one of the chooser and of links."""
    title: Text
    """A noun: "Interactive serving"."""
    family: Text
    """Heading under which the chooser lists it."""
    about: Text
    """One sentence under the chooser: what it sizes."""
    workload: type[CommonWorkload]
    """The document: every default and every limit."""
    setting: Callable[[Any, datetime, Market], Setting[Any]]
    """The core's view of a workload at a moment. May raise ``ModelError`` or ``UnknownRuntime``."""
    fields: Mapping[str, SheetField]
    """Fields of the form by name, in the order of links. A trailing underscore is not part of the query's key."""
    groups: tuple[Group, ...]
    columns: tuple[Column, ...]
    """All columns of its candidates, in order; those ``shown`` are the table's until others are chosen."""
    measures: tuple[Measure, ...]
    """What it is judged by, the most important first."""
    costs: tuple[Cost, ...]
    """The first is shown large and is the axis of charts; the last is that of one unit of use."""
    unit: Text
    """The unit of use: "1M tokens", "run"."""
    chart_title: Text
    headline: Callable[[Candidate], str]
    """One sentence that says the answer, where every target is met."""
    instead_of: Mapping[str, str] = field(default_factory=dict)
    """Fields that, when given, count instead of another one: the name of the one that counts, and of the other."""
    without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By a name on the wire: fields that mean nothing under it, and are told in no list of what was asked."""
    ordered: tuple[tuple[str, str], ...] = ()
    """Pairs of fields of which the first must not be above the second."""
    carrying: tuple[str, ...] = ()
    """Fields the answer leans on most: they stand beside the recommendation on paper."""
    levers: tuple[str, ...] = ()
    """Number fields worth moving, to see which of them move cost and speed; none named: all of them."""
    explorations: tuple[str, ...] = ("sensitivity",)
    """Subjects of ``planner.explore`` that mean something for it."""
    variants: tuple[Variant, ...] = ()
    """Variants of the workload to be looked at beside it."""
    examples: tuple[Example, ...] = ()
    can_restart: bool = False
    """Whether the work can be taken up again after an interruption, so that machines that vanish may serve it."""
    is_served: bool = False
    """Whether an engine serves it: one machine then has a longest context, most users, and other layouts."""
    missing: Callable[[Candidate], str] = unknown
    """What is said where a measure has no figure."""
    memory_note: Callable[[Candidate], str] = no_words
    """What fits into the memory that is left, under its bar."""
    memory_facts: Callable[[Candidate], tuple[tuple[str, Figure], ...]] = nothing
    """Further facts of memory on a candidate's page: label and text."""
    blocks: Callable[[Candidate], tuple[Block, ...]] = nothing
    cautions: Callable[[Candidate, Mapping[str, Any]], tuple[str, ...]] = nothing
    """What must be said of an answer before it is believed; given the candidate and the workload document."""
    notes: Callable[[Comparison, Candidate], tuple[str, ...]] = nothing
    """What is worth knowing of the question as it was understood."""
    model_line: Callable[[Comparison], str] = no_words
    """What was understood of the model and the software."""
    pins: Callable[[Any, datetime], Mapping[str, str] | None] = field(default=lambda _workload, _at: {})
    """Keys of the link that fix what was read from outside, so that it means the same later; None if unreadable."""

    complete: Callable[[dict[str, Any], Mapping[str, Any]], None] = no_change
    """Puts into the document what fields without a path mean together; given it and the cleaned fields. May raise
    ``ValidationError`` by field."""
    managed_per_million: Callable[[Mapping[str, Any], Any], float | None] = no_price
    """What a service asks for a million tokens in the workload's mix, by the cleaned fields; None if not stated."""

    @property
    def key(self) -> str:
        return self.names[0]

    @property
    def settable(self) -> Mapping[str, Settable]:
        """Assumptions of the method that a user may set, by the names they have in formulas (the field ``assume``)."""
        return self.workload.settable

    @property
    def sorts(self) -> frozenset[str]:
        return frozenset(column.sort for column in self.columns if column.sort)

    @property
    def unit_cost(self) -> Cost:
        """What one ``unit`` of use costs: the first amount that is not the month's."""
        return next((cost for cost in self.costs if cost.key != "monthly"), self.costs[-1])

    def chosen(self, keys: tuple[str, ...] = ()) -> tuple[Column, ...]:
        """The columns asked for, in the list's own order; the default ones where none is known."""
        wanted = set(keys)
        found = tuple(column for column in self.columns if column.key in wanted)
        return found or tuple(column for column in self.columns if column.shown)
