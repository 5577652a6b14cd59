"""Services by the token beside an answer, as a table in words."""

from __future__ import annotations

from django.utils.translation import gettext as _

from catalog.source_words import said
from planner.figures import LEAST, given, money, money_known
from planner.kinds import by_rate
from planner.kinds.frame import Block
from planner.sizing.token_prices import ServicesMonth, TokenPrice


def named(price: TokenPrice) -> str:
    return said(price.service) if price.service else _("the price typed with the question")


def services_block(found: ServicesMonth) -> Block:
    """A row for each price: what it is, the month, and the volume from which the first candidate costs less."""
    least = "" if found.complete else LEAST
    return Block(
        title=_("The same month by the token"),
        heads=(
            _("1M tokens in"), _("1M tokens out"), _("per month"), _("break-even, million tokens a month"),
            _("read on"),
        ),
        rows=tuple(
            (
                named(row.price),
                (
                    given(money(row.price.input_per_million, found.currency, decimals=4)),
                    given(money(row.price.output_per_million, found.currency, decimals=4)),
                    given(money(row.month, found.currency)),
                    given(f"{least}{row.break_even_millions:,.2f}"),
                    row.price.observed or "–",
                ),
            )
            for row in found.rows
        ),
        note=_(
            "For %(in)s million tokens in and %(out)s million out a month. Break-even = %(total)s, the first "
            "candidate's month, ÷ the price of 1M tokens in this mix, (tokens in × price in + tokens out × price out) "
            "÷ all tokens: above it the machines cost less. It does not say whether these machines can serve so many."
        )
        % {
            "in": by_rate.short(found.input_millions),
            "out": by_rate.short(found.output_millions),
            "total": money_known(found.total, found.currency, complete=found.complete),
        },
    )  # fmt: skip
