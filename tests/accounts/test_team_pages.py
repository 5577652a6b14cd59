"""Teams, invitations and tokens as people meet them."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.core import mail
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import ApiToken, Invitation, Role, Team, User
from accounts.services import add_member, role_in
from tests.factories import AT, PASSWORD, make_member, make_team, make_user

pytestmark = pytest.mark.django_db


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


@pytest.fixture
def owner(db: None) -> User:
    return make_user("own@example.com", name="Ono")


@pytest.fixture
def shared(owner: User) -> Team:
    return make_team("Shared", owner)


def address_on(page: str) -> str:
    found = re.search(r"http://testserver(/accounts/invitations/[^\"/]+/)", page)
    assert found
    return found[1]


def invited(client: Client, team: Team, email: str = "new@example.com", role: str = "editor") -> str:
    given = {"email": email, "role": role, "lifetime": "7"}
    answer = client.post(f"/accounts/teams/{team.pk}/invitations/", given)
    assert answer.status_code == 200
    return address_on(answer.content.decode())


def test_a_team_is_made_named_and_chosen(owner: User) -> None:
    client = sign_in(owner)
    made = client.post("/accounts/teams/new/", {"name": "Platform 基盤"}, follow=True)
    team = Team.objects.get(name="Platform 基盤")
    assert made.redirect_chain[-1][0] == f"/accounts/teams/{team.pk}/"
    assert role_in(owner, team) is Role.OWNER
    client.post(f"/accounts/teams/{team.pk}/", {"name": "Renamed", "allow_share_links": ""})
    team.refresh_from_db()
    assert (team.name, team.allow_share_links) == ("Renamed", False)
    client.post(f"/accounts/teams/{team.pk}/choose/")
    assert "you work here" in client.get("/accounts/").content.decode()


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "x" * 121, "\ufffd"])
def test_a_name_that_makes_no_sense_is_refused_and_kept_in_the_field(owner: User, name: str) -> None:
    answer = sign_in(owner).post("/accounts/teams/new/", {"name": name})
    assert answer.status_code in (400, 422)
    assert not Team.objects.filter(is_personal=False).exists()


def test_an_invited_person_signs_up_and_joins_also_where_sign_up_is_closed(
    settings: Settings, owner: User, shared: Team
) -> None:
    settings.SIGN_UP_OPEN = False
    path = invited(sign_in(owner), shared)
    assert [message.to for message in mail.outbox] == [["new@example.com"]]
    assert f"http://testserver{path}" in mail.outbox[0].body
    guest = Client()
    assert "Shared" in guest.get(path).content.decode()
    signed_up = guest.post("/accounts/signup/", {"email": "new@example.com", "password1": PASSWORD})
    assert (signed_up.status_code, signed_up.headers["Location"]) == (302, path)
    guest.post(path)
    assert role_in(User.objects.get(email="new@example.com"), shared) is Role.EDITOR
    assert guest.get(path).status_code == 404
    # The door is closed again: neither this visitor nor a stranger may sign up without an open invitation.
    stranger = Client()
    stranger.get(path)
    stranger.post("/accounts/signup/", {"email": "b@example.com", "password1": PASSWORD})
    assert not User.objects.filter(email="b@example.com").exists()


def test_an_invited_person_with_an_account_signs_in_and_comes_back(owner: User, shared: Team) -> None:
    path = invited(sign_in(owner), shared, role="viewer")
    make_user("old@example.com")
    guest = Client()
    guest.get(path)
    back = guest.post("/accounts/login/", {"login": "old@example.com", "password": PASSWORD})
    assert back.headers["Location"] == path
    assert guest.get(path).status_code == 200
    assert role_in(User.objects.get(email="old@example.com"), shared) is None  # looking does not join
    guest.post(path)
    assert role_in(User.objects.get(email="old@example.com"), shared) is Role.VIEWER


def test_invitations_that_do_not_open_look_the_same(owner: User, shared: Team) -> None:
    client = sign_in(owner)
    path = invited(client, shared)
    row = Invitation.objects.get()
    client.post(f"/accounts/teams/{shared.pk}/invitations/{row.pk}/revoke/")
    bodies = {
        re.sub(
            r'(csrfmiddlewaretoken" value="|X-CSRFToken": "|next" value=")[^"]*',
            "",
            Client().get(each).content.decode(),
        )
        for each in (path, "/accounts/invitations/mit_guessed/")
    }
    assert len(bodies) == 1
    assert Client().get(path).status_code == 404


def test_mail_that_cannot_be_sent_is_said_and_the_address_shown(
    settings: Settings, owner: User, shared: Team
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    page = sign_in(owner).post(
        f"/accounts/teams/{shared.pk}/invitations/",
        {"email": "a@b.example", "role": "viewer", "lifetime": "1"},
    )
    assert "It was not mailed" in page.content.decode()
    assert address_on(page.content.decode())


@pytest.mark.parametrize(
    "given",
    [
        {"email": "no address", "role": "editor", "lifetime": "7"},
        {"email": "a@b.example", "role": "boss", "lifetime": "7"},
        {"email": "a@b.example", "role": "editor", "lifetime": "9999"},
        {},
    ],
)
def test_an_invitation_that_makes_no_sense_is_refused(
    owner: User, shared: Team, given: dict[str, str]
) -> None:
    answer = sign_in(owner).post(f"/accounts/teams/{shared.pk}/invitations/", given)
    assert answer.status_code == 422
    assert 'class="errorlist"' in answer.content.decode()
    assert not Invitation.objects.exists()


def test_roles_are_changed_members_removed_and_the_team_handed_over(owner: User, shared: Team) -> None:
    client, member = sign_in(owner), make_member(shared, Role.VIEWER)
    path = f"/accounts/teams/{shared.pk}/members/{member.pk}"
    client.post(f"{path}/role/", {"role": "editor"})
    assert role_in(member, shared) is Role.EDITOR
    assert client.post(f"{path}/role/", {"role": "emperor"}).status_code == 422
    client.post(f"{path}/remove/")
    assert role_in(member, shared) is None
    assert client.post(f"{path}/remove/").status_code == 404
    add_member(shared, member, Role.VIEWER, at=AT)
    assert client.post(f"{path}/hand-over/").headers["Location"] == "/accounts/"
    assert client.get(f"/accounts/teams/{shared.pk}/").status_code == 403


def test_the_last_owner_is_told_why_leaving_is_not_possible(owner: User, shared: Team) -> None:
    client = sign_in(owner)
    page = client.post(f"/accounts/teams/{shared.pk}/leave/", follow=True).content.decode()
    assert "A team always keeps an owner" in page
    assert role_in(owner, shared) is Role.OWNER
    lowered = client.post(f"/accounts/teams/{shared.pk}/members/{owner.pk}/role/", {"role": "viewer"})
    assert lowered.status_code == 422


def test_a_member_leaves(shared: Team) -> None:
    member = make_member(shared, Role.EDITOR)
    sign_in(member).post(f"/accounts/teams/{shared.pk}/leave/")
    assert role_in(member, shared) is None


def test_the_name_is_changed_and_shown(owner: User) -> None:
    client = sign_in(owner)
    client.post("/accounts/", {"name": "小野"})
    owner.refresh_from_db()
    assert owner.name == "小野"
    assert client.post("/accounts/", {"name": "x" * 500}).status_code == 422


def test_a_token_is_shown_once_and_never_above_ones_role(shared: Team) -> None:
    member = make_member(shared, Role.EDITOR)
    client = sign_in(member)
    given = {"token_name": "nightly", "team": shared.pk, "role": "owner", "lifetime": "30"}
    assert client.post("/accounts/tokens/", given).status_code == 422
    page = client.post("/accounts/tokens/", given | {"role": "editor"}).content.decode()
    (secret,) = re.findall(r'value="(mit_[^"]+)"', page)
    assert secret not in client.get("/accounts/tokens/").content.decode()
    assert Client().get("/api/v1/plans", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    token = ApiToken.objects.get()
    assert sign_in(make_user()).post(f"/accounts/tokens/{token.pk}/revoke/").status_code == 404
    client.post(f"/accounts/tokens/{token.pk}/revoke/")
    assert Client().get("/api/v1/plans", headers={"Authorization": f"Bearer {secret}"}).status_code == 401


def test_a_token_is_for_ones_own_teams_only(owner: User, shared: Team) -> None:
    stranger = make_user()
    given = {"token_name": "x", "team": shared.pk, "role": "viewer", "lifetime": "30"}
    assert sign_in(stranger).post("/accounts/tokens/", given).status_code == 422
    assert not ApiToken.objects.exists()


def test_a_single_user_works_without_signing_in(settings: Settings) -> None:
    settings.SINGLE_USER = True
    client = Client()
    assert client.get("/plans/").status_code == 200
    page = client.get("/accounts/").content.decode()
    assert "Change password" not in page
    assert "Sign out" not in page
    assert User.objects.count() == 1
    assert client.get("/accounts/delete/").status_code == 404


def test_without_that_mode_a_visitor_must_sign_in(settings: Settings) -> None:
    settings.SINGLE_USER = False
    assert Client().get("/plans/").status_code == 302


def test_the_page_of_tokens_leads_to_the_api_and_shows_how_to_ask_it(shared: Team) -> None:
    client = sign_in(make_member(shared, Role.EDITOR))
    page = unescape(client.get("/accounts/tokens/").content.decode())
    (address,) = re.findall(r'href="([^"]+)">Description of the API', page)
    assert client.get(address).json()["info"]["title"] == "Mitsumori"
    (body,) = re.findall(r"curl -d '([^']+)'", page)
    assert Client().post("/api/v1/size", body, content_type="application/json").status_code == 200
    assert "http://testserver/api/v1/size" in page
    assert "curl -H 'Authorization: Bearer mit_…' http://testserver/api/v1/plans" in page
