"""Attention by requests on pages and in files: the split, what tensors alone would take, and every figure opened."""

from __future__ import annotations

import html
import json

import pytest
import time_machine
from django.http import QueryDict
from django.test import Client

from planner import reach_words, services
from planner.candidate_views import candidate_view
from planner.forms import WorkbenchForm
from planner.sizing.devices import Layout
from planner.sizing.results import Candidate, OtherLayout
from planner.sizing.workload import CommonWorkload
from tests.factories import AT
from tests.planner.factories import make_offer, make_small_catalog
from tests.planner.printed import unexplained, worked_again

pytestmark = pytest.mark.django_db
R1 = (
    "model=deepseek-ai/DeepSeek-R1&weights=fp8&in=100600&in_max=100600&out=400&out_max=400&users=10&users_peak=10"
    "&ttft=&tpot=&include=H200-SXM"
)
MANY = (
    "model=deepseek-ai/DeepSeek-R1&weights=fp8&in=500&in_max=500&out=2000&out_max=2000&users=400&users_peak=400"
    "&ttft=&tpot=&include=H200-SXM"
)
"""Many long answers: a cache that fills the memory. ``R1`` asks for few long contexts instead."""
JOB = "kind=llm_batch&model=deepseek-ai/DeepSeek-R1&weights=fp8&in=2000&out=500&requests=100000&include=H200-SXM"


@pytest.fixture(autouse=True)
def _market(db: None) -> None:
    with time_machine.travel(AT, tick=False):
        make_small_catalog()
        make_offer("H200-SXM", "28.00", count=8, ram_gib=2048)


def asked(query: str) -> CommonWorkload:
    form = WorkbenchForm.from_query(QueryDict(query), at=AT)
    assert form.is_valid(), form.errors
    return form.workload()


def first_of(query: str) -> Candidate:
    candidate = services.compare(asked(query), at=AT).candidates[0]
    found = services.candidate(asked(query), at=AT, offer_id=candidate.offer.offer_id)
    assert isinstance(found, Candidate)
    assert found.other_layout == candidate.other_layout
    return found


@pytest.mark.parametrize(("query", "layout"), [(MANY, Layout(dp=8, ep=8)), (R1, Layout(tp=2, pp=4))])
def test_the_ranking_takes_the_split_and_tells_what_tensors_alone_would_take(
    query: str, layout: Layout
) -> None:
    first = first_of(query)
    assert (first.layout, first.machines) == (layout, 1)
    other = first.other_layout
    assert other is not None
    assert (other.layout, other.machines) == (Layout(tp=8), 3)
    assert other.total > first.monthly.total
    listed = services.other_layouts(asked(query), at=AT, offer_id=first.offer.offer_id)
    (shown,) = [choice for choice in listed if choice.is_shown]
    assert (shown.layout, shown.machines, shown.total) == (first.layout, 1, first.monthly.total)
    assert {choice.layout for choice in listed} >= {Layout(tp=8), Layout(dp=8, ep=8), Layout(tp=2, pp=4)}


def test_the_inverse_question_knows_that_one_machine_holds_it() -> None:
    found = first_of(R1).longest_context
    assert found is not None
    assert found.tokens >= 101_000


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (Layout(tp=2, pp=4), "Split by tensors over 2 and by layers over 4 GPUs"),
        (Layout(dp=8, ep=8), "Attention apart on 8 GPUs, experts spread over them"),
        (Layout(tp=4, dp=2, ep=8), "Attention apart in 2 groups of GPUs, experts spread over all 8"),
        (Layout(tp=8), "Split by tensors over 8 GPUs"), (Layout(pp=4), "Split by layers over 4 GPUs"),
    ],
)  # fmt: skip
def test_the_inverse_questions_say_the_whole_split(layout: Layout, said: str) -> None:
    assert reach_words.layout(layout, 1) == said


def test_nothing_is_said_where_all_ranks_share_every_request() -> None:
    assert services.compare(asked(""), at=AT).candidates[0].other_layout is None
    short = services.compare(asked(R1.replace("100600", "20000")), at=AT).candidates[0]
    assert (short.machines, short.layout.dp, short.other_layout) == (1, 1, None)
    assert reach_words.other_layout(short) == ""


@pytest.mark.parametrize("query", [MANY, f"{MANY}&objective=throughput", R1, JOB])
def test_every_figure_of_it_opens_and_works_out(client: Client, query: str) -> None:
    found = first_of(query)
    assert found.layout.tp < 8
    with time_machine.travel(AT, tick=False):
        page = client.get(f"/workbench/candidate/{found.offer.offer_id}/?{query}").content.decode()
    assert unexplained(page) == []
    view = candidate_view(WorkbenchForm.from_query(QueryDict(query), at=AT).kind, found, (), language="en")
    for item in view.derivations:
        again, figure, allowed = worked_again(item)
        assert abs(again - figure) <= allowed, (item.key, item.formula, again, item.result)


@pytest.mark.parametrize(("query", "split"), [(MANY, "DP 8, EP 8"), (R1, "TP 2, PP 4")])
def test_the_page_says_the_split_and_the_month_without_it(client: Client, query: str, split: str) -> None:
    with time_machine.travel(AT, tick=False):
        page = html.unescape(client.get(f"/workbench/?{query}").content.decode())
    assert f"1 replica × 8 GPUs ({split})" in page
    said = page.partition("Split by tensors alone over 8 GPUs, it would take 3 of these machines")
    assert said[1]
    assert "/layouts/" in said[2][:600]


def test_a_plan_of_before_still_says_that_another_split_needs_fewer_machines() -> None:
    first = first_of(MANY)
    other = first.other_layout
    assert other is not None
    kept = other.model_dump(mode="json") | {
        "layout": {"tp": 8, "pp": 1, "ep": 8, "dp": 1}, "attention_dp": 8, "machines": 1
    }  # fmt: skip
    before = first.model_copy(update={"machines": 3, "other_layout": OtherLayout.model_validate(kept)})
    said = reach_words.other_layout(before)
    assert "Split otherwise (attention by requests over 8, experts over 8), 1 of these machines" in said


def test_the_api_gives_the_degrees(client: Client) -> None:
    document = asked(MANY).model_dump(mode="json")
    with time_machine.travel(AT, tick=False):
        answer = client.post("/api/v1/size", json.dumps(document), content_type="application/json")
    assert answer.status_code == 200, answer.content
    first = answer.json()["candidates"][0]
    assert first["layout"] == {"tp": 1, "pp": 1, "ep": 8, "dp": 8}
    assert first["memory"]["groups"] == 8
