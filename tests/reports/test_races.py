"""Two people save at the same moment: one version each, or a word about the other; never a lost one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError

from accounts import teams
from accounts.models import Role, Team
from reports import leaving, notes, services
from reports.models import Plan, PlanTag, ShareLink
from tests.factories import AT, make_member, make_team, make_user
from tests.planner.factories import make_small_catalog
from tests.races import met_after, met_before, take_out_locks, together, unlocked
from tests.reports.factories import save_plan

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 5


def saver(plan: Plan, user: object, base: int, title: str, at: datetime) -> Callable[[], None]:
    def save() -> None:
        services.reword(plan, user=user, base_number=base, words=services.Words(title), at=at)  # type: ignore[arg-type]

    return save


def test_of_two_saves_at_once_one_is_stored_and_the_other_is_told() -> None:
    make_small_catalog(AT)
    owner = make_user()
    team = make_team("Team", owner)
    editor = make_member(team, Role.EDITOR)
    plan = save_plan(team, owner).plan
    for number in range(ROUNDS):
        base = Plan.objects.get(pk=plan.pk).latest_number
        raised = together(
            saver(plan, owner, base, f"owner {number}", AT), saver(plan, editor, base, f"editor {number}", AT)
        )
        assert [type(error) for error in raised] == [services.ConflictError]
    numbers = list(plan.versions.order_by("number").values_list("number", flat=True))
    assert numbers == list(range(1, ROUNDS + 2))


def test_without_the_check_two_saves_at_once_would_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The race is real: with the lock taken out, the second save meets the first one's number or overtakes it."""
    make_small_catalog(AT)
    owner = make_user()
    team = make_team("Team", owner)
    plan = save_plan(team, owner).plan
    gate = threading.Barrier(2)

    def unlocked(plan: Plan, base_number: int) -> Plan:
        found = Plan.objects.get(pk=plan.pk)
        with suppress(threading.BrokenBarrierError):
            gate.wait(1)
        return found

    monkeypatch.setattr(services, "_locked", unlocked)
    raised = together(saver(plan, owner, 1, "first", AT), saver(plan, owner, 1, "second", AT))
    stored = set(plan.versions.values_list("title", flat=True))
    # Either the database refused a number twice, or the later save never knew of the earlier one.
    assert raised or stored == {"Chat assistant", "first", "second"}
    assert not any(isinstance(error, services.ConflictError) for error in raised)


@pytest.mark.parametrize("is_safe", [False, True])
def test_revoking_twice_at_once_is_done_and_told_once(monkeypatch: pytest.MonkeyPatch, is_safe: bool) -> None:
    """With a mark that looks first and writes then, everybody writes, and the first moment is lost: it is real."""
    make_small_catalog(AT)
    owner = make_user()
    plan = save_plan(make_team("Team", owner), owner).plan
    link, secret = services.share(services.newest(plan), user=owner, at=AT)
    if not is_safe:
        looked = met_after(lambda: ShareLink.objects.get(pk=link.pk).revoked_at is None, 3)

        def mark(_link: ShareLink, at: datetime) -> bool:
            is_open = looked()
            return is_open and bool(ShareLink.objects.filter(pk=link.pk).update(revoked_at=at))

        monkeypatch.setattr(services, "_mark_revoked", mark)
        monkeypatch.setattr("reports.services.transaction", SimpleNamespace(atomic=nullcontext))
    raised = together(*(lambda: services.revoke(link, at=AT) for _number in range(3)))
    assert raised == []
    assert services.open_shared(secret, at=AT) is None
    assert plan.activity.filter(what="revoked").count() == (1 if is_safe else 3)


@pytest.mark.parametrize("is_safe", [False, True])
def test_no_view_of_a_link_is_lost(is_safe: bool) -> None:
    """Counted by the database; with a count that is read and written back, most are lost: the race is real."""
    make_small_catalog(AT)
    owner = make_user()
    plan = save_plan(make_team("Team", owner), owner).plan
    link, _secret = services.share(services.newest(plan), user=owner, at=AT)
    read = met_after(lambda: ShareLink.objects.get(pk=link.pk).view_count, 6)

    def read_and_write() -> None:
        count = read()
        ShareLink.objects.filter(pk=link.pk).update(view_count=count + 1)

    raised = together(*[(lambda: services.count_view(link)) if is_safe else read_and_write] * 6)
    assert raised == []
    link.refresh_from_db()
    assert (link.view_count == 6) is is_safe


