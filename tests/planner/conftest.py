"""The shipped catalog as a market, and a market in the test's own database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from django.db import transaction

from catalog.seed_loading import load_seeds
from planner import market
from planner.sizing.offers import Market
from tests.factories import AT


@pytest.fixture(autouse=True)
def no_market_of_another_test() -> Iterator[None]:
    """Markets are kept per process and catalog version; a rolled-back database repeats its versions."""
    market.forget()
    yield
    market.forget()


@pytest.fixture(scope="session")
def shipped_market(django_db_setup: None, django_db_blocker: Any) -> Market:
    """The market of the shipped seeds; nothing of it stays in the database."""
    with django_db_blocker.unblock(), transaction.atomic():
        load_seeds(AT)
        found = market.build("shipped", AT, past=False)
        transaction.set_rollback(True)
    return found


@pytest.fixture
def at_later(at: datetime) -> datetime:
    return at.replace(day=30, hour=12)
