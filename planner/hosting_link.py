"""From an answer to the ways to pay for it: the first candidate's machines, hours and volume, as a link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from planner.sizing.results import Candidate


def hosting_link(candidate: Candidate, workload: Mapping[str, Any], cleaned: Mapping[str, Any]) -> str:
    """The page of the ways to host with what is known of this answer; prices go along in US dollars alone.

    Tokens of the month = monthly total ÷ cost of a token, in and out as the typical request mixes them.
    """
    offer, monthly = candidate.offer, candidate.monthly
    given: dict[str, str] = {"machines": str(candidate.machines)}
    if offer.offer_id > 0:
        given["offer"] = str(offer.offer_id)
    if monthly.hours and candidate.machines:
        given["hours_per_month"] = f"{min(float(monthly.hours), 744.0):.2f}".rstrip("0").rstrip(".")
    cost = candidate.per_million_tokens.all
    lengths = [workload.get(name, {}).get("typical") for name in ("input_tokens", "output_tokens")]
    if cost and all(lengths):
        tokens = float(monthly.total / cost)
        for name, length in zip(("input", "output"), lengths, strict=True):
            given[f"{name}_millions_per_month"] = f"{tokens * length / sum(lengths):.2f}"
    if monthly.currency == "USD":
        for name, key in (("managed_in", "input"), ("managed_out", "output")):
            if cleaned.get(name):
                given[f"managed_{key}_per_million"] = f"{cleaned[name]:g}"
    return f"{reverse('planner:hosting')}?{urlencode(given)}"
