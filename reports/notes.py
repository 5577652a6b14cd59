"""What people of a team say about a plan: tags, comments, and the decision."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from django.db import transaction

from accounts.models import User
from reports.activity import log
from reports.content import read_comparison
from reports.models import TITLE_LENGTH, Comment, Decision, Plan, PlanTag, PlanVersion

TAGS_MAXIMUM = 20
TAG_LENGTH = 40


@dataclass(frozen=True)
class Subject:
    """What a comment or decision is about: the whole plan, or one candidate of a workload."""

    position: int | None = None
    rank: int | None = None
    text: str = ""


class NoSuchCandidateError(ValueError):
    """The version has no candidate of that workload and rank."""


def subject(version: PlanVersion, key: str) -> Subject:
    """``""`` is the plan; ``"2-5"`` the fifth candidate of the second workload. Raises `NoSuchCandidateError`."""
    if not key:
        return Subject()
    found = re.fullmatch(r"(\d{1,3})-(\d{1,4})", key, re.ASCII)
    if found is None:
        raise NoSuchCandidateError(key)
    position, rank = int(found[1]), int(found[2])
    row = version.answers.filter(position=position).first()
    candidates = read_comparison(row).candidates if row else ()
    for candidate in candidates:
        if candidate.rank == rank:
            offer = candidate.offer
            text = f"{offer.gpu_count} × {offer.accelerator} · {offer.provider_name}, {offer.sku}"
            return Subject(position, rank, text[:200])
    raise NoSuchCandidateError(key)


def read_tags(text: str) -> list[str]:
    """Words between commas, in lower case, each once, in the order typed."""
    words = (" ".join(part.split()).casefold() for part in re.split(r"[,、，]", text))
    return list(dict.fromkeys(word for word in words if word))


def set_tags(plan: Plan, words: Iterable[str], *, user: User, at: datetime) -> None:
    wanted = list(words)
    with transaction.atomic():
        # Held, so that two who change the tags at once end with the tags of one of them, not a mixture.
        Plan.objects.select_for_update().get(pk=plan.pk)
        before = set(PlanTag.objects.filter(plan=plan).values_list("word", flat=True))
        if before == set(wanted):
            return
        PlanTag.objects.filter(plan=plan).exclude(word__in=wanted).delete()
        PlanTag.objects.bulk_create(PlanTag(plan=plan, word=word) for word in wanted if word not in before)
        log(plan, "tagged", user=user, at=at, detail=", ".join(wanted))


def comment(version: PlanVersion, about: Subject, text: str, *, user: User, at: datetime) -> Comment:
    with transaction.atomic():
        made = Comment.objects.create(
            version=version,
            position=about.position,
            rank=about.rank,
            subject=about.text,
            text=text,
            created_by=user,
            author=user.get_short_name()[:TITLE_LENGTH],
            created_at=at,
        )
        log(version.plan, "commented", user=user, at=at, number=version.number, detail=about.text)
    return made


def withdraw(comment: Comment, *, user: User, at: datetime) -> None:
    """Takes the text of a comment away; that there was one stays."""
    with transaction.atomic():
        if Comment.objects.filter(pk=comment.pk, withdrawn_at__isnull=True).update(withdrawn_at=at, text=""):
            version = comment.version
            log(version.plan, "withdrew", user=user, at=at, number=version.number, detail=comment.subject)


def decide(
    version: PlanVersion,
    about: Subject,
    *,
    chosen: str,
    because: str,
    decided_by: str,
    decided_on: date,
    user: User,
    at: datetime,
) -> Decision:
    """Records what was chosen. An earlier decision stays readable below it."""
    with transaction.atomic():
        made: Decision = Decision.objects.create(
            version=version,
            position=about.position,
            rank=about.rank,
            chosen=chosen,
            because=because,
            decided_by=decided_by,
            decided_on=decided_on,
            created_by=user,
            created_at=at,
        )
        log(version.plan, "decided", user=user, at=at, number=version.number, detail=chosen)
    return made


def decision_of(version: PlanVersion) -> Decision | None:
    """The newest decision about exactly this version."""
    found: Decision | None = Decision.objects.filter(version=version).first()
    return found
