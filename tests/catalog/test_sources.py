"""Every source against answers of its own shape: good ones exactly, bad ones leave the last good prices."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from catalog import services
from catalog.models import ExchangeRate, Offer, Price, Provider, Refresh, RefreshStatus
from catalog.recording import Observation, record
from catalog.sources import SOURCES, aws_spot
from catalog.sources.fetching import Limits
from catalog.tasks import refresh_source
from tests.catalog.source_bodies import BASE, MAKERS, AnySource, Change
from tests.factories import AT

pytestmark = pytest.mark.django_db

QUICK = Limits(run_s=5, page_s=2, silence_s=1, wait_s=0.01, pages=8, page_bytes=200_000)
KEYS = {
    "gpuhunt": {"providers": "lambdalabs"},
    "gcp": {"api_key": "k3y"}, "lambda": {"api_key": "k3y"}, "digitalocean": {"token": "k3y"},
    "hyperstack": {"api_key": "k3y"}, "verda": {"client_id": "me", "client_secret": "k3y"},
    "aws_spot": {"access_key_id": "ME", "secret_access_key": "k3y"},
}  # fmt: skip
Row = tuple[str, str, str, str, Decimal]
Ask = Callable[..., Refresh]


@pytest.fixture
def ask(settings: Any) -> Ask:
    """Refresh a source from a stand-in, so many days after the tests' moment."""
    for slug in {provider for source in SOURCES.values() for provider in source.all_providers}:
        Provider.objects.create(slug=slug, name=slug)
    settings.SOURCE_BASE_URLS = dict.fromkeys(SOURCES, BASE)
    settings.SOURCE_CREDENTIALS = KEYS

    def refresh(name: str, stand_in: AnySource, day: int = 0) -> Refresh:
        return services.refresh(name, AT + timedelta(days=day), client=stand_in.client(), limits=QUICK)

    return refresh


def listed() -> set[Row]:
    """Every offer that is listed now, with its price."""
    rows = Offer.objects.current().values_list(
        "sku", "region", "tier", "tier_detail", "current_price__amount"
    )
    return {(sku, region, tier, detail, amount) for sku, region, tier, detail, amount in rows if amount}


def row(sku: str, region: str, amount: str, tier: str = "on_demand", detail: str = "") -> Row:
    return (sku, region, tier, detail, Decimal(amount))


