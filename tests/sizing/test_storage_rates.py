"""What a machine must read from network storage against what its offer lets through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.sizing.compare import compare
from planner.sizing.setting import Refusal
from planner.sizing.storage_rates import Reading, misses, rate_of, too_slow
from planner.sizing.workload import ServingWorkload
from tests.sizing.markets import Row, make_market, setting

LOAD = Reading("load_minutes_maximum", 2.0, 120e9)


def test_an_amount_in_a_time_and_a_rate_all_the_time_are_both_rates() -> None:
    assert LOAD.needed_bytes_per_s == pytest.approx(1e9)
    assert LOAD.got(0.5e9) == pytest.approx(4.0)
    always = Reading("storage_read", 3e8)
    assert always.needed_bytes_per_s == 3e8
    assert always.got(1e8) == 1e8


def test_what_is_too_slow_is_missed_by_how_much_and_the_unknown_is_not() -> None:
    (miss,) = misses([LOAD], 0.5e9)
    assert (miss.target, miss.asked) == ("load_minutes_maximum", 2.0)
    assert miss.got == pytest.approx(4.0)
    assert misses([LOAD], 1e9) == ()
    assert misses([LOAD], None) == ()
    assert misses([LOAD], float("nan")) == ()


def test_offers_of_one_machine_are_told_apart_by_their_storage() -> None:
    market = replace(
        make_market([Row(), Row(provider="b"), Row(provider="c")]),
        storage_bytes_per_s=np.array([1e8, 2e9, np.nan]),
    )
    slow = too_slow(market, ["placed"], lambda _placed: [LOAD])
    assert slow is not None
    assert slow.tolist() == [True, False, False]
    assert (rate_of(market, 0), rate_of(market, 2)) == (1e8, None)
    assert too_slow(market, ["placed"], lambda _placed: []) is None
    assert too_slow(make_market([Row()]), ["placed"], lambda _placed: [LOAD]) is None


def test_a_later_time_never_misses_what_an_earlier_one_meets() -> None:
    market = replace(make_market([Row()]), storage_bytes_per_s=np.array([2e8]))
    classes = []
    for minutes in (0.5, 1, 2, 5):
        made = setting(ServingWorkload(load_minutes_maximum=minutes), market)
        placements = made.place()
        assert not isinstance(placements[0], Refusal)
        (found,) = compare(made, placements, engine_version="test").candidates
        classes.append(found.class_)
        assert (found.class_ == 2) == bool(found.misses)
    assert classes == sorted(classes, reverse=True)
    assert (classes[0], classes[-1]) == (2, 1)
