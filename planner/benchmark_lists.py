"""Lists over a catalog of a quarter of a million offers and more, in a process and a database of their own."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from django.db import connection, transaction
from django.db.models import Max
from django.urls import reverse
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, TypeAdapter

from catalog import kept_lists
from catalog.models import CatalogVersion, Offer, Price
from planner.benchmark_apart import new_database

OFFERS = 250_000
LISTS = (
    ("offers with GPUs", "catalog:offers", ""),
    ("all offers by price", "catalog:offers", "kind=all&sort=price"),
    ("all offers by what a dollar buys", "catalog:offers", "kind=all&sort=-bandwidth"),
    ("all offers of a place", "catalog:offers", "kind=all&q=tokyo"),
    ("all offers of a provider by name", "catalog:offers", "kind=all&provider=azure&sort=sku"),
    ("offers as of a past day", "catalog:offers", "kind=all&sort=price&on=2026-09-01"),
    ("sources", "catalog:sources", ""),
)


class Listed(BaseModel):
    """How long a list took in milliseconds: asked for first after the catalog changed, and again (median)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    offers: int
    first_ms: float
    again_ms: float
    again_cpu_ms: float


def measured(runs: int) -> list[Listed]:
    with new_database() as command:
        command("load_seeds")
        told = command("bench", "--lists-alone", "--runs", str(runs))
    return TypeAdapter(list[Listed]).validate_json(told.splitlines()[-1])


def here(ask: Callable[[str], object], runs: int) -> list[Listed]:
    """The lists, asked for in this process, after its catalog was enlarged."""
    offers = enlarge(OFFERS)
    found = []
    ask(reverse("catalog:accelerators"))
    for name, view, query in LISTS:
        path = f"{reverse(view)}?{query}"
        ask(path)  # what a process reads once: templates, facts
        kept_lists.forget()
        taken = []
        for _turn in range(runs + 1):
            clock, cpu = time.perf_counter(), time.process_time()
            ask(path)
            taken.append(((time.perf_counter() - clock) * 1000, (time.process_time() - cpu) * 1000))
        first, *again = taken
        found.append(
            Listed(
                name=name, offers=offers, first_ms=first[0],
                again_ms=statistics.median(clock for clock, _cpu in again),
                again_cpu_ms=statistics.median(cpu for _clock, cpu in again),
            )
        )  # fmt: skip
    return found


def enlarge(count: int) -> int:
    """Repeats offers with their current prices, a little apart, until there are so many; how many there are then."""
    known, last = Offer.objects.count(), Offer.objects.aggregate(last=Max("pk"))["last"] or 0
    last_price = Price.objects.aggregate(last=Max("pk"))["last"] or 0
    turns = -(-count // known) - 1 if known else 0
    with transaction.atomic():
        CatalogVersion.hold()
        for turn in range(1, turns + 1):
            factor = f"(1 + {turn} / 997.0)"
            # Prices first: an offer points at its current one, and its own price back at it.
            _repeat(Price, last_price, {
                "id": f"id + {turn * last_price}", "offer_id": f"offer_id + {turn * last}",
                "amount": f"round(amount * {factor}, 6)",
            })  # fmt: skip
            _repeat(Offer, last, {
                "id": f"id + {turn * last}", "key": f"key || '#{turn}'", "sku": f"sku || '-{turn}'",
                "current_price_id": f"current_price_id + {turn * last_price}",
                "usd_per_hour": f"round(usd_per_hour * {factor}, 6)",
            })  # fmt: skip
        CatalogVersion.bump(timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return Offer.objects.count()


def _repeat(model: type[Offer] | type[Price], last: int, changed: dict[str, str]) -> None:
    columns = [str(field.column) for field in model._meta.concrete_fields]
    table = connection.ops.quote_name(model._meta.db_table)
    into = ", ".join(connection.ops.quote_name(column) for column in columns)
    out = ", ".join(changed.get(column, connection.ops.quote_name(column)) for column in columns)
    with connection.cursor() as cursor:
        # Names of our own columns and numbers of our own: nothing that anybody wrote.
        cursor.execute(f"INSERT INTO {table} ({into}) SELECT {out} FROM {table} WHERE id <= {last}")  # noqa: S608  # nosec B608
