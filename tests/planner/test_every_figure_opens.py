"""A candidate's page shows no figure without its derivation, for any kind, and each derivation can be worked out
again from what is printed."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.http import QueryDict
from django.test import Client

from planner import services
from planner.candidate_views import CandidateView, candidate_view
from planner.forms import WorkbenchForm
from planner.sizing.results import Candidate
from tests.planner.printed import unexplained, worked_again

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("mixed_catalog"),
    pytest.mark.one_database(reason="sums and words over a market that other tests read on both"),
]
SEVENTY = "model=meta-llama/Llama-3.3-70B-Instruct"
QUESTIONS = (
    "kind=llm_serving",
    f"{SEVENTY}&include=H100-SXM5&users_peak=64&hit=30",
    "rate=2&weights=fp8&currency=JPY",
    "runtime=sglang&users_peak=200",
    "runtime=llama_cpp&weights=gguf_q4_k_m&users=1&users_peak=2",
    "draft=4&users=2&users_peak=4",
    "users=3&users_peak=3",
    "users_peak=300&ttft=0.5",
    "ttft=0.01",
    "kind=llm_batch&deadline=0.05&requests=1000000",
    "kind=llm_batch",
    f"kind=llm_batch&{SEVENTY}&weights=fp8&requests=1000000",
    "kind=lora",
    "kind=lora&padded=1&recompute=full&micro=2",
    "kind=lora&scores=1&sequence=1024",
    f"kind=qlora&{SEVENTY}&samples=2000",
    "kind=full_finetune&model=Qwen/Qwen2.5-7B-Instruct&machines_max=2&network_storage=1",
    "kind=full_finetune&model=Qwen/Qwen2.5-7B-Instruct&offload=1&chunked=1&interval=30",
    "kind=full_finetune&model=Qwen/Qwen2.5-1.5B-Instruct&no_saves=1&software=torch",
    "kind=lora&decode=40&collate=20",
    "kind=pretraining&parameters=7&tokens=20",
    "kind=pretraining&parameters=30&tokens=10&machines_max=8&deadline=",
    "kind=pretraining&parameters=1&tokens=20&content=weights&machines_max=2&precision=fp8",
    "kind=lora&assume=fragmentation_fraction:0.3,system_bytes:2000000000",
    "assume=engine_bytes:3000000000,weight_read_fraction:0.5,weights_kept:3",
)


def shown(query: str, now: datetime) -> list[CandidateView]:
    form = WorkbenchForm.from_query(QueryDict(query))
    assert form.is_valid(), form.errors
    views = []
    for candidate in services.compare(form.workload(), at=now, limit=3).candidates:
        found = services.candidate(form.workload(), at=now, offer_id=candidate.offer.offer_id)
        assert isinstance(found, Candidate)
        views.append(candidate_view(form.kind, found, (), language="en"))
    assert views
    return views


@pytest.mark.parametrize("query", QUESTIONS)
def test_every_shown_figure_opens_a_derivation_or_is_given(query: str, client: Client, now: datetime) -> None:
    for view in shown(query, now):
        page = client.get(f"/workbench/candidate/{view.it.offer.offer_id}/?{query}").content.decode()
        assert unexplained(page) == []


@pytest.mark.parametrize("query", QUESTIONS)
def test_the_printed_formula_with_the_printed_numbers_gives_the_printed_figure(
    query: str, now: datetime
) -> None:
    checked = 0
    for view in shown(query, now):
        for item in view.derivations:
            again, figure, allowed = worked_again(item)
            assert abs(again - figure) <= allowed, (item.key, item.formula, again, item.result)
            checked += 1
    assert checked >= 20


def test_a_figure_without_a_derivation_is_found() -> None:
    page = (
        '<div class="candidate"><td class="num"><a class="why-figure" href="#d-tpot_s">21 ms</a></td>'
        '<td class="num">42 GiB</td><dd><span class="given">80 GiB</span></dd></div><details id="d-tpot_s">'
    )
    assert unexplained(page) == ["42 GiB"]
    assert unexplained(page.replace('id="d-tpot_s"', "")) == ["21 ms", "42 GiB"]
