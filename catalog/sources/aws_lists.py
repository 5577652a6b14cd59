"""What the price lists of AWS have in common: a file for each region, read line by line, every cell quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import httpx2

from catalog.sources.fetching import Deadline, Limits, read_lines
from catalog.sources.quotes import SourceFailure

REGIONS = ("us-east-1",)
"""Read unless ``AWS_PRICE_REGIONS`` names others."""
HEADER_LINES_MAXIMUM = 20


def regions(credentials: Mapping[str, str]) -> Iterator[str]:
    """The regions that are asked for. Raises ``SourceFailure`` at a name that is none."""
    asked: Sequence[str] = [
        name.strip() for name in credentials.get("regions", "").split(",") if name.strip()
    ]
    for region in asked or REGIONS:
        if not region.replace("-", "").isalnum():
            raise SourceFailure("region_unknown", region[:40])
        yield region


def lines(client: httpx2.Client, url: str, limits: Limits, run: Deadline, region: str) -> Iterator[bytes]:
    """The header, then each line below it; a list that ends within a line is refused at its end."""
    header, line = b"", b""
    for count, line in enumerate(read_lines(client, url, limits, run)):
        if header:
            yield line
        elif b'"TermType"' in line or line.startswith(b"SKU,"):
            header = line
            yield header
        elif count > HEADER_LINES_MAXIMUM:
            raise SourceFailure("schema_changed", "no header")
    if not header:
        raise SourceFailure("unreadable", "no header")
    if not line.rstrip(b"\r").endswith(b'"'):
        # Every cell is quoted: a line that ends otherwise was cut.
        raise SourceFailure("cut_off", region)
