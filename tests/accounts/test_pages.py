"""Signing up, in and out, and passwords, as a visitor meets them."""

from __future__ import annotations

import re

import pytest
from django.core import mail
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import Role, Team, User
from accounts.services import role_in
from tests.factories import PASSWORD, make_user

pytestmark = pytest.mark.django_db

LOGIN = "/accounts/login/"
SIGNUP = "/accounts/signup/"


def test_signing_up_makes_the_person_and_their_own_team() -> None:
    client = Client()
    response = client.post(SIGNUP, {"email": "New@Example.com", "password1": PASSWORD})
    assert response.status_code == 302
    user = User.objects.get(email="new@example.com")
    team = Team.objects.get()
    assert team.is_personal
    assert role_in(user, team) is Role.OWNER
    page = client.get("/accounts/").content.decode()
    assert "new@example.com" in page
    assert team.name in page


def test_what_is_sent_beside_the_form_changes_nothing() -> None:
    fields = {
        "email": "a@example.com",
        "password1": PASSWORD,
        "is_staff": "1",
        "is_superuser": "1",
        "role": "owner",
    }
    Client().post(SIGNUP, fields)
    user = User.objects.get()
    assert not user.is_staff
    assert not user.is_superuser


@pytest.mark.parametrize(
    "fields",
    [
        {"email": "", "password1": PASSWORD},
        {"email": "no address", "password1": PASSWORD},
        {"email": "a" * 250 + "@example.com", "password1": PASSWORD},
        {"email": "a@example.com", "password1": ""},
        {"email": "a@example.com", "password1": "short"},
        {"email": "a@example.com", "password1": "password123"},
        {"email": "a@example.com", "password1": "1234567890123"},
        {"email": "a@example.com", "password1": "x" * 1000},
    ],
)
def test_a_refused_sign_up_says_why_at_the_field_and_stores_nothing(fields: dict[str, str]) -> None:
    response = Client().post(SIGNUP, fields)
    assert response.status_code == 200
    page = response.content.decode()
    assert 'aria-invalid="true"' in page
    message = re.search(r'<ul class="errorlist" id="(id_\w+_error)"><li>([^<]+)', page)
    assert message
    assert re.search(rf'aria-describedby="[^"]*\b{message[1]}\b', page)
    assert User.objects.count() == Team.objects.count() == 0


def test_a_closed_sign_up_is_closed(settings: Settings) -> None:
    settings.SIGN_UP_OPEN = False
    client = Client()
    client.post(SIGNUP, {"email": "a@example.com", "password1": PASSWORD})
    assert User.objects.count() == 0
    assert "<form class=" not in client.get(SIGNUP).content.decode().split('id="main"')[1]


def test_logging_in_and_out() -> None:
    make_user("a@example.com")
    client = Client()
    assert client.get("/accounts/").status_code == 302
    response = client.post(LOGIN, {"login": "A@EXAMPLE.com", "password": PASSWORD})
    assert response.status_code == 302
    assert client.get("/accounts/").status_code == 200
    assert client.get("/accounts/logout/").status_code == 200
    assert client.get("/accounts/").status_code == 200, "looking at the sign-out page does not sign out"
    client.post("/accounts/logout/")
    assert client.get("/accounts/").status_code == 302


def test_known_and_unknown_names_get_the_same_answer() -> None:
    make_user("known@example.com")
    pages = []
    for email in ("known@example.com", "other@example.com"):
        response = Client().post(LOGIN, {"login": email, "password": "wrong-password"})
        page = response.content.decode().replace(email, "EMAIL")
        pages.append(
            (response.status_code, re.sub(r'(csrfmiddlewaretoken" value="|X-CSRFToken": ")[^"]+', "", page))
        )
    assert pages[0] == pages[1]
    assert "errorlist" in pages[0][1]


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "http:///evil"],
)
def test_after_logging_in_nobody_is_sent_elsewhere(target: str) -> None:
    make_user("a@example.com")
    response = Client().post(
        f"{LOGIN}?next={target}", {"login": "a@example.com", "password": PASSWORD, "next": target}
    )
    assert response.status_code == 302
    assert response.headers["Location"] == "/plans/"


def test_after_logging_in_one_is_where_one_wanted_to_go() -> None:
    make_user("a@example.com")
    client = Client()
    asked = client.get("/accounts/").headers["Location"]
    assert asked == "/accounts/login/?next=%2Faccounts%2F"
    fields = {"login": "a@example.com", "password": PASSWORD, "next": "/accounts/"}
    assert client.post(asked, fields).headers["Location"] == "/accounts/"


def test_ten_failures_from_one_address_lock_that_address_only() -> None:
    make_user("owner@example.com")
    attacker = Client(REMOTE_ADDR="198.51.100.7")
    for number in range(10):
        spoofed = f"203.0.113.{number}"
        fields = {
            "login": f"name{number}@example.com" if number % 2 else "owner@example.com",
            "password": "wrong",
        }
        last = attacker.post(LOGIN, fields, headers={"X-Forwarded-For": spoofed})
    assert last.status_code == 429
    good = {"login": "owner@example.com", "password": PASSWORD}
    locked = attacker.post(LOGIN, good)
    assert locked.status_code == 429
    assert int(locked.headers["Retry-After"]) == 900
    assert b"<h1>" in locked.content
    assert Client(REMOTE_ADDR="192.0.2.1").post(LOGIN, good).status_code == 302


