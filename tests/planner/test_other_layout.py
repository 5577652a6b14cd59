"""A split that the ranking does not try, named where it needs fewer machines."""

from __future__ import annotations

import html

import pytest
import time_machine
from django.http import QueryDict
from django.test import Client

from planner import reach_words, services
from planner.forms import WorkbenchForm
from planner.sizing.workload import CommonWorkload
from tests.factories import AT
from tests.planner.factories import make_offer, make_small_catalog

pytestmark = pytest.mark.django_db
R1 = (
    "model=deepseek-ai/DeepSeek-R1&weights=fp8&in=100600&in_max=100600&out=400&out_max=400&users=10&users_peak=10"
    "&ttft=&tpot=&include=H200-SXM"
)


@pytest.fixture(autouse=True)
def _market(db: None) -> None:
    with time_machine.travel(AT, tick=False):
        make_small_catalog()
        make_offer("H200-SXM", "28.00", count=8, ram_gib=2048)


def asked(query: str) -> CommonWorkload:
    form = WorkbenchForm.from_query(QueryDict(query), at=AT)
    assert form.is_valid(), form.errors
    return form.workload()


def test_a_latent_cache_that_every_gpu_would_hold_whole_takes_fewer_machines_by_requests() -> None:
    first = services.compare(asked(R1), at=AT).candidates[0]
    other = first.other_layout
    assert other is not None
    assert first.machines > other.machines == 1
    assert other.attention_dp == 8
    assert other.total < first.monthly.total
    assert first.longest_context is not None
    assert first.longest_context.tokens >= 101_000, "the inverse question says that one machine holds it"
    listed = services.other_layouts(asked(R1), at=AT, offer_id=first.offer.offer_id)
    same = [
        choice
        for choice in listed
        if (choice.layout, choice.attention_dp) == (other.layout, other.attention_dp)
    ]
    assert [(choice.machines, choice.total) for choice in same] == [(other.machines, other.total)]
    assert services.candidate(asked(R1), at=AT, offer_id=first.offer.offer_id).other_layout == other  # type: ignore[union-attr]


def test_nothing_is_said_where_one_machine_is_enough_or_no_split_needs_fewer() -> None:
    assert services.compare(asked(""), at=AT).candidates[0].other_layout is None
    short = services.compare(asked(R1.replace("100600", "20000")), at=AT).candidates[0]
    assert (short.machines, short.other_layout) == (1, None)
    assert reach_words.other_layout(short) == ""


def test_the_page_says_it_with_the_month_and_a_link_to_all_layouts(client: Client) -> None:
    with time_machine.travel(AT, tick=False):
        page = html.unescape(client.get(f"/workbench/?{R1}").content.decode())
    assert (
        "Split otherwise (attention by requests over 8, experts over 8), 1 of these machines does it" in page
    )
    assert "/layouts/" in page.partition("Split otherwise")[2][:600]
    assert "That is another split than this answer's" in page
