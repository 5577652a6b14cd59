"""Half-hourly snapshots of a market as one row a day."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from statistics import mean, median
from typing import Any

SOURCE = "half-hourly snapshots of marketplaces and clouds, H100 SXM, 2025-10-19 to 2025-11-16"
CARDS = {("H100_80GB", "SXM5"): "H100-SXM5"}


def market_days(lines: Iterable[str]) -> list[dict[str, Any]]:
    """The lowest and highest price of a day, the median of its medians, and how many offers there were on average."""
    days: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines:
        row = json.loads(line, parse_float=Decimal, parse_int=Decimal)
        card = CARDS.get((row["gpu_type"], row["socket_type"]))
        if card is not None and row["price_stats"].get("median"):
            days.setdefault((card, row["timestamp"][:10]), []).append(row)
    return [
        {
            "accelerator": card, "on": day, "currency": "USD", "source": SOURCE,
            "low": str(min(row["price_stats"]["min"] for row in rows)),
            "median": str(median(row["price_stats"]["median"] for row in rows)),
            "high": str(max(row["price_stats"]["max"] for row in rows)),
            "listed_count": round(mean(row["availability"]["total"] for row in rows)),
            "available_count": round(mean(row["availability"]["available"] for row in rows)),
        }
        for (card, day), rows in sorted(days.items())
    ]  # fmt: skip
