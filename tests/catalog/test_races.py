"""Two write prices at the same moment: one after the other, or a word about the other; each race is shown first."""

from __future__ import annotations

import csv
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection

from accounts.models import User
from catalog import machine_loading, price_uploads, recording, runs, services, swapping
from catalog.machine_loading import load_machines
from catalog.models import (
    KeptBack,
    Offer,
    Price,
    PriceUpload,
    Provider,
    Refresh,
    RefreshDecision,
    RefreshStatus,
    UploadState,
)
from catalog.seed_loading import SEEDS, load_seeds
from catalog.sources.quotes import SourceFailure
from tests.catalog.conftest import QUICK, Run
from tests.catalog.stand_in import BASE, StandIn, item, many
from tests.factories import AT
from tests.races import met_before, take_out_locks, together

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)
JUMP = [*many(199), item(price=35.0, armRegionName="region199")]
HEAD = "provider,sku,price,currency,observed_on,source,accelerator,gpu_count\n"


@pytest.fixture
def two_runs_may_be_open(transactional_db: None) -> Iterator[Callable[[], None]]:
    """Takes the constraint out that lets one run of a source be open, and puts it back at the end."""
    (one_run,) = (
        each for each in Refresh._meta.constraints if each.name == "catalog_refresh_one_run_at_a_time"
    )
    taken_out: list[bool] = []

    def take_out() -> None:
        with connection.schema_editor() as editor:
            editor.remove_constraint(Refresh, one_run)
        taken_out.append(True)

    yield take_out
    if taken_out:
        Refresh.objects.filter(status=RefreshStatus.RUNNING).update(status=RefreshStatus.FAILED)
        with connection.schema_editor() as editor:
            editor.add_constraint(Refresh, one_run)


def upload(amount: str, user: User, day: int = 1) -> PriceUpload:
    row = f"sakura,PHY H100,{amount},JPY,2026-11-{day:02},price page,H100 SXM5,8\n"
    report, received = price_uploads.receive("prices.csv", (HEAD + row).encode(), user, AT)
    assert received is not None, report.faults
    return received


def shipped_lists(folder: Path) -> Path:
    """A folder of seeds and one of price lists in one: the machines that a stand-in lists too, at another price."""
    sku, regions = str(item()["armSkuName"]), [f"region{number}" for number in range(20)]
    names = (
        "providers",
        "regions",
        "billing",
        "storage",
        "storage_speeds",
        "egress",
        "market_days",
        "exchange",
    )
    for name in names:
        rows = [{"slug": "azure", "name": "Microsoft Azure"}] if name == "providers" else []
        (folder / f"{name}.json").write_text(json.dumps({name: rows}), encoding="utf-8")
    with (SEEDS / "offers.csv").open(encoding="utf-8", newline="") as lines:
        columns = next(csv.reader(lines))
    with (folder / "offers.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(
            {
                "provider": "azure", "sku": sku, "region": region, "tier": "on_demand", "amount": "2",
                "currency": "USD", "unit": "hour", "observed_on": "2026-10-01", "observed_precision": "day",
                "source": "list", "not_comparable": "size_unknown",
            }
            for region in regions
        )  # fmt: skip
    (folder / "types.csv").write_text("provider,sku,kind\n", encoding="utf-8")
    price_list = {"provider": "azure", "file": "prices.csv.gz", "source": "list", "licence": ""}
    (folder / "lists.json").write_text(json.dumps({"lists": [price_list]}), encoding="utf-8")
    rows_of = "".join(f"{sku},{region},2,USD,2026-10-01\n" for region in regions)
    with gzip.open(folder / "prices.csv.gz", "wt", encoding="utf-8") as packed:
        packed.write(f"sku,region,amount,currency,observed_on\n{rows_of}")
    return folder


def kept_back(run: Run) -> KeptBack:
    """A price that moved too far and waits for a person."""
    run(StandIn(many(200)))
    run(StandIn(JUMP), day=1)
    return KeptBack.objects.get()


