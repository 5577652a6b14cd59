"""Training kinds can be explored and seen in variants: by sizing again, with the figures of the sheet."""

from __future__ import annotations

from datetime import datetime
from html import unescape

import pytest
from django.http import QueryDict
from django.test import Client

from planner import kinds, services
from planner.explore import sensitivity, training
from planner.explore.alone import Alone
from planner.explore.sensitivity import swings
from planner.explore.shapes import Curve, Curves
from planner.forms import WorkbenchForm
from planner.kinds.frame import Kind
from planner.sizing.quantities import GIB
from planner.sizing.results import Candidate

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("mixed_catalog"),
    pytest.mark.one_database(reason="sums and words over a market that other tests read on both"),
]
QUERIES = (
    "kind=lora",
    "kind=qlora&padded=1",
    "kind=full_finetune&model=Qwen/Qwen2.5-7B-Instruct",
    "kind=pretraining&parameters=7&tokens=20",
)


def alone(query: str, now: datetime) -> tuple[Alone, Candidate]:
    form = WorkbenchForm.from_query(QueryDict(query))
    assert form.is_valid(), form.errors
    best = services.compare(form.workload(), at=now, limit=1).candidates[0]
    return Alone.on(form.workload(), best.offer.offer_id, now), best


def drawn(shape: Curves | None) -> Curves:
    assert shape is not None
    return shape


def at(curve: Curve, x: float) -> float:
    return next(y for there, y in curve.points if there == x)


@pytest.mark.parametrize("query", QUERIES)
def test_every_subject_has_a_page_a_table_and_a_file(query: str, client: Client) -> None:
    form = WorkbenchForm.from_query(QueryDict(query))
    for subject in form.kind.explorations:
        page = client.get(f"/workbench/explore/{subject}/?{query}")
        assert page.status_code == 200
        text = unescape(page.content.decode())
        assert "The chart as a table" in text, subject
        file = client.get(f"/workbench/explore/{subject}.csv?{query}")
        assert file.status_code == 200
        assert len(file.content.decode().splitlines()) > 2


@pytest.mark.parametrize("query", QUERIES)
def test_the_curves_pass_through_the_figures_of_the_sheet(query: str, now: datetime) -> None:
    subject, best = alone(query, now)
    needed = best.memory.needed_bytes / GIB
    by_micro = drawn(training.memory_by_micro_batch(subject))
    (micro,) = by_micro.upright
    assert any(at(curve, micro.value) == pytest.approx(needed, rel=1e-6) for curve in by_micro.curves)
    by_sequence = drawn(training.memory_by_sequence(subject))
    (length,) = by_sequence.upright
    assert any(at(curve, length.value) == pytest.approx(needed, rel=1e-6) for curve in by_sequence.curves)
    hours = drawn(training.hours_by_gpus(subject))
    (gpus,) = hours.upright
    assert at(hours.curves[0], gpus.value) == pytest.approx(best.figures["run_hours"].value, rel=1e-6)
    costs = drawn(training.cost_by_hours(subject))
    assert any(y == float(best.unit_costs["run"] or 0) for _x, y in costs.curves[0].points)


@pytest.mark.parametrize("query", QUERIES)
def test_memory_rises_with_micro_batch_and_sequence_and_hours_fall_with_gpus(
    query: str, now: datetime
) -> None:
    """Of one recomputation: as little of it as fits makes a curve fall where more is taken."""
    subject, _best = alone(f"{query}&recompute=full", now)
    for shape in (training.memory_by_micro_batch(subject), training.memory_by_sequence(subject)):
        for curve in drawn(shape).curves:
            heights = [y for _x, y in curve.points]
            assert heights == sorted(heights)
    hours = [y for _x, y in drawn(training.hours_by_gpus(subject)).curves[0].points]
    assert hours[-1] < hours[0]


def test_each_method_needs_less_than_the_one_that_trains_more(now: datetime) -> None:
    subject, _best = alone("kind=lora", now)
    by_name = {curve.name: curve for curve in drawn(training.memory_by_micro_batch(subject)).curves}
    assert at(by_name["QLoRA"], 1) < at(by_name["LoRA"], 1) < at(by_name["all weights"], 1)


@pytest.mark.parametrize("query", QUERIES[:3])
def test_what_stands_above_the_line_does_not_fit_with_everything_recomputed_either(
    query: str, now: datetime
) -> None:
    subject, _best = alone(query, now)
    shape = drawn(training.memory_by_micro_batch(subject))
    full, _same = alone(f"{query}&recompute=full", now)
    least = drawn(training.memory_by_micro_batch(full))
    (usable,) = shape.across
    assert "least recomputation that fits" in shape.caption
    assert "least recomputation that fits" not in least.caption, "one was asked for"
    met = 0
    for curve, smallest in zip(shape.curves, least.curves, strict=True):
        for micro, needed in curve.points:
            if needed > usable.value:
                assert needed == pytest.approx(at(smallest, micro))
                met += 1
    assert met


def test_a_change_that_takes_other_machines_says_so_beside_its_end(now: datetime) -> None:
    subject, best = alone("kind=pretraining&parameters=3&tokens=60&deadline=200", now)
    shape = sensitivity.chart(subject)
    assert shape is not None
    assert best.machines > 1
    tokens = {swing.label: swing for swing in swings(subject)}["Tokens"]
    counts = [effect.machines for effect in tokens.effects if effect]
    assert counts[0] != best.machines or counts[1] != best.machines
    (row,) = (list(row) for row in shape.rows if str(row[0]).startswith("Tokens"))
    assert row[0] == "Tokens *"
    for count, note in zip(counts, (row[1], row[4]), strict=True):
        assert (f", on {count} machine" in str(note)) == (count != best.machines)
    assert f"* Not on the {best.machines} machines of now" in shape.caption


def test_the_deadline_is_drawn_where_there_is_one(now: datetime) -> None:
    with_one, _best = alone("kind=lora&deadline=30", now)
    assert [mark.value for mark in drawn(training.hours_by_gpus(with_one)).across] == [30]
    without, _best = alone("kind=lora", now)
    assert drawn(training.hours_by_gpus(without)).across == ()


def test_what_moves_a_run_most_is_found_among_inputs_and_assumptions(now: datetime) -> None:
    subject, _best = alone("kind=lora", now)
    found = {swing.label: swing for swing in swings(subject)}
    samples = found["Samples"].effects[1]
    assert samples is not None and samples.speed == pytest.approx(25, abs=0.5)  # noqa: PT018
    rate = found["Compute rate reached in matrix products"].effects[0]
    assert rate is not None and rate.speed is not None and rate.speed > 3  # noqa: PT018
    assert not found["Compute rate reached in matrix products"].is_input


def test_methods_stand_side_by_side_as_variants(client: Client) -> None:
    page = unescape(
        client.get("/workbench/variants/?kind=lora&variants=qlora,full,recompute").content.decode()
    )
    for text in ("QLoRA", "all weights trained", "everything recomputed", "The whole run", "Cost of a run"):
        assert text in page
    assert "method=qlora" in page
    assert "Variants of this workload side by side" in client.get("/workbench/?kind=lora").content.decode()


@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.key)
def test_every_kind_has_variants_that_change_something(kind: Kind, client: Client) -> None:
    assert len(kind.variants) >= 4
    keys = [variant.key for variant in kind.variants]
    assert len(set(keys)) == len(keys)
    for variant in kind.variants:
        page = client.get(
            f"/workbench/variants/?kind={kind.key}&model=Qwen/Qwen2.5-7B-Instruct&variants={variant.key}"
        )
        assert page.status_code == 200
