"""Loads the shipped seeds; each row is one more observation, so loading twice changes nothing."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.db import connection, models, transaction

from catalog.facts import accelerators
from catalog.models import (
    Accelerator,
    BillingTerms,
    CatalogVersion,
    EgressTier,
    ExchangeRate,
    MarketDay,
    Offer,
    Price,
    Provider,
    Region,
    StoragePrice,
    StorageSpeed,
)
from catalog.recording import CHUNK, Observation, record, rounded, write_dollars
from catalog.source_words import shortened
from catalog.term_prices import replace

SEEDS = Path(__file__).parent / "seeds"
SEED_SUFFIXES = (".json", ".csv", ".gz")
"""Whatever else lies beside the seeds for a moment says nothing of them."""


@dataclass
class SeedReport:
    """What was read, kept and refused, and why."""

    read: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def lines(self) -> list[str]:
        lines = [
            f"{what}: {self.read[what]} read, {self.kept[what]} known now, {self.changed[what]} changed"
            for what in self.read
        ]
        return lines + [f"refused: {why} ({count})" for why, count in sorted(self.refused.items())]

    @property
    def anything(self) -> bool:
        return any(self.changed.values())


def seeds_sha256(folder: Path = SEEDS) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.suffix in SEED_SUFFIXES):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def load_seeds(at: datetime, folder: Path = SEEDS) -> SeedReport:
    """Bring the shipped facts and prices into the catalog, in one transaction."""
    report = SeedReport()
    with transaction.atomic():
        CatalogVersion.hold()
        _load_accelerators(report)
        _load_table(report, Provider, "providers", folder, ("slug",))
        _load_table(report, Region, "regions", folder, ("provider_id", "code"))
        _load_table(report, BillingTerms, "billing", folder, ("provider_id",))
        storage_key = ("provider_id", "region", "kind", "name")
        _load_steps(report, StoragePrice, "storage", folder, storage_key, at)
        _load_table(report, StorageSpeed, "storage_speeds", folder, ("provider_id", "kind", "name"))
        _load_steps(report, EgressTier, "egress", folder, ("provider_id", "region"), at)
        _load_table(report, MarketDay, "market_days", folder, ("accelerator_id", "on"))
        _load_table(report, ExchangeRate, "exchange", folder, ("on", "currency"))
        _load_offers(report, folder, at)
        if report.changed["exchange"]:
            _count_anew()
            write_dollars(
                Offer.objects.exclude(current_price__currency="USD"), ExchangeRate.latest(at.date())
            )
        version = CatalogVersion.objects.get(pk=CatalogVersion.ONLY)
        digest = seeds_sha256(folder)
        if report.anything or version.seeds_sha256 != digest:
            CatalogVersion.objects.filter(pk=CatalogVersion.ONLY).update(seeds_sha256=digest)
            CatalogVersion.bump(at)
    return report


def _count_anew() -> None:
    """PostgreSQL plans by counts that it takes between transactions; after a first load these still say: empty."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {Offer._meta.db_table}, {Price._meta.db_table}")


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))[name]
    return rows


def _load_accelerators(report: SeedReport) -> None:
    columns = ("vendor", "memory_bytes", "bandwidth_bytes_per_s")
    facts = accelerators()
    known = {name: values for name, *values in Accelerator.objects.values_list("name", *columns)}
    changed = [
        Accelerator(name=name, **{column: getattr(fact, column) for column in columns})
        for name, fact in facts.items()
        if known.get(name) != [getattr(fact, column) for column in columns]
    ]
    Accelerator.objects.bulk_create(
        changed, update_conflicts=True, unique_fields=["name"], update_fields=columns
    )
    report.read["accelerators"] = report.kept["accelerators"] = len(facts)
    report.changed["accelerators"] = len(changed)


def _load_table(
    report: SeedReport, model: type[models.Model], name: str, folder: Path, key: tuple[str, ...]
) -> None:
    load_rows(report, model, name, _rows(folder, name), key)


def _load_steps(
    report: SeedReport,
    model: type[StoragePrice] | type[EgressTier],
    name: str,
    folder: Path,
    whole: tuple[str, ...],
    at: datetime,
) -> None:
    """Prices in steps: where a run brought any step of what ``whole`` names, the shipped steps stay out."""
    brought = set(model.objects.in_force().exclude(refresh=None).values_list(*whole))
    lists: dict[tuple[Any, ...], list[Any]] = {}
    for cells in _rows(folder, name):
        step = _made(model, cells)
        key = tuple(getattr(step, part) for part in whole)
        if key not in brought:
            lists.setdefault(key, []).append(step)
    for key, steps in lists.items():
        known = model.objects.filter(**dict(zip(whole, key, strict=True)))
        if replace(known, steps, at):
            report.changed[name] += len(steps)
    report.read[name] = sum(map(len, lists.values()))
    report.kept[name] = model.objects.in_force().count()


