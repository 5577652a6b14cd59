"""Curves and bars as a Plotly figure for the screen and as SVG for pages without scripts and for paper."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import Any

from planner.drawing import BOTTOM, HEIGHT, INK, LEFT, RIGHT, TOP, WIDTH, Ruler, scale, written
from planner.explore.shapes import Bars, Curve, Curves, Shape

ROLES = ("weights", "kv", "activations", "own3")
"""Colours of series, in order; with their dashes they stay apart in black and white."""
DASHES = ("solid", "dash", "dot", "dashdot")
SVG_DASHES = ("", "7 4", "2 3", "7 3 2 3")
ROW_HEIGHT = 26
NAMES_WIDTH = 210
NAME_LENGTH_AT_CURVE = 18
ROW_HEIGHT_OF_NAMES = 15


def plotly(shape: Shape) -> dict[str, Any]:
    """A figure without colours: the script of the page adds the theme by each trace's role."""
    return _plotly_curves(shape) if isinstance(shape, Curves) else _plotly_bars(shape)


def svg(shape: Shape) -> str:
    return _svg_curves(shape) if isinstance(shape, Curves) else _svg_bars(shape)


def _all_x(shape: Curves) -> list[float]:
    return [x for curve in shape.curves for x, _y in curve.points] + [mark.value for mark in shape.upright]


def _all_y(shape: Curves) -> list[float]:
    values = [y for curve in shape.curves for _x, y in curve.points]
    values += [end for curve in shape.curves for ends in curve.band for end in ends]
    return values + [mark.value for mark in shape.across]


def _plotly_curves(shape: Curves) -> dict[str, Any]:
    traces: list[dict[str, Any]] = []
    for number, curve in enumerate(shape.curves):
        role, dash = ROLES[number % len(ROLES)], DASHES[number % len(DASHES)]
        xs = [x for x, _y in curve.points]
        if curve.band:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "x": xs + xs[::-1],
                    "y": [high for _low, high in curve.band] + [low for low, _high in curve.band][::-1],
                    "fill": "toself",
                    "line": {"width": 0},
                    "hoverinfo": "skip",
                    "showlegend": False,
                    "meta": {"role": role, "drawn": "band"},
                }
            )
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": escape(curve.name),
                "x": xs,
                "y": [y for _x, y in curve.points],
                "line": {"dash": dash},
                "hovertemplate": f"{escape(curve.name)}: %{{y:,.4~r}} {escape(shape.y.unit)}"
                f" ({escape(shape.x.label)} %{{x:,.4~r}})<extra></extra>",
                "meta": {"role": role, "drawn": "line"},
            }
        )
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": escape(shape.x.title)}, "type": scale(_all_x(shape))},
            "yaxis": {"title": {"text": escape(shape.y.title)}, "type": scale(_all_y(shape))},
            "meta": {
                "across": [[mark.value, escape(mark.label)] for mark in shape.across],
                "upright": [[mark.value, escape(mark.label)] for mark in shape.upright],
            },
        },
    }


def _plotly_bars(shape: Bars) -> dict[str, Any]:
    traces = []
    labels = [escape(bar.label) for bar in shape.bars][::-1]
    for number, name in enumerate(shape.series):
        spans = [_span(bar.ends[number]) for bar in shape.bars][::-1]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": escape(name),
                "y": labels,
                "base": [low for low, _high in spans],
                "x": [high - low for low, high in spans],
                "customdata": [[f"{low:+.1f}", f"{high:+.1f}"] for low, high in spans],
                "hovertemplate": "%{y}: %{customdata[0]} … %{customdata[1]} %<extra></extra>",
                "meta": {"role": ROLES[number], "drawn": "bar"},
            }
        )
    return {
        "data": traces,
        "layout": {
            "barmode": "group",
            "xaxis": {"title": {"text": escape(shape.unit)}, "type": "linear"},
            "yaxis": {"title": {"text": ""}, "type": "category"},
            "meta": {"rows": len(shape.bars)},
        },
    }


def _span(ends: tuple[float | None, float | None]) -> tuple[float, float]:
    """From the lower to the upper change, through no change at all."""
    known = [end for end in ends if end is not None]
    return min(0.0, *known) if known else 0.0, max(0.0, *known) if known else 0.0


def _svg_head(title: str, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'class="chart" role="img" aria-label="{escape(title)}" font-family="Inter, Noto Sans JP, sans-serif" '
        'font-size="11">'
    )