def test_behind_a_proxy_its_own_entry_counts_and_not_what_the_client_wrote(settings: Settings) -> None:
    settings.TRUSTED_PROXY_COUNT = 1
    make_user("owner@example.com")
    proxy = Client(REMOTE_ADDR="10.0.0.1")
    for number in range(11):
        header = f"203.0.113.{number}, 198.51.100.7"
        last = proxy.post(
            LOGIN, {"login": "x@example.com", "password": "wrong"}, headers={"X-Forwarded-For": header}
        )
    assert last.status_code == 429
    good = {"login": "owner@example.com", "password": PASSWORD}
    assert proxy.post(LOGIN, good, headers={"X-Forwarded-For": "198.51.100.8"}).status_code == 302


def test_changing_the_password_ends_the_other_sessions() -> None:
    make_user("a@example.com")
    here, elsewhere = Client(), Client()
    for client in (here, elsewhere):
        client.post(LOGIN, {"login": "a@example.com", "password": PASSWORD})
    fields = {"oldpassword": PASSWORD, "password1": "another-good-one", "password2": "another-good-one"}
    assert here.post("/accounts/password/change/", fields).status_code == 302
    assert here.get("/accounts/").status_code == 200
    assert elsewhere.get("/accounts/").status_code == 302


def test_a_switched_off_account_is_out_at_once(user: User, user_client: Client) -> None:
    assert user_client.get("/accounts/").status_code == 200
    user.is_active = False
    user.save()
    assert user_client.get("/accounts/").status_code == 302


def test_a_forgotten_password_is_reset_by_mail_once() -> None:
    make_user("a@example.com")
    client = Client()
    assert client.post("/accounts/password/reset/", {"email": "a@example.com"}).status_code == 302
    (message,) = mail.outbox
    link = re.search(r"http://testserver(/accounts/password/reset/key/\S+)", str(message.body))
    assert link
    form = client.get(link[1], follow=True)
    address = form.redirect_chain[-1][0]
    fields = {"password1": "another-good-one", "password2": "another-good-one"}
    assert client.post(address, fields).status_code == 302
    assert Client().post(LOGIN, {"login": "a@example.com", "password": "another-good-one"}).status_code == 302
    assert "already" in Client().get(link[1], follow=True).content.decode()


def test_a_reset_for_an_unknown_address_looks_the_same_and_sends_nothing() -> None:
    response = Client().post("/accounts/password/reset/", {"email": "nobody@example.com"})
    assert response.status_code == 302
    assert mail.outbox == []


def test_the_admin_is_for_staff_and_has_no_door_of_its_own(user_client: Client, user: User) -> None:
    anonymous = Client().get("/admin/", follow=True)
    assert anonymous.redirect_chain[-1][0].startswith("/accounts/login/")
    assert user_client.get("/admin/", follow=True).status_code == 403
    user.is_staff = user.is_superuser = True
    user.save()
    assert user_client.get("/admin/").status_code == 200
    for method in (user_client.get, user_client.post):
        assert method("/admin/logout/").headers["Location"] == "/accounts/logout/"
    assert user_client.get("/admin/").status_code == 200, "signing out is asked on its own page"
    for page in ("user", "team", "invitation", "apitoken"):
        assert user_client.get(f"/admin/accounts/{page}/").status_code == 200


@pytest.mark.parametrize(
    "address",
    [LOGIN, SIGNUP, "/accounts/password/reset/", "/accounts/password/reset/done/", "/accounts/inactive/"],
)
def test_every_page_is_ours_and_has_one_heading(address: str) -> None:
    page = Client().get(address).content.decode()
    assert page.count("<h1") == 1
    assert "Mitsumori</title>" in page
    assert "style=" not in page.split('id="main"')[1]


def test_the_language_is_switched_by_a_form_and_kept_in_a_cookie() -> None:
    client = Client()
    response = client.post("/language/", {"language": "ja", "next": "/accounts/login/"})
    assert response.headers["Location"] == "/accounts/login/"
    assert client.cookies["language"].value == "ja"
    assert '<html lang="ja"' in client.get(LOGIN).content.decode()
    assert client.post("/language/", {"language": "en", "next": "//evil.example"}).headers["Location"] == "/"


def test_too_many_password_changes_get_the_own_page(user_client: Client) -> None:
    wrong = {"oldpassword": "wrong", "password1": "x", "password2": "x"}
    statuses = [user_client.post("/accounts/password/change/", wrong).status_code for _ in range(8)]
    assert statuses[0] == 200
    assert statuses[-1] == 429
    limited = user_client.post("/accounts/password/change/", wrong)
    assert limited.headers["Retry-After"] == "60"
    assert b"<h1>" in limited.content


@pytest.mark.parametrize("address", ["/accounts/password/set/", "/accounts/"])
def test_pages_of_the_signed_in_answer(user_client: Client, address: str) -> None:
    assert user_client.get(address).status_code in {200, 302}