def _made(model: type[models.Model], cells: dict[str, Any]) -> Any:
    """A row of a seed as a row of the database that is not written yet."""
    values = {
        column.attname: column.to_python(cells[column.name])
        for column in model._meta.concrete_fields
        if column.name in cells and not column.is_relation
    }
    for relation in {"provider", "accelerator"} & set(cells):
        values[f"{relation}_id"] = cells[relation]
    return model(**values)


def load_rows(
    report: SeedReport,
    model: type[models.Model],
    name: str,
    rows: list[dict[str, Any]],
    key: tuple[str, ...],
) -> None:
    """Make the rows of a small table agree with the seed; a row that the seed dropped stays."""
    columns = {f.attname: f for f in model._meta.concrete_fields}
    known = {tuple(getattr(row, part) for part in key): row for row in model._default_manager.all()}
    new: list[models.Model] = []
    changed: list[models.Model] = []
    touched: set[str] = set()
    for cells in rows:
        fresh = _made(model, cells)
        row = known.get(tuple(getattr(fresh, part) for part in key))
        if row is None:
            new.append(fresh)
            continue
        different = [a for a in columns if a != "id" and getattr(row, a) != getattr(fresh, a)]
        for attname in different:
            setattr(row, attname, getattr(fresh, attname))
        if different:
            changed.append(row)
            touched.update(different)
    model._default_manager.bulk_create(new, batch_size=CHUNK)
    if changed:
        model._default_manager.bulk_update(changed, sorted(columns[a].name for a in touched), batch_size=100)
    report.read[name] = len(rows)
    report.kept[name] = len(known) + len(new)
    report.changed[name] = len(new) + len(changed)


def _load_offers(report: SeedReport, folder: Path, at: datetime) -> None:
    providers = set(Provider.objects.values_list("slug", flat=True))
    done = record(_observations(report, folder, providers), at)
    dropped = _retire_dropped(done.touched_ids, at)
    report.kept["offers"] = len(done.touched_ids)
    report.changed["offers"] = (
        done.offers_added + done.offers_corrected + done.prices_added + done.prices_confirmed + dropped
    )


def _retire_dropped(listed_ids: set[int], at: datetime) -> int:
    """Offers that only seeds knew and that the seeds no longer list: another name of one that they do."""
    known = Offer.objects.filter(gone_since__isnull=True, confirmed_by__isnull=True).with_accelerator()
    known = known.exclude(not_comparable="size_unknown")  # of the price lists loaded after these
    dropped = sorted(set(known.values_list("pk", flat=True)) - listed_ids)
    for start in range(0, len(dropped), CHUNK):
        Offer.objects.filter(pk__in=dropped[start : start + CHUNK]).update(gone_since=at)
    return len(dropped)


def _observations(report: SeedReport, folder: Path, providers: set[str]) -> Iterator[Observation]:
    facts = accelerators()
    with (folder / "offers.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            report.read["offers"] += 1
            try:
                observation = observation_of(row)
            except (ValueError, InvalidOperation, KeyError) as error:
                report.refused[f"offers: cannot be read ({type(error).__name__})"] += 1
                continue
            if observation.provider not in providers:
                report.refused[f"offers: provider {observation.provider} is not known"] += 1
            elif observation.accelerator and observation.accelerator not in facts:
                report.refused[f"offers: accelerator {observation.accelerator} is not known"] += 1
            elif observation.amount <= 0:
                report.refused["offers: a price of zero is not a price"] += 1
            else:
                yield observation


def observation_of(row: dict[str, str]) -> Observation:
    def number(name: str) -> Decimal | None:
        return Decimal(row[name]).quantize(Decimal("0.01")) if row[name] else None

    amount = Decimal(row["amount"])
    if not amount.is_finite() or abs(amount) >= 10**9:
        raise ValueError(f"price {row['amount']}")
    return Observation(
        provider=row["provider"],
        sku=row["sku"],
        region=row["region"],
        tier=row["tier"],
        tier_detail=row["tier_detail"],
        accelerator=row["accelerator"] or None,
        accelerator_as_written=row["as_written"],
        gpu_count=int(row["gpu_count"]) if row["gpu_count"] else None,
        gpu_fraction=Decimal(row["gpu_fraction"] or 1),
        gpu_memory_gib=number("gpu_memory_gib"),
        vcpu=number("vcpu"),
        ram_gib=number("ram_gib"),
        sold_per_gpu=row["sold_per_gpu"] == "yes",
        fabric=row["fabric"],
        spec_source=row["spec_source"],
        not_comparable=row["not_comparable"],
        not_comparable_detail=row["not_comparable_detail"],
        note=shortened(row["note"], 200),
        amount=rounded(amount),
        currency=row["currency"],
        unit=row["unit"],
        observed_on=date.fromisoformat(row["observed_on"]),
        observed_precision=row["observed_precision"][:40],
        effective_from=date.fromisoformat(row["effective_from"]) if row["effective_from"] else None,
        estimated=row["estimated"] == "yes",
        floor=row["floor"] == "yes",
        source=row["source"],
        licence=row["licence"],
    )
