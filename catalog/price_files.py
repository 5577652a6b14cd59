"""Price files that an operator keeps by hand: read row by row, every fault named with its line, in bounded memory.

Nothing is written before the whole file was read once. Only then do its rows become observations, as those of any
other source: an older price does not replace a newer one, and the same file again adds nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from catalog import price_cells, workbooks
from catalog.commitments import price_per_hour
from catalog.facts import accelerators
from catalog.identify import identify
from catalog.models import CatalogVersion, PriceUnit, Provider, Refresh, RefreshStatus, Tier
from catalog.price_tables import FileFault, csv_rows, is_workbook
from catalog.recording import Observation, record

REQUIRED = ("provider", "sku", "price", "currency", "observed_on", "source")
OPTIONAL = (
    "region", "tier", "tier_detail", "accelerator", "gpu_count", "vcpu", "ram_gib", "unit", "effective_from", "note",
    "licence", "upfront", "term_months",
)  # fmt: skip
LENGTHS = {
    "provider": 120, "sku": 120, "region": 60, "tier_detail": 60, "accelerator": 120, "note": 200, "source": 200,
    "licence": 40,
}  # fmt: skip

DAYS = ("observed_on", "effective_from")

WORKBOOK_BYTES_MAXIMUM = 20 * 2**20
"""A larger one is cut there, and what is cut cannot be read."""
ROWS_MAXIMUM = 100_000
FAULTY_ROWS_MAXIMUM = 2_000
"""A file with more of them is another file; it is not read to its end."""
FAULTS_KEPT = 100
BATCH = 1000


@dataclass
class ImportReport:
    rows_read: int = 0
    faulty_rows: int = 0
    faults: list[str] = field(default_factory=list)
    """The first hundred, each with its line and column."""
    not_comparable: Counter[str] = field(default_factory=Counter)
    taken: bool = False
    offers_added: int = 0
    prices_added: int = 0
    prices_older: int = 0

    accepted: list[dict[str, str]] = field(default_factory=list)
    """The first hundred rows without a fault, as they would be written."""
    unreadable: bool = False
    """The file ended for a fault of its own: nothing of it can be taken."""

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "not_comparable": dict(self.not_comparable)}

    def may_be_taken(self, take_good: bool) -> bool:
        if self.unreadable or self.rows_read == self.faulty_rows:
            return False
        return take_good or not self.faulty_rows

    def accept(self, line: int, one: Observation) -> None:
        if one.not_comparable:
            self.not_comparable[one.not_comparable] += 1
        if len(self.accepted) < FAULTS_KEPT:
            self.accepted.append({
                "line": str(line), "provider": one.provider, "sku": one.sku, "region": one.region,
                "tier": one.tier, "accelerator": one.accelerator or one.accelerator_as_written,
                "gpu_count": "" if one.gpu_count is None else str(one.gpu_count),
                "amount": f"{one.amount.normalize():f}", "currency": one.currency, "unit": one.unit,
                "observed_on": one.observed_on.isoformat(), "not_comparable": one.not_comparable,
            })  # fmt: skip

    def blame(self, line: int, faults: list[str]) -> None:
        self.faulty_rows += 1
        room = FAULTS_KEPT - len(self.faults)
        self.faults += [
            _("line %(line)s: %(what)s") % {"line": line, "what": fault} for fault in faults[:room]
        ]


@dataclass(frozen=True)
class PriceFile:
    """A file by name and content: a CSV, or the first sheet of a workbook. What lies on a disk is read as a stream."""

    name: str
    content: bytes | Path

    @property
    def is_workbook(self) -> bool:
        return is_workbook(self.name, self._read(8))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        if self.is_workbook:
            yield from workbooks.rows(self._read(WORKBOOK_BYTES_MAXIMUM))
        elif isinstance(self.content, bytes):
            yield from csv_rows(BytesIO(self.content))
        else:
            with self.content.open("rb") as file:
                yield from csv_rows(file)

    def _read(self, size_bytes: int) -> bytes:
        if isinstance(self.content, bytes):
            return self.content[:size_bytes]
        with self.content.open("rb") as file:
            return file.read(size_bytes)


def check(file: PriceFile, at: datetime) -> ImportReport:
    """Read the whole file and write nothing."""
    report = ImportReport()
    providers = known_providers()
    try:
        for line, result in rows_of(file, providers, at):
            report.rows_read += 1
            if isinstance(result, list):
                report.blame(line, result)
                if report.faulty_rows > FAULTY_ROWS_MAXIMUM:
                    most = f"{FAULTY_ROWS_MAXIMUM:,}"
                    raise FileFault(
                        line,
                        _("more than %(count)s rows have faults; is this the right file?") % {"count": most},
                    )
            else:
                report.accept(line, result)
    except FileFault as fault:
        report.faulty_rows += 1
        report.faults.append(str(fault))
        report.unreadable = True
    return report


def import_prices(path: Path, at: datetime, *, take_good: bool = False) -> ImportReport:
    """Take a file's prices: all of them, or with ``take_good`` those whose rows have no fault."""
    file = PriceFile(path.name, path)
    report = check(file, at)
    if report.may_be_taken(take_good):
        with transaction.atomic():
            take(file, at, report)
    return report


