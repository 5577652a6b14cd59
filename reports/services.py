"""Saving plans, adding versions, sharing: the only writers of plans and links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction
from django.db.models import F

from accounts.models import SHOWN_PREFIX_LENGTH, Team, User, new_secret, secret_digest
from planner import documents
from planner import services as planner_services
from planner.private_market import public_version
from planner.sizing.architecture import ModelError
from planner.sizing.results import Comparison
from planner.sizing.runtime import UnknownRuntime
from planner.sizing.workload import CommonWorkload
from reports.activity import What, log
from reports.content import canonical, comparison_text, fingerprint, sha256
from reports.models import Plan, PlanVersion, PlanWorkload, ShareLink

CANDIDATES_KEPT = 200
"""How many candidates of a comparison a plan keeps; every rejected offer is kept beside them."""

UNSIZABLE = (ModelError, UnknownRuntime)
"""What the planner raises for a model or a runtime that it cannot size at all."""

PRICED_AT_MAX_AGE = timedelta(days=30)
LINK_LIFETIME_MAX = timedelta(days=732)
"""Two years and the rest of the last day."""
SECRET_MAX_LENGTH = 200
TRIES_MAXIMUM = 10
TRIES_WINDOW = timedelta(minutes=15)


@dataclass(frozen=True)
class NamedWorkload:
    """A workload of a plan, what the plan calls it, and the workbench's query string that opens it again."""

    workload: CommonWorkload
    name: str = ""
    query: str = ""


@dataclass(frozen=True)
class Words:
    """What a person writes on a plan."""

    title: str
    prepared_for: str = ""
    note: str = ""


class ConflictError(Exception):
    """Somebody else saved a version since the page was opened; nothing was written."""

    def __init__(self, latest: PlanVersion) -> None:
        super().__init__(f"version {latest.number} was saved meanwhile")
        self.latest = latest


class PricesTooOldError(ValueError):
    """The prices asked for are from too long ago, or from the future."""


class TooManyTriesError(Exception):
    """Too many wrong passwords for one link."""


class LinksClosedError(Exception):
    """The team allows no public links, or the plan is archived."""


@dataclass(frozen=True)
class _Answer:
    name: str
    query: str
    inputs_text: str
    comparison: Comparison
    comparison_text: str


def compute(
    workloads: Sequence[NamedWorkload], *, team: Team, priced_at: datetime, at: datetime
) -> list[_Answer]:
    """Every workload's comparison at the prices of ``priced_at``: numbers from a browser are no evidence.

    The private offers of the team that owns the plan take part.
    """
    if not at - PRICED_AT_MAX_AGE <= priced_at <= at + timedelta(seconds=5):
        raise PricesTooOldError(priced_at)
    return [_answer(named, answer_of(named, at=priced_at, team_id=team.pk)) for named in workloads]


def answer_of(named: NamedWorkload, *, at: datetime, team_id: int | None = None) -> Comparison:
    """The comparison as plans and files keep it: the first candidates, and every rejected offer."""
    found = planner_services.compare(
        named.workload, at=at, team_id=team_id, limit=CANDIDATES_KEPT, rejected_limit=None
    )
    # What a team adds stands in the candidates; the version names the catalog, which is the same for all.
    return found.model_copy(update={"catalog_version": public_version(found.catalog_version)})


def _answer(named: NamedWorkload, comparison: Comparison) -> _Answer:
    return _Answer(
        name=named.name,
        query=named.query,
        inputs_text=canonical(named.workload.model_dump(mode="json", by_alias=True)),
        comparison=comparison,
        comparison_text=comparison_text(comparison),
    )


def save_plan(
    *,
    team: Team,
    user: User,
    words: Words,
    workloads: Sequence[NamedWorkload],
    priced_at: datetime,
    at: datetime,
) -> PlanVersion:
    """A new plan with its first version."""
    answers = compute(workloads, team=team, priced_at=priced_at, at=at)
    with transaction.atomic():
        plan = Plan.objects.create(
            team=team, title=words.title, created_by=user, created_at=at, changed_at=at
        )
        return _append(plan, words, answers, user=user, at=at, what="saved")


def add_version(
    plan: Plan,
    *,
    user: User,
    base_number: int,
    words: Words,
    workloads: Sequence[NamedWorkload],
    priced_at: datetime,
    at: datetime,
    what: What = "computed",
) -> PlanVersion:
    """The next version, computed anew; raises `ConflictError` where ``base_number`` is not the newest now."""
    answers = compute(workloads, team=plan.team, priced_at=priced_at, at=at)
    with transaction.atomic():
        return _append(_locked(plan, base_number), words, answers, user=user, at=at, what=what)


