"""Nebius over real gRPC on this machine: good answers exactly, bad ones leave the last good prices."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import grpc
import pytest
from nebius.api.nebius.billing.v1alpha1 import EstimateResponse, ListSpotPricesResponse
from nebius.api.nebius.compute.v1 import ListPlatformsResponse
from nebius.api.nebius.iam.v1 import CreateTokenResponse, ListProjectsResponse

from catalog import services
from catalog.models import Offer, Price, Provider, Refresh, RefreshStatus
from catalog.sources import SOURCES, nebius_calls
from catalog.sources.fetching import Limits
from catalog.tasks import refresh_source
from catalog.wording import RUN_REASONS
from tests.catalog.nebius_server import (
    ESTIMATE,
    EXCHANGE,
    METHODS,
    PLATFORMS,
    PROJECTS,
    SPOT,
    TENANTS,
    TOKEN,
    Change,
    NebiusServer,
    write_key,
)
from tests.factories import AT, make_user

pytestmark = pytest.mark.django_db

QUICK = Limits(run_s=8, page_s=2, silence_s=1, wait_s=0.01, pages=8)
Row = tuple[str, str, str, Decimal]
Ask = Callable[..., Refresh]

EXPECTED: set[Row] = {
    ("gpu-h100-sxm 1gpu-16vcpu-200gb", "eu-north1", "on_demand", Decimal("4.5")),
    ("gpu-h100-sxm 1gpu-16vcpu-200gb", "eu-north1", "spot", Decimal("1.25")),
    ("gpu-h100-sxm 8gpu-128vcpu-1600gb", "eu-north1", "on_demand", Decimal(36)),
    ("gpu-h100-sxm 8gpu-128vcpu-1600gb", "eu-north1", "spot", Decimal(10)),
    ("gpu-l40s-a 2gpu-16vcpu-64gb", "eu-north1", "on_demand", Decimal("3.123457")),
    ("gpu-b200-sxm-a 8gpu-160vcpu-1792gb", "us-central1", "on_demand", Decimal(68)),
    ("gpu-b200-sxm-a 8gpu-160vcpu-1792gb", "us-central1", "spot", Decimal(20)),
    ("gpu-x9-sxm 1gpu-16vcpu-200gb", "us-central1", "on_demand", Decimal(99)),
}


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nebius") / "key.json"
    write_key(path)
    return path


@pytest.fixture
def ask(settings: Any, key_file: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Refresh from a stand-in, so many days after the tests' moment."""
    monkeypatch.setattr(nebius_calls, "PAUSES_S", (0.01, 0.02))
    Provider.objects.create(slug="nebius", name="Nebius")
    settings.SOURCE_CREDENTIALS = {"nebius": {"credentials_file": str(key_file)}}

    def refresh(server: NebiusServer, day: int = 0) -> Refresh:
        with server.running() as address:
            settings.SOURCE_BASE_URLS = {"nebius": address}
            return services.refresh("nebius", AT + timedelta(days=day), limits=QUICK)

    return refresh


def listed() -> set[Row]:
    rows = Offer.objects.current().values_list("sku", "region", "tier", "current_price__amount")
    return {(sku, region, tier, amount) for sku, region, tier, amount in rows if amount}


def test_a_good_answer_gives_exactly_its_prices_and_running_twice_adds_none(ask: Ask) -> None:
    first = ask(NebiusServer())
    assert (first.status, first.reason) == (RefreshStatus.SUCCEEDED, "")
    assert listed() == EXPECTED
    assert first.refused == {"no_gpu": 1}
    count = Price.objects.count()
    again = ask(NebiusServer(), day=1)
    assert (again.status, again.added_count, again.changed_count, again.gone_count) == ("succeeded", 0, 0, 0)
    assert Price.objects.count() == count
    assert listed() == EXPECTED


def test_machines_are_what_the_list_of_platforms_says(ask: Ask) -> None:
    ask(NebiusServer())
    eight = Offer.objects.get(sku="gpu-h100-sxm 8gpu-128vcpu-1600gb", tier="on_demand")
    assert (eight.accelerator_id, eight.gpu_count) == ("H100-SXM5", 8)
    assert (eight.vcpu, eight.ram_gib) == (Decimal(128), Decimal(1600))
    assert eight.accelerator_as_written == "gpu-h100-sxm"
    assert not eight.sold_per_gpu
    assert Offer.objects.get(sku__startswith="gpu-l40s").accelerator_id == "L40S"
    assert Offer.objects.filter(sku__startswith="gpu-b200", accelerator_id="B200-SXM").count() == 2
    unknown = Offer.objects.get(sku__startswith="gpu-x9")
    assert (unknown.accelerator_id, unknown.not_comparable) == (None, "unknown_accelerator")


def test_only_sizes_with_gpus_are_priced_and_one_project_stands_for_a_region(ask: Ask) -> None:
    server = NebiusServer()
    ask(server)
    methods = [method for method, _token in server.asked]
    assert {method: methods.count(method) for method in METHODS} == {
        EXCHANGE: 1, TENANTS: 1, PROJECTS: 2, PLATFORMS: 3, ESTIMATE: len(EXPECTED), SPOT: 1,
    }  # fmt: skip


