"""Rejected offers as the sheet shows them: grouped by reason, the nearest miss first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from planner import change_words, rejection_words
from planner.figures import gib
from planner.sizing.results import Comparison, Rejection


@dataclass(frozen=True)
class RejectedView:
    it: Rejection
    place: str
    shortfall: str
    detail: str
    help: tuple[str, ...]


@dataclass(frozen=True)
class RejectedGroup:
    code: str
    title: str
    sentence: str
    count: int
    rows: tuple[RejectedView, ...]

    @property
    def more(self) -> int:
        return max(0, self.count - len(self.rows))


def rejected_groups(comparison: Comparison, *, language: str) -> tuple[RejectedGroup, ...]:
    """Rejected offers by reason, the nearest miss first within each; the largest group of the user's own
    filters last."""
    by_reason: dict[str, list[Rejection]] = {code: [] for code in comparison.rejected_counts}
    for rejection in comparison.rejected:
        by_reason.setdefault(rejection.reason, []).append(rejection)
    groups = []
    for code, rows in by_reason.items():
        rows.sort(key=_shortfall)
        groups.append(
            RejectedGroup(
                code=code,
                title=rejection_words.reason(code),
                sentence=rejection_words.reason_sentence(code),
                count=comparison.rejected_counts.get(code, len(rows)),
                rows=tuple(_rejected(row, language) for row in rows),
            )
        )
    order = list(rejection_words.REASONS)
    return tuple(
        sorted(groups, key=lambda group: order.index(group.code) if group.code in order else len(order))
    )


def _shortfall(rejection: Rejection) -> float:
    if rejection.needed_bytes is None or rejection.available_bytes is None:
        return 0.0
    return rejection.needed_bytes - rejection.available_bytes


def rejected(rejection: Rejection, language: str) -> dict[str, Any]:
    """One rejected offer by itself."""
    return {"reason": rejection_words.reason(rejection.reason), "row": _rejected(rejection, language)}


def _rejected(rejection: Rejection, language: str) -> RejectedView:
    offer = rejection.offer
    name = offer.region_name_ja if language == "ja" and offer.region_name_ja else offer.region_name
    shortfall = ""
    if rejection.needed_bytes is not None and rejection.available_bytes is not None:
        shortfall = _("needs %(needed)s GiB, has %(available)s GiB: %(short)s GiB short") % {
            "needed": gib(rejection.needed_bytes),
            "available": gib(rejection.available_bytes),
            "short": gib(max(0, rejection.needed_bytes - rejection.available_bytes)),
        }
    return RejectedView(
        it=rejection,
        place=name or offer.region,
        shortfall=shortfall,
        detail="" if shortfall else rejection_words.rejection_detail(rejection.reason, rejection.detail),
        help=tuple(change_words.change(change) for change in rejection.what_would_help),
    )
