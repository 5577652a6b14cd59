"""Answers that many ask for at once: made by the first, waited for by the others, and kept for half a minute.

A link that goes round a team, an example of the start page, Back and Forward: the same address means the same
screen while the market is the same. Whoever asks meanwhile gets what was made, with its own moment of pricing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event, Lock
from typing import Generic, TypeVar

from django.utils.translation import get_language

Made = TypeVar("Made")

KEPT_FOR = timedelta(seconds=30)
WAITED_AT_MOST_S = 10.0


@dataclass
class Keep(Generic[Made]):
    """Up to ``size`` answers, the latest used last. What is worth nothing (None) is made anew each time."""

    size: int
    _made: OrderedDict[Hashable, tuple[datetime, Made]] = field(default_factory=OrderedDict)
    _in_the_making: dict[Hashable, Event] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: Hashable, at: datetime, make: Callable[[], Made | None]) -> Made | None:
        """What is kept under the key, or what ``make`` gives; of several who ask at once the first makes it.

        ``key`` must hold all that the answer depends on but the moment.
        """
        found, others = self._begin(key, at)
        if found is None and others is not None:
            others.wait(WAITED_AT_MOST_S)
            found, others = self._begin(key, at)
        if found is not None:
            return found
        try:
            made = make()
            if made is not None:
                self._put(key, at, made)
            return made
        finally:
            if others is None:
                self._end(key)

    def _begin(self, key: Hashable, at: datetime) -> tuple[Made | None, Event | None]:
        """What is kept; else whom to wait for; else neither, and it is noted that the caller makes it."""
        with self._lock:
            kept = self._made.get(key)
            if kept is not None and abs(at - kept[0]) <= KEPT_FOR:
                self._made.move_to_end(key)
                return kept[1], None
            others = self._in_the_making.get(key)
            if others is None:
                self._in_the_making[key] = Event()
            return None, others

    def _put(self, key: Hashable, at: datetime, made: Made) -> None:
        with self._lock:
            self._made[key] = (at, made)
            self._made.move_to_end(key)
            while len(self._made) > self.size:
                self._made.popitem(last=False)

    def _end(self, key: Hashable) -> None:
        with self._lock:
            self._in_the_making.pop(key).set()

    def clear(self) -> None:
        with self._lock:
            self._made.clear()


@dataclass(frozen=True)
class Refined:
    """The answer part of a page as it is sent, but for the form's token, and where its screen is."""

    html: str
    address: str


refined: Keep[Refined] = Keep(size=64)


def asked(market_version: str, team: int | None, at: datetime, query: str, prefix: str) -> Hashable:
    """All that the answer to an address depends on but the moment: prices age by the day."""
    return (market_version, team, at.date(), get_language(), prefix, query)


def forget() -> None:
    refined.clear()
