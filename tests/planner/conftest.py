"""The shipped catalog as a market, and a market in the test's own database."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from catalog.seed_loading import load_seeds
from planner import market
from planner.sizing.offers import Market
from tests.factories import AT


@pytest.fixture(scope="session")
def shipped_market(django_db_setup: None, django_db_blocker: Any) -> Market:
    """The market of the shipped seeds; nothing of it stays in the database."""
    with django_db_blocker.unblock(), transaction.atomic():
        load_seeds(AT)
        found = market.build("shipped", AT, past=False)
        transaction.set_rollback(True)
    return found
