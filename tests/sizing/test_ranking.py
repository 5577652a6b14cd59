"""The order of candidates against a plain loop, and each rule by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.ranking import Standing, rank, significant


@dataclass(frozen=True)
class One:
    total: int
    class_: int = 1
    objective: float = 0.0
    complete: bool = True
    gpus: int = 1
    tie: int = 0


def standing(ones: list[One]) -> Standing:
    return Standing(
        class_=np.array([one.class_ for one in ones], dtype=np.int64),
        objective=np.array([one.objective for one in ones], dtype=np.float64),
        total_minor=np.array([one.total for one in ones], dtype=np.int64),
        complete=np.array([one.complete for one in ones], dtype=bool),
        gpus_per_replica=np.array([one.gpus for one in ones], dtype=np.int64),
        tie_rank=np.array([one.tie for one in ones], dtype=np.int64),
    )


def ranked(ones: list[One], offset: int = 0, limit: int | None = None) -> list[int]:
    return [int(number) for number in rank(standing(ones), offset, limit)]


def plain_loop(ones: list[One]) -> list[int]:
    """The rules of ranking, word by word."""

    def effective(one: One) -> int:
        return one.total * (10 if one.complete else 11)

    left = sorted(
        range(len(ones)),
        key=lambda i: (ones[i].class_, ones[i].objective, effective(ones[i]), ones[i].tie),
    )
    order: list[int] = []
    while left:
        first = ones[left[0]]
        ceiling = effective(first) + effective(first) * 2 // 100
        band = [
            i
            for i in left
            if (ones[i].class_, ones[i].objective) == (first.class_, first.objective)
            and effective(ones[i]) <= ceiling
        ]
        order += sorted(band, key=lambda i: (ones[i].gpus, ones[i].tie))
        left = [i for i in left if i not in band]
    return order


ONES = st.lists(
    st.builds(
        One,
        total=st.integers(min_value=0, max_value=3000),
        class_=st.integers(min_value=1, max_value=3),
        objective=st.sampled_from([0.0, 0.05, 0.2]),
        complete=st.booleans(),
        gpus=st.integers(min_value=1, max_value=8),
    ),
    max_size=60,
).map(lambda ones: [replace(one, tie=number) for number, one in enumerate(ones)])


@given(ONES)
def test_ranking_equals_a_plain_loop(ones: list[One]) -> None:
    assert ranked(ones) == plain_loop(ones)


@given(ONES, st.integers(min_value=0, max_value=70), st.integers(min_value=0, max_value=20))
def test_a_page_is_a_slice_of_the_whole_order(ones: list[One], offset: int, limit: int) -> None:
    assert ranked(ones, offset, limit) == plain_loop(ones)[offset : offset + limit]


def test_missed_targets_never_stand_above_met_ones() -> None:
    assert ranked([One(1, class_=2), One(1000, class_=1), One(5, class_=3)]) == [1, 0, 2]


def test_within_two_percent_fewer_gpus_win() -> None:
    assert ranked([One(10_000, gpus=2), One(10_200, gpus=1, tie=1)]) == [1, 0]


def test_beyond_two_percent_the_lower_total_wins() -> None:
    assert ranked([One(10_000, gpus=2), One(10_201, gpus=1, tie=1)]) == [0, 1]


def test_a_band_starts_at_its_lowest_total_and_does_not_creep() -> None:
    ones = [One(1000, gpus=3), One(1015, gpus=2, tie=1), One(1030, gpus=1, tie=2)]
    assert ranked(ones) == [1, 0, 2]


def test_an_incomplete_total_counts_a_tenth_more() -> None:
    assert ranked([One(1000, complete=False), One(1070, tie=1), One(1130, tie=2)]) == [1, 0, 2]


def test_inside_a_band_and_at_equal_gpus_the_market_s_tie_order_decides() -> None:
    assert ranked([One(1000, tie=2), One(1010, tie=1), One(1020, tie=0)]) == [2, 1, 0]


def test_the_objective_comes_before_the_total() -> None:
    assert ranked([One(10, objective=0.2), One(1000, objective=0.05, tie=1)]) == [1, 0]


def test_speeds_equal_to_three_digits_are_equal() -> None:
    values = significant(np.array([0.051249, 0.051201, 41234.0, np.nan, 0.0]))
    assert values[0] == values[1]
    assert values.tolist()[2:] == [41200.0, np.inf, 0.0]


def test_nothing_ranks_to_nothing() -> None:
    assert ranked([]) == []
