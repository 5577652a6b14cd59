"""The tray: candidates that were put aside to be compared, as numbers of their offers in the link."""

from __future__ import annotations

from planner.forms import WorkbenchForm

TRAY_MAXIMUM = 6


def chosen(form: WorkbenchForm) -> list[int]:
    """Offers in the tray, in the order they were put there."""
    text = str(form.data.get("tray", "") or "")
    numbers = [part for part in text.split(",") if part.removeprefix("-").isdigit() and part.isascii()]
    return [int(part) for part in dict.fromkeys(numbers) if len(part) < 19][:TRAY_MAXIMUM]


def toggled(tray: list[int], offer_id: int) -> str:
    """The tray with an offer put in or taken out, as it stands in a link; a full tray loses its first."""
    without = [number for number in tray if number != offer_id]
    left = without if offer_id in tray else [*tray, offer_id][-TRAY_MAXIMUM:]
    return ",".join(str(number) for number in left)
