"""Providers, regions, billing terms, storage and egress prices, exchange rates as seed rows.

Only cells that were read are taken. A price written for one region holds for that region alone. What the
tables say in prose is set down here once, field by field, beside the cell it was read from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from catalog.seed_making.places import named
from catalog.seed_making.tables import Row, without_unknowns

NOT_READ = "general knowledge, not read"

GIB = 1024**3
GB = 10**9

UNIT_SECONDS = {
    "aws": 1, "lambda": 60, "runpod": 1, "vast": 1, "hyperstack": 60, "vultr": 3600, "scaleway": 60,
    "ovh": 3600, "together": 3600, "sakura": 3600, "modal": 1,
}  # fmt: skip
"""From the cells of ``granularity`` that name a billing unit; "hourly rates" and "generated text" do not."""
CAP_HOURS: dict[str, dict[str, int]] = {"sakura": {"": 480}, "vultr": {"vbm-": 672}}
"""From ``month_hours`` and ``granularity``: 20 days at Sakura; of Vultr the cell was read for bare metal alone."""
MINIMUM_SECONDS = {"aws": 60}
SPOT_NOTICE_SECONDS = {"aws": 120}
GPU_COUNTS: dict[str, list[int]] = {
    "aws": [1, 2, 4, 8], "gcp": [1, 2, 4, 8, 16], "azure": [1, 2, 4, 8], "oci": [1, 2, 4, 8],
    "coreweave": [1, 4, 8],
    "lambda": [1, 2, 4, 8], "runpod": [1, 2, 4, 8], "nebius": [1, 2, 4, 8], "hyperstack": [1, 2, 4, 8],
    "verda": [1, 2, 4, 8], "tensordock": [1, 2, 4, 8], "digitalocean": [1, 8], "ovh": [1, 2, 4],
    "together": [8],
    "paperspace": [1, 2, 4, 8], "modal": [1, 2, 4, 8], "vast": [1, 2, 4, 8, 16],
}  # fmt: skip
"""From ``gpus_per_node``; "any count" is set down as its powers of two, which lose no layout.

