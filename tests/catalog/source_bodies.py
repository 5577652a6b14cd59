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
    "Region Code", "LeaseContractLength", "PurchaseOption", "OfferingClass", "usageType",
)  # fmt: skip


def aws(made: Bodies) -> dict[str, bytes]:
    def row(sku: str, price: float, **changes: str) -> dict[str, str]:
        return {
            "SKU": "S", "TermType": "OnDemand", "EffectiveDate": "2026-10-01", "Unit": "Hrs",
            "PricePerUnit": f"{made.price(price):.10f}", "Currency": made.currency,
            "Product Family": "Compute Instance", "Instance Type": sku, "vCPU": "8", "Memory": "1,024 GiB",
            "Tenancy": "Shared", "Operating System": "Linux", "CapacityStatus": "Used", "Pre Installed S/W": "NA",
            "MarketOption": "OnDemand", "Region Code": "us-east-1", "LeaseContractLength": "", "PurchaseOption": "",
            "OfferingClass": "", "usageType": f"BoxUsage:{sku}",
        } | changes  # fmt: skip

    def reserved(sku: str, price: float, years: str, option: str, **changes: str) -> dict[str, str]:
        return row(sku, price, **{
            "TermType": "Reserved", "LeaseContractLength": years, "PurchaseOption": option, "OfferingClass": "standard",
        } | changes)  # fmt: skip

    rows = [
        row("g5.2xlarge", 1.2), row("p5.48xlarge", 55), row("g6.xlarge", 0.8), row("c7i.2xlarge", 0.36),
        row("zz9.large", 3), row("g6f.large", 0.2),
        row("g5.2xlarge", 2.1, **{"Operating System": "Windows"}),
        row("g5.2xlarge", 1.3, Tenancy="Dedicated"), row("g5.2xlarge", 0.7, TermType="Reserved"),
        row("g5.2xlarge", 1.9, **{"Pre Installed S/W": "SQL Std"}),
        row("g5.2xlarge", 1.2, CapacityStatus="UnusedCapacityReservation"),
        row("p5.48xlarge", 0, MarketOption="CapacityBlock"),
        row("g6.xlarge", 0.9, EffectiveDate="2027-05-01"),
        row("", 0.07, Unit="GB-Mo", usageType="EBS:VolumeUsage.gp3", Tenancy="", **{"Product Family": "Storage"}),
        row("", 0.05, Unit="GB-Mo", usageType="EBS:VolumeUsage.gp2", Tenancy="", **{"Product Family": "Storage"}),
        # Parts of one reservation need not stand beside each other.
        reserved("p5.48xlarge", 131_400, "1yr", "Partial Upfront", Unit="Quantity"),
        reserved("p5.48xlarge", 788_400, "3yr", "All Upfront", Unit="Quantity"),
        reserved("p5.48xlarge", 0, "3yr", "All Upfront"),
        reserved("p5.48xlarge", 50, "1yr", "No Upfront"),
        # The same machine and term in the other class is another offer, whose parts are its own.
        reserved("p5.48xlarge", 52, "1yr", "No Upfront", OfferingClass="convertible"),
        reserved("p5.48xlarge", 946_080, "3yr", "Partial Upfront", OfferingClass="convertible", Unit="Quantity"),
        reserved("p5.48xlarge", 12, "3yr", "Partial Upfront", OfferingClass="convertible"),
        reserved("p5.48xlarge", 20, "1yr", "No Upfront", OfferingClass="flexible"),
        reserved("g5.2xlarge", 0.4, "1yr", "Partial Upfront"),
        reserved("c7i.2xlarge", 0.2, "1yr", "No Upfront"),
        reserved("p5.48xlarge", 30, "1yr", "Partial Upfront"),
    ]  # fmt: skip
    text = io.StringIO()
    text.write('"FormatVersion","v1.0"\n"Disclaimer","for information only"\n')
    lines = csv.DictWriter(text, AWS_COLUMNS, quoting=csv.QUOTE_ALL, lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return {"/offers/v1.0/aws/AmazonEC2/current/us-east-1/index.csv": text.getvalue().encode()}


def aws_terms(made: Bodies) -> dict[str, bytes]:
    columns = (
        "SKU", "TermType", "StartingRange", "EndingRange", "Unit", "PricePerUnit", "Currency", "To Location",
        "usageType",
    )  # fmt: skip

    def row(
        start: str, end: str, price: float, usage: str = "DataTransfer-Out-Bytes", to: str = "External"
    ) -> list[str]:
        return ["S", "OnDemand", start, end, "GB", f"{made.price(price):.10f}", made.currency, to, usage]

    rows = [
        row("10240", "51200", 0.08), row("0", "10240", 0.1), row("51200", "Inf", 0.06),
        row("0", "Inf", 0.02, "USE1-USW2-AWS-Out-Bytes", "US West"),
        row("0", "Inf", 0.3, to="Outpost"),
    ]  # fmt: skip
    objects = [
        [*row(start, end, price, usage, ""), "General Purpose"]
        for start, end, price, usage in (
            ("0", "51200", 0.02, "TimedStorage-ByteHrs"), ("51200", "Inf", 0.019, "TimedStorage-ByteHrs"),
            ("0", "Inf", 0.01, "TimedStorage-SIA-ByteHrs"), ("0", "Inf", 0.5, "Requests-Tier1"),
        )
    ]  # fmt: skip
    for one in objects:
        one[4] = "GB-Mo"

    def listed(names: tuple[str, ...], made_rows: list[list[str]]) -> bytes:
        text = io.StringIO()
        text.write('"FormatVersion","v1.0"\n')
        csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([names, *made_rows])
        return text.getvalue().encode()

    folder = "/offers/v1.0/aws"
    return {
        f"{folder}/AWSDataTransfer/current/us-east-1/index.csv": listed(columns, rows),
        f"{folder}/AmazonS3/current/us-east-1/index.csv": listed((*columns, "Storage Class"), objects),
    }


def azure_terms(made: Bodies) -> dict[str, bytes]:
    def row(product: str, sku: str, meter: str, unit: str, price: float, **changes: Any) -> dict[str, Any]:
        return {
            "currencyCode": made.currency, "tierMinimumUnits": 0.0, "retailPrice": made.price(price),
            "armRegionName": "westeurope", "effectiveStartDate": "2026-05-01T00:00:00Z", "productName": product,
            "skuName": sku, "meterName": meter, "unitOfMeasure": unit, "type": "Consumption",
            "isPrimaryMeterRegion": True, "serviceName": "Storage", "armSkuName": "",
        } | changes  # fmt: skip

    ssd, blob, out = "Standard SSD Managed Disks", "General Block Blob v2", "Standard Data Transfer Out"
    storage = [
        row(ssd, "E10 LRS", "E10 LRS Disk", "1/Month", 12.8), row(ssd, "E20 LRS", "E20 LRS Disk", "1/Month", 50),
        row(ssd, "E10 LRS", "E10 LRS Disk Operations", "10K", 0.002),
        row("Premium SSD Managed Disks", "P10 LRS", "P10 LRS Disk", "1/Month", 25.6, armRegionName="japaneast"),
        row(blob, "Hot LRS", "Hot LRS Data Stored", "1 GB/Month", 0.02),
        row(blob, "Hot LRS", "Hot LRS Data Stored", "1 GB/Month", 0.019, tierMinimumUnits=51_200.0),
        row(blob, "Cool LRS", "Cool LRS Data Stored", "1 GB/Month", 0.01),
        row(ssd, "E10 LRS", "E10 LRS Disk", "1/Month", 9, effectiveStartDate="2027-05-01T00:00:00Z"),
    ]  # fmt: skip
    transfer = [
        row("Rtn Preference: MGN", "Standard", out, "1 GB", 0, isPrimaryMeterRegion=False),
        row("Rtn Preference: MGN", "Standard", out, "1 GB", 0.09, tierMinimumUnits=100.0, isPrimaryMeterRegion=False),
        row("Bandwidth - Routing Preference: Internet", "Standard", out, "1 GB", 0.07, tierMinimumUnits=100.0),
        row("Bandwidth", "Standard", out, "100 GB", 11, armRegionName="japaneast"),
    ]  # fmt: skip

    def page(rows: list[dict[str, Any]]) -> bytes:
        return json.dumps({"Items": rows, "NextPageLink": None, "Count": len(rows)}).encode()

    path = "/api/retail/prices"
    return {path: page(storage), f"{path}?transfer": page(transfer)}


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

    transfer = part("P4", "Gigabyte Outbound Data Transfer Per Month", 0.01)
    transfer["displayName"] = "Outbound Data Transfer - Originating in North America, Europe, and UK"
    steps = transfer["currencyCodeLocalizations"][0]["prices"]
    steps[0] |= {"rangeMin": 10_240, "rangeMax": 999_999_999_999}
    steps.append({"model": "PAY_AS_YOU_GO", "value": 0, "rangeMin": 0, "rangeMax": 10_240})
    far = part("P5", "Gigabyte Outbound Data Transfer Per Month", 0.03) | {
        "displayName": "Outbound Data Transfer - Originating in APAC, Japan, and South America"
    }
    volume = part("P6", "Gigabyte Storage Capacity Per Month", 0.03) | {
        "displayName": "Storage - Block Volume - Storage"
    }
    objects = part("P7", "Gigabyte Storage Capacity Per Month", 0.025) | {
        "displayName": "Object Storage - Storage"
    }
    kept = objects["currencyCodeLocalizations"][0]["prices"]
    kept[0] |= {"rangeMin": 10, "rangeMax": 999_999_999}
    kept.append({"model": "PAY_AS_YOU_GO", "value": 0, "rangeMin": 0, "rangeMax": 10})
    backup = part("P8", "Gigabyte Storage Capacity Per Month", 0.005) | {
        "displayName": "Oracle Database Backup Cloud - Object Storage"
    }
    parts = [
        transfer,
        far,
        volume,
        objects,
        backup,
        part("P1", "GPU Per Hour", 2),
        part("P2", "GPU Per Hour", 4),
        part("P3", "OCPU Per Hour", 0.05),
    ]
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


def lambda_cloud(made: Bodies) -> dict[str, bytes]:
    def kind(name: str, cents: float, gpus: int, *regions: str) -> dict[str, Any]:
        specs = {"vcpus": 26, "memory_gib": 225, "storage_gib": 1024, "gpus": gpus}
        price = made.price(cents)
        about = {"name": name, "price_cents_per_hour": int(price) if price >= 1 else price, "specs": specs}
        return {
            "instance_type": about, "regions_with_capacity_available": [{"name": region} for region in regions],
        }  # fmt: skip

    kinds = [
        kind("gpu_1x_h100_sxm5", 430, 1), kind("gpu_8x_h100_sxm5", 2400, 8, "us-east-1"),
        kind("cpu_4x_general", 20, 0, "us-east-1"),
    ]  # fmt: skip
    listed = {row["instance_type"]["name"]: row for row in kinds}
    return {"/api/v1/instance-types": json.dumps({"data": listed}).encode()}


def digitalocean(made: Bodies) -> dict[str, bytes]:
    def size(slug: str, price: float, **changes: Any) -> dict[str, Any]:
        return {
            "slug": slug, "memory": 1_966_080, "vcpus": 160, "price_hourly": made.price(price), "available": True,
            "regions": ["nyc2"],
        } | changes  # fmt: skip

    gpus = {"count": 8, "model": "nvidia_h100", "vram": {"amount": 640, "unit": "gib"}}
    sizes = [
        size("gpu-h100x8-640gb", 24, gpu_info=gpus), size("s-1vcpu-1gb", 0.01),
        size("gpu-mi300x8-1536gb", 16, available=False,
             gpu_info={"count": 8, "model": "amd_mi300x", "vram": {"amount": 1536, "unit": "gib"}}),
    ]  # fmt: skip
    following = {"pages": {"next": "https://anywhere.example/v2/sizes?page=2&per_page=500"}}
    return {
        "/v2/sizes": json.dumps({"sizes": sizes[:2], "links": following}).encode(),
        "/v2/sizes?2": json.dumps({"sizes": sizes[2:], "links": {}}).encode(),
    }


def verda(made: Bodies) -> dict[str, bytes]:
    def kind(name: str, count: int, price: float, spot: float | None) -> dict[str, Any]:
        return {
            "instance_type": name, "price_per_hour": str(made.price(price)), "currency": made.currency.lower(),
            "spot_price_per_hour": None if spot is None else str(made.price(spot)),
            "gpu": {"number_of_gpus": count, "description": f"{count}x H100 SXM5 80GB"},
            "gpu_memory": {"size_in_gigabytes": 80 * count}, "memory": {"size_in_gigabytes": 185 * count},
            "cpu": {"number_of_cores": 32 * count},
        }  # fmt: skip

    cpu = {"instance_type": "CPU.4V.16G", "price_per_hour": "0.03", "gpu": {"number_of_gpus": 0}}
    kinds = [kind("1H100.80S.32V", 1, 2.3, 0.8), kind("8H100.80S.176V", 8, 18.4, None), cpu]
    return {
        "/v1/oauth2/token": json.dumps({"access_token": "t0ken"}).encode(),
        "/v1/instance-types": json.dumps(kinds).encode(),
    }


def hyperstack(made: Bodies) -> dict[str, bytes]:
    def entry(name: str, value: float, **changes: Any) -> dict[str, Any]:
        return {"id": 1, "name": name, "value": str(made.price(value)), "start_time": "2026-01-01"} | changes

    book = [
        entry("L40-48G-PCIe", 1), entry("H100-80G-PCIe", 1.9), entry("H100-80G-PCIe", 1.5, end_time="2026-05-01"),
        entry("H100-80G-PCIe-spot", 1.5, start_time="2027-01-01"), entry("vCPU", 0.01),
    ]  # fmt: skip
    return {"/v1/pricebook": json.dumps(book).encode()}


def gcp(made: Bodies) -> dict[str, bytes]:
    def sku(text: str, price: float, unit: str = "h", usage: str = "OnDemand") -> dict[str, Any]:
        whole, nanos = divmod(round(made.price(price) * 10**9), 10**9)
        each = {"currencyCode": made.currency, "units": str(whole), "nanos": nanos}
        return {
            "description": text, "category": {"usageType": usage}, "serviceRegions": ["us-central1"],
            "pricingInfo": [{"pricingExpression": {"usageUnit": unit, "tieredRates": [{"unitPrice": each}]}}],
        }  # fmt: skip

    skus = [
        sku("A2 Instance Core running in Americas", 0.03), sku("A2 Instance Ram running in Americas", 0.004, "GiBy.h"),
        sku("Nvidia Tesla A100 GPU running in Americas", 3),
        sku("G2 Instance Core running in Americas", 0.02),
        sku("Spot Preemptible A2 Instance Core running in Americas", 0.01, "h", "Preemptible"),
        sku("Network Egress via Carrier Peering", 0.08, "GiBy"),
    ]  # fmt: skip
    return {
        "/v1/services/6F81-5844-456A/skus": json.dumps({"skus": skus[:3], "nextPageToken": "two"}).encode(),
        "/v1/services/6F81-5844-456A/skus?two": json.dumps({"skus": skus[3:], "nextPageToken": ""}).encode(),
    }


def aws_spot(made: Bodies) -> dict[str, bytes]:
    def page(items: list[tuple[str, str, float]], token: str) -> bytes:
        rows = "".join(
            f"<item><instanceType>{sku}</instanceType><productDescription>Linux/UNIX</productDescription>"
            f"<spotPrice>{made.price(price):.6f}</spotPrice><timestamp>2026-11-30T08:00:00Z</timestamp>"
            f"<availabilityZone>{zone}</availabilityZone></item>"
            for sku, zone, price in items
        )
        return (
            f'<?xml version="1.0"?><DescribeSpotPriceHistoryResponse xmlns="x"><spotPriceHistorySet>{rows}'
            f"</spotPriceHistorySet><nextToken>{token}</nextToken></DescribeSpotPriceHistoryResponse>"
        ).encode()

    first = [("g5.2xlarge", "us-east-1a", 0.5), ("g5.2xlarge", "us-east-1b", 0.6)]
    return {
        "/": page(first, "more"),
        "/?more": page([("p5.48xlarge", "us-east-1a", 20), ("c7i.2xlarge", "us-east-1a", 0.1)], ""),
    }


MAKERS: dict[str, Callable[[Bodies], dict[str, bytes]]] = {
    "aws": aws, "oci": oci, "vultr": vultr, "runpod": runpod, "vast": vast, "gpuhunt": gpuhunt, "ecb": ecb,
    "lambda": lambda_cloud, "digitalocean": digitalocean, "verda": verda, "hyperstack": hyperstack, "gcp": gcp,
    "aws_spot": aws_spot, "aws_terms": aws_terms, "azure_terms": azure_terms,
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
        asked = request.url.params
        page = asked.get("page", "1")
        lists = "transfer" if "Bandwidth" in asked.get("$filter", "") else ""
        cursor = (
            lists
            or asked.get("cursor")
            or asked.get("pageToken")
            or asked.get("NextToken")
            or page.strip("1")
        )
        body = self.bodies.get(request.url.path + (f"?{cursor}" if cursor else ""))
        if body is None:
            return httpx2.Response(404)
        made = httpx2.Response(200, content=body) if self.change is None else self.change(request, body)
        return httpx2.Response(made.status_code, headers=made.headers, stream=made.stream)
