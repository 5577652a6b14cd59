"""What all drawings on paper share: inks, the frame, axes with round ticks, text."""

from __future__ import annotations

import math
from html import escape

INK = {
    "meets": "#3F6B3D", "misses": "#5C5A55", "tight": "#8A6414", "accent": "#2E4A7D", "ink": "#1C1B19",
    "ink-2": "#5C5A55", "hairline": "#E3DFD7", "rule": "#C9C3B7", "surface": "#FFFFFF",
    "weights": "#2E4A7D", "kv": "#1F7A78", "activations": "#A87B1E", "own1": "#5F7DB5", "own2": "#6B5B95",
    "own3": "#8C4A6E", "own4": "#C49A3C", "overhead": "#85827A", "free": "#F4F1EA", "over": "#B3261E",
}  # fmt: skip
"""Colours of paper, which is always light; on the screen the stylesheet decides."""

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 62, 120, 18, 46


def scale(values: list[float]) -> str:
    return "log" if min(values) > 0 and max(values) / min(values) > 12 else "linear"


class Ruler:
    """Values to positions on one axis, linear or logarithmic, with a few round ticks."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        self.is_log = scale(values) == "log"
        low, high = min(values), max(values)
        if self.is_log:
            self.low, self.high = math.log10(low) - 0.06, math.log10(high) + 0.06
        else:
            margin = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
            self.low, self.high = max(0.0, low - margin) if low >= 0 else low - margin, high + margin
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        position = math.log10(value) if self.is_log else value
        return self.start + (position - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        if self.is_log:
            decades = range(math.floor(self.low), math.ceil(self.high) + 1)
            steps = [10.0**decade * factor for decade in decades for factor in (1, 2, 5)]
            return [step for step in steps if self.low <= math.log10(step) <= self.high]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 4))
        step *= next(factor for factor in (1, 2, 5, 10) if (self.high - self.low) / (step * factor) <= 5)
        first = math.ceil(self.low / step)
        return [number * step for number in range(first, math.floor(self.high / step) + 1)]


def written(x: float | str, y: float, text: str, *, anchor: str = "start", ink: str = "ink-2") -> str:
    place = x if isinstance(x, str) else f"{x:.1f}"
    return f'<text class="{ink}" x="{place}" y="{y:.1f}" fill="{INK[ink]}" text-anchor="{anchor}">{escape(text)}</text>'
