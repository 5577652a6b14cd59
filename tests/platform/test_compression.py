"""Pages travel packed; files as they are."""

from __future__ import annotations

import gzip

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_a_page_is_packed_for_who_can_unpack_it(client: Client) -> None:
    packed = client.get("/components/", headers={"accept-encoding": "gzip, br"})
    plain = client.get("/components/")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert len(packed.content) < len(plain.content) / 2
    assert b"</html>" in gzip.decompress(packed.content)


def test_answers_of_the_api_and_files_stay_as_they_are(client: Client) -> None:
    for address in ("/api/v1/schema/workload", "/plans/draft/export.csv"):
        answer = client.get(address, headers={"accept-encoding": "gzip"})
        assert answer.status_code == 200
        assert "Content-Encoding" not in answer.headers


def test_the_length_of_a_page_tells_nothing(client: Client) -> None:
    lengths = {
        len(client.get("/components/", headers={"accept-encoding": "gzip"}).content) for _time in range(12)
    }
    assert len(lengths) > 1
