"""The questions turned round, as a page and as a command."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from planner import kinds, market, reach
from planner.kinds.frame import Kind
from planner.sizing.compare import compare
from planner.sizing.devices import Layout
from planner.sizing.results import Candidate
from planner.sizing.workload import (
    Concurrency,
    InputTokens,
    ModelReference,
    OutputTokens,
    ServingWorkload,
    Targets,
)
from tests.factories import AT
from tests.planner.factories import make_offer, make_small_catalog
from tests.sizing.markets import Row, setting

R1 = {"model": {"id": "deepseek-ai/DeepSeek-R1"}, "weights_format": "fp8"}


@pytest.mark.parametrize(
    ("users", "layout", "request_bytes"),
    [
        # The fullest of four stages has 16 of 61 layers, whose latent cache is whole on each of its two ranks.
        (10, Layout(tp=2, pp=4), 10 * 16 * 576 * 2),
        # Two requests on each of eight ranks that attend apart, all 61 layers of each.
        (16, Layout(dp=8, ep=8), 2 * 61 * 576 * 2),
    ],
)
def test_users_of_deepseek_r1_on_one_machine_of_eight_h200(
    users: int, layout: Layout, request_bytes: int
) -> None:
    found = reach.answer(
        ServingWorkload.model_validate(R1), accelerator="H200-SXM", count=8, users=users, tokens=32768,
        with_models=False,
    )  # fmt: skip
    assert found.longest_context is not None
    assert found.most_users is not None
    # By hand: what is left of a device beside the headroom, over the bytes of a token of its requests.
    split = found.longest_context.split
    free = split.usable_bytes - split.headroom_bytes - (split.needed_bytes - split.kv_needed_bytes)
    assert found.longest_context.users_per_replica == users
    assert found.longest_context.layout == layout
    assert found.longest_context.value == pytest.approx(free / request_bytes, rel=0.001)
    assert found.most_users.value >= users
    assert found.longest_context.value > 32768


def test_the_page_answers_a_link_and_keeps_the_rest_of_its_query(client: Client, db: None) -> None:
    page = client.get(
        "/reach/?model=deepseek-ai/DeepSeek-R1&weights=fp8&in_max=4000&accelerator=H200-SXM&count=8&at_once=10"
    )
    text = page.content.decode()
    assert page.status_code == 200
    assert "tokens for 10 users at once" in text
    assert '<input type="hidden" name="in_max" value="4000"' in text
    assert "DeepSeek-V4-Pro" in text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("accelerator=H100", "stands for several accelerators"),
        ("accelerator=nothing", "No accelerator of this name"),
        ("count=0", "From 1 to 72"),
        ("count=1.5", "not a whole number"),
        ("at_once=99999999", "From 1 to 1,000,000"),
        ("context=abc", "not read as a number"),
        ("model=no/such-model-at-all", "err-model"),
        ("version=zzz", "err-version"),
        ("in=-5", "too small"),
    ],
)
def test_bad_input_is_said_at_its_field_and_nothing_is_lost(
    client: Client, db: None, query: str, said: str
) -> None:
    page = client.get(f"/reach/?seqs=7&{query}")
    assert page.status_code == 422
    text = page.content.decode()
    assert said in text
    assert 'name="seqs" value="7"' in text


def test_a_format_that_the_engine_does_not_run_there_is_refused_with_its_source(
    client: Client, db: None
) -> None:
    text = client.get("/reach/?runtime=vllm&weights=gguf_q8_0&accelerator=L4").content.decode()
    assert "This engine does not run this model" in text


@pytest.mark.parametrize("kind", ["llm_batch", "lora", "nonsense"])
def test_a_link_of_another_kind_of_work_is_answered_for_serving(client: Client, db: None, kind: str) -> None:
    page = client.get(f"/reach/?kind={kind}&accelerator=L4&users=3&micro_batch=2")
    assert page.status_code == 200
    assert "Longest context" in page.content.decode()


def test_the_command_prints_the_same_as_json(tmp_path: Path) -> None:
    path = tmp_path / "workload.json"
    path.write_text(json.dumps(R1))
    out = StringIO()
    call_command(
        "reach", str(path), "--accelerator", "H200-SXM", "--count", "8", "--users", "10", "--json", stdout=out
    )
    found = json.loads(out.getvalue())
    assert found["longest_context"]["value"] > 32768
    assert [one["parameters"] for one in found["largest_models"]] == sorted(
        (one["parameters"] for one in found["largest_models"]), reverse=True
    )
    plain = StringIO()
    call_command("reach", str(path), "--accelerator", "H200-SXM", "--count", "8", stdout=plain)
    assert "longest context for 32 at once" in plain.getvalue()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--accelerator", "H100"),
        ("--accelerator", "L4", "--count", "0"),
        ("--accelerator", "L4", "--users", "0"),
    ],
)
def test_the_command_refuses_in_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "workload.json"
    path.write_text("{}")
    with pytest.raises(CommandError) as refused:
        call_command("reach", str(path), *arguments)
    assert refused.value.returncode == 2
    assert "\n" not in str(refused.value)


def test_a_candidate_links_to_what_its_machine_holds(client: Client, db: None) -> None:
    market.forget()
    offer = make_small_catalog(timezone.now())[0]
    text = client.get(f"/workbench/candidate/{offer.pk}/?users=3").content.decode()
    assert f"/reach/?users=3&amp;accelerator={offer.accelerator_id}&amp;count={offer.gpu_count}" in text


def test_the_longest_context_of_the_peak_stands_with_the_candidate_and_fits_when_it_is_asked_for() -> None:
    workload = ServingWorkload(
        model=ModelReference(id="Qwen/Qwen3-32B"), concurrency=Concurrency(average=4, peak=4),
        targets=Targets(ttft_s="none", tpot_s="none"),
    )  # fmt: skip

    def first(tokens: int | None = None, headroom_fraction: float = 0.1) -> Candidate:
        update: dict[str, object] = {"headroom_fraction": headroom_fraction}
        if tokens:
            update["input_tokens"] = InputTokens(typical=tokens - 1, maximum=tokens - 1)
            update["output_tokens"] = OutputTokens(typical=1, maximum=1)
        made = setting(workload.model_copy(update=update), [Row("H100-SXM5")])
        found = compare(made, made.place(), engine_version="test").candidates[0]
        assert isinstance(found, Candidate)
        return found

    longest = first().longest_context
    assert longest is not None
    assert longest.users == 4
    assert 0 < longest.tokens < longest.tokens_without_headroom
    assert longest.limited_by == "memory"
    for headroom_fraction, tokens in ((0.1, longest.tokens), (0.0, longest.tokens_without_headroom)):
        assert first(tokens, headroom_fraction).machines == 1
        assert first(tokens + 256, headroom_fraction).machines == 2


def test_the_page_of_a_candidate_says_how_long_a_context_the_peak_may_have(client: Client, db: None) -> None:
    with time_machine.travel(AT, tick=False):
        make_small_catalog()
        page = client.get("/workbench/?users=4&users_peak=4").content.decode()
        batch = client.get("/workbench/?kind=llm_batch").content.decode()
    assert re.search(
        r"Longest context of 4 requests at once on one machine of this offer: [\d,]+ tokens each", page
    )
    assert "Longest context of" not in batch


@pytest.mark.parametrize(("peak", "users"), [(20, 20), (33, 33), (2.5, 3), (0.2, 1), (0.005, 1)])
def test_the_context_is_for_as_many_as_were_asked_for(peak: float, users: int) -> None:
    workload = ServingWorkload(concurrency=Concurrency(average=peak, peak=peak))
    made = setting(workload, [Row("L40S"), Row("H100-SXM5", count=2)])
    for candidate in compare(made, made.place(), engine_version="test").candidates[:1]:
        assert candidate.longest_context is not None
        assert candidate.longest_context.users == users


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.key) for kind in kinds.KINDS])
def test_a_candidate_leads_to_what_its_machine_serves_only_where_it_serves(
    kind: Kind, client: Client, db: None
) -> None:
    market.forget()
    at = timezone.now()
    make_small_catalog(at)
    offer = make_offer("H100-SXM5", "20", provider="large", count=8, region="", ram_gib=2048, at=at)
    query = {"kind": kind.key} | ({"parameters": "1", "tokens": "10"} if kind.key == "pretraining" else {})
    page = client.get(f"/workbench/candidate/{offer.pk}/", query).content.decode()
    assert "8 × H100-SXM5" in page
    for there in ('href="/reach/?', f'href="/workbench/candidate/{offer.pk}/layouts/'):
        assert (there in page) is kind.is_served
