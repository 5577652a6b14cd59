"""What would help, and what conditions cost, in words."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from planner import change_words, wording
from planner.figures import money_known, seconds, significant
from planner.sizing.results import Candidate, Comparison, Relief, Remedy
from planner.sizing.workload import Targets

SHORT = {"ttft_s": "TTFT", "tpot_s": "TPOT"}


@dataclass(frozen=True)
class RemedyView:
    """One change that would help, and what comes first with it."""

    it: Remedy
    what: str
    month: str
    first: str
    """The first candidate then: layout, card, provider, place."""
    how_many: str
    query: str = ""
    """The screen with this change made; empty where it takes more than one field."""


@dataclass(frozen=True)
class ReliefView:
    """What the first candidate's machines would be without one condition."""

    without: str
    month: str
    machines: str
    is_default: bool
    """The condition is one that was filled in, not typed."""


def remedy_views(comparison: Comparison, language: str) -> tuple[RemedyView, ...]:
    return tuple(_remedy(each, language) for each in comparison.remedies)


def _remedy(it: Remedy, language: str) -> RemedyView:
    offer = it.offer
    place = offer.region_name_ja if language == "ja" and offer.region_name_ja else offer.region_name
    layout = wording.layout(it.replicas, it.layout)
    how_many = (
        ngettext(
            "%(n)s candidate meets every target then",
            "%(n)s candidates meet every target then",
            it.candidates,
        )
        % {"n": f"{it.candidates:,}"}
        if it.candidates
        else _("it fits then without the headroom")
    )
    return RemedyView(
        it=it,
        what=change_words.change({"change": it.change, "to": it.value}),
        month=_month(it.total, it.currency, complete=it.complete),
        first=wording.listed(
            part for part in (layout, offer.accelerator, offer.provider_name, place or offer.region) if part
        ),
        how_many=how_many,
    )


def _month(total: Decimal, currency: str, *, complete: bool) -> str:
    return money_known(Decimal(total), currency, complete=complete)


def relief_views(candidate: Candidate) -> tuple[ReliefView, ...]:
    return tuple(_relief(each) for each in candidate.reliefs)


def _relief(it: Relief) -> ReliefView:
    if it.given_up == "headroom_fraction":
        without = _("Without the memory headroom of %(share)s %%") % {"share": f"{it.asked * 100:g}"}
    else:
        name, asked = SHORT[it.given_up], " ".join(seconds(it.asked))
        words = {"name": name, "asked": asked, "got": " ".join(seconds(it.got)) if it.got else "–"}
        without = _("Without “%(name)s within %(asked)s” (%(name)s %(got)s then)") % words
    machines = ngettext("%(n)s machine", "%(n)s machines", it.machines) % {"n": f"{it.machines:,}"}
    return ReliefView(
        without=without,
        month=_month(it.total, it.currency, complete=it.complete),
        machines=machines,
        is_default=is_default(it.given_up, it.asked),
    )


def is_default(target: str, asked: float) -> bool:
    """Whether a latency target is the one that is filled in for everybody."""
    return target in SHORT and getattr(Targets(), target) == asked


def binding_default(candidate: Candidate) -> Relief | None:
    """The default target that costs most of the candidate's machines; None where no default does."""
    ours = [each for each in candidate.reliefs if is_default(each.given_up, each.asked)]
    return min(ours, key=lambda each: each.machines, default=None)


def out_of_reach(candidate: Candidate) -> tuple[str, ...]:
    """Of each target that no number of replicas meets: what one request alone gets."""
    said = []
    for miss in candidate.misses:
        if miss.best is None or miss.got is None or miss.target not in SHORT:
            continue
        words = {
            "name": SHORT[miss.target],
            "asked": " ".join(seconds(miss.asked)),
            "got": " ".join(seconds(miss.got)),
            "best": " ".join(seconds(miss.best)),
            "n": f"{candidate.replicas:,}",
        }
        if significant(miss.got) == significant(miss.best):
            said.append(
                _(
                    "More replicas do not help: one request alone has a %(name)s of %(best)s here, wanted %(asked)s."
                )
                % words
            )
            continue
        said.append(
            ngettext(
                "More replicas do not help: with %(n)s, which holds the load, %(name)s is %(got)s, wanted %(asked)s; "
                "one request alone has %(best)s.",
                "More replicas do not help: with %(n)s, which hold the load, %(name)s is %(got)s, wanted %(asked)s; "
                "one request alone has %(best)s.",
                candidate.replicas,
            )
            % words
        )
    return tuple(said)
