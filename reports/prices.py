"""Watching prices: what a plan's candidates cost now against what the plan says, and each move worth telling.

A move is told once: it is written down while the plan's row is held, and the next one is measured from there. Looking
twice, or two at once, finds nothing the second time. Prices of another currency or unit are never compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal

import structlog
from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Q

from accounts.models import User
from catalog.models import CatalogVersion, Offer, PrivateOffer
from catalog.private_offers import line_of
from reports.content import read_comparison
from reports.models import (
    Decision,
    Plan,
    PlanVersion,
    PriceAlert,
    PriceFollower,
    PriceLook,
    PriceMove,
    PriceNotice,
    WatchedPrice,
)

log = structlog.get_logger(__name__)

ONLY = 1
TENTH = Decimal("0.1")
CHANGE_MOST = Decimal(10) ** 10
"""A change that is larger is told as this many percent."""


@dataclass(frozen=True)
class PriceNow:
    """What an offer costs by the newest observation; no amount: it is no longer offered."""

    amount: Decimal | None
    on: date
    source: str
    source_url: str = ""


@dataclass(frozen=True)
class Standing:
    """A watched candidate beside its price now; None where that cannot be said."""

    watched: WatchedPrice
    now: PriceNow | None

    @property
    def change_percent(self) -> Decimal | None:
        return change(self.watched.amount, self.now.amount) if self.now else None


# What is watched ----------------------------------------------------------------------------------------------


def watched_of(version: PlanVersion) -> list[WatchedPrice]:
    """The chosen candidate of each workload, or the first where none was chosen; with the price of the version.

    Versions with other words over the same answers watch the same: a change of words makes no price move again.
    """
    base = version.answered_by or version
    chosen = _chosen(base)
    known = {(each.position, each.rank): each for each in base.watched_prices.all()}
    found = []
    for position in version.answers.values_list("position", flat=True):
        key = (position, chosen.get(position, 1))
        if key not in known and (made := _watch(base, version, *key)) is not None:
            known[key] = made
        if key in known:
            found.append(known[key])
    return found


def _chosen(base: PlanVersion) -> dict[int, int]:
    """The rank that the newest decision about these answers names, for each workload."""
    decisions = Decision.objects.filter(
        Q(version=base) | Q(version__answered_by=base), position__isnull=False, rank__isnull=False
    )
    return {each.position: each.rank for each in decisions.order_by("created_at", "pk")}


def _watch(base: PlanVersion, version: PlanVersion, position: int, rank: int) -> WatchedPrice | None:
    """Writes down the candidate's price as it stands in the answer; None where there is no such candidate."""
    row = version.answers.get(position=position)
    candidate = next((each for each in read_comparison(row).candidates if each.rank == rank), None)
    if candidate is None:
        return None
    offer = candidate.offer
    subject = f"{offer.gpu_count} × {offer.accelerator} · {offer.provider_name}, {offer.sku}"
    made: WatchedPrice
    made, _is_new = WatchedPrice.objects.get_or_create(
        version=base,
        position=position,
        rank=rank,
        defaults={
            "subject": subject[:200],
            "offer_number": offer.offer_id,
            "provider": offer.provider[:120],
            "sku": offer.sku[:120],
            "region": offer.region[:60],
            "tier": offer.tier,
            "accelerator": offer.accelerator[:60],
            "gpu_count": offer.gpu_count,
            "amount": offer.price_amount,
            "currency": offer.price_currency,
            "unit": offer.price_unit,
            "observed_on": offer.price_observed_on,
            "source": offer.source[:200],
        },
    )
    return made


# What it costs now --------------------------------------------------------------------------------------------


def price_now(watched: WatchedPrice, at: datetime) -> PriceNow | None:
    """The price by what is known at ``at``; None where the offer cannot be told with certainty."""
    return _private_now(watched, at) if watched.offer_number < 0 else _public_now(watched)


