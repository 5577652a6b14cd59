"""A team's private offers in its comparisons: the same arithmetic, nobody else's, and the past stays."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from accounts.models import Team, User
from catalog import private_offers
from catalog.quote_forms import QuoteForm
from planner import kinds, market, private_market, services
from planner.candidate_views import candidate_view
from planner.sizing.bill import MINOR_UNITS
from planner.sizing.results import Candidate
from planner.sizing.weighing import weigh
from planner.sizing.workload import Filters, ServingWorkload
from tests.catalog.test_quote_tables import GOOD
from tests.factories import AT, make_team, make_user
from tests.planner.factories import make_offer, make_small_catalog
from tests.sizing.markets import setting

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(db: None) -> User:
    make_small_catalog(AT)
    return make_user()


@pytest.fixture
def shared(owner: User) -> Team:
    return make_team("Team", owner)


def enter(team: Team, user: User, **changes: str) -> Any:
    given = {
        "accelerator_as_written": "H100-SXM5",
        "gpu_count": "1",
        "amount": "0.50",
        "currency": "USD",
        "unit": "hour",
    }
    form = QuoteForm(GOOD | given | changes)
    assert form.is_valid(), form.errors
    return private_offers.add(team, form.values(), user=user, at=AT)


def test_only_the_team_compares_its_private_offer(owner: User, shared: Team) -> None:
    public = services.compare(ServingWorkload(), at=AT)
    offer = enter(shared, owner)
    ours = services.compare(ServingWorkload(), at=AT, team_id=shared.pk)
    first = ours.candidates[0]
    assert first.offer.offer_id == -offer.pk
    assert first.offer.quote is not None
    assert ours.candidates_total == public.candidates_total + 1
    other = make_team("Other", make_user())
    for team_id in (None, other.pk):
        theirs = services.compare(ServingWorkload(), at=AT, team_id=team_id)
        assert theirs.model_dump() == public.model_dump()


def test_a_private_machine_is_sized_and_billed_like_a_public_one(owner: User, shared: Team) -> None:
    """The same machine at the same price, once public and once private: the same figures."""
    public = make_offer("L4", "1.23", provider="known", sku="same", at=AT)
    enter(shared, owner, provider_name="Known", accelerator_as_written="L4", amount="1.23", sku="same",
          region="tokyo-1", vcpu="16", ram_gib="128")  # fmt: skip
    found = services.compare(ServingWorkload(weights_format="fp8"), at=AT, team_id=shared.pk, limit=200)
    pair = [each for each in found.candidates if each.offer.sku == "same"]
    assert {each.offer.offer_id > 0 for each in pair} == {True, False}
    assert public.pk in {each.offer.offer_id for each in pair}

    def figures(candidate: Candidate) -> dict[str, Any]:
        document = candidate.model_dump(exclude={"rank", "offer", "fewer_replicas", "memory", "speed"})
        for line in document["monthly"]["lines"]:
            line.pop("source")
            line.pop("observed_on")
        return document

    assert figures(pair[0]) == figures(pair[1])
    assert pair[0].speed == pair[1].speed
    assert pair[0].memory.needed_bytes == pair[1].memory.needed_bytes


def test_a_quote_in_another_currency_is_converted_and_one_without_a_rate_is_not_ranked(
    owner: User, shared: Team
) -> None:
    enter(shared, owner, sku="yen", currency="JPY", amount="100")
    enter(shared, owner, sku="franc", currency="CHF", amount="0.10")
    found = services.compare(ServingWorkload(), at=AT, team_id=shared.pk, limit=200, rejected_limit=None)
    yen = next(each for each in found.candidates if each.offer.sku == "yen")
    gpu = next(line for line in yen.monthly.lines if line.what == "gpu")
    assert (gpu.unit_price, gpu.unit_price_currency) == (Decimal(100), "JPY")
    hourly = (Decimal(100) / Decimal("157.25")).quantize(Decimal("0.000001"))
    assert gpu.amount == (hourly * 730).quantize(Decimal("0.01"))
    franc = next(each for each in found.rejected if each.offer.sku == "franc")
    assert franc.reason == "currency"


def test_an_expired_quote_is_marked_and_never_the_cheapest(owner: User, shared: Team) -> None:
    enter(shared, owner, amount="0.01", valid_until="2026-11-29")
    found = services.compare(ServingWorkload(), at=AT, team_id=shared.pk)
    first = found.candidates[0]
    assert first.offer.quote is not None
    assert (first.offer.quote.expired, first.offer.stale) == (True, True)
    assert found.cheapest is not None
    assert found.cheapest.offer.offer_id > 0
    assert first.offer.price_observed_on == date(2026, 11, 1)  # the day it was received stays the day


def test_a_quote_counts_to_the_end_of_its_day_and_is_told_anew_the_day_after(
    owner: User, shared: Team
) -> None:
    enter(shared, owner, valid_until="2026-11-30")
    marks = []
    for at in (AT, AT + timedelta(days=1)):
        first = services.compare(ServingWorkload(), at=at, team_id=shared.pk).candidates[0]
        assert first.offer.quote is not None
        marks.append(first.offer.quote.expired)
    assert marks == [False, True]


def test_a_change_shows_at_the_next_comparison_and_a_past_moment_stays(owner: User, shared: Team) -> None:
    offer = enter(shared, owner, amount="0.50")
    before = services.compare(ServingWorkload(), at=AT, team_id=shared.pk)
    form = QuoteForm(GOOD | {"accelerator_as_written": "H100-SXM5", "gpu_count": "1", "amount": "0.60",
                             "currency": "USD", "unit": "hour"})  # fmt: skip
    assert form.is_valid()
    later = AT + timedelta(hours=1)
    private_offers.change(offer, form.values(), user=owner, at=later)
    after = services.compare(ServingWorkload(), at=later, team_id=shared.pk)
    assert after.candidates[0].offer.price_amount == Decimal("0.60")
    again = services.compare(ServingWorkload(), at=AT, team_id=shared.pk)
    assert again.model_dump() == before.model_dump()


def test_the_public_market_is_never_touched(owner: User, shared: Team) -> None:
    public = market.current(AT)
    before = {name: value.copy() for name, value in vars(public).items() if isinstance(value, np.ndarray)}
    enter(
        shared,
        owner,
        valid_until="2026-11-01",
        received_on="2026-10-01",
        currency="CHF",
        provider_name="New one",
    )
    own = private_market.current(AT, shared.pk)
    services.compare(ServingWorkload(), at=AT, team_id=shared.pk)
    assert len(own) == len(public) + 1
    assert market.current(AT) is public
    for name, value in before.items():
        assert np.array_equal(getattr(public, name), value), name
    for row in range(len(public)):
        assert own.facts(row, AT.date()) is public.facts(row, AT.date())


def test_filters_reach_private_offers(owner: User, shared: Team) -> None:
    enter(shared, owner, provider_name="Sakura", region="石狩", tier="reserved")
    named = Filters(providers=("sakura",), tiers=("on_demand", "reserved"), regions=("石狩",))
    found = services.compare(ServingWorkload(filters=named), at=AT, team_id=shared.pk)
    assert [each.offer.provider_name for each in found.candidates] == ["Sakura"]
    on_demand = services.compare(ServingWorkload(), at=AT, team_id=shared.pk, rejected_limit=None)
    assert "tier" in {each.reason for each in on_demand.rejected if each.offer.offer_id < 0}


def test_one_private_offer_is_opened_in_full_by_its_team_only(owner: User, shared: Team) -> None:
    offer = enter(shared, owner)
    found = services.candidate(ServingWorkload(), at=AT, offer_id=-offer.pk, team_id=shared.pk)
    assert isinstance(found, Candidate)
    assert found.derivations
    with pytest.raises(services.UnknownOffer):
        services.candidate(ServingWorkload(), at=AT, offer_id=-offer.pk)


YEAR = {"tier": "reserved", "term_months": "12", "region": "石狩"}
HERE = Filters(tiers=("reserved",), regions=("石狩",))


@pytest.mark.parametrize(
    ("given", "currency", "lines", "over_term"),
    [
        # 2.00 × 730 h; 5,000 ÷ 12; 5,000 ÷ 8,760 h + 2.00
        ({"amount": "2", "upfront": "5000"}, "USD", ("1460.00", "416.67"), "2.570776"),
        # all at once: 8,760 ÷ 12; 8,760 ÷ 8,760 h
        ({"amount": "0", "upfront": "8760"}, "USD", ("0.00", "730.00"), "1"),
        # by the month: 1,000; 600 ÷ 12; both together
        ({"amount": "1000", "upfront": "600", "unit": "month"}, "USD", ("1000.00", "50.00"), "1050"),
        # yen have no decimals: 300 × 730 h; 1,000,000 ÷ 12
        ({"amount": "300", "upfront": "1000000", "currency": "JPY"}, "JPY", ("219000", "83333"), "414.155251"),
        # 60,000 yen a month as dollars of 157.25 yen: ÷ 12 = 5,000, 31.796502 dollars
        ({"amount": "300", "upfront": "60000", "currency": "JPY"}, "USD", ("1392.69", "31.80"), "306.849315"),
    ],
)  # fmt: skip
def test_what_a_quote_asks_upfront_is_on_the_bill_and_ranked_with_it(
    owner: User, shared: Team, given: dict[str, str], currency: Any, lines: tuple[str, str], over_term: str
) -> None:
    enter(shared, owner, **YEAR | given)
    workload = ServingWorkload(filters=HERE, currency=currency)
    (found,) = services.compare(workload, at=AT, team_id=shared.pk).candidates
    assert found.machines == 1
    told = {line.what: line.amount for line in found.monthly.lines}
    assert (told["gpu"], told["upfront"]) == tuple(Decimal(amount) for amount in lines)
    assert found.offer.price_amount == Decimal(over_term)
    assert (found.offer.upfront, found.offer.term_months) == (Decimal(given["upfront"]), 12)
    at = private_market.current(AT, shared.pk)
    made = setting(workload, at)
    weighed = weigh(made, made.place())
    row = int(np.flatnonzero(at.offer_id == found.offer.offer_id)[0])
    assert weighed.total_minor[row] == found.monthly.total * MINOR_UNITS[currency]


def test_a_fee_paid_upfront_decides_the_order(owner: User, shared: Team) -> None:
    enter(shared, owner, **YEAR, sku="with fee", amount="0.10", upfront="5000")
    enter(shared, owner, **YEAR, sku="without", amount="0.60")
    found = services.compare(ServingWorkload(filters=HERE), at=AT, team_id=shared.pk)
    assert [each.offer.sku for each in found.candidates] == ["without", "with fee"]
    assert "upfront" not in {line.what for line in found.candidates[0].monthly.lines}


def test_the_price_of_a_quote_by_the_month_is_told_with_what_is_paid_upfront(
    owner: User, shared: Team
) -> None:
    enter(shared, owner, **YEAR, amount="1000", upfront="600", unit="month")
    found = services.compare(ServingWorkload(filters=HERE), at=AT, team_id=shared.pk)
    view = candidate_view(kinds.of("llm_serving"), found.candidates[0], (), language="en")
    assert (
        view.price
        == "1,050 USD per month over its term: 600 USD upfront for 12 months, and 1,000 USD per month"
    )


def test_quotes_of_before_without_a_fee_are_billed_as_they_were(owner: User, shared: Team) -> None:
    enter(shared, owner, tier="reserved", tier_detail="1 year", region="石狩", amount="2")
    (found,) = services.compare(ServingWorkload(filters=HERE), at=AT, team_id=shared.pk).candidates
    assert (found.offer.upfront, found.offer.recurring, found.offer.term_months) == (None, None, None)
    assert "upfront" not in {line.what for line in found.monthly.lines}
    assert found.monthly.lines[0].amount == Decimal("1460.00")
