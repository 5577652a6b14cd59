"""What a sheet of the workbench brings to the page of ways to pay: its first candidate, hours, and tokens a month."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.http import QueryDict
from django.urls import reverse

from catalog.managed import managed_prices
from catalog.models import ExchangeRate, Offer, Tier
from planner import kinds, services
from planner.forms import VIEW_FIELDS, WorkbenchForm
from planner.kinds import by_rate
from planner.sizing.architecture import ModelError
from planner.sizing.hosting import Stated
from planner.sizing.results import Candidate
from planner.sizing.runtime import UnknownRuntime
from planner.sizing.workload import CommonWorkload

CENT = Decimal("0.01")
MILLION_STEP = Decimal("0.001")
HOURS_MAXIMUM = Decimal(744)
OWN = frozenset({*Stated.model_fields, "service", "offer"})
"""Parameters of the page itself; "interruptible" means the same on both."""
TIER_FIELDS = {
    Tier.ON_DEMAND: "on_demand_per_hour",
    Tier.SPOT: "spot_per_hour",
    Tier.COMMUNITY: "spot_per_hour",
}


@dataclass(frozen=True)
class Sheet:
    """A sheet with what was found on it; ``candidate`` is None where nothing runs it or the sheet has faults."""

    query: str
    pairs: list[tuple[str, str]]
    """Its parameters, to be carried on."""
    model: str = ""
    context_tokens: int = 0
    """The longest request, in and out."""
    candidate: Candidate | None = None
    offer: Offer | None = None
    first: dict[str, str] = field(default_factory=dict)
    """Fields of the page that it fills."""

    @property
    def address(self) -> str:
        return f"{reverse('planner:workbench')}?{self.query}"


def is_a_sheet(given: QueryDict) -> bool:
    known = {name.rstrip("_") for kind in kinds.KINDS for name in kind.fields} | set(VIEW_FIELDS) | {"kind"}
    return bool((known - OWN) & set(given))


def read(given: QueryDict, at: datetime, team: int | None) -> Sheet:
    """The first candidate of the sheet that a query holds."""
    asked = given.copy()
    for name in OWN - {"interruptible"}:
        asked.pop(name, None)
    form = WorkbenchForm.from_query(asked, at=at)
    pairs = [(key, str(value)) for key in asked if key != "interruptible" for value in asked.getlist(key)]
    if not form.is_valid():
        return Sheet(asked.urlencode(), pairs)
    workload = form.workload()
    lengths = _lengths(workload)
    about: dict[str, Any] = {
        "query": form.query_string(without=("page",)), "pairs": pairs, "model": _model(workload),
        "context_tokens": sum(lengths[2:]),
    }  # fmt: skip
    try:
        found = services.compare(workload, at=at, team_id=team, limit=1, rejected_limit=0)
    except (UnknownRuntime, ModelError):
        return Sheet(**about)
    if not found.candidates:
        return Sheet(**about, first=_volume(workload, None))
    candidate = found.candidates[0]
    offer = None
    if candidate.offer.offer_id > 0:
        offer = Offer.objects.filter(pk=candidate.offer.offer_id).select_related("provider").first()
    first = _volume(workload, candidate) | _machines(candidate, workload)
    first |= _price_by_the_token(form.cleaned_data, candidate.monthly.currency, at)
    first |= _storage(candidate, at)
    if not {"managed_input_per_million", "managed_output_per_million"} & set(first):
        first |= service_of(_model(workload), lengths[0], lengths[1], sum(lengths[2:]))
    return Sheet(**about, candidate=candidate, offer=offer, first=first)


def _model(workload: CommonWorkload) -> str:
    """The hub's name of the model, as managed prices are listed by."""
    return str(getattr(getattr(workload, "model", None), "id", None) or "")


def _lengths(workload: CommonWorkload) -> tuple[int, int, int, int]:
    """Typical and longest input and output of a request; zeros where the work has none."""
    taken, made = getattr(workload, "input_tokens", None), getattr(workload, "output_tokens", None)
    if taken is None or made is None:
        return 0, 0, 0, 0
    return taken.typical, made.typical, taken.maximum, made.maximum


