"""Prices that moved, in words: for the page of a plan, the list of plans and the mail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from planner.figures import DECIMALS, money
from reports.models import PriceMove, WatchedPrice
from reports.prices import Standing, change


@dataclass(frozen=True)
class MoveView:
    """One move: what, from what to what, and where it was read."""

    subject: str
    old: str
    new: str
    change: str
    old_on: str
    new_on: str
    source: str
    source_url: str


def amount(value: Decimal | None, watched: WatchedPrice) -> str:
    """A price with its unit; that there is none, where there is none."""
    if value is None:
        return _("not offered")
    places = -int(value.normalize().as_tuple().exponent)  # 0.526 an hour is not 0.53
    text = money(value, watched.currency, decimals=max(DECIMALS.get(watched.currency, 2), places))
    return (_("%(amount)s a month") if watched.unit == "month" else _("%(amount)s an hour")) % {
        "amount": text
    }


def percent(value: Decimal | None) -> str:
    if value is None:
        return ""
    return f"{value:+,.1f} %".replace("-", "\u2212") if value else "0.0 %"


def move_view(move: PriceMove) -> MoveView:
    """The last step alone, as it was told."""
    watched = move.watched
    return MoveView(
        subject=watched.subject,
        old=amount(move.old_amount, watched),
        new=amount(move.new_amount, watched),
        change=percent(move.change_percent),
        old_on=move.old_on.isoformat(),
        new_on=move.new_on.isoformat(),
        source=move.source,
        source_url=move.source_url,
    )


def since_the_plan(move: PriceMove) -> MoveView:
    """From the price that stands in the plan to where the last move led."""
    watched = move.watched
    return MoveView(
        subject=watched.subject,
        old=amount(watched.amount, watched),
        new=amount(move.new_amount, watched),
        change=percent(change(watched.amount, move.new_amount)),
        old_on=watched.observed_on.isoformat(),
        new_on=move.new_on.isoformat(),
        source=move.source,
        source_url=move.source_url,
    )


@dataclass(frozen=True)
class StandingView:
    """A watched candidate: its price in the plan and now."""

    position: int
    rank: int
    subject: str
    then: str
    then_on: str
    now: str
    now_on: str
    change: str
    source: str
    source_url: str


def standing_view(standing: Standing) -> StandingView:
    watched, now = standing.watched, standing.now
    return StandingView(
        position=watched.position,
        rank=watched.rank,
        subject=watched.subject,
        then=amount(watched.amount, watched),
        then_on=watched.observed_on.isoformat(),
        now=amount(now.amount, watched) if now else _("unknown"),
        now_on=now.on.isoformat() if now else "",
        change=percent(standing.change_percent),
        source=now.source if now else "",
        source_url=now.source_url if now else "",
    )


def in_short(moves: Iterable[PriceMove]) -> str:
    """The largest of the standing moves, for a list."""
    steps = [change(move.watched.amount, move.new_amount) for move in moves]
    if any(step is None for step in steps):
        return _("an offer is gone")
    largest = max((step for step in steps if step is not None), key=abs, default=None)
    return percent(largest)
