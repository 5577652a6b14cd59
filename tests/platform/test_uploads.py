"""A file that is sent costs at most its field's limit of memory, and a bounded time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from mitsumori import uploads
from mitsumori.middleware import EarlyRejection

BOUNDARY = "bound"
FIELD_LIMIT_BYTES = 64 * 1024


class Body:
    """A form with a file of so many bytes, made while it is read."""

    def __init__(self, file_bytes: int, name: str = "config_file") -> None:
        head = (
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="users"\r\n\r\n7\r\n'
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"; filename="config.json"\r\n'
            "Content-Type: application/json\r\n\r\n"
        )
        tail = (
            f'\r\n--{BOUNDARY}\r\nContent-Disposition: form-data; name="out"\r\n\r\n123\r\n--{BOUNDARY}--\r\n'
        )
        self.size_bytes = len(head) + file_bytes + len(tail)
        self._pieces = self._made(head.encode(), file_bytes, tail.encode())
        self._rest = b""
        self.read_bytes = 0

    def _made(self, head: bytes, file_bytes: int, tail: bytes) -> Iterator[bytes]:
        yield head
        while file_bytes:
            piece = min(file_bytes, 256 * 1024)
            file_bytes -= piece
            yield b"A" * piece
        yield tail

    def readline(self, size_bytes: int = -1) -> bytes:
        """Asked for at the end, when nothing is left: a line could be all of the rest."""
        assert not self._rest
        return next(self._pieces, b"")

    def read(self, size_bytes: int) -> bytes:
        while len(self._rest) < size_bytes and (piece := next(self._pieces, b"")):
            self._rest += piece
        found, self._rest = self._rest[:size_bytes], self._rest[size_bytes:]
        self.read_bytes += len(found)
        return found


def posted(path: str, body: Body) -> WSGIRequest:
    request = RequestFactory().generic(
        "POST",
        path,
        b"",
        CONTENT_TYPE=f"multipart/form-data; boundary={BOUNDARY}",
        CONTENT_LENGTH=str(body.size_bytes),
    )
    request._stream = cast(Any, body)
    return request


def passed(request: HttpRequest) -> HttpResponse:
    return HttpResponse("passed")


def test_a_hundred_megabytes_leave_the_form_whole_and_no_more_than_the_limit() -> None:
    body = Body(100 * 1024 * 1024)
    request = posted("/workbench/", body)
    response = EarlyRejection(passed)(request)
    upload = uploads.given(request, "config_file")
    assert response.status_code == 200, "the view says at the field what is wrong"
    assert upload is not None
    assert upload.is_cut
    assert len(upload.data) == FIELD_LIMIT_BYTES
    assert (request.POST["users"], request.POST["out"]) == ("7", "123")
    assert body.read_bytes == body.size_bytes
    assert "config_file" not in request.FILES, "half a file is not taken for one"


def test_a_file_without_end_is_given_up_and_the_connection_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mitsumori.uploads.DISCARD_LIMIT_S", 0.02)
    monkeypatch.setattr("mitsumori.middleware.DISCARD_LIMIT_S", 0.02)
    body = Body(250 * 1024 * 1024)
    request = posted("/workbench/", body)
    response = EarlyRejection(lambda found: HttpResponse(status=422))(request)
    assert body.read_bytes < body.size_bytes
    assert request.POST["users"] == "7"
    assert response.headers["Connection"] == "close"


@pytest.mark.parametrize("size_bytes", [1, FIELD_LIMIT_BYTES])
def test_a_file_within_its_limit_arrives_whole(size_bytes: int) -> None:
    request = posted("/workbench/", Body(size_bytes))
    upload = uploads.given(request, "config_file")
    assert upload == uploads.Upload(name="config.json", data=b"A" * size_bytes, is_cut=False)
    assert cast(Any, request.FILES["config_file"]).read() == b"A" * size_bytes


def test_pages_that_take_no_files_refuse_large_posts_before_they_are_read_as_a_form() -> None:
    response = EarlyRejection(passed)(posted("/accounts/login/", Body(3 * 1024 * 1024)))
    assert response.status_code == 413


def test_a_body_beyond_every_limit_is_refused_even_where_files_are_taken() -> None:
    body = Body(10)
    body.size_bytes = 10**12
    assert EarlyRejection(passed)(posted("/workbench/", body)).status_code == 413


def test_a_field_that_nobody_asked_for_keeps_a_megabyte_at_most() -> None:
    request = posted("/workbench/", Body(1_900_000, name="other"))
    upload = uploads.given(request, "other")
    assert upload is not None
    assert len(upload.data) == 1024 * 1024
