"""Saved plans: photographs of comparisons, in versions that never change, and what their team says of them."""

from __future__ import annotations

import json
import secrets
from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import Team, User

SLUG_LENGTH = 12
# Without 0, o, 1, l, i: a slug is read aloud and typed from paper.
SLUG_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
TITLE_LENGTH = 200
NOTE_LENGTH = 4000


def new_slug() -> str:
    """A random address of 12 characters (59 bits)."""
    return "".join(secrets.choice(SLUG_ALPHABET) for _unused in range(SLUG_LENGTH))


class ImmutableError(TypeError):
    """Somebody tried to change what has been saved."""


class FrozenQuerySet(models.QuerySet[Any]):
    """Rows that are added and read; changing them in bulk is refused too."""

    def update(self, **kwargs: Any) -> NoReturn:
        raise ImmutableError(f"{self.model.__name__} rows never change.")

    def bulk_update(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImmutableError(f"{self.model.__name__} rows never change.")


class FrozenModel(models.Model):
    """A row that is written once."""

    objects: ClassVar[models.Manager[Any]] = FrozenQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise ImmutableError(f"{type(self).__name__} {self.pk} was saved before and never changes.")
        super().save(*args, **kwargs)


class PlanQuerySet(models.QuerySet["Plan"]):
    def of(self, user: User) -> PlanQuerySet:
        """Plans of the teams the user is a member of now."""
        return self.filter(team__memberships__user=user)

    def live(self) -> PlanQuerySet:
        return self.filter(archived_at__isnull=True)

    def matching(self, text: str) -> PlanQuerySet:
        """Plans of which every word of ``text`` stands in title, tags or team, or is the address."""
        plans = self
        for word in text.split()[:8]:
            tagged = PlanTag.objects.filter(plan=models.OuterRef("pk"), word__icontains=word.casefold())
            plans = plans.filter(
                models.Q(title__icontains=word)
                | models.Q(slug__iexact=word)
                | models.Q(team__name__icontains=word)
                | models.Exists(tagged)
            )
        return plans

    def tagged(self, word: str) -> PlanQuerySet:
        return self.filter(tags__word=word.casefold())


class Plan(models.Model):
    """A plan of a team: an address that stays, over versions that never change."""

    slug = models.CharField(max_length=SLUG_LENGTH, unique=True, default=new_slug, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="plans")
    title = models.CharField(_("title"), max_length=TITLE_LENGTH)
    """The newest version's title, kept here for lists and search."""
    latest_number = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, blank=True)
    origin = models.CharField(max_length=12, blank=True)
    """How it came here, if not by saving a comparison: ``copy``, ``fork`` (of a shared plan) or ``import``."""
    origin_detail = models.CharField(max_length=120, blank=True)
    """Address, version and fingerprint of what it was made from, as far as they were known."""

    objects = PlanQuerySet.as_manager()

    class Meta:
        ordering = ("-changed_at", "-pk")
        indexes = [models.Index(fields=["team", "-changed_at"], name="reports_plan_team_changed")]

    def __str__(self) -> str:
        return self.title

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None


class PlanVersion(FrozenModel):
    """One photograph of a plan: inputs, prices, engine version and results as they were."""

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    title = models.CharField(_("title"), max_length=TITLE_LENGTH)
    prepared_for = models.CharField(_("prepared for"), max_length=TITLE_LENGTH, blank=True)
    note = models.TextField(_("note"), max_length=NOTE_LENGTH, blank=True)
    prepared_by = models.CharField(max_length=TITLE_LENGTH, blank=True)
    """The author's name as it was; never an e-mail address."""
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    priced_at = models.DateTimeField()
    engine_version = models.CharField(max_length=40)
    catalog_version = models.CharField(max_length=100)
    fingerprint = models.CharField(max_length=64)
    """SHA-256 over the canonical content (see ``reports.content``)."""
    checklist_text = models.TextField(blank=True)
    """The operations checklist as canonical JSON; empty on versions that have none."""
    answered_by = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    """The earlier version whose answers stand here too, where only words were changed; None: it has its own."""

    class Meta:
        ordering = ("plan", "-number")
        constraints = [models.UniqueConstraint(fields=["plan", "number"], name="reports_version_number_once")]

    def __str__(self) -> str:
        return f"{self.title} · {self.number}"

    @property
    def answers(self) -> models.QuerySet[PlanWorkload]:
        """The workloads of this version with their stored answers, in order."""
        return PlanWorkload.objects.filter(version_id=self.answered_by_id or self.pk).order_by("position")


