"""Plans are saved as photographs: what is stored never changes, and nothing is overwritten silently."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db import transaction

from planner.sizing.workload import Concurrency, ModelReference, ServingWorkload
from reports import content, services, sheets
from reports.models import ImmutableError, Plan, PlanVersion, PlanWorkload
from tests.planner.factories import make_offer, set_price
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan

pytestmark = pytest.mark.django_db


def test_a_plan_keeps_question_answer_and_the_moment_of_its_prices(plan: Plan, at: datetime) -> None:
    version = services.newest(plan)
    assert (version.number, version.title, version.prepared_by) == (1, "Chat assistant", "Ono Owner")
    assert version.priced_at == at
    stored = version.answers.get()
    comparison = content.read_comparison(stored)
    assert [candidate.offer.accelerator for candidate in comparison.candidates][:1] == ["L40S"]
    assert comparison.candidates[0].monthly.total == Decimal("811.00")
    assert stored.inputs["model"]["id"] == "meta-llama/Llama-3.1-8B-Instruct"


def test_a_slug_has_twelve_characters_that_can_be_read_aloud(plan: Plan) -> None:
    assert len(plan.slug) == 12
    assert not set(plan.slug) & set("01oil")


def test_a_saved_version_cannot_be_changed_in_any_way(plan: Plan) -> None:
    version = services.newest(plan)
    version.title = "Another"
    with pytest.raises(ImmutableError):
        version.save()
    with pytest.raises(ImmutableError):
        PlanVersion.objects.filter(pk=version.pk).update(title="Another")
    workload = version.answers.get()
    with pytest.raises(ImmutableError):
        workload.save()
    with pytest.raises(ImmutableError):
        PlanWorkload.objects.update(comparison_text="{}")
    with pytest.raises(ImmutableError):
        PlanWorkload.objects.bulk_update([workload], ["name"])
    assert services.newest(plan).title == "Chat assistant"


def test_a_plan_reads_the_same_after_prices_offers_and_words_changed(
    plan: Plan, crew: Crew, at: datetime
) -> None:
    before = sheets.of_version(services.newest(plan)).content_text
    later = at + timedelta(hours=1)
    set_price(make_offer("L4", "0.10", at=later), "0.05", at=later, observed_on=later.date())
    services.reword(plan, user=crew.owner, base_number=1, words=services.Words("Other words"), at=later)
    first = plan.versions.get(number=1)
    assert sheets.of_version(first).content_text == before
    assert content.is_whole(first)


def test_saving_computes_at_the_prices_that_were_seen(catalog: None, crew: Crew, at: datetime) -> None:
    later = at + timedelta(hours=2)
    make_offer("L40S", "0.10", sku="cheap", at=at + timedelta(hours=1))
    version = services.save_plan(
        team=crew.team,
        user=crew.owner,
        words=services.Words("Seen earlier"),
        workloads=[services.NamedWorkload(ServingWorkload())],
        priced_at=at,
        at=later,
    )
    seen = content.read_comparison(version.answers.get())
    assert "cheap" not in {candidate.offer.sku for candidate in seen.candidates}
    assert (version.priced_at, version.created_at) == (at, later)


@pytest.mark.parametrize("away", [timedelta(days=-31), timedelta(minutes=5)])
def test_prices_of_long_ago_and_of_the_future_are_refused(
    catalog: None, crew: Crew, at: datetime, away: timedelta
) -> None:
    with pytest.raises(services.PricesTooOldError):
        services.save_plan(
            team=crew.team,
            user=crew.owner,
            words=services.Words("x"),
            workloads=[services.NamedWorkload(ServingWorkload())],
            priced_at=at + away,
            at=at,
        )
    assert not Plan.objects.exists()


def test_a_model_that_cannot_be_sized_leaves_no_plan(catalog: None, crew: Crew) -> None:
    with pytest.raises(services.UNSIZABLE):
        save_plan(crew.team, crew.owner, model=ModelReference(id="nobody/nothing"))
    assert not Plan.objects.exists()


def test_the_content_is_canonical_and_its_hash_is_the_fingerprint(plan: Plan) -> None:
    version = services.newest(plan)
    text = sheets.of_version(version).content_text
    assert content.canonical(json.loads(text)) == text
    assert content.sha256(text) == version.fingerprint
    assert content.is_whole(version)
    document = json.loads(text)
    assert document["workloads"][0]["comparison"]["candidates"][0]["monthly"]["total"] == "811.00"


def test_a_changed_byte_in_the_database_is_noticed(plan: Plan) -> None:
    version = services.newest(plan)
    row = version.answers.get()
    tampered = row.comparison_text.replace('"811.00"', '"810.00"')
    assert tampered != row.comparison_text
    with transaction.atomic():
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("UPDATE reports_planworkload SET comparison_text = %s", [tampered])
    assert not content.is_whole(version)


def test_the_fingerprint_tells_contents_apart_but_not_authors_or_addresses(
    catalog: None, crew: Crew, at: datetime
) -> None:
    one, same = save_plan(crew.team, crew.owner), save_plan(crew.team, crew.editor)
    assert one.plan.slug != same.plan.slug
    assert one.fingerprint == same.fingerprint
    assert save_plan(crew.team, crew.owner, "Other title").fingerprint != one.fingerprint
    more = save_plan(crew.team, crew.owner, concurrency=Concurrency(average=9, peak=32))
    assert more.fingerprint != one.fingerprint


def test_other_words_make_a_version_over_the_same_stored_answers(
    plan: Plan, crew: Crew, at: datetime
) -> None:
    version = services.reword(
        plan, user=crew.editor, base_number=1, words=services.Words("Chat, revised", note="n"), at=at
    )
    plan.refresh_from_db()
    assert (version.number, plan.latest_number, plan.title) == (2, 2, "Chat, revised")
    assert PlanWorkload.objects.count() == 1
    assert version.answers.get() == plan.versions.get(number=1).answers.get()
    assert content.is_whole(version)
    third = services.reword(plan, user=crew.editor, base_number=2, words=services.Words("Third"), at=at)
    assert third.answers.get() == version.answers.get()


def test_a_stale_editor_is_told_and_nothing_is_overwritten(plan: Plan, crew: Crew, at: datetime) -> None:
    services.reword(plan, user=crew.owner, base_number=1, words=services.Words("First"), at=at)
    with pytest.raises(services.ConflictError) as told:
        services.reword(plan, user=crew.editor, base_number=1, words=services.Words("Second"), at=at)
    assert told.value.latest.title == "First"
    with pytest.raises(services.ConflictError):
        services.add_version(
            plan,
            user=crew.editor,
            base_number=1,
            words=services.Words("Third"),
            workloads=[services.NamedWorkload(ServingWorkload())],
            priced_at=at,
            at=at,
        )
    assert list(plan.versions.values_list("number", "title")) == [(2, "First"), (1, "Chat assistant")]


def test_a_new_version_is_computed_anew(plan: Plan, crew: Crew, at: datetime) -> None:
    later = at + timedelta(days=1)
    make_offer("L40S", "0.50", sku="new", at=later)
    version = services.add_version(
        plan,
        user=crew.owner,
        base_number=1,
        words=services.Words("Repriced"),
        workloads=[
            services.NamedWorkload(ServingWorkload()),
            services.NamedWorkload(ServingWorkload(), "Second"),
        ],
        priced_at=later,
        at=later,
    )
    first, second = version.answers
    assert content.read_comparison(first).candidates[0].offer.sku == "new"
    assert (second.position, second.name) == (2, "Second")
    assert content.is_whole(version)


def test_a_failure_in_the_middle_of_saving_leaves_nothing(
    catalog: None, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(PlanWorkload, "save", broken)
    with pytest.raises(OSError, match="disk full"):
        save_plan(crew.team, crew.owner)
    assert not Plan.objects.exists()
    assert not PlanVersion.objects.exists()
