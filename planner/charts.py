"""Charts as descriptions (series, units, labels) with two thin renderers: Plotly for the screen, SVG for paper.

Only comparable rows are drawn: complete totals, a speed under the same load. What is left out is counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any, Literal
from unicodedata import east_asian_width

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, override

from planner import kinds
from planner.drawing import BOTTOM, HEIGHT, INK, LEFT, RIGHT, TOP, WIDTH, Ruler, scale, written
from planner.figures import money, significant
from planner.memory_bar import memory_bar
from planner.sizing.quantities import Estimate
from planner.sizing.results import Candidate, Comparison

Role = Literal["meets", "misses", "tight"]
ROLES: tuple[Role, ...] = ("meets", "misses", "tight")
LABELS_MAXIMUM = 8


@dataclass(frozen=True)
class Axis:
    label: str
    unit: str

    @property
    def title(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    label: str
    detail: str
    place: str = ""
    low: float | None = None
    high: float | None = None
    on_frontier: bool = False
    offer_id: int = 0


@dataclass(frozen=True)
class Series:
    role: Role
    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Chart:
    """Cost against speed, both better to the lower left. The frontier is what nothing beats in both."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    left_out: int
    target: float | None = None
    target_label: str = ""

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(point for series in self.series for point in series.points)

    @property
    def left_out_sentence(self) -> str:
        if not self.left_out:
            return ""
        return ngettext(
            "%(n)d candidate is not drawn: its price is not completely known or it has no speed under "
            "this load.",
            "%(n)d candidates are not drawn: their price is not completely known or they have no speed "
            "under this load.",
            self.left_out,
        ) % {"n": self.left_out}


def cost_speed(comparison: Comparison) -> Chart | None:
    """The kind's first cost against its first measure. None with fewer than two points."""
    kind = kinds.of(comparison.kind)
    cost_of, measure = kind.costs[0], kind.measures[0]
    found: list[tuple[Role, Candidate, float, Estimate]] = []
    for candidate in comparison.candidates:
        estimate, cost = measure.on_axis(candidate), cost_of.comparable(candidate)
        if estimate is not None and cost is not None:
            found.append((ROLES[candidate.class_ - 1], candidate, cost, estimate))
    if len(found) < 2:
        return None
    unit = measure.shown_unit
    names: dict[Role, str] = {
        "meets": _("meets every target"),
        "misses": _("misses a target"),
        "tight": _("tight memory"),
    }
    frontier = _frontier([(cost, estimate.value) for _role, _candidate, cost, estimate in found])
    series = []
    for role in ROLES:
        points = tuple(
            _point(candidate, cost, estimate, index in frontier, unit)
            for index, (own, candidate, cost, estimate) in enumerate(found)
            if own == role
        )
        if points:
            series.append(Series(role, names[role], points))
    asked = measure.asked(comparison.workload)
    target = None if asked is None else asked * measure.axis_scale
    return Chart(
        title=str(kind.chart_title),
        x=Axis(str(cost_of.axis_label or cost_of.label), comparison.candidates[0].monthly.currency),
        y=Axis(str(measure.axis_label or measure.label), unit),
        series=tuple(series),
        left_out=comparison.candidates_total - len(found),
        target=target,
        target_label=""
        if target is None
        else _("target %(value)s %(unit)s") % {"value": f"{target:,.6g}", "unit": unit},
    )


def _point(candidate: Candidate, cost: float, estimate: Estimate, on_frontier: bool, unit: str) -> Point:
    offer = candidate.offer
    gpus = candidate.replicas * candidate.gpus_per_replica
    label = offer.accelerator if gpus == 1 else f"{gpus} × {offer.accelerator}"
    amount = money(candidate.monthly.total, candidate.monthly.currency)
    return Point(
        x=cost, y=estimate.value, label=label, low=estimate.low, high=estimate.high, on_frontier=on_frontier,
        offer_id=offer.offer_id,
        detail=f"{offer.provider_name} · {offer.sku} · {amount} · {significant(estimate.value)} {unit}",
        place=f"{offer.provider_name} · {offer.sku}",
    )  # fmt: skip


NOTICEABLE = 0.99
"""What costs more joins the frontier only where it is faster by at least one per cent."""


def _frontier(points: list[tuple[float, float]]) -> set[int]:
    """Indexes of the points that no cheaper one equals in speed."""
    best = math.inf
    kept = set()
    for index in sorted(range(len(points)), key=lambda i: points[i]):
        if points[index][1] < best * NOTICEABLE:
            best = points[index][1]
            kept.add(index)
    return kept