EXPECTED: dict[str, set[Row]] = {
    "aws": {
        row("g5.2xlarge", "us-east-1", "1.2"), row("p5.48xlarge", "us-east-1", "55"),
        row("g6.xlarge", "us-east-1", "0.8"), row("c7i.2xlarge", "us-east-1", "0.36"),
        row("zz9.large", "us-east-1", "3"), row("g6f.large", "us-east-1", "0.2"),
        # 131,400 ÷ 8,760 h + 30; 788,400 ÷ 26,280 h.
        row("p5.48xlarge", "us-east-1", "45", "reserved", "reserved_1y_partial_upfront"),
        row("p5.48xlarge", "us-east-1", "30", "reserved", "reserved_3y_all_upfront"),
        row("p5.48xlarge", "us-east-1", "50", "reserved", "reserved_1y_no_upfront"),
        row("p5.48xlarge", "us-east-1", "52", "reserved", "reserved_1y_no_upfront_convertible"),
        row("p5.48xlarge", "us-east-1", "48", "reserved", "reserved_3y_partial_upfront_convertible"),
    },
    "oci": {
        row("VM.GPU.A10.2", "", "4"), row("VM.GPU.A10.2", "", "2", "spot"), row("BM.GPU.A100-v2.8", "", "32"),
        row("BM.GPU.L40S.4", "", "8"),
    },
    "vultr": {
        *(row(sku, place, amount) for place in ("ewr", "nrt")
          for sku, amount in (("vcg-l40s-16c", "1.5"), ("vcg-l40s-32c", "3"), ("vcg-l40s-2c", "0.4"))),
        row("vcg-a16-6c", "", "0.5"), row("vbm-256c-2048gb-8-mi300x-gpu", "ord", "17"),
        row("vbm-256c-2048gb-8-mi300x-gpu", "ord", "14", "spot"),
    },
    "runpod": {
        row("NVIDIA L40S", "", "0.8", detail="secure"), row("NVIDIA L40S", "", "1.6", detail="secure"),
        row("NVIDIA L40S", "", "0.7", "reserved", "commit_1m"), row("NVIDIA L40S", "", "1.4", "reserved", "commit_1m"),
        row("NVIDIA H100 80GB HBM3", "", "2", "community"), row("NVIDIA H100 80GB HBM3", "", "4", "community"),
        row("NVIDIA H100 80GB HBM3", "", "1.1", "spot"), row("NVIDIA H100 80GB HBM3", "", "2.2", "spot"),
    },
    "vast": {
        row("1", "Tokyo, JP", "0.4"), row("1", "Tokyo, JP", "0.2", "spot"), row("2", "Tokyo, JP", "0.8"),
        row("4", "", "9"), row("4", "", "4.5", "spot"),
    },
    "gpuhunt": {
        row("gpu_8x_h100_sxm5", "us-east-1", "24"), row("gpu_8x_h100_sxm5", "us-east-1", "9", "spot"),
        row("gpu_1x_a10", "us-west-1", "0.75"),
    },
    "lambda": {row("gpu_1x_h100_sxm5", "", "4.3"), row("gpu_8x_h100_sxm5", "", "24")},
    "digitalocean": {row("gpu-h100x8-640gb", "nyc2", "24"), row("gpu-mi300x8-1536gb", "", "16")},
    "verda": {
        row("1H100.80S.32V", "", "2.3"), row("1H100.80S.32V", "", "0.8", "spot"), row("8H100.80S.176V", "", "18.4"),
    },
    "hyperstack": {
        *(row("L40-48G-PCIe", "", str(count)) for count in (1, 2, 4, 8)),
        *(row("H100-80G-PCIe", "", amount) for amount in ("1.9", "3.8", "7.6", "15.2")),
    },
    # 12 cores × 0.03 + 85 GiB × 0.004 + 1 GPU × 3, and so on.
    "gcp": {
        row("a2-highgpu-1g", "us-central1", "3.7"), row("a2-highgpu-2g", "us-central1", "7.4"),
        row("a2-highgpu-4g", "us-central1", "14.8"), row("a2-highgpu-8g", "us-central1", "29.6"),
        row("a2-megagpu-16g", "us-central1", "56.32"),
    },
    "aws_spot": {
        row("g5.2xlarge", "us-east-1", "0.5", "spot", "us-east-1a"),
        row("g5.2xlarge", "us-east-1", "0.6", "spot", "us-east-1b"),
        row("p5.48xlarge", "us-east-1", "20", "spot", "us-east-1a"),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_a_good_answer_gives_exactly_its_prices_and_running_twice_adds_none(ask: Ask, name: str) -> None:
    first = ask(name, AnySource(name))
    assert (first.status, first.reason) == (RefreshStatus.SUCCEEDED, "")
    assert listed() == EXPECTED[name]
    count = Price.objects.count()
    again = ask(name, AnySource(name), day=1)
    assert (again.status, again.added_count, again.changed_count, again.gone_count) == ("succeeded", 0, 0, 0)
    assert Price.objects.count() == count
    assert listed() == EXPECTED[name]


def test_machines_are_what_their_source_says(ask: Ask) -> None:
    for name in EXPECTED:
        ask(name, AnySource(name))

    def found(sku: str, **more: Any) -> Offer:
        return Offer.objects.filter(sku=sku, **more).order_by("gpu_count", "pk")[0]

    slice_of = found("vcg-l40s-2c")
    assert (slice_of.accelerator_id, slice_of.gpu_count) == ("L40S", 1)
    assert slice_of.gpu_fraction == Decimal("0.25")
    assert slice_of.gpu_memory_gib == 12
    pair = found("vcg-l40s-32c")
    assert (pair.accelerator_id, pair.gpu_count) == ("L40S", 2)
    metal = found("vbm-256c-2048gb-8-mi300x-gpu")
    assert (metal.accelerator_id, metal.gpu_count, metal.vcpu) == ("MI300X", 8, Decimal(256))
    nowhere = found("vcg-a16-6c")
    assert (nowhere.not_comparable, nowhere.availability) == ("no_capacity", "none")
    unknown = found("4")
    assert (unknown.not_comparable, unknown.accelerator_as_written) == ("unknown_accelerator", "RTX 9999")
    host = found("2")
    assert (host.accelerator_id, host.gpu_count, host.ram_gib) == ("RTX4090", 2, Decimal(128))
    assert host.current_price is not None
    assert host.current_price.floor
    single, double = Offer.objects.filter(sku="NVIDIA L40S", tier="on_demand").order_by("gpu_count")
    assert (single.gpu_count, double.gpu_count, single.sold_per_gpu) == (1, 2, True)
    assert (single.availability, single.availability_on) == ("low", AT.date())
    assert found("c7i.2xlarge").not_comparable == "no_accelerator"
    assert found("zz9.large").not_comparable == "size_unknown"
    assert found("g6f.large").gpu_fraction == Decimal("0.125")
    assert found("BM.GPU.A100-v2.8").accelerator_id == "A100-SXM4-80GB"
    assert found("gpu_1x_a10").provider_id == "lambda"


def test_rows_that_are_not_taken_are_counted_by_reason(ask: Ask) -> None:
    refused = {name: ask(name, AnySource(name)).refused for name in EXPECTED}
    assert refused["aws"] == {
        "capacity_block": 1, "incomplete_terms": 1, "licence_included": 1, "not_yet": 1,
        "reservation": 2, "reservation_without_gpu": 1, "unused_capacity": 1,
    }  # fmt: skip
    assert refused["oci"] == {"hidden": 1, "no_gpu": 1, "other_area": 1}
    assert refused["vultr"] == {"no_gpu": 1}
    assert refused["runpod"] == {"cluster_only": 1, "zero_price": 1}
    assert refused["vast"] == {"rented": 1}
    assert refused["gpuhunt"] == {"no_gpu": 1}


def test_of_awss_file_only_lines_that_can_be_prices_are_kept(ask: Ask) -> None:
    run = ask("aws", AnySource("aws"))
    (page,) = run.pages.all()
    assert page.size_bytes < len(AnySource("aws").bodies.popitem()[1])
    assert run.item_count == 20, "Windows and dedicated rows are never kept"


def test_rates_come_from_the_bank_for_a_dollar(ask: Ask) -> None:
    run = ask("ecb", AnySource("ecb"))
    assert run.status == RefreshStatus.SUCCEEDED
    rates = {rate.currency: rate.per_usd for rate in ExchangeRate.objects.filter(on=date(2026, 11, 27))}
    assert rates == {
        "JPY": Decimal("150.000000"), "EUR": Decimal("0.800000"), "GBP": Decimal("0.680000"),
        "CNY": Decimal("7.200000"),
    }  # fmt: skip
    assert run.changed_count == 4
    assert ask("ecb", AnySource("ecb"), day=1).changed_count == 0


def test_new_rates_move_the_dollars_that_lists_are_sorted_by(ask: Ask) -> None:
    yen = Observation(
        provider="lambda", sku="yen", amount=Decimal(3000), currency="JPY", observed_on=AT.date(), source="page",
        gpu_count=0, not_comparable="no_accelerator",
    )  # fmt: skip
    record([yen], AT)
    assert Offer.objects.get().usd_per_hour is None
    ask("ecb", AnySource("ecb"))
    assert Offer.objects.get().usd_per_hour == 20


def test_a_rate_that_jumps_is_held(ask: Ask) -> None:
    ask("ecb", AnySource("ecb"))

    def jump(_request: httpx2.Request, body: bytes) -> httpx2.Response:
        return httpx2.Response(200, content=body.replace(b"187.5", b"18.75").replace(b"11-27", b"11-28"))

    held = ask("ecb", AnySource("ecb", jump), day=1)
    assert (held.status, held.reason, held.reason_detail) == (RefreshStatus.HELD, "rates_moved", "JPY")
    assert ExchangeRate.latest(AT.date() + timedelta(days=9))["JPY"].per_usd == 150


def status(code: int) -> Change:
    return lambda _request, _body: httpx2.Response(code, content=b"<h1>no</h1>")


def content(make: Callable[[bytes], bytes]) -> Change:
    return lambda _request, body: httpx2.Response(200, content=make(body))


def slow(_request: httpx2.Request, _body: bytes) -> httpx2.Response:
    raise httpx2.ReadTimeout("slow")


def broken_off(_request: httpx2.Request, _body: bytes) -> httpx2.Response:
    raise httpx2.RemoteProtocolError("peer closed connection")


BAD: dict[str, Change] = {
    "slow": slow,
    "http500": status(500),
    "http401": status(401),
    "redirect": lambda _r, _b: httpx2.Response(302, headers={"Location": "https://elsewhere.example"}),
    "truncated": broken_off,
    "cut": content(lambda body: body[: int(len(body) * 0.55)]),
    "garbage": content(lambda body: b"<!doctype html><title>Maintenance</title>"),
    "binary": content(lambda body: bytes((place * 7919 + 13) % 256 for place in range(5000))),
    "empty": content(lambda body: b""),
    "endless": content(lambda body: b" " * 1_000_000),
}


@pytest.mark.parametrize("mode", BAD)
@pytest.mark.parametrize("name", MAKERS)
def test_a_bad_answer_leaves_the_last_good_prices_and_is_told(ask: Ask, name: str, mode: str) -> None:
    ask(name, AnySource(name))
    before, rates = listed(), list(ExchangeRate.objects.values_list("currency", "per_usd"))
    failed = ask(name, AnySource(name, BAD[mode]), day=1)
    assert failed.status in (RefreshStatus.FAILED, RefreshStatus.HELD), failed.reason
    assert failed.reason
    assert failed.reason != "internal_error"
    assert listed() == before
    assert list(ExchangeRate.objects.values_list("currency", "per_usd")) == rates
    healed = ask(name, AnySource(name), day=2)
    assert healed.status == RefreshStatus.SUCCEEDED
    assert listed() == before


@pytest.mark.parametrize(
    "more", [{"factor": 0}, {"factor": 10}, {"factor": 0.1}], ids=["zero", "tenfold", "tenth"]
)
@pytest.mark.parametrize("name", EXPECTED)
def test_prices_that_cannot_be_are_not_taken(ask: Ask, name: str, more: dict[str, Any]) -> None:
    ask(name, AnySource(name))
    before = listed()
    run = ask(name, AnySource(name, **more), day=1)
    assert (run.status, run.reason) == (
        (RefreshStatus.FAILED, "no_prices") if not more["factor"] else (RefreshStatus.HELD, "prices_moved")
    )
    assert listed() == before


@pytest.mark.parametrize("name", ["aws", "oci", "ecb", "gcp", "verda"])
def test_another_currency_than_asked_for_is_not_taken(ask: Ask, name: str) -> None:
    ask(name, AnySource(name))
    before = listed()
    run = ask(name, AnySource(name, currency="JPY"), day=1)
    assert run.status == RefreshStatus.FAILED
    assert run.reason in ("wrong_currency", "broken_rows", "no_prices")
    assert listed() == before


@pytest.mark.parametrize("word", ["NaN", "null", "-1", '"free"', "1e999"])
@pytest.mark.parametrize("name", ["oci", "vultr", "vast"])
def test_a_price_that_is_no_number_breaks_the_run(ask: Ask, name: str, word: str) -> None:
    ask(name, AnySource(name))
    before = listed()
    columns = {"oci": "value", "vultr": "hourly_cost", "vast": "dph_base"}

    def spoil(_request: httpx2.Request, body: bytes) -> httpx2.Response:
        def change(found: Any) -> Any:
            if isinstance(found, list):
                return [change(one) for one in found]
            if isinstance(found, dict):
                return {k: "@@" if k == columns[name] else change(v) for k, v in found.items()}
            return found

        text = json.dumps(change(json.loads(body))).replace('"@@"', word)
        return httpx2.Response(200, content=text.encode())

    assert ask(name, AnySource(name, spoil), day=1).status == RefreshStatus.FAILED
    assert listed() == before


def test_a_price_column_of_another_name_is_a_changed_shape(ask: Ask) -> None:
    renamed = {
        "aws": (b"PricePerUnit", b"PriceV2"), "oci": (b'"value"', b'"v"'), "vultr": (b"hourly_cost", b"cost"),
        "runpod": (b"securePrice", b"price"), "vast": (b"dph_base", b"dph"), "gpuhunt": (b"20261129", b"///"),
        "ecb": (b"time=", b"day="),
    }  # fmt: skip
    for name, (old, new) in renamed.items():
        change = content(lambda body, old=old, new=new: body.replace(old, new))  # type: ignore[misc]
        run = ask(name, AnySource(name, change))
        assert (run.status, run.reason) == (RefreshStatus.FAILED, "schema_changed"), name


def test_pages_that_lead_in_a_circle_end_the_run(ask: Ask) -> None:
    def circle(request: httpx2.Request, body: bytes) -> httpx2.Response:
        return httpx2.Response(200, content=body.replace(b'"next": ""', b'"next": "next-page"'))

    stand_in = AnySource("vultr", circle)
    run = ask("vultr", stand_in)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "paging_loop")
    assert len(stand_in.asked) < 5


def test_pages_without_end_end_the_run(ask: Ask) -> None:
    asked: list[int] = []

    def endless(_request: httpx2.Request, body: bytes) -> httpx2.Response:
        asked.append(1)
        return httpx2.Response(200, content=json.dumps(
            {"plans": [], "meta": {"links": {"next": f"page-{len(asked)}"}}}
        ).encode())  # fmt: skip

    stand_in = AnySource("vultr", endless)
    stand_in.bodies = dict.fromkeys(["/v2/plans", *(f"/v2/plans?page-{n}" for n in range(50))], b"")
    run = ask("vultr", stand_in)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "too_many_pages")
    assert len(asked) == QUICK.pages


