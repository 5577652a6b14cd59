"""Where prices come from: one module per source, named here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

import httpx2

from catalog.sources import (
    aws,
    aws_spot,
    aws_terms,
    azure,
    azure_terms,
    digitalocean,
    ecb,
    gcp,
    gpuhunt,
    hyperstack,
    lambda_cloud,
    nebius,
    oci,
    runpod,
    vast,
    verda,
    vultr,
)
from catalog.sources.fetching import Limits
from catalog.sources.quotes import EgressQuote, Page, Quote, Rate, Refused, StorageQuote


@dataclass(frozen=True)
class Source:
    """A price list: ``fetch`` talks to it, ``parse`` is pure."""

    name: str
    title: str
    default_base_url: str
    fetch: Callable[[httpx2.Client, str, Mapping[str, str], Limits], Iterator[Page]]
    parse: Callable[[Iterable[Page], date], Iterator[Quote | StorageQuote | EgressQuote | Rate | Refused]]
    provider: str = ""
    """Whose prices it gives; empty where each quote says it, or where it gives rates."""
    providers: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    """What of its providers' offers it prices; empty for all."""
    own_names: bool = False
    """It names machines in its own way: shipped offers of the same cards under other names are then replaced."""
    by_region: bool = False
    """Each region is a list of its own, of which an operator chooses."""
    fall_maximum: float = 0.10
    """A run with fewer prices than this share below the last good one is held."""
    address_of: str = ""
    """Another source at the same address: what an operator set for that one holds here too."""
    needs: tuple[str, ...] = ()
    """What an operator must set before it can be asked, as in ``<NAME>_<WHAT>`` of the environment."""

    @property
    def all_providers(self) -> tuple[str, ...]:
        return self.providers or ((self.provider,) if self.provider else ())


def _of(name: str, module: object, **more: object) -> Source:
    given = {
        "title": "TITLE", "default_base_url": "DEFAULT_BASE_URL", "fetch": "fetch", "parse": "parse",
        "provider": "PROVIDER",
    } if not more.get("address_of") else {
        "title": "TITLE", "default_base_url": "DEFAULT_BASE_URL", "fetch": "fetch", "parse": "parse",
    }  # fmt: skip
    known = {key: getattr(module, at) for key, at in given.items() if hasattr(module, at)}
    return Source(name=name, **known, **more)  # type: ignore[arg-type]


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        _of("azure", azure),
        _of("azure_terms", azure_terms, address_of="azure"),
        _of("aws", aws, by_region=True, tiers=("on_demand", "reserved")),
        _of("aws_terms", aws_terms, address_of="aws"),
        _of("oci", oci, own_names=True),
        _of("vultr", vultr, own_names=True),
        _of("runpod", runpod, own_names=True),
        # Listings come and go by the hour.
        _of("vast", vast, own_names=True, fall_maximum=0.4),
        _of("gpuhunt", gpuhunt, providers=tuple(gpuhunt.PROVIDERS.values())),
        _of("ecb", ecb),
        _of("gcp", gcp, needs=("api_key",)),
        _of("lambda", lambda_cloud, needs=("api_key",), own_names=True),
        _of("digitalocean", digitalocean, needs=("token",), own_names=True),
        _of("verda", verda, needs=("client_id", "client_secret"), own_names=True),
        _of("hyperstack", hyperstack, needs=("api_key",), own_names=True),
        _of("nebius", nebius, needs=("credentials_file",), own_names=True),
        # Zones come and go from one hour to the next.
        _of(
            "aws_spot",
            aws_spot,
            needs=("access_key_id", "secret_access_key"),
            tiers=("spot",),
            by_region=True,
            fall_maximum=0.4,
        ),
    )
}
