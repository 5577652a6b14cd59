"""Links that show one version of a plan to whoever holds them."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import SHOWN_PREFIX_LENGTH
from reports.models.plans import TITLE_LENGTH, PlanVersion


class ShareLinkQuerySet(models.QuerySet["ShareLink"]):
    def open(self, at: datetime) -> ShareLinkQuerySet:
        """Links that show their version at this moment; an expiry instant itself is over."""
        return self.filter(
            models.Q(expires_at__isnull=True) | models.Q(expires_at__gt=at),
            revoked_at__isnull=True,
            version__plan__archived_at__isnull=True,
            version__plan__team__allow_share_links=True,
        )


class ShareLink(models.Model):
    """Lets whoever holds its secret read one version; the secret is stored as its hash only."""

    version = models.ForeignKey(PlanVersion, on_delete=models.CASCADE, related_name="share_links")
    secret_sha256 = models.CharField(max_length=64, unique=True)
    shown_prefix = models.CharField(max_length=SHOWN_PREFIX_LENGTH)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    note = models.CharField(_("for whom"), max_length=TITLE_LENGTH, blank=True)
    """For whom it was made, for the team to remember; its readers do not see it."""
    view_count = models.PositiveIntegerField(default=0)
    password = models.CharField(max_length=200, blank=True)
    """The hash of a password that is asked for besides the address; empty: none."""
    wrong_count = models.PositiveIntegerField(default=0)
    """Wrong passwords since ``wrong_since``."""
    wrong_since = models.DateTimeField(null=True, blank=True)

    objects = ShareLinkQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.shown_prefix}…"

    def state(self, at: datetime) -> str:
        """``open``, ``revoked`` or ``expired``."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= at:
            return "expired"
        return "open"
