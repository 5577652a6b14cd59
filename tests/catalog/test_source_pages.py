"""Pages of price sources: how runs went, who may start one and decide about one."""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from accounts.models import User
from catalog import services
from catalog.models import Offer, Refresh, RefreshDecision, RefreshStatus
from catalog.recording import Observation, record
from catalog.schedule import ensure_schedule
from catalog.sources import SOURCES
from catalog.tasks import refresh_source
from tests.catalog.conftest import Run
from tests.catalog.stand_in import NC_A100, StandIn, item, many
from tests.factories import AT


def state(client: Client) -> str:
    found = re.search(r'data-state="(\w+)"', client.get("/catalog/sources/azure/").content.decode())
    assert found
    return found[1]


def test_a_source_page_tells_how_the_last_run_went(client: Client, run: Run) -> None:
    assert state(client) == "never"
    run(StandIn(many(20)))
    assert state(client) == "succeeded"
    run(StandIn(many(20, 35)), day=1)
    assert state(client) == "held"
    run(StandIn([]), day=2)
    assert state(client) == "failed"
    page = client.get("/catalog/sources/azure/").content.decode()
    assert "no price was among the rows" in page
    assert "too many prices moved by an implausible factor" in page
    assert "Take these prices" not in page
    assert "Refresh now" not in page


def test_a_running_refresh_is_polled_and_a_dead_one_is_not(client: Client, azure: Any) -> None:
    at = timezone.now()
    running = Refresh.objects.create(
        source="azure", started_at=at, lease_until=at + timedelta(minutes=2), page_count=3
    )
    page = client.get("/catalog/sources/azure/").content.decode()
    assert 'data-state="running"' in page
    assert 'hx-trigger="every 2s"' in page
    assert "3 pages read" in page
    Refresh.objects.filter(pk=running.pk).update(lease_until=at - timedelta(seconds=1))
    page = client.get("/catalog/sources/azure/").content.decode()
    assert 'data-state="failed"' in page
    assert "every 2s" not in page