ENDLESS: dict[str, Callable[[int, bytes], bytes]] = {
    "gcp": lambda n, body: json.dumps(json.loads(body) | {"nextPageToken": f"page-{n}"}).encode(),
    "digitalocean": lambda n, body: json.dumps(
        json.loads(body) | {"links": {"pages": {"next": f"https://x.example/v2/sizes?page={n + 2}"}}}
    ).encode(),
    "aws_spot": lambda n, body: body.replace(
        b"<nextToken>more</nextToken>", f"<nextToken>page-{n}</nextToken>".encode()
    ),
}
"""Answers that always name one more page, by how often was asked."""


@pytest.mark.parametrize("name", ENDLESS)
def test_sources_with_keys_end_where_pages_do_not(ask: Ask, name: str) -> None:
    ask(name, AnySource(name))
    before = listed()
    stand_in = AnySource(name)
    first = next(body for path, body in stand_in.bodies.items() if "?" not in path)

    def one_more(request: httpx2.Request) -> httpx2.Response:
        stand_in.asked.append(request)
        content = ENDLESS[name](len(stand_in.asked), first)
        return httpx2.Response(200, stream=httpx2.ByteStream(content))

    stand_in.answer = one_more  # type: ignore[method-assign]
    run = ask(name, stand_in, day=1)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "too_many_pages")
    assert len(stand_in.asked) == QUICK.pages
    assert listed() == before