Counts that hold for one card of the provider only (Hyperstack's 10) are left out."""

WORDS = (
    "granularity", "minimum", "spot", "spot_notice", "reserved", "egress_per_gb", "block_gb_month",
    "object_gb_month", "currency", "regions", "gpus_per_node", "fabric", "month_hours", "verification",
)  # fmt: skip


def provider_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [
        without_unknowns(
            {
                "slug": row["provider_id"],
                "name": row["name"],
                "names_seen": row["names_seen"].split("|"),
                "country": row["country"],
                "kind": row["kind"],
                "url": row["url"],
                "source": row["url_source"] or row["country_kind_source"],
                "unverified": NOT_READ in row["country_kind_source"],
            }
        )
        for row in rows
    ]


def region_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [
        without_unknowns(
            {
                "provider": row["provider_id"],
                "code": row["region"],
                "country": row["country"],
                "city": row["city"],
                "source": row["source"] or "undated",
            }
            | dict(named(row))
        )
        for row in rows
        if "not a region" not in row["note"]
    ]


def billing_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [_billing(row) for row in rows]


def _billing(row: Row) -> dict[str, Any]:
    slug = row["provider_id"]
    month = re.match(r"\d+", row["month_hours"].replace("30*24", "720"))
    spot = row["spot"].split(",")[0].split(" ")[0]
    currency = re.match(r"[A-Z]{3}", row["currency"])
    return without_unknowns(
        {
            "provider": slug,
            "unit_s": UNIT_SECONDS.get(slug),
            "minimum_s": MINIMUM_SECONDS.get(slug),
            "month_hours": month and int(month[0]),
            "cap_hours": CAP_HOURS.get(slug),
            "currency": currency and currency[0],
            "gpu_counts": GPU_COUNTS.get(slug),
            "spot_notice_s": SPOT_NOTICE_SECONDS.get(slug),
            "words": without_unknowns({name: row[name] for name in WORDS}),
            "source": "; ".join(filter(None, (row["source"], row["read_sources"])))[:400]
            or "currency as in its prices",
            "observed": row["as_of"],
        }
    ) | ({"spot_available": spot in ("yes", "preemptible")} if spot in ("yes", "no", "preemptible") else {})


DEFAULT_STORAGE = {
    ("gcp", "pd-balanced"), ("crusoe", "Persistent disk"), ("nebius", "Block erasure coded"),
    ("vultr", "NVMe block"),
    ("coreweave", "Distributed File Storage"), ("hyperstack", "Cloud-SSD"), ("oci", "Block volume"),
    ("runpod", "Network volume"),
}  # fmt: skip
"""What a bill uses: network storage that outlives the machine."""

HOURS_OF_MONTH = {"hyperstack": 730}


def _part(words: str, *labels: str) -> str:
    """Of a cell that lists several documents, those that a label names."""
    parts = [part.strip() for part in words.split(";")]
    return "; ".join(part for part in parts if part.startswith(labels)) or words


def storage_rows(pages: Iterable[Row], billing: Iterable[Row]) -> list[dict[str, Any]]:
    found = [
        _storage(row)
        for row in pages
        if row["kind"] in ("block", "file", "object") and "VPU" not in row["unit"]
    ]
    sources = {row["provider_id"]: row for row in billing}
    aws, azure = sources["aws"], sources["azure"]
    object_note = "S3 price list as of 2022-07"
    found += [
        _storage_of_billing(
            aws,
            "block",
            "gp3",
            "us-east-1",
            "0.08",
            label="gp3",
            default=True,
            note="from published examples",
        ),
        *(
            _storage_of_billing(
                aws, "object", "S3 Standard", "", price, low, high, label="S3", note=object_note
            )
            for price, low, high in (("0.023", 0, 51200), ("0.022", 51200, 512000), ("0.021", 512000, None))
        ),
        _storage_of_billing(
            azure,
            "block",
            "Standard SSD",
            "eastus",
            "0.075",
            label="disk",
            default=True,
            note="billed by size step (E4: 32 GiB)",
        ),
        _storage_of_billing(azure, "object", "Hot LRS", "eastus", "0.018", 0, 51200, label="object"),
    ]
    return sorted(
        found, key=lambda row: (row["provider"], row["kind"], row["name"], float(row.get("from_gb", 0)))
    )


def _storage(row: Row) -> dict[str, Any]:
    price, unit = row["price"], row["unit"]
    note = ""
    if unit == "GB-hour":
        hours = HOURS_OF_MONTH[row["provider"]]
        price, unit, note = f"{float(price) * hours:.8f}", "GB-month", f"{row['price']} per GB-hour × {hours}"
    return without_unknowns(
        {
            "provider": row["provider"],
            "region": "us-central1" if "us-central1" in row["source"] else "",
            "kind": row["kind"],
            "name": row["item"],
            "amount_per_month": price,
            "per_bytes": GIB if unit.startswith("GiB") else GB,
            "currency": row["currency"],
            "is_default": (row["provider"], row["item"]) in DEFAULT_STORAGE,
            "note": note,
            "source": row["source"],
            "observed": row["as_of"],
        }
    )


def _storage_of_billing(
    row: Row, kind: str, name: str, region: str, price: str, low: int = 0, high: int | None = None,
    *, label: str, default: bool = False, note: str = "",
) -> dict[str, Any]:  # fmt: skip
    source = _part(row["read_sources"], label)
    return without_unknowns(
        {
            "provider": row["provider_id"],
            "region": region,
            "kind": kind,
            "name": name,
            "from_gb": low or None,
            "to_gb": high,
            "amount_per_month": price,
            "per_bytes": GB,
            "currency": "USD",
            "is_default": default,
            "note": note,
            "source": source[:400],
            "observed": _observed(source, row["as_of"]),
        }
    )


def _observed(source: str, whole: str) -> str:
    """The day of this price, where its own source tells one or says that there is none; else that of the whole row."""
    if source.endswith("(undated)"):
        return "undated"
    dated = re.search(r"\b\d{4}-\d\d-\d\d$", source)
    return dated[0] if dated else whole


def egress_rows(pages: Iterable[Row], billing: Iterable[Row]) -> list[dict[str, Any]]:
    """Steps of each provider's internet egress. Beyond the last step the price is unknown, not free."""
    sources = {row["provider_id"]: row for row in billing}
    listed = {(row["provider"], row["item"]): row for row in pages if row["kind"] == "egress"}

    def step(
        row: Row, price: str, low: int = 0, high: int | None = None, note: str = "", region: str = ""
    ) -> dict[str, Any]:
        return without_unknowns(
            {
                "provider": row.get("provider_id") or row["provider"],
                "region": region,
                "from_gb": low or None,
                "to_gb": high,
                "amount_per_gb": price,
                "per_bytes": GIB if row.get("unit") == "GiB" else GB,
                "currency": row["currency"][:3],
                "note": note,
                "source": _part(row.get("read_sources") or row["source"], "egress", "100 GB free")[:400],
                "observed": row["as_of"],
            }
        )

    first_paid = "first paid step; another price may hold outside North America and Europe"
    steps = [
        step(sources["aws"], "0", 0, 100),
        step(sources["aws"], "0.09", 100, 10240, first_paid),
        step(sources["azure"], "0.087", 0, 10240, first_paid),
        step(listed["gcp", "Internet egress (first tier)"], "0.12", 0, 1024, "first step, worldwide"),
        step(sources["oci"], "0", 0, 10240),
        step(
            listed["vultr", "Egress beyond plan allowance"],
            "0.01",
            note="the plan's allowance is not subtracted",
        ),
        step(listed["ovh", "Egress outside Asia-Pacific"], "0", note="outside Asia-Pacific"),
        step(sources["sakura"], "0") | {"source": sources["sakura"]["source"]},
    ]
    for provider, item in (("coreweave", "Egress"), ("lambda", "Egress"), ("hyperstack", "Egress"),
                           ("nebius", "Network egress"), ("runpod", "Data transfer")):  # fmt: skip
        steps.append(step(listed[provider, item], "0"))
    return sorted(steps, key=lambda row: (row["provider"], row.get("from_gb", 0)))


def exchange_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [
        {"on": row["date"], "currency": row["currency"], "per_usd": row["per_usd"], "source": row["source"]}
        for row in sorted(rows, key=lambda row: (row["date"], row["currency"]))
    ]
