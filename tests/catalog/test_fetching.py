"""Reading a source with every patience bounded."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from catalog.sources import azure
from catalog.sources.fetching import open_client
from catalog.sources.quotes import Page, SourceFailure
from tests.catalog.conftest import QUICK
from tests.catalog.stand_in import BASE, StandIn, body, item, many


def fetch(stand_in: StandIn, base: str = BASE) -> list[Page]:
    with stand_in.client() as client:
        return list(azure.fetch(client, base, {}, QUICK))


def failure_of(stand_in: StandIn, base: str = BASE) -> str:
    with pytest.raises(SourceFailure) as caught:
        fetch(stand_in, base)
    return caught.value.code


def encoded(coding: str) -> httpx2.Response:
    """Bytes that are not in the coding they claim."""
    return httpx2.Response(200, headers={"Content-Encoding": coding}, stream=httpx2.ByteStream(b"x" * 40))


def test_pages_are_walked_to_their_end() -> None:
    stand_in = StandIn(many(3), many(3, 9), many(1, 20))
    pages = fetch(stand_in)
    assert [page.number for page in pages] == [1, 2, 3]
    assert [len(json.loads(page.body)["Items"]) for page in pages] == [3, 3, 1]
    assert len(stand_in.asked) == 3


def test_prices_are_asked_for_in_dollars_and_for_machines_alone() -> None:
    stand_in = StandIn()
    fetch(stand_in)
    query = httpx2.URL(stand_in.asked[0]).params
    assert query["currencyCode"] == "'USD'"
    assert query["$filter"] == "serviceName eq 'Virtual Machines'"


def test_a_page_that_leads_to_itself_ends_the_run() -> None:
    stand_in = StandIn(many(2))
    stand_in.answers = {
        n: httpx2.Response(200, content=body(many(2), stand_in.link(0))) for n in range(1, 20)
    }
    assert failure_of(stand_in) == "paging_loop"
    assert len(stand_in.asked) <= 3


def test_the_same_page_under_new_addresses_ends_the_run() -> None:
    def same(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=body(many(2), stand_in.link(7)))

    stand_in = StandIn(many(2))
    stand_in.answers = dict.fromkeys(range(1, 20), same)
    assert failure_of(stand_in) == "paging_loop"


def test_endless_paging_is_cut() -> None:
    stand_in = StandIn(*[many(1, 2 + number) for number in range(30)])
    assert failure_of(stand_in) == "too_many_pages"
    assert len(stand_in.asked) == QUICK.pages


@pytest.mark.parametrize(
    "link",
    [
        "https://elsewhere.example/api/retail/prices?$skip=1000",
        "http://prices.example/api/retail/prices?$skip=1000",
        "https://prices.example:8443/api/retail/prices?$skip=1000",
        "https://me:secret@prices.example/api/retail/prices?$skip=1000",
        "https://prices.example/admin",
        "https://prices.example:port/api/retail/prices",
        "file:///etc/passwd",
        "//elsewhere.example/api/retail/prices",
    ],
)
def test_a_next_page_elsewhere_is_not_followed(link: str) -> None:
    stand_in = StandIn()
    stand_in.answers = {1: httpx2.Response(200, content=body(many(2), link))}
    assert failure_of(stand_in) == "led_elsewhere"
    assert len(stand_in.asked) == 1


@pytest.mark.parametrize(
    ("code", "answer", "requests"),
    [
        ("server_error", httpx2.Response(500, content=b"<h1>oops</h1>"), 3),
        ("refused_us", httpx2.Response(401, json={"error": "no"}), 1),
        ("refused_us", httpx2.Response(404), 1),
        ("asked_to_wait", httpx2.Response(429, headers={"Retry-After": "3600"}), 1),
        ("redirected", httpx2.Response(302, headers={"Location": "https://elsewhere.example/"}), 1),
        ("unreadable", httpx2.Response(200, content=b"<!doctype html><title>Maintenance</title>"), 1),
        ("unreadable", httpx2.Response(200, content=bytes(range(256)) * 20), 1),
        ("unreadable", httpx2.Response(200, content=b"[" * 100_000), 1),
        ("unreadable", encoded("br"), 1),
        ("unreadable", encoded("gzip"), 1),
        ("schema_changed", httpx2.Response(200, json=["Items"]), 1),
        ("schema_changed", httpx2.Response(200, json={"items": []}), 1),
        ("cut_off", httpx2.Response(200, json={"Items": [item()], "Count": 2}), 1),
        ("too_large", httpx2.Response(200, content=b" " * 300_000), 1),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_page_ends_the_run(code: str, answer: httpx2.Response, requests: int) -> None:
    stand_in = StandIn()
    stand_in.answers = dict.fromkeys(range(1, 9), answer)
    assert failure_of(stand_in) == code
    assert len(stand_in.asked) == requests


def test_a_short_hiccup_is_survived() -> None:
    stand_in = StandIn(many(2))
    stand_in.answers = {1: httpx2.Response(503), 2: httpx2.Response(429, headers={"Retry-After": "0"})}
    assert len(fetch(stand_in)) == 1
    assert len(stand_in.asked) == 3


def test_a_small_body_that_unpacks_to_a_large_one_is_refused_before_it_is_unpacked() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    stand_in = StandIn()
    stand_in.answers = {
        1: httpx2.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx2.ByteStream(bomb))
    }
    assert failure_of(stand_in) == "too_large"


def test_a_compressed_page_is_read() -> None:
    stand_in = StandIn()
    packed = gzip.compress(body(many(2)))
    stand_in.answers = {
        1: httpx2.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx2.ByteStream(packed))
    }
    assert json.loads(fetch(stand_in)[0].body)["Count"] == 2


class Dripping(BaseHTTPRequestHandler):
    """A real server that answers a byte at a time, or not at all, or less than it promised."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        content = body(many(2))
        if "/stall" in self.path:
            time.sleep(4)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if "/cut" in self.path:
            self.close_connection = True
            self.wfile.write(content[:100])
            return
        try:
            for place in range(len(content)):
                self.wfile.write(content[place : place + 1])
                time.sleep(0.05)
        except OSError:
            pass

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def dripping() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Dripping)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("way", "code"), [("drip", "too_slow"), ("stall", "too_slow"), ("cut", "no_answer")])
def test_a_server_that_drips_stalls_or_breaks_off_costs_bounded_time(
    dripping: str, way: str, code: str
) -> None:
    began = time.monotonic()
    with open_client(QUICK) as client, pytest.raises(SourceFailure) as caught:
        list(azure.fetch(client, f"{dripping}/{way}", {}, QUICK))
    assert caught.value.code == code
    assert time.monotonic() - began < QUICK.page_s + 3 * QUICK.silence_s
