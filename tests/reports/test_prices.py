"""Price alerts: a move is told once, to those who want to know, and the plan stays as it was saved."""

from __future__ import annotations

import smtplib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core import mail
from django.core.management import call_command
from django.utils import translation
from django_celery_beat.models import PeriodicTask
from django_celery_beat.schedulers import DatabaseScheduler

from accounts import languages
from accounts.models import Role
from accounts.services import remove_member
from catalog import private_offers
from catalog.models import CatalogVersion, Offer
from catalog.quote_forms import QuoteForm
from mitsumori.celery import app
from planner.sizing.workload import Filters
from reports import notes, price_mail, price_words, prices, services, tasks
from reports.models import Plan, PriceMove, PriceNotice
from tests.factories import AT, make_member, make_team, make_user
from tests.planner.factories import make_offer, make_small_catalog, set_price
from tests.races import met_after, together
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan

LATER = AT + timedelta(days=1)
NEXT = date(2026, 12, 1)


def first_offer(plan: Plan) -> Offer:
    (watched, *_others) = prices.watched_of(services.newest(plan))
    return Offer.objects.get(pk=watched.offer_number)


def reprice_market(plan: Plan, times: str) -> Offer:
    """The first candidate's machine costs so many times what it did."""
    offer = first_offer(plan)
    assert offer.current_price is not None
    amount = offer.current_price.amount * Decimal(times)
    set_price(offer, str(amount), at=LATER, observed_on=NEXT)
    return offer


@pytest.mark.django_db
def test_a_move_above_the_threshold_is_written_down_once_with_old_new_dates_and_source(plan: Plan) -> None:
    offer = reprice_market(plan, "1.2")
    (move,) = prices.look_at(plan, LATER)
    assert move.change_percent == Decimal("20.0")
    assert (move.old_on, move.new_on, move.source) == (date(2026, 11, 1), NEXT, "price page")
    assert move.new_amount == offer.current_price.amount  # type: ignore[union-attr]
    assert prices.look_at(plan, LATER) == []
    assert PriceMove.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize(("times", "told"), [("1.1", 0), ("1.1001", 1), ("0.9", 0), ("0.8999", 1)])
def test_exactly_the_threshold_is_not_told_and_a_little_more_is(plan: Plan, times: str, told: int) -> None:
    reprice_market(plan, times)
    assert len(prices.look_at(plan, LATER)) == told


@pytest.mark.django_db
def test_the_next_move_is_measured_from_the_last_one_that_was_told(plan: Plan) -> None:
    reprice_market(plan, "1.2")
    prices.look_at(plan, LATER)
    reprice_market(plan, "1.05")  # 26 % above the plan, 5 % above what was told
    assert prices.look_at(plan, LATER) == []
    reprice_market(plan, "1.06")
    (move,) = prices.look_at(plan, LATER)
    assert move.change_percent == Decimal("11.3")
    assert len(prices.standing_moves([plan])[plan.pk]) == 1


@pytest.mark.django_db
def test_small_steps_that_add_up_are_told_when_their_sum_is_large_enough(plan: Plan) -> None:
    for _step in range(2):
        reprice_market(plan, "1.04")
        assert prices.look_at(plan, LATER) == []
    reprice_market(plan, "1.04")
    (move,) = prices.look_at(plan, LATER)
    assert move.change_percent == Decimal("12.5")


@pytest.mark.django_db
def test_an_offer_that_goes_and_comes_back_is_told_both_times(plan: Plan) -> None:
    offer = first_offer(plan)
    Offer.objects.filter(pk=offer.pk).update(gone_since=LATER)
    (gone,) = prices.look_at(plan, LATER)
    assert gone.new_amount is None
    assert gone.change_percent is None
    assert price_words.move_view(gone).new == "not offered"
    assert prices.look_at(plan, LATER) == []
    Offer.objects.filter(pk=offer.pk).update(gone_since=None)
    (back,) = prices.look_at(plan, LATER)
    assert back.old_amount is None
    assert prices.standing_moves([plan]) == {}  # it stands where the plan has it


@pytest.mark.django_db
def test_what_cannot_be_told_with_certainty_is_unknown_and_no_move(plan: Plan) -> None:
    offer = first_offer(plan)
    set_price(offer, "900", at=LATER, observed_on=NEXT, currency="JPY")
    assert prices.look_at(plan, LATER) == []
    (standing,) = prices.standings(services.newest(plan), LATER)
    assert standing.now is None
    assert price_words.standing_view(standing).now == "unknown"


