"""A stand-in for Nebius' services on a port of this machine: messages of its own library; every figure is invented."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import grpc
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from nebius.api.nebius.billing.v1alpha1 import (
    CostBreakdown,
    EstimateRequest,
    EstimateResponse,
    GeneralTotalCost,
    ListSpotPricesResponse,
    ResourceGroupCost,
    SpotPrice,
    SpotPriceComputeInstance,
    SpotPriceValue,
)
from nebius.api.nebius.common.v1 import ResourceMetadata
from nebius.api.nebius.compute.v1 import (
    ListPlatformsRequest,
    ListPlatformsResponse,
    Platform,
    PlatformSpec,
    PlatformStatus,
    Preset,
    PresetResources,
)
from nebius.api.nebius.iam.v1 import (
    Container,
    ContainerStatus,
    CreateTokenResponse,
    ListProjectsRequest,
    ListProjectsResponse,
    ListTenantsResponse,
)

TOKEN = "t0ken"
EXCHANGE = "/nebius.iam.v1.TokenExchangeService/Exchange"
TENANTS = "/nebius.iam.v1.TenantService/List"
PROJECTS = "/nebius.iam.v1.ProjectService/List"
PLATFORMS = "/nebius.compute.v1.PlatformService/List"
ESTIMATE = "/nebius.billing.v1alpha1.CalculatorService/Estimate"
SPOT = "/nebius.billing.v1alpha1.SpotPriceService/List"
METHODS = (EXCHANGE, TENANTS, PROJECTS, PLATFORMS, ESTIMATE, SPOT)

Change = Callable[[bytes, grpc.ServicerContext], bytes]

PRICES = {
    ("p-north", "gpu-h100-sxm", "1gpu-16vcpu-200gb", False): "4.5",
    ("p-north", "gpu-h100-sxm", "1gpu-16vcpu-200gb", True): "1.25",
    ("p-north", "gpu-h100-sxm", "8gpu-128vcpu-1600gb", False): "36",
    ("p-north", "gpu-h100-sxm", "8gpu-128vcpu-1600gb", True): "10",
    ("p-north", "gpu-l40s-a", "2gpu-16vcpu-64gb", False): "3.123456789",
    ("p-us", "gpu-b200-sxm-a", "8gpu-160vcpu-1792gb", False): "68",
    ("p-us", "gpu-b200-sxm-a", "8gpu-160vcpu-1792gb", True): "20",
    ("p-us", "gpu-x9-sxm", "1gpu-16vcpu-200gb", False): "99",
}


def _preset(name: str, gpus: int, vcpu: int, ram_gib: int, clustered: bool = False) -> Preset:
    return Preset(
        name=name,
        resources=PresetResources(vcpu_count=vcpu, memory_gibibytes=ram_gib, gpu_count=gpus),
        allow_gpu_clustering=clustered,
    )


def _platform(name: str, memory: int, *presets: Preset, preemptible: bool) -> Platform:
    return Platform(
        metadata=ResourceMetadata(id=f"computeplatform-{name}", name=name),
        spec=PlatformSpec(presets=presets, gpu_memory_gigabytes=memory),
        status=PlatformStatus(allowed_for_preemptibles=preemptible),
    )


def _platforms(request: ListPlatformsRequest) -> ListPlatformsResponse:
    if request.parent_id == "p-us":
        return ListPlatformsResponse(items=[
            _platform("gpu-b200-sxm-a", 180, _preset("8gpu-160vcpu-1792gb", 8, 160, 1792, True), preemptible=True),
            _platform("gpu-x9-sxm", 80, _preset("1gpu-16vcpu-200gb", 1, 16, 200), preemptible=False),
        ])  # fmt: skip
    if not request.page_token:
        return ListPlatformsResponse(next_page_token="two", items=[
            _platform("gpu-h100-sxm", 80, _preset("1gpu-16vcpu-200gb", 1, 16, 200),
                      _preset("8gpu-128vcpu-1600gb", 8, 128, 1600, True), preemptible=True),
        ])  # fmt: skip
    return ListPlatformsResponse(items=[
        _platform("gpu-l40s-a", 48, _preset("2gpu-16vcpu-64gb", 2, 16, 64), preemptible=False),
        _platform("cpu-d3", 0, _preset("4vcpu-16gb", 0, 4, 16), preemptible=True),
    ])  # fmt: skip


def _projects(request: ListProjectsRequest) -> ListProjectsResponse:
    assert request.parent_id == "tenant-1"

    def project(name: str, region: str) -> Container:
        return Container(
            metadata=ResourceMetadata(id=name, parent_id="tenant-1"), status=ContainerStatus(region=region)
        )

    if not request.page_token:
        return ListProjectsResponse(items=[project("p-north", "eu-north1")], next_page_token="more")
    return ListProjectsResponse(items=[project("p-second", "eu-north1"), project("p-us", "us-central1")])


class NebiusServer:
    """Answers by method; ``changes`` makes something else of an answer, ``asked`` remembers who asked what."""

    def __init__(
        self, changes: dict[str, Change] | None = None, *, factor: float = 1, currency: str = "usd"
    ) -> None:
        self.changes = changes or {}
        self.factor = Decimal(str(factor))
        self.currency = currency
        self.asked: list[tuple[str, str]] = []
        self.closing = threading.Event()

    def answer(self, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        sent = dict(context.invocation_metadata())
        self.asked.append((method, str(sent.get("authorization", ""))))
        body = self._body(method, request)
        return self.changes[method](body, context) if method in self.changes else body

    def _body(self, method: str, request: bytes) -> bytes:
        made: Any
        if method == EXCHANGE:
            made = CreateTokenResponse(access_token=TOKEN, token_type="Bearer", expires_in=43200)
        elif method == TENANTS:
            made = ListTenantsResponse(items=[Container(metadata=ResourceMetadata(id="tenant-1"))])
        elif method == PROJECTS:
            made = _projects(ListProjectsRequest.FromString(request))
        elif method == PLATFORMS:
            made = _platforms(ListPlatformsRequest.FromString(request))
        elif method == SPOT:
            each = SpotPriceValue(value="2.5", currency=self.currency, unit_title="GPU hour")
            machine = SpotPriceComputeInstance(platform="gpu-b200-sxm-a")
            made = ListSpotPricesResponse(
                items=[SpotPrice(region="us-central1", compute_instance=machine, price=each)]
            )
        else:
            made = self._estimate(EstimateRequest.FromString(request))
        body: bytes = made.SerializeToString()
        return body

    def _estimate(self, request: EstimateRequest) -> EstimateResponse:
        assert not request.offer_types, "list prices, not those of the account's contract"
        machine = request.resource_spec.compute_instance_spec
        assert machine is not None
        resources = machine.spec.resources
        key = (
            machine.metadata.parent_id, resources.platform, str(resources.preset),
            "preemptible" in json.loads(machine.spec.to_json()),
        )  # fmt: skip
        cost = Decimal(PRICES[key]) * self.factor
        return EstimateResponse(
            hourly_cost=_cost(cost), monthly_cost=_cost(cost * 720)
        )  # the month would be a price 720 times too high

    @contextmanager
    def running(self) -> Iterator[str]:
        """The address, while it serves."""
        server = grpc.server(ThreadPoolExecutor(4))
        server.add_generic_rpc_handlers((_Handler(self),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            self.closing.set()
            server.stop(0).wait(5)


def _cost(cost: Decimal) -> ResourceGroupCost:
    total = CostBreakdown(cost=str(cost), cost_rounded=str(round(cost, 2)))
    return ResourceGroupCost(general=GeneralTotalCost(total=total))


class _Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, server: NebiusServer) -> None:
        self.server = server

    def service(self, details: Any) -> Any:
        if details.method not in METHODS:
            return None
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self.server.answer(details.method, request, context)
        )


def write_key(path: Path) -> str:
    """A file as the provider's own tool writes it, with a key made now; returns the key."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    key = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    said = {"alg": "RS256", "private-key": key, "kid": "publickey-1", "iss": "account-1", "sub": "account-1"}
    path.write_text(json.dumps({"subject-credentials": said}), encoding="utf-8")
    return key
