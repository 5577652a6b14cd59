"""Saving plans, adding versions, sharing: the only writers of plans and links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import F

from accounts.models import SHOWN_PREFIX_LENGTH, Team, User, new_secret, secret_digest
from planner import services as planner_services
from planner.sizing.architecture import ModelError
from planner.sizing.results import Comparison
from planner.sizing.runtime import UnknownRuntime
from planner.sizing.workload import CommonWorkload
from reports.content import canonical, comparison_text, fingerprint, sha256
from reports.models import Plan, PlanVersion, PlanWorkload, ShareLink

CANDIDATES_KEPT = 200
"""How many candidates of a comparison a plan keeps; every rejected offer is kept beside them."""

UNSIZABLE = (ModelError, UnknownRuntime)
"""What the planner raises for a model or a runtime that it cannot size at all."""

PRICED_AT_MAX_AGE = timedelta(days=30)
LINK_LIFETIME_MAX = timedelta(days=365)
SECRET_MAX_LENGTH = 200


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


class LinksClosedError(Exception):
    """The team allows no public links, or the plan is archived."""


@dataclass(frozen=True)
class _Answer:
    name: str
    query: str
    inputs_text: str
    comparison: Comparison
    comparison_text: str


def compute(workloads: Sequence[NamedWorkload], *, priced_at: datetime, at: datetime) -> list[_Answer]:
    """Every workload's comparison at the prices of ``priced_at``: numbers from a browser are no evidence."""
    if not at - PRICED_AT_MAX_AGE <= priced_at <= at + timedelta(seconds=5):
        raise PricesTooOldError(priced_at)
    return [_answer(named, answer_of(named, at=priced_at)) for named in workloads]


def answer_of(named: NamedWorkload, *, at: datetime) -> Comparison:
    """The comparison as plans and files keep it: the first candidates, and every rejected offer."""
    return planner_services.compare(named.workload, at=at, limit=CANDIDATES_KEPT, rejected_limit=None)


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
    answers = compute(workloads, priced_at=priced_at, at=at)
    with transaction.atomic():
        plan = Plan.objects.create(
            team=team, title=words.title, created_by=user, created_at=at, changed_at=at
        )
        return _append(plan, words, answers, user=user, at=at)


def add_version(
    plan: Plan,
    *,
    user: User,
    base_number: int,
    words: Words,
    workloads: Sequence[NamedWorkload],
    priced_at: datetime,
    at: datetime,
) -> PlanVersion:
    """The next version, computed anew; raises `ConflictError` where ``base_number`` is not the newest now."""
    answers = compute(workloads, priced_at=priced_at, at=at)
    with transaction.atomic():
        return _append(_locked(plan, base_number), words, answers, user=user, at=at)


def reword(plan: Plan, *, user: User, base_number: int, words: Words, at: datetime) -> PlanVersion:
    """The next version with other words over the same stored answers; raises `ConflictError`."""
    with transaction.atomic():
        locked = _locked(plan, base_number)
        before = newest(locked)
        version = _version(locked, words, before, user=user, at=at)
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


def _append(plan: Plan, words: Words, answers: list[_Answer], *, user: User, at: datetime) -> PlanVersion:
    first = answers[0].comparison
    stamp = PlanVersion(
        priced_at=first.priced_at, engine_version=first.engine_version, catalog_version=first.catalog_version
    )
    version = _version(plan, words, stamp, user=user, at=at)
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
    version.fingerprint = fingerprint(version, rows)
    _store(plan, version)
    for row in rows:
        row.version = version
        row.save()
    return version


def _version(plan: Plan, words: Words, stamp: PlanVersion, *, user: User, at: datetime) -> PlanVersion:
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
    )


def _store(plan: Plan, version: PlanVersion) -> PlanVersion:
    version.save()
    plan.latest_number = version.number
    plan.title = version.title
    plan.changed_at = version.created_at
    plan.save(update_fields=["latest_number", "title", "changed_at"])
    return version


def archive(plan: Plan, *, at: datetime) -> None:
    """Puts a plan away: it leaves the list and its links stop; nothing is lost."""
    Plan.objects.filter(pk=plan.pk, archived_at__isnull=True).update(archived_at=at)


def restore(plan: Plan) -> None:
    Plan.objects.filter(pk=plan.pk).update(archived_at=None)


def share(
    version: PlanVersion, *, user: User, at: datetime, lifetime: timedelta | None = None
) -> tuple[ShareLink, str]:
    """A new link to exactly this version, and its secret, which is shown once and never stored."""
    plan = version.plan
    if plan.is_archived or not plan.team.allow_share_links:
        raise LinksClosedError
    secret = new_secret()
    link = ShareLink.objects.create(
        version=version,
        secret_sha256=secret_digest(secret),
        shown_prefix=secret[:SHOWN_PREFIX_LENGTH],
        created_by=user,
        created_at=at,
        expires_at=at + min(lifetime, LINK_LIFETIME_MAX) if lifetime else None,
    )
    return link, secret


def revoke(link: ShareLink, *, at: datetime) -> None:
    ShareLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=at)


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


def count_view(link: ShareLink) -> None:
    ShareLink.objects.filter(pk=link.pk).update(view_count=F("view_count") + 1)


def share_links_allowed(plan: Plan) -> bool:
    return plan.team.allow_share_links and not plan.is_archived