@pytest.mark.django_db
def test_a_catalog_that_numbers_its_offers_anew_is_followed_by_provider_machine_place_and_terms(
    plan: Plan,
) -> None:
    offer = first_offer(plan)
    same = {name: getattr(offer, name) for name in ("sku", "region", "tier")}
    Offer.objects.filter(pk=offer.pk).update(sku="renamed", key="renamed")
    another = make_offer(str(offer.accelerator_id), "99", count=int(offer.gpu_count or 1), **same)
    assert another.pk != offer.pk
    (watched,) = prices.watched_of(services.newest(plan))
    now = prices.price_now(watched, LATER)
    assert now is not None
    assert now.amount == Decimal(99)


@pytest.mark.django_db
def test_two_offers_that_the_plan_cannot_tell_apart_are_not_guessed_between(plan: Plan) -> None:
    offer = first_offer(plan)
    same = {name: getattr(offer, name) for name in ("sku", "region", "tier")}
    Offer.objects.filter(pk=offer.pk).update(sku="renamed", key="renamed")
    for detail in ("1 year", "3 years"):
        make_offer(str(offer.accelerator_id), "99", tier_detail=detail, **same)
    (watched,) = prices.watched_of(services.newest(plan))
    assert prices.price_now(watched, LATER) is None


@pytest.mark.django_db
def test_the_chosen_candidate_is_watched_instead_of_the_first(plan: Plan, crew: Crew) -> None:
    newest = services.newest(plan)
    about = notes.subject(newest, "1-2")
    notes.decide(
        newest, about, chosen=about.text, because="b", decided_by="c", decided_on=AT.date(), user=crew.owner, at=AT
    )  # fmt: skip
    (watched,) = prices.watched_of(newest)
    assert (watched.position, watched.rank) == (1, 2)
    assert watched.subject == about.text


@pytest.mark.django_db
def test_other_words_over_the_same_figures_make_no_price_move_again(plan: Plan, crew: Crew) -> None:
    reprice_market(plan, "1.2")
    assert len(prices.look_at(plan, LATER)) == 1
    services.reword(plan, user=crew.owner, base_number=1, words=services.Words("Other"), at=LATER)
    plan.refresh_from_db()
    assert prices.look_at(plan, LATER) == []
    assert len(prices.standing_moves([plan])[plan.pk]) == 1


@pytest.mark.django_db
def test_repricing_starts_from_the_new_prices(plan: Plan, crew: Crew) -> None:
    reprice_market(plan, "1.2")
    prices.look_at(plan, LATER)
    services.reprice(plan, user=crew.owner, base_number=1, at=LATER)
    plan.refresh_from_db()
    assert prices.look_at(plan, LATER) == []
    assert prices.standing_moves([plan]) == {}


@pytest.mark.django_db
def test_a_private_offer_is_followed_through_its_changes(catalog: None, crew: Crew) -> None:
    def quote(amount: str) -> dict[str, Any]:
        form = QuoteForm(
            {"provider_name": "Ours", "sku": "m", "accelerator_as_written": "H100-SXM5", "gpu_count": "1",
             "amount": amount, "currency": "USD", "received_on": "2026-11-20"}
        )  # fmt: skip
        assert form.is_valid()
        return form.values()

    private_offers.add(crew.team, quote("0.5"), user=crew.owner, at=AT - timedelta(days=1))
    plan = save_plan(crew.team, crew.owner).plan
    (watched,) = prices.watched_of(services.newest(plan))
    assert watched.offer_number < 0
    made = private_offers.add(crew.team, quote("0.7"), user=crew.owner, at=LATER)
    (move,) = prices.look_at(plan, LATER)
    assert move.change_percent == Decimal("40.0")
    private_offers.withdraw(made, at=LATER)
    (gone,) = prices.look_at(plan, LATER + timedelta(hours=1))
    assert gone.new_amount is None