def take(file: PriceFile, at: datetime, report: ImportReport, asked_by: User | None = None) -> Refresh:
    """Append the prices of the rows that have no fault, as a run of its own; call it inside a transaction."""
    CatalogVersion.hold()
    providers = known_providers()
    run = Refresh.objects.create(
        source="file", status=RefreshStatus.SUCCEEDED, started_at=at, lease_until=at, finished_at=at,
        reason_detail=file.name[:300], item_count=report.rows_read, refused={"faulty": report.faulty_rows},
        asked_by=asked_by,
    )  # fmt: skip
    batch: list[Observation] = []

    def write() -> None:
        done = record(batch, at, run)
        report.offers_added += done.offers_added
        report.prices_added += done.prices_added
        report.prices_older += done.prices_older
        batch.clear()

    for _line, result in rows_of(file, providers, at):
        if isinstance(result, Observation):
            batch.append(result)
        if len(batch) >= BATCH:
            write()
    write()
    run.quote_count = report.rows_read - report.faulty_rows
    run.added_count, run.changed_count = report.offers_added, report.prices_added
    run.save()
    CatalogVersion.bump(at)
    report.taken = True
    return run


def known_providers() -> dict[str, str]:
    """Every spelling of a provider, in lower case, to its slug."""
    known: dict[str, str] = {}
    for slug, name, names_seen in Provider.objects.values_list("slug", "name", "names_seen"):
        known.update({spelling.casefold(): slug for spelling in (slug, name, *names_seen)})
    return known


# --- From cells to rows ------------------------------------------------------------------------------------


def rows_of(
    file: PriceFile, providers: Mapping[str, str], at: datetime
) -> Iterator[tuple[int, Observation | list[str]]]:
    """Each row with its line: an observation, or its faults."""
    table = file.rows()
    columns = _header(table)
    days = [place for place, name in enumerate(columns) if name in DAYS] if file.is_workbook else []
    seen: dict[tuple[str, date], Decimal] = {}
    number = 0
    for line, cells in table:
        if not any(cell.strip() for cell in cells):
            continue
        number += 1
        if number > ROWS_MAXIMUM:
            raise FileFault(
                line, _("more than %(count)s rows; split the file") % {"count": f"{ROWS_MAXIMUM:,}"}
            )
        if file.is_workbook:
            # A sheet has no cells where a row ends early; days are numbers there.
            cells += [""] * (len(columns) - len(cells))
            for place in days:
                cells[place] = workbooks.day_of(cells[place])
        if len(cells) != len(columns):
            yield (
                line,
                [
                    _("%(count)s cells where the header has %(columns)s")
                    % {"count": len(cells), "columns": len(columns)}
                ],
            )
            continue
        row = {name: cell.strip() for name, cell in zip(columns, cells, strict=True)}
        result = _read(row, providers, at)
        if isinstance(result, Observation):
            key = (result.key, result.observed_on)
            if seen.setdefault(key, result.amount) != result.amount:
                result = [_("price: another row has another price for this machine on this day")]
        yield line, result


def _header(table: Iterator[tuple[int, list[str]]]) -> list[str]:
    try:
        line, cells = next(table)
    except StopIteration:
        raise FileFault(1, _("the file is empty")) from None
    columns = [cell.strip().casefold() for cell in cells]
    faults = [_("no column %(name)s") % {"name": name} for name in REQUIRED if name not in columns]
    faults += [
        _("unknown column %(name)s") % {"name": repr(name[:40])}
        for name in columns
        if name not in (*REQUIRED, *OPTIONAL)
    ]
    faults += [
        _("column %(name)s twice") % {"name": name[:40]}
        for name, count in Counter(columns).items()
        if count > 1
    ]
    if faults:
        raise FileFault(line, "; ".join(faults[:20]))
    return columns


# --- From a row to an observation --------------------------------------------------------------------------


