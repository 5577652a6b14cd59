"""Commitments: for how long, what is paid at once, and what an hour of them comes to."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

HOURS_OF_MONTH = Decimal(730)
"""24 × 365 ÷ 12: a year of 8,760 hours has twelve of them."""
STEP = Decimal("0.000001")

_TERM = re.compile(r"(?:^|_)(\d{1,2})(m|y)(?:_|$)")


def term_months(tier_detail: str) -> int | None:
    """How long a commitment binds, read from its code; None where the code does not say.

    >>> term_months("savings_3y"), term_months("reserved_1y_partial_upfront"), term_months("from")
    (36, 12, None)
    """
    found = _TERM.search(tier_detail)
    return int(found[1]) * (12 if found[2] == "y" else 1) if found else None


def price_per_hour(upfront: Decimal, recurring: Decimal, months: int) -> Decimal:
    """What an hour of the whole term comes to: upfront ÷ (months × 730 h) + price per hour, to six places.

    >>> price_per_hour(Decimal("144645"), Decimal("33.024"), 12)
    Decimal('49.536000')
    """
    return (upfront / (months * HOURS_OF_MONTH) + recurring).quantize(STEP, ROUND_HALF_UP)
