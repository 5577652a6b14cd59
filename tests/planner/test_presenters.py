"""Figures as text."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils import translation

from planner import change_words, figures, rejection_words, wording
from planner.memory_bar import memory_bar
from planner.sizing.devices import Layout
from planner.sizing.results import MemorySplit

GIB = 1024**3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.021349, "0.0213"),
        (1234567.0, "1,230,000"),
        (99.96, "100"),
        (0.999999, "1.00"),
        (0, "0"),
        (-12.345, "-12.3"),
    ],
)
def test_three_significant_digits_without_an_exponent(value: float, text: str) -> None:
    assert figures.significant(value) == text


def test_money_is_rounded_half_up_and_yen_have_no_decimals() -> None:
    assert figures.money(Decimal("4912.335"), "USD") == "$4,912.34"
    assert figures.money(Decimal("735120.5"), "JPY") == "¥735,121"
    assert figures.money(Decimal("-3"), "EUR") == "−€3.00"


def split(weights: int, kv: int, usable: int) -> MemorySplit:
    needed = (weights + kv + 2) * GIB
    return MemorySplit(
        device_bytes=80 * GIB, usable_bytes=usable * GIB, weights_bytes=weights * GIB, kv_bytes_per_token=1,
        kv_room_bytes=0, kv_room_tokens=0, kv_needed_bytes=kv * GIB, activation_bytes=GIB, overhead_bytes=GIB,
        headroom_bytes=7 * GIB, needed_bytes=needed, concurrency_at_typical=0, concurrency_at_maximum=0,
    )  # fmt: skip


def test_the_memory_bar_is_in_its_fixed_order_and_sums_to_the_whole() -> None:
    bar = memory_bar(split(30, 10, 72))
    assert [segment.role for segment in bar.segments] == [
        "weights", "kv", "activations", "overhead", "free", "headroom",
    ]  # fmt: skip
    assert sum(float(segment.width_percent[:-1]) for segment in bar.segments) == pytest.approx(100, abs=0.01)
    assert (bar.needed, bar.usable, bar.limit_percent) == ("42.0", "72.0", None)


def test_what_is_over_the_limit_is_drawn_beyond_it() -> None:
    bar = memory_bar(split(90, 10, 72))
    assert bar.segments[-1].role == "over"
    assert bar.segments[-1].gib == "30.0"
    assert bar.limit_percent == "70.588%"
    assert sum(float(segment.width_percent[:-1]) for segment in bar.segments) == pytest.approx(100, abs=0.01)


def test_a_layout_says_what_is_per_replica() -> None:
    assert wording.layout(5, Layout(tp=8)) == "5 replicas × 8 GPUs (TP 8)"
    assert wording.layout(1, Layout()) == "1 replica × 1 GPU"
    assert wording.layout(1_200, Layout(dp=8, ep=8)) == "1,200 replicas × 8 GPUs (DP 8, EP 8)"
    assert wording.layout(1, Layout(dp=8)) == "1 replica × 8 GPUs (DP 8)", (
        "training of a model without experts"
    )


def test_a_code_without_words_is_shown_rather_than_hidden() -> None:
    assert wording.word("limit", "new_limit") == "new limit"
    assert wording.warning("something_new") == "something new"
    assert change_words.change({"change": "something_else", "to": 3}) == "something else: 3"


def test_details_are_joined_as_the_reader_s_language_does() -> None:
    with translation.override("ja"):
        assert "、" in rejection_words.rejection_detail("other", {"first": 1, "second": 2})
    assert rejection_words.rejection_detail("other", {"first": 1, "second": 2}) == "first 1, second 2"


@pytest.mark.parametrize("reason", ["include", "exclude", "region", "provider"])
def test_a_filter_s_rejection_says_what_was_asked_for_without_brackets(reason: str) -> None:
    detail = {"accelerator": "H100-SXM5", "asked": ["L40S", "L4"]}
    said = rejection_words.rejection_detail(reason, detail)
    assert said.endswith("L40S, L4")
    assert "[" not in said
    assert "'" not in said
    with translation.override("ja"):
        assert rejection_words.rejection_detail(reason, detail).count("L40S、L4") == 1