@pytest.mark.parametrize("is_locked", [False, True])
def test_two_who_change_the_tags_at_once_end_with_those_of_one(
    monkeypatch: pytest.MonkeyPatch, is_locked: bool
) -> None:
    """With the lock taken out the plan has the tags of both, which nobody wanted: the race is real."""
    make_small_catalog(AT)
    owner = make_user()
    plan = save_plan(make_team("Team", owner), owner).plan
    monkeypatch.setattr(PlanTag.objects, "bulk_create", met_before(PlanTag.objects.bulk_create))
    if not is_locked:
        take_out_locks(monkeypatch, "reports.notes")
    raised = together(
        lambda: notes.set_tags(plan, ["a"], user=owner, at=AT), lambda: notes.set_tags(plan, ["b"], user=owner, at=AT)
    )  # fmt: skip
    assert raised == []
    assert plan.tags.count() == (1 if is_locked else 2)


@pytest.mark.parametrize("is_locked", [False, True])
def test_nobody_joins_a_team_that_is_being_deleted_with_its_last_member(
    monkeypatch: pytest.MonkeyPatch, is_locked: bool
) -> None:
    """With the lock taken out somebody joins after the look and loses the team at once: the race is real."""
    owner, guest = make_user(), make_user()
    team = make_team("Team", owner)
    _invitation, secret = teams.invite(
        team, email=guest.email, role=Role.OWNER, invited_by=owner, at=AT, lifetime=timedelta(days=1)
    )
    looked, joined = threading.Event(), threading.Event()
    fate = leaving._fate

    def slow_fate(*args: Any) -> leaving.TeamFate:
        found = fate(*args)
        looked.set()
        joined.wait(1 if is_locked else 10)  # with the lock nobody comes
        return found

    def join() -> None:
        looked.wait(10)
        teams.accept(secret, guest, at=AT)
        joined.set()

    monkeypatch.setattr(leaving, "_fate", slow_fate)
    if not is_locked:
        take_out_locks(monkeypatch, "reports.leaving", "accounts.teams")
    raised = together(lambda: leaving.delete_account(owner), join)
    assert not Team.objects.filter(pk=team.pk).exists()
    if is_locked:
        assert [type(error) for error in raised] == [teams.InvitationClosedError]
    else:
        assert (raised, joined.is_set()) == ([], True)


@pytest.mark.parametrize("is_locked", [False, True])
def test_those_who_try_passwords_at_once_all_count(monkeypatch: pytest.MonkeyPatch, is_locked: bool) -> None:
    """With the lock taken out two tries count as one, and a limit of tries is none: the race is real."""
    make_small_catalog(AT)
    owner = make_user()
    plan = save_plan(make_team("Team", owner), owner).plan
    link, _secret = services.share(services.newest(plan), user=owner, at=AT, password="open sesame")
    monkeypatch.setattr(services, "_tries_so_far", met_after(services._tries_so_far))
    if not is_locked:
        monkeypatch.setattr(services, "_held_link", unlocked)
    raised = together(*[lambda: services.unlock(link, "wrong", at=AT)] * 2)
    assert raised == []
    link.refresh_from_db()
    assert link.wrong_count == (2 if is_locked else 1)


@pytest.mark.parametrize("is_locked", [False, True])
def test_a_reprice_and_an_edit_at_once_do_not_both_build_on_one_version(
    monkeypatch: pytest.MonkeyPatch, is_locked: bool
) -> None:
    """With the lock taken out both take the same number, and one of them is lost or breaks: the race is real."""
    make_small_catalog(AT)
    owner = make_user()
    plan = save_plan(make_team("Team", owner), owner).plan
    if not is_locked:

        def free(plan: Plan, base_number: int) -> Plan:
            return Plan.objects.get(pk=plan.pk)

        monkeypatch.setattr(services, "_locked", met_after(free))
        monkeypatch.setattr("reports.services.transaction.atomic", nullcontext)
    raised = together(
        lambda: services.reprice(plan, user=owner, base_number=1, at=AT),
        saver(plan, owner, 1, "edited", AT),
    )
    numbers = sorted(plan.versions.values_list("number", flat=True))
    if is_locked:
        assert [type(error) for error in raised] == [services.ConflictError]
        assert numbers == [1, 2]
    else:
        assert [type(error) for error in raised] == [
            IntegrityError
        ]  # the number twice: a person's work is lost