@pytest.mark.parametrize("name", ENDLESS)
def test_sources_with_keys_see_that_pages_lead_in_a_circle(ask: Ask, name: str) -> None:
    stand_in = AnySource(name)
    first = next(body for path, body in stand_in.bodies.items() if "?" not in path)

    def again(request: httpx2.Request) -> httpx2.Response:
        stand_in.asked.append(request)
        return httpx2.Response(200, stream=httpx2.ByteStream(ENDLESS[name](0, first)))

    stand_in.answer = again  # type: ignore[method-assign]
    run = ask(name, stand_in)
    assert (run.status, run.reason) == (RefreshStatus.FAILED, "paging_loop")
    assert len(stand_in.asked) <= 3


def test_shipped_offers_under_other_names_go_when_the_provider_names_them_itself(ask: Ask) -> None:
    shipped = {"currency": "USD", "observed_on": date(2026, 8, 1), "source": "page", "provider": "runpod"}
    record(
        [
            Observation(sku="L40S", amount=Decimal(1), accelerator="L40S", gpu_count=1, **shipped),  # type: ignore[arg-type]
            Observation(sku="T4", amount=Decimal(1), accelerator="T4", gpu_count=1, **shipped),  # type: ignore[arg-type]
        ],
        AT - timedelta(days=90),
    )
    ask("runpod", AnySource("runpod"))
    assert not Offer.objects.current().filter(sku="L40S").exists()
    assert Offer.objects.current().filter(sku="T4").exists(), "what the list does not name stays, and ages"


