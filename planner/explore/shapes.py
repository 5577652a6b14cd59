"""Descriptions of curves and bars: series with units and labels, and the same as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from planner.charts import Axis

Cell = str | float | None


@dataclass(frozen=True)
class Mark:
    """A value drawn as a line across the chart: a target, what is usable, where one stands now."""

    value: float
    label: str


@dataclass(frozen=True)
class Curve:
    name: str
    points: tuple[tuple[float, float], ...]
    band: tuple[tuple[float, float], ...] = ()
    """Low and high of each point, where it is predicted."""


@dataclass(frozen=True)
class Curves:
    """Lines over one axis."""

    title: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    across: tuple[Mark, ...] = ()
    """Values of y."""
    upright: tuple[Mark, ...] = ()
    """Values of x."""
    caption: str = ""

    @property
    def heads(self) -> tuple[str, ...]:
        heads = [self.x.title]
        for curve in self.curves:
            name = self.y.title if len(self.curves) == 1 else f"{curve.name} ({self.y.unit})"
            heads += [name, *ends_of(name)] if curve.band else [name]
        return tuple(heads)

    @property
    def rows(self) -> Iterator[tuple[Cell, ...]]:
        by_curve = []
        for curve in self.curves:
            band = curve.band or ((None, None),) * len(curve.points)
            by_curve.append({x: (y, *ends) for (x, y), ends in zip(curve.points, band, strict=True)})
        for x in sorted({x for curve in self.curves for x, _y in curve.points}):
            row: list[Cell] = [x]
            for curve, found in zip(self.curves, by_curve, strict=True):
                values = found.get(x, (None, None, None))
                row += list(values) if curve.band else [values[0]]
            yield tuple(row)


def ends_of(name: str) -> tuple[str, str]:
    return _("%(name)s, low end") % {"name": name}, _("%(name)s, high end") % {"name": name}


@dataclass(frozen=True)
class Bar:
    """What one change does: the figure in percent at its lower and its upper end; None where nothing fits there."""

    label: str
    ends: tuple[tuple[float | None, float | None], ...]
    """One pair for each series."""
    cells: tuple[Cell, ...]
    """The row of the table, without its label."""


@dataclass(frozen=True)
class Bars:
    """Changes of some figures in percent, one row for each thing that was changed."""

    title: str
    unit: str
    series: tuple[str, ...]
    bars: tuple[Bar, ...]
    cell_heads: tuple[str, ...]
    first_head: str
    caption: str = ""

    @property
    def heads(self) -> tuple[str, ...]:
        return (self.first_head, *self.cell_heads)

    @property
    def rows(self) -> Iterator[tuple[Cell, ...]]:
        return ((bar.label, *bar.cells) for bar in self.bars)


Shape = Curves | Bars
