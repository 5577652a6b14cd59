"""Plans out of plans: a copy for one's own team, a fork of what was shared, and a file read back in.

All three keep the figures as they are; nothing is computed. What was made elsewhere says so for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accounts.models import Team, User
from reports import services
from reports.activity import log
from reports.models import Plan, PlanVersion, PlanWorkload
from reports.public import shown_by_link


def duplicate(version: PlanVersion, *, team: Team, user: User, title: str, at: datetime) -> PlanVersion:
    """A new plan of ``team`` that begins with the same question, prices and answers under another title."""
    words = services.Words(title, version.prepared_for, version.note)
    # Private offers stay with the team that received them.
    is_ours = team.pk == version.plan.team_id
    rows = [services.copied(row, row.position) if is_ours else shown_by_link(row) for row in version.answers]
    return build(version, rows, words, team=team, user=user, at=at, origin="copy", detail=_named(version))


def fork(version: PlanVersion, *, team: Team, user: User, title: str, at: datetime) -> PlanVersion:
    """A plan that begins with what a link to ``version`` shows, and with nothing that it does not show."""
    words = services.Words(title, version.prepared_for, version.note)
    rows = [shown_by_link(row) for row in version.answers]
    return build(version, rows, words, team=team, user=user, at=at, origin="fork", detail="")


def _named(version: PlanVersion) -> str:
    return f"{version.plan.slug} v{version.number} {version.fingerprint[:12]}"


def build(
    stamp: PlanVersion,
    rows: Sequence[PlanWorkload],
    words: services.Words,
    *,
    team: Team,
    user: User,
    at: datetime,
    origin: str,
    detail: str,
) -> PlanVersion:
    """A new plan over answers that exist; ``stamp`` carries prices' moment, versions and checklist."""
    what = {"copy": "copied", "fork": "forked", "import": "imported"}[origin]
    with transaction.atomic():
        plan = Plan.objects.create(
            team=team,
            title=words.title,
            created_by=user,
            created_at=at,
            changed_at=at,
            origin=origin,
            origin_detail=detail,
        )
        version = services.version_of(plan, words, stamp, user=user, at=at)
        log(plan, what, user=user, at=at, number=1, detail=detail)  # type: ignore[arg-type]
        return services.store_with(plan, version, rows)
