"""Each law of memory, shown to fail once under a planted fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from planner.sizing import architecture, kv_cache, memory, weights
from planner.sizing.kv_cache import KvFootprint
from planner.sizing.memory import Need
from tests.sizing import test_kv_cache, test_memory, test_weights
from tests.sizing.machines import H100, grouped

ARCH = grouped(layers=8, heads=8, kv_heads=2, head_dim=64, hidden=512, intermediate=1024)
VLLM = ("vllm", "0.19")


@pytest.fixture(autouse=True)
def _fresh_footprints() -> Iterator[None]:
    """A footprint made under a fault must not outlive it."""
    weights.footprint.cache_clear()
    kv_cache._footprint.cache_clear()
    yield
    weights.footprint.cache_clear()
    kv_cache._footprint.cache_clear()


def broken(law: Any, *arguments: Any) -> None:
    """The law holds for this example, and does not while the fault is there."""
    with pytest.raises(AssertionError):
        law.hypothesis.inner_test(*arguments)


def holds(law: Any, *arguments: Any) -> None:
    law.hypothesis.inner_test(*arguments)
    weights.footprint.cache_clear()
    kv_cache._footprint.cache_clear()


def test_a_cache_that_shrinks_with_length_breaks_more_tokens_never_need_less(monkeypatch: Any) -> None:
    law = test_kv_cache.test_more_tokens_never_need_less
    holds(law, ARCH, VLLM, 1000, 500)
    monkeypatch.setattr(KvFootprint, "_held", lambda self, length, window, ahead: max(0, 10_000 - length))
    broken(law, ARCH, VLLM, 1000, 500)


def test_a_window_cut_too_short_breaks_held_is_never_less_than_read(monkeypatch: Any) -> None:
    law = test_kv_cache.test_what_is_held_is_never_less_than_what_is_read
    windowed = grouped(layers=2, kv_heads=2, window=1000)
    holds(law, windowed, VLLM, 5000)
    monkeypatch.setattr(KvFootprint, "_held", lambda self, length, window, ahead: min(length, 900))
    broken(law, windowed, VLLM, 5000)


def test_bytes_a_token_of_half_the_layers_break_tokens_times_bytes(monkeypatch: Any) -> None:
    law = test_kv_cache.test_plain_caches_are_tokens_times_bytes_a_token
    holds(law, 4, 2, 10)
    whole: Callable[[KvFootprint, int], int] = KvFootprint.bytes_per_token
    monkeypatch.setattr(KvFootprint, "bytes_per_token", lambda self, length: whole(self, length) // 2)
    broken(law, 4, 2, 10)


def test_splitting_kv_heads_that_cannot_be_split_breaks_a_rank_holds_its_share(monkeypatch: Any) -> None:
    law = test_weights.test_a_rank_never_holds_less_than_its_share
    holds(law, ARCH, "bf16", 8)
    whole = weights.rank_elements
    monkeypatch.setattr(weights, "rank_elements", lambda tensor, layout: whole(tensor, layout) // layout.tp)
    broken(law, ARCH, "bf16", 8)


def test_counting_one_layer_of_a_group_breaks_more_layers_never_weigh_less(monkeypatch: Any) -> None:
    law = test_weights.test_more_layers_never_weigh_less
    holds(law, ARCH, "bf16", 2)
    whole = architecture.tensors
    one = ARCH.layers[0].model_copy(update={"count": 1})
    monkeypatch.setattr(
        weights, "tensors", lambda arch: whole(arch.model_copy(update={"id": "one", "layers": (one,)}))
    )
    broken(law, ARCH, "bf16", 2)


def test_an_answer_that_forgets_the_load_breaks_what_fits_fits_with_less(monkeypatch: Any) -> None:
    law = test_memory.test_what_fits_still_fits_with_less_asked
    need = Need(typical_tokens=3000, maximum_tokens=6000, concurrency=10)
    monkeypatch.setattr(test_memory, "assume", bool)
    holds(law, ARCH, need, VLLM, 2000, 5.0)
    whole = memory.verdict

    def wrong(found: Any) -> str:
        return whole(found) if found.kv_needed_bytes > need.concurrency * 1000 * 8 * 512 else "does_not_fit"

    monkeypatch.setattr(test_memory, "verdict", wrong)
    broken(law, ARCH, need, VLLM, 2990, 9.9)


def test_room_that_grows_with_the_need_breaks_more_never_needs_less(monkeypatch: Any) -> None:
    law = test_memory.test_more_tokens_or_requests_never_need_less
    need = Need(typical_tokens=3000, maximum_tokens=6000, concurrency=10)
    holds(law, ARCH, need, VLLM, H100, 1000, 5.0)
    whole = memory.split

    def wrong(arch: Any, need: Need, *rest: Any) -> Any:
        found = whole(arch, need, *rest)
        return found.model_copy(update={"needed_bytes": found.needed_bytes - need.maximum_tokens * 10**6})

    monkeypatch.setattr(test_memory, "split", wrong)
    broken(law, ARCH, need, VLLM, H100, 1000, 5.0)