def test_a_region_that_was_not_asked_for_keeps_its_offers(ask: Ask) -> None:
    elsewhere = Observation(
        provider="aws", sku="g5.2xlarge", region="us-gov-west-1", amount=Decimal(2), currency="USD",
        observed_on=date(2026, 8, 1), source="page", accelerator="A10G", gpu_count=1,
    )  # fmt: skip
    record([elsewhere], AT - timedelta(days=90))
    run = ask("aws", AnySource("aws"))
    assert run.gone_count == 0
    assert Offer.objects.current().filter(region="us-gov-west-1").exists()


def test_questions_that_need_a_body_are_posted_and_name_what_they_want(ask: Ask) -> None:
    stand_in = AnySource("runpod")
    ask("runpod", stand_in)
    (request,) = stand_in.asked
    assert request.method == "POST"
    assert b"securePrice" in request.content


def test_a_source_without_its_key_is_not_asked(ask: Ask, settings: Any) -> None:
    settings.SOURCE_CREDENTIALS = {}
    for name in ("gcp", "lambda", "digitalocean", "verda", "hyperstack", "aws_spot"):
        stand_in = AnySource(name)
        run = ask(name, stand_in)
        assert (run.status, run.reason) == (RefreshStatus.FAILED, "not_set_up")
        assert stand_in.asked == []
        assert refresh_source(name) == "not_set_up"
    assert Refresh.objects.count() == 6, "the nightly task opens no run"


