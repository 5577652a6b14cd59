"""Laws of the whole split, on examples of which at least half fit, each shown to fail under a planted fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import floor
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from planner.sizing import kv_cache, memory, offload, overheads, weights
from planner.sizing.architecture import Architecture
from planner.sizing.devices import Device, Layout
from planner.sizing.memory import Need
from planner.sizing.quantities import GIB
from planner.sizing.results import MemorySplit
from planner.sizing.runtime import Runtime
from planner.sizing.workload import Offload
from tests.sizing.machines import card, engine, grouped, latent, model

EXAMPLES = 150
BIG = card(4000.0)


@dataclass(frozen=True)
class Case:
    """One question on a card that is between 0.9 and 4 times as large as the need."""

    arch: Architecture
    runtime: Runtime
    need: Need
    layout: Layout
    times: float

    @property
    def device(self) -> Device:
        whole = memory.split(self.arch, self.need, self.runtime, BIG, self.layout)
        return card(whole.needed_bytes / GIB * self.times + 6)

    def split(self, need: Need | None = None, arch: Architecture | None = None,
              device: Device | None = None) -> MemorySplit:  # fmt: skip
        return memory.split(
            arch or self.arch, need or self.need, self.runtime, device or self.device, self.layout
        )

    def fits(self) -> bool:
        return memory.verdict(self.split()) == "fits"


ARCHITECTURES = st.one_of(
    st.builds(grouped, layers=st.integers(2, 40), hidden=st.sampled_from([1024, 4096]), head_dim=st.just(128),
              intermediate=st.sampled_from([4096, 14336]), vocab=st.sampled_from([32000, 128256]),
              kv_heads=st.sampled_from([1, 2, 8]), window=st.one_of(st.none(), st.integers(16, 8192)),
              experts=st.sampled_from([0, 8])),
    st.builds(latent, layers=st.integers(2, 40)),
    st.sampled_from(["Qwen/Qwen3.5-27B", "ibm-ai-platform/Bamba-9B", "google/gemma-3-27b-it", "openai/gpt-oss-20b",
                     "meta-llama/Llama-4-Scout-17B-16E-Instruct", "deepseek-ai/DeepSeek-V3.2"]).map(model),
)  # fmt: skip
RUNTIMES = st.sampled_from([
    ("vllm", "0.7"), ("vllm", "0.9"), ("vllm", "0.19"), ("vllm", None), ("sglang", None), ("tensorrt_llm", None),
    ("llama_cpp", None), ("lmdeploy", None), ("tgi", None), ("transformers", None), ("ollama", None), ("other", None),
]).map(lambda pair: engine(*pair))  # fmt: skip
NEEDS = st.builds(
    Need,
    weights_format=st.sampled_from(["bf16", "fp8", "int4_awq", "gguf_q8_0"]),
    typical_tokens=st.integers(1, 4000),
    maximum_tokens=st.integers(4000, 30_000),
    concurrency=st.floats(0, 60),
    headroom_fraction=st.floats(0, 0.3),
    batched_tokens=st.sampled_from([512, 2048, 8192]),
    sequences=st.sampled_from([16, 256]),
    offload=st.sampled_from([Offload(), Offload(), Offload(layers=3), Offload(weights_gib=1)]),
)
CASES = st.builds(
    Case,
    ARCHITECTURES,
    RUNTIMES,
    NEEDS,
    st.sampled_from([Layout(), Layout(tp=2), Layout(pp=2)]),
    st.floats(0.9, 4.0),
)


def counted(check: Callable[[Case, Any], None], more: st.SearchStrategy[Any] | None = None, *,
            fault: bool = False) -> None:  # fmt: skip
    """Runs a law on generated cases; without a fault at least half of them fit."""
    seen = [0, 0]

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(CASES, more if more is not None else st.none())  # fmt: skip
    def law(case: Case, extra: Any) -> None:
        seen[case.fits()] += 1
        check(case, extra)

    if fault:
        with pytest.raises(AssertionError):
            law()
        return
    law()
    assert sum(seen) >= EXAMPLES / 2
    assert seen[True] * 2 >= sum(seen), f"only {seen[True]} of {sum(seen)} fit"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """What was worked out under a fault must not outlive it."""
    kept = (weights.footprint, kv_cache._footprint, offload._of, overheads._overheads, memory._parts)
    for one in kept:
        one.cache_clear()
    yield
    for one in kept:
        one.cache_clear()


def more_never_needs_less(case: Case, extra: Any) -> None:
    tokens, requests, sequences, layers = extra
    need = case.need
    smaller = case.split()
    grown = case.arch.layers[0].model_copy(update={"count": case.arch.layers[0].count + layers})
    # Layers of one kind alone, so that a window's filled-up groups do not shrink beside them.
    plain = grouped(layers=case.arch.layer_count, kv_heads=2, hidden=1024, head_dim=128)
    taller = grouped(layers=case.arch.layer_count + layers, kv_heads=2, hidden=1024, head_dim=128)
    assert grown.count >= case.arch.layers[0].count
    for other in (
        replace(
            need, maximum_tokens=need.maximum_tokens + tokens, typical_tokens=need.typical_tokens + tokens
        ),
        replace(need, concurrency=need.concurrency + requests),
        replace(need, sequences=(need.sequences or 1) + sequences),
    ):
        larger = case.split(other)
        assert larger.needed_bytes >= smaller.needed_bytes
        assert larger.kv_room_bytes <= smaller.kv_room_bytes
    none = replace(need, offload=Offload())
    assert case.split(none, taller).needed_bytes >= case.split(none, plain).needed_bytes


MORE = st.tuples(st.integers(0, 20_000), st.floats(0, 300), st.integers(0, 500), st.integers(0, 40))


def test_more_tokens_requests_sequences_or_layers_never_need_less() -> None:
    counted(more_never_needs_less, MORE)


def test_it_fails_where_a_sequence_frees_memory(monkeypatch: Any) -> None:
    whole = overheads.overheads_of

    def wrong(arch: Any, need: Need, *rest: Any) -> Any:
        found = whole(arch, need, *rest)
        return replace(found, inside=max(0, found.inside - (need.sequences or 0) * 2**20))

    monkeypatch.setattr(memory, "overheads_of", wrong)
    counted(more_never_needs_less, MORE, fault=True)


def test_it_fails_where_the_cache_of_long_requests_is_cut_off(monkeypatch: Any) -> None:
    monkeypatch.setattr(
        kv_cache.KvFootprint, "_held", lambda self, length, group, ahead: max(0, 20_000 - length)
    )
    counted(more_never_needs_less, MORE, fault=True)


def a_rank_holds_its_share(case: Case, ranks: int) -> None:
    need = replace(case.need, offload=Offload())
    one = memory.split(case.arch, need, case.runtime, BIG, Layout())
    many = memory.split(case.arch, need, case.runtime, BIG, Layout(tp=ranks))
    # A rank rounds its rows down by less than one byte a tensor; the lookup that stays on the host is whole there.
    slack = (
        64 * case.arch.layer_count + weights.footprint(case.arch, need.weights_format, Layout()).lookup_bytes
    )
    assert many.weights_bytes * ranks >= one.weights_bytes - slack
    assert many.kv_bytes_per_token * ranks >= one.kv_bytes_per_token - ranks
    assert many.kv_needed_bytes * ranks >= one.kv_needed_bytes - ranks * (need.concurrency + 2)


RANKS = st.sampled_from([2, 4, 8])


def test_a_rank_never_holds_less_than_its_share() -> None:
    counted(a_rank_holds_its_share, RANKS)


def test_it_fails_where_kv_heads_are_split_that_cannot_be(monkeypatch: Any) -> None:
    whole = weights.rank_elements
    monkeypatch.setattr(weights, "rank_elements", lambda tensor, layout: whole(tensor, layout) // layout.tp)
    counted(a_rank_holds_its_share, RANKS, fault=True)


def tokens_times_bytes_are_the_room(case: Case, _extra: Any) -> None:
    found = case.split()
    kv = kv_cache.footprint(
        case.arch, case.need.kv_format, case.need.weights_format, case.layout, case.runtime, 2048
    )
    share = memory.Pools.of(case.runtime, memory.states_apart(kv, case.runtime)).cache_share
    room = found.kv_room_bytes * share
    assert found.kv_room_tokens * found.kv_bytes_per_token <= room + 1e-3
    assert (found.kv_room_tokens + 1) * found.kv_bytes_per_token > room - 1e-3
    assert found.needed_bytes == (
        found.weights_bytes + found.activation_bytes + found.overhead_bytes + found.kv_needed_bytes
    )


def test_tokens_times_bytes_a_token_are_the_room() -> None:
    counted(tokens_times_bytes_are_the_room)


def test_it_fails_where_tokens_are_counted_by_another_figure(monkeypatch: Any) -> None:
    whole = memory.split

    def wrong(*given: Any) -> Any:
        found = whole(*given)
        return found.model_copy(update={"kv_room_tokens": floor(found.kv_room_tokens * 1.5) + 2})

    monkeypatch.setattr(memory, "split", wrong)
    counted(tokens_times_bytes_are_the_room, fault=True)


def what_fits_fits_with_less(case: Case, extra: Any) -> None:
    tokens, requests, headroom, gib = extra
    if not case.fits():
        return
    need, device = case.need, case.device
    less = replace(
        need,
        typical_tokens=max(1, need.typical_tokens - tokens),
        maximum_tokens=max(1, need.maximum_tokens - tokens),
        concurrency=max(0.0, need.concurrency - requests),
        headroom_fraction=need.headroom_fraction * headroom,
    )
    assert memory.verdict(case.split(less, device=device)) == "fits"
    larger = card(device.engine_total_bytes / GIB + gib)
    assert memory.verdict(case.split(device=larger)) == "fits"


LESS = st.tuples(st.integers(0, 8000), st.floats(0, 60), st.floats(0, 1), st.floats(0, 60))


def test_what_fits_fits_with_less_asked_and_on_a_larger_card() -> None:
    counted(what_fits_fits_with_less, LESS)


def test_it_fails_where_a_short_request_is_refused(monkeypatch: Any) -> None:
    whole = memory.verdict

    def wrong(found: Any) -> Any:
        return "does_not_fit" if found.kv_needed_bytes * 50 < found.kv_room_bytes else whole(found)

    monkeypatch.setattr(memory, "verdict", wrong)
    counted(what_fits_fits_with_less, LESS, fault=True)


def nothing_is_lost_between_device_and_host(case: Case, asked: Offload) -> None:
    plain = replace(case.need, offload=Offload())
    whole, moved = (case.split(need, device=BIG) for need in (plain, replace(case.need, offload=asked)))
    assert moved.weights_bytes <= whole.weights_bytes
    gone = whole.weights_bytes - moved.weights_bytes
    assert moved.host_bytes - whole.host_bytes >= gone * case.layout.device_count - 1
    assert moved.kv_needed_bytes <= whole.kv_needed_bytes


OFFLOADS = st.builds(Offload, layers=st.integers(0, 50), expert_layers=st.integers(0, 50),
                     weights_gib=st.floats(0, 40))  # fmt: skip


def test_what_leaves_the_device_is_in_host_memory() -> None:
    counted(nothing_is_lost_between_device_and_host, OFFLOADS)


def test_it_fails_where_the_host_is_forgotten(monkeypatch: Any) -> None:
    whole = offload.of
    monkeypatch.setattr(offload, "of", lambda *given: replace(whole(*given), host_bytes=0))
    counted(nothing_is_lost_between_device_and_host, OFFLOADS, fault=True)
