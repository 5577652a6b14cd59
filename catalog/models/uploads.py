"""Price files that staff sent by browser: read, shown row by row, and taken or dropped by a person."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models.refreshes import Refresh


class UploadState(models.TextChoices):
    WAITING = "waiting", _("waiting for a decision")
    TAKEN = "taken", _("taken")
    DROPPED = "dropped", _("dropped")


class PriceUpload(models.Model):
    """One file with what was found in it. The content is forgotten once it was decided on; the report stays."""

    name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    size_bytes = models.PositiveIntegerField()
    body_gzip = models.BinaryField(blank=True)
    report = models.JSONField(default=dict)
    """Counts, faults and the first rows that would be written, in the words of who uploaded it."""
    state = models.CharField(max_length=8, choices=UploadState.choices, default=UploadState.WAITING)
    uploaded_at = models.DateTimeField()
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    refresh = models.ForeignKey(Refresh, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    """The run that its prices came in by."""

    class Meta:
        ordering = ("-uploaded_at", "-pk")

    def __str__(self) -> str:
        return f"{self.name} {self.uploaded_at:%Y-%m-%d %H:%M}"