def test_a_key_is_sent_and_never_kept(ask: Ask) -> None:
    for name in ("gcp", "lambda", "digitalocean", "verda", "hyperstack", "aws_spot"):
        stand_in = AnySource(name)
        run = ask(name, stand_in)
        sent = [str(dict(request.headers)) + request.content.decode() for request in stand_in.asked]
        if name != "aws_spot":
            assert all("k3y" in one or "t0ken" in one for one in sent), name
        assert not any("k3y" in str(request.url) for request in stand_in.asked), name
        for page in run.pages.all():
            assert "k3y" not in page.url
            assert b"t0ken" not in gzip.decompress(bytes(page.body_gzip))


def test_the_next_page_of_digitalocean_is_asked_of_the_same_host(ask: Ask) -> None:
    stand_in = AnySource("digitalocean")
    ask("digitalocean", stand_in)
    assert {request.url.host for request in stand_in.asked} == {"source.example"}


def test_a_signature_is_the_one_that_the_scheme_prescribes() -> None:
    """Worked out apart, with openssl, from the same inputs."""
    headers = aws_spot.signed(
        "https://ec2.us-east-1.amazonaws.com/", "Action=DescribeRegions&Version=2016-11-15", "us-east-1",
        {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"},
        datetime(2026, 11, 30, 12, 0, tzinfo=UTC),
    )  # fmt: skip
    assert headers["X-Amz-Date"] == "20261130T120000Z"
    assert headers["Authorization"].startswith(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261130/us-east-1/ec2/aws4_request, "
        "SignedHeaders=host;x-amz-date, Signature="
    )
    assert headers["Authorization"].endswith(SIGNATURE)


SIGNATURE = "4043ce73c6f40a9094d6b1b382dc560bd022362b5a6684267db152e2716a62c2"
