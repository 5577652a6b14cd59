"""Tokens × bytes a token are the room for cache wherever both are told, for every kind of cache."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from planner import market, reach, services
from planner.sizing import offload
from planner.sizing.results import MemorySplit
from planner.sizing.workload import ServingWorkload
from tests.planner.factories import make_offer, make_small_catalog

WORKLOADS = {
    "plain": {"model": {"id": "meta-llama/Llama-3.1-8B-Instruct"}},
    "window": {"model": {"id": "google/gemma-3-27b-it"}, "weights_format": "fp8"},
    "states": {"model": {"id": "Qwen/Qwen3.5-27B"}, "weights_format": "int4_awq"},
    "states apart": {"model": {"id": "Qwen/Qwen3.5-27B"}, "weights_format": "int4_awq", "runtime": {"name": "sglang"}},
    "up front": {"weights_format": "gguf_q8_0", "runtime": {"name": "llama_cpp"},
                 "concurrency": {"average": 1, "peak": 2}},
    "layers on the host": {"weights_format": "gguf_q8_0", "runtime": {"name": "llama_cpp"}, "offload": {"layers": 8},
                           "concurrency": {"average": 1, "peak": 2}},
}  # fmt: skip


def agree(split: MemorySplit, share: float = 1.0) -> None:
    assert split.kv_room_tokens > 0
    room = split.kv_room_bytes * share
    assert split.kv_room_tokens * split.kv_bytes_per_token <= room + 1
    assert (split.kv_room_tokens + 1) * split.kv_bytes_per_token > room - 1


@pytest.fixture
def catalog(db: None) -> None:
    market.forget()
    make_small_catalog(timezone.now())


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_in_the_comparison_the_details_and_the_inverse_answer(catalog: None, name: str) -> None:
    workload, at = ServingWorkload.model_validate(WORKLOADS[name]), timezone.now()
    share = 1 / 1.9 if name == "states apart" else 1.0
    found = services.compare(workload, at=at)
    assert found.candidates
    for candidate in found.candidates:
        assert isinstance(candidate.memory, MemorySplit)
        agree(candidate.memory, share)
        assert candidate.memory.ranges["kv_room_tokens"].value == candidate.memory.kv_room_tokens
    first = found.candidates[0].offer
    one = services.candidate(workload, at=at, offer_id=first.offer_id)
    agree(one.memory, share)  # type: ignore[union-attr, arg-type]
    answer = reach.answer(
        workload, accelerator=first.accelerator, count=first.gpu_count, users=1, with_models=False
    )
    assert answer.longest_context is not None
    agree(answer.longest_context.split, share)


def test_on_the_page_of_a_candidate_each_figure_has_its_range_and_its_formula(
    catalog: None, client: Client
) -> None:
    at = timezone.now()
    found = services.compare(ServingWorkload(), at=at).candidates[0]
    text = client.get(f"/workbench/candidate/{found.offer.offer_id}/").content.decode()
    assert isinstance(found.memory, MemorySplit)
    assert f"{found.memory.kv_room_tokens:,}" in text
    assert f"{found.memory.kv_bytes_per_token:,} B" in text
    assert isinstance(found.memory, MemorySplit)
    assert found.memory.ranges["weights_bytes"].low < found.memory.weights_bytes


def test_on_the_command_line(catalog: None, tmp_path: Path) -> None:
    out = StringIO()
    path = tmp_path / "workload.json"
    path.write_text(json.dumps(WORKLOADS["window"]))
    call_command("size", str(path), "--json", stdout=out)
    for candidate in json.loads(out.getvalue())["candidates"]:
        agree(MemorySplit.model_validate(candidate["memory"]))


def test_a_step_waits_for_the_weights_that_come_over_the_bus(catalog: None) -> None:
    at = timezone.now()
    one_user = {"concurrency": {"average": 1, "peak": 1}}
    plain = services.compare(ServingWorkload.model_validate(one_user), at=at).candidates
    moved = services.compare(
        ServingWorkload.model_validate({**one_user, "offload": {"weights_gib": 4}}), at=at
    )
    before = {one.offer.offer_id: one for one in plain}
    assert moved.candidates
    for one in moved.candidates:
        assert one.speed is not None
        assert one.speed.peak.tpot_s is not None
        assert isinstance(one.memory, MemorySplit)
        bus = 4 * 2**30 / (offload.BUS_BYTES_PER_S * 2.5)
        assert one.speed.peak.tpot_s.value > bus
        assert one.memory.host_bytes == 4 * 2**30 * one.layout.device_count
        assert "weights_in_host_memory" in one.warnings
        usual = before.get(one.offer.offer_id)
        if usual is not None and usual.layout == one.layout:
            assert one.speed.peak.tpot_s.value > usual.speed.peak.tpot_s.value  # type: ignore[union-attr]
    name = moved.assumptions
    assert any(item.name == "bus_bytes_per_s" for item in name)


def test_a_host_with_too_little_memory_is_rejected_with_both_figures(db: None) -> None:
    market.forget()
    at = timezone.now()
    small = make_offer("H100-SXM5", "2.00", at=at, ram_gib=2, sku="small")
    large = make_offer("H100-SXM5", "3.00", at=at, ram_gib=200, sku="large")
    workload = ServingWorkload.model_validate(
        {"offload": {"weights_gib": 4}, "targets": {"ttft_s": "none", "tpot_s": "none"}}
    )
    found = services.compare(workload, at=at)
    assert [one.offer.offer_id for one in found.candidates] == [large.pk]
    (rejected,) = [one for one in found.rejected if one.offer.offer_id == small.pk]
    assert rejected.reason == "memory"
    assert rejected.detail == {"rule": "host_memory", "needed_gib": 4.0, "has_gib": 2.0}


def test_a_fraction_too_large_is_told_as_such_with_the_one_that_works(db: None, client: Client) -> None:
    market.forget()
    offer = make_offer("H100-SXM5", "2.00", at=timezone.now(), count=1)
    text = client.get(f"/workbench/candidate/{offer.pk}/?utilization=0.995").content.decode()
    assert "a gpu_memory_utilization of 0.995 leaves too little beside it" in text
    assert "gpu_memory_utilization of at most 0.9" in text
    assert "0.0 GiB short" not in text
