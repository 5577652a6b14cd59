"""A plan's log. Names only, or what stands before the @ where somebody gave none: never an e-mail address."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from accounts.models import User
from reports.models import TITLE_LENGTH, Activity, Plan

What = Literal[
    "saved", "computed", "repriced", "reworded", "rearranged", "checklist", "copied", "forked", "imported", "archived",
    "restored", "shared", "revoked", "tagged", "commented", "withdrew", "decided",
    "alerts",
]  # fmt: skip


def log(
    plan: Plan, what: What, *, user: User | None, at: datetime, number: int | None = None, detail: str = ""
) -> None:
    """Adds one line; called inside the transaction of what it tells."""
    Activity.objects.create(
        plan=plan,
        what=what,
        number=number,
        detail=detail[:TITLE_LENGTH],
        who=user.get_short_name()[:TITLE_LENGTH] if user else "",
        created_at=at,
    )
