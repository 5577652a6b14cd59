"""Where a rising function of many points crosses zero, for all points at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.sizing.speed import Array

ROUNDS = 24
"""The most evaluations; five to eight do where the function is nearly straight."""
TOLERANCE = 1e-6
"""Of the function's value: of a logarithm, a share of one in ten million."""


def rising_root(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """x between ``low`` and ``high`` with function(x) = 0: ``low`` where it is above zero throughout, ``high`` where
    it stays below.

    Illinois' false position; where two rounds did not halve what is left, the next is a bisection, so that no bend
    of the function stalls it.
    """
    left, right = low.copy(), high.copy()
    below, above = _finite(function(left)), _finite(function(right))
    root = np.where(below >= 0.0, left, right)
    open_ = (below < 0.0) & (above > 0.0)
    error = np.where(open_, np.inf, 0.0)
    side = np.zeros(len(root))
    before = last = right - left
    for _ in range(ROUNDS):
        if not open_.any():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            straight = (left * above - right * below) / (above - below)
        middle = 0.5 * (left + right)
        inside = (straight > np.minimum(left, right)) & (straight < np.maximum(left, right))
        halving = right - left <= 0.5 * before
        tried = np.where(inside & (halving | (before == last)), straight, middle)
        before, last = last, right - left
        value = _finite(function(np.where(open_, tried, root)))
        better = open_ & (np.abs(value) < error)
        root = np.where(better, tried, root)
        error = np.where(better, np.abs(value), error)
        over = value > 0.0
        # The end that stays a second time loses half of its weight.
        below = np.where(over & (side > 0), 0.5 * below, np.where(over, below, value))
        above = np.where(~over & (side < 0), 0.5 * above, np.where(over, value, above))
        right = np.where(over, tried, right)
        left = np.where(over, left, tried)
        side = np.where(over, 1.0, -1.0)
        open_ &= (error > TOLERANCE) & (right - left > TOLERANCE)
    return root


def _finite(values: Array) -> Array:
    bounded = np.minimum(np.maximum(values, -1e3), 1e3)
    return np.where(np.isnan(bounded), -1.0, bounded)
