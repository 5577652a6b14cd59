"""The plan that a sheet of the workbench was opened from, as its address says; only for people who may write it."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext as _

from accounts.models import Role, User
from accounts.services import role_in
from reports import services
from reports.forms import WORKLOADS_MAXIMUM
from reports.models import Plan, PlanVersion


@dataclass(frozen=True)
class Origin:
    """A plan with its newest version, and where in it the sheet goes."""

    plan: Plan
    version: PlanVersion
    place: str
    """Number of the workload whose place it takes, or ``new``; empty where another one has no room."""
    named: str
    """That workload by number and name; empty for another one."""

    @property
    def next_number(self) -> int:
        return self.version.number + 1


def address_of(plan: Plan, place: str) -> str:
    """The value of ``into`` in an address of the workbench: the plan, and the workload if it is one of the plan."""
    return f"{plan.slug}.{place}" if place.isascii() and place.isdigit() else plan.slug


def origin_of(user: User | AnonymousUser, into: str) -> Origin | None:
    """None where the address names no plan, or one that this person may not write."""
    slug, _dot, wanted = into.partition(".")
    if not slug or not user.is_authenticated:
        return None
    plan = Plan.objects.live().filter(slug=slug).select_related("team").first()
    role = role_in(user, plan.team) if plan is not None else None
    if plan is None or role is None or not role.includes(Role.EDITOR):
        return None
    version = services.newest(plan)
    rows = {str(row.position): row for row in version.answers}
    if wanted in rows:
        words = {"number": rows[wanted].position, "name": rows[wanted].name}
        named = _("workload %(number)d %(name)s") % words
        return Origin(plan, version, wanted, named.strip())
    return Origin(plan, version, "new" if len(rows) < WORKLOADS_MAXIMUM else "", "")
