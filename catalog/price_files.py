"""Price files that an operator keeps by hand: read row by row, every fault named with its line, in bounded memory.

Nothing is written before the whole file was read once. Only then do its rows become observations, as those of any
other source: an older price does not replace a newer one, and the same file again adds nothing.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

from django.db import transaction

from catalog.facts import accelerators
from catalog.identify import identify
from catalog.models import CatalogVersion, PriceUnit, Provider, Refresh, RefreshStatus, Tier
from catalog.recording import Observation, record, rounded

REQUIRED = ("provider", "sku", "price", "currency", "observed_on", "source")
OPTIONAL = (
    "region", "tier", "tier_detail", "accelerator", "gpu_count", "vcpu", "ram_gib", "unit", "effective_from", "note",
    "licence",
)  # fmt: skip
LENGTHS = {
    "provider": 120, "sku": 120, "region": 60, "tier_detail": 60, "accelerator": 120, "note": 200, "source": 200,
    "licence": 40,
}  # fmt: skip

ROWS_MAXIMUM = 100_000
LINE_BYTES_MAXIMUM = 20_000
FAULTS_KEPT = 100
BATCH = 1000

NUMBER = re.compile(r"\d{1,9}(\.\d{1,6})?", re.ASCII)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take for the beginning of a formula."""


class FileFault(Exception):
    """The file as a whole cannot be read; ``line`` says where it ended."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")


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

    def blame(self, line: int, faults: list[str]) -> None:
        self.faulty_rows += 1
        room = FAULTS_KEPT - len(self.faults)
        self.faults += [f"line {line}: {fault}" for fault in faults[:room]]


def import_prices(path: Path, at: datetime, *, take_good: bool = False) -> ImportReport:
    """Take a file's prices: all of them, or with ``take_good`` those whose rows have no fault."""
    report = ImportReport()
    providers = _providers()
    try:
        for line, result in _rows(path, providers, at):
            report.rows_read += 1
            if isinstance(result, list):
                report.blame(line, result)
            elif result.not_comparable:
                report.not_comparable[result.not_comparable] += 1
    except FileFault as fault:
        report.faulty_rows += 1
        report.faults.append(str(fault))
        return report
    if report.rows_read == report.faulty_rows or (report.faulty_rows and not take_good):
        return report
    with transaction.atomic():
        _take(path, providers, at, report)
    report.taken = True
    return report


def _take(path: Path, providers: Mapping[str, str], at: datetime, report: ImportReport) -> None:
    run = Refresh.objects.create(
        source="file", status=RefreshStatus.SUCCEEDED, started_at=at, lease_until=at, finished_at=at,
        reason_detail=path.name[:300], item_count=report.rows_read, refused={"faulty": report.faulty_rows},
    )  # fmt: skip
    batch: list[Observation] = []

    def write() -> None:
        done = record(batch, at, run)
        report.offers_added += done.offers_added
        report.prices_added += done.prices_added
        report.prices_older += done.prices_older
        batch.clear()

    for _line, result in _rows(path, providers, at):
        if isinstance(result, Observation):
            batch.append(result)
        if len(batch) >= BATCH:
            write()
    write()
    run.quote_count = report.rows_read - report.faulty_rows
    run.added_count, run.changed_count = report.offers_added, report.prices_added
    run.save()
    CatalogVersion.bump(at)


def _providers() -> dict[str, str]:
    """Every spelling of a provider, in lower case, to its slug."""
    known: dict[str, str] = {}
    for slug, name, names_seen in Provider.objects.values_list("slug", "name", "names_seen"):
        known.update({spelling.casefold(): slug for spelling in (slug, name, *names_seen)})
    return known


# --- From bytes to rows ------------------------------------------------------------------------------------


def _rows(
    path: Path, providers: Mapping[str, str], at: datetime
) -> Iterator[tuple[int, Observation | list[str]]]:
    """Each row with its line: an observation, or its faults."""
    with path.open("rb") as file:
        reader = csv.reader(_lines(file), strict=True)
        columns = _header(reader)
        seen: dict[tuple[str, date], Decimal] = {}
        number = 0
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise FileFault(reader.line_num, f"cannot be read as CSV ({error})") from None
            if not any(cell.strip() for cell in cells):
                continue
            number += 1
            if number > ROWS_MAXIMUM:
                raise FileFault(reader.line_num, f"more than {ROWS_MAXIMUM:,} rows; split the file")
            if len(cells) != len(columns):
                yield reader.line_num, [f"{len(cells)} cells where the header has {len(columns)}"]
                continue
            row = {name: cell.strip() for name, cell in zip(columns, cells, strict=True)}
            result = _read(row, providers, at)
            if isinstance(result, Observation):
                key = (result.key, result.observed_on)
                if seen.setdefault(key, result.amount) != result.amount:
                    result = ["price: another row has another price for this machine on this day"]
            yield reader.line_num, result


