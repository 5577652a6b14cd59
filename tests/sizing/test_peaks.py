"""Peaks of libraries that load a model and generate, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.sizing.overheads import Need
from planner.sizing.peaks import CONTEXT_BYTES, HIDDEN_COPIES, Generation, peak_bytes
from planner.sizing.quantities import GIB
from tests.sizing.machines import engine, model

ARCH = model("Qwen/Qwen2.5-7B-Instruct")
SERVES = engine("sglang", None)
KV = 28 * 2 * 4 * 128 * 2
WEIGHTS = 7_615_616_512 * 2


def peak(call: Generation, **need: str) -> int:
    return peak_bytes(ARCH, Need(**need), SERVES, call)  # type: ignore[arg-type]


def test_a_short_prompt_peaks_at_weights_and_cache() -> None:
    call = Generation(prompt_tokens=1, total_tokens=2049)
    assert peak(call) == WEIGHTS + 2049 * KV
    # Qwen's own table says 14.38 GiB with Transformers 4.46.
    assert peak(call) / GIB == pytest.approx(14.38, rel=0.01)
    assert peak(replace(call, batch=3)) == WEIGHTS + 3 * 2049 * KV


def test_a_long_prompt_peaks_at_its_activations() -> None:
    call = Generation(prompt_tokens=30_720, total_tokens=32_768)
    by_hand = WEIGHTS + 30_720 * (KV + 2 * (3 * 18_944 + HIDDEN_COPIES * 3584))
    assert peak(call) == pytest.approx(by_hand, rel=1e-6)
    assert peak(call) / GIB == pytest.approx(19.97, rel=0.02)


def test_logits_of_the_whole_prompt_outweigh_the_model() -> None:
    call = Generation(prompt_tokens=30_720, total_tokens=32_768)
    more = peak(replace(call, prompt_logits=True)) - peak(call)
    assert more == pytest.approx(30_720 * 152_064 * 6)


def test_a_cache_taken_whole_and_a_context_are_counted_where_they_are_seen() -> None:
    call = Generation(prompt_tokens=1, total_tokens=100)
    whole = peak(replace(call, cache="whole"))
    assert whole == pytest.approx(WEIGHTS + 32_768 * KV, rel=1e-4)
    assert peak(replace(call, with_context=True)) - peak(call) == CONTEXT_BYTES


def test_pieces_that_a_growing_cache_left_behind_are_kept_by_the_allocator() -> None:
    call = Generation(prompt_tokens=1, total_tokens=2049)
    assert peak(replace(call, as_reserved=True)) - peak(call) == 2049 * KV
    assert peak(replace(call, as_reserved=True, cache="whole")) == peak(replace(call, cache="whole"))


def test_fewer_bits_never_peak_higher() -> None:
    call = Generation(prompt_tokens=500, total_tokens=600)
    found = [peak(call, weights_format=name) for name in ("fp32", "bf16", "int8", "int4_gptq")]
    assert found == sorted(found, reverse=True)
