"""What machines exist, what they cost, and how we came to know: offers, append-only prices, refresh runs."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, OuterRef, Q, Subquery
from django.utils.translation import gettext_lazy as _

STALE_DAYS = 180
"""A price older than this is marked stale and is never called the cheapest."""

PRICE_DIGITS: dict[str, Any] = {"max_digits": 15, "decimal_places": 6}
"""Machine prices: SQLite keeps 15 significant digits exactly, no more."""
UNIT_PRICE_DIGITS: dict[str, Any] = {"max_digits": 15, "decimal_places": 10}
"""Storage and transfer prices per GB, where a hundred-thousandth of a cent counts."""


class Tier(models.TextChoices):
    ON_DEMAND = "on_demand", _("On demand")
    SPOT = "spot", _("Spot")
    RESERVED = "reserved", _("Reserved")
    COMMUNITY = "community", _("Community")


class PriceUnit(models.TextChoices):
    HOUR = "hour", _("per hour")
    MONTH = "month", _("per month")


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

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class OfferQuerySet(models.QuerySet["Offer"]):
    def comparable(self) -> OfferQuerySet:
        """Offers that can be sized: card, count and memory are certain."""
        return self.filter(not_comparable="")

    def current(self) -> OfferQuerySet:
        """Offers that their source still lists and that have a price."""
        return self.filter(gone_since__isnull=True, current_price__isnull=False)

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

    current_price = models.OneToOneField(
        "Price", on_delete=models.PROTECT, null=True, blank=True, related_name="current_of"
    )
    confirmed_on = models.DateField(null=True, blank=True)
    """The last day on which a source showed the current price."""
    confirmed_by = models.ForeignKey(
        "Refresh", on_delete=models.PROTECT, null=True, blank=True, related_name="confirmed_offers"
    )
    """The last run that listed it; empty while only shipped seeds know it."""
    gone_since = models.DateTimeField(null=True, blank=True)
    """A complete run of its source no longer listed it."""

    objects = OfferQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.CheckConstraint(
                condition=Q(gpu_fraction__gt=0, gpu_fraction__lte=1), name="catalog_offer_fraction_of_one_card"
            ),
            models.CheckConstraint(
                condition=~Q(not_comparable="") | Q(accelerator__isnull=False, gpu_count__gt=0),
                name="catalog_offer_comparable_is_certain",
            ),
        ]
        indexes = [
            models.Index(fields=["provider", "not_comparable"], name="catalog_offer_provider"),
            models.Index(fields=["accelerator", "not_comparable"], name="catalog_offer_accelerator"),
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

    The count belongs to it only where GPUs are sold singly: elsewhere the SKU fixes it, also while it is unknown.
    """
    return "|".join((provider, sku, region, tier, tier_detail, "" if sold_gpu_count is None else str(sold_gpu_count)))


class Price(models.Model):
    """What an offer cost, as one source showed it on a day. Rows are only ever added.

    ``amount`` is for the whole machine (all its GPUs) and ``unit``.
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


class BillingTerms(models.Model):
    """How a provider charges, as far as it was read; ``None`` is unknown."""

    provider = models.OneToOneField(Provider, on_delete=models.CASCADE, related_name="billing")
    unit_s = models.PositiveIntegerField(null=True, blank=True)
    """Time is billed in steps of this many seconds."""
    minimum_s = models.PositiveIntegerField(null=True, blank=True)
    month_hours = models.DecimalField(max_digits=6, decimal_places=2, null=True, blank=True)
    """Length of the provider's own month; counts only for its monthly plans and caps."""
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


class StorageKind(models.TextChoices):
    BLOCK = "block", _("Block storage")
    FILE = "file", _("File storage")
    OBJECT = "object", _("Object storage")


class StoragePrice(models.Model):
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
    observed = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ("provider", "kind", "name", "from_gb")
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "region", "kind", "name", "from_gb"], name="catalog_storage_price_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.provider_id} {self.name}"


class EgressTier(models.Model):
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
    observed = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ("provider", "region", "from_gb")
        constraints = [
            models.UniqueConstraint(fields=["provider", "region", "from_gb"], name="catalog_egress_tier_once")
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


class CatalogVersion(models.Model):
    """One row that changes with every change of offers, prices, terms or rates: the key of what is cached."""

    ONLY = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    number = models.PositiveBigIntegerField(default=0)
    changed_at = models.DateTimeField(null=True, blank=True)
    seeds_sha256 = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return str(self.number)

    @classmethod
    def current(cls) -> int:
        """One cheap query; 0 for an empty catalog."""
        return cls.objects.filter(pk=cls.ONLY).values_list("number", flat=True).first() or 0

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
        constraints = [models.UniqueConstraint(fields=["refresh", "number"], name="catalog_refresh_page_once")]

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
