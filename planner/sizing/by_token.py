"""What services by the token ask for the month of an answer, and from which volume on the machines cost less. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

from planner.sizing.bill import rounded
from planner.sizing.results import Candidate
from planner.sizing.token_prices import ServiceMonth, ServicesMonth, TokenPrice

MILLIONS_STEP = Decimal("0.01")
PRICE_STEP = Decimal("0.000001")


def services_month(
    first: Candidate, millions: tuple[float, float], prices: Iterable[TokenPrice]
) -> ServicesMonth | None:
    """None without tokens or prices. ``prices`` are in the currency of the bill.

    break-even = total ÷ (month ÷ million tokens): whether the machines can serve so many, it does not say.
    """
    taken, made = (Decimal(str(each)) for each in millions)
    bill = first.monthly
    rows = []
    for price in prices:
        month = taken * price.input_per_million + made * price.output_per_million
        if month <= 0:
            continue
        even = bill.total * (taken + made) / month
        rows.append(
            ServiceMonth(
                price=price,
                month=rounded(month, bill.currency),
                break_even_millions=even.quantize(MILLIONS_STEP, ROUND_HALF_UP),
            )
        )
    if not rows:
        return None
    return ServicesMonth(
        input_millions=millions[0], output_millions=millions[1], total=bill.total, complete=bill.complete,
        currency=bill.currency, rows=tuple(sorted(rows, key=lambda row: (row.month, row.price.service))),
    )  # fmt: skip


def converted(found: ServicesMonth, currency: str, factor: Decimal) -> ServicesMonth:
    """The same in another currency; the volumes stay."""

    def price(one: TokenPrice) -> TokenPrice:
        return one.model_copy(
            update={
                "input_per_million": (one.input_per_million * factor).quantize(PRICE_STEP),
                "output_per_million": (one.output_per_million * factor).quantize(PRICE_STEP),
                "currency": currency,
            }
        )

    rows = tuple(
        row.model_copy(update={"price": price(row.price), "month": rounded(row.month * factor, currency)})
        for row in found.rows
    )
    update = {"rows": rows, "total": rounded(found.total * factor, currency), "currency": currency}
    return found.model_copy(update=update)