def test_a_token_is_bought_with_the_key_and_neither_is_kept(ask: Ask, key_file: Path) -> None:
    server = NebiusServer()
    run = ask(server)
    assert server.asked[0] == (EXCHANGE, "")
    assert {token for _method, token in server.asked[1:]} == {f"Bearer {TOKEN}"}
    pages = [gzip.decompress(bytes(page.body_gzip)) + page.url.encode() for page in run.pages.all()]
    assert len(pages) == 3, "spot prices and two regions"
    assert not any(word in page for page in pages for word in (b"PRIVATE KEY", TOKEN.encode(), b"Bearer"))


def says(code: str) -> Change:
    def refuse(_body: bytes, context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode[code], "no")
        raise AssertionError

    return refuse


def late(server: NebiusServer) -> Change:
    def wait(body: bytes, _context: grpc.ServicerContext) -> bytes:
        server.closing.wait(10)
        return body

    return wait


def becomes(make: Callable[[bytes], bytes]) -> Change:
    return lambda body, _context: make(body)


BAD: dict[str, tuple[Change, str]] = {
    "internal": (says("INTERNAL"), "server_error"),
    "unavailable": (says("UNAVAILABLE"), "no_answer"),
    "unauthenticated": (says("UNAUTHENTICATED"), "refused_us"),
    "too_many_questions": (says("RESOURCE_EXHAUSTED"), "refused_us"),
    "gone": (says("INVALID_ARGUMENT"), "server_error"),
    "truncated": (becomes(lambda body: body[:-1]), "unreadable"),
    "garbage": (becomes(lambda _body: b"<!doctype html><title>Maintenance</title>"), "unreadable"),
    "huge": (becomes(lambda body: body + b"\x82\x7d\x80\x80\x80\x03" + b" " * 6_291_456), "too_large"),
}


@pytest.mark.parametrize("mode", BAD)
@pytest.mark.parametrize("method", [EXCHANGE, PLATFORMS, ESTIMATE])
def test_a_bad_answer_leaves_the_last_good_prices_and_is_told(ask: Ask, method: str, mode: str) -> None:
    ask(NebiusServer())
    change, reason = BAD[mode]
    failed = ask(NebiusServer({method: change}), day=1)
    assert (failed.status, failed.reason) == (RefreshStatus.FAILED, reason)
    assert listed() == EXPECTED
    assert ask(NebiusServer(), day=2).status == RefreshStatus.SUCCEEDED


@pytest.mark.parametrize("method", [TENANTS, PROJECTS, SPOT])
def test_the_lists_before_the_prices_must_be_readable_too(ask: Ask, method: str) -> None:
    ask(NebiusServer())
    server = NebiusServer({method: says("UNAVAILABLE")})
    failed = ask(server, day=1)
    assert (failed.status, failed.reason) == (RefreshStatus.FAILED, "no_answer")
    assert [asked for asked, _token in server.asked].count(method) == 3
    assert listed() == EXPECTED


def test_a_silent_service_is_asked_again_and_then_given_up(ask: Ask) -> None:
    ask(NebiusServer())
    server = NebiusServer()
    server.changes = {ESTIMATE: late(server)}
    failed = ask(server, day=1)
    assert (failed.status, failed.reason) == (RefreshStatus.FAILED, "too_slow")
    assert 2 <= [method for method, _token in server.asked].count(ESTIMATE) <= 3
    assert listed() == EXPECTED


def test_a_moment_of_trouble_is_passed_over(ask: Ask) -> None:
    troubles = iter([True])

    def once(body: bytes, context: grpc.ServicerContext) -> bytes:
        if next(troubles, False):
            context.abort(grpc.StatusCode.UNAVAILABLE, "one moment")
        return body

    assert ask(NebiusServer({ESTIMATE: once})).status == RefreshStatus.SUCCEEDED
    assert listed() == EXPECTED


def test_nobody_at_the_address_is_told(ask: Ask, settings: Any) -> None:
    with NebiusServer().running() as address:
        settings.SOURCE_BASE_URLS = {"nebius": address}
    failed = services.refresh("nebius", AT, limits=QUICK)
    assert failed.status == RefreshStatus.FAILED
    assert failed.reason in ("no_answer", "too_slow")


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(0, ("failed", "no_prices")), (10, ("held", "prices_moved")), (0.1, ("held", "prices_moved")),
     (-1, ("failed", "no_prices"))],
    ids=["zero", "tenfold", "tenth", "negative"],
)  # fmt: skip
def test_prices_that_cannot_be_are_not_taken(ask: Ask, factor: float, expected: tuple[str, str]) -> None:
    ask(NebiusServer())
    run = ask(NebiusServer(factor=factor), day=1)
    assert (run.status, run.reason) == expected
    assert listed() == EXPECTED


