"""Cost of one unit of use against how far the machines are used."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from planner.charts import Axis
from planner.explore.shapes import Curve, Curves, Mark
from planner.figures import significant
from planner.sizing.results import Candidate

SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def chart(
    first: Candidate | None, others: tuple[Candidate, ...], *, managed_per_million: float | None = None
) -> Curves | None:
    """Cost of a million tokens = cost at full use ÷ share of full use: of the first candidate, then of others.

    The first is drawn with what is known of its price; of the others, those with whole prices. A price by the
    token, tokens in and out mixed as the workload mixes them, is a line across and meets each curve at break-even.
    """
    curves: list[Curve] = []
    now: float | None = None
    even: float | None = None
    seen: set[str] = set()
    for candidate in (*((first,) if first else ()), *others):
        full, average = candidate.per_million_tokens.at_full_use, candidate.per_million_tokens.all
        is_first = candidate is first
        if full is None or average is None or average <= 0 or not (is_first or candidate.monthly.complete):
            continue
        name = _name(candidate)
        if name in seen:
            continue  # The same machine in another region, or the first once more.
        seen.add(name)
        points = tuple((share * 100, float(full) / share) for share in SHARES)
        curves.append(Curve(name, points))
        if is_first:
            now = float(full / average) * 100
            even = float(full) / managed_per_million * 100 if managed_per_million else None
    if not curves:
        return None
    currency = (first or others[0]).monthly.currency
    upright = tuple(
        Mark(share, label)
        for share, label in ((now, _("now")), (even, _("break-even")))
        if share is not None and SHARES[0] * 100 <= share <= 100
    )
    across = (Mark(managed_per_million, _("managed")),) if managed_per_million else ()
    return Curves(
        title=_("Cost of 1M tokens against utilisation"),
        x=Axis(_("Share of full use"), "%"),
        y=Axis(_("Per 1M tokens"), currency),
        curves=tuple(curves[:4]),
        across=across,
        upright=upright,
        caption=" ".join([*_caption(first, managed_per_million, even)]),
    )


def _name(candidate: Candidate) -> str:
    machine = f"{candidate.offer.accelerator}, {candidate.offer.provider_name}"
    if candidate.monthly.complete:
        return machine
    return _("%(machine)s (≥, known lines only)") % {"machine": machine}


def _caption(first: Candidate | None, managed: float | None, even: float | None) -> Iterator[str]:
    yield _(
        "A machine costs the same whether it works or waits: the cost of a token is that at full use, divided "
        "by the share of it that is used. “Now” is the average load of the first candidate."
    )
    if first is not None and not first.monthly.complete:
        yield _(
            "Lines of the first candidate's price are unknown, so its curve is the least it can cost; the others "
            "have complete prices."
        )
    if managed is None or even is None:
        return
    if even > 100:
        yield _("By the token, the managed service costs less than the first candidate at any use.")
    else:
        yield _(
            "The first candidate costs less than the managed service from %(share)s %% of full use on."
        ) % {"share": significant(even)}
