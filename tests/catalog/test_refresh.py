"""A refresh: what is appended, what is held, what a failure leaves, who may run when."""

from __future__ import annotations

import threading
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client

from accounts.models import User
from catalog import runs, services
from catalog.models import (
    CatalogVersion,
    KeptBack,
    Offer,
    Price,
    Provider,
    Refresh,
    RefreshDecision,
    RefreshPage,
    RefreshStatus,
)
from catalog.recording import Observation, record
from catalog.sources.quotes import SourceFailure
from tests.catalog.conftest import QUICK, Run
from tests.catalog.stand_in import BASE, NC_A100, ND_H100, StandIn, item, many
from tests.factories import AT


def prices() -> dict[tuple[str, str, str], Decimal]:
    return {
        (offer.sku, offer.region, offer.tier): offer.current_price.amount
        for offer in Offer.objects.current().select_related("current_price")
        if offer.current_price
    }


def test_a_first_run_adds_offers_with_prices_and_tells_what_it_did(run: Run) -> None:
    done = run(
        StandIn([item(ND_H100, 98.32), item(NC_A100, 3.5), item(price=0), item(productName="X Windows")])
    )
    assert (done.status, done.reason) == (RefreshStatus.SUCCEEDED, "")
    assert (done.item_count, done.quote_count, done.added_count, done.changed_count) == (4, 2, 2, 0)
    assert done.refused == {"windows": 1, "zero_price": 1}
    assert prices() == {
        (ND_H100, "westeurope", "on_demand"): Decimal("98.32"),
        (NC_A100, "westeurope", "on_demand"): Decimal("3.5"),
    }
    price = Price.objects.get(offer__sku=ND_H100)
    assert (price.observed_on, price.currency, price.unit, price.refresh) == (AT.date(), "USD", "hour", done)


def test_running_twice_adds_nothing_but_moves_the_day_a_price_was_seen(run: Run) -> None:
    run(StandIn(many(20)))
    version = CatalogVersion.current()
    again = run(StandIn(many(20)), day=1)
    assert (again.added_count, again.changed_count, again.gone_count) == (0, 0, 0)
    assert Price.objects.count() == 20
    offer = Offer.objects.first()
    assert offer is not None
    assert offer.price_age_days(AT + timedelta(days=1)) == 0
    assert CatalogVersion.current() == version + 1
    run(StandIn(many(20)), day=1.1)
    assert CatalogVersion.current() == version + 1


def test_a_changed_price_is_appended_and_the_old_one_stays_as_history(run: Run) -> None:
    run(StandIn([item(price=3.5)]))
    done = run(StandIn([item(price=4.0)]), day=1)
    assert done.changed_count == 1
    offer = Offer.objects.get()
    assert [str(price.amount.normalize()) for price in offer.prices.all()] == ["4", "3.5"]
    assert prices() == {(NC_A100, "westeurope", "on_demand"): Decimal("4")}


def test_a_past_moment_keeps_its_prices_after_a_refresh(run: Run) -> None:
    run(StandIn([item(price=3.5)]))
    run(StandIn([item(price=4.0)]), day=1)
    run(StandIn([item(price=5.0)]), day=2)

    def at(day: float) -> str:
        offer = Offer.objects.priced(AT + timedelta(days=day)).get()
        return str(Price.objects.get(pk=offer.price_id_at).amount.normalize())  # type: ignore[attr-defined]

    assert [at(0.5), at(1.5), at(2.5)] == ["3.5", "4", "5"]
    assert not Offer.objects.priced(AT - timedelta(days=1)).exists()


@pytest.mark.parametrize(
    "second",
    [
        httpx2.Response(500),
        httpx2.Response(200, content=b"<title>Maintenance</title>"),
        httpx2.Response(429, headers={"Retry-After": "3600"}),
        httpx2.Response(200, json={"Items": [item(price=None)] * 20}),
        httpx2.Response(200, json={"Items": [item(price=0)] * 20}),
        httpx2.Response(200, json={"Items": [item(currencyCode="JPY")] * 20}),
        httpx2.Response(200, json={"Items": [item(unitOfMeasure="1/Month")] * 20}),
        httpx2.Response(200, json={"Items": []}),
    ],
)
def test_a_failed_refresh_leaves_old_prices_and_says_why(run: Run, second: httpx2.Response) -> None:
    run(StandIn(many(20)))
    before, version, count = prices(), CatalogVersion.current(), Price.objects.count()
    stand_in = StandIn()
    stand_in.answers = dict.fromkeys(range(1, 9), second)
    failed = run(stand_in, day=1)
    assert failed.status == RefreshStatus.FAILED
    assert failed.reason
    assert failed.finished_at is not None
    assert (prices(), CatalogVersion.current(), Price.objects.count()) == (before, version, count)
    assert run(StandIn(many(20)), day=2).status == RefreshStatus.SUCCEEDED