@pytest.mark.django_db
def test_a_fee_paid_upfront_moves_the_price_of_a_private_offer(catalog: None, crew: Crew) -> None:
    def quote(upfront: str, amount: str = "0.5") -> dict[str, Any]:
        form = QuoteForm(
            {"provider_name": "Ours", "sku": "m", "accelerator_as_written": "H100-SXM5", "gpu_count": "1",
             "amount": amount, "currency": "USD", "received_on": "2026-11-20", "tier": "reserved",
             "term_months": "12", "upfront": upfront}
        )  # fmt: skip
        assert form.is_valid(), form.errors
        return form.values()

    private_offers.add(crew.team, quote("8760"), user=crew.owner, at=AT - timedelta(days=1))
    plan = save_plan(crew.team, crew.owner, filters=Filters(tiers=("reserved",))).plan
    (watched,) = prices.watched_of(services.newest(plan))
    assert watched.amount == Decimal("1.5")  # 0.50 and 8,760 over the 8,760 hours of the term
    private_offers.add(crew.team, quote("0", "1.5"), user=crew.owner, at=AT - timedelta(hours=1))
    assert prices.look_at(plan, LATER) == [], "another way of paying is another line of the quote"
    private_offers.add(crew.team, quote("17520"), user=crew.owner, at=LATER)
    (move,) = prices.look_at(plan, LATER)
    assert (move.new_amount, move.change_percent) == (Decimal("2.5"), Decimal("66.7"))


