from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings


def listed() -> list[str]:
    out = StringIO()
    call_command("show_routes", "--json", stdout=out)
    found: list[str] = json.loads(out.getvalue())
    return found


def test_every_address_is_listed_once() -> None:
    found = listed()
    assert len(found) == len(set(found))
    for address in ("/healthz", "/metrics", "/language/", "/accounts/login/", "/api/v1/openapi.json"):
        assert address in found
    assert "/accounts/password/reset/key/<uidb36>-<key>/" in found
    assert all(address.startswith("/") and "(?P" not in address and "^" not in address for address in found)


def test_the_list_is_for_development(settings: Settings) -> None:
    settings.PRODUCTION = True
    with pytest.raises(CommandError):
        call_command("show_routes")
