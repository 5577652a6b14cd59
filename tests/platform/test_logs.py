from __future__ import annotations

import json
import logging
from typing import Any

import pytest
import structlog
from django.conf import settings
from django.test import Client

from mitsumori.logs import hide_secrets

SECRET = "mit_" + "A1b2" * 8


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET /s/abcdef123456/export.csv", "GET /s/[hidden]/export.csv"),
        ("/accounts/password/reset/key/1-abc-def/", "/accounts/password/reset/key/[hidden]/"),
        (f"Bearer {SECRET}", "Bearer [hidden]"),
        ("/plans/abcdef123456/", "/plans/abcdef123456/"),
        ("/static/css/base.css", "/static/css/base.css"),
    ],
)
def test_secrets_in_addresses_are_hidden(text: str, shown: str) -> None:
    assert hide_secrets(None, "info", {"event": text, "count": 3}) == {"event": shown, "count": 3}


def lines_of(record: logging.LogRecord, renderer: Any) -> str:
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        foreign_pre_chain=settings.LOGGING["formatters"]["lines"]["foreign_pre_chain"],
    )
    return formatter.format(record)


@pytest.mark.parametrize(
    "renderer",
    [structlog.processors.JSONRenderer(), structlog.processors.LogfmtRenderer()],
    ids=["json", "console"],
)
def test_an_entry_is_one_line_and_hides_secrets_of_any_logger(renderer: Any) -> None:
    told = f"/s/{SECRET}/\nlevel=info event=forged"
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "failed %s", (told,), None)
    line = lines_of(record, renderer)
    assert "\n" not in line
    assert SECRET not in line
    assert "forged" in line


@pytest.mark.django_db
def test_a_request_leaves_one_entry_without_its_secret(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", logger="django_structlog"):
        Client().get("/s/not-a-link-at-all/")
    entries = [record for record in caplog.records if "request_finished" in str(record.msg)]
    assert len(entries) == 1
    assert "not-a-link-at-all" not in json.dumps(entries[0].msg, default=str)
    assert "[hidden]" in json.dumps(entries[0].msg, default=str)
