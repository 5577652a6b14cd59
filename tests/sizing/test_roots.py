"""The root finder against plain bisection, and where there is no root between the ends."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.roots import TOLERANCE, rising_root
from planner.sizing.speed import Array

STEEPNESS = st.lists(st.floats(0.05, 20.0), min_size=1, max_size=6)


def _bent(steepness: Array, at: Array) -> Array:
    """Rising, with a sharp bend half way: the worst that a cap or a queue makes of a load."""
    return np.where(at < 1.0, 0.02 * at, 0.02 + steepness * (at - 1.0))


def _bisected(steepness: Array, asked: float) -> Array:
    low, high = np.full_like(steepness, -5.0), np.full_like(steepness, 7.0)
    for _ in range(60):
        middle = (low + high) / 2
        over = _bent(steepness, middle) > asked
        high, low = np.where(over, middle, high), np.where(over, low, middle)
    return (low + high) / 2


@given(STEEPNESS, st.floats(-0.09, 0.2))
def test_a_bent_function_is_crossed_where_bisection_crosses_it(values: list[float], asked: float) -> None:
    steepness = np.array(values)
    ends = np.full_like(steepness, -5.0), np.full_like(steepness, 7.0)
    root = rising_root(lambda x: _bent(steepness, x) - asked, *ends)
    assert np.all(np.abs(_bent(steepness, root) - asked) < 2e-3)
    assert np.all(np.abs(root - _bisected(steepness, asked)) < 0.1)


def test_a_nearly_straight_function_takes_few_rounds() -> None:
    asked: list[int] = []

    def nearly_straight(x: Array) -> Array:
        asked.append(1)
        return x + 0.05 * np.sin(x) - 2.0

    root = rising_root(nearly_straight, np.array([-12.0]), np.array([5.0]))
    assert abs(root[0] + 0.05 * np.sin(root[0]) - 2.0) < TOLERANCE
    assert len(asked) <= 12


def test_a_function_below_zero_throughout_gives_the_upper_end_and_one_above_the_lower() -> None:
    root = rising_root(lambda x: x + np.array([-9.0, 9.0, -np.inf]), np.zeros(3), np.ones(3))
    assert root.tolist() == [1.0, 0.0, 1.0]


def test_points_do_not_change_one_another() -> None:
    def crossing(at: Array) -> Array:
        return rising_root(lambda x: np.expm1(x) - at, np.full_like(at, -3.0), np.full_like(at, 4.0))

    both = crossing(np.array([0.5, 30.0]))
    assert both[0] == crossing(np.array([0.5]))[0]
    assert both[1] == crossing(np.array([30.0]))[0]