@pytest.mark.django_db
def test_all_plans_are_looked_at_only_when_a_price_changed(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert prices.look_at_all(AT) == 0
    looked: list[Plan] = []

    def look(each: Plan, at: Any) -> list[PriceMove]:
        looked.append(each)
        return []

    monkeypatch.setattr(prices, "look_at", look)
    prices.look_at_all(AT)
    assert looked == []
    CatalogVersion.bump(LATER)
    prices.look_at_all(LATER)
    assert looked == [plan]


@pytest.mark.django_db
def test_archived_plans_and_those_told_never_are_left_out(plan: Plan, crew: Crew) -> None:
    never = save_plan(crew.team, crew.owner, "Never").plan
    prices.settle(never, own=True, percent=None)
    archived = save_plan(crew.team, crew.owner, "Archived").plan
    services.archive(archived, at=AT)
    reprice_market(plan, "2")
    assert prices.look_at_all(LATER) == 1
    assert PriceMove.objects.get().watched.version.plan == plan


@pytest.mark.django_db
def test_a_plan_that_cannot_be_read_keeps_no_other_from_being_told(
    plan: Plan, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = save_plan(crew.team, crew.owner, "Broken").plan
    reprice_market(plan, "2")
    really = prices.look_at

    def look(each: Plan, at: Any) -> list[PriceMove]:
        if each.pk == broken.pk:
            raise ValueError("unreadable")
        return really(each, at)

    monkeypatch.setattr(prices, "look_at", look)
    assert prices.look_at_all(LATER) == 1


@pytest.mark.django_db
def test_the_task_mails_a_move_once_with_prices_dates_source_and_address(plan: Plan, crew: Crew) -> None:
    reprice_market(plan, "1.2")
    tasks.look_at_prices()
    (letter,) = mail.outbox
    assert letter.to == [crew.owner.email]
    assert letter.subject == "A price of your plan moved: Chat assistant"
    text = str(letter.body)
    for said in ("an hour (read on 2026-11-01)", "+20.0 % (read on 2026-12-01)", "Source: price page",
                 f"http://localhost:8000/plans/{plan.slug}/prices/"):  # fmt: skip
        assert said in text, text
    tasks.look_at_prices()
    CatalogVersion.bump(LATER)
    tasks.look_at_prices()
    assert len(mail.outbox) == 1


@pytest.mark.django_db
def test_each_is_mailed_in_their_own_language_whoever_asks(plan: Plan, crew: Crew) -> None:
    languages.remember(crew.owner, "ja")
    prices.follow(plan, crew.viewer, wants=True)
    reprice_market(plan, "1.5")
    prices.look_at_all(LATER)
    with translation.override("ja"):
        assert price_mail.send_waiting(LATER) == 2
    letters = {letter.to[0]: letter for letter in mail.outbox}
    assert letters[crew.owner.email].subject == "見積の価格が変わりました: Chat assistant"
    assert "取得元: price page" in str(letters[crew.owner.email].body)
    assert letters[crew.viewer.email].subject == "A price of your plan moved: Chat assistant"


@pytest.mark.django_db
def test_one_mail_tells_one_person_of_all_plans_and_several_people_each_get_one(
    plan: Plan, crew: Crew
) -> None:
    second = save_plan(crew.team, crew.editor, "Second").plan
    for each in (plan, second):
        prices.follow(each, crew.viewer, wants=True)
    reprice_market(plan, "1.5")
    prices.look_at_all(LATER)
    price_mail.send_waiting(LATER)
    assert sorted((letter.to[0], letter.subject) for letter in mail.outbox) == sorted(
        [
            (crew.owner.email, "A price of your plan moved: Chat assistant"),
            (crew.editor.email, "A price of your plan moved: Second"),
            (crew.viewer.email, "Prices of 2 plans moved"),
        ]
    )


@pytest.mark.django_db
def test_nobody_who_said_no_or_left_the_team_is_mailed(plan: Plan, crew: Crew) -> None:
    prices.follow(plan, crew.owner, wants=False)
    prices.follow(plan, crew.viewer, wants=True)
    reprice_market(plan, "1.2")
    prices.look_at_all(LATER)
    assert [each.user for each in PriceNotice.objects.all()] == [crew.viewer]
    remove_member(crew.team, crew.viewer)
    assert price_mail.send_waiting(LATER) == 0
    assert mail.outbox == []


@pytest.mark.django_db
def test_a_mail_that_was_not_taken_is_tried_again_and_then_given_up(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    reprice_market(plan, "1.2")
    prices.look_at_all(LATER)

    def refuse(**_message: Any) -> int:
        raise smtplib.SMTPServerDisconnected

    with monkeypatch.context() as broken:
        broken.setattr(price_mail, "send_mail", refuse)
        assert price_mail.send_waiting(LATER) == 0
    assert price_mail.send_waiting(LATER + price_mail.TRIED_FOR) == 0  # too late by now
    assert price_mail.send_waiting(LATER + timedelta(hours=1)) == 1
    assert price_mail.send_waiting(LATER + timedelta(hours=2)) == 0


@pytest.mark.django_db
def test_by_hand_the_command_does_what_the_schedule_does(plan: Plan) -> None:
    reprice_market(plan, "1.2")
    out = StringIO()
    call_command("look_at_prices", stdout=out)
    assert out.getvalue() == "1 moves found, 1 mails sent\n"


# The pages ------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_plan_and_the_list_of_plans_show_a_move_and_the_reader_of_a_link_does_not(
    clock: None, plan: Plan, crew: Crew
) -> None:
    _link, secret = services.share(services.newest(plan), user=crew.owner, at=AT)
    reprice_market(plan, "1.2")
    prices.look_at(plan, LATER)
    page = crew.client("viewer").get(f"/plans/{plan.slug}/").content.decode()
    assert "moved:" in page
    assert "+20.0 %" in page
    assert "price moved: +20.0 %" in crew.client("viewer").get("/plans/").content.decode()
    assert "+20.0 %" not in crew.client("anonymous").get(f"/s/{secret}/").content.decode()


@pytest.mark.django_db
def test_the_page_shows_what_is_watched_then_and_now(clock: None, plan: Plan, crew: Crew) -> None:
    reprice_market(plan, "1.2")
    page = crew.client("viewer").get(f"/plans/{plan.slug}/prices/").content.decode()
    assert "+20.0 %" in page
    assert "Save the setting" not in page  # a viewer reads it


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("typed", "percent"),
    [({"rule": "team"}, Decimal(10)), ({"rule": "own", "percent": "2.5"}, Decimal("2.5")), ({"rule": "never"}, None),
     ({"rule": "own", "percent": "１０"}, Decimal(10))],
)  # fmt: skip
def test_an_editor_sets_from_which_move_on_a_plan_tells(
    clock: None, plan: Plan, crew: Crew, typed: dict[str, str], percent: Decimal | None
) -> None:
    answer = crew.client("editor").post(f"/plans/{plan.slug}/prices/", typed)
    assert answer.status_code == 302
    plan.refresh_from_db()
    assert prices.percent_of(plan) == percent
    page = crew.client("editor").get(f"/plans/{plan.slug}/prices/").content.decode()
    assert f'value="{typed["rule"]}" selected' in page


@pytest.mark.django_db
@pytest.mark.parametrize("typed", ["", "0", "0.4", "501", "1,5", "1e2", "十", "-3", "ten", "2.55"])
def test_a_percentage_that_is_none_is_refused_at_its_field_and_kept(
    clock: None, plan: Plan, crew: Crew, typed: str
) -> None:
    answer = crew.client("editor").post(f"/plans/{plan.slug}/prices/", {"rule": "own", "percent": typed})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'id="id_percent_error"' in page
    assert f'value="{typed}"' in page or not typed
    assert prices.percent_of(plan) == Decimal(10)


@pytest.mark.django_db
def test_a_new_setting_is_looked_at_at_once(clock: None, plan: Plan, crew: Crew) -> None:
    reprice_market(plan, "1.05")
    crew.client("editor").post(f"/plans/{plan.slug}/prices/", {"rule": "own", "percent": "3"})
    assert PriceMove.objects.count() == 1


@pytest.mark.django_db
def test_the_team_has_a_default_that_its_owner_changes_or_empties(
    clock: None, plan: Plan, crew: Crew
) -> None:
    owner = crew.client("owner")
    settings = {"name": "Team A", "allow_share_links": "on"}
    for typed, percent in (("25", Decimal(25)), ("", None)):
        owner.post(f"/accounts/teams/{crew.team.pk}/", settings | {"price_alert_percent": typed})
        plan.team.refresh_from_db()
        assert prices.percent_of(plan) == percent
    refused = owner.post(f"/accounts/teams/{crew.team.pk}/", settings | {"price_alert_percent": "9999"})
    assert refused.status_code == 422


@pytest.mark.django_db
def test_anybody_of_the_team_switches_their_own_mails(clock: None, plan: Plan, crew: Crew) -> None:
    viewer = crew.client("viewer")
    assert not prices.wants_mail(plan, crew.viewer)
    for word, wants in (("yes", True), ("no", False), ("maybe", False)):
        viewer.post(f"/plans/{plan.slug}/prices/mail/", {"mail": word})
        assert prices.wants_mail(plan, crew.viewer) is wants
    assert prices.wants_mail(plan, crew.owner)


# Two at once ----------------------------------------------------------------------------------------------------


@contextmanager
def unheld(plan: Plan) -> Iterator[Plan]:
    yield Plan.objects.get(pk=plan.pk)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_locked", [False, True])
def test_two_beats_at_once_tell_of_a_move_once(monkeypatch: pytest.MonkeyPatch, is_locked: bool) -> None:
    """With the lock taken out both write the move down and both are mailed: the race is real."""
    make_small_catalog(AT)
    owner = make_user()
    plan = save_plan(make_team("Team", owner), owner).plan
    reprice_market(plan, "1.2")
    if not is_locked:
        monkeypatch.setattr(prices, "_held", unheld)
    first_look = prices._moved
    seen: list[int] = []

    def moved(each: Plan, at: Any) -> list[PriceMove]:
        found = first_look(each, at)
        seen.append(len(found))
        return found

    monkeypatch.setattr(prices, "_moved", met_after(moved))
    raised = together(*[lambda: prices.look_at(plan, LATER)] * 2)
    assert raised == []
    assert PriceMove.objects.count() == (1 if is_locked else 2)
    assert PriceNotice.objects.count() == (1 if is_locked else 2)
    assert seen[:2] == [1, 1]  # both saw it before either wrote


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_claimed", [False, True])
def test_two_who_send_at_once_send_one_mail(monkeypatch: pytest.MonkeyPatch, is_claimed: bool) -> None:
    """Without the claim in one statement, both find it unsent and both send: the race is real."""
    make_small_catalog(AT)
    owner = make_user()
    plan = save_plan(make_team("Team", owner), owner).plan
    make_member(plan.team, Role.VIEWER)
    reprice_market(plan, "1.2")
    prices.look_at(plan, LATER)
    monkeypatch.setattr(price_mail, "_may_be_told", met_after(price_mail._may_be_told))
    if not is_claimed:
        monkeypatch.setattr(price_mail, "_claim", lambda notice, at: notice.sent_at is None)
    raised = together(*[lambda: price_mail.send_waiting(LATER)] * 2)
    assert raised == []
    assert len(mail.outbox) == (1 if is_claimed else 2)


# The schedule -----------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)  # the scheduler closes what connections it finds
def test_beat_looks_every_quarter_of_an_hour_and_a_worker_knows_how() -> None:
    app.loader.import_default_modules()
    assert "reports.tasks.look_at_prices" in app.tasks
    DatabaseScheduler(app=app)
    entry = PeriodicTask.objects.get(task="reports.tasks.look_at_prices")
    assert entry.enabled
    assert entry.interval is not None
    assert timedelta(**{entry.interval.period: entry.interval.every}) == timedelta(minutes=15)
