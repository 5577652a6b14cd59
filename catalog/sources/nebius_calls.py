"""Calls of Nebius' services through its own library, with the same patience as for every other source."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from catalog.sources.answers import CURSOR_LENGTH_MAXIMUM
from catalog.sources.fetching import PAUSES_S, Deadline, Limits
from catalog.sources.quotes import SourceFailure

if TYPE_CHECKING:
    from nebius.base.service_account.service_account import ServiceAccount
    from nebius.sdk import SDK

CLOSING_S = 2.0
PAGE_SIZE = 100
NOT_FOR_US = frozenset({"UNIMPLEMENTED", "PERMISSION_DENIED", "NOT_FOUND"})
REASONS = {
    "UNAVAILABLE": "no_answer", "DEADLINE_EXCEEDED": "too_slow", "UNAUTHENTICATED": "refused_us",
    "PERMISSION_DENIED": "refused_us", "RESOURCE_EXHAUSTED": "refused_us", "CANCELLED": "no_answer",
}  # fmt: skip
"""What a status of the protocol means here; every other is an error of the service."""
RETRIED = frozenset({"UNAVAILABLE", "INTERNAL", "UNKNOWN", "ABORTED", "DEADLINE_EXCEEDED"})


@contextmanager
def opened(base_url: str, credentials_file: str, limits: Limits) -> Iterator[Service]:
    """A connection that is closed at the end; ``http://`` is one stand-in for all services, without TLS."""
    try:
        from nebius.aio.channel import NoCredentials
        from nebius.base.options import INSECURE
        from nebius.base.resolver import Constant
        from nebius.base.service_account.credentials_file import Reader
        from nebius.sdk import SDK
    except ImportError:
        raise SourceFailure("package_missing", "requirements-nebius.txt") from None
    try:
        account = Reader(credentials_file).read()
    except (
        Exception
    ) as error:  # whatever a broken file makes of the library; its words could hold a part of the key
        raise SourceFailure("key_unreadable", type(error).__name__) from None
    address = urlsplit(base_url)
    is_plain = address.scheme == "http"
    host = address.netloc if address.port else f"{address.netloc}:{80 if is_plain else 443}"
    sdk = SDK(
        credentials=NoCredentials(),
        domain=host,
        resolver=Constant(host) if is_plain else None,
        options=[("grpc.enable_http_proxy", 0), *([(INSECURE, True)] if is_plain else [])],
        user_agent_prefix="mitsumori",
    )
    try:
        service = Service(sdk, limits)
        service.sign_in(account)
        yield service
    finally:
        with suppress(TimeoutError):  # what is still under way then ends with its own time
            sdk.sync_close(CLOSING_S)