def _lines(file: BinaryIO) -> Iterator[str]:
    number = 0
    while raw := file.readline(LINE_BYTES_MAXIMUM + 1):
        number += 1
        if len(raw) > LINE_BYTES_MAXIMUM:
            raise FileFault(number, f"longer than {LINE_BYTES_MAXIMUM:,} bytes; is this a CSV file?")
        if b"\0" in raw:
            raise FileFault(number, "holds a zero byte; is this a CSV file in UTF-8?")
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise FileFault(number, f"not UTF-8{_guess(raw)}; save the file as UTF-8") from None


def _guess(raw: bytes) -> str:
    """Which encoding it looks like, where that is plain."""
    try:
        text = raw.decode("cp932")
    except UnicodeDecodeError:
        return ""
    return " (it looks like Shift_JIS)" if re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", text) else ""


def _header(reader: Iterator[list[str]]) -> list[str]:
    try:
        columns = [cell.strip().casefold() for cell in next(reader)]
    except StopIteration:
        raise FileFault(1, "the file is empty") from None
    except csv.Error as error:
        raise FileFault(1, f"cannot be read as CSV ({error})") from None
    faults = [f"no column {name}" for name in REQUIRED if name not in columns]
    faults += [f"unknown column {name[:40]!r}" for name in columns if name not in (*REQUIRED, *OPTIONAL)]
    faults += [f"column {name} twice" for name, count in Counter(columns).items() if count > 1]
    if faults:
        raise FileFault(1, "; ".join(faults[:20]))
    return columns


# --- From a row to an observation --------------------------------------------------------------------------


def _read(row: dict[str, str], providers: Mapping[str, str], at: datetime) -> Observation | list[str]:
    faults: list[str] = []

    def cell(name: str, read: Callable[[str], object]) -> object:
        text = row.get(name, "")
        try:
            if not text:
                if name in REQUIRED:
                    raise ValueError("is empty")
                return None
            return read(text)
        except ValueError as error:
            faults.append(f"{name}: {error}")
            return None

    values = {name: cell(name, _text(LENGTHS[name])) for name in LENGTHS}
    amount = cell("price", _price)
    currency = cell("currency", _currency)
    observed_on = cell("observed_on", lambda text: _day(text, at.date()))
    effective_from = cell("effective_from", lambda text: _day(text, None))
    tier = cell("tier", _one_of(Tier.values)) or Tier.ON_DEMAND.value
    unit = cell("unit", _one_of(PriceUnit.values)) or PriceUnit.HOUR.value
    count = cell("gpu_count", _whole)
    vcpu, ram_gib = cell("vcpu", _number), cell("ram_gib", _number)
    provider = providers.get(row.get("provider", "").casefold())
    if provider is None and row.get("provider"):
        faults.append(f"provider: {row['provider'][:40]!r} is not in the catalog")
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
        amount=amount if isinstance(amount, Decimal) else Decimal(0),
        currency=str(currency),
        unit=str(unit),
        observed_on=observed_on if isinstance(observed_on, date) else at.date(),
        effective_from=effective_from if isinstance(effective_from, date) else None,
        source=str(values["source"]),
        licence=str(values["licence"] or ""),
    )


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


def _text(longest: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.startswith(FORMULA):
            raise ValueError(f"{text[:20]!r} begins like a formula")
        if len(text) > longest:
            raise ValueError(f"longer than {longest} characters")
        if not text.isprintable():
            raise ValueError("holds characters that cannot be printed")
        return text

    return read


def _price(text: str) -> Decimal:
    amount = _number(text)
    if amount == 0:
        raise ValueError("zero is not a price; leave the row out where it is unknown")
    return amount


def _number(text: str) -> Decimal:
    if not NUMBER.fullmatch(text):
        raise ValueError(f"{text[:20]!r} is not a number like 12.5, without sign, unit or separators")
    return rounded(Decimal(text))


def _whole(text: str) -> int:
    if not re.fullmatch(r"\d{1,4}", text, re.ASCII) or int(text) == 0:
        raise ValueError(f"{text[:20]!r} is not a whole number from 1")
    return int(text)


def _currency(text: str) -> str:
    if not re.fullmatch(r"[A-Z]{3}", text, re.ASCII):
        raise ValueError(f"{text[:20]!r} is not a currency like USD")
    return text


def _day(text: str, latest: date | None) -> date:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        raise ValueError(f"{text[:20]!r} is not a day like 2026-11-30")
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not in the calendar") from None
    if latest is not None and day > latest:
        raise ValueError(f"{text} is in the future")
    return day


def _one_of(values: list[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in values:
            raise ValueError(f"{text[:20]!r} is none of {', '.join(values)}")
        return text

    return read
