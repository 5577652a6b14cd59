"""Hostile requests end at the door, with the product's own page and all headers."""

from __future__ import annotations

from typing import Any, cast

import pytest
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import path
from pytest_django.fixtures import Settings

from mitsumori import views
from mitsumori.middleware import EarlyRejection

pytestmark = pytest.mark.django_db

LOGIN = "/accounts/login/"
FORM = "application/x-www-form-urlencoded"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@pytest.fixture
def quiet() -> Client:
    return Client(raise_request_exception=False)


def assert_own_page(response: Any) -> None:
    for name, value in HEADERS.items():
        assert response.headers.get(name) == value, name
    policy = response.headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    for directive in ("object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "script-src 'self'"):
        assert directive in policy
    assert response.headers["Cache-Control"] == "no-store, private"
    assert b"<h1>" in response.content
    assert b"Traceback" not in response.content


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/a%00b", 400),
        ("/a%0ab", 400),
        ("/?q=%00", 400),
        ("/?q=%FF%FE", 400),
        ("/?q=%ED%A0%80", 400),
        ("/?q=%C0%AF", 400),
        ("/?q=" + "x" * 9000, 414),
        ("/nothing-here/", 404),
    ],
)
def test_a_broken_address_gets_the_own_page(quiet: Client, address: str, status: int) -> None:
    response = quiet.get(address)
    assert response.status_code == status
    assert_own_page(response)


def test_text_in_any_language_passes_the_door(quiet: Client) -> None:
    assert quiet.get("/", {"q": "見積 𠮷髙﨑①㈱ 👩‍🔬\t\n"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"login=a%00b", FORM, 400),
        (b"login=%1b", FORM, 400),
        (b"login=\x82\xa0", FORM, 400),
        (b"login=%ED%A0%80", FORM, 400),
        (b"login=a", FORM + "; charset=utf-16", 400),
        (b"login=a", FORM + "; charset=shift_jis", 400),
        (b"x" * 1_500_000, FORM, 413),
        (b"x" * 3_000_000, FORM, 413),
        (b"&".join(b"f%d=1" % n for n in range(600)), FORM, 400),
        (b"--b\r\n", "multipart/form-data", 400),
        (b"no parts at all", "multipart/form-data; boundary=b\xe9".encode("latin-1").decode("latin-1"), 400),
        (
            b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xff\xfe\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
            400,
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\na\x00\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
            400,
        ),
    ],
)
def test_a_broken_form_gets_the_own_page(quiet: Client, body: bytes, kind: str, status: int) -> None:
    response = quiet.generic("POST", LOGIN, body, content_type=kind)
    assert response.status_code == status
    assert_own_page(response)


def test_a_good_form_passes_the_door_in_both_encodings(quiet: Client) -> None:
    fields = {"login": "見積@example.com", "password": "x"}
    assert quiet.post(LOGIN, fields).status_code == 200
    assert (
        quiet.generic("POST", LOGIN, b"login=%E8%A6%8B&password=a%0d%0ab", content_type=FORM).status_code
        == 200
    )


def test_a_body_without_a_stated_size_is_refused_unread(quiet: Client) -> None:
    response = quiet.generic(
        "POST", LOGIN, b"", content_type=FORM, HTTP_TRANSFER_ENCODING="chunked", CONTENT_LENGTH=""
    )
    assert response.status_code == 411
    assert_own_page(response)


class Pieces:
    """An upload that arrives in pieces, and counts how it is read."""

    def __init__(self, size_bytes: int) -> None:
        self.left_bytes = size_bytes
        self.largest_bytes = 0

    def read(self, size_bytes: int = -1) -> bytes:
        self.largest_bytes = max(self.largest_bytes, size_bytes if size_bytes >= 0 else self.left_bytes)
        piece = min(size_bytes, self.left_bytes) if size_bytes >= 0 else self.left_bytes
        self.left_bytes -= piece
        return b"x" * piece


def test_a_large_body_is_refused_without_being_kept() -> None:
    size_bytes = 100 * 1024 * 1024
    upload = Pieces(size_bytes)
    request = RequestFactory().post(LOGIN, CONTENT_LENGTH=str(size_bytes))
    request._stream = cast(Any, upload)
    response = EarlyRejection(lambda passed: HttpResponse("passed"))(request)
    assert response.status_code == 413
    assert upload.left_bytes == 0, "the client could send everything and then sees the answer"
    assert upload.largest_bytes <= 64 * 1024
    assert "Connection" not in response.headers


