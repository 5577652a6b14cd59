"""Pages and files of saved versions, kept in memory for the next reader: a version never changes.

Who may see a version is asked before, at every request; only the finished bytes are kept, a few of them, by
everything that they depend on.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from reports.models import PlanVersion

T = TypeVar("T")


class Kept(Generic[T]):
    """The most recently used values, up to a number. Made twice at worst where two ask at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.values: OrderedDict[Hashable, T] = OrderedDict()
        self.lock = threading.Lock()

    def find(self, key: Hashable) -> T | None:
        with self.lock:
            if key in self.values:
                self.values.move_to_end(key)
            return self.values.get(key)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        found = self.find(key)
        if found is not None:
            return found
        made = make()
        with self.lock:
            self.values[key] = made
            while len(self.values) > self.most:
                self.values.popitem(last=False)
        return made


def identity(version: PlanVersion) -> tuple[Hashable, ...]:
    """What a version's pages and files depend on: its content, by fingerprint, and its envelope."""
    return (version.plan.slug, version.number, version.fingerprint, version.created_at, version.prepared_by)