def test_a_page_that_fails_half_way_takes_nothing_of_the_first_one(run: Run) -> None:
    run(StandIn(many(20)))
    before = prices()
    stand_in = StandIn(many(20, 4), many(20, 9))
    stand_in.answers = {number: httpx2.Response(500) for number in range(2, 9)}
    assert run(stand_in, day=1).status == RefreshStatus.FAILED
    assert prices() == before


@pytest.mark.parametrize("factor", [10, 0.1, 2.5])
def test_prices_that_all_jumped_are_held(run: Run, factor: float) -> None:
    run(StandIn(many(20)))
    before = prices()
    held = run(StandIn([row | {"retailPrice": row["retailPrice"] * factor} for row in many(20)]), day=1)
    assert (held.status, held.reason) == (RefreshStatus.HELD, "prices_moved")
    assert prices() == before


def test_a_list_that_became_a_tenth_shorter_is_held_and_nothing_vanishes(run: Run) -> None:
    run(StandIn(many(40)))
    held = run(StandIn(many(35)), day=1)
    assert (held.status, held.reason) == (RefreshStatus.HELD, "fewer_prices")
    assert len(prices()) == 40


def test_a_single_jump_is_kept_back_alone(run: Run) -> None:
    run(StandIn(many(200)))
    rows = many(200)
    rows[7]["retailPrice"] = 35.0
    rows[8]["retailPrice"] = 4.0
    done = run(StandIn(rows), day=1)
    assert (done.status, done.changed_count, done.refused) == (
        RefreshStatus.SUCCEEDED,
        1,
        {"moved_too_far": 1},
    )
    now = prices()
    assert now[NC_A100, "region7", "on_demand"] == Decimal("3.57")
    assert now[NC_A100, "region8", "on_demand"] == Decimal(4)
    kept_back = Offer.objects.get(region="region7")
    assert (kept_back.gone_since, kept_back.price_age_days(AT + timedelta(days=1))) == (None, 1)


def test_a_price_that_was_kept_back_is_taken_when_staff_confirm_it(run: Run, staff_client: Client) -> None:
    run(StandIn(many(200)))
    rows = many(200)
    rows[7]["retailPrice"] = 35.0
    run(StandIn(rows), day=1)
    run(StandIn(rows), day=2)
    held = KeptBack.objects.get()
    page = staff_client.get("/catalog/sources/azure/").content.decode()
    assert "35.00 USD" in page
    assert Client().post(f"/catalog/kept-back/{held.pk}/take/").status_code == 302
    assert prices()[NC_A100, "region7", "on_demand"] == Decimal("3.57")
    staff_client.post(f"/catalog/kept-back/{held.pk}/take/")
    assert prices()[NC_A100, "region7", "on_demand"] == 35
    held.refresh_from_db()
    assert (held.user is not None, held.decided_at is not None) == (True, True)
    twice = staff_client.post(f"/catalog/kept-back/{held.pk}/take/", follow=True)
    assert "decided on already" in twice.content.decode()
    calm = run(StandIn(rows), day=3)
    assert (calm.refused.get("moved_too_far"), calm.changed_count) == (None, 0)
    assert not KeptBack.objects.open().exists()


def test_two_prices_for_one_machine_are_neither(run: Run) -> None:
    run(StandIn(many(20)))
    before = prices()
    done = run(StandIn(many(20), [item(price=1.0, armRegionName="region3")]), day=1)
    assert done.status == RefreshStatus.SUCCEEDED
    assert done.refused == {"contradictory": 1}
    assert prices() == before


