"""European Central Bank: the day's reference rates, in units of each currency for one euro."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from xml.parsers import expat

import httpx2

from catalog.sources.fetching import Deadline, Limits, read
from catalog.sources.quotes import Page, Rate, Refused, SourceFailure

PROVIDER = ""
TITLE = "ECB euro reference rates"
DEFAULT_BASE_URL = "https://www.ecb.europa.eu"
PATH = "/stats/eurofxref/eurofxref-daily.xml"
KEPT = ("JPY", "EUR", "GBP", "CNY", "KRW", "INR", "AUD", "CAD", "CHF", "SEK", "NOK", "SGD")
RATE_MAXIMUM = Decimal(1_000_000)
STEP = Decimal("0.000001")
"""What the rates are kept to; a rate below it would be none."""


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    url = f"{base_url.rstrip('/')}{PATH}"
    yield Page(number=1, url=url, body=read(client, url, limits, Deadline(limits.run_s)))


def parse(pages: Iterable[Page], on: date) -> Iterator[Rate | Refused]:
    """Rates for a dollar: units for a euro over dollars for a euro."""
    for page in pages:
        day, per_eur = _read(page.body)
        if day > on:
            raise SourceFailure("schema_changed", f"a day that has not come: {day}")
        dollars = per_eur.get("USD")
        if dollars is None:
            raise SourceFailure("wrong_currency", "no rate of the dollar")
        per_eur["EUR"] = Decimal(1)
        for currency in KEPT:
            if currency not in per_eur:
                yield Refused(reason="no_rate")
                continue
            yield Rate(on=day, currency=currency, per_usd=_per_dollar(per_eur[currency], dollars))


def _read(body: bytes) -> tuple[date, dict[str, Decimal]]:
    days: list[str] = []
    per_eur: dict[str, Decimal] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        if "time" in attributes:
            days.append(attributes["time"])
        if "currency" in attributes:
            per_eur[attributes["currency"][:3]] = _rate(attributes.get("rate", ""))

    def refuse(*_declaration: object) -> None:
        raise SourceFailure("unreadable", "a document type")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(body, True)
        return date.fromisoformat(days[0]), per_eur
    except expat.ExpatError:
        raise SourceFailure("unreadable", "not XML") from None
    except (IndexError, ValueError):
        raise SourceFailure("schema_changed", "no day") from None


def _per_dollar(per_eur: Decimal, dollars: Decimal) -> Decimal:
    found = per_eur / dollars
    if not STEP <= found < RATE_MAXIMUM:
        raise SourceFailure("broken_rows", f"{found:.3e} for a dollar")
    return found.quantize(STEP)


def _rate(text: str) -> Decimal:
    try:
        rate = Decimal(text)
    except ArithmeticError:
        rate = Decimal(0)
    if not rate.is_finite() or not 0 < rate < RATE_MAXIMUM:
        raise SourceFailure("broken_rows", f"rate {text[:20]!r}")
    return rate
