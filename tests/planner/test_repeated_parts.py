"""Parts that a page repeats dozens of times, written without a template: what they say, and that it is escaped."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import time_machine
from django.template import Context
from django.test import RequestFactory
from django.test.client import ClientHandler
from django.utils.translation import override

from planner import kinds
from planner.candidate_views import CandidateView
from planner.figures import Figure, given
from planner.forms import WorkbenchForm
from planner.templatetags.repeated import column_ticks, opened, settable_options
from tests.factories import AT
from tests.planner.factories import make_small_catalog

ROW = SimpleNamespace(
    it=SimpleNamespace(offer=SimpleNamespace(offer_id=7)), rests_on_hand=frozenset({"tpot_s"})
)


def test_a_figure_leads_to_how_it_comes_about_on_the_candidates_page() -> None:
    there = Context({"row": ROW, "plain_query": "users=9&in=5"})
    assert opened(there, Figure("31.0", "ms", "20–40 ms", "ttft_s")) == (
        '<a class="why-figure fitted" href="/workbench/candidate/7/?users=9&amp;in=5#d-ttft_s" '
        'title="How this figure comes about: it rests on constants fitted on published measurements">31.0 ms</a>'
        '<span class="sub">20–40 ms</span>'
    )
    here = Context({"row": ROW, "plain_query": "users=9", "is_page": True})
    assert 'href="#d-ttft_s"' in opened(here, Figure("31.0", "ms", "", "ttft_s"))


def test_a_figure_that_rests_on_a_number_set_by_hand_is_marked() -> None:
    page = Context({"row": ROW})
    assert "by-hand-mark" in opened(page, Figure("31.0", "ms", "", "tpot_s"))
    assert "by-hand-mark" not in opened(page, Figure("31.0", "ms", "", "ttft_s"))


def test_a_figure_without_a_derivation_is_no_link() -> None:
    assert opened(Context({"row": ROW}), given("8", "vCPU")) == '<span class="given">8 vCPU</span>'
    assert opened(Context({"row": ROW}), Figure("8", "h")) == "<span>8 h</span>"
    assert opened(Context({}), Figure("8", "h", "", "run_hours")) == "<span>8 h</span>"


def test_text_of_a_figure_is_escaped() -> None:
    found = opened(Context({"row": ROW, "plain_query": 'a="<b>'}), Figure("<i>", "<u>", "<s>", "ttft_s"))
    assert not re.search(r"<[ibus]>", found)
    assert "&lt;i&gt; &lt;u&gt;" in found
    assert "a=&quot;&lt;b&gt;" in found


def test_every_column_has_a_box_and_those_shown_are_ticked() -> None:
    columns = kinds.DEFAULT.columns
    found = column_ticks(columns, {columns[1].key})
    assert found.count("<label>") == len(columns)
    assert re.findall(r'value="(\w+)" checked', found) == [columns[1].key]
    with override("ja"):
        assert "レプリカ" in column_ticks(columns, ())
    assert "レプリカ" not in column_ticks(columns, ())


def test_assumptions_stand_in_the_order_of_their_names() -> None:
    form = WorkbenchForm.from_query()
    found = re.findall(r'<option value="(\w+)">([^<]+)</option>', settable_options(form))
    assert {name for name, _words in found} == set(form.kind.settable)
    assert [words for _name, words in found] == sorted((words for _name, words in found), key=str.casefold)


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("db", "uncollected")
def test_an_answer_is_gone_once_it_is_sent() -> None:
    served = ClientHandler()  # a client would keep what templates were given
    with time_machine.travel(AT, tick=False):
        make_small_catalog()
        for headers in ({"HX-Request": "true"}, {}):
            page = served(RequestFactory().get("/workbench/?users=9", headers=headers).environ)
            assert b"candidates-table" in b"".join(page)
            del page
    assert not [one for one in gc.get_objects() if type(one) is CandidateView]
