"""Charts of prices over time as figures that a template draws; the table beside them holds the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from catalog.history import MarketPoint, Step

WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 28
TICKS = 4


@dataclass(frozen=True)
class Tick:
    place: float
    label: str


@dataclass(frozen=True)
class PriceChart:
    """A line, with a band around it where there is a range; coordinates of an SVG of ``WIDTH`` by ``HEIGHT``."""

    line: str
    band: str
    dots: tuple[tuple[float, float], ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


class Scale:
    """From days and amounts to places; the amounts begin at zero, so that a small change does not look large."""

    def __init__(self, first: date, last: date, highest: Decimal) -> None:
        self.first = first
        self.days = max(1, (last - first).days)
        self.highest = float(highest) * 1.05 or 1.0

    def x(self, day: date) -> float:
        return round(LEFT + (day - self.first).days / self.days * (WIDTH - LEFT - RIGHT), 1)

    def y(self, amount: Decimal) -> float:
        return round(HEIGHT - BOTTOM - float(amount) / self.highest * (HEIGHT - TOP - BOTTOM), 1)

    def across(self) -> tuple[Tick, ...]:
        places = sorted({round(self.days * part / TICKS) for part in range(TICKS + 1)})
        days = [self.first + timedelta(days=place) for place in places]
        return tuple(Tick(self.x(day), day.isoformat()) for day in days)

    def up(self) -> tuple[Tick, ...]:
        step = _round_step(self.highest / TICKS)
        amounts = [step * place for place in range(TICKS + 2) if float(step * place) <= self.highest]
        return tuple(Tick(self.y(amount), f"{amount.normalize():f}") for amount in amounts)


def _round_step(step: float) -> Decimal:
    """The next of 1, 2 and 5 of a decade."""
    decade = Decimal(10) ** Decimal(step).adjusted()
    return next(decade * digit for digit in (1, 2, 5, 10) if float(decade * digit) >= step)


def of_offer(steps: list[Step]) -> PriceChart | None:
    """A step line, each price from the day it was seen to the next; nothing where there is one day only."""
    if not steps or steps[-1].ends == steps[0].begins:
        return None
    scale = Scale(steps[0].begins, steps[-1].ends, max(step.amount for step in steps))
    places = [(scale.x(day), scale.y(step.amount)) for step in steps for day in (step.begins, step.ends)]
    dots = tuple((scale.x(step.begins), scale.y(step.amount)) for step in steps)
    return PriceChart(_path(places), "", dots, scale.across(), scale.up())


def of_market(points: list[MarketPoint]) -> PriceChart | None:
    if len(points) < 2:
        return None
    scale = Scale(points[0].on, points[-1].on, max(point.high for point in points))
    middle = [(scale.x(point.on), scale.y(point.median)) for point in points]
    upper = [(scale.x(point.on), scale.y(point.high)) for point in points]
    lower = [(scale.x(point.on), scale.y(point.low)) for point in reversed(points)]
    return PriceChart(_path(middle), _path(upper + lower) + " Z", tuple(middle), scale.across(), scale.up())


def _path(places: list[tuple[float, float]]) -> str:
    return "M " + " L ".join(f"{x} {y}" for x, y in places)