def test_an_answer_without_a_price_breaks_the_run(ask: Ask) -> None:
    ask(NebiusServer())
    run = ask(NebiusServer({ESTIMATE: becomes(lambda _body: EstimateResponse().SerializeToString())}), day=1)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "no_prices")
    assert listed() == EXPECTED


@pytest.mark.parametrize("currency", ["eur", "jpy", ""])
def test_another_currency_than_the_dollar_is_not_taken(ask: Ask, currency: str) -> None:
    ask(NebiusServer())
    run = ask(NebiusServer(currency=currency), day=1)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "wrong_currency")
    assert listed() == EXPECTED


@pytest.mark.parametrize("code", ["PERMISSION_DENIED", "UNIMPLEMENTED"])
def test_an_account_that_may_not_list_spot_prices_still_gets_the_others(ask: Ask, code: str) -> None:
    assert ask(NebiusServer({SPOT: says(code)})).status == RefreshStatus.SUCCEEDED
    assert listed() == EXPECTED


@pytest.mark.parametrize(
    ("method", "message"),
    [(PLATFORMS, ListPlatformsResponse), (PROJECTS, ListProjectsResponse), (SPOT, ListSpotPricesResponse)],
)
def test_pages_that_lead_in_a_circle_or_never_end_fail_the_run(ask: Ask, method: str, message: Any) -> None:
    ask(NebiusServer())
    circle = message(next_page_token="again").SerializeToString()
    run = ask(NebiusServer({method: becomes(lambda _body: circle)}), day=1)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "paging_loop")
    numbers = iter(range(1000))
    endless = becomes(lambda _body: message(next_page_token=f"page{next(numbers)}").SerializeToString())
    run = ask(NebiusServer({method: endless}), day=2)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "too_many_pages")
    assert next(numbers) == QUICK.pages
    assert listed() == EXPECTED


def test_an_account_without_projects_has_no_prices(ask: Ask) -> None:
    ask(NebiusServer())
    empty = ListProjectsResponse().SerializeToString()
    run = ask(NebiusServer({PROJECTS: becomes(lambda _body: empty)}), day=1)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "no_prices")
    assert listed() == EXPECTED


def test_a_token_that_is_none_is_a_changed_shape(ask: Ask) -> None:
    without = CreateTokenResponse(token_type="Bearer").SerializeToString()
    run = ask(NebiusServer({EXCHANGE: becomes(lambda _body: without)}))
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "schema_changed")


def test_kept_pages_are_read_again_without_the_library(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(NebiusServer())
    held = ask(NebiusServer(factor=10), day=1)
    monkeypatch.setitem(sys.modules, "nebius", None)
    services.decide(held, "confirm", make_user(), AT + timedelta(days=1, hours=1))
    assert ("gpu-b200-sxm-a 8gpu-160vcpu-1792gb", "us-central1", "on_demand", Decimal(680)) in listed()


def test_without_the_library_the_run_says_what_to_install(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nebius.sdk", None)
    server = NebiusServer()
    run = ask(server)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "package_missing")
    assert run.reason_detail == "requirements-nebius.txt"
    assert "package_missing" in RUN_REASONS
    assert server.asked == []


@pytest.mark.parametrize(
    "text",
    [None, "", "[]", "{}", '{"subject-credentials": {"alg": "none"}}',
     '{"subject-credentials": {"alg": "RS256", "private-key": "s3cret", "kid": "k", "iss": "a", "sub": "a"}}'],
    ids=["no file", "empty", "list", "object", "other algorithm", "no key"],
)  # fmt: skip
def test_a_key_file_that_cannot_be_read_is_told_without_its_words(
    ask: Ask, settings: Any, tmp_path: Path, text: str | None
) -> None:
    path = tmp_path / "s3cret.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    settings.SOURCE_CREDENTIALS = {"nebius": {"credentials_file": str(path)}}
    server = NebiusServer()
    run = ask(server)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "key_unreadable")
    assert "key_unreadable" in RUN_REASONS
    assert "s3cret" not in run.reason_detail
    assert server.asked == []


def test_without_a_setting_each_service_is_asked_at_the_providers_own_address(key_file: Path) -> None:
    asked: list[str] = []

    def note(service: nebius_calls.Service, _account: Any) -> None:
        asked.extend(
            service.sdk.get_addr_from_service_name(method.split("/")[1])
            for method in (EXCHANGE, PLATFORMS, ESTIMATE)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nebius_calls.Service, "sign_in", note)
        with nebius_calls.opened(SOURCES["nebius"].default_base_url, str(key_file), QUICK):
            pass
    assert asked[:2] == ["tokens.iam.api.nebius.cloud:443", "compute.api.nebius.cloud:443"]
    assert asked[2].endswith(".api.nebius.cloud:443"), "wherever below it their library knows the calculator"


def test_without_its_key_it_is_not_asked(ask: Ask, settings: Any) -> None:
    settings.SOURCE_CREDENTIALS = {"nebius": {"credentials_file": ""}}
    server = NebiusServer()
    run = ask(server)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "not_set_up")
    assert server.asked == []
    assert refresh_source("nebius") == "not_set_up"
    assert Refresh.objects.count() == 1, "the nightly task opens no run"
