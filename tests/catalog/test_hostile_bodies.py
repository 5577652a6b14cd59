"""Whatever a source answers, in whatever field: prices that can be, or a failure with a name; never a stack trace.

Answers of every source's own shape are made wrong in some of their leaves: other types, huge, tiny, negative and
non-numbers, control characters, other alphabets. What a parser makes of them must be sound, and what a whole run makes
of them must leave the prices before it.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any
from unicodedata import category

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog import services
from catalog.judging import read_pages
from catalog.models import ExchangeRate, Offer, Provider, Refresh
from catalog.sources import SOURCES, Source
from catalog.sources.fetching import Limits
from catalog.sources.quotes import EgressQuote, Page, Quote, Rate, Refused, SourceFailure, StorageQuote
from tests.catalog.source_bodies import BASE, MAKERS, AnySource, Bodies
from tests.catalog.test_sources import KEYS
from tests.factories import AT

PRICE_MAXIMUM = 10**9
"""What the database's column holds."""
QUICK = Limits(run_s=5, page_s=2, silence_s=1, wait_s=0.01, pages=8, page_bytes=200_000)

ODD_TEXTS = (
    "", " ", "\x00", "\x1b[31m", "\u202e", "NaN", "Infinity", "-1", "1e999", "1e-999", "0", "00012", "0x10", "１２",
    "12,5", "１e9", "٣", "=1+1", "<script>", "a" * 5000, "2026-13-45", "9999-12-31", "0000-00-00", "null", "1_000",
    "\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace"), "𝟚", "²", "½", "--", "1 GB",
    "100000000000 TB",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**9, 10**30, -(10**30), 10**400, 1e-30, 1e308, -0.0, 0.1, [], {}, [[]], [None],
    {"a": 1}, [{"a": [1]}], *ODD_TEXTS,
)  # fmt: skip

odd = st.sampled_from(ODD_VALUES)
odd_text = st.one_of(st.sampled_from(ODD_TEXTS), st.text(max_size=12))


