"""What is paid beside the machine: billing terms, storage, transfer, exchange rates."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from catalog.models.offers import Provider

UNIT_PRICE_DIGITS: dict[str, Any] = {"max_digits": 15, "decimal_places": 10}
"""Storage and transfer prices per GB, where a hundred-thousandth of a cent counts."""


class BillingTerms(models.Model):
    """How a provider charges, as far as it was read; ``None`` is unknown."""

    provider = models.OneToOneField(Provider, on_delete=models.CASCADE, related_name="billing")
    unit_s = models.PositiveIntegerField(null=True, blank=True)
    """Time is billed in steps of this many seconds."""
    minimum_s = models.PositiveIntegerField(null=True, blank=True)
    month_hours = models.DecimalField(max_digits=6, decimal_places=2, null=True, blank=True)
    """Length of the provider's own month; counts only for its monthly plans and caps."""
    cap_hours = models.JSONField(default=dict)
    """Hours of a month that are charged at most, by the beginning of a machine's name; the empty one for all."""
    currency = models.CharField(max_length=3, blank=True)
    gpu_counts = models.JSONField(default=list)
    """GPU counts of one machine that the provider rents."""
    spot_available = models.BooleanField(null=True, blank=True)
    spot_notice_s = models.PositiveIntegerField(null=True, blank=True)
    words = models.JSONField(default=dict)
    """The cells as they were written, by field, for reading beside the structured ones."""
    source = models.CharField(max_length=400, blank=True)
    observed = models.CharField(max_length=40, blank=True)
    """Date as the source gives it, which may be a month or a year; empty is undated."""

    def __str__(self) -> str:
        return f"{self.provider_id}: billing"


class SteppedQuerySet(models.QuerySet[Any]):
    """Prices in steps, of which old ones are kept: a list of steps is replaced as a whole."""

    def in_force(self) -> SteppedQuerySet:
        return self.filter(replaced_at__isnull=True)

    def as_of(self, at: datetime) -> SteppedQuerySet:
        """Those that were in force at a moment, as far as it was known then."""
        known = Q(recorded_at__isnull=True) | Q(recorded_at__lte=at)
        return self.filter(known, Q(replaced_at__isnull=True) | Q(replaced_at__gt=at))


class Stepped(models.Model):
    """When a step came and went. Its price never changes; ``observed`` is the day on which it was last seen."""

    observed = models.CharField(max_length=40, blank=True)
    """As the source gives it, which may be a month or a year; empty is undated."""
    first_observed = models.CharField(max_length=40, blank=True)
    recorded_at = models.DateTimeField(null=True, blank=True)
    """When it came into the catalog; empty for what was there before old ones were kept."""
    replaced_at = models.DateTimeField(null=True, blank=True)
    """When others took its place; empty while it is in force."""
    refresh = models.ForeignKey(
        "catalog.Refresh", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    """The run that saw it last; empty for shipped rows, which do not take the place of one of a run."""

    objects = SteppedQuerySet.as_manager()

    class Meta:
        abstract = True


class StorageKind(models.TextChoices):
    BLOCK = "block", _("Block storage")
    FILE = "file", _("File storage")
    OBJECT = "object", _("Object storage")


class StoragePrice(Stepped):
    """A price per GB (or GiB) and month of one kind of storage. No row: unknown. Zero: known to be free."""

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="storage_prices")
    region = models.CharField(max_length=60, blank=True)
    kind = models.CharField(max_length=8, choices=StorageKind.choices)
    name = models.CharField(max_length=80)
    from_gb = models.DecimalField(max_digits=14, decimal_places=3, default=Decimal(0))
    to_gb = models.DecimalField(max_digits=14, decimal_places=3, null=True, blank=True)
    amount_per_month = models.DecimalField(**UNIT_PRICE_DIGITS)
    per_bytes = models.PositiveBigIntegerField(default=10**9)
    """10^9 for a GB, 2^30 for a GiB."""
    currency = models.CharField(max_length=3)
    is_default = models.BooleanField(default=False)
    """The one that a bill uses where the plan does not say which."""
    note = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=400)

    class Meta:
        ordering = ("provider", "kind", "name", "from_gb")
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "region", "kind", "name", "from_gb"],
                condition=Q(replaced_at__isnull=True),
                name="catalog_storage_price_in_force_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.provider_id} {self.name}"


class StorageSpeed(models.Model):
    """What one volume of a provider's storage does, whatever machine it hangs on. ``None`` is unknown.

    The baseline comes with the price per GB; up to the maximum has to be bought or grows with the size.
    """

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="storage_speeds")
    kind = models.CharField(max_length=8, choices=StorageKind.choices)
    name = models.CharField(max_length=80)
    medium = models.CharField(max_length=8, blank=True)
    """``ssd`` or ``hdd``."""
    iops_baseline = models.PositiveIntegerField(null=True, blank=True)
    iops_maximum = models.PositiveIntegerField(null=True, blank=True)
    bytes_per_s_baseline = models.PositiveBigIntegerField(null=True, blank=True)
    bytes_per_s_maximum = models.PositiveBigIntegerField(null=True, blank=True)
    note = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=400)
    observed = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ("provider", "kind", "-bytes_per_s_maximum", "name")
        constraints = [
            models.UniqueConstraint(fields=["provider", "kind", "name"], name="catalog_storage_speed_once")
        ]

    def __str__(self) -> str:
        return f"{self.provider_id} {self.name}"


class EgressTier(Stepped):
    """One step of a provider's price for data sent to the internet in a month; tiers follow each other.

    No row for a provider: unknown. A free allowance is a tier at zero.
    """

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="egress_tiers")
    region = models.CharField(max_length=60, blank=True)
    from_gb = models.DecimalField(max_digits=14, decimal_places=3, default=Decimal(0))
    to_gb = models.DecimalField(max_digits=14, decimal_places=3, null=True, blank=True)
    """Empty: no upper end."""
    amount_per_gb = models.DecimalField(**UNIT_PRICE_DIGITS)
    per_bytes = models.PositiveBigIntegerField(default=10**9)
    note = models.CharField(max_length=200, blank=True)
    currency = models.CharField(max_length=3)
    source = models.CharField(max_length=400)

    class Meta:
        ordering = ("provider", "region", "from_gb")
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "region", "from_gb"],
                condition=Q(replaced_at__isnull=True),
                name="catalog_egress_tier_in_force_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.provider_id} from {self.from_gb} GB"


class ExchangeRate(models.Model):
    """Units of a currency for one US dollar on a day."""

    on = models.DateField()
    currency = models.CharField(max_length=3)
    per_usd = models.DecimalField(max_digits=15, decimal_places=6)
    source = models.CharField(max_length=200)

    class Meta:
        ordering = ("currency", "-on")
        constraints = [
            models.UniqueConstraint(fields=["currency", "on"], name="catalog_exchange_rate_once"),
            models.CheckConstraint(condition=Q(per_usd__gt=0), name="catalog_exchange_rate_above_zero"),
        ]

    def __str__(self) -> str:
        return f"{self.currency} {self.on}"

    @classmethod
    def latest(cls, on: date) -> dict[str, ExchangeRate]:
        """The newest rate of each currency that was known on a day; one query."""
        rates: dict[str, ExchangeRate] = {}
        for rate in cls.objects.filter(on__lte=on).order_by("on"):
            rates[rate.currency] = rate
        return rates