@pytest.mark.parametrize("is_locked", [False, True])
def test_a_held_run_is_confirmed_or_dropped_and_never_both(
    monkeypatch: pytest.MonkeyPatch, run: Run, staff: User, is_locked: bool
) -> None:
    """With the lock taken out both decide, and the record says that the run was confirmed and dropped: it is real."""
    run(StandIn(many(20)))
    held = run(StandIn(many(20, 35)), day=1)
    monkeypatch.setattr(RefreshDecision.objects, "create", met_before(RefreshDecision.objects.create))
    if not is_locked:
        take_out_locks(monkeypatch, "catalog.services")
    raised = together(
        lambda: services.decide(held, "confirm", staff, AT + 2 * DAY),
        lambda: services.decide(held, "drop", staff, AT + 2 * DAY),
    )
    actions = sorted(held.decisions.values_list("action", flat=True))
    if not is_locked:
        assert (raised, actions) == ([], ["confirm", "drop"])
        return
    assert [str(error) for error in raised] == ["not_held"]
    held.refresh_from_db()
    status, amount = {
        "confirm": (RefreshStatus.SUCCEEDED, Decimal(35)),
        "drop": (RefreshStatus.DROPPED, Decimal("3.5")),
    }[actions[0]]
    offer = Offer.objects.select_related("current_price").get(region="region0")
    assert offer.current_price is not None
    assert (len(actions), held.status, offer.current_price.amount) == (1, status, amount)


@pytest.mark.parametrize("is_locked", [False, True])
def test_two_who_take_a_kept_back_price_at_once_write_it_once(
    monkeypatch: pytest.MonkeyPatch, run: Run, staff: User, is_locked: bool
) -> None:
    """With the lock taken out the price is in the history twice: the race is real."""
    held = kept_back(run)
    monkeypatch.setattr(Price.objects, "bulk_create", met_before(Price.objects.bulk_create))
    if not is_locked:
        take_out_locks(monkeypatch, "catalog.services")
    raised = together(*[lambda: services.take_kept_back(held, staff, AT + 2 * DAY)] * 2)
    assert [str(error) for error in raised] == (["price_decided"] if is_locked else [])
    assert Price.objects.filter(offer=held.offer, amount=35).count() == (1 if is_locked else 2)


@pytest.mark.parametrize("is_locked", [False, True])
def test_two_who_take_one_price_file_at_once_take_it_once(
    monkeypatch: pytest.MonkeyPatch, staff: User, is_locked: bool
) -> None:
    """With the lock taken out its prices are in the history twice, by two runs: the race is real."""
    Provider.objects.create(slug="sakura", name="Sakura Internet")
    price_uploads.decide(upload("2850", staff).pk, takes=True, user=staff, at=AT)
    file = upload("2900", staff, day=2)
    monkeypatch.setattr(Price.objects, "bulk_create", met_before(Price.objects.bulk_create))
    if not is_locked:
        take_out_locks(monkeypatch, "catalog.price_uploads")
    raised = together(*[lambda: price_uploads.decide(file.pk, takes=True, user=staff, at=AT)] * 2)
    assert [type(error) for error in raised] == ([price_uploads.AlreadyDecided] if is_locked else [])
    assert Price.objects.filter(amount=2900).count() == (1 if is_locked else 2)
    assert Refresh.objects.filter(source="file").count() == (2 if is_locked else 3)


@pytest.mark.parametrize("is_locked", [False, True])
def test_two_price_files_with_the_same_new_machine_are_taken_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, staff: User, is_locked: bool
) -> None:
    """With the lock taken out both add the machine, and one of them breaks: the race is real."""
    Provider.objects.create(slug="sakura", name="Sakura Internet")
    files = [upload("2850", staff), upload("2900", staff, day=2)]
    monkeypatch.setattr(Offer.objects, "bulk_create", met_before(Offer.objects.bulk_create))
    if not is_locked:
        take_out_locks(monkeypatch, "catalog.price_uploads")
    raised = together(
        *(lambda pk=file.pk: price_uploads.decide(pk, takes=True, user=staff, at=AT) for file in files)
    )
    if not is_locked:
        assert [type(error) for error in raised] == [IntegrityError]
        return
    assert raised == []
    assert set(PriceUpload.objects.values_list("state", flat=True)) == {UploadState.TAKEN}
    offer = Offer.objects.get()
    assert offer.current_price is not None
    assert offer.current_price.amount == 2900
    assert offer.prices.count() in (1, 2)  # the older one is no news where the newer one came first