# Plotly -----------------------------------------------------------------------------------------------------


def plotly(chart: Chart) -> dict[str, Any]:
    """A plain figure without colours: the script of the page adds the theme by each trace's role."""
    traces: list[dict[str, Any]] = []
    for series in chart.series:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": escape(series.name),
                "x": [point.x for point in series.points],
                "y": [point.y for point in series.points],
                "text": [escape(f"{point.label} · {point.detail}") for point in series.points],
                "customdata": [point.offer_id for point in series.points],
                "hovertemplate": "%{text}<extra></extra>",
                "meta": {"role": series.role},
            }
        )
    frontier = sorted((point for point in chart.points if point.on_frontier), key=lambda point: point.x)
    traces.append(
        {
            "type": "scatter",
            "mode": "lines+text",
            "name": escape(_("nothing is cheaper and faster")),
            "x": [point.x for point in frontier],
            "y": [point.y for point in frontier],
            "text": [escape(text) for text in _labels(frontier)],
            "textposition": "top right",
            "line": {"shape": "hv"},
            "hoverinfo": "skip",
            "cliponaxis": False,
            "meta": {"role": "frontier"},
        }
    )
    figure: dict[str, Any] = {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": escape(chart.x.title)}, "type": scale([p.x for p in chart.points])},
            "yaxis": {"title": {"text": escape(chart.y.title)}, "type": scale([p.y for p in chart.points])},
        },
    }
    if chart.target is not None:
        figure["layout"]["meta"] = {"target": chart.target, "target_label": escape(chart.target_label)}
    return figure


def _labels(frontier: list[Point]) -> list[str]:
    """Labels for the frontier: each name once, at most eight, the ends always."""
    seen: set[str] = set()
    texts = []
    step = max(1, math.ceil(len(frontier) / LABELS_MAXIMUM))
    for index, point in enumerate(frontier):
        wanted = index % step == 0 or index == len(frontier) - 1
        texts.append(point.label if wanted and point.label not in seen else "")
        if wanted:
            seen.add(point.label)
    return texts


# SVG --------------------------------------------------------------------------------------------------------


def render_svg(chart: Chart | Candidate, language: str = "en") -> str:
    """A chart, or the memory bar of a candidate, as an SVG document for paper."""
    with override(language):
        return _memory_svg(chart) if isinstance(chart, Candidate) else _scatter_svg(chart)