def _read(row: dict[str, str], providers: Mapping[str, str], at: datetime) -> Observation | list[str]:
    faults: list[str] = []

    def cell(name: str, read: Callable[[str], object]) -> object:
        text = row.get(name, "")
        try:
            if not text:
                if name in REQUIRED:
                    raise ValueError(_("is empty"))
                return None
            return read(text)
        except ValueError as error:
            faults.append(f"{name}: {error}")
            return None

    values = {name: cell(name, price_cells.text(LENGTHS[name])) for name in LENGTHS}
    amount = cell("price", price_cells.number if row.get("upfront") else price_cells.price)
    upfront, term_months = cell("upfront", price_cells.number), cell("term_months", price_cells.months)
    currency = cell("currency", price_cells.currency)
    observed_on = cell("observed_on", lambda text: price_cells.day(text, at.date()))
    effective_from = cell("effective_from", lambda text: price_cells.day(text, None))
    tier = cell("tier", price_cells.one_of(Tier.values)) or Tier.ON_DEMAND.value
    unit = cell("unit", price_cells.one_of(PriceUnit.values)) or PriceUnit.HOUR.value
    count = cell("gpu_count", price_cells.whole)
    vcpu, ram_gib = cell("vcpu", price_cells.number), cell("ram_gib", price_cells.number)
    provider = providers.get(row.get("provider", "").casefold())
    if provider is None and row.get("provider"):
        faults.append(_("provider: %(name)s is not in the catalog") % {"name": repr(row["provider"][:40])})
    commitment = _Commitment(amount, upfront, term_months)
    faults += commitment.faults(tier, unit)
    if faults:
        return faults
    card, reason, detail = _card(str(values["accelerator"] or ""), str(provider), count)
    return Observation(
        provider=str(provider),
        sku=str(values["sku"]),
        region=str(values["region"] or ""),
        tier=str(tier),
        tier_detail=str(values["tier_detail"] or ""),
        accelerator=card,
        accelerator_as_written=str(values["accelerator"] or ""),
        gpu_count=0 if not values["accelerator"] else count if isinstance(count, int) else None,
        vcpu=vcpu if isinstance(vcpu, Decimal) else None,
        ram_gib=ram_gib if isinstance(ram_gib, Decimal) else None,
        not_comparable=reason,
        not_comparable_detail=detail,
        note=str(values["note"] or ""),
        amount=commitment.per_unit,
        upfront=commitment.upfront,
        recurring=None if commitment.upfront is None else commitment.amount,
        term_months=commitment.term_months,
        currency=str(currency),
        unit=str(unit),
        observed_on=observed_on if isinstance(observed_on, date) else at.date(),
        effective_from=effective_from if isinstance(effective_from, date) else None,
        source=str(values["source"]),
        licence=str(values["licence"] or ""),
    )


class _Commitment:
    """The price of a row, with what is paid at once for a term: that is spread over the hours of the term."""

    def __init__(self, amount: object, upfront: object, term_months: object) -> None:
        self.amount = amount if isinstance(amount, Decimal) else Decimal(0)
        self.upfront = upfront if isinstance(upfront, Decimal) else None
        self.term_months = term_months if isinstance(term_months, int) else None

    def faults(self, tier: object, unit: object) -> list[str]:
        faults = []
        if self.term_months is not None and tier != Tier.RESERVED:
            faults.append(
                _("term_months: only a reserved price has a term; tier says %(tier)s") % {"tier": tier}
            )
        if self.upfront is not None and self.term_months is None:
            faults.append(_("upfront: give the term that it pays for in term_months"))
        if self.upfront is not None and unit != PriceUnit.HOUR:
            faults.append(_("upfront: the price beside it must be by the hour"))
        if self.upfront is not None and not faults and not self.per_unit:
            faults.append(_("price: zero is not a price; leave the row out where it is unknown"))
        return faults

    @property
    def per_unit(self) -> Decimal:
        if self.upfront is None or self.term_months is None:
            return self.amount
        return price_per_hour(self.upfront, self.amount, self.term_months)


@lru_cache(maxsize=4096)
def _card(written: str, provider: str, count: object) -> tuple[str | None, str, str]:
    """The card that is meant, or why the offer is listed and not compared."""
    if not written:
        return None, "no_accelerator", ""
    answer = identify(written, provider)
    canonical = written if written in accelerators() else answer.canonical
    if canonical is None:
        reason = "ambiguous_accelerator" if answer.status == "ambiguous" else "unknown_accelerator"
        return None, reason, "|".join(answer.candidates)[:160]
    if answer.fraction < 1:
        return canonical, "slice_memory_unknown", ""
    return canonical, "" if count else "count_unknown", ""
