"""Charts: only comparable rows, both renderers from one description, nothing a label could smuggle in."""

from __future__ import annotations

import json
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from planner import charts, services
from planner.sizing.results import Comparison
from planner.sizing.training.workload import TuningWorkload
from planner.sizing.workload import BatchWorkload, ServingWorkload
from tests.factories import AT
from tests.planner.factories import make_offer, make_small_catalog
from tests.sizing.training.test_setting import EIGHT, LLAMA_7B, ONE, SPOT, answer

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison() -> Comparison:
    make_small_catalog()
    make_offer("B200-SXM", "4.00", sku='<a href="javascript:alert(1)">x</a>')
    return services.compare(ServingWorkload(), at=AT)


def test_only_complete_prices_are_drawn_and_the_rest_is_counted(comparison: Comparison) -> None:
    chart = charts.cost_speed(comparison)
    assert chart is not None
    complete = [item for item in comparison.candidates if item.monthly.complete]
    assert len(chart.points) == len(complete) < comparison.candidates_total
    assert chart.left_out == comparison.candidates_total - len(complete)
    assert str(chart.left_out) in chart.left_out_sentence


def test_the_figures_are_those_of_the_candidates(comparison: Comparison) -> None:
    chart = charts.cost_speed(comparison)
    assert chart is not None
    by_offer = {point.offer_id: point for point in chart.points}
    for item in comparison.candidates:
        if item.monthly.complete and item.speed and item.speed.peak.tpot_s:
            point = by_offer[item.offer.offer_id]
            assert point.x == pytest.approx(float(item.monthly.total))
            assert point.y == pytest.approx(item.speed.peak.tpot_s.value * 1000)


def test_the_frontier_is_what_nothing_cheaper_equals(comparison: Comparison) -> None:
    chart = charts.cost_speed(comparison)
    assert chart is not None
    frontier = sorted((point for point in chart.points if point.on_frontier), key=lambda point: point.x)
    assert frontier
    assert all(later.y < earlier.y for earlier, later in pairwise(frontier))
    for point in chart.points:
        assert any(best.x <= point.x and best.y * charts.NOTICEABLE <= point.y for best in frontier)


def test_one_point_is_no_chart() -> None:
    make_small_catalog()
    workload = ServingWorkload.model_validate({"filters": {"include": ("L40S",)}})
    assert charts.cost_speed(services.compare(workload, at=AT)) is None


def test_a_batch_job_is_drawn_by_cost_and_hours() -> None:
    make_small_catalog()
    chart = charts.cost_speed(services.compare(BatchWorkload(), at=AT))
    assert chart is not None
    assert (chart.x.unit, chart.y.unit) == ("USD", "h")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_paper_s_drawing_is_well_formed_and_safe(comparison: Comparison, language: str) -> None:
    chart = charts.cost_speed(comparison)
    assert chart is not None
    svg = charts.render_svg(chart, language)
    root = ElementTree.fromstring(svg)
    marks = [e for e in root.iter() if e.get("class") in charts.ROLES]
    assert len(marks) == len(chart.points)
    assert not [e for e in root.iter() if e.tag.endswith("}a") or e.tag.endswith("script")]
    assert charts.render_svg(chart, language) == svg


def test_a_memory_bar_fills_its_width(comparison: Comparison) -> None:
    root = ElementTree.fromstring(charts.render_svg(comparison.candidates[0]))
    bars = [
        e for e in root.iter() if e.tag.endswith("rect") and e.get("height") == "20" and e.get("y") == "0"
    ]
    drawn = sum(float(e.get("width", "0")) for e in bars if e.get("fill") != "none")
    assert drawn == pytest.approx(720, abs=1)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_names_of_many_parts_of_memory_never_touch(language: str) -> None:
    made = answer(TuningWorkload(kind="full_finetune", model=LLAMA_7B), EIGHT, SPOT, ONE)
    root = ElementTree.fromstring(charts.render_svg(made.candidates[0], language))
    names = [e for e in root.iter() if e.tag.endswith("text")]
    assert len(names) > 6
    height = float(root.get("height", "0"))
    ends: dict[float, float] = {}
    for name in names:
        across, base, text = float(name.get("x", "0")), float(name.get("y", "0")), name.text or ""
        assert across > ends.get(base, 0.0)
        ends[base] = across + charts._length(text)
        assert ends[base] <= 720
        assert base < height


def test_the_screen_s_figure_is_plain_json_without_markup(comparison: Comparison) -> None:
    chart = charts.cost_speed(comparison)
    assert chart is not None
    text = json.dumps(charts.plotly(chart))
    assert "<a" not in text
    assert sum(len(trace["x"]) for trace in json.loads(text)["data"][:-1]) == len(chart.points)


def test_labels_of_the_frontier_never_touch_each_other_or_a_dot() -> None:
    wanted = [
        (200.0, 100.0, "A100-PCIe-40GB"),
        (222.0, 102.0, "A10"),
        (245.0, 104.0, "RTXPRO6000"),
        (250.0, 140.0, "GH200"),
    ]
    dots = [(x, y) for x, y, _label in wanted] + [(240.0, 92.0)]
    placed = charts._placed(wanted, dots)
    assert {label for *_place, label in placed} == {label for *_point, label in wanted}
    boxes = []
    for x, y, anchor, label in placed:
        width = charts.CHARACTER * len(label)
        left = x if anchor == "start" else x - width
        boxes.append((left, y - 10, left + width, y + 3))
    for index, (left, top, right, bottom) in enumerate(boxes):
        assert not any(left < x < right and top < y < bottom for x, y in dots)
        for other in boxes[index + 1 :]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