def leaves(found: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values of a document, of objects and lists too."""
    if path:
        yield path
    inside = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, value in inside:
        yield from leaves(value, (*path, key))


def with_other(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = json.loads(json.dumps(document))
    here = made
    for key in path[:-1]:
        if not isinstance(here, dict | list):
            return made
        here = here[key]
    if isinstance(here, dict | list):
        here[path[-1]] = value
    return made


def worse_json(body: bytes, draw: Callable[[Any], Any]) -> bytes:
    document = json.loads(body)
    paths = list(leaves(document))
    for _turn in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(paths))
        try:
            document = with_other(document, path, draw(odd))
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took this place away
    return json.dumps(document).encode()


def worse_csv(body: bytes, draw: Callable[[Any], Any]) -> bytes:
    rows = list(csv.reader(io.StringIO(body.decode())))
    for _turn in range(draw(st.integers(1, 6))):
        row = draw(st.sampled_from(rows))
        if row:
            row[draw(st.integers(0, len(row) - 1))] = draw(odd_text).replace("\r", "").replace("\n", "")
    made = io.StringIO()
    csv.writer(made, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return made.getvalue().encode("utf-8", "replace")


def worse_xml(body: bytes, draw: Callable[[Any], Any]) -> bytes:
    text = body.decode()
    places = [found.span(1) for found in re.finditer(r"(?:>|')([^<>']+)(?:<|')", text)]
    begins, ends = draw(st.sampled_from(places))
    made: str = draw(odd_text)
    return f"{text[:begins]}{made}{text[ends:]}".encode("utf-8", "replace")


def worse_zip(body: bytes, draw: Callable[[Any], Any]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as book, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as worse:
        for name in book.namelist():
            worse.writestr(name, worse_csv(book.read(name), draw))
    return made.getvalue()


def worse(body: bytes, draw: Callable[[Any], Any]) -> bytes:
    if body.startswith(b"PK"):
        return worse_zip(body, draw)
    if body.startswith((b"<?xml", b"<")):
        return worse_xml(body, draw)
    if body.lstrip().startswith((b"{", b"[")):
        return worse_json(body, draw)
    return worse_csv(body, draw)


def pages_of(name: str, change: Callable[[bytes], bytes]) -> list[Page]:
    """Pages as a source's ``fetch`` hands them to its parser, each made worse."""
    found: list[Page] = []
    for path, body in MAKERS[name](Bodies()).items():
        if "token" in path or path.endswith("/version"):
            continue
        kept = body[body.find(b'"SKU"') :] if name in ("aws", "aws_terms") else body
        found.append(Page(number=len(found) + 1, url=f"{BASE}{path}#us-east-1", body=change(kept)))
    return found


def sound(one: Quote | StorageQuote | EgressQuote | Rate | Refused, source: Source) -> None:
    """What may be written: a price that can be one, and facts that fit their columns."""
    if isinstance(one, Quote):
        assert one.amount.is_finite()
        assert 0 < one.amount < PRICE_MAXIMUM
        assert one.provider or source.provider
        assert len(one.sku) <= 120
        assert len(one.region) <= 60
        assert len(one.currency) == 3
        assert one.gpu_count is None or 0 <= one.gpu_count <= 1024
        assert 0 < one.gpu_fraction <= 1
        for part in (one.upfront, one.recurring):
            assert part is None or (part.is_finite() and 0 <= part < PRICE_MAXIMUM)
        for fact, maximum in ((one.vcpu, 10**6), (one.ram_gib, 10**8), (one.gpu_memory_gib, 10**6)):
            assert fact is None or (fact.is_finite() and 0 <= fact < maximum)
        assert not one.effective_from or one.effective_from <= AT.date() + timedelta(days=1)
        text = f"{one.sku}{one.region}{one.tier_detail}{one.as_written}{one.fabric}{one.note}"
        assert not [letter for letter in text if category(letter) in ("Cc", "Cs", "Zl", "Zp")]
        assert "\u202e" not in text
    elif isinstance(one, StorageQuote):
        assert one.amount_per_month.is_finite()
        assert 0 <= one.amount_per_month < 10**5
        assert 0 <= one.from_gb < 10**11
    elif isinstance(one, EgressQuote):
        assert one.amount_per_gb.is_finite()
        assert 0 <= one.amount_per_gb < 10**5
        assert 0 <= one.from_gb < 10**11
    elif isinstance(one, Rate):
        assert one.per_usd.is_finite()
        assert 0 < one.per_usd < 10**9
        assert date(1999, 1, 1) <= one.on <= AT.date()


@pytest.mark.parametrize("name", MAKERS)
@given(data=st.data())
@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_a_parser_gives_prices_that_can_be_or_a_failure_with_a_name(name: str, data: st.DataObject) -> None:
    source = SOURCES[name]
    pages = pages_of(name, lambda body: worse(body, data.draw))
    try:
        reading = read_pages(source, pages, AT.date())
    except SourceFailure:
        return
    for quote in reading.quotes.values():
        sound(quote, source)
    for rate in reading.rates.values():
        sound(rate, source)
    for stored in reading.terms.storage.values():
        for price in stored.values():
            sound(price, source)
    for sent in reading.terms.egress.values():
        for tier in sent.values():
            sound(tier, source)


def every_leaf(change: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """All values of an answer made worse; of what is no JSON, all that stands between its separators."""

    def changed(found: Any) -> Any:
        if isinstance(found, dict):
            return {key: changed(value) for key, value in found.items()}
        if isinstance(found, list):
            return [changed(value) for value in found]
        return change(found)

    def worse_body(body: bytes) -> bytes:
        if body.lstrip().startswith((b"{", b"[")):
            return json.dumps(changed(json.loads(body))).encode()
        if body.startswith(b"PK"):
            made = io.BytesIO()
            with zipfile.ZipFile(io.BytesIO(body)) as book, zipfile.ZipFile(made, "w") as worse_book:
                for name in book.namelist():
                    worse_book.writestr(name, worse_body(book.read(name)))
            return made.getvalue()
        text = re.sub(
            r"(?<=[,\">'])[^,\"<>'\n=]+(?=[,\"<'\n])", lambda cell: str(change(cell[0])), body.decode()
        )
        return text.encode()

    return worse_body


def negative(value: Any) -> Any:
    if isinstance(value, str):
        return f"-{value}" if value[:1].isdigit() else value
    return -abs(value) - 1 if _is_number(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


WORSE: dict[str, Callable[[Any], Any]] = {
    "a NUL behind every text": lambda value: f"{value}\x00" if isinstance(value, str) else value,
    "an escape before every text": lambda value: f"\x1b[2J{value}" if isinstance(value, str) else value,
    "numbers below zero": negative,
    "numbers without end": lambda value: 10**40 if _is_number(value) else value,
    "texts for numbers": lambda value: f"about {value}" if _is_number(value) else value,
    "numbers for texts": lambda value: 7 if isinstance(value, str) else value,
    "nothing anywhere": lambda _value: None,
    "lists everywhere": lambda value: [value],
    "very long texts": lambda value: value * 4_000 if isinstance(value, str) else value,
}


@pytest.mark.django_db
@pytest.mark.parametrize("how", WORSE)
@pytest.mark.parametrize("name", MAKERS)
def test_a_run_of_hostile_answers_ends_with_a_reason_and_leaves_the_last_good_prices(
    monkeypatch: pytest.MonkeyPatch, settings: Any, name: str, how: str
) -> None:
    """None ends by an error of ours, none is taken for good with a price that is another."""
    for slug in {provider for source in SOURCES.values() for provider in source.all_providers}:
        Provider.objects.create(slug=slug, name=slug)
    settings.SOURCE_BASE_URLS = dict.fromkeys(SOURCES, BASE)
    settings.SOURCE_CREDENTIALS = KEYS
    monkeypatch.setattr("catalog.sources.fetching.PAUSES_S", (0.001, 0.001))

    def ask(day: int, change: Any = None) -> Refresh:
        client = AnySource(name, change).client()
        return services.refresh(name, AT + timedelta(days=day), client=client, limits=QUICK)

    def prices() -> set[tuple[Any, ...]]:
        return set(
            Offer.objects.current().values_list("key", "current_price__amount", "current_price__currency")
        )

    assert ask(0).status == "succeeded"
    before, rates = prices(), set(ExchangeRate.objects.values_list("currency", "on", "per_usd"))
    make_worse = every_leaf(WORSE[how])
    run = ask(1, lambda _request, body: httpx2.Response(200, content=make_worse(body)))
    assert run.reason != "internal_error", run.reason_detail
    if run.status == "succeeded":
        assert prices() >= before, "what was listed costs what it did"
    else:
        assert run.status in ("failed", "held")
        assert run.reason
        assert prices() == before
    assert set(ExchangeRate.objects.values_list("currency", "on", "per_usd")) == rates
    assert ask(2).status == "succeeded", "the next night heals it"
    assert prices() >= before
