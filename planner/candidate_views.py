"""One candidate as the sheet shows it: cells, tiles, blocks, bill, what to know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from planner import assumption_words, cautions, reach_words, wording
from planner.columns import Column
from planner.derivation_view import DerivationView, GroupView, grouped, set_by_hand
from planner.figures import (
    DECIMALS,
    HOURS_SHOWN,
    Cell,
    Figure,
    cell,
    exact,
    money,
    money_known,
    money_plain,
    seconds,
    significant,
    unit_price,
)
from planner.kinds.frame import Block, Cost, Kind, Measure
from planner.kinds.host_block import rate
from planner.memory_bar import MemoryBar, memory_bar
from planner.quotes import quote_facts
from planner.sizing.bill import COMMITTED_TIERS
from planner.sizing.quantities import GIB
from planner.sizing.results import Candidate


@dataclass(frozen=True)
class SpeedTile:
    """One of the figures a kind is judged by."""

    measure: Measure
    figure: Figure | None
    is_crossed: bool
    """It meets its target while its range does not."""


@dataclass(frozen=True)
class BillLineView:
    what: str
    amount: str | None
    detail: str
    source: str
    note: str
    opens: str = ""
    """Name of the derivation of its amount."""


@dataclass(frozen=True)
class CandidateView:
    """One candidate, ready for the table, the answer strip and its own page."""

    kind: Kind
    it: Candidate
    cells: tuple[Cell, ...]
    layout: str
    place: str
    verdict: str
    limit: str
    limit_sentence: str
    total: str
    per_unit: str | None
    """Cost of one unit of use."""
    age: str
    misses: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    crossed: frozenset[str] = frozenset()
    """Columns whose figure meets its target while its range does not."""

    @property
    def machines(self) -> str:
        text, sets = wording.machines(self.it.machines, self.it.idle_gpus), self.it.monthly.sets
        if sets == 1:
            return text
        beside = ngettext("%(n)s set of machines", "%(n)s sets side by side", sets) % {"n": f"{sets:,}"}
        return wording.listed((text, beside))

    @property
    def flags(self) -> tuple[str, ...]:
        """What must be known of the price before it is believed."""
        offer = self.it.offer
        expired = offer.quote is not None and offer.quote.expired
        found = []  # looked up only where they hold: a page asks for hundreds
        if offer.floor:
            is_reserved = offer.tier in COMMITTED_TIERS
            found.append(_("from this price on") if is_reserved else _("floor price"))
        if offer.estimated:
            found.append(_("estimated"))
        if offer.quote is not None:
            found.append(_("private offer"))
        if expired:
            found.append(_("quote expired"))
        if offer.stale and not expired:
            found.append(_("old price"))
        return tuple(found)

    @property
    def is_without_tax(self) -> bool:
        """Whether the price is known to hold no tax: a public one that says nothing is a list price without it."""
        offer = self.it.offer
        return not offer.tax_included and (offer.tax_included is False or offer.quote is None)

    @property
    def tax(self) -> str:
        if self.is_without_tax:
            return _("Without tax.")
        if self.it.offer.tax_included:
            return _("Tax is included.")
        return _("Whether tax is included is not stated.")

    @property
    def quote(self) -> tuple[tuple[str, str], ...]:
        """What the provider was asked and answered, with a private offer; what was not answered reads so."""
        offer = self.it.offer
        return quote_facts(offer.quote, tax_included=offer.tax_included) if offer.quote else ()

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """For paper: for how many sets or months the bill is, the stock as last seen, and what the provider was asked
        and answered."""
        offer, monthly = self.it.offer, self.it.monthly
        bill = ((_("Sets of machines side by side"), f"{monthly.sets:,}"),) if monthly.sets > 1 else ()
        if monthly.months > 1:
            bill = ((_("Months that this bill is for"), f"{monthly.months:,}"),)
        seen = ((_("Stock as last seen"), f"{self.stock} ({offer.stock_on})"),) if self.stock else ()
        return (*bill, *seen, *self.quote)

    @property
    def memory(self) -> MemoryBar:
        return memory_bar(self.it.memory)

    @property
    def memory_note(self) -> str:
        return self.kind.memory_note(self.it)

    @property
    def memory_facts(self) -> tuple[tuple[str, Figure], ...]:
        return self.kind.memory_facts(self.it)

    @property
    def other_layout(self) -> str:
        return reach_words.other_layout(self.it)

    @property
    def longest_context(self) -> str:
        return reach_words.longest_context(self.it)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.kind.blocks(self.it)

    @property
    def speeds(self) -> tuple[SpeedTile, ...]:
        """The figures the kind is judged by, the most important first."""
        return tuple(
            SpeedTile(measure, measure.figure(self.it), measure.key in self.crossed)
            for measure in self.kind.measures
        )

    @property
    def no_speed(self) -> str:
        """What is said where the most important of them has no figure."""
        return "" if self.kind.measures[0].of(self.it) else self.kind.missing(self.it)

    @property
    def costs(self) -> tuple[tuple[Cost, str | None], ...]:
        """Amounts with their labels, the most important first."""
        return tuple((cost, cost.text(self.it)) for cost in self.kind.costs)

    @property
    def told_figures(self) -> list[dict[str, Any]]:
        """Figures by which the page tells what a change did, in the unit of charts."""
        found: list[dict[str, Any]] = [
            {
                "key": "memory",
                "label": _("memory"),
                "value": self.it.memory.needed_bytes / GIB,
                "unit": "GiB",
            }
        ]
        for measure in self.kind.measures:
            estimate = measure.on_axis(self.it)
            if estimate is not None:
                label = str(measure.name)
                found.append(
                    {
                        "key": measure.key,
                        "label": label,
                        "value": estimate.value,
                        "unit": measure.shown_unit,
                    }
                )
        currency = self.it.monthly.currency
        total = float(self.it.monthly.total)
        found.append(
            {
                "key": "monthly",
                "label": _("per month"),
                "value": total,
                "unit": currency,
                "money": True,
                "least": not self.it.monthly.complete,
            }
        )
        return found

    @property
    def bill(self) -> tuple[BillLineView, ...]:
        return tuple(_bill_line(self.it, number) for number in range(len(self.it.monthly.lines)))

    @property
    def missing(self) -> str:
        return wording.word("missing", ", ".join(self.it.monthly.missing)) if self.it.monthly.missing else ""

    @cached_property
    def derivation_groups(self) -> tuple[GroupView, ...]:
        return grouped(self.it.derivations, self.kind.settable)

    @cached_property
    def rests_on_hand(self) -> frozenset[str]:
        """Figures in whose derivation, or in one that it leads to, an assumption is set by hand."""
        return set_by_hand(self.derivations)

    @property
    def derivations(self) -> tuple[DerivationView, ...]:
        return tuple(made for group in self.derivation_groups for made in group.derivations)

    @property
    def tier(self) -> str:
        """The tier in words, with the terms within it where its source names some."""
        offer = self.it.offer
        terms = wording.word("terms", offer.tier_detail) if offer.tier_detail else ""
        return " · ".join(filter(None, (wording.word("tier", offer.tier), terms)))

    @property
    def link(self) -> str:
        return wording.word("link", self.it.offer.link or "unknown")

    @property
    def stock(self) -> str:
        """Stock as last seen; empty where its source says nothing of it."""
        return wording.word("stock", self.it.offer.stock) if self.it.offer.stock else ""

    @property
    def price(self) -> str:
        offer = self.it.offer
        text = assumption_words.price(
            f"{unit_price(offer.price_amount)} {offer.price_currency}", offer.price_unit
        )
        if offer.upfront is None or offer.recurring is None:
            return text
        return assumption_words.paid_upfront(
            text, f"{unit_price(offer.upfront)} {offer.price_currency}", offer.term_months or 0,
            assumption_words.price(f"{unit_price(offer.recurring)} {offer.price_currency}", offer.price_unit),
        )  # fmt: skip


def _bill_line(candidate: Candidate, number: int) -> BillLineView:
    line = candidate.monthly.lines[number]
    currency = candidate.monthly.currency
    detail = ""
    if line.unit_price is not None:
        price = f"{unit_price(line.unit_price)} {line.unit_price_currency or currency}"
        detail = f"{exact(line.quantity)} {assumption_words.unit(line.unit)} × {price}"
    elif line.quantity:
        detail = f"{exact(line.quantity)} {assumption_words.unit(line.unit)}"
    amount = None if line.amount is None else money_plain(line.amount, currency)
    if line.what == "rework" and line.amount == 0 and line.unit_price:
        # Less than half a hundredth of an hour: the bill leaves it out, the page does not call it nothing.
        amount = f"< {money_plain(Decimal(1).scaleb(-DECIMALS.get(currency, 2)), currency)}"
        detail = detail.replace(exact(line.quantity), f"< {HOURS_SHOWN:g}", 1)
    return BillLineView(
        what=wording.word("line", line.what),
        amount=amount,
        detail=detail,
        source=line.source or "",
        note=assumption_words.note(line.note),
        opens="" if line.amount is None else f"{line.what}_line",
    )


def candidate_view(
    kind: Kind,
    candidate: Candidate,
    columns: Iterable[Column],
    *,
    language: str,
    workload: Mapping[str, Any] | None = None,
) -> CandidateView:
    """``workload`` is what was asked for, where figures that only just meet it are to be marked."""
    offer = candidate.offer
    name = offer.region_name_ja if language == "ja" and offer.region_name_ja else offer.region_name
    bill = candidate.monthly
    crossed = cautions.crossed(kind, candidate, workload or {})
    cells = (cell(column, candidate) for column in columns)
    return CandidateView(
        kind=kind,
        it=candidate,
        cells=tuple(
            replace(made, range=f"△ {made.range}") if made.column.key in crossed else made for made in cells
        ),
        layout=wording.layout(candidate.replicas, candidate.layout),
        place=name or offer.region,
        verdict=wording.word("verdict", candidate.verdict),
        limit=wording.word("limit", candidate.limit),
        limit_sentence=wording.limit_sentence(candidate.limit),
        total=money_known(bill.total, bill.currency, complete=bill.complete),
        per_unit=kind.unit_cost.text(candidate),
        age=wording.age(offer.price_age_days),
        misses=tuple(
            _miss(miss.target, miss.asked, miss.got, candidate.monthly.currency) for miss in candidate.misses
        ),
        warnings=tuple(wording.warning(code) for code in candidate.warnings),
        crossed=frozenset(crossed),
    )


def _miss(target: str, asked: float, got: float | None, currency: str) -> str:
    def shown(value: float) -> str:
        if target in ("ttft_s", "tpot_s"):
            return " ".join(seconds(value))
        if target == "deadline_hours":
            return f"{significant(value)} h"
        if target.endswith("_minutes_maximum"):
            return f"{significant(value)} min"
        if target == "storage_read":
            return rate(value)
        if target == "budget_per_month":
            return money(Decimal(str(value)), currency)
        return significant(value)

    words = {"target": wording.word("misses", target), "asked": shown(asked)}
    if got is None:
        return _("%(target)s: asked %(asked)s, not reached under this load") % words
    return _("%(target)s: asked %(asked)s, expected %(got)s") % (words | {"got": shown(got)})
