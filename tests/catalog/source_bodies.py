"""Answers of every source in the shape that it has, made here; every figure is invented."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import httpx2

BASE = "https://source.example"


class Bodies:
    """What a source answers by path. ``factor`` multiplies every price; ``currency`` replaces the dollar."""

    def __init__(self, *, factor: float = 1, currency: str = "USD") -> None:
        self.factor = factor
        self.currency = currency

    def price(self, amount: float) -> float:
        return round(amount * self.factor, 6)


AWS_COLUMNS = (
    "SKU", "TermType", "EffectiveDate", "Unit", "PricePerUnit", "Currency", "Product Family", "Instance Type",
    "vCPU", "Memory", "Tenancy", "Operating System", "CapacityStatus", "Pre Installed S/W", "MarketOption",
    "Region Code",
)  # fmt: skip


def aws(made: Bodies) -> dict[str, bytes]:
    def row(sku: str, price: float, **changes: str) -> dict[str, str]:
        return {
            "SKU": "S", "TermType": "OnDemand", "EffectiveDate": "2026-10-01", "Unit": "Hrs",
            "PricePerUnit": f"{made.price(price):.10f}", "Currency": made.currency,
            "Product Family": "Compute Instance", "Instance Type": sku, "vCPU": "8", "Memory": "1,024 GiB",
            "Tenancy": "Shared", "Operating System": "Linux", "CapacityStatus": "Used", "Pre Installed S/W": "NA",
            "MarketOption": "OnDemand", "Region Code": "us-east-1",
        } | changes  # fmt: skip

    rows = [
        row("g5.2xlarge", 1.2), row("p5.48xlarge", 55), row("g6.xlarge", 0.8), row("c7i.2xlarge", 0.36),
        row("zz9.large", 3), row("g6f.large", 0.2),
        row("g5.2xlarge", 2.1, **{"Operating System": "Windows"}),
        row("g5.2xlarge", 1.3, Tenancy="Dedicated"), row("g5.2xlarge", 0.7, TermType="Reserved"),
        row("g5.2xlarge", 1.9, **{"Pre Installed S/W": "SQL Std"}),
        row("g5.2xlarge", 1.2, CapacityStatus="UnusedCapacityReservation"),
        row("p5.48xlarge", 0, MarketOption="CapacityBlock"),
        row("g6.xlarge", 0.9, EffectiveDate="2027-05-01"),
    ]  # fmt: skip
    text = io.StringIO()
    text.write('"FormatVersion","v1.0"\n"Disclaimer","for information only"\n')
    lines = csv.DictWriter(text, AWS_COLUMNS, quoting=csv.QUOTE_ALL, lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return {"/offers/v1.0/aws/AmazonEC2/current/us-east-1/index.csv": text.getvalue().encode()}


def oci(made: Bodies) -> dict[str, bytes]:
    def part(number: str, metric: str, price: float) -> dict[str, Any]:
        steps = [{"model": "PAY_AS_YOU_GO", "value": made.price(price)}]
        local = [{"currencyCode": made.currency, "prices": steps}]
        return {"partNumber": number, "metricName": metric, "currencyCodeLocalizations": local}

    def shape(name: str, count: int | None, number: str, **changes: Any) -> dict[str, Any]:
        return {
            "name": name, "hidden": False, "allowPreemptible": False, "gpuQty": count, "bundleMemoryQty": 240,
            "gpuMemoryQty": None, "products": [{"partNumber": number, "qty": 15}],
        } | changes  # fmt: skip

    parts = [part("P1", "GPU Per Hour", 2), part("P2", "GPU Per Hour", 4), part("P3", "OCPU Per Hour", 0.05)]
    shapes = [
        shape("VM.GPU.A10.2", 2, "P1", allowPreemptible=True), shape("BM.GPU.A100-v2.8", 8, "P2", gpuMemoryQty=640),
        shape("BM.GPU.L40S.4", 4, "P1"), shape("BM.GPU.OLD.1", 1, "P1", hidden=True),
        shape("VM.Standard.E5", None, "P3", products=[{"partNumber": "P3", "qty": 81.6}]),
    ]  # fmt: skip
    folder = "/a/ocom/docs/cloudestimator2/data"
    return {
        f"{folder}/products.json": json.dumps({"items": parts}).encode(),
        f"{folder}/shapes.json": json.dumps({"items": shapes}).encode(),
    }


def vultr(made: Bodies) -> dict[str, bytes]:
    def plan(name: str, card: str, memory: int, price: float, **changes: Any) -> dict[str, Any]:
        return {
            "id": name, "vcpu_count": 12, "ram": 122_880, "hourly_cost": made.price(price), "gpu_type": card,
            "gpu_vram_gb": memory, "locations": ["ewr", "nrt"],
        } | changes  # fmt: skip

    plans = [
        plan("vcg-l40s-16c", "NVIDIA_L40S", 48, 1.5), plan("vcg-l40s-32c", "NVIDIA_L40S", 96, 3),
        plan("vcg-l40s-2c", "NVIDIA_L40S", 12, 0.4), plan("vcg-a16-6c", "NVIDIA_A16", 16, 0.5, locations=[]),
        {"id": "vc2-1c", "hourly_cost": made.price(0.01), "locations": ["ewr"], "type": "vc2"},
    ]  # fmt: skip
    metal = {
        "id": "vbm-256c-2048gb-8-mi300x-gpu", "cpu_threads": 256, "ram": 2_321_924, "locations": ["ord"],
        "hourly_cost": made.price(17), "hourly_cost_preemptible": made.price(14),
    }  # fmt: skip

    def page(key: str, rows: list[dict[str, Any]], following: str) -> bytes:
        return json.dumps({key: rows, "meta": {"links": {"next": following}}}).encode()

    return {
        "/v2/plans": page("plans", plans[:2], "next-page"),
        "/v2/plans?next-page": page("plans", plans[2:], ""),
        "/v2/plans-metal": page("plans_metal", [metal], ""),
    }


def runpod(made: Bodies) -> dict[str, bytes]:
    def kind(name: str, memory: int, **changes: Any) -> dict[str, Any]:
        lowest = {"minimumBidPrice": None, "minVcpu": 16, "minMemory": 125, "stockStatus": "Low"}
        return {
            "id": name, "memoryInGb": memory, "securePrice": None, "communityPrice": None, "clusterPrice": None,
            "maxGpuCount": 2, "lowestPrice": lowest,
        } | changes  # fmt: skip

    bid = {"minimumBidPrice": made.price(1.1), "minVcpu": 16, "minMemory": 125, "stockStatus": "High"}
    kinds = [
        kind("NVIDIA L40S", 48, securePrice=made.price(0.8), oneMonthPrice=made.price(0.7)),
        kind("NVIDIA H100 80GB HBM3", 80, communityPrice=made.price(2), lowestPrice=bid),
        kind("NVIDIA B200", 180, clusterPrice=made.price(6)), kind("unknown", 0, securePrice=0),
    ]  # fmt: skip
    return {"/graphql": json.dumps({"data": {"gpuTypes": kinds}}).encode()}


def vast(made: Bodies) -> dict[str, bytes]:
    def listing(number: int, name: str, count: int, price: float, **changes: Any) -> dict[str, Any]:
        return {
            "id": number, "gpu_name": name, "gpu_ram": 24_564, "num_gpus": count, "gpu_frac": 0.5,
            "cpu_cores_effective": 32.0, "cpu_ram": 262_144, "dph_base": made.price(price),
            "min_bid": made.price(price / 2), "geolocation": "Tokyo, JP", "rentable": True, "rented": False,
            "reliability2": 0.99, "verification": "verified",
        } | changes  # fmt: skip

    listings = [
        listing(1, "RTX 4090", 1, 0.4), listing(2, "RTX_4090", 2, 0.8, min_bid=None),
        listing(3, "RTX 4090", 1, 0.4, rented=True), listing(4, "RTX 9999", 1, 9, geolocation=None),
    ]  # fmt: skip
    return {"/api/v0/bundles/": json.dumps({"offers": listings}).encode()}


GPUHUNT_COLUMNS = (
    "instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name", "gpu_memory", "spot",
)  # fmt: skip


def gpuhunt(made: Bodies) -> dict[str, bytes]:
    rows = [
        ("gpu_8x_h100_sxm5", "us-east-1", made.price(24), 208, 1800, 8, "H100", 80, "False"),
        ("gpu_8x_h100_sxm5", "us-east-1", made.price(9), 208, 1800, 8, "H100", 80, "True"),
        ("gpu_1x_a10", "us-west-1", made.price(0.75), 30, 200, 1, "A10", 24, "False"),
        ("cpu_4x", "us-west-1", made.price(0.1), 4, 16, 0, "", "", "False"),
    ]
    text = io.StringIO()
    csv.writer(text).writerows([GPUHUNT_COLUMNS, *rows])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("lambdalabs.csv", text.getvalue())
    return {"/v3/lambdalabs/version": b"20261129\n", "/v3/lambdalabs/20261129/catalog.zip": file.getvalue()}


def ecb(made: Bodies) -> dict[str, bytes]:
    rates = {made.currency: 1.25, "JPY": 187.5, "GBP": 0.85, "CNY": 9.0}
    cubes = "".join(f"<Cube currency='{name}' rate='{made.price(rate)}'/>" for name, rate in rates.items())
    text = f"<?xml version='1.0'?><E xmlns='e'><Cube><Cube time='2026-11-27'>{cubes}</Cube></Cube></E>"
    return {"/stats/eurofxref/eurofxref-daily.xml": text.encode()}


MAKERS: dict[str, Callable[[Bodies], dict[str, bytes]]] = {
    "aws": aws, "oci": oci, "vultr": vultr, "runpod": runpod, "vast": vast, "gpuhunt": gpuhunt, "ecb": ecb,
}  # fmt: skip

Change = Callable[[httpx2.Request, bytes], httpx2.Response]


class AnySource:
    """Serves a source's bodies; ``change`` makes something else of an answer."""

    def __init__(self, name: str, change: Change | None = None, **more: Any) -> None:
        self.bodies = MAKERS[name](Bodies(**more))
        self.change = change
        self.asked: list[httpx2.Request] = []

    def client(self) -> httpx2.Client:
        return httpx2.Client(transport=httpx2.MockTransport(self.answer), follow_redirects=False)

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        cursor = request.url.params.get("cursor")
        body = self.bodies.get(request.url.path + (f"?{cursor}" if cursor else ""))
        if body is None:
            return httpx2.Response(404)
        made = httpx2.Response(200, content=body) if self.change is None else self.change(request, body)
        return httpx2.Response(made.status_code, headers=made.headers, stream=made.stream)