def _public_now(watched: WatchedPrice) -> PriceNow | None:
    alike = list(
        Offer.objects.filter(
            provider=watched.provider,
            sku=watched.sku,
            region=watched.region,
            tier=watched.tier,
            accelerator=watched.accelerator,
            gpu_count=watched.gpu_count,
            current_price__isnull=False,
        ).select_related("current_price")[:20]
    )
    own = [each for each in alike if each.pk == watched.offer_number] or alike
    if len(own) != 1:
        return None  # none, or several that differ in what the plan does not tell
    (offer,) = own
    price = offer.current_price
    if offer.gone_since is not None:
        return PriceNow(None, offer.gone_since.date(), watched.source)
    if price is None or (price.currency, price.unit) != (watched.currency, watched.unit):
        return None
    return PriceNow(
        price.amount, offer.confirmed_on or price.observed_on, price.source, price.source_url[:200]
    )


def _private_now(watched: WatchedPrice, at: datetime) -> PriceNow | None:
    """A quote that was changed is another row: the one that stands for the same line of the same quote."""
    first = PrivateOffer.objects.filter(pk=-watched.offer_number, team__plans=watched.version.plan_id).first()
    if first is None:
        return None
    like = PrivateOffer.objects.standing(at).filter(
        team=first.team_id, provider_name=first.provider_name, sku=first.sku
    )
    now = next((each for each in like.order_by("-pk") if line_of(each) == line_of(first)), None)
    if now is None:
        ended = first.ended_at or at
        return PriceNow(None, ended.date(), watched.source)
    if (now.currency, now.unit) != (watched.currency, watched.unit):
        return None
    return PriceNow(now.amount_over_term, now.received_on, watched.source)


def standings(version: PlanVersion, at: datetime) -> list[Standing]:
    """Every watched candidate beside its price now."""
    return [Standing(each, price_now(each, at)) for each in watched_of(version)]


# Settings -----------------------------------------------------------------------------------------------------


def percent_of(plan: Plan) -> Decimal | None:
    """Moves of more than this are told: the plan's own setting, else its team's; None: none is."""
    own = PriceAlert.objects.filter(plan=plan).first()
    return own.percent if own else plan.team.price_alert_percent


def settle(plan: Plan, *, own: bool, percent: Decimal | None) -> None:
    """The plan's own setting (None: never), or the team's where it has none of its own."""
    if own:
        PriceAlert.objects.update_or_create(plan=plan, defaults={"percent": percent})
    else:
        PriceAlert.objects.filter(plan=plan).delete()


def wants_mail(plan: Plan, user: User) -> bool:
    row = PriceFollower.objects.filter(plan=plan, user=user).first()
    return row.wants_mail if row else plan.created_by_id == user.pk


def follow(plan: Plan, user: User, *, wants: bool) -> None:
    PriceFollower.objects.update_or_create(plan=plan, user=user, defaults={"wants_mail": wants})


def followers(plan: Plan) -> list[User]:
    """Members of the plan's team who want mails: those who said so, and who saved the plan unless they said no."""
    said = dict(PriceFollower.objects.filter(plan=plan).values_list("user_id", "wants_mail"))
    if plan.created_by_id is not None:
        said.setdefault(plan.created_by_id, True)
    wanted = [user_id for user_id, wants in said.items() if wants]
    return list(
        User.objects.filter(pk__in=wanted, is_active=True, memberships__team=plan.team_id).order_by("pk")
    )


# Looking ------------------------------------------------------------------------------------------------------


def look_at_all(at: datetime) -> int:
    """Looks at every plan in use, if any price changed since the last time; how many moves were new."""
    mark = _mark()
    look, _is_new = PriceLook.objects.get_or_create(pk=ONLY)
    if look.mark == mark:
        return 0
    found = 0
    plans = Plan.objects.live().filter(latest_number__gt=0).select_related("team")
    told = Q(price_alert__percent__isnull=False) | Q(
        price_alert__isnull=True, team__price_alert_percent__isnull=False
    )
    for plan in list(plans.filter(told).order_by("pk")):
        try:
            found += len(look_at(plan, at))
        except Exception:  # one plan that cannot be read keeps no other from being told
            log.exception("plan_not_looked_at", plan=plan.slug)
    PriceLook.objects.filter(pk=ONLY).update(mark=mark, looked_at=at)
    return found


