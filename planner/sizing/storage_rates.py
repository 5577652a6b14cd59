"""What a machine must read from network storage, held against what the offer lets through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from planner.sizing.offers import Flags, Market
from planner.sizing.results import Miss

SECONDS_PER_MINUTE = 60


class Reading(NamedTuple):
    """Bytes/s that one machine must read: all the time, or so that an amount is there in time."""

    target: Literal["load_minutes_maximum", "restore_minutes_maximum", "storage_read"]
    asked: float
    """Minutes, or bytes/s of what is read all the time."""
    amount_bytes: float = 0.0
    """What is read within those minutes; 0 for what is read all the time."""

    @property
    def needed_bytes_per_s(self) -> float:
        if self.target == "storage_read":
            return self.asked
        return self.amount_bytes / (self.asked * SECONDS_PER_MINUTE)

    def got(self, bytes_per_s: float) -> float:
        """The minutes it takes, or the rate that is left, where storage gives so much."""
        if self.target == "storage_read":
            return bytes_per_s
        return self.amount_bytes / bytes_per_s / SECONDS_PER_MINUTE


def misses(readings: Sequence[Reading], bytes_per_s: float | None) -> tuple[Miss, ...]:
    """What this rate is too slow for; nothing where it is not known."""
    if not bytes_per_s or not np.isfinite(bytes_per_s):
        return ()
    return tuple(
        Miss(target=one.target, asked=one.asked, got=one.got(bytes_per_s))
        for one in readings
        if one.needed_bytes_per_s > bytes_per_s
    )


def rate_of(market: Market, row: int) -> float | None:
    """Bytes/s that an offer lets through to network storage; None where no source says."""
    if market.storage_bytes_per_s is None:
        return None
    found = float(market.storage_bytes_per_s[row])
    return found if np.isfinite(found) else None


def too_slow(
    market: Market, placements: Sequence[Any], readings: Callable[[Any], Sequence[Reading]]
) -> Flags | None:
    """Offers whose known rate misses what their machine must read; None where nothing is asked or known.

    ``readings`` gives nothing for a machine that is refused.
    """
    if market.storage_bytes_per_s is None:
        return None
    needed = np.array(
        [max((one.needed_bytes_per_s for one in readings(placed)), default=0.0) for placed in placements],
        dtype=np.float64,
    )
    if not needed.any():
        return None
    slow: Flags = needed[market.machine_index] > np.nan_to_num(market.storage_bytes_per_s, nan=np.inf)
    return slow
