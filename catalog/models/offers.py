"""What machines exist and what they cost: offers and append-only prices."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import F, OuterRef, Q, Subquery
from django.utils.translation import gettext_lazy as _

STALE_DAYS = 180
"""A price older than this is marked stale and is never called the cheapest."""

PRICE_DIGITS: dict[str, Any] = {"max_digits": 15, "decimal_places": 6}
"""Machine prices: SQLite keeps 15 significant digits exactly, no more."""


WITHOUT_ACCELERATOR = ("no_accelerator", "dedicated_host", "other_accelerator")
"""Reasons of offers that are no GPU machines at all: many, read from price lists of their own."""


class Tier(models.TextChoices):
    ON_DEMAND = "on_demand", _("On demand")
    SPOT = "spot", _("Spot")
    RESERVED = "reserved", _("Reserved")
    COMMUNITY = "community", _("Community")


class PriceUnit(models.TextChoices):
    HOUR = "hour", _("per hour")
    MONTH = "month", _("per month")


class Availability(models.TextChoices):
    AVAILABLE = "available", _("available")
    LOW = "low", _("few left")
    NONE = "none", _("none at the moment")


class Provider(models.Model):
    """A company that rents machines; ``slug`` is the name used everywhere."""

    slug = models.SlugField(max_length=40, primary_key=True)
    name = models.CharField(max_length=120)
    names_seen = models.JSONField(default=list)
    """Other spellings under which sources list it."""
    country = models.CharField(max_length=2, blank=True)
    kind = models.CharField(max_length=20, blank=True)
    url = models.URLField(blank=True)
    source = models.CharField(max_length=200, blank=True)
    unverified = models.BooleanField(default=False)
    """Country and kind were written down from general knowledge, not read from a document."""

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Region(models.Model):
    """A provider's region with its place name."""

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="regions")
    code = models.CharField(max_length=60)
    country = models.CharField(max_length=2, blank=True)
    city = models.CharField(max_length=80, blank=True)
    name = models.CharField(max_length=120, blank=True)
    name_ja = models.CharField(max_length=120, blank=True)
    source = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ("provider", "code")
        constraints = [models.UniqueConstraint(fields=["provider", "code"], name="catalog_region_once")]

    def __str__(self) -> str:
        return f"{self.provider_id} {self.code}"


class Accelerator(models.Model):
    """An exact variant that offers can name; its facts are read through ``catalog.facts``."""

    name = models.CharField(max_length=60, primary_key=True)
    vendor = models.CharField(max_length=20)
    memory_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    bandwidth_bytes_per_s = models.FloatField(null=True, blank=True)
    """Both copied from the facts, so that lists of offers can be sorted by them."""

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class OfferQuerySet(models.QuerySet["Offer"]):
    def comparable(self) -> OfferQuerySet:
        """Offers that can be sized: card, count and memory are certain."""
        return self.filter(not_comparable="")

    def with_accelerator(self) -> OfferQuerySet:
        """GPU machines, whether or not they can be compared."""
        return self.exclude(not_comparable__in=WITHOUT_ACCELERATOR)

    def current(self) -> OfferQuerySet:
        """Offers that their source still lists and that have a price."""
        return self.filter(gone_since__isnull=True, current_price__isnull=False)

    def seen_lately(self, at: datetime) -> OfferQuerySet:
        """Offers whose price is not stale."""
        return self.filter(confirmed_on__gte=at.date() - timedelta(days=STALE_DAYS))

    def priced(self, at: datetime) -> OfferQuerySet:
        """Offers as they stood at ``at``: each with ``price_id_at``, the price that was current then.

        Prices are append-only, so the answer for a past moment does not change.
        """
        latest = (
            Price.objects.filter(offer=OuterRef("pk"), recorded_at__lte=at)
            .order_by(F("observed_on").desc(), F("pk").desc())
            .values("pk")[:1]
        )
        alive = Q(gone_since__isnull=True) | Q(gone_since__gt=at)
        return self.filter(alive).annotate(price_id_at=Subquery(latest)).filter(price_id_at__isnull=False)


