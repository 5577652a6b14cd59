"""How we came to know: runs of sources, their pages, decisions, and the version of the whole."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _


class CatalogVersion(models.Model):
    """One row that changes with every change of offers, prices, terms or rates: the key of what is cached."""

    ONLY = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    number = models.PositiveBigIntegerField(default=0)
    changed_at = models.DateTimeField(null=True, blank=True)
    seeds_sha256 = models.CharField(max_length=64, blank=True)
    machines_sha256 = models.CharField(max_length=64, blank=True)
    """Of the price lists that are loaded after the rest."""

    def __str__(self) -> str:
        return str(self.number)

    @classmethod
    def current(cls) -> int:
        """One cheap query; 0 for an empty catalog."""
        return cls.objects.filter(pk=cls.ONLY).values_list("number", flat=True).first() or 0

    @classmethod
    def hold(cls) -> int:
        """Its number, held until the transaction ends: who writes offers and prices holds it first.

        So there is one writer of prices at a time. What it knows of the catalog is still so when it writes, and two
        writers cannot wait for each other's rows.
        """
        cls.objects.get_or_create(pk=cls.ONLY)
        return cls.objects.select_for_update().get(pk=cls.ONLY).number

    @classmethod
    def bump(cls, at: datetime) -> None:
        """Say that the catalog changed; call it inside the transaction that changes it."""
        cls.objects.get_or_create(pk=cls.ONLY)
        cls.objects.filter(pk=cls.ONLY).update(number=F("number") + 1, changed_at=at)


class RefreshStatus(models.TextChoices):
    RUNNING = "running", _("running")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")
    HELD = "held", _("held for a decision")
    DROPPED = "dropped", _("dropped")


class RefreshQuerySet(models.QuerySet["Refresh"]):
    def good(self) -> RefreshQuerySet:
        return self.filter(status=RefreshStatus.SUCCEEDED)


class Refresh(models.Model):
    """One run of one source, from its opening to its end, whatever the end was."""

    source = models.CharField(max_length=40)
    status = models.CharField(max_length=10, choices=RefreshStatus.choices, default=RefreshStatus.RUNNING)
    started_at = models.DateTimeField()
    lease_until = models.DateTimeField()
    """A run that is still open after this has died; the next one closes it."""
    finished_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=40, blank=True)
    """Code of why it failed or is held."""
    reason_detail = models.CharField(max_length=300, blank=True)
    page_count = models.PositiveIntegerField(default=0)
    item_count = models.PositiveIntegerField(default=0)
    quote_count = models.PositiveIntegerField(default=0)
    added_count = models.PositiveIntegerField(default=0)
    changed_count = models.PositiveIntegerField(default=0)
    gone_count = models.PositiveIntegerField(default=0)
    refused = models.JSONField(default=dict)
    """Rows that were read and not taken, counted by the code of the reason."""
    worker = models.CharField(max_length=120, blank=True)
    """Host, process id and start time of who runs it, so that a killed run is seen at once on its host."""
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = RefreshQuerySet.as_manager()

    class Meta:
        ordering = ("-started_at", "-pk")
        constraints = [
            models.UniqueConstraint(
                fields=["source"], condition=Q(status="running"), name="catalog_refresh_one_run_at_a_time"
            )
        ]
        indexes = [models.Index(fields=["source", "-started_at"], name="catalog_refresh_latest")]

    def __str__(self) -> str:
        return f"{self.source} {self.started_at:%Y-%m-%d %H:%M} {self.status}"


class RefreshPage(models.Model):
    """The bytes of one answer of a source, compressed as they arrived."""

    refresh = models.ForeignKey(Refresh, on_delete=models.CASCADE, related_name="pages")
    number = models.PositiveIntegerField()
    url = models.CharField(max_length=2000)
    body_gzip = models.BinaryField()
    size_bytes = models.PositiveIntegerField()
    fetched_at = models.DateTimeField()

    class Meta:
        ordering = ("refresh", "number")
        constraints = [
            models.UniqueConstraint(fields=["refresh", "number"], name="catalog_refresh_page_once")
        ]

    def __str__(self) -> str:
        return f"{self.refresh} page {self.number}"


class RefreshDecision(models.Model):
    """Who confirmed or dropped a held run, and when."""

    refresh = models.ForeignKey(Refresh, on_delete=models.PROTECT, related_name="decisions")
    action = models.CharField(max_length=8, choices=[("confirm", _("confirmed")), ("drop", _("dropped"))])
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    decided_at = models.DateTimeField()

    class Meta:
        ordering = ("-decided_at",)

    def __str__(self) -> str:
        return f"{self.refresh}: {self.action}"


class KeptBackQuerySet(models.QuerySet["KeptBack"]):
    def open(self) -> KeptBackQuerySet:
        return self.filter(decided_at__isnull=True)


class KeptBack(models.Model):
    """One price that moved too far to be believed without a person; the old one stays in force meanwhile.

    The latest run's word replaces an earlier one that nobody decided on; what was confirmed stays as a record.
    """

    offer = models.ForeignKey("Offer", on_delete=models.PROTECT, related_name="kept_back")
    refresh = models.ForeignKey(Refresh, on_delete=models.PROTECT, related_name="kept_back")
    amount = models.DecimalField(max_digits=15, decimal_places=6)
    currency = models.CharField(max_length=3)
    unit = models.CharField(max_length=8)
    upfront = models.DecimalField(max_digits=15, decimal_places=6, null=True, blank=True)
    recurring = models.DecimalField(max_digits=15, decimal_places=6, null=True, blank=True)
    term_months = models.PositiveSmallIntegerField(null=True, blank=True)
    effective_from = models.DateField(null=True, blank=True)
    observed_on = models.DateField()
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    objects = KeptBackQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        constraints = [
            models.UniqueConstraint(
                fields=["offer"], condition=Q(decided_at__isnull=True), name="catalog_kept_back_one_open"
            )
        ]

    def __str__(self) -> str:
        return f"{self.offer_id}: {self.amount} {self.currency}"
