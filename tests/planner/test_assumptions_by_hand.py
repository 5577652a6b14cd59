"""Assumptions of memory, speed, training, host and storage can be set where they stand, and taken back."""

from __future__ import annotations

import re
from datetime import datetime
from html import unescape

import pytest
from django.http import QueryDict
from django.test import Client

from planner import kinds, services
from planner.asked import asked
from planner.forms import WorkbenchForm
from planner.sizing.results import Candidate, MemoryParts

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("mixed_catalog"),
    pytest.mark.one_database(reason="sums and words over a market that other tests read on both"),
]


def first(query: str, now: datetime) -> Candidate:
    form = WorkbenchForm.from_query(QueryDict(query))
    assert form.is_valid(), form.errors
    plain = WorkbenchForm.from_query(QueryDict(query.partition("&assume=")[0]))
    assert plain.is_valid(), plain.errors
    offer = services.compare(plain.workload(), at=now, limit=1).candidates[0].offer.offer_id
    found = services.candidate(form.workload(), at=now, offer_id=offer)
    assert isinstance(found, Candidate)
    return found


def part(candidate: Candidate, name: str) -> int:
    assert isinstance(candidate.memory, MemoryParts)
    return next(one.size_bytes for one in candidate.memory.parts if one.name == name)


def test_memory_of_an_engine_follows_what_is_set(now: datetime) -> None:
    plain = first("kind=llm_serving", now)
    more = first("kind=llm_serving&assume=engine_bytes:9000000000", now)
    assert more.split.overhead_bytes > plain.split.overhead_bytes + 7e9
    assert more.split.kv_room_bytes < plain.split.kv_room_bytes - 7e9
    less = first("kind=llm_serving&assume=memory_fraction:0.5", now)
    assert less.split.usable_bytes == int(0.5 * less.split.device_bytes)
    assert first("kind=llm_serving&assume=logit_bytes:200", now).split.activation_bytes > (
        plain.split.activation_bytes
    )


def test_host_and_disks_follow_what_is_set(now: datetime) -> None:
    plain = first("kind=llm_serving", now)
    changed = first("kind=llm_serving&assume=weights_kept:4,system_bytes:20000000000,request_core_s:0.3", now)
    figures, before = changed.figures, plain.figures
    assert figures["storage_needed_bytes"].value == 2 * before["storage_needed_bytes"].value
    assert figures["host_ram_bytes"].value > before["host_ram_bytes"].value + 15e9
    assert figures["host_cores"].value > before["host_cores"].value


def test_training_follows_what_is_set(now: datetime) -> None:
    plain = first("kind=lora", now)
    slower = first("kind=lora&assume=linear_fraction:0.2", now)
    assert slower.figures["mfu"].value < plain.figures["mfu"].value * 0.8
    assert slower.figures["run_hours"].value > plain.figures["run_hours"].value * 1.2
    fuller = first("kind=lora&micro=1&assume=base_bytes:9000000000", now)
    assert part(fuller, "overhead") > part(plain, "overhead") + 7e9
    often = first("kind=lora&assume=gpu_hours_per_failure:500", now)
    assert often.figures["interruptions"].value > 50 * plain.figures["interruptions"].value
    assert often.figures["checkpoint_interval_s"].value < plain.figures["checkpoint_interval_s"].value


@pytest.mark.parametrize(
    "query",
    [
        "kind=llm_serving&assume=engine_bytes:9000000000,weights_kept:3,hop_s:0.00002",
        "kind=lora&assume=linear_fraction:0.2,system_bytes:8000000000",
    ],
)
def test_what_is_set_is_told_with_its_assumptions(query: str, client: Client, now: datetime) -> None:
    form = WorkbenchForm.from_query(QueryDict(query))
    assert form.is_valid()
    asked = set(form.cleaned_data["assume"])
    told = services.compare(form.workload(), at=now, limit=1).assumptions
    marked = {item.name.rpartition(".")[2]: item.value for item in told if item.user_set}
    assert {name: marked[name] for name in asked} == form.cleaned_data["assume"]
    page = unescape(client.get(f"/workbench/?{query}").content.decode())
    assert page.count(">Reset</a>") == len(asked)
    assert "set by you" in page


@pytest.mark.parametrize("kind", [kind.key for kind in kinds.KINDS])
def test_every_assumption_of_a_kind_is_range_checked(kind: str) -> None:
    settable = kinds.of(kind).settable
    assert len(settable) > 20
    for name, known in settable.items():
        assert known.minimum < known.maximum
        for value, is_accepted in (
            (known.maximum, True), (known.minimum, True), (known.maximum * 1.01 + 1, False),
            (known.minimum - 0.001, False),
        ):  # fmt: skip
            form = WorkbenchForm.from_query(QueryDict(f"kind={kind}&assume={name}:{value!r}"))
            assert ("assume" not in form.errors) == is_accepted, (name, value, form.errors)