class Offer(models.Model):
    """One rentable machine of one provider in one region at one tier.

    ``gpu_count`` devices as the runtime enumerates them; ``gpu_fraction`` below 1 is a slice of one card.
    ``not_comparable`` is the code of the reason why it is listed but never sized.
    """

    key = models.CharField(max_length=300, unique=True)
    """``offer_key`` of the columns below."""
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="offers")
    sku = models.CharField(max_length=120)
    region = models.CharField(max_length=60, blank=True)
    """The provider's region code; empty where the price holds everywhere."""
    tier = models.CharField(max_length=12, choices=Tier.choices)
    tier_detail = models.CharField(max_length=60, blank=True)
    """Term of a reservation, or the source's own word (``secure``, ``serverless``)."""
    accelerator = models.ForeignKey(
        Accelerator, on_delete=models.PROTECT, null=True, blank=True, related_name="offers"
    )
    accelerator_as_written = models.CharField(max_length=120, blank=True)
    gpu_count = models.PositiveSmallIntegerField(null=True, blank=True)
    gpu_fraction = models.DecimalField(max_digits=5, decimal_places=4, default=Decimal(1))
    gpu_memory_gib = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    """Memory of one device as the source states it; for reading only, sizing uses the accelerator's facts."""
    vcpu = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    ram_gib = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    sold_per_gpu = models.BooleanField(default=False)
    """The source prices one GPU; the price here is that times the count."""
    fabric = models.CharField(max_length=80, blank=True)
    spec_source = models.CharField(max_length=200, blank=True)
    """Where count, vCPU and RAM were read, if not in the price's own source."""
    not_comparable = models.CharField(max_length=40, blank=True)
    not_comparable_detail = models.CharField(max_length=160, blank=True)
    note = models.CharField(max_length=200, blank=True)

    availability = models.CharField(max_length=12, choices=Availability.choices, blank=True)
    """What its source said of the stock, when it says anything; a price is no stock."""
    availability_on = models.DateField(null=True, blank=True)

    current_price = models.OneToOneField(
        "Price", on_delete=models.PROTECT, null=True, blank=True, related_name="current_of"
    )
    usd_per_hour = models.DecimalField(**PRICE_DIGITS, null=True, blank=True)
    """The current price in dollars by the newest rate when it was written: for sorting lists only."""
    confirmed_on = models.DateField(null=True, blank=True)
    """The last day on which a source showed the current price."""
    confirmed_by = models.ForeignKey(
        "Refresh", on_delete=models.PROTECT, null=True, blank=True, related_name="confirmed_offers"
    )
    """The last run or import that listed it; empty while only shipped seeds know it."""
    gone_since = models.DateTimeField(null=True, blank=True)
    """A complete run of its source no longer listed it."""

    objects = OfferQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.CheckConstraint(
                condition=Q(gpu_fraction__gt=0, gpu_fraction__lte=1),
                name="catalog_offer_fraction_of_one_card",
            ),
            models.CheckConstraint(
                condition=~Q(not_comparable="") | Q(accelerator__isnull=False, gpu_count__gt=0),
                name="catalog_offer_comparable_is_certain",
            ),
        ]
        indexes = [
            models.Index(fields=["provider", "not_comparable"], name="catalog_offer_provider"),
            models.Index(fields=["accelerator", "not_comparable"], name="catalog_offer_accelerator"),
            models.Index(fields=["usd_per_hour", "id"], name="catalog_offer_by_price"),
            models.Index(fields=["-confirmed_on", "id"], name="catalog_offer_by_age"),
        ]

    def __str__(self) -> str:
        return self.key

    def price_age_days(self, at: datetime) -> int | None:
        return None if self.confirmed_on is None else max(0, (at.date() - self.confirmed_on).days)

    def is_stale(self, at: datetime) -> bool:
        age_days = self.price_age_days(at)
        return age_days is None or age_days > STALE_DAYS


def offer_key(
    provider: str, sku: str, region: str, tier: str, tier_detail: str = "", sold_gpu_count: int | None = None
) -> str:
    """What makes two observations one offer, as text.

    The count belongs to it only where GPUs are sold singly: elsewhere the SKU fixes it, known or not.
    """
    return "|".join(
        (provider, sku, region, tier, tier_detail, "" if sold_gpu_count is None else str(sold_gpu_count))
    )


class MarketDay(models.Model):
    """What one GPU of a kind cost an hour over a whole market on a day, as somebody who watched it reported."""

    accelerator = models.ForeignKey(Accelerator, on_delete=models.CASCADE, related_name="market_days")
    on = models.DateField()
    low = models.DecimalField(**PRICE_DIGITS)
    median = models.DecimalField(**PRICE_DIGITS)
    high = models.DecimalField(**PRICE_DIGITS)
    currency = models.CharField(max_length=3, default="USD")
    listed_count = models.PositiveIntegerField(null=True, blank=True)
    """Offers listed and, of these, available: the mean over the day."""
    available_count = models.PositiveIntegerField(null=True, blank=True)
    source = models.CharField(max_length=200)

    class Meta:
        ordering = ("accelerator", "on")
        constraints = [models.UniqueConstraint(fields=["accelerator", "on"], name="catalog_market_day_once")]

    def __str__(self) -> str:
        return f"{self.accelerator_id} {self.on}"


class Price(models.Model):
    """What an offer cost, as one source showed it on a day. Rows are only ever added.

    ``amount`` is for the whole machine (all its GPUs) and ``unit``; of a commitment that is paid upfront in part or
    whole, what an hour of its term comes to.
    """

    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, related_name="prices")
    amount = models.DecimalField(**PRICE_DIGITS)
    currency = models.CharField(max_length=3)
    unit = models.CharField(max_length=8, choices=PriceUnit.choices, default=PriceUnit.HOUR)
    observed_on = models.DateField()
    observed_precision = models.CharField(max_length=40, default="day")
    effective_from = models.DateField(null=True, blank=True)
    recorded_at = models.DateTimeField()
    estimated = models.BooleanField(default=False)
    """The source calls it an estimate."""
    floor = models.BooleanField(default=False)
    """A marketplace's lowest asking price, not a list price."""
    tax_included = models.BooleanField(null=True, blank=True)
    upfront = models.DecimalField(**PRICE_DIGITS, null=True, blank=True)
    """Of a commitment: paid once for the machine and the whole term. Its share is in ``amount``."""
    recurring = models.DecimalField(**PRICE_DIGITS, null=True, blank=True)
    """What is paid by the hour beside ``upfront``; zero where all is paid at once."""
    term_months = models.PositiveSmallIntegerField(null=True, blank=True)
    """How long a commitment binds; empty where it is none, or its source does not say."""
    source = models.CharField(max_length=200)
    source_url = models.URLField(blank=True)
    licence = models.CharField(max_length=40, blank=True)
    refresh = models.ForeignKey(
        "Refresh", on_delete=models.PROTECT, null=True, blank=True, related_name="prices"
    )
    """The run that brought it; empty for shipped seeds."""

    class Meta:
        ordering = ("-observed_on", "-pk")
        constraints = [models.CheckConstraint(condition=Q(amount__gt=0), name="catalog_price_above_zero")]
        indexes = [models.Index(fields=["offer", "-observed_on", "-id"], name="catalog_price_latest")]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency} per {self.unit} ({self.observed_on})"
