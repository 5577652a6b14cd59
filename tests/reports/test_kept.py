"""What is kept of a version is what would be made again, and never opens a door that has closed."""

from __future__ import annotations

import pytest
from django.test import Client

from reports import exports, services, sheets
from reports.kept import Kept, identity
from reports.models import Plan
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan

pytestmark = pytest.mark.django_db


def test_only_the_most_recently_used_are_kept() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name.upper()

    kept: Kept[str] = Kept(2)
    for name in ("a", "b", "a", "c", "a", "b"):
        assert kept.get(name, lambda name=name: make(name)) == name.upper()  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]


def test_a_kept_file_is_the_file_that_would_be_made(plan: Plan) -> None:
    version = services.newest(plan)
    for fmt in exports.FORMATS:
        for language in ("en", "ja"):
            fresh = exports.make(sheets.of_version(version), fmt, language)
            assert exports.of_version(version, fmt, language) == fresh
            assert exports.of_version(version, fmt, language) == fresh


def test_every_language_page_and_reader_has_its_own(clock: None, plan: Plan, crew: Crew) -> None:
    client = crew.client("owner")
    english = client.get(f"/plans/{plan.slug}/").content
    client.post("/language/", {"language": "ja", "next": "/"})
    assert client.get(f"/plans/{plan.slug}/").content != english
    secret = services.share(services.newest(plan), user=crew.owner, at=plan.created_at)[1]
    shared = Client().get(f"/s/{secret}/").content.decode()
    assert "/workbench/?" not in shared
    assert "/workbench/?" in client.get(f"/plans/{plan.slug}/").content.decode()


def test_plans_with_the_same_content_do_not_share_their_envelope(catalog: None, crew: Crew) -> None:
    one, two = save_plan(crew.team, crew.owner), save_plan(crew.team, crew.owner)
    assert one.fingerprint == two.fingerprint
    assert identity(one) != identity(two)
    assert one.plan.slug.encode() in exports.of_version(one, "csv", "en").content
    assert one.plan.slug.encode() not in exports.of_version(two, "csv", "en").content
