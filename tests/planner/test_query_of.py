"""The address that asks for a workload which came as a document: exactly that workload, or none."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.http import QueryDict

from planner.forms import WorkbenchForm
from planner.query_of import query_of

pytestmark = pytest.mark.django_db

QUERIES = [
    "",
    "model=Qwen/Qwen3-32B&users=20&users_peak=40&ttft=&in=8000&in_max=8000",
    "regions=tokyo,JP&tiers=on_demand,spot&currency=JPY&complete=1&interruptible=yes",
    "runtime=sglang&weights=fp8&kv=fp8&headroom=5&hours=8&days=20&m_in=2000&m_out=300&managed_in=0.1&managed_out=0.4",
    "assume=hop_s:1e-5",
    "kind=llm_batch&requests=5000&deadline=",
    "kind=lora&samples=1000",
    "kind=lora&method=full_finetune&gpus_exact=8",
    "kind=pretraining&tokens=60",
]


def form_of(query: str, at: datetime) -> WorkbenchForm:
    form = WorkbenchForm.from_query(QueryDict(query), at=at)
    assert form.is_valid(), form.errors
    return form


@pytest.mark.parametrize("query", QUERIES)
def test_the_query_asks_for_exactly_the_document(query: str, at: datetime) -> None:
    workload = form_of(query, at).workload()
    found = query_of(workload.model_dump(mode="json"), at)
    assert found is not None
    assert form_of(found, at).workload() == workload


def test_what_the_form_cannot_ask_has_no_query(at: datetime) -> None:
    config = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64}
    assert query_of({"model": {"config": config}}, at) is None
    assert query_of({"kind": "no such kind"}, at) is None
