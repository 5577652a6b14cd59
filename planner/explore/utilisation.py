"""Cost of one unit of use against how far the machines are used."""

from __future__ import annotations

from django.utils.translation import gettext as _

from planner.charts import Axis
from planner.explore.shapes import Curve, Curves, Mark
from planner.sizing.results import Candidate

SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def chart(candidates: tuple[Candidate, ...]) -> Curves | None:
    """Cost of a million tokens = cost at full use ÷ share of full use, of the first candidates with whole prices."""
    curves = []
    now: float | None = None
    seen: set[object] = set()
    for candidate in candidates:
        full, average = candidate.per_million_tokens.at_full_use, candidate.per_million_tokens.all
        if full is None or average is None or average <= 0 or not candidate.monthly.complete:
            continue
        if full in seen:
            continue  # The same machine in another region.
        seen.add(full)
        points = tuple((share * 100, float(full) / share) for share in SHARES)
        offer = candidate.offer
        curves.append(Curve(f"{candidate.rank}. {offer.accelerator}, {offer.provider_name}", points))
        now = float(full / average) * 100 if now is None else now
    if not curves:
        return None
    currency = candidates[0].monthly.currency
    upright = (Mark(now, _("now")),) if now is not None and SHARES[0] * 100 <= now <= 100 else ()
    return Curves(
        title=_("Cost of 1M tokens against utilisation"),
        x=Axis(_("Share of full use"), "%"),
        y=Axis(_("Per 1M tokens"), currency),
        curves=tuple(curves[:4]),
        upright=upright,
        caption=_(
            "A machine costs the same whether it works or waits: the cost of a token is that at full use, divided "
            "by the share of it that is used. “Now” is the average load of the first candidate."
        ),
    )
