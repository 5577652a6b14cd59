"""Links show one version to whoever holds them, until they end; then they look as if they had never been."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from reports import services
from reports.models import Plan, ShareLink
from tests.reports.conftest import Crew

pytestmark = pytest.mark.django_db

FORMATS = ("pdf", "csv", "xlsx", "json")


def make_link(plan: Plan, crew: Crew, at: datetime, lifetime: timedelta | None = timedelta(days=7)) -> str:
    return services.share(services.newest(plan), user=crew.owner, at=at, lifetime=lifetime)[1]


def test_a_link_is_kept_as_a_hash_only(plan: Plan, crew: Crew, at: datetime) -> None:
    secret = make_link(plan, crew, at)
    link = ShareLink.objects.get()
    assert secret.startswith("mit_")
    assert len(secret) >= 4 + 43
    assert link.secret_sha256 == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in str(link.__dict__)


def test_a_link_ends_at_its_expiry_and_not_a_second_later(plan: Plan, crew: Crew, at: datetime) -> None:
    secret = make_link(plan, crew, at, timedelta(days=7))
    end = at + timedelta(days=7)
    assert services.open_shared(secret, at=end - timedelta(seconds=1)) is not None
    assert services.open_shared(secret, at=end) is None
    assert services.open_shared(secret, at=end + timedelta(seconds=1)) is None


def test_a_link_lives_at_most_two_years(plan: Plan, crew: Crew, at: datetime) -> None:
    make_link(plan, crew, at, timedelta(days=36_500))
    assert ShareLink.objects.get().expires_at == at + timedelta(days=732)


def test_a_revoked_link_is_closed_at_the_next_request(
    clock: None, plan: Plan, crew: Crew, at: datetime
) -> None:
    secret = make_link(plan, crew, at, None)
    addresses = [f"/s/{secret}/", *(f"/s/{secret}/export.{fmt}" for fmt in FORMATS)]
    assert {Client().get(address).status_code for address in addresses} == {200}
    crew.client("editor").post(f"/plans/{plan.slug}/links/{ShareLink.objects.get().pk}/revoke/")
    assert {Client().get(address).status_code for address in addresses} == {404}


def test_archiving_a_plan_or_closing_links_for_a_team_closes_its_links(
    plan: Plan, crew: Crew, at: datetime
) -> None:
    secret = make_link(plan, crew, at)
    services.archive(plan, at=at)
    assert services.open_shared(secret, at=at) is None
    services.restore(plan, at=at)
    assert services.open_shared(secret, at=at) is not None
    crew.team.allow_share_links = False
    crew.team.save()
    assert services.open_shared(secret, at=at) is None
    with pytest.raises(services.LinksClosedError):
        make_link(Plan.objects.get(), crew, at)


def test_every_link_that_does_not_open_gives_the_same_answer(
    clock: None, plan: Plan, crew: Crew, at: datetime
) -> None:
    expired = make_link(plan, crew, at, timedelta(seconds=-1))
    revoked = make_link(plan, crew, at)
    services.revoke(ShareLink.objects.order_by("pk").last() or ShareLink(), at=at)
    bodies = set()
    for secret in (expired, revoked, "mit_" + "A" * 43, "no-such-link", "m" * 5000):
        response = Client().get(f"/s/{secret}/")
        assert response.status_code == 404
        bodies.add(without_tokens(response.content.decode().replace(secret, "")))
    assert len(bodies) == 1


def without_tokens(page: str) -> str:
    """A page without what is fresh in every answer."""
    return re.sub(r'(csrfmiddlewaretoken" value="|X-CSRFToken": ")[^"]*', "", page)


def test_a_shared_page_shows_one_version_and_nothing_else(
    clock: None, plan: Plan, crew: Crew, at: datetime
) -> None:
    secret = make_link(plan, crew, at)
    services.reword(plan, user=crew.owner, base_number=1, words=services.Words("SECRET SECOND"), at=at)
    page = Client().get(f"/s/{secret}/?plan={plan.slug}&version=2").content.decode()
    assert "Chat assistant" in page
    for hidden in (
        "SECRET SECOND",
        crew.owner.email,
        "/edit/",
        "/history/",
        "/links/",
        f"/plans/{plan.slug}",
    ):
        assert hidden not in page
    exported = Client().get(f"/s/{secret}/export.csv?version=2").content.decode()
    assert "Chat assistant" in exported
    assert "SECRET SECOND" not in exported


def test_a_shared_page_is_kept_by_nobody(clock: None, plan: Plan, crew: Crew, at: datetime) -> None:
    secret = make_link(plan, crew, at)
    for address in (f"/s/{secret}/", f"/s/{secret}/export.csv"):
        headers = Client().get(address).headers
        assert "no-store" in headers["Cache-Control"]
        assert "noindex" in headers["X-Robots-Tag"]
        assert headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_a_link_only_reads(clock: None, plan: Plan, crew: Crew, at: datetime, method: str) -> None:
    secret = make_link(plan, crew, at)
    strict = Client(enforce_csrf_checks=True)
    assert getattr(strict, method)(f"/s/{secret}/").status_code == 405
    assert getattr(strict, method)(f"/s/{secret}/export.pdf").status_code == 405
    assert getattr(strict, method)("/s/mit_nothing/").status_code == 404


def test_the_reader_of_a_link_reads_japanese(clock: None, plan: Plan, crew: Crew, at: datetime) -> None:
    secret = make_link(plan, crew, at)
    client = Client()
    client.post("/language/", {"language": "ja", "next": f"/s/{secret}/"})
    assert '<html lang="ja"' in client.get(f"/s/{secret}/").content.decode()


def test_every_view_is_counted(clock: None, plan: Plan, crew: Crew, at: datetime) -> None:
    secret = make_link(plan, crew, at)
    for _time in range(3):
        Client().get(f"/s/{secret}/")
    assert ShareLink.objects.get().view_count == 3


def test_the_address_of_a_new_link_is_shown_once(plan: Plan, crew: Crew, at: datetime) -> None:
    with time_machine.travel(at, tick=False):
        editor = crew.client("editor")
        made = editor.post(f"/plans/{plan.slug}/links/", {"lifetime": "30"}).content.decode()
        found = re.search(r"/s/(mit_[\w-]+)/", made)
        assert found is not None
        assert Client().get(f"/s/{found[1]}/").status_code == 200
        assert found[1] not in editor.get(f"/plans/{plan.slug}/links/").content.decode()


def test_an_unknown_lifetime_is_refused_at_its_field(plan: Plan, crew: Crew) -> None:
    response = crew.client("editor").post(f"/plans/{plan.slug}/links/", {"lifetime": "36500"})
    assert response.status_code == 422
    assert "errorlist" in response.content.decode()
    assert not ShareLink.objects.exists()


def test_all_readers_of_a_link_get_the_same_page(clock: None, plan: Plan, crew: Crew, at: datetime) -> None:
    secret = make_link(plan, crew, at)
    pages = {
        re.sub(r'csrfmiddlewaretoken"[^>]*', "", Client().get(f"/s/{secret}/").content.decode())
        for _n in range(3)
    }
    assert len(pages) == 1


def protected(plan: Plan, crew: Crew, at: datetime) -> tuple[str, ShareLink]:
    link, secret = services.share(services.newest(plan), user=crew.owner, at=at, password="open sesame")
    return secret, link


def test_a_protected_link_shows_nothing_before_its_password(
    clock: None, plan: Plan, crew: Crew, at: datetime
) -> None:
    secret, link = protected(plan, crew, at)
    assert "open sesame" not in str(ShareLink.objects.values().get())
    reader = Client()
    page = reader.get(f"/s/{secret}/").content.decode()
    assert "A password is needed" in page
    assert "Chat assistant" not in page
    for fmt in FORMATS:
        answer = reader.get(f"/s/{secret}/export.{fmt}")
        assert (answer.status_code, answer.headers["Location"]) == (302, f"/s/{secret}/")
    assert reader.post(f"/s/{secret}/unlock/", {"password": "wrong"}).status_code == 422
    assert reader.post(f"/s/{secret}/unlock/", {}).status_code == 422
    assert "Chat assistant" not in reader.get(f"/s/{secret}/").content.decode()
    assert reader.post(f"/s/{secret}/unlock/", {"password": "open sesame"}).status_code == 302
    assert "Chat assistant" in reader.get(f"/s/{secret}/").content.decode()
    assert reader.get(f"/s/{secret}/export.csv").status_code == 200
    assert "Chat assistant" not in Client().get(f"/s/{secret}/").content.decode()  # another reader
    services.revoke(link, at=at)
    assert reader.get(f"/s/{secret}/").status_code == 404


def test_a_password_opens_its_own_link_only(clock: None, plan: Plan, crew: Crew, at: datetime) -> None:
    first, _link = protected(plan, crew, at)
    _other, second = services.share(services.newest(plan), user=crew.owner, at=at, password="another one")
    reader = Client()
    reader.post(f"/s/{first}/unlock/", {"password": "open sesame"})
    assert "A password is needed" in reader.get(f"/s/{second}/").content.decode()


def test_passwords_of_a_link_cannot_be_tried_without_end(
    clock: None, plan: Plan, crew: Crew, at: datetime
) -> None:
    secret, link = protected(plan, crew, at)
    for _number in range(services.TRIES_MAXIMUM):
        assert Client().post(f"/s/{secret}/unlock/", {"password": "wrong"}).status_code == 422
    blocked = Client().post(f"/s/{secret}/unlock/", {"password": "open sesame"})
    assert (blocked.status_code, blocked.headers["Retry-After"]) == (429, "900")
    link.refresh_from_db()
    assert services.unlock(link, "open sesame", at=at + services.TRIES_WINDOW)
    link.refresh_from_db()
    assert link.wrong_count == 0


def test_a_short_password_is_refused_at_its_field(plan: Plan, crew: Crew) -> None:
    answer = crew.client("editor").post(f"/plans/{plan.slug}/links/", {"lifetime": "7", "password": "short"})
    assert answer.status_code == 422
    assert not ShareLink.objects.exists()


def test_a_reader_with_an_account_takes_a_shared_plan_over(
    clock: None, plan: Plan, crew: Crew, at: datetime
) -> None:
    secret = make_link(plan, crew, at)
    stranger = crew.client("stranger")
    team = crew.stranger.teams.get()
    assert stranger.get(f"/plans/fork/?link={secret}").status_code == 200
    made = stranger.post("/plans/fork/", {"link": secret, "title": "Mine", "team": team.pk})
    fork = Plan.objects.get(team=team)
    assert made.headers["Location"] == f"/plans/{fork.slug}/"
    copy, original = services.newest(fork), services.newest(plan)
    assert copy.answers.get().comparison_text == original.answers.get().comparison_text
    assert (fork.origin, fork.origin_detail) == ("fork", "")
    assert Client().get(f"/plans/fork/?link={secret}").status_code == 302
    for bad in ({"link": "mit_guessed"}, {"link": ""}, {}):
        assert stranger.post("/plans/fork/", bad | {"title": "x", "team": team.pk}).status_code == 404
    assert (
        stranger.post("/plans/fork/", {"link": secret, "title": "x", "team": crew.team.pk}).status_code == 422
    )


def test_a_protected_plan_is_not_taken_over_without_its_password(
    clock: None, plan: Plan, crew: Crew, at: datetime
) -> None:
    secret, _link = protected(plan, crew, at)
    stranger = crew.client("stranger")
    given = {"link": secret, "title": "Mine", "team": crew.stranger.teams.get().pk}
    assert stranger.post("/plans/fork/", given).headers["Location"] == f"/s/{secret}/"
    assert Plan.objects.count() == 1


def post_link(plan: Plan, crew: Crew, **typed: str) -> Any:
    return crew.client("editor").post(f"/plans/{plan.slug}/links/", typed)


def test_a_link_ends_with_the_day_that_was_named(clock: None, plan: Plan, crew: Crew) -> None:
    assert post_link(plan, crew, lifetime="until", until="2026-12-24").status_code == 200
    assert ShareLink.objects.get().expires_at == datetime(2026, 12, 25, tzinfo=UTC)


@pytest.mark.parametrize(
    ("lifetime", "until"),
    [
        ("until", ""),
        ("until", "2026-11-29"),
        ("until", "2028-12-01"),
        ("until", "tomorrow"),
        ("30", "2026-12-24"),
    ],
)
def test_a_last_day_that_makes_no_sense_is_refused_at_its_field(
    clock: None, plan: Plan, crew: Crew, lifetime: str, until: str
) -> None:
    answer = post_link(plan, crew, lifetime=lifetime, until=until)
    assert answer.status_code == 422
    assert 'id="id_until_error"' in answer.content.decode()
    assert not ShareLink.objects.exists()


def test_the_last_day_may_be_two_years_away(clock: None, plan: Plan, crew: Crew) -> None:
    assert post_link(plan, crew, lifetime="until", until="2028-11-29").status_code == 200
    assert post_link(plan, crew, lifetime="until", until="2028-11-30").status_code == 200


def test_a_link_says_for_whom_to_the_team_alone_and_until_when_to_its_reader(
    clock: None, plan: Plan, crew: Crew
) -> None:
    made = post_link(plan, crew, lifetime="7", note="Ms Sato, procurement").content.decode()
    secret = re.findall(r"/s/(mit_[\w-]+)/", made)[0]
    assert "data-copy=" in made
    assert "Ms Sato, procurement" in made
    read = crew.client("anonymous").get(f"/s/{secret}/").content.decode()
    assert "Ms Sato" not in read
    assert "this link works until 2026-12-07 09:00" in " ".join(read.split())
