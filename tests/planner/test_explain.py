"""Every figure opens its derivation: what is printed can be worked out again, and what is assumed can be set."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from django.http import QueryDict
from django.test import Client

from planner import services
from planner.forms import WorkbenchForm
from planner.sizing.results import Candidate
from planner.sizing.workload import ServingWorkload

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("mixed_catalog"),
    pytest.mark.one_database(reason="sums and words over a market that other tests read on both"),
]


def test_the_figures_of_the_answer_open_their_derivations(client: Client) -> None:
    page = client.get("/workbench/").content.decode()
    links = re.findall(r'class="why-figure(?: fitted)?" href="([^"]+)#(d-[a-z_]+)"', page)
    assert {anchor for _address, anchor in links} > {
        "d-needed_bytes", "d-tpot_s", "d-ttft_s", "d-monthly_total", "d-per_million_tokens", "d-typical_ttft_s",
        "d-weights_bytes", "d-billed_hours", "d-host_cores",
    }  # fmt: skip
    detail = client.get(links[0][0].replace("&amp;", "&")).content.decode()
    for _address, anchor in links:
        assert f'id="{anchor}"' in detail


def test_symbols_are_glossed_where_they_stand(client: Client, now: datetime) -> None:
    offer = services.compare(ServingWorkload(), at=now, limit=1).candidates[0].offer.offer_id
    page = client.get(f"/workbench/candidate/{offer}/").content.decode()
    assert '<abbr title="Bandwidth reached reading weights"><code>weight_read_fraction</code></abbr>' in page
    assert "How far it is used at peak" in page


def test_an_assumption_that_is_set_moves_the_figure_and_is_marked(client: Client, now: datetime) -> None:
    workload = ServingWorkload()
    before = services.compare(workload, at=now, limit=1).candidates[0]
    set_ = ServingWorkload(assumed={"weight_read_fraction": 0.3})
    after = services.candidate(set_, at=now, offer_id=before.offer.offer_id)
    assert isinstance(after, Candidate)
    assert before.speed is not None and after.speed is not None  # noqa: PT018
    assert before.speed.typical.tpot_s is not None and after.speed.typical.tpot_s is not None  # noqa: PT018
    assert after.speed.typical.tpot_s.value > before.speed.typical.tpot_s.value * 1.1
    told = services.compare(set_, at=now, limit=1).assumptions
    marked = [item.name for item in told if item.user_set]
    assert marked == ["weight_read_fraction"]
    page = client.get("/workbench/?assume=weight_read_fraction:0.3").content.decode()
    assert "set by hand in this link" in page
    assert "set by you" in page


def test_setting_one_assumption_after_another_keeps_both() -> None:
    form = WorkbenchForm.from_query(QueryDict("assume=weight_read_fraction:0.5&assume-kv_read_fraction=0.6"))
    assert form.is_valid(), form.errors
    assert form.query_string() == "assume=weight_read_fraction%3A0.5,kv_read_fraction%3A0.6"
    assert form.cleaned_data["assume"] == {"weight_read_fraction": 0.5, "kv_read_fraction": 0.6}
    emptied = WorkbenchForm.from_query(QueryDict(f"{form.query_string()}&assume-kv_read_fraction="))
    assert emptied.query_string() == "assume=weight_read_fraction%3A0.5"


@pytest.mark.parametrize(
    "assumed",
    ["nonsense:1", "weight_read_fraction:x", "weight_read_fraction:0", "weight_read_fraction:-1", "x"],
)
def test_an_assumption_that_cannot_be_is_refused(client: Client, assumed: str) -> None:
    form = WorkbenchForm.from_query(QueryDict(f"assume={assumed}"))
    assert "assume" in form.errors
    assert client.get(f"/workbench/?assume={assumed}").status_code == 200


def test_terms_of_training_are_glossed_where_they_stand(client: Client, now: datetime) -> None:
    form = WorkbenchForm.from_query(QueryDict("kind=lora"))
    assert form.is_valid()
    offer = services.compare(form.workload(), at=now, limit=1).candidates[0].offer.offer_id
    page = client.get(f"/workbench/candidate/{offer}/?kind=lora").content.decode()
    for term in ("ZeRO stage", "Pipeline parallel", "Accumulation", "Recomputation", "Page cache", "MFU"):
        assert re.search(rf'<abbr title="[^"]+">{term}</abbr>', page), term


@pytest.mark.parametrize("kind", ["llm_serving", "llm_batch", "lora", "pretraining"])
def test_every_large_figure_of_the_answer_opens_its_derivation(kind: str, client: Client) -> None:
    page = client.get(f"/workbench/?kind={kind}").content.decode()
    strip = page.partition('id="strip"')[2].partition("</section>")[0]
    opened = re.findall(r'class="why-figure(?: fitted)?" href="([^"]+)#(d-[a-z_]+)"', strip)
    figures = re.findall(r'<p class="figure">(.*?)</p>', strip, re.DOTALL)
    assert len(figures) >= 3
    assert all("why-figure" in figure for figure in figures), figures
    detail = client.get(opened[0][0].replace("&amp;", "&")).content.decode()
    assert not [anchor for _address, anchor in opened if f'id="{anchor}"' not in detail]