def test_the_price_that_began_last_holds(run: Run) -> None:
    run(
        StandIn([
            item(price=3.0, effectiveStartDate="2026-01-01T00:00:00Z"),
            item(price=4.0, effectiveStartDate="2026-08-01T00:00:00Z"),
            item(price=2.0, effectiveStartDate="2025-01-01T00:00:00Z"),
        ])
    )  # fmt: skip
    assert prices() == {(NC_A100, "westeurope", "on_demand"): Decimal(4)}


def test_an_offer_that_a_complete_run_no_longer_lists_is_gone_and_comes_back(run: Run) -> None:
    run(StandIn(many(40)))
    done = run(StandIn(many(38)), day=1)
    assert (done.status, done.gone_count) == (RefreshStatus.SUCCEEDED, 2)
    assert len(prices()) == 38
    assert Offer.objects.get(region="region39").gone_since is not None
    run(StandIn(many(40)), day=2)
    assert len(prices()) == 40


def shipped(region: str, amount: str = "3.5", provider: str = "azure") -> Observation:
    return Observation(
        provider=provider, sku=NC_A100, region=region, amount=Decimal(amount), currency="USD",
        observed_on=(AT - timedelta(days=100)).date(), source="a shipped file",
        accelerator="A100-PCIe-80GB", gpu_count=1,
    )  # fmt: skip


def test_a_run_that_lists_few_shipped_offers_does_not_make_the_others_vanish(run: Run) -> None:
    record([shipped(f"region{number}") for number in range(30)], AT)
    assert run(StandIn(many(5))).status == RefreshStatus.SUCCEEDED
    assert len(prices()) == 30


def test_a_run_that_lists_nearly_all_shipped_offers_tells_which_are_gone(run: Run) -> None:
    record([shipped(f"region{number}") for number in range(30)], AT)
    assert run(StandIn(many(29))).gone_count == 1
    assert len(prices()) == 29


def test_a_run_replaces_an_older_shipped_price_and_the_seed_cannot_take_it_back(run: Run) -> None:
    record([shipped("westeurope", "3.4")], AT)
    run(StandIn([item(price=3.6)]))
    record([shipped("westeurope", "3.4")], AT)
    assert prices() == {(NC_A100, "westeurope", "on_demand"): Decimal("3.6")}
    assert Price.objects.count() == 2


def test_a_price_row_cannot_be_rewritten_even_past_the_code(run: Run) -> None:
    run(StandIn([item()]))
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Price.objects.update(amount=1)
    with pytest.raises(DatabaseError), transaction.atomic():
        Price.objects.create(
            offer=Offer.objects.get(),
            amount=0,
            currency="USD",
            observed_on=AT.date(),
            recorded_at=AT,
            source="x",
        )
    with pytest.raises(DatabaseError), transaction.atomic():
        Offer.objects.get().delete()


def test_pages_are_kept_for_the_last_three_good_and_three_failed_runs(run: Run) -> None:
    for day in range(5):
        run(StandIn(many(20)), day=day)
    for day in range(5, 10):
        run(StandIn([item(price=None)]), day=day)
    kept = Refresh.objects.filter(pages__isnull=False).distinct().values_list("status", flat=True)
    assert sorted(kept) == ["failed"] * 3 + ["succeeded"] * 3
    assert Refresh.objects.count() == 10
    page = RefreshPage.objects.latest("pk")
    assert len(bytes(page.body_gzip)) < page.size_bytes


# --- Held runs ------------------------------------------------------------------------------------------------


def held_run(run: Run) -> Refresh:
    run(StandIn(many(20)))
    return run(StandIn(many(20, 35)), day=1)


def test_a_person_confirms_a_held_run_and_leaves_a_trace(run: Run, staff: User) -> None:
    held = held_run(run)
    services.decide(held, "confirm", staff, AT + timedelta(days=1, hours=1))
    held.refresh_from_db()
    assert (held.status, held.changed_count) == (RefreshStatus.SUCCEEDED, 20)
    assert prices()[NC_A100, "region0", "on_demand"] == Decimal(35)
    decision = RefreshDecision.objects.get()
    assert (decision.action, decision.user) == ("confirm", staff)