def test_an_endless_body_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mitsumori.middleware.DISCARD_LIMIT_S", 0.05)
    request = RequestFactory().post(LOGIN, CONTENT_LENGTH=str(10**15))
    request._stream = cast(Any, Pieces(10**15))
    response = EarlyRejection(lambda passed: HttpResponse("passed"))(request)
    assert response.status_code == 413
    assert response.headers["Connection"] == "close"


def test_large_headers_are_refused(quiet: Client) -> None:
    response = quiet.get("/", HTTP_COOKIE="a=" + "x" * 20_000)
    assert response.status_code == 431
    assert_own_page(response)
    assert quiet.get("/", HTTP_COOKIE="a=" + "x" * 2_000).status_code == 200


def test_a_cookie_with_control_characters_is_refused(quiet: Client) -> None:
    assert quiet.get("/", HTTP_COOKIE='sessionid="a\\000b"').status_code == 400


@pytest.mark.parametrize("method", ["TRACE", "PROPFIND", "FOO"])
def test_other_methods_are_refused(quiet: Client, method: str) -> None:
    response = quiet.generic(method, "/")
    assert response.status_code == 405
    assert_own_page(response)


def test_a_page_asked_with_the_wrong_method_says_so(quiet: Client) -> None:
    response = quiet.post("/healthz")
    assert response.status_code == 405
    assert "GET" in response.headers["Allow"]
    assert_own_page(response)


def test_an_unknown_host_is_refused(quiet: Client) -> None:
    response = quiet.get("/", HTTP_HOST="evil.example")
    assert response.status_code == 400
    assert_own_page(response)
    assert quiet.get("/", HTTP_X_FORWARDED_HOST="evil.example").status_code == 200


def test_a_form_without_its_token_changes_nothing() -> None:
    response = Client(enforce_csrf_checks=True).post(LOGIN, {"login": "a@example.com", "password": "x"})
    assert response.status_code == 403
    assert_own_page(response)


def test_hsts_is_sent_over_https_only(quiet: Client) -> None:
    assert "Strict-Transport-Security" not in quiet.get("/").headers
    assert quiet.get("/", secure=True).headers["Strict-Transport-Security"].startswith("max-age=31536000")
    assert "Strict-Transport-Security" in quiet.get("/", secure=True, HTTP_HOST="evil.example").headers


def test_a_cookie_set_over_https_is_never_sent_without_it(quiet: Client) -> None:
    assert not quiet.get(LOGIN).cookies["csrftoken"]["secure"]
    assert quiet.get(LOGIN, secure=True).cookies["csrftoken"]["secure"]


def test_pages_of_a_signed_in_person_are_never_kept(user_client: Client) -> None:
    assert user_client.get("/").headers["Cache-Control"] == "no-store, private"
    assert Client().get("/").headers["Cache-Control"] == "no-cache"


def _fail(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("secret detail")


def _away(request: HttpRequest) -> HttpResponse:
    raise OperationalError("connection to server failed: secret detail")


urlpatterns = [
    path("fail/", _fail),
    path("away/", _away),
    path("api/v1/away/", _away),
    path("api/v1/fail/", _fail),
]
handler500 = views.server_error


@pytest.fixture
def failing(settings: Settings) -> None:
    settings.ROOT_URLCONF = __name__


@pytest.mark.usefixtures("failing")
def test_an_error_of_ours_shows_the_own_page_and_no_detail(quiet: Client) -> None:
    response = quiet.get("/fail/")
    assert response.status_code == 500
    assert b"secret" not in response.content
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "Content-Security-Policy" in response.headers


@pytest.mark.usefixtures("failing")
def test_a_database_that_is_away_is_503_with_a_time_to_come_back(quiet: Client) -> None:
    response = quiet.get("/away/")
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "5"
    assert b"secret" not in response.content
    answer = quiet.get("/api/v1/away/")
    assert answer.status_code == 503
    assert answer.json()["field"] is None
    assert "database" in answer.json()["error"]
