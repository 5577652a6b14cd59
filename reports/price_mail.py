"""The mail that tells of prices that moved: one for each person and look, and about each move once."""

from __future__ import annotations

import smtplib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

import structlog
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.languages import speaking_to
from accounts.models import User
from mitsumori.addresses import public_address
from reports.models import Plan, PriceMove, PriceNotice
from reports.price_words import MoveView, move_view

TRIED_FOR = timedelta(days=3)
"""So long a mail that was not taken is tried again."""
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Told:
    """One plan of a mail."""

    title: str
    address: str
    moves: tuple[MoveView, ...]


def send_waiting(at: datetime) -> int:
    """Mails what nobody was told of yet; how many mails a server took. A move is told to a person once."""
    waiting = (
        PriceNotice.objects.filter(sent_at__isnull=True, created_at__gt=at - TRIED_FOR)
        .select_related("user", "move__watched__version__plan")
        .order_by("user_id", "move_id")
    )
    sent = 0
    for _user, notices in groupby(list(waiting), key=lambda each: each.user_id):
        sent += _send_to(list(notices), at)
    return sent


def _send_to(notices: Sequence[PriceNotice], at: datetime) -> bool:
    user = notices[0].user
    mine = [
        each for each in notices if _may_be_told(user, each.move.watched.version.plan) and _claim(each, at)
    ]
    if not mine:
        return False
    if _mail(user, [each.move for each in mine]):
        return True
    PriceNotice.objects.filter(pk__in=[each.pk for each in mine]).update(sent_at=None)
    return False


def _may_be_told(user: User, plan: Plan) -> bool:
    """Asked again when it is sent: who left the team since learns nothing more."""
    return user.is_active and plan.team.memberships.filter(user=user).exists() and not plan.is_archived


def _claim(notice: PriceNotice, at: datetime) -> bool:
    """Marks it sent, before it is; False where another process was faster."""
    return bool(PriceNotice.objects.filter(pk=notice.pk, sent_at__isnull=True).update(sent_at=at))


def _mail(user: User, moves: Sequence[PriceMove]) -> bool:
    with speaking_to(user):
        plans = _by_plan(moves)
        subject = (
            _("A price of your plan moved: %(title)s") % {"title": plans[0].title}
            if len(plans) == 1
            else ngettext("Prices of %(n)d plan moved", "Prices of %(n)d plans moved", len(plans))
            % {"n": len(plans)}
        )
        text = render_to_string("reports/price_mail.txt", {"plans": plans})
    try:
        send_mail(subject=subject, message=text, from_email=None, recipient_list=[user.email])
    except (OSError, smtplib.SMTPException) as error:
        log.warning("price_move_not_mailed", user=user.pk, error=type(error).__name__)
        return False
    return True


def _by_plan(moves: Iterable[PriceMove]) -> list[_Told]:
    ordered = sorted(moves, key=lambda move: (move.watched.version.plan_id, move.pk))
    told = []
    for _plan_id, group in groupby(ordered, key=lambda move: move.watched.version.plan_id):
        of_plan = list(group)
        plan = of_plan[0].watched.version.plan
        address = public_address(reverse("reports:prices", args=[plan.slug]))
        told.append(_Told(plan.title, address, tuple(move_view(move) for move in of_plan)))
    return told
