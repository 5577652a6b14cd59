"""From an answer to the ways to pay for it: the first candidate's machines, hours and volume, as a link."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from planner.hosting_sheet import service_of
from planner.service_months import millions_of
from planner.sizing.results import Candidate


def hosting_link(candidate: Candidate, workload: Mapping[str, Any], cleaned: Mapping[str, Any]) -> str:
    """The page of the ways to host with what is known of this answer; prices go along in US dollars alone.

    Tokens of the month as stated; else those of the rate; else monthly total ÷ cost of a token, in and out as the
    typical request mixes them.
    """
    offer, monthly = candidate.offer, candidate.monthly
    given: dict[str, str] = {"machines": str(candidate.machines)}
    if offer.offer_id > 0:
        given["offer"] = str(offer.offer_id)
    if monthly.hours and candidate.machines:
        given["hours_per_month"] = f"{min(float(monthly.hours), 744.0):.2f}".rstrip("0").rstrip(".")
    for name, millions in zip(("input", "output"), millions_of(candidate, workload), strict=True):
        if millions:
            given[f"{name}_millions_per_month"] = f"{millions:.2f}"
    rate = Decimal(1) if monthly.currency == "USD" else monthly.rate
    kept = sum(
        (line.amount for line in monthly.lines if line.what in ("storage", "egress") and line.amount),
        Decimal(0),
    )
    if kept and rate:
        given["storage_per_month"] = f"{kept / rate:.2f}"
    if monthly.currency == "USD":
        for name, key in (("managed_in", "input"), ("managed_out", "output")):
            if cleaned.get(name):
                given[f"managed_{key}_per_million"] = f"{cleaned[name]:g}"
    if not (cleaned.get("managed_in") or cleaned.get("managed_out")):
        given |= _service(workload)
    return f"{reverse('planner:hosting')}?{urlencode(given)}"


def _service(workload: Mapping[str, Any]) -> dict[str, str]:
    """The shipped price by the token of this very model, for its typical request."""
    lengths = [workload.get(name) or {} for name in ("input_tokens", "output_tokens")]
    typical = [length.get("typical") or 0 for length in lengths]
    longest = sum(length.get("maximum") or 0 for length in lengths)
    model = str((workload.get("model") or {}).get("id") or "")
    return service_of(model, typical[0], typical[1], longest)