def _machines(candidate: Candidate, workload: CommonWorkload) -> dict[str, str]:
    hours = min(HOURS_MAXIMUM, Decimal(str(candidate.monthly.hours)))
    found = {"machines": str(candidate.machines)}
    if hours > 0 and candidate.offer.tier != Tier.RESERVED:
        found["hours_per_month"] = _text(hours)
    if workload.interruptible:
        found["interruptible"] = "on"
    offer = candidate.offer
    if offer.offer_id < 0 and offer.price_currency == "USD" and offer.price_unit == "hour":
        name = TIER_FIELDS.get(Tier(offer.tier))
        if name is not None:
            found[name] = _text(offer.price_amount)
    return found


def _volume(workload: CommonWorkload, candidate: Candidate | None) -> dict[str, str]:
    """Millions of tokens a month, in and out.

    As stated on the sheet; else requests a second × the hours of the month × the typical lengths; else the monthly
    total ÷ the price of a million, in the mix of the typical request.
    """
    typical_in, typical_out, _in, _out = _lengths(workload)
    if not typical_in or not typical_out:
        return {}
    millions = by_rate.millions_a_month(workload.model_dump(mode="json"))
    if millions is None and candidate is not None and candidate.per_million_tokens.all:
        requests_millions = float(candidate.monthly.total / candidate.per_million_tokens.all)
        requests_millions /= typical_in + typical_out
        millions = requests_millions * typical_in, requests_millions * typical_out
    names = ("input_millions_per_month", "output_millions_per_month")
    return {
        name: _text(Decimal(str(value)).quantize(MILLION_STEP, ROUND_HALF_UP))
        for name, value in zip(names, millions or (), strict=millions is not None)
        if value
    }


def _price_by_the_token(cleaned: Any, currency: str, at: datetime) -> dict[str, str]:
    """A service's price that was stated on the sheet, in dollars; none without a rate."""
    prices = [cleaned.get(name) for name in ("managed_in", "managed_out")]
    rate = _per_usd(currency, at)
    if rate is None:
        return {}
    names = ("managed_input_per_million", "managed_output_per_million")
    return {
        name: _text((Decimal(str(price)) / rate).quantize(Decimal("0.000001")))
        for name, price in zip(names, prices, strict=True)
        if price
    }


def _per_usd(currency: str, at: datetime) -> Decimal | None:
    """Units of a currency for a dollar; None without a rate."""
    if currency == "USD":
        return Decimal(1)
    known = ExchangeRate.latest(at.date()).get(currency)
    return None if known is None else known.per_usd


def _storage(candidate: Candidate, at: datetime) -> dict[str, str]:
    """Storage and transfer of the candidate's bill, as far as they are known, in dollars."""
    bill = candidate.monthly
    rate = _per_usd(bill.currency, at)
    amount = sum(
        (line.amount for line in bill.lines if line.what in ("storage", "egress") and line.amount), Decimal(0)
    )
    return {"storage_per_month": _text((amount / rate).quantize(CENT))} if rate and amount else {}


def service_of(model: str, tokens_in: float, tokens_out: float, context_tokens: float) -> dict[str, str]:
    """The shipped price of this very model that is least for a request, of services that are not said to have withdrawn
    it, nor known to have too short a context for the longest; nothing where there is none, or no requests."""
    if not model or not tokens_in + tokens_out:
        return {}
    found = [
        one
        for one in managed_prices().values()
        if one.model.casefold() == model.casefold()
        and not one.withdrawn
        and (one.context_tokens is None or one.context_tokens >= context_tokens)
    ]
    if not found:
        return {}
    least = min(
        found,
        key=lambda one: float(one.input_per_million) * tokens_in + float(one.output_per_million) * tokens_out,
    )
    return {"service": least.key}


def _text(amount: Decimal) -> str:
    return f"{amount.normalize():f}"
