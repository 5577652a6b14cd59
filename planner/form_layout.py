"""The groups, rows and folds of a kind's form, bound to the fields of one form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.forms.boundfield import BoundField

from planner.kinds.frame import Fold, Group, Row, Text

if TYPE_CHECKING:
    from planner.forms import WorkbenchForm

Part = str | tuple[str, ...] | Row | Fold


@dataclass(frozen=True)
class BoundRow:
    fields: tuple[BoundField, ...]
    style: str
    """Class of the row: a single field needs none."""


@dataclass(frozen=True)
class BoundFold:
    title: Text
    rows: tuple[BoundRow, ...]
    is_open: bool
    """Folded parts with news stand open."""


@dataclass(frozen=True)
class BoundGroup:
    title: Text
    parts: tuple[BoundRow | BoundFold, ...]


def bound(form: WorkbenchForm, groups: Iterable[Group]) -> list[BoundGroup]:
    return [BoundGroup(group.title, tuple(_part(form, part) for part in group.rows)) for group in groups]


def _part(form: WorkbenchForm, part: Part) -> BoundRow | BoundFold:
    if isinstance(part, Fold):
        names = [name for row in part.rows for name in _names(row)]
        return BoundFold(part.title, tuple(_row(form, row) for row in part.rows), form.is_changed(*names))
    return _row(form, part)


def _names(row: str | tuple[str, ...] | Row) -> tuple[str, ...]:
    if isinstance(row, Row):
        return row.names
    return (row,) if isinstance(row, str) else row


def _row(form: WorkbenchForm, row: str | tuple[str, ...] | Row) -> BoundRow:
    names = _names(row)
    style = row.style if isinstance(row, Row) else ""
    return BoundRow(tuple(form[name] for name in names), f"pair {style}".strip() if len(names) > 1 else style)
