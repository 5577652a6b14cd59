"""What one run costs on each term of sale, and the smallest machine that does it: two tables of a run's page."""

from __future__ import annotations

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from planner import wording
from planner.change_words import change
from planner.figures import Figure, There, given, hours, money, money_known, significant
from planner.kinds.frame import Block
from planner.kinds.host_block import value
from planner.options import TIERS
from planner.sizing.results import Candidate, SmallerMachine, TermCost
from planner.sizing.run_terms import advice

HOURS_PER_DAY = 24
LONG_DAYS = 7.0
"""From so long a run on it is worth asking for a commitment where none is known."""


def blocks(candidate: Candidate) -> tuple[Block, ...]:
    found = []
    if len(candidate.terms) > 1 or advised(candidate):
        found.append(_terms_block(candidate))
    if candidate.smallest:
        found.append(_smallest_block(candidate))
    return tuple(found)


def term_name(cost: TermCost) -> str:
    name = str(dict(TIERS).get(cost.tier, cost.tier))
    if cost.term_months:
        months = ngettext("%(count)d month", "%(count)d months", cost.term_months) % {
            "count": cost.term_months
        }
        return wording.listed((name, months, cost.provider))
    return wording.listed((name, cost.provider))


def days(found: float) -> str:
    return ngettext("%(days)s day", "%(days)s days", 1 if found == 1 else 2) % {"days": significant(found)}


def _terms_block(candidate: Candidate) -> Block:
    def paid(cost: TermCost) -> str:
        return " ".join(hours(cost.hours_paid))

    def pays(cost: TermCost) -> str:
        if cost.tier != "reserved":
            return "–"
        return _("never") if cost.pays_from_days is None else days(cost.pays_from_days)

    def total(cost: TermCost) -> str:
        shown = money(cost.total, cost.currency)
        return _("from %(amount)s") % {"amount": shown} if cost.floor else shown

    return Block(
        title=_("One run on each term of sale"),
        heads=(_("machine time"), _("paid of each machine"), _("pays from")),
        rows=tuple(
            (
                term_name(cost),
                (
                    Figure(total(cost), opens=f"term_{number}_total"),
                    Figure(paid(cost), opens=f"term_{number}_hours"),
                    pays(cost)
                    if cost.pays_from_days is None
                    else Figure(pays(cost), opens=f"term_{number}_days"),
                ),
            )
            for number, cost in enumerate(candidate.terms, start=1)
        ),
        note=" ".join(
            (
                *advised(candidate),
                _("Machine time alone; whole months and terms are paid to their end."),
                *_left_out(candidate),
            )
        ),
    )


def _left_out(candidate: Candidate) -> tuple[str, ...]:
    """Why the candidate's own price is no row of the table."""
    offer = candidate.offer
    if any(cost.offer_id == offer.offer_id for cost in candidate.terms):
        return ()
    if offer.estimated:
        return (_("Prices that a source only estimates, as this offer's is, are left out."),)
    if offer.floor and offer.tier != "reserved":
        return (_("Lowest asking prices of marketplaces, as this offer's is, are left out."),)
    return ()


def advised(candidate: Candidate) -> tuple[str, ...]:
    """What follows from the terms of sale, in sentences; none where only one term is known."""
    run_days = (value(candidate, "run_hours") or 0.0) / HOURS_PER_DAY
    said = []
    found = dict(advice(candidate.terms))
    if not any(cost.tier == "reserved" for cost in candidate.terms):
        if run_days < LONG_DAYS:
            return ()
        return (
            _("No reserved price of this machine is known: ask for one, since the run takes %(days)s.")
            % {"days": days(run_days)},
        )
    if "cheapest" in found and not _is_sold_here(found["cheapest"], candidate):
        least = found["cheapest"]
        # Machine time alone: what is kept and sent comes on top.
        is_whole = not least.floor and all(
            line.what not in ("storage", "egress") for line in candidate.monthly.lines
        )
        amount = money_known(least.total, least.currency, complete=is_whole)
        said.append(
            _("One run costs least with this: %(term)s, %(amount)s.")
            % {"term": term_name(least), "amount": amount}
        )
    if "pays_from" in found:
        cost = found["pays_from"]
        said.append(
            _("From %(from)s of work on this costs less than on demand: %(term)s. This run takes %(run)s.")
            % {"term": term_name(cost), "from": days(cost.pays_from_days or 0.0), "run": days(run_days)}
        )
    if "never_pays" in found:
        said.append(
            _("No commitment that is known of this machine costs less than on demand, however long it works.")
        )
    return tuple(said)


def _is_sold_here(cost: TermCost, candidate: Candidate) -> bool:
    """Whether a term is the one of the candidate's own offer."""
    offer = candidate.offer
    return (cost.provider, cost.tier, cost.term_months) == (
        offer.provider_name,
        offer.tier,
        offer.term_months,
    )


def _smallest_block(candidate: Candidate) -> Block:
    def machine(found: SmallerMachine) -> str:
        name = f"{found.gpu_count} × {found.accelerator}"
        return name if found.machines == 1 else f"{found.machines} × ({name})"

    def label(found: SmallerMachine) -> str:
        if found.change is None:
            return _("As asked")
        return capfirst(change({"change": found.change, "to": found.value}))

    def cost(found: SmallerMachine) -> str:
        if found.run_cost is None:
            return _("unknown")
        complete = candidate.monthly.complete if found.complete is None else found.complete
        return money_known(found.run_cost, found.currency, complete=complete)

    rows = tuple(
        (
            label(found),
            (
                given(machine(found)),
                *(
                    Figure(text, there=There(found.offer_id, found.change, found.value))
                    for text in (
                        f"{found.micro_batch} × {found.accumulation}",
                        " ".join(hours(found.run_hours or 0.0)),
                        cost(found),
                    )
                ),
            ),
        )
        for found in candidate.smallest
    )
    first = candidate.smallest[0]
    note = _(
        "By memory of all GPUs together. Accumulation is used already: the effective batch stays %(batch)s samples "
        "throughout, in micro-batches × accumulation on each rank."
    ) % {"batch": f"{first.effective_batch:,}"}
    if len(candidate.smallest) == 1 and first.change is None:
        note += " " + _("No change that was tried lets a smaller machine of this market work.")
    return Block(
        title=_("Smallest machine that works"),
        heads=(_("machine"), _("samples"), _("hours"), _("per run")),
        rows=rows,
        note=note,
    )