def workloads_of(version: PlanVersion) -> list[NamedWorkload]:
    """What a version asked, to be computed again. Raises ``WorkloadInvalid`` for what is no longer sized."""
    return [NamedWorkload(documents.validate(row.inputs), row.name, row.query) for row in version.answers]


def with_workload(version: PlanVersion, question: NamedWorkload, position: int | None) -> list[NamedWorkload]:
    """A version's questions with one more, or with one in the place of another."""
    asked = workloads_of(version)
    if position is None:
        return [*asked, question]
    if not question.name and position <= len(asked):
        question = replace(question, name=asked[position - 1].name)
    return [question if number == position else each for number, each in enumerate(asked, start=1)]


def words_of(version: PlanVersion) -> Words:
    return Words(version.title, version.prepared_for, version.note)


def reprice(plan: Plan, *, user: User, base_number: int, at: datetime) -> PlanVersion:
    """The next version: the same questions and words at the prices of now; raises `ConflictError`."""
    before = plan.versions.get(number=plan.latest_number)
    return add_version(
        plan,
        user=user,
        base_number=base_number,
        words=words_of(before),
        workloads=workloads_of(before),
        priced_at=at,
        at=at,
        what="repriced",
    )


def rearrange(
    plan: Plan, *, user: User, base_number: int, kept: Sequence[tuple[int, str]], at: datetime
) -> PlanVersion:
    """The next version with some workloads left out, renamed or in another order, over the same stored answers.

    ``kept`` are the positions that stay, in the new order, each with its name.
    """
    with transaction.atomic():
        locked = _locked(plan, base_number)
        before = newest(locked)
        rows = {row.position: row for row in before.answers}
        version = version_of(locked, words_of(before), before, user=user, at=at)
        copies = [
            copied(rows[old], position, name=name) for position, (old, name) in enumerate(kept, start=1)
        ]
        log(locked, "rearranged", user=user, at=at, number=version.number)
        return store_with(locked, version, copies)


def copied(row: PlanWorkload, position: int, *, name: str | None = None) -> PlanWorkload:
    """The same question and answer, not saved yet."""
    return PlanWorkload(
        position=position,
        name=row.name if name is None else name,
        query=row.query,
        kind=row.kind,
        inputs_text=row.inputs_text,
        comparison_text=row.comparison_text,
        comparison_sha256=row.comparison_sha256,
    )


def reword(
    plan: Plan,
    *,
    user: User,
    base_number: int,
    words: Words,
    at: datetime,
    checklist_text: str | None = None,
) -> PlanVersion:
    """The next version with other words, or another checklist, over the same stored answers.

    Raises `ConflictError`.
    """
    with transaction.atomic():
        locked = _locked(plan, base_number)
        before = newest(locked)
        version = version_of(locked, words, before, user=user, at=at)
        if checklist_text is not None:
            version.checklist_text = checklist_text
        what: What = "reworded" if checklist_text is None else "checklist"
        log(locked, what, user=user, at=at, number=version.number)
        version.answered_by_id = before.answered_by_id or before.pk
        version.fingerprint = fingerprint(version, before.answers)
        return _store(locked, version)


def _locked(plan: Plan, base_number: int) -> Plan:
    """The plan's row, held until the end of the transaction, if nobody saved since ``base_number``."""
    locked = Plan.objects.select_for_update().get(pk=plan.pk)
    if locked.latest_number != base_number:
        raise ConflictError(newest(locked))
    return locked


def newest(plan: Plan) -> PlanVersion:
    version: PlanVersion = plan.versions.select_related("created_by", "plan__team").get(
        number=plan.latest_number
    )
    return version


def _append(
    plan: Plan, words: Words, answers: list[_Answer], *, user: User, at: datetime, what: What
) -> PlanVersion:
    first = answers[0].comparison
    stamp = PlanVersion(
        priced_at=first.priced_at,
        engine_version=first.engine_version,
        catalog_version=first.catalog_version,
        checklist_text=newest(plan).checklist_text if plan.latest_number else "",
    )
    version = version_of(plan, words, stamp, user=user, at=at)
    rows = [
        PlanWorkload(
            position=position,
            name=answer.name,
            query=answer.query,
            kind=answer.comparison.kind,
            inputs_text=answer.inputs_text,
            comparison_text=answer.comparison_text,
            comparison_sha256=sha256(answer.comparison_text),
        )
        for position, answer in enumerate(answers, start=1)
    ]
    log(plan, what, user=user, at=at, number=version.number)
    return store_with(plan, version, rows)


def store_with(plan: Plan, version: PlanVersion, rows: Sequence[PlanWorkload]) -> PlanVersion:
    """Writes a version with answers of its own; inside the caller's transaction."""
    version.fingerprint = fingerprint(version, rows)
    _store(plan, version)
    for row in rows:
        row.version = version
        row.save()
    return version


