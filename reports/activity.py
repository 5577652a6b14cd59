"""A plan's log. Names only: no e-mail address ever stands in it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from accounts.models import User
from reports.models import TITLE_LENGTH, Activity, Plan

What = Literal[
    "saved", "computed", "repriced", "reworded", "rearranged", "checklist", "copied", "forked", "imported", "archived",
    "restored", "shared", "revoked", "tagged", "commented", "withdrew", "decided"
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
        who=user.name if user else "",
        created_at=at,
    )
