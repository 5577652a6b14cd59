"""Loads the shipped price lists of machines without GPUs: many rows, after the rest, so that nothing waits for them."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from django.db import connection, models, transaction
from django.db.models import Q

from catalog.models import CatalogVersion, MachineKind, MachineType, Offer, Price
from catalog.recording import Observation, point_at_newest, record, rounded
from catalog.seed_loading import SEEDS, SeedReport, load_rows, seeds_sha256

FOLDER = SEEDS / "machines"
PART = 4000
"""Offers of one transaction: other writers of a small database never wait long."""

KEYS_OF_A_QUERY = 500
ONLY_SHIPPED = Q(gone_since__isnull=True, confirmed_by__isnull=True)
"""Offers that no run has listed."""

REASONS = {
    MachineKind.CPU: "no_accelerator",
    MachineKind.HOST: "dedicated_host",
    MachineKind.OTHER: "other_accelerator",
}


class Known(NamedTuple):
    amount: Decimal | None
    confirmed_on: date | None
    vcpu: Decimal | None
    ram_gib: Decimal | None
    not_comparable: str


def machines_are_loaded(folder: Path = FOLDER) -> bool:
    digest = CatalogVersion.objects.filter(pk=CatalogVersion.ONLY).values_list("machines_sha256", flat=True)
    return digest.first() == seeds_sha256(folder)


def load_machines(at: datetime, folder: Path = FOLDER) -> SeedReport:
    """Make sizes and prices agree with the lists; where these were loaded already, nothing is read."""
    report = SeedReport()
    if machines_are_loaded(folder):
        return report
    with transaction.atomic():
        CatalogVersion.hold()
        load_rows(report, MachineType, "machine sizes", _type_rows(folder), ("provider_id", "sku"))
    types = {(one.provider_id, one.sku): one for one in MachineType.objects.all()}
    for price_list in json.loads((folder / "lists.json").read_text(encoding="utf-8"))["lists"]:
        _load_list(report, folder, price_list, types, at)
    with transaction.atomic():
        CatalogVersion.hold()
        CatalogVersion.objects.filter(pk=CatalogVersion.ONLY).update(machines_sha256=seeds_sha256(folder))
        if report.anything:
            CatalogVersion.bump(at)
    return report


def _type_rows(folder: Path) -> list[dict[str, Any]]:
    with (folder / "types.csv").open(encoding="utf-8", newline="") as lines:
        return [{name: cell for name, cell in row.items() if cell} for row in csv.DictReader(lines)]


def _load_list(
    report: SeedReport,
    folder: Path,
    price_list: dict[str, str],
    types: dict[tuple[str, str], MachineType],
    at: datetime,
) -> None:
    provider = price_list["provider"]
    name = f"machine prices of {provider}"
    listed: set[str] = set()
    changed_count = 0
    observations = _observations(report, name, folder, price_list, types)
    while part := list(islice(observations, PART)):
        listed.update(one.key for one in part)
        with transaction.atomic():
            CatalogVersion.hold()
            changed_count += _take(part, at)
    here = Offer.objects.filter(provider=provider, not_comparable__in=REASONS.values())
    dropped = [pk for pk, key in here.filter(ONLY_SHIPPED).values_list("pk", "key") if key not in listed]
    for start in range(0, len(dropped), KEYS_OF_A_QUERY):
        with transaction.atomic():
            CatalogVersion.hold()
            # Asked again: a run may have listed one of them since.
            unlisted = Offer.objects.filter(ONLY_SHIPPED, pk__in=dropped[start : start + KEYS_OF_A_QUERY])
            changed_count += unlisted.update(gone_since=at)
    report.kept[name] = len(listed)
    report.changed[name] = changed_count


def _take(part: list[Observation], at: datetime) -> int:
    """Write what is new or differs, while no one else writes prices; how many of them."""
    known = _known([one.key for one in part])
    new = [one for one in part if one.key not in known]
    changed = [one for one in part if one.key in known and _differs(known[one.key], one)]
    if new:
        _insert(new, at)
    record(changed, at)
    return len(new) + len(changed)


def _known(keys: list[str]) -> dict[str, Known]:
    found: dict[str, Known] = {}
    for start in range(0, len(keys), KEYS_OF_A_QUERY):
        rows = Offer.objects.filter(key__in=keys[start : start + KEYS_OF_A_QUERY]).values_list(
            "key", "current_price__amount", "confirmed_on", "vcpu", "ram_gib", "not_comparable"
        )
        found.update(
            {key: Known(amount, on, vcpu, ram_gib, reason) for key, amount, on, vcpu, ram_gib, reason in rows}
        )
    return found


def _differs(there: Known, observation: Observation) -> bool:
    """Something newer, or another fact, is in the list; an older list takes nothing away."""
    if there.confirmed_on is not None and observation.observed_on < there.confirmed_on:
        return False
    return there != Known(
        observation.amount,
        observation.observed_on,
        there.vcpu if observation.vcpu is None else observation.vcpu,
        there.ram_gib if observation.ram_gib is None else observation.ram_gib,
        observation.not_comparable,
    )


def _observations(
    report: SeedReport,
    name: str,
    folder: Path,
    price_list: dict[str, str],
    types: dict[tuple[str, str], MachineType],
) -> Iterator[Observation]:
    provider = price_list["provider"]
    with gzip.open(folder / price_list["file"], "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            report.read[name] += 1
            size = types.get((provider, row["sku"]))
            try:
                amount = rounded(Decimal(row["amount"]))
                observed_on = date.fromisoformat(row["observed_on"])
            except (ValueError, InvalidOperation) as error:
                report.refused[f"{name}: cannot be read ({type(error).__name__})"] += 1
                continue
            if not amount.is_finite() or amount <= 0:
                report.refused[f"{name}: a price of zero is not a price"] += 1
                continue
            yield Observation(
                provider=provider,
                sku=row["sku"],
                region=row["region"],
                gpu_count=0 if size is not None and size.kind == MachineKind.CPU else None,
                vcpu=size.vcpu if size else None,
                ram_gib=size.ram_gib if size else None,
                not_comparable=REASONS.get(MachineKind(size.kind), "") if size else "size_unknown",
                amount=amount,
                currency=row["currency"],
                observed_on=observed_on,
                source=price_list["source"],
                licence=price_list["licence"],
            )


def _insert(observations: list[Observation], at: datetime) -> None:
    """Add offers that nobody knew, each with its first price, without making a model object of every row."""
    first = observations[0]
    _insert_rows(
        Offer(key="", provider_id=first.provider, tier=first.tier),
        ("key", "sku", "region", "gpu_count", "vcpu", "ram_gib", "not_comparable", "confirmed_on"),
        [(o.key, o.sku, o.region, o.gpu_count, o.vcpu, o.ram_gib, o.not_comparable, o.observed_on)
         for o in observations],
    )  # fmt: skip
    ids: dict[str, int] = {}
    for start in range(0, len(observations), KEYS_OF_A_QUERY):
        keys = [one.key for one in observations[start : start + KEYS_OF_A_QUERY]]
        ids.update(Offer.objects.filter(key__in=keys).values_list("key", "pk"))
    _insert_rows(
        Price(recorded_at=at, source=first.source, licence=first.licence),
        ("offer_id", "amount", "currency", "observed_on"),
        [(ids[o.key], o.amount, o.currency, o.observed_on) for o in observations],
    )
    point_at_newest(sorted(ids.values()), at)


def _insert_rows(like: models.Model, varying: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Insert rows that differ from ``like`` in some columns."""
    fields = [field for field in like._meta.concrete_fields if not field.primary_key]
    constant = [field.get_db_prep_save(field.pre_save(like, True), connection) for field in fields]
    places = {name: [field.attname for field in fields].index(name) for name in varying}
    prepare = {name: fields[place].get_db_prep_save for name, place in places.items()}
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {quote(str(like._meta.db_table))} ({columns}) VALUES ({marks})"  # noqa: S608  # nosec B608
    ready = []
    for row in rows:
        values = list(constant)
        for name, value in zip(varying, row, strict=True):
            values[places[name]] = prepare[name](value, connection)
        ready.append(values)
    with connection.cursor() as cursor:
        cursor.executemany(statement, ready)
