"""What all workloads of a plan cost together: the sum of their first candidates. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from planner.sizing.results import Comparison


@dataclass(frozen=True)
class CommonTotal:
    """Sum of the monthly totals in one currency. Incomplete: at least that much, as lines are unknown or a
    workload has no candidate."""

    currency: str
    amount: Decimal
    complete: bool
    workload_count: int


def common_totals(comparisons: Iterable[Comparison]) -> tuple[CommonTotal, ...]:
    """One total for each currency that the workloads were asked in, in the order they appear.

    Amounts of different currencies are never added: their rates may be of different days.
    """
    sums: dict[str, list[Decimal]] = {}
    complete: dict[str, bool] = {}
    for comparison in comparisons:
        currency = str(comparison.workload.get("currency") or "USD")
        amounts = sums.setdefault(currency, [])
        complete.setdefault(currency, True)
        if not comparison.candidates:
            complete[currency] = False
            amounts.append(Decimal(0))
            continue
        bill = comparison.candidates[0].monthly
        amounts.append(bill.total)
        complete[currency] = complete[currency] and bill.complete
    return tuple(
        CommonTotal(currency, sum(amounts, Decimal(0)), complete[currency], len(amounts))
        for currency, amounts in sums.items()
    )
