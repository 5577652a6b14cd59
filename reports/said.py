"""What a team decided and said of a plan, for files that its members make for themselves; never for those of a link."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from reports.models import Comment, Decision, PlanVersion

CHOICES = ("decisions", "all")
"""How much of it a file holds; nothing where nothing is asked for."""


@dataclass(frozen=True)
class Decided:
    number: int
    """The version it is about."""
    chosen: str
    because: str
    by: str
    on: date


@dataclass(frozen=True)
class Commented:
    number: int
    subject: str
    """The candidate that is meant; empty: the plan."""
    text: str
    author: str
    at: datetime


@dataclass(frozen=True)
class Said:
    decisions: tuple[Decided, ...] = ()
    """The newest first: it is the one that holds."""
    comments: tuple[Commented, ...] | None = None
    """In the order they were made; None: not asked for."""


def of_version(version: PlanVersion, asked: str) -> Said | None:
    """What was said of this version and those before it; withdrawn comments are gone. None where nothing is asked."""
    if asked not in CHOICES:
        return None
    until = {"version__plan": version.plan_id, "version__number__lte": version.number}
    decisions = tuple(
        Decided(each.version.number, each.chosen, each.because, each.decided_by, each.decided_on)
        for each in Decision.objects.filter(**until).select_related("version")
    )
    if asked == "decisions":
        return Said(decisions)
    comments = Comment.objects.filter(**until, withdrawn_at__isnull=True).select_related("version")
    return Said(
        decisions,
        tuple(
            Commented(each.version.number, each.subject, each.text, each.author, each.created_at)
            for each in comments
        ),
    )