def _svg_curves(shape: Curves) -> str:
    # Long names stand above the drawing; short ones at the end of their curves.
    is_listed = any(len(curve.name) > NAME_LENGTH_AT_CURVE for curve in shape.curves)
    top = TOP + (ROW_HEIGHT_OF_NAMES * len(shape.curves) + 10 if is_listed else 0)
    foot = HEIGHT - BOTTOM + top - TOP
    across, up = Ruler(_all_x(shape), LEFT, WIDTH - RIGHT), Ruler(_all_y(shape), foot, top)
    parts = [_svg_head(shape.title, HEIGHT + top - TOP)]
    for tick in across.ticks:
        at = f"{across.at(tick):.1f}"
        parts.append(
            f'<line class="grid" x1="{at}" x2="{at}" y1="{top}" y2="{foot}" stroke="{INK["hairline"]}"/>'
        )
        parts.append(written(at, foot + 16, f"{tick:,.10g}", anchor="middle"))
    for tick in up.ticks:
        y = up.at(tick)
        ends = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"'
        parts.append(f'<line class="grid" {ends} stroke="{INK["hairline"]}"/>')
        parts.append(written(LEFT - 8, y + 4, f"{tick:,.10g}", anchor="end"))
    parts.append(written((LEFT + WIDTH - RIGHT) / 2, foot + BOTTOM - 8, shape.x.title, anchor="middle"))
    middle = (top + foot) / 2
    parts.append(
        f'<text class="axis" x="14" y="{middle}" fill="{INK["ink-2"]}" text-anchor="middle" '
        f'transform="rotate(-90 14 {middle})">{escape(shape.y.title)}</text>'
    )
    for mark in shape.across:
        y = up.at(mark.value)
        ends = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"'
        parts.append(f'<line class="target" {ends} stroke="{INK["ink"]}" stroke-dasharray="4 3"/>')
        parts.append(written(WIDTH - RIGHT + 6, y - 6, mark.label))
    marks = sorted(shape.upright, key=lambda mark: mark.value)
    for mark in marks:
        at = f"{across.at(mark.value):.1f}"
        ends = f'x1="{at}" x2="{at}" y1="{top}" y2="{foot}"'
        parts.append(f'<line class="target" {ends} stroke="{INK["ink"]}" stroke-dasharray="4 3"/>')
        anchor = "middle" if len(marks) == 1 else "end" if mark is marks[0] else "start"
        parts.append(written(at, top - 6, mark.label, anchor=anchor))
    lowest = top
    for number, curve in enumerate(shape.curves):
        parts += _svg_curve(curve, number, across, up)
        if is_listed:
            line = 14 + number * ROW_HEIGHT_OF_NAMES
            parts += _svg_line((LEFT, line - 4), (LEFT + 28, line - 4), number)
            parts.append(written(LEFT + 36, line, curve.name, ink="ink"))
            continue
        x, y = curve.points[-1]
        lowest = max(lowest + 14, round(up.at(y)) + 4) if number else round(up.at(y)) + 4
        parts.append(written(across.at(x) + 8, lowest, curve.name, ink="ink"))
    return "".join([*parts, "</svg>"])


def _svg_line(start: tuple[float, float], end: tuple[float, float], number: int) -> list[str]:
    role, dash = ROLES[number % len(ROLES)], SVG_DASHES[number % len(SVG_DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    (x1, y1), (x2, y2) = start, end
    return [
        f'<line class="{role}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{INK[role]}" '
        f'stroke-width="1.6"{dashed}/>'
    ]


def _svg_curve(curve: Curve, number: int, across: Ruler, up: Ruler) -> list[str]:
    role = ROLES[number % len(ROLES)]
    parts = []
    if curve.band:
        tops = [(x, high) for (x, _y), (_low, high) in zip(curve.points, curve.band, strict=True)]
        feet = [(x, low) for (x, _y), (low, _high) in zip(curve.points, curve.band, strict=True)]
        corners = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in [*tops, *feet[::-1]])
        parts.append(f'<polygon class="{role}" points="{corners}" fill="{INK[role]}" fill-opacity="0.13"/>')
    for (x1, y1), (x2, y2) in pairwise(curve.points):
        parts += _svg_line((across.at(x1), up.at(y1)), (across.at(x2), up.at(y2)), number)
    return parts


def _svg_bars(shape: Bars) -> str:
    height = TOP + ROW_HEIGHT * len(shape.bars) + BOTTOM + 16
    reach = max(
        (abs(end) for bar in shape.bars for ends in bar.ends for end in ends if end is not None), default=1.0
    )
    left, right = NAMES_WIDTH, WIDTH - 16
    zero, half = (left + right) / 2, (right - left) / 2
    unit = half / (reach or 1.0)
    bottom = height - BOTTOM
    parts = [_svg_head(shape.title, height)]
    parts.append(
        f'<line class="grid" x1="{zero}" x2="{zero}" y1="{TOP}" y2="{bottom}" stroke="{INK["rule"]}"/>'
    )
    for edge, anchor in ((-reach, "start"), (0.0, "middle"), (reach, "end")):
        parts.append(
            written(zero + edge * unit, bottom + 14, f"{edge:+.3g} %".replace("+0 ", "0 "), anchor=anchor)
        )
    for row, bar in enumerate(shape.bars):
        top = TOP + row * ROW_HEIGHT
        parts.append(written(left - 8, top + 15, bar.label, anchor="end", ink="ink"))
        for number, ends in enumerate(bar.ends):
            low, high = _span(ends)
            role = ROLES[number]
            parts.append(
                f'<rect class="{role}" x="{zero + low * unit:.1f}" y="{top + 3 + number * 10}" '
                f'width="{max(0.6, (high - low) * unit):.1f}" height="8" fill="{INK[role]}"/>'
            )
    for number, name in enumerate(shape.series):
        start, ink = left + number * 200, INK[ROLES[number]]
        square = f'x="{start}" y="{height - 16}" width="9" height="9"'
        parts.append(f'<rect class="{ROLES[number]}" {square} fill="{ink}"/>')
        parts.append(written(start + 14, height - 7.5, name, ink="ink"))
    return "".join([*parts, "</svg>"])