def test_only_staff_may_refresh_and_decide(
    client: Client, user_client: Client, staff_client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(StandIn(many(20)))
    held = run(StandIn(many(20, 35)), day=1)
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr("catalog.views.refresh_source.delay", lambda *args: asked.append(args))
    for address in ("/catalog/sources/azure/refresh/", f"/catalog/runs/{held.pk}/decide/"):
        assert client.get(address).status_code == 405
        assert client.post(address, {"action": "drop"})["Location"].startswith("/accounts/log")
        assert user_client.post(address, {"action": "drop"}).status_code == 403
    assert asked == []
    assert not RefreshDecision.objects.exists()
    assert staff_client.post("/catalog/sources/azure/refresh/").status_code == 302
    assert [name for name, _user in asked] == ["azure"]
    assert staff_client.post("/catalog/sources/nowhere/refresh/").status_code == 404
    assert b"Take these prices" in staff_client.get("/catalog/sources/azure/").content


def test_staff_decides_about_a_held_run_on_its_page(staff_client: Client, staff: User, run: Run) -> None:
    run(StandIn(many(20)))
    held = run(StandIn(many(20, 35)), day=1)
    address = f"/catalog/runs/{held.pk}/decide/"
    assert staff_client.post(address, {"action": "destroy"}).status_code == 400
    page = staff_client.post(address, {"action": "confirm"}, follow=True).content.decode()
    assert "its prices are in force" in page
    assert "staff@example.com" in page
    assert Refresh.objects.get(pk=held.pk).status == RefreshStatus.SUCCEEDED
    assert b"not held any more" in staff_client.post(address, {"action": "drop"}, follow=True).content


def test_a_refresh_with_the_queue_away_says_so_and_does_not_hang(
    staff_client: Client, azure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catalog.views.broker_answers", lambda: False)
    page = staff_client.post("/catalog/sources/azure/refresh/", follow=True).content.decode()
    assert "job queue does not answer" in page


def test_the_task_calls_one_service(azure: Any, monkeypatch: pytest.MonkeyPatch, staff: User) -> None:
    seen: dict[str, Any] = {}

    def refresh(name: str, at: Any, *, asked_by: Any) -> Refresh:
        seen.update(name=name, asked_by=asked_by)
        return Refresh(source=name, status=RefreshStatus.SUCCEEDED, started_at=AT, lease_until=AT)

    monkeypatch.setattr(services, "refresh", refresh)
    assert refresh_source("azure", staff.pk) == "succeeded"
    assert seen == {"name": "azure", "asked_by": staff}


def test_terms_of_a_reservation_are_told_apart(client: Client, run: Run) -> None:
    plans = [{"retailPrice": 2.5, "term": "1 Year"}, {"retailPrice": 1.5, "term": "3 Years"}]
    run(StandIn([item(savingsPlan=plans)]))
    rows = client.get("/api/v1/prices", {"sku": NC_A100}).json()["items"]
    assert {(row["kind"], Decimal(row["amount"])) for row in rows} == {
        ("on_demand", Decimal("3.5")), ("savings_1y", Decimal("2.5")), ("savings_3y", Decimal("1.5")),
    }  # fmt: skip


def test_a_new_size_and_an_unknown_card_land_on_the_review_list_of_staff(
    run: Run, staff_client: Client, user_client: Client
) -> None:
    run(StandIn([*many(20), item(price=9.0, armSkuName="Standard_NZ1_Z999_v1", productName="NZ series")]))
    Offer.objects.filter(region="region3").update(
        not_comparable="unknown_accelerator", accelerator=None, accelerator_as_written="Z999 <b>Ultra</b>"
    )
    page = staff_client.get("/catalog/review/")
    names = {row["name"]: row["offer_count"] for group in page.context["groups"] for row in group["rows"]}
    assert names["Standard_NZ1_Z999_v1"] == 1
    assert names["Z999 <b>Ultra</b>"] == 1
    assert b"Z999 <b>" not in page.content
    assert user_client.get("/catalog/review/").status_code == 403
    assert Client().get("/catalog/review/").status_code == 302


def told(client: Client) -> str:
    page = client.get("/catalog/sources/").content.decode()
    return " ".join(page.split("<h1>")[1].split('<section class="section">')[0].split())


@pytest.mark.django_db
def test_the_page_says_which_prices_are_in_force_and_whether_a_schedule_reads_newer_ones(
    client: Client, staff_client: Client, run: Run
) -> None:
    assert "There are no prices yet." in told(client)
    assert "The nightly schedule is switched off." in told(client)
    assert "under “Periodic tasks”" in told(client)
    assert "/admin/django_celery_beat/periodictask/" in told(staff_client)
    record(
        [Observation(
            provider="azure", sku="x", amount=Decimal(1), currency="USD", observed_on=date(2026, 10, 7), source="page",
            gpu_count=0, not_comparable="no_accelerator",
        )],
        AT,
    )  # fmt: skip
    ensure_schedule()
    text = told(client)
    assert "all prices are those shipped with the product, the newest of 2026-10-07" in text
    assert f"A schedule reads {len(SOURCES)} sources every night from 3:00 UTC" in text
    assert "It has not started one yet." in text
    assert "are fetched every night" not in text
    run(StandIn(many(20)))
    PeriodicTask.objects.filter(name="refresh prices: azure").update(last_run_at=AT)
    PeriodicTask.objects.filter(name="refresh prices: oci").update(enabled=False)
    text = told(client)
    assert f"1 of {len(SOURCES)} sources has been read, last at 2026-11-30" in text
    assert f"A schedule reads {len(SOURCES) - 1} sources" in text
    assert "It last started one at 2026-11-30" in text
    PeriodicTask.objects.update(enabled=False)
    assert "The nightly schedule is switched off." in told(client)
