"""Private offers: only their team sees them, a change keeps the past, two at once double nothing."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, transaction
from django.test import Client

from accounts.access import TEAM_KEY
from accounts.models import Role, Team, User
from catalog import private_offers
from catalog.models import PrivateOffer, QuoteTable
from catalog.quote_forms import QuoteForm
from catalog.quote_tables import guesses
from tests.catalog.test_quote_tables import ENGLISH, GOOD
from tests.factories import AT, make_member, make_team, make_user
from tests.races import met_after, together, unlocked

pytestmark = pytest.mark.django_db


def values(**changes: str) -> dict[str, Any]:
    form = QuoteForm(GOOD | changes)
    assert form.is_valid(), form.errors
    return form.values()


def sign_in(user: User, team: Team) -> Client:
    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    session = client.session
    session[TEAM_KEY] = team.pk
    session.save()
    return client


@pytest.fixture
def owner(db: None) -> User:
    return make_user("own@example.com")


@pytest.fixture
def shared(owner: User) -> Team:
    return make_team("Shared", owner)


def test_a_change_ends_one_row_and_begins_another(owner: User, shared: Team) -> None:
    first = private_offers.add(shared, values(), user=owner, at=AT)
    later = AT + timedelta(hours=1)
    second = private_offers.change(first, values(amount="5"), user=owner, at=later)
    standing = PrivateOffer.objects.standing
    assert [each.amount for each in standing(AT)] == [Decimal("1980000.5")]
    assert [each.amount for each in standing(later)] == [Decimal(5)]
    private_offers.withdraw(second, at=later + timedelta(hours=1))
    assert not standing(later + timedelta(hours=1)).exists()
    assert standing(later).get() == second
    with pytest.raises(private_offers.EndedError):
        private_offers.change(first, values(amount="6"), user=owner, at=later)


def test_the_same_rows_twice_add_nothing_and_a_new_price_takes_the_place(owner: User, shared: Team) -> None:
    rows = [values(), values(sku="other")]
    assert [changed for _o, changed in private_offers.add_all(shared, rows, user=owner, at=AT)] == [
        True,
        True,
    ]
    assert [changed for _o, changed in private_offers.add_all(shared, rows, user=owner, at=AT)] == [
        False,
        False,
    ]
    private_offers.add_all(shared, [values(amount="7")], user=owner, at=AT + timedelta(days=1))
    standing = PrivateOffer.objects.standing(AT + timedelta(days=1))
    assert sorted(each.amount for each in standing) == [Decimal(7), Decimal("1980000.5")]


def test_too_many_offers_are_refused_as_a_whole(
    owner: User, shared: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_offers, "OFFERS_MAXIMUM", 1)
    with pytest.raises(private_offers.TooManyError):
        private_offers.add_all(shared, [values(), values(sku="b")], user=owner, at=AT)
    assert not PrivateOffer.objects.exists()


def test_the_day_of_validity_itself_still_counts(owner: User, shared: Team) -> None:
    offer = private_offers.add(shared, values(valid_until="2026-11-30"), user=owner, at=AT)
    assert not offer.is_expired(date(2026, 11, 30))
    assert offer.is_expired(date(2026, 12, 1))
    assert not private_offers.add(shared, values(sku="b"), user=owner, at=AT).is_expired(date(2099, 1, 1))


def test_a_card_that_nobody_knows_is_listed_and_not_compared(owner: User, shared: Team) -> None:
    offer = private_offers.add(shared, values(accelerator_as_written="Nobody X1"), user=owner, at=AT)
    assert offer.accelerator is None
    assert not PrivateOffer.objects.comparable().exists()
    assert "not compared" in sign_in(owner, shared).get("/catalog/quotes/").content.decode()


def test_people_enter_change_and_withdraw_an_offer(owner: User, shared: Team) -> None:
    client = sign_in(owner, shared)
    asked = {
        "survives_restart": "yes",
        "survives_host_change": "no",
        "data_location": "石狩",
        "startup_minutes": "3",
    }
    assert client.post("/catalog/quotes/new/", GOOD | asked).status_code == 302
    offer = PrivateOffer.objects.get()
    page = client.get("/catalog/quotes/").content.decode()
    assert "1,980,000.5 JPY" in page
    assert "石狩" in page
    form = client.get(f"/catalog/quotes/{offer.pk}/").content.decode()
    assert 'value="1980000.5"' in form
    assert client.post(f"/catalog/quotes/{offer.pk}/", GOOD | {"amount": "-1"}).status_code == 422
    assert client.post(f"/catalog/quotes/{offer.pk}/", GOOD | {"amount": "99"}).status_code == 302
    assert client.post(f"/catalog/quotes/{offer.pk}/", GOOD).status_code == 404  # it ended
    now = PrivateOffer.objects.get(ended_at=None)
    assert now.amount == Decimal(99)
    client.post(f"/catalog/quotes/{now.pk}/withdraw/")
    assert not PrivateOffer.objects.filter(ended_at=None).exists()


def test_what_is_paid_upfront_is_entered_listed_and_changed(owner: User, shared: Team) -> None:
    client = sign_in(owner, shared)
    committed = {"tier": "reserved", "term_months": "12", "upfront": "5000"}
    refused = client.post("/catalog/quotes/new/", GOOD | committed | {"tier": "on_demand"})
    assert refused.status_code == 422
    assert 'id="id_upfront_error"' in refused.content.decode()
    assert 'value="5000"' in refused.content.decode(), "what was typed stays"
    assert client.post("/catalog/quotes/new/", GOOD | committed).status_code == 302
    page = client.get("/catalog/quotes/").content.decode()
    assert "5,000 JPY upfront" in page
    assert "12 months" in page
    offer = PrivateOffer.objects.get()
    form = client.get(f"/catalog/quotes/{offer.pk}/").content.decode()
    assert 'name="upfront" value="5000"' in form
    assert 'name="term_months" value="12"' in form
    client.post(f"/catalog/quotes/{offer.pk}/", GOOD | committed | {"amount": "0"})
    now = PrivateOffer.objects.get(ended_at=None)
    assert (now.amount, now.amount_over_term) == (Decimal(0), Decimal("416.666667"))


def test_terms_and_ways_of_paying_are_lines_of_their_own_and_a_new_fee_takes_the_place(
    owner: User, shared: Team
) -> None:
    year = {"tier": "reserved", "term_months": "12"}
    rows = [
        values(**year), values(**year, upfront="5000"), values(**year, upfront="9000", amount="0"),
        values(tier="reserved", term_months="36"),
    ]  # fmt: skip
    private_offers.add_all(shared, rows, user=owner, at=AT)
    assert PrivateOffer.objects.count() == 4
    later = AT + timedelta(days=1)
    dearer = values(**year, upfront="6000")
    private_offers.add_all(shared, [dearer], user=owner, at=later)
    fees = sorted(each.upfront or 0 for each in PrivateOffer.objects.standing(later))
    assert fees == [0, 0, 6000, 9000]


def test_the_database_refuses_a_fee_without_a_term_and_a_price_of_nothing(owner: User, shared: Team) -> None:
    offer = private_offers.add(shared, values(tier="reserved", term_months="12"), user=owner, at=AT)
    same = PrivateOffer.objects.filter(pk=offer.pk)
    assert same.update(upfront=Decimal(5)) == 1
    for fault in ({"term_months": None}, {"tier": "on_demand"}, {"upfront": Decimal(0), "amount": 0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            same.update(**fault)


def test_viewers_read_and_strangers_find_nothing(owner: User, shared: Team) -> None:
    offer = private_offers.add(shared, values(provider_name="OFFER-CANARY"), user=owner, at=AT)
    viewer = sign_in(make_member(shared, Role.VIEWER), shared)
    assert "OFFER-CANARY" in viewer.get("/catalog/quotes/").content.decode()
    stranger_user = make_user()
    stranger = sign_in(stranger_user, shared)  # a session that names a foreign team changes nothing
    for path in ("", "new/", "upload/", f"{offer.pk}/"):
        assert viewer.get(f"/catalog/quotes/{path}").status_code == (200 if not path else 403)
        page = stranger.get(f"/catalog/quotes/{path}")
        assert page.status_code == (404 if path == f"{offer.pk}/" else 200)
        assert "OFFER-CANARY" not in page.content.decode()
    assert stranger.post(f"/catalog/quotes/{offer.pk}/withdraw/").status_code == 404
    assert viewer.post(f"/catalog/quotes/{offer.pk}/withdraw/").status_code == 403
    assert Client().get("/catalog/quotes/").status_code == 302


def upload(client: Client, text: str, name: str = "q.csv") -> Any:
    return client.post(
        "/catalog/quotes/upload/", {"file": SimpleUploadedFile(name, text.encode(), "text/csv")}
    )


def mapping(table: QuoteTable, **more: str) -> dict[str, str]:
    columns = {f"column_{number}": name for number, name in enumerate(guesses(table.rows[0]))}
    return columns | more


def test_a_table_is_uploaded_mapped_and_taken(owner: User, shared: Team) -> None:
    client = sign_in(owner, shared)
    sent = upload(client, ENGLISH)
    table = QuoteTable.objects.get()
    assert sent.headers["Location"] == f"/catalog/quotes/upload/{table.pk}/"
    page = client.get(sent.headers["Location"]).content.decode()
    assert "Quote date" in page
    refused = client.post(sent.headers["Location"], mapping(table))
    assert refused.status_code == 422
    assert "row 3:" in refused.content.decode()
    assert not PrivateOffer.objects.exists()
    assert client.post(sent.headers["Location"], mapping(table, take_good="on")).status_code == 302
    assert PrivateOffer.objects.get().sku == "VRT-H100"
    assert not QuoteTable.objects.exists()
    upload(client, ENGLISH)
    again = QuoteTable.objects.get()
    path = f"/catalog/quotes/upload/{again.pk}/"
    page = client.post(path, mapping(again, take_good="on"), follow=True).content.decode()
    assert "1 was known already" in page
    assert PrivateOffer.objects.count() == 1


def test_an_uploaded_table_is_for_its_team_alone(owner: User, shared: Team) -> None:
    upload(sign_in(owner, shared), ENGLISH)
    table = QuoteTable.objects.get()
    path = f"/catalog/quotes/upload/{table.pk}/"
    stranger = make_user()
    assert sign_in(stranger, make_team("Other", stranger)).get(path).status_code == 404
    assert sign_in(make_member(shared, Role.VIEWER), shared).post(path, mapping(table)).status_code == 403


@pytest.mark.parametrize("text", ["", "a", "\x00"])
def test_a_file_that_is_no_table_gets_a_message_at_its_field(owner: User, shared: Team, text: str) -> None:
    answer = upload(sign_in(owner, shared), text)
    assert answer.status_code == 422
    assert 'id="file_error"' in answer.content.decode()
    assert not QuoteTable.objects.exists()


def test_a_file_that_is_too_large_gets_a_message(owner: User, shared: Team) -> None:
    answer = upload(sign_in(owner, shared), "a,b\n" + "x,y\n" * 700_000)
    assert answer.status_code == 422
    assert "larger than 2 MiB" in answer.content.decode()


def test_only_a_few_unmapped_tables_are_kept(owner: User, shared: Team) -> None:
    client = sign_in(owner, shared)
    for _number in range(7):
        upload(client, ENGLISH)
    assert QuoteTable.objects.count() == 5


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_locked", [False, True])
def test_the_same_table_taken_twice_at_once_is_not_doubled(
    monkeypatch: pytest.MonkeyPatch, is_locked: bool
) -> None:
    """With the lock taken out both find nothing and both write: the race is real."""
    owner = make_user()
    team = make_team("Team", owner)
    rows = [values()]
    monkeypatch.setattr(private_offers, "_standing", met_after(private_offers._standing))
    if not is_locked:
        monkeypatch.setattr(private_offers, "held", unlocked)
    raised = together(*[lambda: private_offers.add_all(team, rows, user=owner, at=AT)] * 2)
    assert raised == []
    assert PrivateOffer.objects.count() == (1 if is_locked else 2)
