"""The language of a person: that of the last log-in, or chosen since; mails are written in it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone, translation

from accounts import invitation_mail, languages
from accounts.models import Invitation, User
from tests.factories import PASSWORD, make_team, make_user

pytestmark = pytest.mark.django_db
JA = {"Accept-Language": "ja"}


def language_of(user: User) -> str:
    return User.objects.get(pk=user.pk).language


def test_signing_up_keeps_the_language_of_the_page() -> None:
    Client().post("/accounts/signup/", {"email": "a@example.com", "password1": PASSWORD}, headers=JA)
    assert User.objects.get().language == "ja"


def test_each_log_in_and_each_choice_replaces_it() -> None:
    user = make_user()
    assert language_of(user) == ""
    client = Client()
    client.post("/accounts/login/", {"login": user.email, "password": PASSWORD}, headers=JA)
    assert language_of(user) == "ja"
    client.post("/language/", {"language": "en", "next": "/"})
    assert language_of(user) == "en"
    assert client.cookies["language"].value == "en"


@pytest.mark.parametrize("language", ["xx", "", "ja\n", "x" * 400])
def test_a_language_that_is_not_spoken_here_changes_nothing(language: str) -> None:
    user = make_user()
    languages.remember(user, "ja")
    client = Client()
    client.force_login(user)
    assert client.post("/language/", {"language": language, "next": "/"}).status_code == 302
    assert language_of(user) == "ja"


def test_a_visitor_chooses_without_an_account_and_reading_chooses_nothing() -> None:
    user = make_user()
    assert Client().post("/language/", {"language": "ja", "next": "/"}).status_code == 302
    client = Client()
    client.force_login(user)
    client.get("/language/?language=ja")
    assert language_of(user) == ""


def test_the_account_says_in_which_language_mails_come() -> None:
    user = make_user()
    languages.remember(user, "ja")
    client = Client()
    client.force_login(user)
    assert "in 日本語, the language" in client.get("/accounts/").content.decode()


@pytest.mark.parametrize(
    ("known", "asked_in", "begins"),
    [
        ("ja", "en", "Mitsumori のチーム"),
        ("", "ja", "Mitsumori のチーム"),
        ("en", "ja", "Invitation to a team"),
    ],
)
def test_an_invitation_is_in_the_language_of_who_is_invited(known: str, asked_in: str, begins: str) -> None:
    languages.remember(make_user(email="invited@example.com"), known)
    at = timezone.now()
    invitation = Invitation(
        team=make_team("Shared", make_user(email="owner@example.com")),
        email="Invited@example.com",
        created_at=at,
        expires_at=at + timedelta(days=7),
    )
    with translation.override(asked_in):
        assert invitation_mail.send(invitation, "http://testserver/x")
        assert translation.get_language() == asked_in
    assert mail.outbox[0].subject.startswith(begins)