class PlanWorkload(FrozenModel):
    """One workload of a version: what was asked, and the whole answer as canonical text."""

    version = models.ForeignKey(PlanVersion, on_delete=models.CASCADE, related_name="workloads")
    position = models.PositiveIntegerField()
    name = models.CharField(_("name"), max_length=TITLE_LENGTH, blank=True)
    kind = models.CharField(max_length=40)
    query = models.TextField(blank=True)
    """The workbench's query string for the same screen, so that it opens again; not part of the content."""
    inputs_text = models.TextField()
    """The workload document as it was asked, canonical JSON."""
    comparison_text = models.TextField()
    """The comparison, canonical JSON; text and not a JSON column, so that no database reorders it."""
    comparison_sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ("version", "position")
        constraints = [
            models.UniqueConstraint(fields=["version", "position"], name="reports_workload_position_once")
        ]

    def __str__(self) -> str:
        return self.name or f"{self.kind} {self.position}"

    @property
    def inputs(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.inputs_text)
        return document


class PlanTag(models.Model):
    """A word by which a plan is found, in lower case."""

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="tags")
    word = models.CharField(max_length=40)

    class Meta:
        ordering = ("word",)
        constraints = [models.UniqueConstraint(fields=["plan", "word"], name="reports_tag_once")]

    def __str__(self) -> str:
        return self.word


class Comment(models.Model):
    """What somebody of the team says to a version, or to one candidate of it; never shown by a link."""

    version = models.ForeignKey(PlanVersion, on_delete=models.CASCADE, related_name="comments")
    position = models.PositiveIntegerField(null=True, blank=True)
    """The workload in which the candidate stands; None: the whole plan is meant."""
    rank = models.PositiveIntegerField(null=True, blank=True)
    subject = models.CharField(max_length=TITLE_LENGTH, blank=True)
    """The candidate in words, as it stood in that version."""
    text = models.TextField(_("comment"), max_length=NOTE_LENGTH)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    author = models.CharField(max_length=TITLE_LENGTH, blank=True)
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    """Withdrawn by its author: the place stays, the text is gone."""

    class Meta:
        ordering = ("created_at", "pk")

    def __str__(self) -> str:
        return f"{self.author}: {self.text[:40]}"


class Decision(FrozenModel):
    """“Chosen …, because …, by …, on …”: kept for ever; a later one takes its place and leaves it readable."""

    version = models.ForeignKey(PlanVersion, on_delete=models.CASCADE, related_name="decisions")
    position = models.PositiveIntegerField(null=True, blank=True)
    rank = models.PositiveIntegerField(null=True, blank=True)
    chosen = models.CharField(_("chosen"), max_length=TITLE_LENGTH)
    because = models.TextField(_("because"), max_length=NOTE_LENGTH)
    decided_by = models.CharField(_("decided by"), max_length=TITLE_LENGTH)
    decided_on = models.DateField(_("decided on"))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return self.chosen


class Activity(FrozenModel):
    """One line of a plan's log: who did what, when."""

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="activity")
    what = models.CharField(max_length=20)
    number = models.PositiveIntegerField(null=True, blank=True)
    """The version it is about."""
    detail = models.CharField(max_length=TITLE_LENGTH, blank=True)
    who = models.CharField(max_length=TITLE_LENGTH, blank=True)
    """The person's name as it was; never an e-mail address."""
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.what} {self.number or ''}".strip()
