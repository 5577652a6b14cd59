"""What lists of offers need to know of the whole catalog, found out once for each state of it.

How many offers a filter leaves and in which order they stand takes a walk over all of them, and stays true until a
price or an offer changes. The rows themselves are read anew each time.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet, Subquery
from django.utils.functional import cached_property

from catalog.models import CatalogVersion, Offer, Price

KEPT_MAXIMUM = 512
PAGES_MAXIMUM = 100
"""Nobody pages further, and far pages would have to be counted through."""

Found = TypeVar("Found")
State = tuple[Any, ...]
_kept: OrderedDict[Hashable, Any] = OrderedDict()
_lock = Lock()


def state() -> State | None:
    """The state of the catalog, in one cheap query: its version, and the last offer and price; None before any."""
    last_offer, last_price = (model.objects.order_by("-pk").values("pk")[:1] for model in (Offer, Price))
    return (
        CatalogVersion.objects.filter(pk=CatalogVersion.ONLY)
        .values_list("number", "changed_at", Subquery(last_offer), Subquery(last_price))
        .first()
    )


def once(now: State | None, what: Hashable, find: Callable[[], Found]) -> Found:
    """What ``find`` gives, kept for this state of the catalog."""
    if now is None:
        return find()
    key = (now, what)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            kept: Found = _kept[key]
            return kept
    found = find()
    with _lock:
        _kept[key] = found
        while len(_kept) > KEPT_MAXIMUM:
            _kept.popitem(last=False)
    return found


def forget() -> None:
    """Tests that roll their database back repeat its states."""
    with _lock:
        _kept.clear()


class FirstPages(Paginator):  # type: ignore[type-arg]
    """Counts all and shows the first pages; the rest is for filters to find."""

    def __init__(self, found: QuerySet[Any], per_page: int) -> None:
        super().__init__(found, per_page)
        self.found = found
        self.now = state()

    @cached_property
    def count(self) -> int:
        return once(self.now, ("count", *_asked(self.found.order_by())), self.found.count)

    @cached_property
    def num_pages(self) -> int:
        return min(math.ceil(max(1, self.count) / self.per_page), PAGES_MAXIMUM)

    def rows(self, page: Page) -> list[Any]:  # type: ignore[type-arg]
        """The rows of a page as they are now, in the order they were found in."""
        start = (page.number - 1) * self.per_page
        asked = self.found.values_list("pk", flat=True)[start : start + self.per_page]
        wanted = once(self.now, ("page", *_asked(asked)), lambda: list(asked))
        rows = {row.pk: row for row in self.found.order_by().filter(pk__in=wanted)}
        return [rows[pk] for pk in wanted if pk in rows]


def _asked(found: QuerySet[Any]) -> tuple[str, str]:
    sql, params = found.query.sql_with_params()
    return sql, repr(params)
