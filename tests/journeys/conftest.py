"""What the journeys start from: a small catalog of today, and a page to look at closely."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from catalog.models import Offer
from planner import market
from tests.planner.factories import make_offer, make_small_catalog

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = Path(__file__).parent.parent / "vendor" / "axe-4.14.1.min.js"
SERIOUS = ("serious", "critical")


@pytest.fixture
def catalog(transactional_db: None) -> list[Offer]:
    market.forget()
    at = timezone.now()
    return [
        *make_small_catalog(at),
        make_offer("H200-SXM", "3.80", at=at),
        make_offer("B200-SXM", "5.50", at=at),
    ]


@pytest.fixture
def look_for_barriers() -> Callable[[Page], list[str]]:
    """Runs axe in the page; what it finds serious or critical, each with its element."""

    def look(page: Page) -> list[str]:
        page.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
        found: Any = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{page.url} {violation['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
            for violation in found["violations"]
            if violation["impact"] in SERIOUS
            for node in violation["nodes"]
        ]

    return look