def _scatter_svg(chart: Chart) -> str:
    points = chart.points
    across = Ruler([point.x for point in points], LEFT, WIDTH - RIGHT)
    heights = [point.y for point in points]
    up = Ruler(heights, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'class="chart" role="img" aria-label="{escape(chart.title)}" font-family="Inter, Noto Sans JP, sans-serif" '
        'font-size="11">'
    ]
    for tick in across.ticks:
        x = f"{across.at(tick):.1f}"
        parts.append(
            f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="{INK["hairline"]}"/>'
        )
        parts.append(written(x, HEIGHT - BOTTOM + 16, f"{tick:,.10g}", anchor="middle"))
    for tick in up.ticks:
        y = up.at(tick)
        ends = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"'
        parts.append(f'<line class="grid" {ends} stroke="{INK["hairline"]}"/>')
        parts.append(written(LEFT - 8, y + 4, f"{tick:,.10g}", anchor="end"))
    parts.append(written((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, chart.x.title, anchor="middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text class="axis" x="14" y="{middle}" fill="{INK["ink-2"]}" text-anchor="middle" '
        f'transform="rotate(-90 14 {middle})">{escape(chart.y.title)}</text>'
    )
    if chart.target is not None and min(heights) <= chart.target <= max(heights):
        y = up.at(chart.target)
        parts.append(
            f'<line class="target" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{INK["ink"]}" '
            'stroke-dasharray="4 3"/>'
        )
        parts.append(written(WIDTH - RIGHT + 6, y + 4, chart.target_label))
    frontier = sorted((point for point in points if point.on_frontier), key=lambda point: point.x)
    path = "".join(
        f"{'M' if index == 0 else 'H'}{across.at(point.x):.1f}{',' if index == 0 else 'V'}{up.at(point.y):.1f}"
        for index, point in enumerate(frontier)
    )
    parts.append(
        f'<path class="frontier" d="{path}" fill="none" stroke="{INK["accent"]}" stroke-width="1.2"/>'
    )
    for series in chart.series:
        parts.extend(_mark(series.role, across.at(point.x), up.at(point.y), point) for point in series.points)
    dots = [(across.at(point.x), up.at(point.y)) for point in points]
    wanted = [
        (across.at(point.x), up.at(point.y), label)
        for point, label in zip(frontier, _labels(frontier), strict=True)
        if label
    ]
    for left, base, anchor, label in _placed(wanted, dots):
        parts.append(written(left, base, label, anchor=anchor, ink="ink"))
    parts.append("</svg>")
    return "".join(parts)


CHARACTER, LINE = 6.4, 13.0
"""Width of a character and height of a line of the labels, at most, in the drawing's own units."""


def _placed(
    wanted: list[tuple[float, float, str]], dots: list[tuple[float, float]]
) -> list[tuple[float, float, str, str]]:
    """Where each label is free of all others and of the dots: above right of its point, else below left, step by
    step further away; a label without room is left out."""
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in dots]
    found = []
    for x, y, label in wanted:
        width = CHARACTER * len(label)
        for away in (6.0, 19.0, 32.0, 45.0):
            above = (x + 6, y - away - LINE + 3, x + 6 + width, y - away + 3)
            below = (x - 6 - width, y + away, x - 6, y + away + LINE)
            free = [box for box in (above, below) if _is_free(box, taken)]
            if free:
                taken.append(free[0])
                is_above = free[0] is above
                found.append(
                    (x + 6, y - away, "start", label)
                    if is_above
                    else (x - 6, y + away + LINE - 3, "end", label)
                )
                break
    return found


def _is_free(box: tuple[float, float, float, float], taken: list[tuple[float, float, float, float]]) -> bool:
    left, top, right, bottom = box
    if left < LEFT or top < 0 or right > WIDTH or bottom > HEIGHT - BOTTOM:
        return False
    return not any(left < t[2] and right > t[0] and top < t[3] and bottom > t[1] for t in taken)


def _mark(role: Role, x: float, y: float, point: Point) -> str:
    """Filled circle, ring or diamond: the meaning survives black and white."""
    title = f"<title>{escape(f'{point.label} · {point.detail}')}</title>"
    ink = INK[role]
    if role == "meets":
        return f'<circle class="{role}" cx="{x:.1f}" cy="{y:.1f}" r="3.6" fill="{ink}">{title}</circle>'
    if role == "misses":
        return (
            f'<circle class="{role}" cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{INK["surface"]}" stroke="{ink}" '
            f'stroke-width="1.3">{title}</circle>'
        )
    return (
        f'<path class="{role}" d="M{x:.1f},{y - 4:.1f}l4,4l-4,4l-4,-4z" fill="{INK["surface"]}" stroke="{ink}" '
        f'stroke-width="1.3">{title}</path>'
    )


def _length(text: str) -> float:
    """How long a text of the drawing is at the most: Japanese signs are as wide as they are high."""
    return sum(11.0 if east_asian_width(sign) in "WF" else CHARACTER for sign in text)


def _memory_svg(candidate: Candidate) -> str:
    bar = memory_bar(candidate.memory)
    width, row, base, key, gap = 720, 18.0, 36.0, 13.0, 16.0
    drawn, legend, across = [], [], 0.0
    for segment in bar.segments:
        fill = "url(#paper-hatch)" if segment.role == "headroom" else INK[segment.role]
        start, share = float(segment.start_percent[:-1]) / 100, float(segment.width_percent[:-1]) / 100
        drawn.append(
            f'<rect x="{start * width:.1f}" y="0" width="{share * width:.1f}" height="20" fill="{fill}" '
            f'stroke="{INK["surface"]}" stroke-width="1"/>'
        )
        label = f"{segment.label} {segment.gib}"
        needed = key + _length(label)
        if across and across + needed > width:
            across, base = 0.0, base + row
        legend.append(
            f'<rect x="{across:.0f}" y="{base:.0f}" width="9" height="9" fill="{fill}" stroke="{INK["rule"]}" '
            'stroke-width="0.5"/>'
        )
        legend.append(written(across + key, base + 8.5, label, ink="ink"))
        across += needed + gap
    height = int(base + 24)
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{escape(bar.spoken)}" font-family="Inter, Noto Sans JP, sans-serif" '
            'font-size="11">',
            '<defs><pattern id="paper-hatch" width="5" height="5" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><rect width="5" height="5" fill="{INK["surface"]}"/>'
            f'<line x1="0" y1="0" x2="0" y2="5" stroke="{INK["overhead"]}" stroke-width="1.2"/></pattern></defs>',
            *drawn,
            *legend,
            f'<rect x="0" y="0" width="{width}" height="20" fill="none" stroke="{INK["rule"]}"/></svg>',
        )
    )
