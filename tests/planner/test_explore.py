"""Exploring an answer: what is drawn is what sizing again gives."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

import pytest
from django.test import Client

from planner import services
from planner.explore import drawn, llm, sensitivity, utilisation
from planner.explore.alone import Alone, UnknownOffer
from planner.explore.shapes import Bars, Curves
from planner.explore.subjects import SUBJECTS, Explored
from planner.kinds import KINDS
from planner.sizing.results import Candidate
from planner.sizing.workload import BatchWorkload, Concurrency, InputTokens, ServingWorkload
from tests.planner.factories import make_offer, make_small_catalog

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def catalog(db: None) -> Iterator[None]:
    services.forget()
    make_small_catalog()
    make_offer("H200-SXM", "3.80")
    yield
    services.forget()


def alone(workload: ServingWorkload | BatchWorkload, at: datetime) -> tuple[Alone, Candidate]:
    first = services.compare(workload, at=at, limit=1).candidates[0]
    return Alone.on(workload, first.offer.offer_id, at), first


@pytest.mark.parametrize("workload", [ServingWorkload(), BatchWorkload()])
def test_an_offer_alone_is_sized_as_it_is_among_all(
    workload: ServingWorkload | BatchWorkload, now: datetime
) -> None:
    found, first = alone(workload, now)
    by_itself = found.candidate()
    assert by_itself is not None
    told = {"fewer_replicas", "rank"}
    assert by_itself.model_dump(exclude=told) == first.model_dump(exclude=told)


def test_an_offer_that_is_not_there_is_said_so(now: datetime) -> None:
    with pytest.raises(UnknownOffer):
        Alone.on(ServingWorkload(), 999_999, now)


def test_an_input_that_is_moved_has_the_effect_of_asking_for_it(now: datetime) -> None:
    workload = ServingWorkload()
    found, first = alone(workload, now)
    swing = next(swing for swing in sensitivity.swings(found) if swing.label == "Input, typical")
    asked = workload.model_copy(update={"input_tokens": InputTokens(typical=1250, maximum=8000)})
    other = services.candidate(asked, at=now, offer_id=first.offer.offer_id)
    assert isinstance(other, Candidate)
    assert other.speed is not None
    assert first.speed is not None
    assert other.speed.peak.tpot_s is not None
    assert first.speed.peak.tpot_s is not None
    effect = swing.effects[1]
    assert effect is not None
    assert effect.speed == pytest.approx(
        (other.speed.peak.tpot_s.value / first.speed.peak.tpot_s.value - 1) * 100
    )
    assert effect.cost == pytest.approx((float(other.monthly.total / first.monthly.total) - 1) * 100)


def test_a_constant_of_the_method_that_is_moved_moves_the_speed(now: datetime) -> None:
    found, _first = alone(ServingWorkload(), now)
    moved = [swing for swing in sensitivity.swings(found) if not swing.is_input]
    assert moved
    read = next(swing for swing in moved if swing.label == "Bandwidth reached reading weights")
    less, more = read.effects
    assert less is not None and more is not None  # noqa: PT018
    assert less.speed is not None and more.speed is not None  # noqa: PT018
    assert less.speed > 0 > more.speed, "less bandwidth reached is slower, more is faster"


def test_swings_are_sorted_and_never_move_what_is_not_allowed(now: datetime) -> None:
    found, _first = alone(ServingWorkload(), now)
    swings = sensitivity.swings(found)
    assert [swing.size for swing in swings] == sorted((swing.size for swing in swings), reverse=True)
    hours = next(swing for swing in swings if swing.label == "Hours a day")
    assert hours.effects[1] is None, "a day has 24 hours"
    assert hours.effects[0] is not None
    assert hours.effects[0].cost is not None
    assert hours.effects[0].cost < 0


def test_memory_over_context_meets_the_candidate_where_it_stands(now: datetime) -> None:
    found, _first = alone(ServingWorkload(), now)
    curves = llm.memory_by_context(found)
    assert curves is not None
    assert {curve.name for curve in curves.curves} >= {"BF16"}
    for curve in curves.curves:
        needed = [y for _x, y in curve.points]
        assert needed == sorted(needed), "more context never needs less"
    by_name = {curve.name: dict(curve.points) for curve in curves.curves}
    if "FP8" in by_name:
        assert all(by_name["FP8"][x] < y for x, y in by_name["BF16"].items())


@pytest.mark.parametrize(("make", "unit"), [(llm.latency_by_load, 1000), (llm.first_token_by_load, 1)])
def test_latency_over_load_rises_and_carries_its_target(make: object, unit: float, now: datetime) -> None:
    workload = ServingWorkload(concurrency=Concurrency(average=2, peak=16))
    found, first = alone(workload, now)
    curves = make(found)  # type: ignore[operator]
    assert isinstance(curves, Curves)
    (curve,) = curves.curves
    values = [y for _x, y in curve.points]
    assert values == sorted(values)
    assert all(low <= y <= high for (_x, y), (low, high) in zip(curve.points, curve.band, strict=True))
    assert [mark.value for mark in curves.across] == [0.05 * unit if unit > 1 else 1.0]
    assert first.replicas >= 1


def test_throughput_never_falls_with_more_requests(now: datetime) -> None:
    found, _first = alone(ServingWorkload(), now)
    curves = llm.throughput_by_load(found)
    assert curves is not None
    values = [y for _x, y in curves.curves[0].points]
    assert all(later >= earlier * 0.999 for earlier, later in pairwise(values))


def test_cost_over_utilisation_begins_with_the_first_candidate_of_the_table(now: datetime) -> None:
    candidates = services.compare(ServingWorkload(), at=now, limit=4).candidates
    curves = utilisation.chart(candidates[0], candidates)
    assert curves is not None
    assert curves.curves[0].name.startswith(
        f"{candidates[0].offer.accelerator}, {candidates[0].offer.provider_name}"
    )
    share, cost = curves.curves[0].points[-1]
    assert share == 100
    assert cost == pytest.approx(float(candidates[0].per_million_tokens.at_full_use or 0))
    assert len({curve.name for curve in curves.curves}) == len(curves.curves)
    assert utilisation.chart(None, ()) is None


def test_a_first_candidate_with_unknown_lines_is_drawn_and_said_to_be_a_least(now: datetime) -> None:
    first = services.compare(ServingWorkload(), at=now, limit=1).candidates[0]
    for complete in (True, False):
        monthly = first.monthly.model_copy(update={"complete": complete})
        curves = utilisation.chart(first.model_copy(update={"monthly": monthly}), ())
        assert curves is not None
        assert ("≥" in curves.curves[0].name) is not complete
        assert ("the least it can cost" in curves.caption) is not complete


def test_break_even_lies_where_the_first_curve_meets_the_price_by_the_token(now: datetime) -> None:
    first = services.compare(ServingWorkload(), at=now, limit=1).candidates[0]
    full = float(first.per_million_tokens.at_full_use or 0)
    curves = utilisation.chart(first, (), managed_per_million=full * 4)
    assert curves is not None
    assert [mark.value for mark in curves.across] == [full * 4]
    assert {mark.label: mark.value for mark in curves.upright}["break-even"] == pytest.approx(25)
    assert "from 25.0 % of full use on" in curves.caption
    never = utilisation.chart(first, (), managed_per_million=full / 2)
    assert never is not None
    assert "break-even" not in {mark.label for mark in never.upright}
    assert "costs less than the first candidate at any use" in never.caption


def test_the_page_of_a_subject_is_about_the_first_row_of_the_table(client: Client) -> None:
    query = "managed_in=0.1&managed_out=0.5"
    for subject in ("utilisation", "tpot", "memory"):
        page = client.get(f"/workbench/explore/{subject}/?{query}")
        first = client.get("/workbench/").context["view"].rows[0].it
        assert page.context["of"].offer.offer_id == first.offer.offer_id
    assert "of full use on" in client.get(f"/workbench/explore/utilisation/?{query}").content.decode()


@pytest.mark.parametrize(
    ("kind", "subject"), [(kind.key, subject) for kind in KINDS for subject in kind.explorations]
)
def test_every_subject_of_a_kind_has_page_part_and_file(client: Client, kind: str, subject: str) -> None:
    address = f"/workbench/explore/{subject}"
    page = client.get(f"{address}/?kind={kind}")
    assert page.status_code == 200
    assert b"<svg" in page.content
    part = client.get(f"{address}/?kind={kind}", headers={"hx-request": "true"})
    assert b"<html" not in part.content
    file = client.get(f"{address}.csv?kind={kind}")
    assert file.status_code == 200
    rows = list(csv.reader(io.StringIO(file.content.decode("utf-8-sig"))))
    assert len(rows) > 2
    assert all(len(row) == len(rows[0]) for row in rows)


def test_a_subject_that_a_kind_has_not_is_not_found(client: Client) -> None:
    assert client.get("/workbench/explore/ttft/?kind=llm_batch").status_code == 404
    assert client.get("/workbench/explore/nonsense/").status_code == 404
    assert client.get("/workbench/explore/sensitivity/?offer=999999").status_code == 404


def test_a_refused_question_leads_back_to_the_workbench(client: Client) -> None:
    answer = client.get("/workbench/explore/sensitivity/?in=-1")
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/workbench/?in=-1")
    assert client.get("/workbench/explore/sensitivity.csv?in=-1").status_code == 404


def test_the_workbench_keeps_a_subject_open(client: Client) -> None:
    page = client.get("/workbench/?explore=memory").content.decode()
    assert 'hx-get="/workbench/explore/memory/?' in page
    assert 'name="explore" value="memory"' in page
    assert 'name="explore"' not in client.get("/workbench/?explore=nonsense").content.decode()


def test_the_points_of_the_chart_are_a_file_too(client: Client) -> None:
    file = client.get("/workbench/chart.csv")
    assert file.status_code == 200
    rows = list(csv.reader(io.StringIO(file.content.decode("utf-8-sig"))))
    assert len(rows) > 2


def test_drawings_escape_what_they_are_given(now: datetime) -> None:
    found, _first = alone(ServingWorkload(), now)
    for subject in SUBJECTS.values():
        shape = subject.make(Explored(found, services.compare(ServingWorkload(), at=now, limit=4).candidates))
        if shape is not None:
            assert "<script" not in drawn.svg(shape)
            assert drawn.plotly(shape)["data"]
            assert isinstance(shape, Curves | Bars)


def test_long_names_of_curves_stand_whole_above_the_drawing(now: datetime) -> None:
    first = services.compare(ServingWorkload(), at=now, limit=4).candidates
    curves = utilisation.chart(first[0], first)
    assert curves is not None
    named = replace(
        curves, curves=tuple(replace(each, name=f"{each.name} of a long name") for each in curves.curves)
    )
    heights = [int(re.findall(r'viewBox="0 0 720 (\d+)"', drawn.svg(each))[0]) for each in (named, curves)]
    places = re.findall(r'<text class="ink" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]+)<', drawn.svg(named))
    assert [float(x) < 200 for x, _y, _name in places] == [True] * len(named.curves)
    assert len({y for _x, y, _name in places}) == len(named.curves)
    assert heights[0] >= heights[1]