def version_of(plan: Plan, words: Words, stamp: PlanVersion, *, user: User, at: datetime) -> PlanVersion:
    return PlanVersion(
        plan=plan,
        number=plan.latest_number + 1,
        title=words.title,
        prepared_for=words.prepared_for,
        note=words.note,
        prepared_by=user.name,
        created_by=user,
        created_at=at,
        priced_at=stamp.priced_at.astimezone(UTC),
        engine_version=stamp.engine_version,
        catalog_version=stamp.catalog_version,
        checklist_text=stamp.checklist_text,
    )


def _store(plan: Plan, version: PlanVersion) -> PlanVersion:
    version.save()
    plan.latest_number = version.number
    plan.title = version.title
    plan.changed_at = version.created_at
    plan.save(update_fields=["latest_number", "title", "changed_at"])
    return version


def archive(plan: Plan, *, at: datetime, user: User | None = None) -> None:
    """Puts a plan away: it leaves the list and its links stop; nothing is lost."""
    with transaction.atomic():
        if Plan.objects.filter(pk=plan.pk, archived_at__isnull=True).update(archived_at=at):
            log(plan, "archived", user=user, at=at)


def restore(plan: Plan, *, at: datetime, user: User | None = None) -> None:
    with transaction.atomic():
        if Plan.objects.filter(pk=plan.pk, archived_at__isnull=False).update(archived_at=None):
            log(plan, "restored", user=user, at=at)


def share(
    version: PlanVersion,
    *,
    user: User,
    at: datetime,
    lifetime: timedelta | None = None,
    password: str = "",
    note: str = "",
) -> tuple[ShareLink, str]:
    """A new link to exactly this version, and its secret, which is shown once and never stored."""
    plan = version.plan
    if plan.is_archived or not plan.team.allow_share_links:
        raise LinksClosedError
    secret = new_secret()
    log(plan, "shared", user=user, at=at, number=version.number, detail=secret[:SHOWN_PREFIX_LENGTH])
    link = ShareLink.objects.create(
        password=make_password(password) if password else "",
        note=note,
        version=version,
        secret_sha256=secret_digest(secret),
        shown_prefix=secret[:SHOWN_PREFIX_LENGTH],
        created_by=user,
        created_at=at,
        expires_at=at + min(lifetime, LINK_LIFETIME_MAX) if lifetime else None,
    )
    return link, secret


def revoke(link: ShareLink, *, at: datetime, user: User | None = None) -> None:
    with transaction.atomic():
        if _mark_revoked(link, at):
            version = link.version
            log(version.plan, "revoked", user=user, at=at, number=version.number, detail=link.shown_prefix)


def _mark_revoked(link: ShareLink, at: datetime) -> bool:
    """In one statement; False where somebody was faster, whose moment stays."""
    return bool(ShareLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=at))


def open_shared(secret: str, *, at: datetime) -> ShareLink | None:
    """The link a secret opens now, or None: unknown, revoked, expired, plan archived, links switched off.

    The secret has 256 random bits and is looked up by its hash, so the comparison leaks nothing by its time.
    """
    if len(secret) > SECRET_MAX_LENGTH:
        return None
    return (
        ShareLink.objects.open(at)
        .filter(secret_sha256=secret_digest(secret))
        .select_related("version__plan__team")
        .first()
    )


@contextmanager
def _held_link(link: ShareLink) -> Iterator[ShareLink]:
    with transaction.atomic():
        yield ShareLink.objects.select_for_update().get(pk=link.pk)


def _tries_so_far(link: ShareLink, at: datetime) -> tuple[int, datetime]:
    """How many wrong passwords in the window that is open, and when it began; a new one where it is over."""
    if link.wrong_since is None or at - link.wrong_since >= TRIES_WINDOW:
        return 0, at
    return link.wrong_count, link.wrong_since


def unlock(link: ShareLink, password: str, *, at: datetime) -> bool:
    """Whether this is the link's password. Raises `TooManyTriesError` after ten wrong ones in a quarter of an hour.

    Only who holds the address can try at all; counted in the database, so that all server processes count together.
    """
    with _held_link(link) as held:
        count, since = _tries_so_far(held, at)
        if count >= TRIES_MAXIMUM:
            raise TooManyTriesError
        # Counted before the password is looked at: those who try at once all count.
        ShareLink.objects.filter(pk=held.pk).update(wrong_count=count + 1, wrong_since=since)
    if not check_password(password, link.password):
        return False
    ShareLink.objects.filter(pk=link.pk).update(wrong_count=0)
    return True


def count_view(link: ShareLink) -> None:
    ShareLink.objects.filter(pk=link.pk).update(view_count=F("view_count") + 1)


def share_links_allowed(plan: Plan) -> bool:
    return plan.team.allow_share_links and not plan.is_archived
