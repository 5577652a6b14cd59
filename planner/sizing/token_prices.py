"""Prices by the token beside an answer: what services ask for its month, and the volume at which machines pay."""

from __future__ import annotations

from planner.sizing.offer_facts import Money
from planner.sizing.quantities import Frozen


class TokenPrice(Frozen):
    """What a service asks for a million tokens, in ``currency``. No service: the price was typed with the question."""

    service: str = ""
    input_per_million: Money
    output_per_million: Money
    currency: str
    context_tokens: int | None = None
    """The longest context that its source states; None: ask."""
    source: str = ""
    observed: str = ""
    """The day that it was listed on, as its source dates it."""


class ServiceMonth(Frozen):
    """One price beside the first candidate, in the currency of the question."""

    price: TokenPrice
    month: Money
    """millions in × price in + millions out × price out, rounded to the currency's smallest unit."""
    break_even_millions: Money
    """Million tokens a month, in the same mix, above which the machines cost less: total ÷ price of a million in it."""


class ServicesMonth(Frozen):
    """Services by the token for the tokens of the month that the answer counts, in the order of their months."""

    input_millions: float
    output_millions: float
    total: Money
    """Of the first candidate, as far as its lines are known."""
    complete: bool
    currency: str
    rows: tuple[ServiceMonth, ...]
