"""AWS spot prices of the hour, by zone: a question that has to be signed with the operator's key."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from xml.parsers import expat

import httpx2

from catalog.sources import answers, aws, aws_lists
from catalog.sources.fetching import Deadline, Limits, Question, read
from catalog.sources.quotes import Page, Quote, Refused, SourceFailure

PROVIDER = "aws"
TITLE = "AWS spot prices"
DEFAULT_BASE_URL = "https://ec2.{region}.amazonaws.com"
VERSION = "2016-11-15"
CURRENCY = "USD"
ROWS_OF_A_PAGE = 1000


def fetch(
    client: httpx2.Client, base_url: str, credentials: Mapping[str, str], limits: Limits
) -> Iterator[Page]:
    run = Deadline(limits.run_s)
    number = 0
    for region in aws_lists.regions(credentials):
        base = base_url.replace("{region}", region).rstrip("/") + "/"
        seen: set[str] = set()
        token = ""
        while True:
            number += 1
            if number > limits.pages:
                raise SourceFailure("too_many_pages", str(limits.pages))
            at = datetime.now(UTC)
            query = _question(at, token)
            url = f"{base}?{query}"
            question = Question(headers=signed(base, query, region, credentials, at))
            body = read(client, url, limits, run, question)
            # The key's name stands in a header, which is not kept.
            yield Page(number=number, url=f"{base}#{region}", body=body)
            token = _read(body)[1]
            if not token:
                break
            if token in seen:
                raise SourceFailure("paging_loop", f"page {number}")
            seen.add(token)


def _question(at: datetime, token: str) -> str:
    asked = {
        "Action": "DescribeSpotPriceHistory", "Version": VERSION, "ProductDescription.1": "Linux/UNIX",
        "MaxResults": str(ROWS_OF_A_PAGE), "StartTime": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    } | ({"NextToken": token} if token else {})  # fmt: skip
    return urlencode(sorted(asked.items()), quote_via=quote, safe="-_.~")


def signed(
    base: str, query: str, region: str, credentials: Mapping[str, str], at: datetime
) -> dict[str, str]:
    """Headers of a GET in the scheme that AWS calls Signature Version 4."""
    host = urlsplit(base).netloc
    moment, day = at.strftime("%Y%m%dT%H%M%SZ"), at.strftime("%Y%m%d")
    scope = f"{day}/{region}/ec2/aws4_request"
    nothing = hashlib.sha256(b"").hexdigest()
    canonical = "\n".join(
        ("GET", "/", query, f"host:{host}", f"x-amz-date:{moment}", "", "host;x-amz-date", nothing)
    )
    text = "\n".join(("AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{credentials['secret_access_key']}".encode()
    for part in (day, region, "ec2", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return {
        "X-Amz-Date": moment,
        "Authorization": f"AWS4-HMAC-SHA256 Credential={credentials['access_key_id']}/{scope}, "
        f"SignedHeaders=host;x-amz-date, Signature={signature}",
    }


def parse(pages: Iterable[Page], on: date) -> Iterator[Quote | Refused]:
    for page in pages:
        region = page.url.rpartition("#")[2]
        for row in _read(page.body)[0]:
            answers.needed(row, "instanceType", "spotPrice", "availabilityZone")
            if not row.get("productDescription", "Linux/UNIX").startswith("Linux"):
                yield Refused(reason="other_system")
                continue
            price = answers.amount(row["spotPrice"], text=True)
            if isinstance(price, Refused):
                yield price
                continue
            facts = aws.machine(row["instanceType"], "", "")
            if facts.get("not_comparable") in ("no_accelerator", "other_accelerator"):
                yield Refused(reason="no_gpu")
                continue
            yield Quote(
                sku=row["instanceType"][:120], region=region[:60], tier="spot", amount=price, currency=CURRENCY,
                tier_detail=(row.get("availabilityZoneId") or row["availabilityZone"])[:60], **facts,
            )  # fmt: skip


def _read(body: bytes) -> tuple[list[dict[str, str]], str]:
    """Rows of an answer, and the token of the next page."""
    rows: list[dict[str, str]] = []
    token = ""
    path: list[str] = []
    text = ""
    saw_set = False

    def start(name: str, _attributes: dict[str, str]) -> None:
        nonlocal text, saw_set
        path.append(name)
        text = ""
        saw_set = saw_set or name == "spotPriceHistorySet"
        if path[-2:] == ["spotPriceHistorySet", "item"]:
            rows.append({})

    def end(name: str) -> None:
        nonlocal token
        path.pop()
        if path[-2:] == ["spotPriceHistorySet", "item"]:
            rows[-1][name] = text.strip()
        elif name == "nextToken":
            token = text.strip()[:2000]

    def data(piece: str) -> None:
        nonlocal text
        text += piece

    def refuse(*_declaration: Any) -> None:
        raise SourceFailure("unreadable", "a document type")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(body, True)
    except expat.ExpatError:
        raise SourceFailure("unreadable", "not XML") from None
    if not saw_set:
        raise SourceFailure("schema_changed", "no spotPriceHistorySet")
    return rows, token