def _mark() -> str:
    """Another text whenever a price, a private offer or a setting of what is told could have changed."""
    quotes = PrivateOffer.objects.aggregate(Max("pk"), Max("ended_at"))
    return f"{CatalogVersion.current()} {quotes['pk__max']} {quotes['ended_at__max']}"


def look_at(plan: Plan, at: datetime) -> list[PriceMove]:
    """Writes down what moved since the version, or since the last move; empty where nothing did."""
    if not _moved(plan, at):
        return []  # most plans, and nobody waits for a row that is held
    with _held(plan):
        moves = _moved(plan, at)
        for move in moves:
            move.save()
        people = followers(plan) if moves else []
        PriceNotice.objects.bulk_create(
            PriceNotice(move=move, user=user, created_at=at) for move in moves for user in people
        )
    return moves


@contextmanager
def _held(plan: Plan) -> Iterator[Plan]:
    """The plan's row, locked until the end, so that of two looks at once the later one sees the earlier one's moves."""
    with transaction.atomic():
        yield Plan.objects.select_for_update().get(pk=plan.pk)


def _moved(plan: Plan, at: datetime) -> list[PriceMove]:
    """Moves that are larger than asked for, not written down yet."""
    percent = percent_of(plan)
    newest = plan.versions.select_related("answered_by").filter(number=F("plan__latest_number")).first()
    if percent is None or newest is None:
        return []
    watching = watched_of(newest)
    told = PriceMove.objects.filter(watched__in=watching).order_by("created_at", "pk")
    last_of = {move.watched_id: move for move in told}
    found = []
    for watched in watching:
        now = price_now(watched, at)
        last = last_of.get(watched.pk)
        old = last.new_amount if last else watched.amount
        old_on = last.new_on if last else watched.observed_on
        if now is None or not is_move(old, now.amount, percent):
            continue
        found.append(
            PriceMove(
                watched=watched,
                old_amount=old,
                old_on=old_on,
                new_amount=now.amount,
                new_on=now.on,
                source=now.source[:200],
                source_url=now.source_url,
                change_percent=change(old, now.amount),
                created_at=at,
            )
        )
    return found


def is_move(old: Decimal | None, new: Decimal | None, percent: Decimal) -> bool:
    """Whether the step is larger than ``percent`` of the old price, or the offer went or came back."""
    if old is None or new is None:
        return old is not new
    return abs(new - old) * 100 > percent * old


def change(old: Decimal | None, new: Decimal | None) -> Decimal | None:
    """From old to new in percent with one decimal; None where one of them is no price."""
    if old is None or new is None:
        return None
    return min((new / old - 1) * 100, CHANGE_MOST).quantize(TENTH, ROUND_HALF_UP)


def standing_moves(plans: Sequence[Plan]) -> dict[int, list[PriceMove]]:
    """By plan: the last move of every price that the newest version watches, unless it came back to the plan's."""
    reworded = PlanVersion.objects.filter(
        answered_by=OuterRef("watched__version"), number=F("plan__latest_number")
    )
    is_newest = Q(watched__version__number=F("watched__version__plan__latest_number"))
    moves = PriceMove.objects.filter(is_newest | Exists(reworded), watched__version__plan__in=plans)
    last: dict[int, PriceMove] = {}
    for move in moves.select_related("watched__version").order_by("created_at", "pk"):
        last[move.watched_id] = move
    found: dict[int, list[PriceMove]] = {}
    for move in last.values():
        if move.new_amount != move.watched.amount:
            found.setdefault(move.watched.version.plan_id, []).append(move)
    return found