@pytest.mark.parametrize("is_locked", [False, True])
def test_of_two_held_runs_that_are_confirmed_at_once_the_newer_one_holds(
    monkeypatch: pytest.MonkeyPatch, run: Run, staff: User, is_locked: bool
) -> None:
    """With the lock taken out both add the machines that are new, and one of them breaks: the race is real."""
    run(StandIn(many(20)))
    older = run(StandIn(many(25, 35)), day=1)
    newer = run(StandIn(many(25, 36)), day=2)
    assert (older.status, newer.status) == (RefreshStatus.HELD, RefreshStatus.HELD)
    monkeypatch.setattr(Offer.objects, "bulk_create", met_before(Offer.objects.bulk_create))
    if not is_locked:
        take_out_locks(monkeypatch, "catalog.services")
    raised = together(
        *(lambda held=held: services.decide(held, "confirm", staff, AT + 3 * DAY) for held in (older, newer))
    )
    if not is_locked:
        assert [type(error) for error in raised] == [IntegrityError]
        return
    assert [str(error) for error in raised] in ([], ["newer_run_exists"])
    current = Offer.objects.current().select_related("current_price").order_by("usd_per_hour")
    amounts = [offer.current_price.amount for offer in current if offer.current_price]
    assert amounts == [Decimal(36) + Decimal(number) / 100 for number in range(25)]
    assert set(Offer.objects.values_list("confirmed_by", flat=True)) == {newer.pk}


@pytest.mark.parametrize("is_locked", [False, True])
def test_four_refreshes_at_the_same_moment_ask_the_source_for_one(
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    two_runs_may_be_open: Callable[[], None],
    is_locked: bool,
) -> None:
    """With the constraint taken out four runs are open, and each asks the source: the race is real."""
    Provider.objects.create(slug="azure", name="Microsoft Azure")
    settings.SOURCE_BASE_URLS = {"azure": BASE}
    monkeypatch.setattr(Refresh.objects, "create", met_before(Refresh.objects.create, 4))
    if not is_locked:
        two_runs_may_be_open()
        take_out_locks(monkeypatch, "catalog.runs")
    stand_in = StandIn(many(20))
    raised = together(
        *[lambda: services.refresh("azure", AT, asked_at=AT, client=stand_in.client(), limits=QUICK)] * 4
    )
    assert raised == []
    assert (len(stand_in.asked), Refresh.objects.count()) == ((1, 1) if is_locked else (4, 4))
    if is_locked:
        assert Offer.objects.count() == Price.objects.count() == 20


@pytest.mark.parametrize("is_locked", [False, True])
def test_who_takes_a_run_for_dead_waits_for_what_it_is_writing(
    monkeypatch: pytest.MonkeyPatch, run: Run, is_locked: bool
) -> None:
    """With the lock taken out the next run begins, and the dead one writes all the same: the race is real."""
    writing, begun = threading.Event(), threading.Event()
    swap = swapping.swap
    seen: list[int] = []

    def slow_swap(*args: Any, **kwargs: Any) -> None:
        writing.set()
        begun.wait(1 if is_locked else 10)  # with the lock nobody begins
        swap(*args, **kwargs)

    def begin_anew() -> None:
        assert writing.wait(10)
        _next, is_ours = runs.open_run("azure", AT + DAY)
        assert is_ours
        seen.append(Offer.objects.count())
        begun.set()

    monkeypatch.setattr(services, "swap", slow_swap)
    if not is_locked:
        take_out_locks(monkeypatch, "catalog.services")
    assert together(lambda: run(StandIn(many(20))), begin_anew) == []
    first = Refresh.objects.earliest("pk")
    assert first.status == RefreshStatus.SUCCEEDED
    assert seen == ([20] if is_locked else [0])
    assert Offer.objects.count() == 20


