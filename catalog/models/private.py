"""Quotes that a team received: seen and compared by that team alone."""

from __future__ import annotations

from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Team
from catalog.commitments import STEP, price_per_hour
from catalog.models.offers import PRICE_DIGITS, Accelerator, PriceUnit, Tier

NOTE_LENGTH = 2000
ANSWER_LENGTH = 200


class Answer(models.TextChoices):
    UNKNOWN = "", _("not asked or not answered")
    YES = "yes", _("yes")
    NO = "no", _("no")


class PrivateOfferQuerySet(models.QuerySet["PrivateOffer"]):
    def standing(self, at: datetime) -> PrivateOfferQuerySet:
        """Those that a team had entered and not changed or withdrawn at this moment.

        A change ends one row and begins another, so the answer for a past moment does not change.
        """
        return self.filter(Q(ended_at__isnull=True) | Q(ended_at__gt=at), created_at__lte=at)

    def comparable(self) -> PrivateOfferQuerySet:
        """Those whose card and count are certain."""
        return self.filter(accelerator__isnull=False)


class PrivateOffer(models.Model):
    """One machine of one quote. Rows are written once; changing one ends it and begins the next."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="private_offers")
    provider_name = models.CharField(_("provider"), max_length=120)
    reference = models.CharField(_("number of the quote"), max_length=120, blank=True)
    sku = models.CharField(_("machine"), max_length=120)
    region = models.CharField(_("region"), max_length=60, blank=True)
    tier = models.CharField(_("terms"), max_length=12, choices=Tier.choices, default=Tier.ON_DEMAND)
    tier_detail = models.CharField(_("term"), max_length=60, blank=True)
    accelerator_as_written = models.CharField(_("accelerator"), max_length=120)
    accelerator = models.ForeignKey(
        Accelerator, on_delete=models.PROTECT, null=True, blank=True, related_name="private_offers"
    )
    """None where the name is not certain: then it is listed, and not compared."""
    gpu_count = models.PositiveSmallIntegerField(_("GPUs per machine"))
    vcpu = models.DecimalField(_("vCPU"), max_digits=8, decimal_places=2, null=True, blank=True)
    ram_gib = models.DecimalField(_("RAM"), max_digits=10, decimal_places=2, null=True, blank=True)
    amount = models.DecimalField(_("price of the machine"), **PRICE_DIGITS)
    """Of a commitment that is paid upfront in part or whole: what is paid beside that, which may be nothing."""
    currency = models.CharField(_("currency"), max_length=3)
    unit = models.CharField(_("per"), max_length=8, choices=PriceUnit.choices, default=PriceUnit.HOUR)
    upfront = models.DecimalField(_("paid upfront"), **PRICE_DIGITS, null=True, blank=True)
    """Paid once for the machine and term, in ``currency``; None where the quote does not say."""
    term_months = models.PositiveSmallIntegerField(_("term in months"), null=True, blank=True)
    tax_included = models.BooleanField(null=True, blank=True)
    received_on = models.DateField(_("received on"))
    valid_until = models.DateField(_("valid until"), null=True, blank=True)
    note = models.TextField(_("note"), max_length=NOTE_LENGTH, blank=True)

    survives_restart = models.CharField(max_length=3, choices=Answer.choices, blank=True)
    survives_host_change = models.CharField(max_length=3, choices=Answer.choices, blank=True)
    survives_contract_end = models.CharField(max_length=3, choices=Answer.choices, blank=True)
    data_location = models.CharField(max_length=ANSWER_LENGTH, blank=True)
    availability = models.CharField(max_length=ANSWER_LENGTH, blank=True)
    """What was answered about the wanted date."""
    startup_minutes = models.DecimalField(max_digits=8, decimal_places=1, null=True, blank=True)
    answered_on = models.DateField(null=True, blank=True)

    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = PrivateOfferQuerySet.as_manager()

    class Meta:
        ordering = ("provider_name", "sku", "pk")
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gt=0) | Q(amount=0, upfront__gt=0), name="catalog_private_costs_something"
            ),
            models.CheckConstraint(
                condition=Q(upfront__isnull=True)
                | Q(upfront=0)
                | Q(upfront__gt=0, term_months__isnull=False, term_months__gt=0, tier=Tier.RESERVED),
                name="catalog_private_upfront_has_term",
            ),
            models.CheckConstraint(condition=Q(gpu_count__gt=0), name="catalog_private_has_gpus"),
        ]
        indexes = [models.Index(fields=["team", "ended_at"], name="catalog_private_team")]

    def __str__(self) -> str:
        return f"{self.provider_name} {self.sku}"

    @property
    def amount_text(self) -> str:
        """The price with groups of thousands, and without zeros that say nothing."""
        return f"{self.amount.normalize():,f}"

    @property
    def upfront_text(self) -> str:
        """What is paid at once, likewise; empty where nothing is."""
        return f"{self.upfront.normalize():,f}" if self.upfront else ""

    @property
    def paying(self) -> Literal["none", "part", "all"]:
        """How much of a term is paid at once: another way of paying is another line of the quote."""
        if not self.upfront:
            return "none"
        return "part" if self.amount else "all"

    @property
    def amount_over_term(self) -> Decimal:
        """What an hour or month of the whole term comes to, with what is paid upfront."""
        if not self.upfront or not self.term_months:
            return self.amount
        if self.unit == PriceUnit.HOUR:
            return price_per_hour(self.upfront, self.amount, self.term_months)
        return (self.upfront / self.term_months + self.amount).quantize(STEP, ROUND_HALF_UP)

    @property
    def startup_text(self) -> str:
        return "?" if self.startup_minutes is None else f"{self.startup_minutes.normalize():f}"

    def is_expired(self, on: date) -> bool:
        """The day of validity itself still counts."""
        return self.valid_until is not None and self.valid_until < on


class QuoteTable(models.Model):
    """An uploaded table, kept until its columns are told: texts only, of the team that brought it."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="quote_tables")
    name = models.CharField(max_length=200)
    rows = models.JSONField()
    """The first row holds the heads."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return self.name
