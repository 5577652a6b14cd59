"""The part of a page that shows a saved version: the same for its team and for the reader of a link."""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from reports import currencies, presenters, sheets
from reports.kept import Kept, identity
from reports.models import PlanVersion

PAGES_KEPT = 64
_kept: Kept[SafeString] = Kept(PAGES_KEPT)


def draw(version: PlanVersion) -> None:
    """Draws the first page once, to see that it can be."""
    sheet(version, None, is_shared=False)


def sheet(version: PlanVersion, asked_page: str | None, *, is_shared: bool, currency: str = "") -> SafeString:
    """The sheet as HTML, drawn from what was stored; in another currency where one of those known is asked for."""
    currency = asked_currency(currency)
    number = presenters.page_number(asked_page)

    def draw() -> SafeString:
        shown = sheets.of_version(version, is_shared=is_shared)
        if currency:
            shown = currencies.shown_in(shown, currency, currencies.rates(shown.priced_at.date()))
        context = {
            "sheet": shown,
            "view": presenters.page(shown, number),
            "is_shared": is_shared,
            "currencies": currencies.CURRENCIES,
            "currency": currency or own_currency(shown),
        }
        return render_to_string("reports/_sheet.html", context)

    return _kept.get((*identity(version), get_language(), number, is_shared, currency), draw)


def own_currency(shown: sheets.Sheet) -> str:
    """The currency of its first workload."""
    return str(shown.workloads[0].comparison.workload.get("currency") or "USD")


def asked_currency(text: str) -> str:
    """One of the currencies that a reader may switch to; empty for the plan's own."""
    return text if text in currencies.CURRENCIES else ""
