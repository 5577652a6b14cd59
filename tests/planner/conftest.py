"""The shipped catalog as a market, and a market in the test's own database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from catalog.seed_loading import load_seeds
from planner import market, services
from planner.sizing.offers import Market
from tests.factories import AT
from tests.planner.factories import make_offer, make_small_catalog


@pytest.fixture(scope="session")
def shipped_market(django_db_setup: None, django_db_blocker: Any) -> Market:
    """The market of the shipped seeds; nothing of it stays in the database."""
    with django_db_blocker.unblock(), transaction.atomic():
        load_seeds(AT)
        found = market.build("shipped", AT, past=False)
        transaction.set_rollback(True)
    return found


@pytest.fixture
def small_catalog(db: None) -> Iterator[None]:
    """The small catalog, of which nothing is kept after the test."""
    services.forget()
    make_small_catalog()
    yield
    services.forget()


@pytest.fixture
def mixed_catalog(small_catalog: None) -> None:
    """The small catalog, a card with more memory, and a machine of eight."""
    make_offer("H200-SXM", "3.80")
    make_offer("H100-SXM5", "20", count=8)


@pytest.fixture
def now() -> datetime:
    return timezone.now()
