"""Before a plan is repriced its page says whether any price has changed; afterwards the comparison does."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine

from catalog.models import CatalogVersion
from reports.models import Plan
from reports.unchanged import before_repricing
from tests.factories import AT
from tests.planner.factories import make_offer
from tests.reports.conftest import Crew

pytestmark = [pytest.mark.django_db]

LATER = AT + timedelta(days=2)


def page(crew: Crew, who: str, address: str) -> str:
    with time_machine.travel(LATER, tick=False):
        return re.sub(r"\s+", " ", crew.client(who).get(address).content.decode())


def test_a_plan_whose_prices_all_stand_says_so_before_and_after_it_is_repriced(
    plan: Plan, crew: Crew
) -> None:
    said = "No price has changed since version 1: repricing would give the same figures."
    assert said in page(crew, "editor", f"/plans/{plan.slug}/")
    assert said not in page(crew, "viewer", f"/plans/{plan.slug}/"), "who cannot reprice is not told of it"
    with time_machine.travel(LATER, tick=False):
        found = crew.client("editor").post(f"/plans/{plan.slug}/reprice/", {"base_number": 1})
    assert found.status_code == 302
    compared = page(crew, "editor", found["Location"])
    assert "No price had changed: version 2 has the same figures as version 1." in compared


def test_a_price_that_is_newer_is_told_before_and_no_sameness_after(plan: Plan, crew: Crew) -> None:
    make_offer("L40S", "0.30", sku="newer", at=LATER - timedelta(days=1))
    CatalogVersion.objects.update_or_create(
        pk=CatalogVersion.ONLY, defaults={"number": 99, "changed_at": LATER - timedelta(days=1)}
    )
    assert "have changed since version 1." in page(crew, "editor", f"/plans/{plan.slug}/")
    with time_machine.travel(LATER, tick=False):
        found = crew.client("editor").post(f"/plans/{plan.slug}/reprice/", {"base_number": 1})
    assert "No price had changed" not in page(crew, "editor", found["Location"])


def test_another_engine_is_named(plan: Plan) -> None:
    version = plan.versions.get()
    version.engine_version = "0.0.9"
    assert "was computed by engine 0.0.9" in before_repricing(version)
