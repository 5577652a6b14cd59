"""Fixtures of the catalog's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from accounts.models import User
from catalog import services
from catalog.models import Provider, Refresh
from catalog.seed_loading import SeedReport, load_seeds
from catalog.sources.fetching import Limits
from tests.catalog.stand_in import BASE, StandIn
from tests.factories import AT, make_user

QUICK = Limits(run_s=5, page_s=2, silence_s=1, wait_s=0.01, pages=8, page_bytes=200_000)

Run = Callable[..., Refresh]


@pytest.fixture(scope="module")
def shipped_catalog(django_db_setup: None, django_db_blocker: Any) -> Iterator[SeedReport]:
    """The shipped catalog, loaded once for a module's tests; what they change is rolled back to it."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield load_seeds(AT)
        transaction.set_rollback(True)


@pytest.fixture
def report(shipped_catalog: SeedReport, db: None) -> SeedReport:
    """What loading the shipped catalog said; the catalog is there."""
    return shipped_catalog


@pytest.fixture
def azure(db: None) -> Provider:
    return Provider.objects.create(slug="azure", name="Microsoft Azure")


@pytest.fixture
def run(azure: Provider, settings: Any) -> Run:
    """Refresh Azure from a stand-in, so many days after the tests' moment."""
    settings.SOURCE_BASE_URLS = {"azure": BASE}

    def refresh(stand_in: StandIn, day: float = 0, **more: Any) -> Refresh:
        at: datetime = AT + timedelta(days=day)
        return services.refresh("azure", at, client=stand_in.client(), limits=QUICK, **more)

    return refresh


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries pause for no time worth waiting for."""
    monkeypatch.setattr("catalog.sources.fetching.PAUSES_S", (0.001, 0.001))


@pytest.fixture
def staff(db: None) -> User:
    return make_user("staff@example.com", is_staff=True)


@pytest.fixture
def staff_client(staff: User) -> Client:
    client = Client()
    client.force_login(staff, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client
