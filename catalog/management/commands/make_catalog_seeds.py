"""Make the shipped seeds of the catalog from the folder of research tables."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from catalog.facts import accelerators
from catalog.seed_making import machines, offers, terms
from catalog.seed_making.accelerators import accelerator_rows
from catalog.seed_making.market_days import market_days
from catalog.seed_making.tables import Row, read_rows, without_unknowns, write_csv, write_json

SEEDS = Path(__file__).resolve().parents[2] / "seeds"

UNDATED = "undated"
"""The day of rows that have none of their own."""


class Command(BaseCommand):
    help = "Make catalog/seeds/ from a folder with facts/ and prices/; the same tables give the same bytes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--from", dest="folder", type=Path, required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        if not (folder / "facts" / "accelerators.csv").is_file():
            raise CommandError(f"No facts/accelerators.csv under {folder}.")

        def read(name: str) -> list[Row]:
            return read_rows(folder / name)

        billing, pages, providers = (
            read(f"prices/{name}.csv") for name in ("billing", "pages_2026", "providers")
        )
        self._write(
            "accelerators", "Accelerators, per device", accelerator_rows(read("facts/accelerators.csv"))
        )
        accelerators.cache_clear()
        cards = _provider_cards(read("facts/accelerator_spellings.csv"), providers)
        self._write(
            "provider_cards", "Variants of a family that a provider is known to rent", cards, key="cards"
        )
        self._write("providers", "Providers", terms.provider_rows(providers))
        self._write("regions", "Regions with place names", terms.region_rows(read("prices/regions.csv")))
        self._write(
            "billing", "How providers charge; an absent field is unknown", terms.billing_rows(billing)
        )
        self._write("storage", "Storage per GB and month", terms.storage_rows(pages, billing))
        self._write(
            "egress", "Data to the internet by steps of a month's volume", terms.egress_rows(pages, billing)
        )
        self._write(
            "exchange",
            "Units of a currency for one US dollar",
            terms.exchange_rows(read("prices/fx_2026.csv")),
        )
        self._write(
            "market_days",
            "What one GPU of a kind cost an hour over a market, by day",
            market_days((folder / "prices/history_h100_sxm.jsonl").read_text(encoding="utf-8").splitlines()),
        )
        sizes = read("prices/azure_vm_sizes.csv")
        gpu_sizes = [_azure_size(row) for row in sizes if row["kind"] == "gpu"]
        other = sorted(row["sku"] for row in sizes if row["kind"] != "gpu")
        write_json(
            SEEDS / "azure_sizes.json",
            "Sizes of Azure machines",
            "gpu",
            gpu_sizes,
            without_gpu=other,
            observed=UNDATED,
        )
        self.stdout.write(f"azure_sizes {len(gpu_sizes)} with GPU, {len(other)} without")
        refused: Counter[str] = Counter()
        listed = machines.list_prices(
            read("prices/aws_ondemand.csv"), read("prices/azure_ondemand.csv"), refused
        )
        rows, report = offers.offer_rows(
            read("prices/offers.csv"),
            pages,
            {row["sku"]: row for row in sizes if row["kind"] == "gpu"},
            {row["provider_id"]: row["names_seen"].split("|") for row in providers},
            listed,
        )
        write_csv(SEEDS / "offers.csv", offers.COLUMNS, rows)
        types = machines.type_rows(
            sizes,
            json.loads(gzip.decompress((folder / "prices/aws_instance_types.json.gz").read_bytes())),
            read("facts/cpus.csv"),
        )
        self._write_machines(types, listed, rows)
        for what, count in (report + refused).items():
            self.stdout.write(f"offers: {what} {count}")

    def _write_machines(self, types: list[Row], listed: list[Row], gpu_rows: list[Row]) -> None:
        folder = SEEDS / "machines"
        folder.mkdir(exist_ok=True)
        write_csv(folder / "types.csv", machines.TYPE_COLUMNS, types)
        known = {(row["provider"], row["sku"]): row for row in types}
        prices = machines.cpu_prices(listed, known, gpu_rows)
        for source in machines.SOURCES:
            own = [row for row in prices if row["provider"] == source["provider"]]
            write_csv(folder / source["file"], machines.PRICE_COLUMNS, own)
            self.stdout.write(f"machines {source['provider']} {len(own)} prices")
        write_json(folder / "lists.json", "Price lists beside this file", "lists", list(machines.SOURCES))
        self.stdout.write(f"machines {len(types)} sizes")

    def _write(self, name: str, about: str, rows: list[dict[str, Any]], key: str | None = None) -> None:
        write_json(SEEDS / f"{name}.json", about, key or name, rows, observed=UNDATED)
        self.stdout.write(f"{name} {len(rows)}")


def _azure_size(row: Row) -> dict[str, Any]:
    return without_unknowns(
        {
            "sku": row["sku"],
            "accelerator": row["gpu"],
            "gpu_count": row["gpu_count"],
            "vcpu": row["vcpu"],
            "ram_gib": row["ram_gib"],
            "basis": row["gpu_basis"],
            "source": row["source"] or machines.AZURE_PRICES,
        }
    )


def _provider_cards(spellings: list[Row], providers: list[Row]) -> list[dict[str, Any]]:
    slugs = {name: row["provider_id"] for row in providers for name in row["names_seen"].split("|")}
    found: dict[tuple[str, str], str] = {}
    for row in spellings:
        for hint in filter(None, row["provider_hint"].split("; ")):
            match = re.match(r"([^:]+): (\S+)", hint)
            if match is None:
                raise CommandError(f"Cannot read the hint {hint!r}.")
            for name in {match[1], slugs.get(match[1], match[1])}:
                found[name, match[2]] = row["raw_name"]
    return [
        {
            "provider": provider,
            "accelerator": card,
            "seen_as": seen,
            "source": "spellings of providers' price lists",
        }
        for (provider, card), seen in sorted(found.items())
    ]
