"""Where prices come from: one module per provider, named here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

import httpx2

from catalog.sources import azure
from catalog.sources.fetching import Limits
from catalog.sources.quotes import Page, Quote, Refused


@dataclass(frozen=True)
class Source:
    """A provider's price list: ``fetch`` talks to it, ``parse`` is pure."""

    name: str
    provider: str
    title: str
    default_base_url: str
    fetch: Callable[[httpx2.Client, str, Mapping[str, str], Limits], Iterator[Page]]
    parse: Callable[[Iterable[Page], date], Iterator[Quote | Refused]]


SOURCES: dict[str, Source] = {
    "azure": Source("azure", azure.PROVIDER, azure.TITLE, azure.DEFAULT_BASE_URL, azure.fetch, azure.parse),
}
