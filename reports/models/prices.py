"""What a team wants to be told of prices: the setting of a plan, what it watches, and each move that was seen."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from catalog.models.offers import PRICE_DIGITS
from reports.models.plans import TITLE_LENGTH, FrozenModel, Plan, PlanVersion

PERCENT_DIGITS: dict[str, Any] = {"max_digits": 5, "decimal_places": 1}
CHANGE_DIGITS: dict[str, Any] = {"max_digits": 12, "decimal_places": 1}


class PriceAlert(models.Model):
    """A plan's own setting; a plan without one is told by its team's."""

    plan = models.OneToOneField(Plan, on_delete=models.CASCADE, related_name="price_alert")
    percent = models.DecimalField(_("percent"), **PERCENT_DIGITS, null=True, blank=True)
    """Moves of more than this are told; None: none is."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(percent__isnull=True) | Q(percent__gt=0), name="reports_alert_above_zero"
            )
        ]

    def __str__(self) -> str:
        return f"{self.plan_id}: {self.percent}"


class PriceFollower(models.Model):
    """Whether somebody wants mails about a plan; who saved the plan does until they say otherwise."""

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="price_followers")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    wants_mail = models.BooleanField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["plan", "user"], name="reports_follower_once")]

    def __str__(self) -> str:
        return f"{self.plan_id}: {self.user_id}"


class WatchedPrice(FrozenModel):
    """One candidate of a version with its price as the version has it, so that no answer is read for every look."""

    version = models.ForeignKey(PlanVersion, on_delete=models.CASCADE, related_name="watched_prices")
    position = models.PositiveIntegerField()
    rank = models.PositiveIntegerField()
    subject = models.CharField(max_length=TITLE_LENGTH)
    offer_number = models.BigIntegerField()
    """The offer's number as it was then; below zero: a private offer. A catalog loaded anew may number otherwise."""
    provider = models.CharField(max_length=120)
    sku = models.CharField(max_length=120)
    region = models.CharField(max_length=60, blank=True)
    tier = models.CharField(max_length=12)
    accelerator = models.CharField(max_length=60)
    gpu_count = models.PositiveIntegerField()
    amount = models.DecimalField(**PRICE_DIGITS)
    currency = models.CharField(max_length=3)
    unit = models.CharField(max_length=8)
    observed_on = models.DateField()
    source = models.CharField(max_length=200)

    class Meta:
        ordering = ("version", "position", "rank")
        constraints = [
            models.UniqueConstraint(fields=["version", "position", "rank"], name="reports_watched_once")
        ]

    def __str__(self) -> str:
        return self.subject


class PriceMove(FrozenModel):
    """A watched price that went further than the plan asked for, since the version or since the move before."""

    watched = models.ForeignKey(WatchedPrice, on_delete=models.CASCADE, related_name="moves")
    old_amount = models.DecimalField(**PRICE_DIGITS, null=True, blank=True)
    """None: it was not offered any more."""
    old_on = models.DateField()
    new_amount = models.DecimalField(**PRICE_DIGITS, null=True, blank=True)
    """None: it is no longer offered."""
    new_on = models.DateField()
    source = models.CharField(max_length=200)
    source_url = models.CharField(max_length=200, blank=True)
    change_percent = models.DecimalField(**CHANGE_DIGITS, null=True, blank=True)
    """From old to new; None where one of them is no price."""
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.old_amount} → {self.new_amount}"


class PriceNotice(models.Model):
    """One person to be mailed about one move, once."""

    move = models.ForeignKey(PriceMove, on_delete=models.CASCADE, related_name="notices")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["move", "user"], name="reports_notice_once")]
        indexes = [models.Index(fields=["sent_at", "created_at"], name="reports_notice_waiting")]

    def __str__(self) -> str:
        return f"{self.move_id}: {self.user_id}"


class PriceLook(models.Model):
    """One row: up to which state of all prices the plans were looked through."""

    mark = models.CharField(max_length=200, blank=True)
    looked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.mark