def test_what_is_out_of_range_is_refused_with_a_message(client: Client) -> None:
    page = unescape(client.get("/workbench/?kind=lora&samples=777&assume=linear_fraction:3").content.decode())
    assert "“Compute rate reached in matrix products”: from 0.001 to 0.95 is accepted, not 3." in page
    assert "Use the fitted ones again" in page
    assert 'value="777"' in page
    unknown = unescape(client.get("/workbench/?kind=lora&assume=engine_bytes:3").content.decode())
    assert "No assumption is called “engine_bytes”." in unknown


def test_one_click_takes_one_assumption_back(client: Client, now: datetime) -> None:
    query = "kind=lora&assume=linear_fraction:0.2,system_bytes:8000000000"
    candidate = first(query, now)
    there = f"/workbench/candidate/{candidate.offer.offer_id}/"
    page = unescape(client.get(f"{there}?{query}").content.decode())
    assert 'name="assume-linear_fraction" value=""' in page
    after = client.get(f"{there}?{query}&assume-linear_fraction=0.2&assume-linear_fraction=").content.decode()
    assert unescape(after).count(">Reset</a>") == 1
    assert '<input type="hidden" name="assume" value="system_bytes:8000000000" />' in after
    assert 'name="assume-linear_fraction" value=""' not in after


def test_each_constant_of_a_formula_has_its_field(client: Client, now: datetime) -> None:
    for query, names in (
        ("kind=llm_serving", ("engine_bytes", "memory_fraction", "hidden_copies", "weights_kept", "graph_bytes")),
        ("kind=lora", ("linear_fraction", "fragmentation_fraction", "base_bytes", "gpu_hours_per_failure",
                       "ram_headroom_fraction")),
    ):  # fmt: skip
        offer = first(query, now).offer.offer_id
        page = client.get(f"/workbench/candidate/{offer}/?{query}").content.decode()
        for name in names:
            assert f'name="assume-{name}"' in page, name


def test_figures_that_rest_on_what_is_set_by_hand_are_marked(client: Client, now: datetime) -> None:
    query = "kind=lora&assume=linear_fraction:0.5"
    offer = first(query, now).offer.offer_id
    marked = re.compile(r'#d-([a-z_]+)"[^>]*>[^<]*</a><span class="by-hand-mark"')
    found = set(marked.findall(client.get(f"/workbench/candidate/{offer}/?{query}").content.decode()))
    assert {"train_step_s", "run_hours", "mfu", "tokens_per_s"} <= found
    assert not {"needed_bytes", "checkpoint_bytes", "data_parallel"} & found
    plain = client.get(f"/workbench/candidate/{offer}/?kind=lora").content.decode()
    assert "by-hand-mark" not in plain


@pytest.mark.parametrize("kind", ["llm_serving", "pretraining"])
def test_any_assumption_can_be_chosen_from_a_list_and_set(kind: str, client: Client) -> None:
    page = client.get(f"/workbench/?kind={kind}").content.decode()
    listed = re.findall(
        r'<option value="([a-z_0-9]+)">', page.partition('id="set-name"')[2].partition("</select>")[0]
    )
    assert set(listed) == set(kinds.of(kind).settable)
    form = WorkbenchForm.from_query(QueryDict(f"kind={kind}&set=interruptions_per_hour&to=0.2"))
    assert form.is_valid(), form.errors
    assert form.cleaned_data["assume"] == {"interruptions_per_hour": 0.2}
    emptied = WorkbenchForm.from_query(
        QueryDict(f"kind={kind}&assume=interruptions_per_hour:0.2&set=interruptions_per_hour&to=")
    )
    assert emptied.is_valid()
    assert not emptied.cleaned_data["assume"]
    refused = WorkbenchForm.from_query(QueryDict(f"kind={kind}&set=interruptions_per_hour&to=abc"))
    assert "assume" in refused.errors


@pytest.mark.parametrize(
    ("typed", "shown"),
    [("1e400", "∞"), ("-1", "-1"), ("0", "0"), ("3", "3")],
    ids=["infinite", "-1", "0", "3"],
)
def test_every_value_out_of_range_is_told_the_same_one_range(typed: str, shown: str) -> None:
    form = WorkbenchForm.from_query(QueryDict(f"assume=weight_read_fraction:{typed}"))
    told = "“Bandwidth reached reading weights”: from 0.001 to 0.97 is accepted, not {}."
    assert form.errors == {"assume": [told.format(shown)]}


def test_a_name_that_is_unknown_is_told_so_whatever_its_value() -> None:
    form = WorkbenchForm.from_query(QueryDict("assume=nothing:-1"))
    assert form.errors == {"assume": ["No assumption is called “nothing”."]}


def test_what_was_asked_names_an_assumption_in_words() -> None:
    form = WorkbenchForm.from_query(QueryDict("assume=weight_read_fraction:0.5"))
    assert form.is_valid()
    assert ("Assumptions set by hand", "Bandwidth reached reading weights = 0.5") in asked(form)
