"""Saved plans and comparisons for tests."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.test import Client

from accounts.models import Team, User
from planner import services as planner_services
from planner.sizing.results import Candidate, Comparison
from planner.sizing.workload import ServingWorkload
from reports import services, sheets
from reports.models import PlanVersion
from tests.factories import AT

HOSTILE = '=1+1 <b>太字</b> #eval("1") 見積'


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def save_plan(
    team: Team,
    user: User,
    title: str = "Chat assistant",
    *,
    at: datetime = AT,
    prepared_for: str = "",
    note: str = "",
    **workload: Any,
) -> PlanVersion:
    return services.save_plan(
        team=team,
        user=user,
        words=services.Words(title, prepared_for, note),
        workloads=[services.NamedWorkload(ServingWorkload(**workload))],
        priced_at=at,
        at=at,
    )


def small_comparison(**workload: Any) -> Comparison:
    """The real answer over the catalog of the test."""
    return planner_services.compare(ServingWorkload(**workload), at=AT, limit=200, rejected_limit=None)


def many_candidates(comparison: Comparison, count: int) -> Comparison:
    """The same answer with its first candidate repeated under other names and prices."""
    first = comparison.candidates[0]

    def copy(number: int) -> Candidate:
        offer = first.offer.model_copy(
            update={"offer_id": number, "sku": f"machine-{number}", "price_observed_on": date(2026, 11, 1)}
        )
        monthly = first.monthly.model_copy(update={"total": first.monthly.total + Decimal(number)})
        return first.model_copy(update={"rank": number, "offer": offer, "monthly": monthly})

    candidates = tuple(copy(number) for number in range(1, count + 1))
    return comparison.model_copy(update={"candidates": candidates, "candidates_total": count})


def draft(comparison: Comparison, title: str = "Draft") -> sheets.Sheet:
    return sheets.of_draft(title, [(services.NamedWorkload(ServingWorkload()), comparison)])