def test_a_person_drops_a_held_run(run: Run, staff: User) -> None:
    held = held_run(run)
    services.decide(held, "drop", staff, AT + timedelta(days=2))
    held.refresh_from_db()
    assert held.status == RefreshStatus.DROPPED
    assert prices()[NC_A100, "region0", "on_demand"] == Decimal("3.5")
    with pytest.raises(SourceFailure, match="not_held"):
        services.decide(held, "confirm", staff, AT + timedelta(days=2))


def test_a_held_run_that_a_newer_one_overtook_cannot_be_confirmed(run: Run, staff: User) -> None:
    held = held_run(run)
    run(StandIn(many(20)), day=2)
    with pytest.raises(SourceFailure, match="newer_run_exists"):
        services.decide(held, "confirm", staff, AT + timedelta(days=3))
    assert not RefreshDecision.objects.exists()


def test_a_held_run_whose_pages_are_gone_cannot_be_confirmed(run: Run, staff: User) -> None:
    held = held_run(run)
    held.pages.all().delete()
    with pytest.raises(SourceFailure, match="pages_forgotten"):
        services.decide(held, "confirm", staff, AT + timedelta(days=3))
    assert len(prices()) == 20


# --- One run at a time ----------------------------------------------------------------------------------------


def test_while_a_run_is_alive_no_other_begins(run: Run) -> None:
    alive, is_ours = runs.open_run("azure", AT)
    stand_in = StandIn()
    assert is_ours
    assert run(stand_in, day=0.0001) == alive
    assert stand_in.asked == []


def test_a_run_whose_lease_ended_is_closed_by_the_next(run: Run) -> None:
    dead, _ = runs.open_run("azure", AT)
    done = run(StandIn(many(20)), day=1)
    dead.refresh_from_db()
    assert (dead.status, dead.reason) == (RefreshStatus.FAILED, "worker_died")
    assert done.status == RefreshStatus.SUCCEEDED


def test_a_run_whose_process_is_gone_from_this_host_is_closed_at_once(run: Run) -> None:
    dead, _ = runs.open_run("azure", AT)
    host = dead.worker.split()[0]
    Refresh.objects.filter(pk=dead.pk).update(worker=f"{host} 999999999 1")
    assert run(StandIn(many(20)), day=0.0001).status == RefreshStatus.SUCCEEDED


def test_a_run_that_was_taken_for_dead_writes_nothing_more(run: Run) -> None:
    class Slow(StandIn):
        def answer(self, request: httpx2.Request) -> httpx2.Response:
            # While this page is on its way, somebody closes the run.
            Refresh.objects.filter(status=RefreshStatus.RUNNING).update(
                status=RefreshStatus.FAILED, finished_at=AT
            )
            return super().answer(request)

    assert run(Slow(many(20))).status == RefreshStatus.FAILED
    assert not Offer.objects.exists()
    assert not RefreshPage.objects.exists()


def test_who_asked_before_a_finished_run_began_is_content_with_it(run: Run) -> None:
    first = run(StandIn(many(20)))
    stand_in = StandIn(many(20))
    assert run(stand_in, day=0.001, asked_at=AT - timedelta(seconds=1)) == first
    assert stand_in.asked == []
    assert run(stand_in, day=0.001, asked_at=AT + timedelta(seconds=1)) != first


def test_an_error_of_ours_closes_the_run_and_keeps_the_prices(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(StandIn(many(20)))
    before = prices()

    def broken(*_args: Any, **_more: Any) -> None:
        record([shipped("half-written")], AT)
        raise RuntimeError("disk full")

    monkeypatch.setattr(services, "swap", broken)
    failed = run(StandIn(many(20, 4)), day=1)
    assert (failed.status, failed.reason) == (RefreshStatus.FAILED, "internal_error")
    assert prices() == before


@pytest.mark.django_db(transaction=True)
def test_eight_refreshes_at_once_ask_the_source_for_one(settings: Any) -> None:
    Provider.objects.create(slug="azure", name="Microsoft Azure")
    settings.SOURCE_BASE_URLS = {"azure": BASE}
    stand_in = StandIn(many(20), many(30)[20:])
    errors: list[BaseException] = []

    def refresh() -> None:
        try:
            services.refresh("azure", AT, asked_at=AT, client=stand_in.client(), limits=QUICK)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=refresh) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    assert len(stand_in.asked) == 2
    assert Refresh.objects.count() == 1
    assert Offer.objects.count() == Price.objects.count() == 30
