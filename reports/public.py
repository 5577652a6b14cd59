"""What of a version a link may show: everything but the team's private offers.

Quotes that a team received are for that team. A public version leaves them out of candidates and rejected offers,
counts and ranks anew, and carries a fingerprint of its own, since its content is another.
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.sizing.results import Candidate, Comparison, OfferFacts
from reports.content import comparison_text, read_comparison, sha256
from reports.models import PlanWorkload


def is_private(offer: OfferFacts) -> bool:
    """Private offers have negative ids: no offer of the catalog has one."""
    return offer.offer_id < 0


def holds_private(rows: Iterable[PlanWorkload]) -> bool:
    """Whether any of the stored answers names a private offer; most do not, and are not even parsed."""
    return any('"offer_id":-' in row.comparison_text for row in rows)


def shown_by_link(row: PlanWorkload) -> PlanWorkload:
    """The stored answer without private offers, not saved; the same text where there are none."""
    text = row.comparison_text
    if holds_private([row]):
        text = comparison_text(without_private(read_comparison(row)))
    return PlanWorkload(
        position=row.position,
        name=row.name,
        query=row.query,
        kind=row.kind,
        inputs_text=row.inputs_text,
        comparison_text=text,
        comparison_sha256=sha256(text),
    )


def _beside_none(candidate: Candidate) -> Candidate:
    """The candidate without tables in which a private offer stands: what pays from when is reckoned from its price."""
    terms, smallest = candidate.terms, candidate.smallest
    return candidate.model_copy(
        update={
            "terms": () if any(each.offer_id < 0 for each in terms) else terms,
            "smallest": () if any(each.offer_id < 0 for each in smallest) else smallest,
        }
    )


def _first_is_private(comparison: Comparison) -> bool:
    """Whether the total that break-even is reckoned from is that of a private offer."""
    return bool(comparison.candidates) and is_private(comparison.candidates[0].offer)


def without_private(comparison: Comparison) -> Comparison:
    """The comparison as it would stand without the team's own quotes, as far as what was kept can tell."""
    candidates = [_beside_none(each) for each in comparison.candidates if not is_private(each.offer)]
    rejected = [each for each in comparison.rejected if not is_private(each.offer)]
    lost = len(comparison.candidates) - len(candidates)
    classes = dict(comparison.class_counts)
    for candidate in comparison.candidates:
        if is_private(candidate.offer):
            classes[str(candidate.class_)] = classes.get(str(candidate.class_), 1) - 1
    counts = dict(comparison.rejected_counts)
    for each in comparison.rejected:
        if is_private(each.offer):
            counts[each.reason] = counts.get(each.reason, 1) - 1
    remedies = tuple(each for each in comparison.remedies if not is_private(each.offer))
    cheapest = comparison.cheapest
    if cheapest is not None and is_private(cheapest.offer):
        cheapest = None
    return comparison.model_copy(
        update={
            "candidates": tuple(
                each.model_copy(update={"rank": rank}) for rank, each in enumerate(candidates, start=1)
            ),
            "class_counts": classes,
            "remedies": remedies,
            "cheapest": cheapest,
            "services": None if _first_is_private(comparison) else comparison.services,
            "cheapest_offer_id": cheapest.offer.offer_id if cheapest else None,
            "candidates_total": comparison.candidates_total - lost,
            "rejected": tuple(rejected),
            "rejected_counts": {reason: count for reason, count in counts.items() if count > 0},
        }
    )