@pytest.mark.parametrize("is_locked", [False, True])
def test_a_price_that_is_taken_while_the_next_run_arrives_stays_on_record(
    monkeypatch: pytest.MonkeyPatch, run: Run, staff: User, is_locked: bool
) -> None:
    """With the lock taken out the run forgets the price while a person takes it: the race is real."""
    held = kept_back(run)
    at_work, ended = threading.Event(), threading.Event()
    record = recording.record

    def slow_record(*args: Any, **kwargs: Any) -> Any:
        at_work.set()
        ended.wait(1 if is_locked else 10)  # with the lock the run does not end
        return record(*args, **kwargs)

    def arrive() -> None:
        assert at_work.wait(10)
        run(StandIn(JUMP), day=2)
        ended.set()

    monkeypatch.setattr(services, "record", slow_record)
    if not is_locked:
        take_out_locks(monkeypatch, "catalog.services")
    raised = together(lambda: services.take_kept_back(held, staff, AT + DAY), arrive)
    assert KeptBack.objects.filter(pk=held.pk).exists() is is_locked
    if is_locked:
        assert raised == []
        held.refresh_from_db()
        assert held.user == staff
        assert not KeptBack.objects.open().exists()  # judged anew, by the price that was taken
        assert Refresh.objects.latest("pk").status == RefreshStatus.SUCCEEDED


@pytest.mark.parametrize("is_locked", [False, True])
@pytest.mark.parametrize("loads", ["seeds", "machines"])
def test_shipped_prices_that_are_loaded_beside_a_refresh_come_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run, loads: str, is_locked: bool
) -> None:
    """With the lock taken out both add the machines that neither knew, and the loading breaks: the race is real."""
    shipped = shipped_lists(tmp_path)
    at_work, ended = threading.Event(), threading.Event()
    loader = threading.local()

    def slowed(write: Callable[..., Any]) -> Callable[..., Any]:
        def late(*args: Any, **kwargs: Any) -> Any:
            if getattr(loader, "is_here", False) and not at_work.is_set():
                at_work.set()
                ended.wait(1 if is_locked else 10)  # with the lock the run does not end
            return write(*args, **kwargs)

        return late

    def load() -> None:
        loader.is_here = True
        load_machines(AT, shipped) if loads == "machines" else load_seeds(AT, shipped)

    def arrive() -> None:
        assert at_work.wait(10)
        run(StandIn(many(20)))
        ended.set()

    monkeypatch.setattr(Offer.objects, "bulk_create", slowed(Offer.objects.bulk_create))
    monkeypatch.setattr(machine_loading, "_insert", slowed(machine_loading._insert))
    if not is_locked:
        take_out_locks(monkeypatch, "catalog.services", "catalog.machine_loading", "catalog.seed_loading")
    raised = together(load, arrive)
    assert [type(error) for error in raised] == ([] if is_locked else [IntegrityError])
    current = Offer.objects.current().select_related("current_price").order_by("usd_per_hour")
    amounts = [offer.current_price.amount for offer in current if offer.current_price]
    assert amounts == [Decimal("3.5") + Decimal(number) / 100 for number in range(20)], (
        "the run is the newer word"
    )
    if is_locked:
        assert Price.objects.filter(amount=2).count() == 20, "the shipped price stays as history"


def test_a_price_that_the_next_run_forgot_is_told_as_decided(run: Run, staff: User) -> None:
    held = kept_back(run)
    run(StandIn(JUMP), day=2)
    with pytest.raises(SourceFailure, match="price_decided"):
        services.take_kept_back(held, staff, AT + 3 * DAY)
    assert not Price.objects.filter(amount=35).exists()