class Service:
    """What is asked, each answered as JSON objects."""

    def __init__(self, sdk: SDK, limits: Limits) -> None:
        self.sdk = sdk
        self.limits = limits
        self.run = Deadline(limits.run_s)
        self.metadata: list[tuple[str, str]] = []

    def sign_in(self, account: ServiceAccount) -> None:
        """Buy a token with the account's key. The library would do so too, but try a refused key until time is up."""
        from nebius.api.nebius.iam.v1 import TokenExchangeServiceClient

        bought = self._ask(
            TokenExchangeServiceClient(self.sdk).exchange, account.get_exchange_token_request()
        )
        token = bought.get("accessToken")
        if not isinstance(token, str) or not token or not token.isascii():
            raise SourceFailure("schema_changed", "no accessToken")
        self.metadata = [("authorization", f"Bearer {token}")]

    def spot_prices(self) -> list[dict[str, Any]]:
        """Pages of current spot prices; none where the account may not list them."""
        from nebius.api.nebius.billing.v1alpha1 import ListSpotPricesRequest, SpotPriceServiceClient

        client = SpotPriceServiceClient(self.sdk)
        try:
            return self._paged(
                lambda token: ListSpotPricesRequest(page_size=PAGE_SIZE, page_token=token), client.list
            )
        except SourceFailure as failure:
            if failure.detail in NOT_FOR_US:
                return []
            raise

    def projects(self) -> dict[str, str]:
        """One project for each region in which the account has any: what is sold is asked of a project."""
        from nebius.api.nebius.iam.v1 import (
            ListProjectsRequest,
            ListTenantsRequest,
            ProjectServiceClient,
            TenantServiceClient,
        )

        tenants = self._paged(
            lambda token: ListTenantsRequest(page_size=PAGE_SIZE, page_token=token),
            TenantServiceClient(self.sdk).list,
        )
        found: dict[str, str] = {}
        client = ProjectServiceClient(self.sdk)
        for tenant in (row for page in tenants for row in page.get("items", ())):
            parent = str(tenant.get("metadata", {}).get("id", ""))
            pages = self._paged(
                lambda token, parent=parent: ListProjectsRequest(  # type: ignore[misc]
                    parent_id=parent, page_size=PAGE_SIZE, page_token=token
                ),
                client.list,
            )
            for project in (row for page in pages for row in page.get("items", ())):
                region = project.get("status", {}).get("region")
                name = project.get("metadata", {}).get("id")
                if region and name:
                    found.setdefault(str(region), str(name))
        return found

    def platforms(self, project: str) -> list[dict[str, Any]]:
        from nebius.api.nebius.compute.v1 import ListPlatformsRequest, PlatformServiceClient

        return self._paged(
            lambda token: ListPlatformsRequest(parent_id=project, page_size=PAGE_SIZE, page_token=token),
            PlatformServiceClient(self.sdk).list,
        )

    def estimate(self, project: str, platform: str, preset: str, preemptible: bool) -> dict[str, Any]:
        """What an hour of one machine without a disk comes to."""
        from nebius.api.nebius.billing.v1alpha1 import CalculatorServiceClient, EstimateRequest, ResourceSpec
        from nebius.api.nebius.common.v1 import ResourceMetadata
        from nebius.api.nebius.compute.v1 import (
            CreateInstanceRequest,
            InstanceSpec,
            PreemptibleSpec,
            ResourcesSpec,
        )

        machine = CreateInstanceRequest(
            metadata=ResourceMetadata(parent_id=project),
            spec=InstanceSpec(
                resources=ResourcesSpec(platform=platform, preset=preset),
                preemptible=PreemptibleSpec() if preemptible else None,
            ),
        )
        request = EstimateRequest(resource_spec=ResourceSpec(compute_instance_spec=machine))
        return self._ask(CalculatorServiceClient(self.sdk).estimate, request)

    def _paged(self, question: Callable[[str], Any], call: Callable[..., Any]) -> list[dict[str, Any]]:
        """Every page to the end; a token that comes back is a circle."""
        found: list[dict[str, Any]] = []
        seen = {""}
        token = ""
        for number in range(1, self.limits.pages + 1):
            found.append(self._ask(call, question(token)))
            token = str(found[-1].get("nextPageToken", ""))
            if not token:
                return found
            if token in seen or len(token) > CURSOR_LENGTH_MAXIMUM:
                raise SourceFailure("paging_loop", f"page {number}")
            seen.add(token)
        raise SourceFailure("too_many_pages", str(self.limits.pages))

    def _ask(self, call: Callable[..., Any], request: Any) -> dict[str, Any]:
        page = Deadline(self.limits.page_s, self.run)
        for pause_s in (*PAUSES_S, None):
            page.check()
            try:
                return self._attempt(call, request, page)
            except _Again as again:
                if pause_s is None:
                    raise again.failure from None
                page.pause(pause_s)
        raise AssertionError("the last attempt returns or raises")

    def _attempt(self, call: Callable[..., Any], request: Any, page: Deadline) -> dict[str, Any]:
        from nebius.aio.service_error import RequestError
        from nebius.base.error import SDKError

        try:
            answer = call(
                request,
                timeout=min(self.limits.silence_s, page.left_s),
                retries=0,
                metadata=self.metadata,
            ).wait()
            if answer is None:  # the library's word for bytes that are no such message
                raise SourceFailure("unreadable", "not the message asked for")
            found: dict[str, Any] = json.loads(answer.to_json())
        except RequestError as error:
            code = error.status.code.name
            if code == "RESOURCE_EXHAUSTED" and "larger than max" in (error.status.message or ""):
                raise SourceFailure("too_large", "> 4 MiB") from None
            failure = SourceFailure(REASONS.get(code, "server_error"), code)
            if code in RETRIED:
                raise _Again(failure) from None
            raise failure from None
        except TimeoutError:
            raise _Again(SourceFailure("too_slow")) from None
        except (SDKError, ValueError, OSError) as error:
            raise SourceFailure("unreadable", type(error).__name__) from None
        return found


class _Again(Exception):
    def __init__(self, failure: SourceFailure) -> None:
        self.failure = failure
