"""A stand-in for the Azure price list, in the shape and paging of the API; every figure is invented."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2

BASE = "https://prices.example"
PATH = "/api/retail/prices"
NC_A100 = "Standard_NC24ads_A100_v4"
ND_H100 = "Standard_ND96isr_H100_v5"


def item(sku: str = NC_A100, price: Any = 3.5, **changes: Any) -> dict[str, Any]:
    """A Linux pay-as-you-go row; anything else by name."""
    row = {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": price,
        "unitPrice": price,
        "armRegionName": "westeurope",
        "location": "EU West",
        "effectiveStartDate": "2026-05-01T00:00:00Z",
        "meterId": "7b1c0000-0000-4000-8000-00000000beef",
        "meterName": sku.removeprefix("Standard_"),
        "productId": "DZH318ZXXXX1",
        "skuId": "DZH318ZXXXX1/0001",
        "productName": "Virtual Machines Series",
        "skuName": sku.removeprefix("Standard_").replace("_", " "),
        "serviceName": "Virtual Machines",
        "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "isPrimaryMeterRegion": True,
        "armSkuName": sku,
    }
    return row | changes


def many(count: int = 20, price: float = 3.5) -> list[dict[str, Any]]:
    """So many machines: one size in as many regions."""
    return [
        item(price=round(price + number / 100, 4), armRegionName=f"region{number}") for number in range(count)
    ]


def body(items: list[dict[str, Any]], following: str | None = None) -> bytes:
    document = {"BillingCurrency": "USD", "Items": items, "NextPageLink": following, "Count": len(items)}
    return json.dumps(document).encode()


Answer = httpx2.Response | Callable[[httpx2.Request], httpx2.Response]


class StandIn:
    """Serves pages by number; ``asked`` remembers every address."""

    def __init__(self, *pages: list[dict[str, Any]]) -> None:
        self.pages = list(pages) or [many()]
        self.asked: list[str] = []
        self.answers: dict[int, Answer] = {}
        """Answers that replace the page of a request, by the request's number from 1."""

    def client(self) -> httpx2.Client:
        return httpx2.Client(transport=httpx2.MockTransport(self.answer), follow_redirects=False)

    def link(self, page: int) -> str:
        # The real list writes the default port out.
        return f"https://prices.example:443{PATH}?$skip={page * 1000}"

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(str(request.url))
        special = self.answers.get(len(self.asked))
        if special is not None:
            return _fresh(special(request) if callable(special) else special)
        page = int(request.url.params.get("$skip", 0)) // 1000
        following = self.link(page + 1) if page + 1 < len(self.pages) else None
        return _fresh(httpx2.Response(200, content=body(self.pages[page], following)))


def _fresh(response: httpx2.Response) -> httpx2.Response:
    """A response that nobody has read yet: one made from content counts as read."""
    return httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
