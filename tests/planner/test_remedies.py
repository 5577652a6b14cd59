"""Changes that would help and what conditions cost, as the page says and links them."""

from __future__ import annotations

import html
import re

import pytest
import time_machine
from django.http import QueryDict
from django.test import Client
from django.utils import translation

from planner import presenters, remedies, remedy_links, services
from planner.forms import WorkbenchForm
from planner.sizing.results import Comparison, Miss, Relief, Remedy
from tests.factories import AT
from tests.planner.factories import make_offer, make_small_catalog

pytestmark = pytest.mark.django_db
ADDRESS = "/workbench/"
SLOW = "model=Qwen/Qwen3-32B&in=8000&in_max=8000&users=10&users_peak=20"


@pytest.fixture
def market() -> None:
    with time_machine.travel(AT, tick=False):
        make_small_catalog()
        make_offer("H100-NVL", "7", region="japaneast")


def compared(query: str) -> tuple[WorkbenchForm, Comparison]:
    form = WorkbenchForm.from_query(QueryDict(query), at=AT)
    assert form.is_valid(), form.errors
    return form, services.compare(form.workload(), at=AT, limit=1)


@pytest.mark.usefixtures("market")
def test_the_link_of_each_remedy_asks_so_and_the_answer_has_the_month_it_promised() -> None:
    query = f"{SLOW}&include=H100-NVL"
    form, found = compared(query)
    assert found.class_counts["1"] == 0
    assert len(found.remedies) >= 2
    for view in remedy_links.linked(remedies.remedy_views(found, "en"), form):
        assert view.query, view.what
        _form, then = compared(view.query)
        first = then.candidates[0]
        assert first.offer.offer_id == view.it.offer.offer_id
        assert (first.monthly.total, then.class_counts["1"]) == (view.it.total, view.it.candidates)


@pytest.mark.usefixtures("market")
def test_what_the_filters_left_out_is_not_called_the_market(client: Client) -> None:
    with time_machine.travel(AT, tick=False):
        page = html.unescape(client.get(f"{ADDRESS}?price_max=1").content.decode())
        beyond = html.unescape(
            client.get(f"{ADDRESS}?model=deepseek-ai/DeepSeek-R1&weights=fp32").content.decode()
        )
    assert "No machine that the filters leave can run this as asked" in page
    assert "No machine on the market can run this as asked" in beyond


@pytest.mark.usefixtures("market")
def test_the_page_stands_remedies_side_by_side_and_says_that_more_replicas_do_not_help(
    client: Client,
) -> None:
    with time_machine.travel(AT, tick=False):
        page = html.unescape(client.get(f"{ADDRESS}?{SLOW}&include=H100-NVL").content.decode())
    assert "What would do" in page
    assert re.search(r'href="/workbench/\?model=[^"]*weights=fp8[^"]*">weights in FP8</a>', page)
    assert re.search(r'href="/workbench/\?model=[^"]*ttft=[0-9.]+[^"]*">a first token within', page)
    assert "which misses only TTFT ≤ 1.00 s, a default" in page
    assert "More replicas do not help: with" in page
    assert "the first token would come later than asked for" not in page


@pytest.mark.parametrize(
    ("change", "value", "query", "then"),
    [
        ("regions", "", "regions=tokyo", ""),
        ("tiers", "reserved", "", "tiers=on_demand,reserved"),
        ("tpot_s", 0.065, "", "tpot=65"),
        ("headroom_fraction", 0.04, "", "headroom=4"),
        ("gpu_count_maximum", 4, "gpus=1", "gpus=4"),
        ("complete_prices_only", "", "complete=1", ""),
        ("interruptible", "", "", "interruptible=yes"),
        ("budget_per_month", 1900.0, "budget=1600", "budget=1900"),
        ("estimated_prices", "", "", "estimates=1"),
        ("input_tokens_maximum", 130_072, "in_max=200000", "in_max=130072"),
        ("chunked_loss", "on", "kind=qlora", "kind=lora&method=qlora&chunked=1"),
        ("machines_maximum", 2, "kind=qlora", "kind=lora&method=qlora&machines_max=2"),
        ("method", "qlora", "kind=lora", "kind=lora&method=qlora"),
        ("savings_together", "on", "kind=qlora", ""),
    ],
)
@pytest.mark.usefixtures("market")
def test_every_change_is_made_in_its_own_field(change: str, value: object, query: str, then: str) -> None:
    _form, found = compared("")
    first = found.candidates[0]
    remedy = Remedy(
        change=change, value=value, candidates=1, offer=first.offer, layout=first.layout, replicas=1, machines=1,
        total="1.00", currency="USD", complete=True,
    )  # fmt: skip
    form = WorkbenchForm.from_query(QueryDict(query), at=AT)
    assert form.is_valid(), form.errors
    views = remedies.remedy_views(found.model_copy(update={"remedies": (remedy,)}), "en")
    (view,) = remedy_links.linked(views, form)
    assert view.query == then
    assert WorkbenchForm.from_query(QueryDict(view.query), at=AT).is_valid()


@pytest.mark.usefixtures("market")
def test_a_default_that_costs_machines_is_named_in_the_headline() -> None:
    _form, found = compared("")
    first = found.candidates[0]
    relief = Relief(
        given_up="ttft_s", asked=1.0, got=1.66, replicas=1, gpus_per_replica=1, machines=1, total="7392.68",
        currency="USD", complete=False,
    )  # fmt: skip

    def headline(*reliefs: Relief) -> str:
        bound = first.model_copy(update={"replicas": 3, "machines": 3, "reliefs": reliefs})
        changed = found.model_copy(update={"candidates": (bound,)})
        return presenters.answer(changed, language="en").headline

    assert headline(relief).endswith(
        "3 replicas carry the peak, because of TTFT ≤ 1.00 s, which is a default"
    )
    assert "default" not in headline(relief.model_copy(update={"asked": 0.9}))
    assert "default" not in headline()
    (view,) = remedies.relief_views(first.model_copy(update={"reliefs": (relief,)}))
    assert view.without == "Without “TTFT within 1.00 s” (TTFT 1.66 s then)"
    assert (view.month, view.machines, view.is_default) == ("≥ $7,392.68", "1 machine", True)
    share = relief.model_copy(update={"given_up": "headroom_fraction", "asked": 0.1, "got": None})
    (view,) = remedies.relief_views(first.model_copy(update={"reliefs": (share,)}))
    assert (view.without, view.is_default) == ("Without the memory headroom of 10 %", False)


@pytest.mark.usefixtures("market")
def test_a_target_out_of_reach_is_said_with_what_one_request_alone_gets() -> None:
    _form, found = compared("")
    first = found.candidates[0]
    miss = Miss(target="ttft_s", asked=1.0, got=2.02, best=1.8)
    missed = first.model_copy(update={"replicas": 5, "misses": (miss,)})
    (said,) = remedies.out_of_reach(missed)
    assert said == (
        "More replicas do not help: with 5, which hold the load, TTFT is 2.02 s, wanted 1.00 s; one request alone has "
        "1.80 s."
    )
    assert (
        remedies.out_of_reach(first.model_copy(update={"misses": (Miss(target="ttft_s", asked=1, got=2),)}))
        == ()
    )
    with translation.override("ja"):
        assert remedies.out_of_reach(missed)
